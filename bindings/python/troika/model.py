"""Models: layers and parameters, on the host."""

import ctypes
import itertools

import numpy

from troika import _interface
from troika._call import call, context_of, default_of, describe, encode, enum_of, fill, result_of, text_of
from troika._interface import Initializer
from troika._library import lib
from troika.arrays import address, as_array, dims_of, dtype_of, numpy_dtype
from troika.device import Device
from troika.layers import Layers
from troika.tensor import Tensor
from troika.trainer import Trainer


def zoo_names():
    """The names of the models that Model(context, name) builds.

    In C: troika_zoo_name.
    """
    names = (lib.troika_zoo_name(index) for index in itertools.count())
    return [name.decode() for name in itertools.takewhile(lambda name: name is not None, names)]


class Model(Layers):
    """A network of named layers. Model(context, "resnet18") builds one of the zoo; options: ModelOptions.

    `Model.empty` begins without layers: each add_ method returns the layer's output, a number that
    the next layer takes. Threads: calls that only read run at once; others run alone, else Busy.

    Raises InvalidArgument, NotFound or OutOfMemory. In C: troika_model_create.
    """

    _destroy = lib.troika_model_destroy

    def __init__(self, context, name, **options):
        struct = fill(default_of(_interface.troika_model_options), options, "Model")
        out = _interface.troika_model()
        call(lib.troika_model_create, context_of(context), encode(name, "name"), ctypes.byref(struct),
             ctypes.byref(out))
        self._hold(context, out)

    def _hold(self, context, handle):
        super().__init__(handle)
        self.context = context

    @classmethod
    def of_handle(cls, context, handle):
        """A model that owns a C handle."""
        model = cls.__new__(cls)
        model._hold(context, handle)
        return model

    @classmethod
    def empty(cls, context, name):
        """A model without layers.

        Raises InvalidArgument or OutOfMemory. In C: troika_model_create_empty.
        """
        out = _interface.troika_model()
        call(lib.troika_model_create_empty, context_of(context), encode(name), ctypes.byref(out))
        return cls.of_handle(context, out)

    @classmethod
    def open(cls, context, path):
        """The model in a file of save(): layers and parameters.

        Raises Corrupt, IoError, Mismatch, NotFound, OutOfMemory or Unsupported. In C:
        troika_model_open.
        """
        out = _interface.troika_model()
        call(lib.troika_model_open, context_of(context), encode(path, "path"), ctypes.byref(out))
        return cls.of_handle(context, out)

    @classmethod
    def open_memory(cls, context, data):
        """The model in the bytes of save_memory().

        Raises Corrupt, IoError, Mismatch, NotFound, OutOfMemory or Unsupported. In C:
        troika_model_open_memory.
        """
        out = _interface.troika_model()
        call(lib.troika_model_open_memory, context_of(context), bytes(data), len(data), ctypes.byref(out))
        return cls.of_handle(context, out)

    def clone(self):
        """A model with the same layers that shares the values, and takes calls of its own while this one is busy.

        Raises Busy, InvalidArgument or OutOfMemory. In C: troika_model_clone.
        """
        out = _interface.troika_model()
        call(lib.troika_model_clone, self.handle, ctypes.byref(out))
        return Model.of_handle(self.context, out)

    # Descriptions.

    @property
    def info(self):
        """Number of layers and parameters, input and output, as a ModelInfo.

        Raises Busy. In C: troika_model_describe.
        """
        return describe(lib.troika_model_describe, _interface.troika_model_info, self.handle)

    @property
    def layers(self):
        """All layers, as LayerInfo, in the order in which they were added."""
        return [self.describe_layer(index) for index in range(self.info.layers)]

    def describe_layer(self, layer):
        """One layer, by its name or index, as a LayerInfo.

        Raises Busy or NotFound. In C: troika_model_describe_layer.
        """
        if isinstance(layer, str):
            layer = self.find_layer(layer)
        return describe(lib.troika_model_describe_layer, _interface.troika_layer_info, self.handle, layer)

    def find_layer(self, name):
        """The index of the layer with this name.

        Raises Busy or NotFound. In C: troika_model_find_layer.
        """
        return self._find(lib.troika_model_find_layer, name)

    def _find(self, function, name):
        index = ctypes.c_int32()
        call(function, self.handle, encode(name), ctypes.byref(index))
        return index.value

    def describe_value(self, value):
        """Shape and dtype of a layer's output, as a ValueInfo.

        Raises Busy or InvalidArgument. In C: troika_model_describe_value.
        """
        return describe(lib.troika_model_describe_value, _interface.troika_value_info, self.handle, value)

    def to_json(self):
        """The model as JSON.

        Raises Busy or InvalidArgument. In C: troika_model_to_json.
        """
        return text_of(lib.troika_model_to_json, self.handle)

    def __str__(self):
        return text_of(lib.troika_model_print, self.handle)

    def _summary(self):
        info = self.info
        return f"{info.name!r}, {info.parameters} parameters"

    # Parameters.

    def initialize(self, pattern=None, initializer=None, a=0.0, seed=0):
        """Initialises parameters whose name matches a pattern; without an initializer, all by the model's default.

        Raises Busy, InvalidArgument, NotFound or OutOfMemory. In C:
        troika_model_initialize_default, troika_model_initialize.
        """
        if initializer is None:
            if pattern is not None:
                raise ValueError(f"pattern is '{pattern}' without an initializer; need one of {', '.join(i.name for i in Initializer)}")
            call(lib.troika_model_initialize_default, self.handle, seed)
        else:
            call(lib.troika_model_initialize, self.handle, None if pattern is None else encode(pattern),
                 enum_of(Initializer, initializer, "initializer"), a, seed)

    def initialize_layers(self, kinds, parameter, initializer, a=0.0, seed=0):
        """Initialises a parameter of all layers of some kinds: "weight" of "linear,conv2d".

        Raises Busy, InvalidArgument, NotFound or OutOfMemory. In C: troika_model_initialize_layers.
        """
        call(lib.troika_model_initialize_layers, self.handle, encode(kinds), encode(parameter),
             enum_of(Initializer, initializer, "initializer"), a, seed)

    def count_parameters(self):
        """The number of parameters and buffers, and the number of elements of all parameters.

        Raises Busy. In C: troika_model_count_parameters.
        """
        entries, elements = ctypes.c_int32(), ctypes.c_int64()
        call(lib.troika_model_count_parameters, self.handle, ctypes.byref(entries), ctypes.byref(elements))
        return entries.value, elements.value

    @property
    def parameters(self):
        """All parameters and buffers by name, as ParameterInfo, in the order of creation."""
        infos = (self.describe_parameter(index) for index in range(self.count_parameters()[0]))
        return {info.name: info for info in infos}

    def find_parameter(self, name):
        """The index of a parameter or buffer, in the order of creation.

        Raises Busy or NotFound. In C: troika_model_find_parameter.
        """
        return self._find(lib.troika_model_find_parameter, name)

    def describe_parameter(self, parameter):
        """Shape and dtype of a parameter or buffer, by its name or index, as a ParameterInfo.

        Raises Busy or NotFound. In C: troika_model_describe_parameter.
        """
        index = self.find_parameter(parameter) if isinstance(parameter, str) else parameter
        return describe(lib.troika_model_describe_parameter, _interface.troika_parameter_info, self.handle, index)

    def empty_parameter(self, name):
        """An array with the shape and dtype of a parameter."""
        info = self.describe_parameter(name)
        return numpy.empty(info.dims, numpy_dtype(info.dtype))

    def _read(self, name, array):
        call(lib.troika_model_get_parameter, self.handle, encode(name), address(array), array.nbytes)
        return array

    def get_parameter(self, name):
        """A copy of a parameter or buffer."""
        return self._read(name, self.empty_parameter(name))

    def _write(self, name, info, value):
        array = as_array(value, numpy_dtype(info.dtype), f"the value of parameter '{name}'")
        if array.shape != info.dims:
            raise ValueError(f"parameter '{name}' is {list(info.dims)}; the value is {list(array.shape)}")
        call(lib.troika_model_set_parameter, self.handle, encode(name), address(array), array.nbytes)

    def set_parameter(self, name, value):
        """Replaces a parameter or buffer by an array of its shape. A trainer takes the value before its next step."""
        array = self.empty_parameter(name)
        self._write(name, self.describe_parameter(name), value if array.size else array)

    def state_dict(self):
        """Copies of all parameters and buffers by PyTorch's names."""
        return {name: self._read(name, numpy.empty(info.dims, numpy_dtype(info.dtype)))
                for name, info in self.parameters.items()}

    def load_state_dict(self, values, strict=True):
        """Takes values by name: arrays, or tensors of PyTorch. All are checked before one is taken.

        Returns the names that are missing and those that are not the model's; both must be empty if
        `strict`. num_batches_tracked is never missing.
        """
        parameters = self.parameters
        missing = [name for name in parameters if name not in values and not name.endswith("num_batches_tracked")]
        unexpected = [name for name in values if name not in parameters]
        if strict and (missing or unexpected):
            raise KeyError(f"the values do not fit the model: missing {missing}, unexpected {unexpected}")
        arrays = {name: as_array(value, numpy_dtype(parameters[name].dtype), f"the value of parameter '{name}'")
                  for name, value in values.items() if name in parameters}
        for name, array in arrays.items():
            if array.shape != parameters[name].dims:
                raise ValueError(f"parameter '{name}' is {list(parameters[name].dims)}; the value is {list(array.shape)}")
        for name, array in arrays.items():
            self._write(name, parameters[name], array)
        return missing, unexpected

    # Files.

    def save(self, path):
        """Writes layers and parameters to a safetensors file, which PyTorch reads too. Atomic.

        Raises Busy, IoError, NotInitialized or OutOfMemory. In C: troika_model_save.
        """
        call(lib.troika_model_save, self.handle, encode(path, "path"))

    def save_memory(self):
        """The bytes that save() writes.

        Raises Busy, InvalidArgument, NotInitialized or OutOfMemory. In C: troika_model_save_memory.
        """
        size = ctypes.c_int64()
        call(lib.troika_model_save_memory, self.handle, None, 0, ctypes.byref(size))
        buffer = ctypes.create_string_buffer(size.value)
        call(lib.troika_model_save_memory, self.handle, buffer, size.value, ctypes.byref(size))
        return buffer.raw

    def load(self, path, **options):
        """Reads parameters from a safetensors file. Options: LoadOptions. Returns a LoadReport.

        Raises Busy, Corrupt, InvalidArgument, IoError, Mismatch, NotFound or OutOfMemory. In C:
        troika_model_load.
        """
        struct = fill(default_of(_interface.troika_load_options), options, "load")
        report = default_of(_interface.troika_load_report)
        call(lib.troika_model_load, self.handle, encode(path, "path"), ctypes.byref(struct), ctypes.byref(report))
        return result_of(report)

    def load_memory(self, data, **options):
        """Reads parameters from the bytes of a file. Options: LoadOptions. Returns a LoadReport.

        Raises Busy, Corrupt, InvalidArgument, IoError, Mismatch, NotFound or OutOfMemory. In C:
        troika_model_load_memory.
        """
        struct = fill(default_of(_interface.troika_load_options), options, "load_memory")
        report = default_of(_interface.troika_load_report)
        call(lib.troika_model_load_memory, self.handle, bytes(data), len(data), ctypes.byref(struct), ctypes.byref(report))
        return result_of(report)

    # Use.

    def predict(self, inputs, device="cpu:0", layer=None):
        """Outputs f32 for inputs [n, ...]: an array for an array, a Tensor on `device` for a Tensor.

        `layer` names a layer whose output is wanted instead, for arrays. Any number of threads may
        predict at once.

        Raises Busy, CommunicationError, DeviceUnavailable, InvalidArgument, NotFound,
        NotInitialized, OutOfMemory or Unsupported. In C: troika_model_predict,
        troika_model_predict_into.
        """
        if isinstance(inputs, Tensor):
            if layer is not None:
                raise ValueError(f"layer is '{layer}' with a Tensor; need an array")
            out = _interface.troika_tensor()
            call(lib.troika_model_predict, self.handle, Device.of(device).struct, inputs.handle, ctypes.byref(out))
            return Tensor.of_handle(out)
        info = self.info
        inputs = as_array(inputs, numpy_dtype(info.input_dtype) if info.input_dtype else None, "inputs")
        if inputs.shape[1:] != info.input_dims or not inputs.ndim:
            raise ValueError(f"inputs is {list(inputs.shape)}; need [n, {', '.join(map(str, info.input_dims))}]")
        dims = info.output_dims if layer is None else self.describe_layer(layer).dims
        output = numpy.empty((len(inputs), *dims), numpy.float32)
        call(lib.troika_model_predict_into, self.handle, Device.of(device).struct, address(inputs), len(inputs),
             None if layer is None else encode(layer), address(output), output.nbytes)
        return output

    def attach(self, devices="all", **options):
        """A trainer of this model on devices: "cpu:0", a list, or "all" GPUs. Options: TrainerOptions."""
        return Trainer(self, devices, **options)

    def estimate_plan(self, mesh, **options):
        """Memory, traffic and time of a split (data, layer, channel), as a PlanResult. Options: PlanOptions.

        Raises Busy, InvalidArgument, NotFound, OutOfMemory or Unsupported. In C:
        troika_plan_estimate.
        """
        struct = fill(default_of(_interface.troika_plan_options), options, "estimate_plan")
        split = fill(_interface.troika_mesh(), _interface.Mesh(*mesh)._asdict(), "mesh")
        result = default_of(_interface.troika_plan_result)
        call(lib.troika_plan_estimate, self.handle, ctypes.byref(struct), ctypes.byref(split), ctypes.byref(result))
        return result_of(result)

    def choose_plan(self, **options):
        """The split with the shortest planned step, as a PlanResult. Options: PlanOptions.

        Raises Busy, InvalidArgument, NotFound or OutOfMemory. In C: troika_plan_choose.
        """
        struct = fill(default_of(_interface.troika_plan_options), options, "choose_plan")
        result = default_of(_interface.troika_plan_result)
        call(lib.troika_plan_choose, self.handle, ctypes.byref(struct), ctypes.byref(result))
        return result_of(result)
