"""Arguments of another kind than a call needs: one line with the object, what was found, what was needed."""

import os
import pathlib
import tempfile

import numpy

import troika
from support import Case, line, points, small_mlp


class Misuse(Case):
    def test_paths_and_texts_that_are_none(self):
        model = line(self.context)
        trainer = model.attach("cpu:0")
        for call in (model.save, model.load, trainer.save, trainer.load, trainer.save_average, trainer.save_trace,
                     troika.inspect_file, troika.newest_file, lambda path: troika.Model.open(self.context, path)):
            self.refused(TypeError, "path is None, need a str, bytes or os.PathLike", call, None)
            self.refused(TypeError, "path is 7, need", call, 7)
        self.refused(TypeError, "name is 3, need", troika.Model, self.context, 3)
        self.refused(TypeError, "'layer_cuts' is 5: need a text", model.attach, "cpu:0", layer_cuts=5)

    def test_paths_may_be_bytes(self):
        model = line(self.context)
        model.initialize()
        with tempfile.TemporaryDirectory(prefix="troika-python-") as folder:
            path = pathlib.Path(folder) / "mödel.safetensors"
            model.save(os.fsencode(path))
            self.assertEqual(os.listdir(folder), [path.name])
            self.assertEqual(troika.Model.open(self.context, os.fsencode(path)).info.name, "line")

    def test_devices(self):
        self.assertEqual(troika.Device("cpu", 3), troika.Device.parse("cpu:3"))
        self.assertIs(troika.Device("CUDA").kind, troika.DeviceKind.CUDA)
        self.refused(ValueError, r"'cpu:0'; need a DeviceKind, 'cpu' or 'cuda'; Device.parse", troika.Device, "cpu:0")
        self.refused(ValueError, "the kind of a device is None", troika.Device, None)
        self.refused(ValueError, "the kind of a device is 7", troika.Device, 7)
        self.refused(TypeError, "index of a device is '0', need a whole number", troika.Device, "cpu", "0")
        self.refused(ValueError, "index of a device is -1; need at least 0", troika.Device, "cpu", -1)

    def test_lists_of_devices(self):
        model = line(self.context)
        for devices in (3, None):
            self.refused(TypeError, f"devices is {devices}, need a Device, its text", model.attach, devices)
        self.refused(TypeError, "device is 0, need a Device or its text", model.attach, ("cpu", 0))

    def test_objects_of_another_class(self):
        data = points(self.context)
        trainer, loader = line(self.context).attach("cpu:0"), data.loader(batch=8)
        self.refused(TypeError, "^train_epoch: loader is a Dataset, need a Loader$", trainer.train_epoch, data)
        self.refused(TypeError, "^train_batches: loader is 5, need a Loader$", trainer.train_batches, 5, 1)
        self.refused(TypeError, "^evaluate: data is 5, need a Loader or a Batch$", trainer.evaluate, 5)
        self.refused(TypeError, "^predict: data is a Dataset, need an array$", trainer.predict, data)
        self.refused(TypeError, "^step: batch is None, need a Batch$", trainer.step, None)
        self.refused(TypeError, "^troika_trainer_step: batch is a Loader, need a Batch$", trainer.step, loader)
        self.refused(TypeError, "^step_async: batch is a Loader", trainer.step_async, loader)
        self.refused(TypeError, "^load: loader is 'x', need a Loader$", trainer.load, "/no/file", "x")
        self.refused(TypeError, "^Loader: dataset is a Loader, need a Dataset$", troika.Loader, loader, batch=8)
        self.refused(TypeError, "^concat: dataset is 3, need a Dataset$", troika.concat, [data, 3])
        self.refused(TypeError, "^context is None, need a Context$", troika.Model, None, "mlp")
        self.refused(TypeError, "'group' is 5: need a Group", data.loader, batch=8, group=5)
        with self.assertRaisesRegex(TypeError, "unsupported operand"):
            _ = data + 3

    def test_tensors(self):
        tensor = troika.Tensor.zeros(self.context, (2, 2))
        self.refused(TypeError, "^troika_tensor_add: other is 5, need a Tensor$", tensor.add, 5)
        self.refused(TypeError, "^troika_tensor_add: tensor is a Context, need a Tensor$", tensor.add, self.context)
        self.refused(TypeError, "^add_in_place: other is 1.5, need a Tensor$", tensor.add_in_place, 1.5)
        self.refused(TypeError, "^all_reduce: tensor is 'x', need a Tensor$", troika.all_reduce, [tensor, "x"])

    def test_numbers(self):
        trainer = line(self.context).attach("cpu:0")
        self.refused(TypeError, "argument 3 is 'x', need a number", trainer.set_learning_rate, "x")
        self.refused(TypeError, "argument 3 is None, need a whole number",
                     trainer.train_batches, points(self.context).loader(batch=8), None)
        self.refused(TypeError, "'shares' is 5: need a list", trainer.model.attach, "cpu:0", shares=5)
        self.refused(TypeError, "'class_weights' is {0: 1}: need a list", trainer.model.attach, "cpu:0",
                     class_weights={0: 1})

    def test_functions(self):
        model, data = small_mlp(self.context)
        trainer, loader = model.attach("cpu:0"), data.loader(batch=8)
        self.refused(TypeError, "Context: log is 5, need a function or a logging.Logger", troika.Context, log=5)
        self.refused(TypeError, "from_callback: read is 5, need a function",
                     troika.Dataset.from_callback, self.context, 5, (2,))
        self.refused(TypeError, "progress is 5, need a function, True or None", trainer.train_epoch, loader, progress=5)
        self.refused(TypeError, "set_progress: function is 5, need a function", trainer.set_progress, 5)
        self.refused(TypeError, "step_async: done is 5, need a function", trainer.step_async, loader.next(), 5)
        self.assertEqual(len(troika.data.SOURCES), 0)

    def test_a_refused_call_changes_nothing(self):
        data = points(self.context, 16)
        trainer, loader = line(self.context).attach("cpu:0"), data.loader(batch=8)
        for _ in range(3):
            self.refused(TypeError, "need a Batch", trainer.step, loader)
        self.assertEqual((trainer.train_epoch(loader).samples, trainer.info.step), (16, 2))
        self.assertIsInstance(trainer.predict(numpy.zeros((1, 2), numpy.float32)), numpy.ndarray)
