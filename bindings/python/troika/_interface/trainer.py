"""Declarations of trainer.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

from troika._interface.data import troika_batch, troika_loader, troika_loader_position
from troika._interface.device import troika_device
from troika._interface.export import troika_destroy_function
from troika._interface.layers import troika_model
from troika._interface.status import Status, troika_error
from troika._interface.tensor import troika_tensor
from troika._interface.trainer_options import troika_trainer_options


class troika_trainer(ctypes.c_void_p):
    """A model attached to a list of devices, which share its batches, layers and channels. Counted.
    """


# A progress callback. It is called after each batch of troika_trainer_train_epoch,
# troika_trainer_train_batches, troika_trainer_predict_loader and evaluations, on the thread that
# called them. Non-zero stops the call. An exception of C++ ends the call with CALLBACK. On GPUs,
# training on the next batch may have started by then; that step completes and counts. Borrowed
# until the callback returns: progress. The callback must not call this trainer, except
# troika_trainer_request_stop.
troika_progress_function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)


class troika_memory_info(ctypes.Structure):
    """Memory of one replica in bytes. Filled by troika_trainer_memory."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("plans", ctypes.c_int32),
        ("arena_bytes", ctypes.c_int64),
        ("parameter_bytes", ctypes.c_int64),
        ("gradient_bytes", ctypes.c_int64),
        ("optimizer_bytes", ctypes.c_int64),
        ("sample_bytes", ctypes.c_int64),
    ]


class troika_metrics(ctypes.Structure):
    """Sums over many batches. Filled by calls that train on or evaluate the batches of a loader.
    """

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("loss", ctypes.c_double),
        ("accuracy", ctypes.c_double),
        ("samples", ctypes.c_int64),
        ("correct", ctypes.c_int64),
        ("seconds", ctypes.c_double),
        ("labels", ctypes.c_int64),
        ("skipped_steps", ctypes.c_int64),
    ]


class troika_progress(ctypes.Structure):
    """The progress after a batch, as a progress callback receives it."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("batch", ctypes.c_int64),
        ("batches", ctypes.c_int64),
        ("epoch", ctypes.c_int64),
        ("samples", ctypes.c_int64),
        ("correct", ctypes.c_int64),
        ("loss", ctypes.c_double),
        ("seconds", ctypes.c_double),
        ("training", ctypes.c_int32),
        ("skipped", ctypes.c_int32),
        ("batch_loss", ctypes.c_double),
        ("batch_samples", ctypes.c_int64),
        ("batch_correct", ctypes.c_int64),
        ("learning_rate", ctypes.c_double),
        ("labels", ctypes.c_int64),
        ("batch_labels", ctypes.c_int64),
        ("wait_seconds", ctypes.c_double),
    ]


class troika_save_options(ctypes.Structure):
    """How a training state is saved. Begin with TROIKA_SAVE_OPTIONS_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("keep", ctypes.c_int32),
        ("in_background", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class troika_step_result(ctypes.Structure):
    """The result of a step. Filled by troika_trainer_step."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("loss", ctypes.c_double),
        ("samples", ctypes.c_int64),
        ("correct", ctypes.c_int64),
        ("step", ctypes.c_int64),
        ("learning_rate", ctypes.c_double),
        ("seconds", ctypes.c_double),
        ("loss_scale", ctypes.c_double),
        ("gradient_norm", ctypes.c_double),
        ("labels", ctypes.c_int64),
    ]


class MemoryInfo(typing.NamedTuple):
    """Memory of one replica in bytes. Filled by troika_trainer_memory."""

    # Compiled plans: one per mode and batch size. At most 16 are kept.
    plans: int
    # Activations, their gradients and scratch, shared by all plans.
    arena_bytes: int
    # Parameters, buffers, and copies of parameters in 16 bits.
    parameter_bytes: int
    # Gradients of parameters; twice after sums over passes.
    gradient_bytes: int
    # Optimizer state.
    optimizer_bytes: int
    # Datasets that the device keeps (samples_on_host).
    sample_bytes: int


class Metrics(typing.NamedTuple):
    """Sums over many batches. Filled by calls that train on or evaluate the batches of a loader.
    """

    # Mean over all labels, by weight.
    loss: float
    # correct / labels.
    accuracy: float
    # Samples seen.
    samples: int
    # Labels whose largest output is the label's own.
    correct: int
    # Wall-clock time.
    seconds: float
    # Labels seen that are not ignored; samples for other losses.
    labels: int
    # Steps that were skipped (Status.STEP_SKIPPED); 0 of an evaluation.
    skipped_steps: int
    # The status that the call returned: OK, or information such as STOPPED.
    status: Status = Status.OK


class Progress(typing.NamedTuple):
    """The progress after a batch, as a progress callback receives it."""

    # Batches of this epoch that are done.
    batch: int
    # Batches in the epoch; see troika_loader_position for streams.
    batches: int
    # Epoch of the loader, from 0.
    epoch: int
    # Samples done in this call.
    samples: int
    # Those of labels that were classified correctly.
    correct: int
    # Mean over the labels of this call, by weight.
    loss: float
    # Since the call began.
    seconds: float
    # 1 while training, 0 while evaluating or predicting.
    training: bool
    # 1: this batch's step was skipped (Status.STEP_SKIPPED). If the loss of the batch is then not
    # finite, the sums over this call leave the batch out.
    skipped: bool
    # Mean over the labels of this batch, by weight.
    batch_loss: float
    # Samples of this batch.
    batch_samples: int
    # Those of batch_labels that were classified correctly.
    batch_correct: int
    # The trainer's rate that this step used; 0 while evaluating.
    learning_rate: float
    # Labels done in this call that are not ignored; samples for other losses.
    labels: int
    # Those of labels that belong to this batch.
    batch_labels: int
    # Seconds of this step in which the devices of this process waited for others: those of the
    # device that waited least. Without a group the others are the trainer's own. The process that
    # waits least is the one that the others wait for. 0 with devices that run ahead of the host
    # (GPUs), and while evaluating.
    wait_seconds: float


class SaveOptions(typing.TypedDict, total=False):
    """How a training state is saved. Begin with TROIKA_SAVE_OPTIONS_INIT."""

    # 0 (default): writes the file at path. K above 0: puts the step before the extension, as in
    # state-000000001200.safetensors for the path state.safetensors, and removes all but the newest
    # K of these files. At most 65536.
    keep: int
    # 1: the call returns when the state has been copied to host memory. A thread of the library
    # writes the file. Default 0.
    in_background: bool


class StepResult(typing.NamedTuple):
    """The result of a step. Filled by troika_trainer_step."""

    # Loss of the batch before the update: mean or sum, by reduction.
    loss: float
    # Samples in the batch.
    samples: int
    # Those of labels whose largest output is the label's own; 0 for other losses. A label whose
    # outputs are not numbers is not correct.
    correct: int
    # Steps done, including this one.
    step: int
    # The trainer's rate that this step used; groups may have others.
    learning_rate: float
    # Wall-clock time of the step.
    seconds: float
    # The loss scale that this step used; 1 without loss scaling.
    loss_scale: float
    # The 2-norm of all gradients together before clipping; not finite if one of them is not. 0
    # without max_gradient_norm.
    gradient_norm: float
    # Labels that are not ignored, over which the mean is computed; samples for other losses.
    labels: int
    # The status that the call returned: OK, or information such as STOPPED.
    status: Status = Status.OK


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_memory_info: {
        "plans": ("number", None),
        "arena_bytes": ("number", None),
        "parameter_bytes": ("number", None),
        "gradient_bytes": ("number", None),
        "optimizer_bytes": ("number", None),
        "sample_bytes": ("number", None),
    },
    troika_metrics: {
        "loss": ("number", None),
        "accuracy": ("number", None),
        "samples": ("number", None),
        "correct": ("number", None),
        "seconds": ("number", None),
        "labels": ("number", None),
        "skipped_steps": ("number", None),
    },
    troika_progress: {
        "batch": ("number", None),
        "batches": ("number", None),
        "epoch": ("number", None),
        "samples": ("number", None),
        "correct": ("number", None),
        "loss": ("number", None),
        "seconds": ("number", None),
        "training": ("flag", None),
        "skipped": ("flag", None),
        "batch_loss": ("number", None),
        "batch_samples": ("number", None),
        "batch_correct": ("number", None),
        "learning_rate": ("number", None),
        "labels": ("number", None),
        "batch_labels": ("number", None),
        "wait_seconds": ("number", None),
    },
    troika_save_options: {
        "keep": ("number", None),
        "in_background": ("flag", None),
    },
    troika_step_result: {
        "loss": ("number", None),
        "samples": ("number", None),
        "correct": ("number", None),
        "step": ("number", None),
        "learning_rate": ("number", None),
        "seconds": ("number", None),
        "loss_scale": ("number", None),
        "gradient_norm": ("number", None),
        "labels": ("number", None),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
    troika_memory_info: MemoryInfo,
    troika_metrics: Metrics,
    troika_progress: Progress,
    troika_step_result: StepResult,
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_model_attach": (ctypes.c_int32, [troika_model, ctypes.POINTER(troika_device), ctypes.c_int32, ctypes.POINTER(troika_trainer_options), ctypes.POINTER(troika_trainer), ctypes.POINTER(troika_error)]),
    "troika_trainer_destroy": (None, [troika_trainer]),
    "troika_step_result_init": (None, [ctypes.POINTER(troika_step_result), ctypes.c_uint32]),
    "troika_trainer_step": (ctypes.c_int32, [troika_trainer, troika_batch, ctypes.POINTER(troika_step_result), ctypes.POINTER(troika_error)]),
    "troika_trainer_set_progress": (ctypes.c_int32, [troika_trainer, troika_progress_function, ctypes.c_void_p, troika_destroy_function, ctypes.POINTER(troika_error)]),
    "troika_metrics_init": (None, [ctypes.POINTER(troika_metrics), ctypes.c_uint32]),
    "troika_trainer_train_epoch": (ctypes.c_int32, [troika_trainer, troika_loader, ctypes.POINTER(troika_metrics), ctypes.POINTER(troika_error)]),
    "troika_trainer_train_batches": (ctypes.c_int32, [troika_trainer, troika_loader, ctypes.c_int64, ctypes.POINTER(troika_metrics), ctypes.POINTER(troika_error)]),
    "troika_trainer_divide_loader": (ctypes.c_int32, [troika_trainer, troika_loader, ctypes.POINTER(troika_error)]),
    "troika_trainer_evaluate": (ctypes.c_int32, [troika_trainer, troika_loader, ctypes.POINTER(troika_metrics), ctypes.POINTER(troika_error)]),
    "troika_trainer_evaluate_on": (ctypes.c_int32, [troika_trainer, troika_device, troika_loader, ctypes.POINTER(troika_metrics), ctypes.POINTER(troika_error)]),
    "troika_trainer_evaluate_batch": (ctypes.c_int32, [troika_trainer, troika_batch, ctypes.POINTER(troika_step_result), ctypes.POINTER(troika_error)]),
    "troika_trainer_predict_loader": (ctypes.c_int32, [troika_trainer, troika_loader, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_trainer_predict_batch": (ctypes.c_int32, [troika_trainer, troika_batch, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_error)]),
    "troika_trainer_predict": (ctypes.c_int32, [troika_trainer, troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_trainer_request_stop": (ctypes.c_int32, [troika_trainer, ctypes.POINTER(troika_error)]),
    "troika_trainer_clear_stop": (ctypes.c_int32, [troika_trainer, ctypes.POINTER(troika_error)]),
    "troika_trainer_set_learning_rate": (ctypes.c_int32, [troika_trainer, ctypes.c_int32, ctypes.c_double, ctypes.POINTER(troika_error)]),
    "troika_trainer_get_learning_rate": (ctypes.c_int32, [troika_trainer, ctypes.c_int32, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(troika_error)]),
    "troika_trainer_set_option": (ctypes.c_int32, [troika_trainer, ctypes.c_int32, ctypes.c_int32, ctypes.c_double, ctypes.POINTER(troika_error)]),
    "troika_trainer_get_option": (ctypes.c_int32, [troika_trainer, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_double), ctypes.POINTER(troika_error)]),
    "troika_trainer_report_metric": (ctypes.c_int32, [troika_trainer, ctypes.c_double, ctypes.POINTER(troika_error)]),
    "troika_trainer_get_parameter": (ctypes.c_int32, [troika_trainer, ctypes.c_char_p, troika_device, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_error)]),
    "troika_trainer_get_gradient": (ctypes.c_int32, [troika_trainer, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_error)]),
    "troika_trainer_check_replicas": (ctypes.c_int32, [troika_trainer, ctypes.POINTER(troika_error)]),
    "troika_trainer_save": (ctypes.c_int32, [troika_trainer, ctypes.c_char_p, ctypes.POINTER(troika_error)]),
    "troika_save_options_init": (None, [ctypes.POINTER(troika_save_options), ctypes.c_uint32]),
    "troika_trainer_save_with": (ctypes.c_int32, [troika_trainer, ctypes.c_char_p, ctypes.POINTER(troika_save_options), ctypes.POINTER(troika_error)]),
    "troika_trainer_wait_save": (ctypes.c_int32, [troika_trainer, ctypes.POINTER(troika_error)]),
    "troika_trainer_save_average": (ctypes.c_int32, [troika_trainer, ctypes.c_char_p, ctypes.POINTER(troika_error)]),
    "troika_trainer_load": (ctypes.c_int32, [troika_trainer, ctypes.c_char_p, ctypes.POINTER(troika_loader_position), ctypes.POINTER(troika_error)]),
    "troika_trainer_unwrap": (ctypes.c_int32, [troika_trainer, ctypes.POINTER(troika_model), ctypes.POINTER(troika_error)]),
    "troika_memory_info_init": (None, [ctypes.POINTER(troika_memory_info), ctypes.c_uint32]),
    "troika_trainer_memory": (ctypes.c_int32, [troika_trainer, ctypes.c_int32, ctypes.POINTER(troika_memory_info), ctypes.POINTER(troika_error)]),
    "troika_trainer_explain": (ctypes.c_int32, [troika_trainer, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_trainer_trace": (ctypes.c_int32, [troika_trainer, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64), ctypes.POINTER(troika_error)]),
    "troika_trainer_save_trace": (ctypes.c_int32, [troika_trainer, ctypes.c_char_p, ctypes.POINTER(troika_error)]),
}
