"""Callbacks: exceptions come back as they were, Ctrl-C ends an epoch, and nothing is left."""

import gc
import os
import signal
import sys
import threading
import unittest

import numpy

import troika
from support import line, points, small_mlp


class Wanted(Exception):
    """An exception that no library raises."""


class Callbacks(unittest.TestCase):
    def setUp(self):
        self.context = troika.Context()

    def test_progress(self):
        model, data = small_mlp(self.context)
        trainer, loader, seen = model.attach("cpu:0"), data.loader(batch=8), []
        trainer.train_epoch(loader, progress=seen.append)
        self.assertEqual([(p.batch, p.batches, p.training) for p in seen], [(i, 4, True) for i in (1, 2, 3, 4)])
        stopped = trainer.train_epoch(loader, progress=lambda progress: progress.batch == 2)
        self.assertEqual((stopped.status, stopped.samples, loader.tell().batch), (troika.Status.STOPPED, 16, 2))
        seen.clear()
        trainer.set_progress(seen.append)
        trainer.evaluate(loader)
        trainer.set_progress(None)
        trainer.evaluate(loader)
        self.assertEqual(len(seen), 4)

    def test_exceptions_of_progress_come_back(self):
        model, data = small_mlp(self.context)
        trainer, loader, wanted = model.attach("cpu:0"), data.loader(batch=8), Wanted("at batch 1")

        def fail(_):
            raise wanted

        for run in (trainer.train_epoch, trainer.evaluate, trainer.predict):
            with self.assertRaises(Wanted) as caught:
                run(loader, progress=fail)
            self.assertIs(caught.exception, wanted)
        loader.seek(troika.LoaderPosition(5, 0, 0))
        self.assertEqual(trainer.train_epoch(loader).samples, 32)

    def test_calls_within_calls_have_errors_of_their_own(self):
        context = troika.Context()
        found = []

        def fail(_):
            with self.assertRaises(troika.InvalidArgument) as caught:
                troika.Device.parse("cpx:0")
            found.append(str(caught.exception))
            raise KeyError("mine")

        trainer = line(context).attach("cpu:0")
        with self.assertRaisesRegex(KeyError, "mine"):
            trainer.train_epoch(points(context).loader(batch=8), progress=fail)
        self.assertIn("cpx", found[0])
        with self.assertRaisesRegex(troika.NotFound, "/no/file"):
            troika.Model.open(context, "/no/file")

    def test_bars(self):
        try:
            import tqdm  # pylint: disable=import-outside-toplevel,unused-import
        except ImportError:
            self.skipTest("tqdm is not installed")
        model, data = small_mlp(self.context)
        trainer = model.attach("cpu:0")
        self.assertEqual(trainer.train_epoch(data.loader(batch=8), progress=True).samples, 32)

    def test_interrupts(self):
        model, data = small_mlp(self.context)
        trainer, loader = model.attach("cpu:0"), data.loader(batch=1)
        handler = signal.getsignal(signal.SIGINT)

        def interrupt(progress):
            if progress.batch == 3:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            trainer.train_epoch(loader, progress=interrupt)
        self.assertIs(signal.getsignal(signal.SIGINT), handler)
        done = loader.tell().batch
        self.assertEqual(done, 3)
        self.assertEqual(trainer.train_epoch(loader).samples, 32 - done)

    def test_interrupts_from_outside(self):
        model, data = small_mlp(self.context)
        trainer, loader = model.attach("cpu:0"), data.loader(batch=1)
        for _ in range(20):
            timer = threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                while True:
                    trainer.train_epoch(loader)
            timer.join()
        rest = trainer.train_epoch(loader).samples  # 0 if the last interrupt came after the last batch
        self.assertLessEqual(rest, 32)
        self.assertEqual(trainer.train_epoch(loader).samples, 32)

    def test_stops_from_another_thread(self):
        model, data = small_mlp(self.context)
        trainer, loader = model.attach("cpu:0"), data.loader(batch=1)
        timer = threading.Timer(0.01, trainer.request_stop)
        timer.start()
        while trainer.train_epoch(loader).status != troika.Status.STOPPED:
            pass
        timer.join()
        trainer.request_stop()
        trainer.clear_stop()
        self.assertEqual(trainer.train_batches(data.loader(batch=1), 1).samples, 1)

    def test_datasets_that_python_computes(self):
        def read(indices):
            return numpy.stack([indices, -indices], axis=1), indices % 2

        data = troika.Dataset.from_callback(self.context, read, (2,), n=6, classes=2)
        batch = data.loader(batch=6).next()
        self.assertEqual((batch.inputs[3].tolist(), batch.labels.tolist()), ([3, -3], [0, 1, 0, 1, 0, 1]))
        values = troika.Dataset.from_callback(self.context, lambda i: (i[:, None], i[:, None] * 0.5), (1,), n=4, value_size=1)
        self.assertEqual(values.subset([3]).loader(batch=1).next().values.tolist(), [[1.5]])
        stream = troika.Dataset.from_callback(self.context, lambda epoch, first, n: numpy.full((min(n, 5 - first), 1), epoch), (1,))
        loader = stream.loader(batch=2)
        self.assertEqual([[len(batch) for batch in loader] for _ in range(2)], [[2, 2, 1]] * 2)
        tokens = troika.Dataset.from_callback(self.context, lambda i: i[:, None], (1,), n=3, dtype=troika.Dtype.I32, words=9)
        self.assertEqual(tokens.loader(batch=3).next().inputs.tolist(), [[0], [1], [2]])

    def test_exceptions_of_datasets_come_back(self):
        wanted = Wanted("sample 5 is broken")

        def read(indices):
            if 5 in indices:
                raise wanted
            return numpy.zeros((len(indices), 2)), indices % 2

        data = troika.Dataset.from_callback(self.context, read, (2,), n=8, classes=2)
        for part in (data, data.split([8])[0], data + data):
            for prefetch in (0, 2):
                loader = part.loader(batch=2, prefetch=prefetch)
                with self.assertRaises(Wanted) as caught:
                    line(self.context).attach("cpu:0").train_epoch(loader)
                self.assertIs(caught.exception, wanted)
                with self.assertRaises(Wanted):
                    list(loader)
        short = troika.Dataset.from_callback(self.context, lambda indices: numpy.zeros((1, 2)), (2,), n=8)
        with self.assertRaisesRegex(ValueError, "returned 1 samples; need 4"):
            short.loader(batch=4).next()

        def end(_):
            raise StopIteration

        self.assertIsNone(troika.Dataset.from_callback(self.context, end, (2,), n=8).loader(batch=4).next())

    def test_an_exception_that_nobody_waited_for_is_not_raised_later(self):
        failed = threading.Event()

        def read(indices):
            if not failed.is_set():
                failed.set()
                raise Wanted("old failure")
            return numpy.zeros((len(indices), 2)), indices + 7

        data = troika.Dataset.from_callback(self.context, read, (2,), n=8, classes=2)
        with data.loader(batch=2, prefetch=2):
            self.assertTrue(failed.wait(60))
        with self.assertRaisesRegex(troika.CallbackError, "^dataset: the callback wrote the label 7 for sample 0"):
            data.loader(batch=2, prefetch=0).next()

    def test_loaders_of_one_function_have_exceptions_of_their_own(self):
        kinds = {0: KeyError, 4: LookupError}
        for text in (("of a loader",), ()):  # an exception may have no text
            both = threading.Barrier(2, timeout=60)

            def read(indices, text=text, both=both):
                both.wait()
                raise kinds[indices[0]](*text)

            data = troika.Dataset.from_callback(self.context, read, (2,), n=8, classes=2)
            loaders = {first: data.subset(range(first, first + 4)).loader(batch=4, prefetch=1) for first in (4, 0)}
            for first, loader in loaders.items():
                with self.assertRaises(LookupError) as caught:
                    loader.next()
                self.assertEqual((type(caught.exception), caught.exception.args), (kinds[first], text))

    def test_what_a_function_of_samples_returns_is_checked(self):
        good = numpy.zeros((4, 2), numpy.float32)
        for text, returned in {
                "returned None; need inputs": None,
                r"returned \{'a': 1\}; need inputs": {"a": 1},
                r"returned \(array": (good, [0] * 4, 3),
                r"returned inputs \[\]; need \[k, 2\]": 5.0,
                r"returned no labels; need \[4, 1\]": good,
                r"returned labels \[3\]; need \[4, 1\]": (good, [0, 1, 0]),
                "inputs of the callback: dtype is complex64": (good + 1j, [0] * 4),
                "inputs of the callback: dtype is <U": (good.astype(str), [0] * 4),
                "labels of the callback: dtype is float64; need integers": (good, [0.9] * 4),
                "labels of the callback: a number is 4294967297; need -2147483648": (good, [1 + 2**32] * 4)}.items():
            data = troika.Dataset.from_callback(self.context, lambda _, returned=returned: returned, (2,), n=4,
                                                classes=2)
            with self.subTest(text), self.assertRaisesRegex((TypeError, ValueError), text):
                data.loader(batch=4).next()

    def test_exceptions_of_logs_are_reported_and_do_no_harm(self):
        reported, hook = [], sys.unraisablehook
        sys.unraisablehook = lambda args: reported.append(args.exc_type)
        self.addCleanup(setattr, sys, "unraisablehook", hook)

        def fail(*_):
            raise Wanted("log")

        context = troika.Context(log=fail, log_level="debug")
        self.assertEqual(line(context).attach("cpu:0").step(points(context, 4).loader(batch=4).next()).samples, 4)
        self.assertIn(Wanted, reported)

    def test_callbacks_live_as_long_as_c_needs_them(self):
        for _ in range(3):
            context = troika.Context(log=lambda *_: None)
            trainer = line(context).attach("cpu:0")
            data = troika.Dataset.from_callback(context, lambda i: (numpy.zeros((len(i), 2)), i % 2), (2,), n=8, classes=2)
            loader = data.loader(batch=4)
            del data, context
            gc.collect()
            self.assertEqual(trainer.train_epoch(loader, lambda progress: gc.collect() < 0).samples, 8)
        del trainer, loader
        gc.collect()
        self.assertEqual((len(troika.context.LOGS), len(troika.data.SOURCES), len(troika.progress.RUNS)), (0, 0, 0))

