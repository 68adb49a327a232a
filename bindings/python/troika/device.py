"""Devices: plain values that name a CPU slice or a GPU."""

import ctypes
import dataclasses

from troika import _interface
from troika._call import call, encode, member, text_of
from troika._interface import DeviceKind
from troika._library import lib


@dataclasses.dataclass(frozen=True, order=True)
class Device:
    """A device: a value. str() is its text form, such as "cpu:1" or "cuda:0"."""

    kind: DeviceKind
    index: int = 0

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
        return value if isinstance(value, Device) else cls.parse(value)

    @classmethod
    def of_struct(cls, struct: _interface.troika_device) -> "Device":
        """A device from the C struct."""
        return cls(member(DeviceKind, struct.kind), struct.index)

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
    structs = [Device.of(device).struct for device in devices]
    return (_interface.troika_device * len(structs))(*structs), len(structs)
