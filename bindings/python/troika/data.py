"""Datasets, loaders and batches."""

import ctypes

import numpy

from troika import _interface
from troika._call import (Handle, call, callable_of, context_of, default_of, describe, encode, fill, handle_of, misuse,
                          result_of)
from troika._interface import Dtype, LoaderPosition, Status
from troika._library import lib
from troika.arrays import address, as_array, copy_of, dims_of, dtype_of
from troika.context import CallbackTable
from troika.errors import CallbackError
from troika.source import READ, SOURCES, Source, raise_exceptions_of
from troika.tensor import Tensor

# Arrays that a dataset shares with the host.
ARRAYS = CallbackTable()


class Dataset(Handle):
    """Samples and targets. Never changes. Thread-safe."""

    _destroy = lib.troika_dataset_destroy

    def __init__(self, handle, sources=()):
        super().__init__(handle)
        self.sources = tuple(sources)

    @classmethod
    def open_directory(cls, context, directory, split, **options):
        """The IDX files of MNIST and its relatives, or the binary files of CIFAR. `split` is "train" or "test"; options: DatasetOptions.

        Raises Corrupt, InvalidArgument, IoError, NotFound or OutOfMemory. In C:
        troika_dataset_open_directory.
        """
        struct = fill(default_of(_interface.troika_dataset_options), options, "open_directory")
        out = _interface.troika_dataset()
        call(lib.troika_dataset_open_directory, context_of(context), encode(directory, "directory"),
             encode(split, "split"), ctypes.byref(struct), ctypes.byref(out))
        return cls(out)

    @classmethod
    def open_idx(cls, context, images, labels=None, **options):
        """Two IDX files, plain or gzipped; without labels, the samples are for prediction. Options: DatasetOptions.

        Raises Corrupt, InvalidArgument, IoError, NotFound or OutOfMemory. In C:
        troika_dataset_open_idx.
        """
        struct = fill(default_of(_interface.troika_dataset_options), options, "open_idx")
        out = _interface.troika_dataset()
        call(lib.troika_dataset_open_idx, context_of(context), encode(images, "images"),
             None if labels is None else encode(labels, "labels"),
             ctypes.byref(struct), ctypes.byref(out))
        return cls(out)

    @classmethod
    def from_arrays(cls, context, inputs, targets=None, *, tokens=False, mean=0.0, std=1.0, ignore_index=None, copy=True):
        """Arrays [n, ...] of any type. A number x becomes (x - mean) / std; u8 numbers are divided by 255 first.

        `targets` are labels [n] or [n, k] of integers, or values [n, k] of floats. `tokens`: inputs
        are words and not numbers. With copy=False the dataset shares the memory of row-major arrays
        and keeps them alive: they must not change.

        Raises InvalidArgument or OutOfMemory. In C: troika_dataset_create_from.
        """
        inputs = as_array(inputs)
        if inputs.ndim == 0:
            raise ValueError("inputs has no axes; need [n, ...]")
        arrays = default_of(_interface.troika_arrays)
        dims, arrays.rank = dims_of(inputs.shape[1:])
        arrays.inputs, arrays.dtype, arrays.n = inputs.ctypes.data, dtype_of(inputs), len(inputs)
        arrays.dims, arrays.tokens = dims, 1 if tokens else 0
        if targets is not None:
            targets = as_array(targets)
            if targets.shape[:1] != inputs.shape[:1]:
                raise ValueError(f"targets is {list(targets.shape)}, inputs is {list(inputs.shape)}; need as many targets as inputs")
            arrays.targets, arrays.target_dtype = targets.ctypes.data, dtype_of(targets)
            arrays.target_size = int(numpy.prod(targets.shape[1:], dtype=numpy.int64))
        arrays.mean, arrays.std = mean, std
        if ignore_index is not None:
            arrays.ignore_index = ignore_index
        if not copy:
            arrays.borrow, arrays.destroy, arrays.user = 1, ARRAYS.destroy, ARRAYS.add((inputs, targets))
        out = _interface.troika_dataset()
        try:
            call(lib.troika_dataset_create_from, context_of(context), ctypes.byref(arrays), ctypes.byref(out))
        except Exception:
            ARRAYS.remove(arrays.user)
            raise
        return cls(out)

    @classmethod
    def create_arrays(cls, context, inputs, targets):
        """A copy of inputs f32 [n, ...] with labels i32 [n], or with values f32 [n, k]. See from_arrays for other types.

        Raises InvalidArgument or OutOfMemory. In C: troika_dataset_create_arrays.
        """
        inputs, targets = as_array(inputs, numpy.float32), as_array(targets)
        labels, values, size = None, None, 0
        if numpy.issubdtype(targets.dtype, numpy.integer):
            targets = labels = as_array(targets, numpy.int32)
        else:
            targets = values = as_array(targets, numpy.float32)
            size = int(numpy.prod(targets.shape[1:], dtype=numpy.int64))
        if inputs.ndim == 0 or targets.shape[:1] != inputs.shape[:1]:
            raise ValueError(f"targets is {list(targets.shape)}, inputs is {list(inputs.shape)}; need as many targets as inputs")
        out = _interface.troika_dataset()
        dims, rank = dims_of(inputs.shape[1:])
        call(lib.troika_dataset_create_arrays, context_of(context), address(inputs), dims, rank, len(inputs),
             None if labels is None else address(labels), None if values is None else address(values), size, ctypes.byref(out))
        return cls(out)

    @classmethod
    def synthetic(cls, context, shape, n, classes, seed=0):
        """n samples f32 [shape] that a network can learn; sample i has the label i modulo `classes`.

        Raises InvalidArgument or OutOfMemory. In C: troika_dataset_create_synthetic.
        """
        out = _interface.troika_dataset()
        call(lib.troika_dataset_create_synthetic, context_of(context), *dims_of(shape), n, classes, seed,
             ctypes.byref(out))
        return cls(out)

    @classmethod
    def token_stream(cls, context, tokens, steps):
        """A stream of tokens (bytes, or an array u8 or i32), cut into samples of `steps`; a label is the token after.

        Raises InvalidArgument or OutOfMemory. In C: troika_dataset_create_token_stream.
        """
        tokens = numpy.frombuffer(tokens, numpy.uint8) if isinstance(tokens, (bytes, bytearray)) else as_array(tokens)
        out = _interface.troika_dataset()
        call(lib.troika_dataset_create_token_stream, context_of(context), address(tokens), dtype_of(tokens),
             tokens.size, steps, ctypes.byref(out))
        return cls(out)

    @classmethod
    def tokens(cls, context, tokens, labels, ignore_index=_interface.UNSET):
        """Sequences of tokens [n, steps], u8 or i32, with labels [n] or [n, steps].

        Raises InvalidArgument or OutOfMemory. In C: troika_dataset_create_tokens.
        """
        tokens, labels = as_array(tokens), as_array(labels, numpy.int32)
        if tokens.ndim != 2 or labels.shape[:1] != tokens.shape[:1]:
            raise ValueError(f"tokens is {list(tokens.shape)}, labels is {list(labels.shape)}; need [n, steps], and n rows of labels")
        out = _interface.troika_dataset()
        call(lib.troika_dataset_create_tokens, context_of(context), address(tokens), dtype_of(tokens), *tokens.shape,
             address(labels), int(numpy.prod(labels.shape[1:], dtype=numpy.int64)), ignore_index, ctypes.byref(out))
        return cls(out)

    @classmethod
    def from_callback(cls, context, read, shape, n=-1, *, dtype=Dtype.F32, classes=0, words=0, label_size=1, value_size=0,
                      ignore_index=_interface.UNSET):
        """A dataset that Python reads. read(indices) returns inputs [k, ...], or a pair of inputs and targets.

        Without `n` it is a stream: read(epoch, first, k) returns at most k samples, fewer at the end
        of the epoch. Loaders call it on threads of their own. An exception is raised by the call
        that waits for the samples; StopIteration stops that call instead.

        Raises InvalidArgument or OutOfMemory. In C: troika_dataset_create_callback.
        """
        source = default_of(_interface.troika_source)
        dims, source.rank = dims_of(shape)
        source.dims, source.dtype, source.n = dims, dtype, n
        source.classes, source.words, source.label_size, source.value_size = classes, words, label_size, value_size
        source.ignore_index, source.read, source.user_destroy = ignore_index, READ, SOURCES.destroy
        kind = numpy.int32 if dtype == Dtype.I32 else numpy.float32
        python_source = Source(callable_of(read, "from_callback: read"), tuple(shape), kind, label_size, value_size)
        source.user = SOURCES.add(python_source)
        out = _interface.troika_dataset()
        try:
            call(lib.troika_dataset_create_callback, context_of(context), ctypes.byref(source), ctypes.byref(out))
        except Exception:
            SOURCES.remove(source.user)
            raise
        return cls(out, [python_source])

    @property
    def info(self):
        """Number and shape of samples, and what targets are, as a DatasetInfo.

        Raises InvalidArgument. In C: troika_dataset_describe.
        """
        return describe(lib.troika_dataset_describe, _interface.troika_dataset_info, self.handle)

    def __len__(self):
        return max(self.info.n, 0)

    def subset(self, indices):
        """The samples at `indices`, in that order. Nothing is copied.

        Raises InvalidArgument or OutOfMemory. In C: troika_dataset_subset.
        """
        indices = as_array(indices, what="indices")
        if indices.dtype == bool:
            raise TypeError("indices: dtype is bool; need integers, such as numpy.flatnonzero(indices)")
        indices = as_array(indices, numpy.int64, "indices")
        out = _interface.troika_dataset()
        call(lib.troika_dataset_subset, self.handle, address(indices), indices.size, ctypes.byref(out))
        return Dataset(out, self.sources)

    def weigh(self, weights):
        """The samples with weights in losses, one for each, for trainers with `sample_weights`. Nothing is copied.

        Raises InvalidArgument or OutOfMemory. In C: troika_dataset_weigh.
        """
        weights = as_array(weights, numpy.float32, "weights")
        out = _interface.troika_dataset()
        call(lib.troika_dataset_weigh, self.handle, address(weights), weights.size, ctypes.byref(out))
        return Dataset(out, self.sources)

    def split(self, sizes, shuffle=False, seed=0):
        """Datasets of `sizes[i]` samples; no sample is in two of them.

        Raises InvalidArgument or OutOfMemory. In C: troika_dataset_split.
        """
        out = (_interface.troika_dataset * len(sizes))()
        call(lib.troika_dataset_split, self.handle, *dims_of(sizes), 1 if shuffle else 0, seed, out)
        return [Dataset(_interface.troika_dataset(handle.value), self.sources) for handle in out]

    def __add__(self, other):
        return concat([self, other]) if isinstance(other, Dataset) else NotImplemented

    def loader(self, *, weights=None, **options):
        """A loader of this dataset. Options: LoaderOptions; `batch` must be set."""
        return Loader(self, weights=weights, **options)

    def _summary(self):
        info = self.info
        return f"{info.n} samples {list(info.dims)}" if info.n >= 0 else f"stream of samples {list(info.dims)}"


def concat(datasets):
    """A dataset with the samples of several, one after another. Nothing is copied.

    Raises InvalidArgument or OutOfMemory. In C: troika_dataset_concat.
    """
    datasets = list(datasets)
    handles = [handle_of(dataset, _interface.troika_dataset, "concat: dataset") for dataset in datasets]
    out = _interface.troika_dataset()
    call(lib.troika_dataset_concat, (_interface.troika_dataset * len(handles))(*handles), len(handles), ctypes.byref(out))
    return Dataset(out, [source for dataset in datasets for source in dataset.sources])


class Loader(Handle):
    """Batches of a dataset. Options: LoaderOptions; `batch` must be set. One thread at a time.

    `for batch in loader` is the rest of the epoch; the next loop is the next epoch. A batch is the
    loader's until the next one: keep batch.copy().

    Raises InvalidArgument or OutOfMemory. In C: troika_loader_create.
    """

    _destroy = lib.troika_loader_destroy

    def __init__(self, dataset, *, weights=None, **options):
        struct = fill(default_of(_interface.troika_loader_options), options, "Loader")
        handle = handle_of(dataset, _interface.troika_dataset, "Loader: dataset")
        if weights is not None:
            weights = as_array(weights, numpy.float64, "weights")
            if weights.size != dataset.info.n:
                raise ValueError(f"weights has {weights.size} numbers; need one for each of {dataset.info.n} samples")
            struct.weights = weights.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        out = _interface.troika_loader()
        call(lib.troika_loader_create, handle, ctypes.byref(struct), ctypes.byref(out))
        super().__init__(out)
        self.sources = dataset.sources
        self.batch_size = struct.batch

    @property
    def samples(self):
        """The most samples of an epoch: a smaller last batch counts as a whole one. 0 for a stream that has not ended."""
        return self.tell().batches * self.batch_size

    def next(self):
        """The next batch, or None at the end of the epoch. Then the next epoch begins.

        Raises Busy or CallbackError. In C: troika_loader_next.
        """
        out = _interface.troika_batch()
        try:
            status = call(lib.troika_loader_next, self.handle, ctypes.byref(out))
        except CallbackError as error:
            raise_exceptions_of(self.sources, error)
        return Batch(out, self) if status == Status.OK else None

    def __iter__(self):
        while (batch := self.next()) is not None:
            yield batch

    def tell(self):
        """The position, as a LoaderPosition: the batch that comes next.

        Raises Busy. In C: troika_loader_tell.
        """
        struct = default_of(_interface.troika_loader_position)
        call(lib.troika_loader_tell, self.handle, ctypes.byref(struct))
        return result_of(struct)

    def seek(self, position):
        """Moves to a LoaderPosition, to go on in the middle of an epoch.

        Raises Busy or InvalidArgument. In C: troika_loader_seek.
        """
        struct = fill(default_of(_interface.troika_loader_position), LoaderPosition(*position)._asdict(), "seek")
        call(lib.troika_loader_seek, self.handle, ctypes.byref(struct))

    def __len__(self):
        return self.tell().batches

    def _summary(self):
        at = self.tell()
        batches = f" of {at.batches}" if at.batches else ""
        return f"batches of {self.batch_size}, epoch {at.epoch}, batch {at.batch}{batches}"


class Batch(Handle):
    """Samples and targets of one step. Arrays are copies.

    Batch.of(context, inputs, targets) makes one from arrays or tensors. A batch of a loader is valid
    until the loader's next call; then it is refused with InvalidArgument.
    """

    _destroy = lib.troika_batch_destroy

    def __init__(self, handle, loader=None):
        if loader is None:
            super().__init__(handle)
        else:
            self._handle = handle
        self._loader = loader  # lives as long as the batch, which it owns

    @classmethod
    def of(cls, context, inputs, targets=None, weights=None):
        """A batch of arrays or tensors: inputs f32 or i32 [n, ...]; targets i32 [n, ...] (labels) or f32 [n, k] (values).

        `weights` f32 [n] of the samples are for trainers with `sample_weights`.

        Raises InvalidArgument or OutOfMemory. In C: troika_batch_create, troika_batch_create_weighted.
        """
        def tensor(value, what, kind=None):
            if isinstance(value, Tensor) or value is None:
                return value
            array = as_array(value, what=what)
            kind = kind or (numpy.int32 if array.dtype.kind in "biu" else numpy.float32)
            return Tensor(context, as_array(array, kind, what))
        inputs, targets = tensor(inputs, "inputs"), tensor(targets, "targets")
        weights = tensor(weights, "weights", numpy.float32)
        if inputs is None:
            raise misuse("Batch.of: inputs", inputs, "an array or a Tensor")
        out = _interface.troika_batch()
        target_handle = targets.handle if targets is not None else None
        if weights is None:
            call(lib.troika_batch_create, inputs.handle, target_handle, ctypes.byref(out))
        else:
            call(lib.troika_batch_create_weighted, inputs.handle, target_handle, weights.handle, ctypes.byref(out))
        return cls(out)

    def _summary(self):
        info = self.info
        return f"{info.n} samples {list(info.dims[1:])}"

    def copy(self):
        """A batch of its own, that stays valid when the loader goes on.

        Raises InvalidArgument or OutOfMemory. In C: troika_batch_copy.
        """
        out = _interface.troika_batch()
        call(lib.troika_batch_copy, self.handle, ctypes.byref(out))
        return Batch(out)

    def _describe(self):
        struct = default_of(_interface.troika_batch_info)
        call(lib.troika_batch_describe, self.handle, ctypes.byref(struct))
        return struct

    @property
    def info(self):
        """Number of samples and shape, as a BatchInfo."""
        return result_of(self._describe())

    def __len__(self):
        return self.info.n

    @property
    def inputs(self):
        """A copy of the inputs: f32 [n, ...], or i32 for tokens."""
        struct = self._describe()
        shape = tuple(struct.dims[:struct.rank])
        return copy_of(struct.tokens, shape, numpy.int32) if struct.tokens else copy_of(struct.inputs, shape, numpy.float32)

    @property
    def labels(self):
        """A copy of the labels i32: [n], or [n, k] with several per sample; None without labels."""
        struct = self._describe()
        shape = (struct.n,) if struct.label_size == 1 else (struct.n, struct.label_size)
        return copy_of(struct.labels, shape, numpy.int32)

    @property
    def weights(self):
        """A copy of the weights of the samples f32 [n]; None without weights: 1 each."""
        struct = self._describe()
        return copy_of(struct.weights, (struct.n,), numpy.float32)

    @property
    def values(self):
        """A copy of the values f32 [n, k]; None without values."""
        struct = self._describe()
        return copy_of(struct.values, (struct.n, struct.value_size), numpy.float32)
