"""Declarations of model.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import enum
import typing

from troika._interface.context import troika_context
from troika._interface.device import troika_device
from troika._interface.layers import troika_model
from troika._interface.status import troika_error
from troika._interface.tensor import Dtype, troika_tensor


class Initializer(enum.IntEnum):
    """Kinds of initialiser. Fans are PyTorch's: for a shape [o, i, k...], fan_in = i * product of
    k, and fan_out = o * product of k. Initialisers that use them need rank 2 or above.
    """

    # a everywhere.
    CONSTANT = 1
    # Mean 0, standard deviation a.
    NORMAL = 2
    # Between -a and a.
    UNIFORM = 3
    # Normal, std sqrt(2 / fan_in) (He et al. 2015).
    KAIMING_NORMAL = 4
    # Uniform, bound sqrt(6 / fan_in).
    KAIMING_UNIFORM = 5
    # Normal, std sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).
    XAVIER_NORMAL = 6
    # Uniform, bound sqrt(6 / (fan_in + fan_out)).
    XAVIER_UNIFORM = 7


class troika_load_options(ctypes.Structure):
    """Options of troika_model_load. Begin with TROIKA_LOAD_OPTIONS_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("allow_partial", ctypes.c_int32),
        ("strip_prefix", ctypes.c_char_p),
        ("skip_mismatching", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("skip", ctypes.c_char_p),
        ("name_map", ctypes.c_char_p),
    ]


class troika_load_report(ctypes.Structure):
    """Report on loading. Filled by troika_model_load."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("loaded", ctypes.c_int32),
        ("missing", ctypes.c_int32),
        ("unexpected", ctypes.c_int32),
        ("mismatching", ctypes.c_int32),
        ("kept", ctypes.c_int32),
        ("names", ctypes.c_char * 4096),
    ]


class troika_model_options(ctypes.Structure):
    """Options of troika_model_create. Begin with TROIKA_MODEL_OPTIONS_INIT. A field that is unset
    takes the model's own default.
    """

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("classes", ctypes.c_int64),
        ("input_channels", ctypes.c_int64),
        ("input_height", ctypes.c_int64),
        ("input_width", ctypes.c_int64),
        ("hidden", ctypes.c_int64),
        ("steps", ctypes.c_int64),
    ]


class troika_parameter_info(ctypes.Structure):
    """Description of a parameter or buffer. Filled by troika_model_describe_parameter."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("is_buffer", ctypes.c_int32),
        ("is_initialized", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("dims", ctypes.c_int64 * 8),
        ("name", ctypes.c_char * 256),
    ]


class LoadOptions(typing.TypedDict, total=False):
    """Options of troika_model_load. Begin with TROIKA_LOAD_OPTIONS_INIT."""

    # 0 (default): names that differ are Status.MISMATCH. 1: loads the names that are in both.
    allow_partial: bool
    # Removed from the beginning of every name in the file, such as "module."; NULL: none.
    strip_prefix: str
    # 0 (default): shapes or dtypes that differ are Status.MISMATCH. 1: such parameters keep their
    # values, and the report names them: for a last layer of another number of classes.
    skip_mismatching: bool
    # Patterns of names in the model, separated by commas, such as "fc.*": parameters and buffers
    # that keep their values, whatever the file has. NULL: none.
    skip: str
    # The model's names for those of the file, after strip_prefix: rules "name in file=name in
    # model", separated by commas. The first rule that fits a whole name applies; * is any run of
    # characters, the same on both sides: "encoder.*=backbone.*". Also the name of a table: "d2l"
    # for the ResNet-18 of Dive into Deep Learning, "torchvision" for torchvision's models, also
    # within a module. NULL: the file has the model's names.
    name_map: str


class LoadReport(typing.NamedTuple):
    """Report on loading. Filled by troika_model_load."""

    # Parameters and buffers that took a value.
    loaded: int
    # In the model, not in the file; num_batches_tracked is never missing.
    missing: int
    # In the file, not in the model.
    unexpected: int
    # In both, with another shape or dtype.
    mismatching: int
    # In the model, and not loaded because of skip.
    kept: int
    # The first missing, unexpected and mismatching names, in whole lines, one line per name:
    # "missing fc.bias", "unexpected x", "mismatching x: file F32 [9], model F32 [5]". If not all
    # fit, the last line is "... and N more".
    names: str


class ModelOptions(typing.TypedDict, total=False):
    """Options of troika_model_create. Begin with TROIKA_MODEL_OPTIONS_INIT. A field that is unset
    takes the model's own default.
    """

    # Outputs of the last layer. Default 10 (d2l_*, resnet9, mlp), 1000 (resnet18, 34 and 50) or 256
    # (char_lstm: also the words of its embedding).
    classes: int
    # Default 1 (d2l_*, resnet9, mlp) or 3 (resnet18, 34 and 50).
    input_channels: int
    # Default 28 (d2l_*, resnet9, mlp) or 224 (resnet18, 34 and 50).
    input_height: int
    # Default: input_height if that is set, else as its default.
    input_width: int
    # Units of the hidden layer; default 256 (mlp) or 128 (char_lstm).
    hidden: int
    # char_lstm: tokens of a sample, default 64.
    steps: int


class ParameterInfo(typing.NamedTuple):
    """Description of a parameter or buffer. Filled by troika_model_describe_parameter."""

    # Dtype.F32, or Dtype.I64 for num_batches_tracked.
    dtype: Dtype
    # 1: a buffer that no optimizer updates (running statistics).
    is_buffer: bool
    # 1: it has a value.
    is_initialized: bool
    # Sizes; 0 beyond rank.
    dims: tuple[int, ...]
    # "conv1.weight".
    name: str


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_load_options: {
        "allow_partial": ("flag", None),
        "strip_prefix": ("text", None),
        "skip_mismatching": ("flag", None),
        "skip": ("text", None),
        "name_map": ("text", None),
    },
    troika_load_report: {
        "loaded": ("number", None),
        "missing": ("number", None),
        "unexpected": ("number", None),
        "mismatching": ("number", None),
        "kept": ("number", None),
        "names": ("buffer", None),
    },
    troika_model_options: {
        "classes": ("number", None),
        "input_channels": ("number", None),
        "input_height": ("number", None),
        "input_width": ("number", None),
        "hidden": ("number", None),
        "steps": ("number", None),
    },
    troika_parameter_info: {
        "dtype": ("enum", Dtype),
        "is_buffer": ("flag", None),
        "is_initialized": ("flag", None),
        "dims": ("part", 'rank'),
        "name": ("buffer", None),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
    troika_load_report: LoadReport,
    troika_parameter_info: ParameterInfo,
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_model_initialize": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_int32, ctypes.c_double, ctypes.c_uint64, ctypes.POINTER(troika_error)]),
    "troika_model_initialize_layers": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int32, ctypes.c_double, ctypes.c_uint64, ctypes.POINTER(troika_error)]),
    "troika_model_initialize_default": (ctypes.c_int32, [troika_model, ctypes.c_uint64, ctypes.POINTER(troika_error)]),
    "troika_parameter_info_init": (None, [ctypes.POINTER(troika_parameter_info), ctypes.c_uint32]),
    "troika_model_count_parameters": (ctypes.c_int32, [troika_model, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_describe_parameter": (ctypes.c_int32, [troika_model, ctypes.c_int32, ctypes.POINTER(troika_parameter_info), ctypes.POINTER(troika_error)]),
    "troika_model_find_parameter": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(troika_error)]),
    "troika_model_get_parameter": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_error)]),
    "troika_model_set_parameter": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_error)]),
    "troika_model_print": (ctypes.c_int32, [troika_model, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_options_init": (None, [ctypes.POINTER(troika_model_options), ctypes.c_uint32]),
    "troika_model_create": (ctypes.c_int32, [troika_context, ctypes.c_char_p, ctypes.POINTER(troika_model_options), ctypes.POINTER(troika_model), ctypes.POINTER(troika_error)]),
    "troika_model_create_empty": (ctypes.c_int32, [troika_context, ctypes.c_char_p, ctypes.POINTER(troika_model), ctypes.POINTER(troika_error)]),
    "troika_model_open": (ctypes.c_int32, [troika_context, ctypes.c_char_p, ctypes.POINTER(troika_model), ctypes.POINTER(troika_error)]),
    "troika_model_open_memory": (ctypes.c_int32, [troika_context, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_model), ctypes.POINTER(troika_error)]),
    "troika_model_clone": (ctypes.c_int32, [troika_model, ctypes.POINTER(troika_model), ctypes.POINTER(troika_error)]),
    "troika_model_destroy": (None, [troika_model]),
    "troika_load_report_init": (None, [ctypes.POINTER(troika_load_report), ctypes.c_uint32]),
    "troika_load_options_init": (None, [ctypes.POINTER(troika_load_options), ctypes.c_uint32]),
    "troika_model_save": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.POINTER(troika_error)]),
    "troika_model_load": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.POINTER(troika_load_options), ctypes.POINTER(troika_load_report), ctypes.POINTER(troika_error)]),
    "troika_model_save_memory": (ctypes.c_int32, [troika_model, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_model_load_memory": (ctypes.c_int32, [troika_model, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_load_options), ctypes.POINTER(troika_load_report), ctypes.POINTER(troika_error)]),
    "troika_model_predict": (ctypes.c_int32, [troika_model, troika_device, troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_model_predict_into": (ctypes.c_int32, [troika_model, troika_device, ctypes.c_void_p, ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_error)]),
}
