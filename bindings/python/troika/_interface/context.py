"""Declarations of context.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import enum
import typing

from troika._interface.export import troika_destroy_function
from troika._interface.status import troika_error


class LogLevel(enum.IntEnum):
    """Levels of log lines."""

    ERROR = 1
    WARNING = 2
    INFO = 3
    DEBUG = 4


class troika_context(ctypes.c_void_p):
    """The root object. There is no other global state, so several contexts live in one process.
    Counted: models, trainers, tensors, datasets and loaders keep their context alive, so handles
    may be destroyed in any order.
    """


# A log sink. topic is what the line is about: "backend", "comm", "plan", "memory" or "train". line
# is UTF-8 without a line break. Both are borrowed for the call. May be called from any thread of
# the library, one call at a time. It must not call the library.
troika_log_function = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p)


class troika_context_options(ctypes.Structure):
    """Options of a context. Begin with TROIKA_CONTEXT_OPTIONS_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("cpu_threads", ctypes.c_int32),
        ("seed", ctypes.c_uint64),
        ("log", troika_log_function),
        ("log_user", ctypes.c_void_p),
        ("log_level", ctypes.c_int32),
        ("use_environment", ctypes.c_int32),
        ("log_user_destroy", troika_destroy_function),
        ("backends", ctypes.c_char_p),
        ("log_topics", ctypes.c_char_p),
        ("backend_folder", ctypes.c_char_p),
        ("cache_folder", ctypes.c_char_p),
        ("predict_threads", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class ContextOptions(typing.TypedDict, total=False):
    """Options of a context. Begin with TROIKA_CONTEXT_OPTIONS_INIT."""

    # CPU threads for all CPU devices together: at least 1, at most 8 for each core of the process,
    # or 64 if that is more; unset: one for each core. If it is unset, trainers with a group divide
    # the cores of a machine: each process takes an equal share.
    cpu_threads: int
    # Seed of parameter initialisation and of dropout, unless the caller names another.
    seed: int
    # The most detailed level that reaches log; unset: LogLevel.WARNING.
    log_level: LogLevel | str
    # 1: environment variables of the library hold for fields that are not set: TROIKA_LOG,
    # TROIKA_BACKEND_DIR, TROIKA_CACHE_DIR, TROIKA_OWN_KERNELS, TROIKA_LEAVE_OUT and TROIKA_DUMP
    # (docs/threads.md). 0 (default): none of them is read.
    use_environment: bool
    # The backends that the context may use, separated by commas: "cpu", "cuda". NULL (default):
    # all. A backend is loaded when one of its devices is first asked for.
    backends: str
    # Levels of single topics, separated by commas: "plan=debug,comm=error". log_level holds for the
    # others. NULL (default): for all.
    log_topics: str
    # An absolute path of a folder in which plug-ins are looked for first. NULL (default): none.
    backend_folder: str
    # An absolute path of the folder in which the library stores measurements, such as the fastest
    # engines of a GPU. NULL (default): troika in XDG_CACHE_HOME or in the user's .cache. "": none
    # are stored.
    cache_folder: str
    # CPU threads of one prediction of troika_model_predict: 1 to cpu_threads. The bits of a result
    # may depend on the number, and never on what else runs. Unset: one thread for each 500 million
    # operations. A server with many callers sets 1 (docs/serving.md).
    predict_threads: int


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_context_options: {
        "cpu_threads": ("number", None),
        "seed": ("number", None),
        "log_level": ("enum", LogLevel),
        "use_environment": ("flag", None),
        "backends": ("text", None),
        "log_topics": ("text", None),
        "backend_folder": ("text", None),
        "cache_folder": ("text", None),
        "predict_threads": ("number", None),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_context_options_init": (None, [ctypes.POINTER(troika_context_options), ctypes.c_uint32]),
    "troika_context_create": (ctypes.c_int32, [ctypes.POINTER(troika_context_options), ctypes.POINTER(troika_context), ctypes.POINTER(troika_error)]),
    "troika_context_describe_backends": (ctypes.c_int32, [troika_context, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_context_destroy": (None, [troika_context]),
}
