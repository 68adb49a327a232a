"""Sources: samples of a dataset that Python computes, and the exceptions of the functions that compute them."""

import ctypes
import itertools
import threading

import numpy

from troika import _interface
from troika._call import found
from troika._interface import Status
from troika.arrays import as_array, check_cast, copy_of
from troika.context import CallbackTable

# Functions that read samples.
SOURCES = CallbackTable()
_MARKS = itertools.count(1)


class Source:
    """Samples that Python computes: the side of a callback that the library does not see."""

    def __init__(self, read, shape, dtype, label_size, value_size):
        self.read = read
        self.shape = shape
        self.dtype = dtype
        self.label_size = label_size
        self.value_size = value_size
        # By thread: the mark and the exception of the last read that failed. A thread reads on when
        # its exception was raised, or is not wanted any more.
        self.exceptions = {}

    def write(self, request):
        """Calls the function and copies its samples to the memory of the library. Returns their number."""
        n = request.n
        indices = copy_of(request.indices, (n,), numpy.int64)
        samples = self.read(indices) if indices is not None else self.read(request.epoch, request.first, n)
        inputs, targets = samples if isinstance(samples, tuple) and len(samples) == 2 else (samples, None)
        if inputs is None or isinstance(inputs, (dict, tuple)):
            raise TypeError(f"the callback returned {found(samples)}; need inputs [k, ...], or a pair of inputs and "
                            "targets")
        inputs = as_array(inputs, what="inputs of the callback")
        if inputs.ndim == 0:
            raise ValueError(f"the callback returned inputs []; need [k, {', '.join(map(str, self.shape))}]")
        count = len(inputs)
        if count > n or (indices is not None and count != n):
            raise ValueError(f"the callback returned {count} samples; need {n}")
        self._copy("inputs", inputs, request.inputs, (count, *self.shape), self.dtype)
        if request.labels:
            self._copy("labels", targets, request.labels, (count, self.label_size), numpy.int32)
        elif request.values:
            self._copy("values", targets, request.values, (count, self.value_size), numpy.float32)
        return count

    @staticmethod
    def _copy(what, array, pointer, shape, dtype):
        if array is None:
            raise ValueError(f"the callback returned no {what}; need {list(shape)}")
        array = as_array(array, what=f"{what} of the callback")
        count = int(numpy.prod(shape, dtype=numpy.int64))
        if array.size != count:
            raise ValueError(f"the callback returned {what} {list(array.shape)}; need {list(shape)}")
        check_cast(array, dtype, f"{what} of the callback")
        element = numpy.ctypeslib.as_ctypes_type(dtype)
        target = numpy.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(element)), (max(count, 1),))
        target[:count] = array.reshape(count)

    def keep(self, exception):
        """Keeps an exception for the call that waits. Returns its text after the mark that finds it."""
        mark = f"exception {next(_MARKS)}: "
        self.exceptions[threading.get_ident()] = mark, exception
        return mark + " ".join(f"{type(exception).__name__}: {exception}".split()).replace("\0", " ")


def _read(request, error, user):
    source = SOURCES[user]
    try:
        return source.write(_interface.troika_read_request.from_address(request))
    except StopIteration:
        _interface.troika_error.from_address(error).status = Status.STOPPED
    except BaseException as exception:  # pylint: disable=broad-except
        struct = _interface.troika_error.from_address(error)
        struct.status = Status.CALLBACK
        struct.message = source.keep(exception).encode("utf-8", "replace")[:_interface.ERROR_MESSAGE_BYTES - 1]
    return -1


READ = _interface.troika_read_function(_read)


def raise_exceptions_of(sources, error):
    """Raises the exception that the library's error has the mark of, if it is one of these sources', else the error."""
    for source in sources:
        for thread, (mark, exception) in list(source.exceptions.items()):
            if str(error).startswith(mark):
                del source.exceptions[thread]
                raise exception from None
    raise error
