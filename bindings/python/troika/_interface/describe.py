"""Declarations of describe.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

from troika._interface.device import troika_device
from troika._interface.layers import troika_model
from troika._interface.status import troika_error
from troika._interface.tensor import Dtype
from troika._interface.trainer import troika_trainer
from troika._interface.trainer_options import Mesh, troika_mesh, troika_trainer_options

# Most inputs of a layer that troika_layer_info lists.
MAX_LAYER_INPUTS = 8


class troika_layer_info(ctypes.Structure):
    """Description of a layer. Filled by troika_model_describe_layer."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("input_count", ctypes.c_int32),
        ("inputs", ctypes.c_int64 * 8),
        ("output", ctypes.c_int64),
        ("parameters", ctypes.c_int64),
        ("operations", ctypes.c_double),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.c_int64 * 8),
        ("kind", ctypes.c_char * 64),
        ("name", ctypes.c_char * 256),
    ]


class troika_model_info(ctypes.Structure):
    """Description of a model. Filled by troika_model_describe."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("is_complete", ctypes.c_int32),
        ("layers", ctypes.c_int32),
        ("entries", ctypes.c_int32),
        ("parameters", ctypes.c_int64),
        ("operations", ctypes.c_double),
        ("input_dtype", ctypes.c_int32),
        ("input_rank", ctypes.c_int32),
        ("input_dims", ctypes.c_int64 * 8),
        ("output_dtype", ctypes.c_int32),
        ("output_rank", ctypes.c_int32),
        ("output_dims", ctypes.c_int64 * 8),
        ("name", ctypes.c_char * 256),
    ]


class troika_trainer_info(ctypes.Structure):
    """Description of a trainer. Filled by troika_trainer_describe."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("device_count", ctypes.c_int32),
        ("mesh", troika_mesh),
        ("step", ctypes.c_int64),
        ("learning_rate", ctypes.c_double),
        ("loss_scale", ctypes.c_double),
        ("trained_elements", ctypes.c_int64),
        ("trained_entries", ctypes.c_int32),
        ("is_usable", ctypes.c_int32),
    ]


class troika_value_info(ctypes.Structure):
    """Description of a value. Filled by troika_model_describe_value."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("layer", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("dims", ctypes.c_int64 * 8),
    ]


class LayerInfo(typing.NamedTuple):
    """Description of a layer. Filled by troika_model_describe_layer."""

    # The first of them; 0 beyond the last.
    inputs: tuple[int, ...]
    # The layer's output.
    output: int
    # Elements of the layer's parameters.
    parameters: int
    # Operations of the forward pass for one sample.
    operations: float
    # Type of the output: Dtype.F32 and so on.
    dtype: Dtype
    # Shape of one sample's output; 0 beyond rank.
    dims: tuple[int, ...]
    # "conv2d" for a layer of troika_model_add_conv2d, and so on; "input" for the input.
    kind: str
    # "layer1.0.conv1".
    name: str


class ModelInfo(typing.NamedTuple):
    """Description of a model. Filled by troika_model_describe."""

    # 1: the output is set.
    is_complete: bool
    # Layers, with the input as layer 0.
    layers: int
    # Parameters and buffers together.
    entries: int
    # Elements of all parameters.
    parameters: int
    # Operations of the forward pass for one sample; a product and its sum are 2.
    operations: float
    # Dtype.F32, or Dtype.I32 for tokens; 0 without an input.
    input_dtype: Dtype
    # Shape of a sample; 0 beyond input_rank.
    input_dims: tuple[int, ...]
    # Dtype.F32; 0 if the model is not complete.
    output_dtype: Dtype
    # Shape of one sample's output.
    output_dims: tuple[int, ...]
    # The model's name.
    name: str


class TrainerInfo(typing.NamedTuple):
    """Description of a trainer. Filled by troika_trainer_describe."""

    # Devices, and replicas, of this process.
    device_count: int
    # How the devices of all processes share the work; no part is 0.
    mesh: Mesh
    # Steps done, also those before a training state was loaded.
    step: int
    # The rate of the next step, with schedule.
    learning_rate: float
    # The scale of the next step; 1 without.
    loss_scale: float
    # Elements of the parameters that are trained.
    trained_elements: int
    # Parameters that are trained.
    trained_entries: int
    # 1; 0 after an error that is permanent: Status.DETACHED, Status.COMM.
    is_usable: bool


class ValueInfo(typing.NamedTuple):
    """Description of a value. Filled by troika_model_describe_value."""

    # Index of the layer whose output the value is.
    layer: int
    # Dtype.F32 and so on.
    dtype: Dtype
    # Shape of one sample's value; 0 beyond rank.
    dims: tuple[int, ...]


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_layer_info: {
        "inputs": ("part", 'input_count'),
        "output": ("number", None),
        "parameters": ("number", None),
        "operations": ("number", None),
        "dtype": ("enum", Dtype),
        "dims": ("part", 'rank'),
        "kind": ("buffer", None),
        "name": ("buffer", None),
    },
    troika_model_info: {
        "is_complete": ("flag", None),
        "layers": ("number", None),
        "entries": ("number", None),
        "parameters": ("number", None),
        "operations": ("number", None),
        "input_dtype": ("enum", Dtype),
        "input_dims": ("part", 'input_rank'),
        "output_dtype": ("enum", Dtype),
        "output_dims": ("part", 'output_rank'),
        "name": ("buffer", None),
    },
    troika_trainer_info: {
        "device_count": ("number", None),
        "mesh": ("struct", troika_mesh),
        "step": ("number", None),
        "learning_rate": ("number", None),
        "loss_scale": ("number", None),
        "trained_elements": ("number", None),
        "trained_entries": ("number", None),
        "is_usable": ("flag", None),
    },
    troika_value_info: {
        "layer": ("number", None),
        "dtype": ("enum", Dtype),
        "dims": ("part", 'rank'),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
    troika_layer_info: LayerInfo,
    troika_model_info: ModelInfo,
    troika_trainer_info: TrainerInfo,
    troika_value_info: ValueInfo,
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_zoo_name": (ctypes.c_char_p, [ctypes.c_int32]),
    "troika_model_info_init": (None, [ctypes.POINTER(troika_model_info), ctypes.c_uint32]),
    "troika_model_describe": (ctypes.c_int32, [troika_model, ctypes.POINTER(troika_model_info), ctypes.POINTER(troika_error)]),
    "troika_layer_info_init": (None, [ctypes.POINTER(troika_layer_info), ctypes.c_uint32]),
    "troika_model_describe_layer": (ctypes.c_int32, [troika_model, ctypes.c_int32, ctypes.POINTER(troika_layer_info), ctypes.POINTER(troika_error)]),
    "troika_model_find_layer": (ctypes.c_int32, [troika_model, ctypes.c_char_p, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(troika_error)]),
    "troika_value_info_init": (None, [ctypes.POINTER(troika_value_info), ctypes.c_uint32]),
    "troika_model_describe_value": (ctypes.c_int32, [troika_model, ctypes.c_int64, ctypes.POINTER(troika_value_info), ctypes.POINTER(troika_error)]),
    "troika_model_to_json": (ctypes.c_int32, [troika_model, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_trainer_info_init": (None, [ctypes.POINTER(troika_trainer_info), ctypes.c_uint32]),
    "troika_trainer_describe": (ctypes.c_int32, [troika_trainer, ctypes.POINTER(troika_trainer_info), ctypes.POINTER(troika_error)]),
    "troika_trainer_get_devices": (ctypes.c_int32, [troika_trainer, ctypes.POINTER(troika_device), ctypes.c_int32, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(troika_error)]),
    "troika_trainer_get_options": (ctypes.c_int32, [troika_trainer, ctypes.POINTER(troika_trainer_options), ctypes.POINTER(troika_error)]),
    "troika_trainer_to_json": (ctypes.c_int32, [troika_trainer, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
}
