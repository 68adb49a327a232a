"""Declarations of the C interface. Written by bindings/generate.py from the C headers; do not edit.

Each module has those of one header.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from troika._interface import export
from troika._interface import status
from troika._interface import context
from troika._interface import device
from troika._interface import tensor
from troika._interface import gradients
from troika._interface import group
from troika._interface import trainer_options
from troika._interface import data
from troika._interface import layers
from troika._interface import model
from troika._interface import scores
from troika._interface import operations
from troika._interface import trainer
from troika._interface import plan
from troika._interface import pending
from troika._interface import pieces
from troika._interface import describe
from troika._interface import file
from troika._interface.export import *  # pylint: disable=wildcard-import
from troika._interface.status import *  # pylint: disable=wildcard-import
from troika._interface.context import *  # pylint: disable=wildcard-import
from troika._interface.device import *  # pylint: disable=wildcard-import
from troika._interface.tensor import *  # pylint: disable=wildcard-import
from troika._interface.gradients import *  # pylint: disable=wildcard-import
from troika._interface.group import *  # pylint: disable=wildcard-import
from troika._interface.trainer_options import *  # pylint: disable=wildcard-import
from troika._interface.data import *  # pylint: disable=wildcard-import
from troika._interface.layers import *  # pylint: disable=wildcard-import
from troika._interface.model import *  # pylint: disable=wildcard-import
from troika._interface.scores import *  # pylint: disable=wildcard-import
from troika._interface.operations import *  # pylint: disable=wildcard-import
from troika._interface.trainer import *  # pylint: disable=wildcard-import
from troika._interface.plan import *  # pylint: disable=wildcard-import
from troika._interface.pending import *  # pylint: disable=wildcard-import
from troika._interface.pieces import *  # pylint: disable=wildcard-import
from troika._interface.describe import *  # pylint: disable=wildcard-import
from troika._interface.file import *  # pylint: disable=wildcard-import

MEANINGS = {
    **export.MEANINGS,
    **status.MEANINGS,
    **context.MEANINGS,
    **device.MEANINGS,
    **tensor.MEANINGS,
    **gradients.MEANINGS,
    **group.MEANINGS,
    **trainer_options.MEANINGS,
    **data.MEANINGS,
    **layers.MEANINGS,
    **model.MEANINGS,
    **scores.MEANINGS,
    **operations.MEANINGS,
    **trainer.MEANINGS,
    **plan.MEANINGS,
    **pending.MEANINGS,
    **pieces.MEANINGS,
    **describe.MEANINGS,
    **file.MEANINGS,
}

RESULTS = {
    **export.RESULTS,
    **status.RESULTS,
    **context.RESULTS,
    **device.RESULTS,
    **tensor.RESULTS,
    **gradients.RESULTS,
    **group.RESULTS,
    **trainer_options.RESULTS,
    **data.RESULTS,
    **layers.RESULTS,
    **model.RESULTS,
    **scores.RESULTS,
    **operations.RESULTS,
    **trainer.RESULTS,
    **plan.RESULTS,
    **pending.RESULTS,
    **pieces.RESULTS,
    **describe.RESULTS,
    **file.RESULTS,
}

FUNCTIONS = {
    **export.FUNCTIONS,
    **status.FUNCTIONS,
    **context.FUNCTIONS,
    **device.FUNCTIONS,
    **tensor.FUNCTIONS,
    **gradients.FUNCTIONS,
    **group.FUNCTIONS,
    **trainer_options.FUNCTIONS,
    **data.FUNCTIONS,
    **layers.FUNCTIONS,
    **model.FUNCTIONS,
    **scores.FUNCTIONS,
    **operations.FUNCTIONS,
    **trainer.FUNCTIONS,
    **plan.FUNCTIONS,
    **pending.FUNCTIONS,
    **pieces.FUNCTIONS,
    **describe.FUNCTIONS,
    **file.FUNCTIONS,
}
