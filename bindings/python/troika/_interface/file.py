"""Declarations of file.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

from troika._interface.status import troika_error


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_file_inspect": (ctypes.c_int32, [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_file_newest": (ctypes.c_int32, [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
}
