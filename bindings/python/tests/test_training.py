"""Options and states of trainers, and how objects show themselves."""

import pathlib
import tempfile

import troika
from support import Case, line, points, small_mlp


class Training(Case):
    def test_options_have_lists_texts_and_the_mesh(self):
        groups = [{"pattern": "fc1.*", "learning_rate": 0.5}, {"pattern": "*.bias", "frozen": True}]
        model, _ = small_mlp(self.context)
        options = model.attach(["cpu:0", "cpu:1"], optimizer="adam", shares=(3, 1), class_weights=[1, 2, 0.5],
                               groups=groups, recompute_layers="fc1", sample_weights=True).options
        self.assertEqual((options["shares"], options["class_weights"]), ([3, 1], [1, 2, 0.5]))
        self.assertEqual((options["mesh"], options["recompute_layers"]), (troika.Mesh(2, 1, 1), "fc1"))
        self.assertEqual((options["layer_cuts"], options["schedule_table"], options["group"]), (None, [], None))
        self.assertEqual([(group["pattern"], group["learning_rate"], group["frozen"]) for group in options["groups"]],
                         [("fc1.*", 0.5, False), ("*.bias", -1, True)])
        self.assertIs(options["optimizer"], troika.Optimizer.ADAM)
        self.assertIs(options["sample_weights"], True)

    def test_options_are_those_of_attach(self):
        set_here = {"schedule": "multi_step", "schedule_milestones": [1, 3], "weight_decay": 0.01,
                    "class_weights": [1, 2], "groups": [{"pattern": "*.bias", "frozen": True}]}
        options = line(self.context).attach("cpu:0", **set_here).options
        self.assertEqual(line(self.context).attach("cpu:0", **options).options, options)

    def test_options_have_the_group_of_processes(self):
        with troika.Group(self.context, rank=0, processes=1) as group:
            self.assertIs(line(self.context).attach("cpu:0", group=group).options["group"], group)

    def test_loads_a_state_in_any_order(self):
        model, data = small_mlp(self.context)
        trainer, loader = model.attach("cpu:0"), data.loader(batch=8, shuffle=True)
        trainer.train_batches(loader, 2)
        with tempfile.TemporaryDirectory(prefix="troika-python-") as folder:
            path = pathlib.Path(folder) / "state.safetensors"
            trainer.save(path)
            in_order = data.loader(batch=8)
            in_order.seek(trainer.load(path))
            self.refused(troika.InvalidArgument, "order", trainer.step, in_order.next())
            self.assertIsNone(trainer.load(path, any_order=True))
            self.refused(ValueError, "any_order is True with a loader", trainer.load, path, in_order, any_order=True)
        self.assertEqual(trainer.step(in_order.next()).step, 3)

    def test_objects_show_what_they_are(self):
        data = points(self.context, 20)
        loader = data.loader(batch=8)
        trainer, batch = line(self.context).attach("cpu:0"), loader.next()
        pending = trainer.step_async(batch)
        pending.wait()
        texts = {f"Context({self.context.device_count()} CPU devices)": self.context, "Dataset(20 samples [2])": data,
                 "Loader(batches of 8, epoch 0, batch 1 of 3)": loader, "Batch(8 samples [2])": batch,
                 "Model('line', 6 parameters)": trainer.model, "Trainer('line' on cpu:0, step 1)": trainer,
                 "Pending(done)": pending, "Gradients(open)": troika.Gradients(self.context),
                 "Group(rank 0 of 1)": troika.Group(self.context, rank=0, processes=1)}
        self.assertEqual([repr(thing) for thing in texts.values()], list(texts))
        for thing in texts.values():
            thing.close()
            self.assertEqual(repr(thing), f"{type(thing).__name__}(closed)")

    def test_objects_show_themselves_while_they_are_busy(self):
        trainer, loader, seen = line(self.context).attach("cpu:0"), points(self.context, 8).loader(batch=8), []
        batch = loader.next()
        loader.next()
        trainer.train_epoch(loader, lambda _: seen.append((repr(trainer), repr(loader))))
        self.assertEqual(seen, [("Trainer(Busy)", "Loader(Busy)")])
        self.assertEqual(repr(batch), "Batch(InvalidArgument)")
