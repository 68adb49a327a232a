"""Declarations of export.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

VERSION = "1.1.0"
# "Not set" for an integer field of an option struct: the library takes its default.
UNSET = -2147483648


# Called once with user when the library no longer needs user. NULL in place of the function: no
# call. The function must not call the library. May be called from any thread.
troika_destroy_function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_version": (ctypes.c_int32, []),
    "troika_build_info": (ctypes.c_char_p, []),
}
