"""Bad input: one line in Python's way of errors, and nothing is lost."""

import gc
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

import troika
from support import Case, line, points, small_mlp


class Errors(Case):
    def test_errors_have_status_and_the_kind_of_python(self):
        error = self.refused(troika.InvalidArgument, "options.learning_rate is -1", line(self.context).attach, "cpu:0",
                             learning_rate=-1)
        self.assertEqual(error.status, troika.Status.INVALID_ARGUMENT)
        self.assertEqual(error.message, str(error))
        self.assertIsInstance(error, ValueError)
        self.assertIsInstance(self.refused(troika.NotFound, "no such|cannot", troika.Model.open, self.context, "/no/file"), LookupError)
        self.refused(troika.DeviceUnavailable, "cuda", line(self.context).attach, "cuda:63")
        self.refused(troika.Unsupported, "", troika.Tensor.from_dlpack, self.context, numpy.zeros((4, 4), numpy.float32)[:, ::2])

    def test_every_status_has_a_class(self):
        for status in troika.Status:
            if status < 0:
                error = troika.errors.error_of(status, "text")
                self.assertIsNot(type(error), troika.Error, status)
                self.assertEqual(error.status, status)
        self.assertEqual(troika.errors.error_of(-99, "text").status, -99)

    def test_options_are_checked_by_name_and_type(self):
        model = line(self.context)
        self.refused(TypeError, "attach has no option 'momentm'; did you mean 'momentum'", model.attach, "cpu:0", momentm=1)
        self.refused(TypeError, "'momentum' is 'big'", model.attach, "cpu:0", momentum="big")
        self.refused(ValueError, "optimizer is 'adan'; need one of sgd, adam", model.attach, "cpu:0", optimizer="adan")
        self.refused(TypeError, "need 2 numbers", troika.Model.empty(self.context, "m").add_conv2d, "c", 1, 2, (1, 2, 3))
        self.refused(troika.InvalidArgument, "batch", troika.Loader, points(self.context), batch=0)

    def test_texts_with_nul_and_wrong_devices(self):
        self.refused(ValueError, "NUL", troika.Model.open, self.context, "a\0b")
        self.refused(troika.InvalidArgument, "cpx", troika.Device.parse, "cpx:0")

    def test_arrays_of_wrong_shapes(self):
        model, _ = small_mlp(self.context)
        self.refused(ValueError, r"need \[n, 1, 4, 4\]", model.predict, numpy.zeros((2, 16), numpy.float32))
        self.refused(ValueError, "as many targets as inputs", troika.Dataset.from_arrays, self.context, numpy.zeros((3, 2)), [1, 2])
        self.refused(TypeError, "complex", troika.Tensor, self.context, numpy.zeros(2, complex))
        tensor = troika.Tensor.zeros(self.context, (2, 3))
        self.refused(ValueError, r"the tensor is float32 \[2, 3\]", tensor.set, numpy.zeros((3, 2), numpy.float32))
        model.initialize()
        self.refused(ValueError, "parameter 'fc1.bias' is", model.set_parameter, "fc1.bias", numpy.zeros(9))
        before = model.state_dict()
        self.refused(KeyError, "missing", model.load_state_dict, {"fc1.bias": numpy.ones(8)})
        broken = {**before, "fc1.bias": numpy.ones(8), "fc2.bias": numpy.ones(5)}
        self.refused(ValueError, "parameter 'fc2.bias' is", model.load_state_dict, broken)
        for name, value in model.state_dict().items():
            numpy.testing.assert_array_equal(value, before[name])

    def test_closed_objects(self):
        model = line(self.context)
        trainer = model.attach("cpu:0")
        trainer.close()
        trainer.close()
        self.assertTrue(trainer.closed)
        self.assertEqual(repr(trainer), "Trainer(closed)")
        self.refused(ValueError, "the trainer is closed", trainer.check_replicas)
        with troika.Tensor(self.context, [1.0]) as tensor:
            self.assertEqual(tensor.shape, (1,))
        self.refused(ValueError, "the tensor is closed", tensor.numpy)
        self.context.close()
        self.assertEqual(model.predict(numpy.zeros((1, 2), numpy.float32) if model.initialize() is None else None).shape, (1, 2))

    def test_a_batch_ends_with_the_next(self):
        loader = points(self.context, 8).loader(batch=4, prefetch=0)
        first = loader.next()
        kept, values = first.copy(), first.inputs
        loader.next()
        self.refused(troika.InvalidArgument, "batch", lambda: first.inputs)
        numpy.testing.assert_array_equal(kept.inputs, values)

    def test_a_library_that_is_missing_or_older(self):
        code = "import troika"
        package = pathlib.Path(troika.__file__).resolve().parents[1]

        def message(**environment):
            finished = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(package), **environment},
                                      capture_output=True, text=True, check=False)
            self.assertEqual(finished.returncode, 1)
            return finished.stderr.splitlines()[-1]

        self.assertRegex(message(TROIKA_LIBRARY="/no/such.so"), r"ImportError: .*/no/such.so \(no such file\)")
        with tempfile.NamedTemporaryFile(suffix=".so") as file:
            self.assertRegex(message(TROIKA_LIBRARY=file.name), r"ImportError: .* tried .*file too short")

    def test_failed_calls_leave_nothing(self):
        with self.assertRaises(troika.Error):
            troika.Context(cpu_threads=10**9, log=print)
        with self.assertRaises(troika.Error):
            troika.Dataset.from_arrays(self.context, numpy.zeros((2, 2), numpy.float32), [1, -1], copy=False)
        with self.assertRaises(troika.Error):
            troika.Dataset.from_callback(self.context, print, (2,), n=-5)
        gc.collect()
        self.assertEqual((len(troika.context.LOGS), len(troika.data.ARRAYS), len(troika.data.SOURCES)), (0, 0, 0))
