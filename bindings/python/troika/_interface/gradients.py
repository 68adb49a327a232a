"""Declarations of gradients.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

from troika._interface.context import troika_context
from troika._interface.status import troika_error
from troika._interface.tensor import troika_tensor


class troika_gradients(ctypes.c_void_p):
    """A record of operations. It holds the tensors that it has recorded until it is destroyed."""


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_gradients_create": (ctypes.c_int32, [troika_context, ctypes.POINTER(troika_gradients), ctypes.POINTER(troika_error)]),
    "troika_gradients_destroy": (None, [troika_gradients]),
    "troika_gradients_watch": (ctypes.c_int32, [troika_gradients, troika_tensor, ctypes.POINTER(troika_error)]),
    "troika_gradients_compute": (ctypes.c_int32, [troika_gradients, troika_tensor, ctypes.POINTER(troika_tensor), ctypes.c_int32, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
}
