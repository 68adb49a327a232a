"""The context: threads, seed and log of everything that is made from it."""

import ctypes
import itertools
import logging

from troika import _interface
from troika._call import Handle, call, callable_of, default_of, describe, fill, member, text_of
from troika._interface import DeviceKind, LogLevel
from troika._library import lib
from troika.device import Device, device_array

LOGGING_LEVELS = {LogLevel.ERROR: logging.ERROR, LogLevel.WARNING: logging.WARNING, LogLevel.INFO: logging.INFO,
                  LogLevel.DEBUG: logging.DEBUG}


class CallbackTable:
    """Python functions that C may call, by the number that C passes as `user`.

    An entry lives from `add` until C calls `destroy` with its number. C gets one address for all
    entries, so no ctypes object has to be kept with them.
    """

    def __init__(self):
        self._entries = {}
        self._numbers = itertools.count(1)
        self.destroy = _interface.troika_destroy_function(self.remove)

    def add(self, entry):
        """Stores an entry and returns its number."""
        number = next(self._numbers)
        self._entries[number] = entry
        return number

    def remove(self, number):
        """Drops an entry. C calls this when it no longer needs the entry."""
        self._entries.pop(number, None)

    def __getitem__(self, number):
        return self._entries[number]

    def __len__(self):
        return len(self._entries)


LOGS = CallbackTable()


def _write_log(level, topic, line, user):
    LOGS[user](member(LogLevel, level), topic.decode("utf-8", "replace"), line.decode("utf-8", "replace"))


_WRITE_LOG = _interface.troika_log_function(_write_log)


def log_function(log):
    """The function (level, topic, line) for a function or a logging.Logger, or an adapter of one."""
    if callable(log) or not callable(getattr(log, "log", None)):
        return callable_of(log, "Context: log", "a function or a logging.Logger")
    return lambda level, topic, line: log.log(LOGGING_LEVELS.get(level, logging.INFO), "%s: %s", topic, line)


class Context(Handle):
    """The root object. Several contexts in one process share nothing.

    `log` is a function (level, topic, line), which any thread may call, or a logging.Logger; without
    it nothing is logged. An exception of `log` goes to sys.unraisablehook. The other options are
    those of ContextOptions. Thread-safe.

    Raises InvalidArgument or OutOfMemory. In C: troika_context_create.
    """

    _destroy = lib.troika_context_destroy

    def __init__(self, log=None, **options):
        struct = fill(default_of(_interface.troika_context_options), options, "Context")
        if log is not None:
            function = log_function(log)
            struct.log, struct.log_user, struct.log_user_destroy = _WRITE_LOG, LOGS.add(function), LOGS.destroy
        out = _interface.troika_context()
        try:
            call(lib.troika_context_create, ctypes.byref(struct), ctypes.byref(out))
        except Exception:
            LOGS.remove(struct.log_user)
            raise
        super().__init__(out)

    def describe_backends(self):
        """The backends and transports, one line each: versions, or why one cannot be used.

        Raises InvalidArgument or OutOfMemory. In C: troika_context_describe_backends.
        """
        return text_of(lib.troika_context_describe_backends, self.handle)

    def device_count(self, kind=DeviceKind.CPU):
        """The number of usable devices of a kind.

        Raises InvalidArgument. In C: troika_device_count.
        """
        count = ctypes.c_int32()
        call(lib.troika_device_count, self.handle, kind, ctypes.byref(count))
        return count.value

    def describe_device(self, device):
        """Cores, memory and name of a device, as a DeviceInfo.

        Raises DeviceUnavailable or InvalidArgument. In C: troika_device_describe.
        """
        return describe(lib.troika_device_describe, _interface.troika_device_info, self.handle, Device.of(device).struct)

    def synchronize_device(self, device):
        """Waits until all operations on a device that were called before have ended.

        Raises CommunicationError, DeviceUnavailable or InvalidArgument. In C:
        troika_device_synchronize.
        """
        call(lib.troika_device_synchronize, self.handle, Device.of(device).struct)

    def try_device(self, index=0):
        """The GPU with this index if it is usable, else cpu:0.

        Raises InvalidArgument. In C: troika_device_try.
        """
        struct = _interface.troika_device()
        call(lib.troika_device_try, self.handle, index, ctypes.byref(struct))
        return Device.of_struct(struct)

    def all_devices(self):
        """Every usable GPU, or cpu:0 alone.

        Raises InvalidArgument. In C: troika_devices_all.
        """
        count = ctypes.c_int32()
        call(lib.troika_devices_all, self.handle, None, 0, ctypes.byref(count))
        structs = (_interface.troika_device * count.value)()
        call(lib.troika_devices_all, self.handle, structs, len(structs), ctypes.byref(count))
        return [Device.of_struct(struct) for struct in structs[:count.value]]

    def device_array(self, devices):
        """A C array of devices: one device, several, or "all"."""
        return device_array(self.all_devices() if isinstance(devices, str) and devices == "all" else devices)

    def _summary(self):
        return f"{self.device_count()} CPU devices"
