"""Declarations of pending.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

from troika._interface.data import troika_batch
from troika._interface.status import troika_error
from troika._interface.trainer import troika_step_result, troika_trainer


class troika_pending(ctypes.c_void_p):
    """A step that was started and may not have ended. Counted; keeps its trainer alive until then.
    """


# Called once when a step has ended, on a thread of the library. result and error are borrowed for
# the call. The callback may call the library, except that it must not wait for a step of the same
# trainer.
troika_done_function = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_trainer_step_async": (ctypes.c_int32, [troika_trainer, troika_batch, troika_done_function, ctypes.c_void_p, ctypes.POINTER(troika_pending), ctypes.POINTER(troika_error)]),
    "troika_pending_poll": (ctypes.c_int32, [troika_pending, ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(troika_error)]),
    "troika_pending_wait": (ctypes.c_int32, [troika_pending, ctypes.c_int64, ctypes.POINTER(troika_step_result), ctypes.POINTER(troika_error)]),
    "troika_pending_destroy": (None, [troika_pending]),
}
