"""Threads, the collector, and memory."""

import gc
import resource
import threading
import unittest

import numpy

import troika
from support import line, points, small_mlp


def resident_bytes():
    """Memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


class Lifetimes(unittest.TestCase):
    def test_the_collector_runs_all_the_time(self):
        thresholds = gc.get_threshold()
        gc.set_threshold(1)
        self.addCleanup(gc.set_threshold, *thresholds)
        context = troika.Context(log=lambda *_: None, log_level="debug")
        for _ in range(3):
            model, data = small_mlp(context)
            trainer = model.attach(["cpu:0", "cpu:1"])
            self.assertEqual(trainer.train_epoch(data.loader(batch=8), lambda _: None).samples, 32)
            self.assertEqual(trainer.unwrap().predict(numpy.zeros((1, 1, 4, 4))).shape, (1, 3))

    def test_any_order_of_the_end(self):
        for order in range(6):
            context = troika.Context()
            model, data = small_mlp(context)
            loader = data.loader(batch=8)
            trainer = model.attach("cpu:0")
            objects = [context, model, data, loader, loader.next(), trainer]
            for thing in objects[order:] + objects[:order]:
                thing.close()
            self.assertTrue(all(thing.closed for thing in objects))

    def test_cycles_are_collected(self):
        context = troika.Context()
        model = line(context)
        trainer = model.attach("cpu:0")
        trainer.me = trainer
        trainer.set_progress(lambda progress: trainer is None)
        del trainer
        gc.collect()
        self.assertEqual(len(troika.progress.RUNS), 0)

    def test_batches_of_loaders_are_closed_without_harm(self):
        loader = points(troika.Context()).loader(batch=8)
        batch = loader.next()
        self.assertEqual((batch.closed, len(batch)), (False, 8))
        batch.close()
        batch.close()
        self.assertTrue(batch.closed)
        with self.assertRaisesRegex(ValueError, "the batch is closed"):
            _ = batch.handle
        self.assertEqual(len(loader.next()), 8)

    def test_memory_stays(self):
        context = troika.Context()
        data = points(context, 64)

        def once():
            model = line(context)
            trainer = model.attach("cpu:0")
            trainer.train_epoch(data.loader(batch=16), lambda _: None)
            trainer.predict(numpy.zeros((8, 2), numpy.float32))
            numpy.from_dlpack(troika.Tensor(context, numpy.zeros(1000, numpy.float32)))
            x = troika.Tensor.from_dlpack(context, numpy.zeros(100000, numpy.float32))
            with troika.Gradients(context) as record:
                record.watch(x)
                gradient, = record.of((x * x).sum(), [x])
            x.add_in_place(gradient, -1)

        for _ in range(30):
            once()
        before = resident_bytes()
        for _ in range(150):
            once()
        self.assertLess(resident_bytes() - before, 8 << 20)

    def test_threads_predict_at_once(self):
        context = troika.Context()
        model, data = small_mlp(context)
        model.initialize()
        x = data.loader(batch=32).next().inputs
        expected, found = model.predict(x), []

        def predict():
            found.append(all((model.predict(x) == expected).all() for _ in range(50)))

        threads = [threading.Thread(target=predict) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 4)

    def test_a_second_thread_is_busy(self):
        context = troika.Context()
        model, data = small_mlp(context)
        trainer, refused = model.attach("cpu:0"), []

        def disturb():
            try:
                trainer.check_replicas()
            except troika.Busy:
                refused.append(True)

        def progress(_):
            thread = threading.Thread(target=disturb)
            thread.start()
            thread.join()

        trainer.train_epoch(data.loader(batch=8), progress)
        self.assertEqual(refused, [True] * 4)

    def test_trainers_run_in_threads(self):
        context, losses = troika.Context(), []

        def train():
            model, data = small_mlp(context)
            losses.append(model.attach("cpu:0").train_epoch(data.loader(batch=8)).loss)

        threads = [threading.Thread(target=train) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(losses)), 1)
