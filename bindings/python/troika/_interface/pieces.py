"""Declarations of pieces.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

from troika._interface.data import troika_batch
from troika._interface.status import troika_error
from troika._interface.tensor import troika_tensor
from troika._interface.trainer import troika_step_result, troika_trainer


class troika_forward_options(ctypes.Structure):
    """Options of troika_trainer_forward. Begin with TROIKA_FORWARD_OPTIONS_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("input_gradient", ctypes.c_int32),
        ("own_loss", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("weight", ctypes.c_double),
    ]


class ForwardOptions(typing.TypedDict, total=False):
    """Options of troika_trainer_forward. Begin with TROIKA_FORWARD_OPTIONS_INIT."""

    # 1: the backward pass also computes the gradient of the inputs, which must be f32. Default 0.
    input_gradient: bool
    # 1: troika_trainer_backward takes the gradient of the output from the caller; the targets of
    # the batch are not read, and a batch may have none. Default 0: the trainer's own loss.
    own_loss: bool
    # Above 0: the gradient of the trainer's loss is multiplied by this number; the loss that is
    # reported is not. n / N for a pass over n of N samples makes the sum of all passes the gradient
    # of the mean over the N samples. 0 (default): 1. Excludes own_loss.
    weight: float


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_forward_options: {
        "input_gradient": ("flag", None),
        "own_loss": ("flag", None),
        "weight": ("number", None),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_forward_options_init": (None, [ctypes.POINTER(troika_forward_options), ctypes.c_uint32]),
    "troika_trainer_forward": (ctypes.c_int32, [troika_trainer, troika_batch, ctypes.POINTER(troika_forward_options), ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_step_result), ctypes.POINTER(troika_error)]),
    "troika_trainer_backward": (ctypes.c_int32, [troika_trainer, troika_tensor, ctypes.POINTER(troika_error)]),
    "troika_trainer_get_input_gradient": (ctypes.c_int32, [troika_trainer, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_error)]),
    "troika_trainer_set_gradient": (ctypes.c_int32, [troika_trainer, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_error)]),
    "troika_trainer_apply": (ctypes.c_int32, [troika_trainer, ctypes.POINTER(troika_step_result), ctypes.POINTER(troika_error)]),
}
