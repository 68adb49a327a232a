"""Scores of a classifier: precision, recall, F1, the area under the ROC curve, and counts."""

import ctypes
from typing import NamedTuple

import numpy

from troika import _interface
from troika._call import call, default_of, result_of
from troika._library import lib
from troika.arrays import as_array


class ClassScores(NamedTuple):
    """Scores of a class. NaN: does not apply."""

    labels: int
    predicted: int
    correct: int
    precision: float
    recall: float
    f1: float
    auc: float


class ScoreReport(NamedTuple):
    """Scores over all classes, of each class, and the counts of [label, class that was found]."""

    all: _interface.Scores
    classes: list
    confusion: numpy.ndarray


def compute_scores(outputs, labels, top=1, logits=True):
    """Scores of outputs [n, classes], logits or probabilities, for labels [n], as a ScoreReport.

    Raises InvalidArgument or OutOfMemory. In C: troika_scores_compute.
    """
    outputs, labels = as_array(outputs, numpy.float32, "outputs"), as_array(labels, numpy.int32, "labels")
    if outputs.ndim != 2 or labels.shape != outputs.shape[:1]:
        raise ValueError(f"outputs are {outputs.shape}, labels {labels.shape}; need [n, classes] and [n]")
    n, classes = outputs.shape
    rows, confusion = numpy.zeros((classes, _interface.SCORES_PER_CLASS)), numpy.zeros((classes, classes), numpy.int64)
    scores = default_of(_interface.troika_scores)
    call(lib.troika_scores_compute, outputs.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
         labels.ctypes.data_as(ctypes.POINTER(ctypes.c_int32)), n, classes, top, int(logits), ctypes.byref(scores),
         rows.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), confusion.ctypes.data_as(ctypes.POINTER(ctypes.c_int64)))
    found = [ClassScores(*map(int, row[:3]), *map(float, row[3:])) for row in rows]
    return ScoreReport(result_of(scores), found, confusion)
