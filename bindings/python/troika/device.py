"""Devices: plain values that name a CPU slice or a GPU."""

import collections.abc
import ctypes
import dataclasses
import operator

from troika import _interface
from troika._call import call, encode, found, member, misuse, text_of
from troika._interface import DeviceKind
from troika._library import lib


def _kind_of(value):
    """A DeviceKind from a member, its name in any case, or its number."""
    try:
        return DeviceKind[value.upper()] if isinstance(value, str) else DeviceKind(value)
    except (KeyError, ValueError):
        raise ValueError(f"the kind of a device is {found(value)}; need a DeviceKind, 'cpu' or 'cuda'; "
                         "Device.parse('cpu:0') reads a text") from None


@dataclasses.dataclass(frozen=True, order=True, init=False)
class Device:
    """A device: a value. str() is its text form, such as "cpu:1" or "cuda:0".

    `kind` is a DeviceKind or its name: Device("cuda", 1) is Device.parse("cuda:1").
    """

    kind: DeviceKind
    index: int = 0

    def __init__(self, kind: "DeviceKind | str", index: int = 0) -> None:
        try:
            number = operator.index(index)
        except TypeError:
            raise misuse("the index of a device", index, "a whole number") from None
        if not 0 <= number < 2**31:
            raise ValueError(f"the index of a device is {number}; need at least 0")
        self._set(_kind_of(kind), number)

    def _set(self, kind: DeviceKind, index: int) -> None:
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "index", index)

    @classmethod
    def parse(cls, text: str) -> "Device":
        """Reads "cpu", "cpu:1" or "cuda:0". Does not check whether the device exists.

        Raises InvalidArgument. In C: troika_device_parse.
        """
        struct = _interface.troika_device()
        call(lib.troika_device_parse, encode(text, "device"), ctypes.byref(struct))
        return cls.of_struct(struct)

    @classmethod
    def of(cls, value: "Device | str") -> "Device":
        """A device from a device or its text form."""
        if isinstance(value, Device):
            return value
        if not isinstance(value, str):
            raise misuse("device", value, "a Device or its text, such as 'cpu:0'")
        return cls.parse(value)

    @classmethod
    def of_struct(cls, struct: _interface.troika_device) -> "Device":
        """A device from the C struct."""
        device = cls.__new__(cls)
        device._set(member(DeviceKind, struct.kind), struct.index)  # a newer library may have more kinds
        return device

    @property
    def struct(self) -> _interface.troika_device:
        """The C struct."""
        return _interface.troika_device(self.kind, self.index)

    def __str__(self) -> str:
        return text_of(lib.troika_device_format, self.struct)


def device_array(devices):
    """A C array of devices, and its length. One device, or its text form, is a list of one."""
    if isinstance(devices, (str, Device)):
        devices = [devices]
    if not isinstance(devices, collections.abc.Iterable):
        raise misuse("devices", devices, "a Device, its text, such as 'cpu:0', or a list of them")
    structs = [Device.of(device).struct for device in devices]
    return (_interface.troika_device * len(structs))(*structs), len(structs)
