"""Declarations of scores.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

from troika._interface.status import troika_error

# Numbers per class of troika_scores_compute.
SCORES_PER_CLASS = 7


class troika_scores(ctypes.Structure):
    """Scores over all classes. Filled by troika_scores_compute. NaN: does not apply."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("top", ctypes.c_int32),
        ("n", ctypes.c_int64),
        ("accuracy", ctypes.c_double),
        ("top_accuracy", ctypes.c_double),
        ("precision", ctypes.c_double),
        ("recall", ctypes.c_double),
        ("f1", ctypes.c_double),
        ("auc", ctypes.c_double),
    ]


class Scores(typing.NamedTuple):
    """Scores over all classes. Filled by troika_scores_compute. NaN: does not apply."""

    # The argument top.
    top: int
    # Samples.
    n: int
    # Samples whose largest output is that of their label, of all.
    accuracy: float
    # Samples whose label is among the top largest outputs, of all.
    top_accuracy: float
    # Mean over the classes to which precision applies.
    precision: float
    # Mean over the classes to which recall applies.
    recall: float
    # Mean over the classes to which F1 applies.
    f1: float
    # Mean over the classes to which AUC applies.
    auc: float


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_scores: {
        "top": ("number", None),
        "n": ("number", None),
        "accuracy": ("number", None),
        "top_accuracy": ("number", None),
        "precision": ("number", None),
        "recall": ("number", None),
        "f1": ("number", None),
        "auc": ("number", None),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
    troika_scores: Scores,
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_scores_init": (None, [ctypes.POINTER(troika_scores), ctypes.c_uint32]),
    "troika_scores_compute": (ctypes.c_int32, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(troika_scores), ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
}
