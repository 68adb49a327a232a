"""Declarations of data.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

from troika._interface.context import troika_context
from troika._interface.export import troika_destroy_function
from troika._interface.group import troika_group
from troika._interface.status import troika_error
from troika._interface.tensor import Dtype, troika_tensor

if typing.TYPE_CHECKING:
    from troika.group import Group


class troika_dataset(ctypes.c_void_p):
    """Samples and their targets: in host memory, or read by a callback of the host. Counted."""


class troika_loader(ctypes.c_void_p):
    """Batches of a dataset, epoch after epoch. Counted."""


class troika_batch(ctypes.c_void_p):
    """A batch: inputs [batch, ...], f32 or tokens i32, and targets. Counted."""


# Reads samples of the host. Returns the number of samples that were written: n; a stream may return
# fewer at the end of the epoch, and 0 after it. Below 0 is a failure: error then holds the host's
# message, and its status is TROIKA_STOPPED to stop the call that waits for the samples, or else the
# call returns TROIKA_ERROR_CALLBACK with the message.
# An exception of C++ that leaves the callback is a failure with the exception's text. After a
# failure the loader is at the same batch, and asks again when the next call wants the batch.
# Called on a loader's own thread, or on the thread that uses a loader without prefetch. Several
# threads may call it at once if several loaders read the dataset. With prefetch it runs ahead,
# beyond the end of an epoch too. It must not call the library with the loader that waits for it,
# except troika_loader_destroy. Destroying a loader on another thread waits until the callback
# returns.
troika_read_function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class troika_arrays(ctypes.Structure):
    """Arrays of samples and targets. Begin with TROIKA_ARRAYS_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("inputs", ctypes.c_void_p),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int32),
        ("tokens", ctypes.c_int32),
        ("n", ctypes.c_int64),
        ("targets", ctypes.c_void_p),
        ("target_dtype", ctypes.c_int32),
        ("borrow", ctypes.c_int32),
        ("target_size", ctypes.c_int64),
        ("mean", ctypes.c_double),
        ("std", ctypes.c_double),
        ("ignore_index", ctypes.c_int64),
        ("destroy", troika_destroy_function),
        ("user", ctypes.c_void_p),
    ]


class troika_batch_info(ctypes.Structure):
    """Description of a batch. Filled by troika_batch_describe."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("rank", ctypes.c_int32),
        ("n", ctypes.c_int64),
        ("dims", ctypes.c_int64 * 8),
        ("inputs", ctypes.c_void_p),
        ("labels", ctypes.POINTER(ctypes.c_int32)),
        ("values", ctypes.c_void_p),
        ("value_size", ctypes.c_int64),
        ("tokens", ctypes.POINTER(ctypes.c_int32)),
        ("label_size", ctypes.c_int64),
        ("weights", ctypes.c_void_p),
    ]


class troika_dataset_info(ctypes.Structure):
    """Description of a dataset. Filled by troika_dataset_describe."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("rank", ctypes.c_int32),
        ("n", ctypes.c_int64),
        ("dims", ctypes.c_int64 * 8),
        ("classes", ctypes.c_int64),
        ("label_size", ctypes.c_int64),
        ("words", ctypes.c_int64),
        ("dtype", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class troika_dataset_options(ctypes.Structure):
    """Transforms of image datasets. Begin with TROIKA_DATASET_OPTIONS_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("resize_height", ctypes.c_int64),
        ("resize_width", ctypes.c_int64),
        ("mean", ctypes.c_double),
        ("std", ctypes.c_double),
    ]


class troika_loader_options(ctypes.Structure):
    """Options of a loader. Begin with TROIKA_LOADER_OPTIONS_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("shuffle", ctypes.c_int32),
        ("batch", ctypes.c_int64),
        ("drop_last", ctypes.c_int32),
        ("prefetch", ctypes.c_int32),
        ("seed", ctypes.c_uint64),
        ("weights", ctypes.POINTER(ctypes.c_double)),
        ("epoch_samples", ctypes.c_int64),
        ("group", troika_group),
        ("flip", ctypes.c_int32),
        ("crop", ctypes.c_int32),
    ]


class troika_loader_position(ctypes.Structure):
    """The position of a loader: the batch that troika_loader_next returns next."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("epoch", ctypes.c_int64),
        ("batch", ctypes.c_int64),
        ("batches", ctypes.c_int64),
    ]


class troika_read_request(ctypes.Structure):
    """Samples that the host is asked to write. Borrowed until the callback returns."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("n", ctypes.c_int64),
        ("indices", ctypes.POINTER(ctypes.c_int64)),
        ("epoch", ctypes.c_int64),
        ("first", ctypes.c_int64),
        ("inputs", ctypes.c_void_p),
        ("labels", ctypes.POINTER(ctypes.c_int32)),
        ("values", ctypes.c_void_p),
    ]


class troika_source(ctypes.Structure):
    """A dataset of the host's own. Begin with TROIKA_SOURCE_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("dtype", ctypes.c_int32),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
        ("rank", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("n", ctypes.c_int64),
        ("classes", ctypes.c_int64),
        ("words", ctypes.c_int64),
        ("label_size", ctypes.c_int64),
        ("value_size", ctypes.c_int64),
        ("ignore_index", ctypes.c_int64),
        ("read", troika_read_function),
        ("user", ctypes.c_void_p),
        ("user_destroy", troika_destroy_function),
    ]


class BatchInfo(typing.NamedTuple):
    """Description of a batch. Filled by troika_batch_describe."""

    # Samples.
    n: int
    # Shape of the inputs, [n, ...].
    dims: tuple[int, ...]
    # Values per sample; 0 without values.
    value_size: int
    # Labels per sample; 0 without labels.
    label_size: int


class DatasetInfo(typing.NamedTuple):
    """Description of a dataset. Filled by troika_dataset_describe."""

    # Samples; -1 for a stream.
    n: int
    # Shape of a sample, such as {1, 28, 28}.
    dims: tuple[int, ...]
    # The largest label + 1, without ignored labels. In a stream of tokens: words. A dataset of a
    # callback has the host's number. If targets are no labels: 0.
    classes: int
    # Labels per sample; 0 if targets are no labels.
    label_size: int
    # Tokens: the largest token + 1. 0 for other samples.
    words: int
    # Type of samples: Dtype.F32, or Dtype.I32 for tokens.
    dtype: Dtype


class DatasetOptions(typing.TypedDict, total=False):
    """Transforms of image datasets. Begin with TROIKA_DATASET_OPTIONS_INIT."""

    # Bilinear resize to this height (pixel centres, no antialiasing), 1 to 65535, such as the
    # tutorial's 96x96; unset: none.
    resize_height: int
    # As resize_height; set both or none.
    resize_width: int
    # A u8 pixel p becomes (p / 255 - mean) / std; default 0.
    mean: float
    # Default 1; above 0.
    std: float


class LoaderOptions(typing.TypedDict, total=False):
    """Options of a loader. Begin with TROIKA_LOADER_OPTIONS_INIT."""

    # 1: the order is a function of (seed, epoch); 0 (default): the dataset's order.
    shuffle: bool
    # Samples per batch, for all devices together. Must be set.
    batch: int
    # 1: leaves out a last batch that is smaller than batch; 0 (default): returns it.
    drop_last: bool
    # Batches that the loader's own thread prepares ahead, 0 to 1024; default 2; 0: no thread.
    prefetch: int
    # Seed of the shuffle, of weighted sampling, and of flip and crop; default 0.
    seed: int
    # Weighted sampling: samples of an epoch; 0 (default): those of the dataset.
    epoch_samples: int
    # Reads only this process's share of each batch, for a loop of the caller's own. The samples of
    # a batch are divided in their order, and the first ranks have one more if they do not divide
    # evenly. A process may get none: a batch of 0 samples. All processes see the same number of
    # batches. A trainer that has the group divides any loader by its own devices. NULL (default):
    # whole batches.
    group: Group
    # 1: each sample is mirrored left to right with probability 1/2. Only for samples f32 [c, h, w].
    # Random numbers are a function of (seed, epoch, place in the epoch), so each epoch has other
    # samples, and a resumed epoch the same. GPUs do not keep the samples. 0 (default): none.
    flip: bool
    # N: each sample is shifted by -N to N pixels along its height, and along its width. Pixels
    # beyond an edge are those before the edge, mirrored (as numpy.pad does in its mode "reflect").
    # N is below the height and the width. Otherwise as flip; 0 (default): none.
    crop: int


class LoaderPosition(typing.NamedTuple):
    """The position of a loader: the batch that troika_loader_next returns next."""

    # From 0.
    epoch: int
    # Batch within the epoch, from 0.
    batch: int
    # Batches in an epoch. 0 in troika_loader_seek: not known. For a stream: those of the last epoch
    # that has ended, and 0 before.
    batches: int


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_batch_info: {
        "n": ("number", None),
        "dims": ("part", 'rank'),
        "value_size": ("number", None),
        "label_size": ("number", None),
    },
    troika_dataset_info: {
        "n": ("number", None),
        "dims": ("part", 'rank'),
        "classes": ("number", None),
        "label_size": ("number", None),
        "words": ("number", None),
        "dtype": ("enum", Dtype),
    },
    troika_dataset_options: {
        "resize_height": ("number", None),
        "resize_width": ("number", None),
        "mean": ("number", None),
        "std": ("number", None),
    },
    troika_loader_options: {
        "shuffle": ("flag", None),
        "batch": ("number", None),
        "drop_last": ("flag", None),
        "prefetch": ("number", None),
        "seed": ("number", None),
        "epoch_samples": ("number", None),
        "group": ("handle", None),
        "flip": ("flag", None),
        "crop": ("number", None),
    },
    troika_loader_position: {
        "epoch": ("number", None),
        "batch": ("number", None),
        "batches": ("number", None),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
    troika_batch_info: BatchInfo,
    troika_dataset_info: DatasetInfo,
    troika_loader_position: LoaderPosition,
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_dataset_options_init": (None, [ctypes.POINTER(troika_dataset_options), ctypes.c_uint32]),
    "troika_dataset_open_idx": (ctypes.c_int32, [troika_context, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(troika_dataset_options), ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_dataset_open_directory": (ctypes.c_int32, [troika_context, ctypes.c_char_p, ctypes.c_char_p, ctypes.POINTER(troika_dataset_options), ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_dataset_create_arrays": (ctypes.c_int32, [troika_context, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_dataset_create_synthetic": (ctypes.c_int32, [troika_context, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint64, ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_dataset_create_token_stream": (ctypes.c_int32, [troika_context, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_dataset_create_tokens": (ctypes.c_int32, [troika_context, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_arrays_init": (None, [ctypes.POINTER(troika_arrays), ctypes.c_uint32]),
    "troika_dataset_create_from": (ctypes.c_int32, [troika_context, ctypes.POINTER(troika_arrays), ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_source_init": (None, [ctypes.POINTER(troika_source), ctypes.c_uint32]),
    "troika_dataset_create_callback": (ctypes.c_int32, [troika_context, ctypes.POINTER(troika_source), ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_dataset_subset": (ctypes.c_int32, [troika_dataset, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_dataset_split": (ctypes.c_int32, [troika_dataset, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_uint64, ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_dataset_concat": (ctypes.c_int32, [ctypes.POINTER(troika_dataset), ctypes.c_int32, ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_dataset_weigh": (ctypes.c_int32, [troika_dataset, ctypes.c_void_p, ctypes.c_int64, ctypes.POINTER(troika_dataset), ctypes.POINTER(troika_error)]),
    "troika_dataset_info_init": (None, [ctypes.POINTER(troika_dataset_info), ctypes.c_uint32]),
    "troika_dataset_describe": (ctypes.c_int32, [troika_dataset, ctypes.POINTER(troika_dataset_info), ctypes.POINTER(troika_error)]),
    "troika_dataset_destroy": (None, [troika_dataset]),
    "troika_loader_options_init": (None, [ctypes.POINTER(troika_loader_options), ctypes.c_uint32]),
    "troika_loader_create": (ctypes.c_int32, [troika_dataset, ctypes.POINTER(troika_loader_options), ctypes.POINTER(troika_loader), ctypes.POINTER(troika_error)]),
    "troika_loader_next": (ctypes.c_int32, [troika_loader, ctypes.POINTER(troika_batch), ctypes.POINTER(troika_error)]),
    "troika_loader_position_init": (None, [ctypes.POINTER(troika_loader_position), ctypes.c_uint32]),
    "troika_loader_tell": (ctypes.c_int32, [troika_loader, ctypes.POINTER(troika_loader_position), ctypes.POINTER(troika_error)]),
    "troika_loader_seek": (ctypes.c_int32, [troika_loader, ctypes.POINTER(troika_loader_position), ctypes.POINTER(troika_error)]),
    "troika_loader_destroy": (None, [troika_loader]),
    "troika_batch_create": (ctypes.c_int32, [troika_tensor, troika_tensor, ctypes.POINTER(troika_batch), ctypes.POINTER(troika_error)]),
    "troika_batch_create_weighted": (ctypes.c_int32, [troika_tensor, troika_tensor, troika_tensor, ctypes.POINTER(troika_batch), ctypes.POINTER(troika_error)]),
    "troika_batch_copy": (ctypes.c_int32, [troika_batch, ctypes.POINTER(troika_batch), ctypes.POINTER(troika_error)]),
    "troika_batch_info_init": (None, [ctypes.POINTER(troika_batch_info), ctypes.c_uint32]),
    "troika_batch_describe": (ctypes.c_int32, [troika_batch, ctypes.POINTER(troika_batch_info), ctypes.POINTER(troika_error)]),
    "troika_batch_destroy": (None, [troika_batch]),
}
