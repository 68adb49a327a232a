"""Trainers: a model on devices."""

import asyncio
import ctypes

import numpy

from troika import _interface
from troika._call import (STATUSES, Handle, call, callable_of, default_of, describe, encode, enum_of, fill, handle_of,
                          misuse, options_of, result_of, text_of)
from troika._interface import Option
from troika._library import lib
from troika.arrays import address, as_array
from troika.context import CallbackTable
from troika.data import Batch, Loader
from troika.device import Device
from troika.errors import CallbackError, error_of
from troika.progress import ON_BATCH, RUNS, RunState, function_of
from troika.source import raise_exceptions_of
from troika.tensor import Tensor

DONE = CallbackTable()


def _on_done(status, result, error, user):
    function = DONE[user]
    DONE.remove(user)
    if status < 0:
        message = _interface.troika_error.from_address(error).message.decode("utf-8", "replace")
        function(error_of(status, message))
    else:
        function(result_of(_interface.troika_step_result.from_address(result), status=STATUSES[status]))


_ON_DONE = _interface.troika_done_function(_on_done)


class Pending(Handle):
    """A step that runs while Python goes on. Thread-safe. `await pending` is wait() in an event loop."""

    _destroy = lib.troika_pending_destroy

    def poll(self):
        """Whether the step has ended.

        In C: troika_pending_poll.
        """
        is_done = ctypes.c_int32()
        call(lib.troika_pending_poll, self.handle, ctypes.byref(is_done))
        return bool(is_done.value)

    def wait(self, timeout=None):
        """The StepResult, or the error of the step. After `timeout` seconds raises Busy.

        Raises Busy, CommunicationError, Detached, InvalidArgument, OutOfMemory or Unsupported. In
        C: troika_pending_wait.
        """
        struct = default_of(_interface.troika_step_result)
        milliseconds = -1 if timeout is None else max(0, round(timeout * 1000))
        status = call(lib.troika_pending_wait, self.handle, milliseconds, ctypes.byref(struct))
        return result_of(struct, status=STATUSES[status])

    def _summary(self):
        return "done" if self.poll() else "running"

    def __await__(self):
        return asyncio.get_running_loop().run_in_executor(None, self.wait).__await__()


class Trainer(Handle):
    """A model on devices, made by model.attach(devices, ...). Options: TrainerOptions, such as
    optimizer="adam", learning_rate=0.001, groups=[{"pattern": "fc.*", "learning_rate": 0.01}].

    One call at a time, else Busy; request_stop and clear_stop from any thread, at any time.

    Raises Busy, CommunicationError, DeviceUnavailable, InvalidArgument, NotFound, OutOfMemory or
    Unsupported. In C: troika_model_attach, troika_trainer_set_progress.
    """

    _destroy = lib.troika_trainer_destroy

    def __init__(self, model, devices="all", **options):
        struct = fill(default_of(_interface.troika_trainer_options), options, "attach")
        handle, out = handle_of(model, _interface.troika_model, "Trainer: model"), _interface.troika_trainer()
        call(lib.troika_model_attach, handle, *model.context.device_array(devices), ctypes.byref(struct),
             ctypes.byref(out))
        super().__init__(out)
        self.model = model
        self._group = options.get("group")
        self._run = RunState()
        number = RUNS.add(self._run)
        try:
            call(lib.troika_trainer_set_progress, out, ON_BATCH, number, RUNS.destroy)
        except Exception:
            RUNS.remove(number)
            raise

    def set_progress(self, function):
        """Calls function(Progress) after each batch of every later run; true ends the run. None: no function."""
        self._run.functions[:] = [] if function is None else [callable_of(function, "set_progress: function")]

    # Steps.

    def step(self, batch):
        """Trains on one batch. Returns a StepResult; its status may be STEP_SKIPPED or STOPPED.

        Raises Busy, CommunicationError, Detached, InvalidArgument, OutOfMemory or Unsupported. In
        C: troika_trainer_step.
        """
        try:
            handle = batch.handle
        except AttributeError:
            raise misuse("step: batch", batch, "a Batch") from None
        return self._result(lib.troika_trainer_step, handle)

    def _result(self, function, *arguments):
        struct = default_of(_interface.troika_step_result)
        status = call(function, self.handle, *arguments, ctypes.byref(struct))
        return result_of(struct, status=STATUSES[status])

    def step_async(self, batch, done=None):
        """Begins a step and returns a Pending. done(StepResult or Error) is called on a thread of the library.

        `done` may be called after wait() has returned. An exception of `done` goes to
        sys.unraisablehook. The trainer is busy until its steps have ended; at most 64 wait.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_trainer_step_async.
        """
        out = _interface.troika_pending()
        handle = handle_of(batch, _interface.troika_batch, "step_async: batch")
        number = None if done is None else DONE.add(callable_of(done, "step_async: done"))
        function = ctypes.cast(None, _interface.troika_done_function) if done is None else _ON_DONE
        try:
            call(lib.troika_trainer_step_async, self.handle, handle, function, number, ctypes.byref(out))
        except Exception:
            DONE.remove(number)
            raise
        return Pending(out)

    def forward(self, batch, **options):
        """The forward pass of a step. Options: ForwardOptions. Returns the output, a Tensor, and a StepResult.

        Raises Busy, CommunicationError, Detached, InvalidArgument, OutOfMemory or Unsupported. In
        C: troika_trainer_forward.
        """
        struct = fill(default_of(_interface.troika_forward_options), options, "forward")
        handle = handle_of(batch, _interface.troika_batch, "forward: batch")
        out, result = _interface.troika_tensor(), default_of(_interface.troika_step_result)
        status = call(lib.troika_trainer_forward, self.handle, handle, ctypes.byref(struct), ctypes.byref(out),
                      ctypes.byref(result))
        return Tensor.of_handle(out) if out else None, result_of(result, status=STATUSES[status])

    def backward(self, output_gradient=None):
        """The backward pass. `output_gradient` is needed after forward(own_loss=True): a Tensor or an array.

        Raises Busy, CommunicationError, Detached, InvalidArgument, NotInitialized or OutOfMemory.
        In C: troika_trainer_backward.
        """
        if output_gradient is not None and not isinstance(output_gradient, Tensor):
            output_gradient = Tensor(self.model.context, output_gradient, dtype=numpy.float32)
        call(lib.troika_trainer_backward, self.handle, None if output_gradient is None else output_gradient.handle)

    def apply(self):
        """Updates the parameters with the gradients that are there. Returns a StepResult.

        Raises Busy, CommunicationError, Detached, NotInitialized or OutOfMemory. In C:
        troika_trainer_apply.
        """
        return self._result(lib.troika_trainer_apply)

    def get_gradient(self, name):
        """A copy of the gradient of a parameter, summed over all devices.

        Raises Busy, CommunicationError, Detached, InvalidArgument, NotFound, NotInitialized or
        OutOfMemory. In C: troika_trainer_get_gradient.
        """
        array = self.model.empty_parameter(name).astype(numpy.float32)
        call(lib.troika_trainer_get_gradient, self.handle, encode(name), address(array), array.nbytes)
        return array

    def set_gradient(self, name, value):
        """Replaces the gradient of a parameter between backward and apply.

        Raises Busy, CommunicationError, Detached, InvalidArgument, NotFound, NotInitialized or
        OutOfMemory. In C: troika_trainer_set_gradient.
        """
        array = as_array(value, numpy.float32, f"the gradient of '{name}'")
        call(lib.troika_trainer_set_gradient, self.handle, encode(name), address(array), array.nbytes)

    def get_input_gradient(self, shape):
        """The gradient of the inputs, whose shape the batch had, after forward(input_gradient=True).

        Raises Busy, CommunicationError, Detached, InvalidArgument, NotInitialized or OutOfMemory.
        In C: troika_trainer_get_input_gradient.
        """
        array = numpy.empty(shape, numpy.float32)
        call(lib.troika_trainer_get_input_gradient, self.handle, address(array), array.nbytes)
        return array

    # Runs over a loader.

    def _metrics(self, function, loader, progress, *arguments):
        """Calls a function that takes a loader, which is one of `arguments`, and fills metrics."""
        struct = default_of(_interface.troika_metrics)
        with function_of(progress) as callback, self._run.run(callback):
            try:
                status = call(function, self.handle, *arguments, ctypes.byref(struct))
            except CallbackError as error:
                self._run.raise_exception()
                raise_exceptions_of(loader.sources, error)
        return result_of(struct, status=STATUSES[status])

    def train_epoch(self, loader, progress=None):
        """Trains on the rest of the loader's epoch. Returns Metrics; its status is STOPPED after a stop.

        `progress` is a function of a Progress, which ends the run if it returns true, or True for a
        bar of tqdm. Ctrl-C ends the run at the next batch with KeyboardInterrupt; the loader is then
        at the batch after it, and training can go on.

        Raises Busy, CallbackError, CommunicationError, Detached, InvalidArgument, OutOfMemory or
        Unsupported. In C: troika_trainer_train_epoch.
        """
        handle = handle_of(loader, _interface.troika_loader, "train_epoch: loader")
        return self._metrics(lib.troika_trainer_train_epoch, loader, progress, handle)

    def train_batches(self, loader, batches, progress=None):
        """Trains as train_epoch on at most `batches` batches. The status is END_OF_DATA at the end of the epoch.

        Raises Busy, CallbackError, CommunicationError, Detached, InvalidArgument, OutOfMemory or
        Unsupported. In C: troika_trainer_train_batches.
        """
        handle = handle_of(loader, _interface.troika_loader, "train_batches: loader")
        return self._metrics(lib.troika_trainer_train_batches, loader, progress, handle, batches)

    def evaluate(self, data, device=None, progress=None):
        """Loss and accuracy of a loader's epoch, as Metrics, or of a Batch, as a StepResult. `device`: on this one alone.

        Raises Busy, CallbackError, CommunicationError, Detached, InvalidArgument, NotOnDevice,
        OutOfMemory or Unsupported. In C: troika_trainer_evaluate_batch, troika_trainer_evaluate_on,
        troika_trainer_evaluate.
        """
        if isinstance(data, Batch):
            return self._result(lib.troika_trainer_evaluate_batch, data.handle)
        if not isinstance(data, Loader):
            raise misuse("evaluate: data", data, "a Loader or a Batch")
        if device is not None:
            return self._metrics(lib.troika_trainer_evaluate_on, data, progress, Device.of(device).struct, data.handle)
        return self._metrics(lib.troika_trainer_evaluate, data, progress, data.handle)

    def predict(self, data, progress=None, samples=None):
        """Outputs f32 [n, ...]: an array for a Loader, a Batch or an array, and a Tensor for a Tensor.

        `samples` is the most samples of a Loader; it is needed only for a stream.

        Raises Busy, CommunicationError, Detached, InvalidArgument, OutOfMemory or Unsupported. In
        C: troika_trainer_predict_batch, troika_trainer_predict.
        """
        dims = self.model.info.output_dims
        if isinstance(data, Loader):
            return self._predict_loader(data, dims, progress, data.samples if samples is None else samples)
        if isinstance(data, Batch):
            output = numpy.empty((len(data), *dims), numpy.float32)
            call(lib.troika_trainer_predict_batch, self.handle, data.handle, address(output), output.nbytes)
            return output
        inputs = data if isinstance(data, Tensor) else Tensor(self.model.context, as_array(data, what="predict: data"))
        out = _interface.troika_tensor()
        call(lib.troika_trainer_predict, self.handle, inputs.handle, ctypes.byref(out))
        output = Tensor.of_handle(out)
        return output if isinstance(data, Tensor) else output.numpy()

    def _predict_loader(self, loader, dims, progress, most):
        samples = ctypes.c_int64()
        output = numpy.empty((most, *dims), numpy.float32)
        with function_of(progress) as callback, self._run.run(callback):
            try:
                call(lib.troika_trainer_predict_loader, self.handle, loader.handle, address(output), output.nbytes,
                     ctypes.byref(samples))
            except CallbackError as error:
                self._run.raise_exception()
                raise_exceptions_of(loader.sources, error)
        return output[:samples.value]

    def divide_loader(self, loader):
        """Lets a loader read only the samples of each batch that this process needs.

        Raises Busy or OutOfMemory. In C: troika_trainer_divide_loader.
        """
        handle = handle_of(loader, _interface.troika_loader, "divide_loader: loader")
        call(lib.troika_trainer_divide_loader, self.handle, handle)

    def request_stop(self):
        """Asks a run to end at the next batch, from any thread.

        Raises InvalidArgument. In C: troika_trainer_request_stop.
        """
        call(lib.troika_trainer_request_stop, self.handle)

    def clear_stop(self):
        """Takes back a stop that no call has returned yet.

        Raises InvalidArgument. In C: troika_trainer_clear_stop.
        """
        call(lib.troika_trainer_clear_stop, self.handle)

    # Rates and options.

    @property
    def learning_rate(self):
        """The rate of the next step, with schedule and warm-up. Setting it sets the base rate."""
        return self.get_learning_rate()

    @learning_rate.setter
    def learning_rate(self, value):
        self.set_learning_rate(value)

    def get_learning_rate(self, group=-1):
        """The rate of the next step, of a group of parameters or of the trainer (-1).

        Raises Busy or InvalidArgument. In C: troika_trainer_get_learning_rate.
        """
        value = ctypes.c_double()
        call(lib.troika_trainer_get_learning_rate, self.handle, group, ctypes.byref(value))
        return value.value

    def set_learning_rate(self, value, group=-1):
        """Sets the base rate; the schedule multiplies it.

        Raises Busy, CommunicationError, Detached or InvalidArgument. In C:
        troika_trainer_set_learning_rate.
        """
        call(lib.troika_trainer_set_learning_rate, self.handle, group, value)

    def get_option(self, option, group=-1):
        """The value of an option, such as "momentum".

        Raises Busy or InvalidArgument. In C: troika_trainer_get_option.
        """
        value = ctypes.c_double()
        call(lib.troika_trainer_get_option, self.handle, group, enum_of(Option, option, "option"), ctypes.byref(value))
        return value.value

    def set_option(self, option, value, group=-1):
        """Sets an option from the next step on.

        Raises Busy, CommunicationError, Detached, InvalidArgument or OutOfMemory. In C:
        troika_trainer_set_option.
        """
        call(lib.troika_trainer_set_option, self.handle, group, enum_of(Option, option, "option"), value)

    def report_metric(self, metric):
        """Reports a metric to the schedule "plateau".

        Raises Busy, CommunicationError, Detached or InvalidArgument. In C:
        troika_trainer_report_metric.
        """
        call(lib.troika_trainer_report_metric, self.handle, metric)

    # Descriptions.

    @property
    def info(self):
        """Devices, mesh and steps done, as a TrainerInfo.

        Raises Busy. In C: troika_trainer_describe.
        """
        return describe(lib.troika_trainer_describe, _interface.troika_trainer_info, self.handle)

    @property
    def devices(self):
        """The devices of this process.

        Raises Busy or InvalidArgument. In C: troika_trainer_get_devices.
        """
        count = ctypes.c_int32()
        call(lib.troika_trainer_get_devices, self.handle, None, 0, ctypes.byref(count))
        structs = (_interface.troika_device * count.value)()
        call(lib.troika_trainer_get_devices, self.handle, structs, len(structs), ctypes.byref(count))
        return [Device.of_struct(struct) for struct in structs]

    @property
    def options(self):
        """The options that hold, by name, as attach takes them. Another model can be attached with them.

        Raises Busy. In C: troika_trainer_get_options.
        """
        struct = default_of(_interface.troika_trainer_options)
        call(lib.troika_trainer_get_options, self.handle, ctypes.byref(struct))
        return {**options_of(struct), "group": self._group}

    def to_json(self):
        """The trainer as JSON.

        Raises Busy or InvalidArgument. In C: troika_trainer_to_json.
        """
        return text_of(lib.troika_trainer_to_json, self.handle)

    def memory(self, replica=0):
        """Memory of one replica in bytes, as a MemoryInfo.

        Raises Busy or NotFound. In C: troika_trainer_memory.
        """
        return describe(lib.troika_trainer_memory, _interface.troika_memory_info, self.handle, replica)

    def explain(self, batch):
        """The plan of a step on `batch` samples as text. Experimental.

        Raises Busy, CommunicationError, Detached, InvalidArgument, OutOfMemory or Unsupported. In
        C: troika_trainer_explain.
        """
        return text_of(lib.troika_trainer_explain, self.handle, batch)

    def trace(self):
        """The trace of the last step as text; needs collect_trace. Experimental.

        Raises Busy, InvalidArgument or NotInitialized. In C: troika_trainer_trace.
        """
        return text_of(lib.troika_trainer_trace, self.handle)

    def save_trace(self, path):
        """Writes the trace of the last step for ui.perfetto.dev; needs collect_trace.

        Raises Busy, CommunicationError, InvalidArgument, IoError, NotInitialized or OutOfMemory. In
        C: troika_trainer_save_trace.
        """
        call(lib.troika_trainer_save_trace, self.handle, encode(path, "path"))

    def get_parameter(self, name, device=None):
        """A copy of the parameter that the replica on a device holds; None: the first device.

        Raises Busy, CommunicationError, Detached, InvalidArgument, NotFound, NotOnDevice or
        OutOfMemory. In C: troika_trainer_get_parameter.
        """
        device = self.devices[0] if device is None else Device.of(device)
        array = self.model.empty_parameter(name)
        call(lib.troika_trainer_get_parameter, self.handle, encode(name), device.struct, address(array), array.nbytes)
        return array

    def check_replicas(self):
        """Raises Mismatch unless all replicas have the same bits.

        Raises Busy, CommunicationError, Detached, Mismatch or OutOfMemory. In C:
        troika_trainer_check_replicas.
        """
        call(lib.troika_trainer_check_replicas, self.handle)

    # Files.

    def save(self, path, **options):
        """Writes a training state, from which training resumes bit for bit. Options: SaveOptions.

        Raises Busy, CommunicationError, Detached, InvalidArgument, IoError or OutOfMemory. In C:
        troika_trainer_save, troika_trainer_save_with.
        """
        if not options:
            call(lib.troika_trainer_save, self.handle, encode(path, "path"))
            return
        struct = fill(default_of(_interface.troika_save_options), options, "save")
        call(lib.troika_trainer_save_with, self.handle, encode(path, "path"), ctypes.byref(struct))

    def wait_save(self):
        """Waits for files that are saved in the background, and raises the error of the last one.

        Raises Busy, CommunicationError, Detached, IoError or OutOfMemory. In C:
        troika_trainer_wait_save.
        """
        call(lib.troika_trainer_wait_save, self.handle)

    def save_average(self, path):
        """Writes a model file with the moving averages of the parameters; needs average_decay.

        Raises Busy, CommunicationError, Detached, InvalidArgument, IoError or OutOfMemory. In C:
        troika_trainer_save_average.
        """
        call(lib.troika_trainer_save_average, self.handle, encode(path, "path"))

    def load(self, path, loader=None, *, any_order=False):
        """Reads a training state. A `loader` is moved to the state's place. Returns the LoaderPosition.

        If the next batch of a loader that is moved there has other samples than the state's, a step
        refuses it. A loader that is not moved is not compared. With any_order=True the order of the
        next samples is left to the caller, there is no position, and None is returned.

        Raises Busy, CommunicationError, Corrupt, Detached, IoError, Mismatch, NotFound or
        OutOfMemory. In C: troika_trainer_load.
        """
        if any_order:
            if loader is not None:
                raise ValueError("load: any_order is True with a loader; need one of them")
            call(lib.troika_trainer_load, self.handle, encode(path, "path"), None)
            return None
        if loader is not None:
            handle_of(loader, _interface.troika_loader, "load: loader")
        struct = default_of(_interface.troika_loader_position)
        call(lib.troika_trainer_load, self.handle, encode(path, "path"), ctypes.byref(struct))
        position = result_of(struct)
        if loader is not None:
            loader.seek(position)
        return position

    def unwrap(self):
        """The single-device model, which shares the trained parameters.

        Raises Busy, Detached or OutOfMemory. In C: troika_trainer_unwrap.
        """
        out = _interface.troika_model()
        call(lib.troika_trainer_unwrap, self.handle, ctypes.byref(out))
        return type(self.model).of_handle(self.model.context, out)

    def _summary(self):
        return f"{self.model.info.name!r} on {', '.join(map(str, self.devices))}, step {self.info.step}"
