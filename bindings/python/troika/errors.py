"""Errors: one class per status of the library."""

from troika._interface import Status


class Error(Exception):
    """A call of the library failed. str() is the library's own line: the object, what was found, what was needed.

    `status` is a Status. Each status below 0 has a class of its own, which is also the kind of
    error that Python programs expect: INVALID_ARGUMENT is a ValueError, and so on.
    """

    status: int = Status.INTERNAL

    def __init__(self, message: str, status: "int | None" = None) -> None:
        super().__init__(message)
        if status is not None:
            self.status = status

    @property
    def message(self) -> str:
        """The library's line."""
        return self.args[0]


class InvalidArgument(Error, ValueError):
    """None in place of an object, an unknown value, a wrong shape, dtype, name or size."""

    status = Status.INVALID_ARGUMENT


class OutOfMemory(Error, MemoryError):
    """Host or device memory ran out; nothing was changed."""

    status = Status.OUT_OF_MEMORY


class NotFound(Error, LookupError):
    """No such name, file or device."""

    status = Status.NOT_FOUND


class Unsupported(Error, NotImplementedError):
    """The library cannot do this; the message says what it can."""

    status = Status.UNSUPPORTED


class Busy(Error):
    """Another call on the same object is in progress."""

    status = Status.BUSY


class IoError(Error, OSError):
    """The operating system refused a read or a write."""

    status = Status.IO


class Corrupt(Error, ValueError):
    """A file does not hold what its format demands."""

    status = Status.CORRUPT


class NotInitialized(Error):
    """A parameter has no value yet, or a call comes too early."""

    status = Status.NOT_INITIALIZED


class NotOnDevice(Error, LookupError):
    """The object is not stored on that device."""

    status = Status.NOT_ON_DEVICE


class Mismatch(Error, ValueError):
    """Names or shapes in a file, or of another process, differ."""

    status = Status.MISMATCH


class DeviceUnavailable(Error):
    """The device exists in no usable form; the message says why."""

    status = Status.DEVICE_UNAVAILABLE


class CommunicationError(Error, ConnectionError):
    """Communication between devices or processes failed or missed its deadline."""

    status = Status.COMM


class Detached(Error):
    """The trainer no longer owns its model's parameters."""

    status = Status.DETACHED


class InternalError(Error, RuntimeError):
    """A defect of the library. Please report it with the message."""

    status = Status.INTERNAL


class CallbackError(Error, RuntimeError):
    """A callback failed in a way that left no Python exception."""

    status = Status.CALLBACK


_CLASSES = {kind.status: kind for kind in Error.__subclasses__()}


def error_of(status, message):
    """The error of a status below 0. A status of a newer library is an Error."""
    kind = _CLASSES.get(status)
    return kind(message) if kind else Error(f"{message} (status {status})", status)
