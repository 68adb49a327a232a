"""Tensors: arrays on one device, to and from NumPy, PyTorch and everything that knows DLPack."""

import ctypes

import numpy

from troika import _interface
from troika._call import call, context_of, tensor_of
from troika._library import lib
from troika.arrays import address, as_array, dims_of, dtype_like, dtype_of, numpy_dtype
from troika.device import Device, device_array
from troika.operations import Operations

LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"
# The name of a capsule that was taken. A capsule holds the address of its name, so the names live
# as long as the module.
USED = {LEGACY: b"used_dltensor", VERSIONED: b"used_dltensor_versioned"}
# The kinds of device of DLPack.
DLPACK_CPU, DLPACK_CUDA = 1, 2

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_rename_capsule = ctypes.pythonapi.PyCapsule_SetName
_rename_capsule.restype = ctypes.c_int
_rename_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.restype = ctypes.c_int
_is_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]
# Within a destructor the capsule has no references any more: it is passed as an address.
_dying_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_dying_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


class _DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager", ctypes.c_void_p),
                ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)), ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


def _destroy_capsule(capsule):
    """Frees what a capsule holds, unless somebody took it: then the capsule has another name."""
    for name, kind in ((LEGACY, _DLManagedTensor), (VERSIONED, _DLManagedTensorVersioned)):
        if _dying_is_valid(capsule, name):
            managed = _dying_pointer(capsule, name)
            kind.from_address(managed).deleter(managed)


_CAPSULE_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_destroy_capsule)


class Tensor(Operations):
    """An array on one device, dense and row-major. Operations has what it computes.

    `data` is an array or a list, whose elements are copied. Tensor.zeros takes a shape instead, and
    Tensor.from_dlpack shares the memory of another library.
    Threads: reads of one tensor may run at once; a write runs alone, and nothing checks this.

    Raises DeviceUnavailable, InvalidArgument or OutOfMemory. In C: troika_tensor_create.
    """

    _destroy = lib.troika_tensor_destroy

    def __init__(self, context, data, device="cpu:0", dtype=None):
        array = as_array(data, numpy_dtype(dtype) if isinstance(dtype, _interface.Dtype) else dtype, "data")
        self._create(context, array.shape, dtype_of(array), device, address(array))

    def _create(self, context, shape, dtype, device, data):
        out = _interface.troika_tensor()
        call(lib.troika_tensor_create, context_of(context), Device.of(device).struct, dtype, *dims_of(shape), data,
             ctypes.byref(out))
        super().__init__(out)

    @classmethod
    def zeros(cls, context, shape, device="cpu:0", dtype="float32"):
        """A tensor of zeros. `dtype` is one of NumPy's, or a Dtype."""
        tensor = cls.__new__(cls)
        tensor._create(context, shape, dtype_like(dtype), device, None)
        return tensor

    @property
    def shape(self):
        """The sizes of all axes."""
        return self.info.dims

    @property
    def dtype(self):
        """The type of the elements, a Dtype."""
        return self.info.dtype

    @property
    def device(self):
        """The device that stores the tensor."""
        return self.info.device

    def numpy(self):
        """A copy of the elements as a NumPy array. numpy.from_dlpack(tensor) shares the memory of a CPU tensor.

        Raises InvalidArgument. In C: troika_tensor_to_host.
        """
        info = self.info
        array = numpy.empty(info.dims, numpy_dtype(info.dtype))
        call(lib.troika_tensor_to_host, self.handle, address(array), array.nbytes)
        return array

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("a tensor becomes an array by a copy; numpy.from_dlpack shares the memory of a CPU tensor")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype, copy=False)

    def _item(self):
        array = self.numpy()
        if array.size != 1:
            raise ValueError(f"the tensor is {list(array.shape)}; need one number")
        return array.item()

    def __float__(self):
        return float(self._item())

    def __bool__(self):
        return bool(self._item())

    def set(self, data):
        """Replaces the elements by those of an array of the same shape and dtype. Writes the tensor.

        Raises InvalidArgument. In C: troika_tensor_from_host.
        """
        info = self.info
        array = as_array(data)
        if array.shape != info.dims or dtype_of(array) != info.dtype:
            raise ValueError(f"the array is {array.dtype} {list(array.shape)}; the tensor is {numpy_dtype(info.dtype)} "
                             f"{list(info.dims)}")
        call(lib.troika_tensor_from_host, self.handle, address(array), array.nbytes)

    def copy_to(self, destination):
        """Copies the elements into another tensor of the same shape and dtype, also of another device.

        Raises InvalidArgument or OutOfMemory. In C: troika_tensor_copy.
        """
        call(lib.troika_tensor_copy, self.handle, tensor_of(destination, "copy_to: destination"))

    def to(self, device):
        """A copy on a device.

        Raises DeviceUnavailable, InvalidArgument or OutOfMemory. In C: troika_tensor_to.
        """
        out = _interface.troika_tensor()
        call(lib.troika_tensor_to, self.handle, Device.of(device).struct, ctypes.byref(out))
        return Tensor.of_handle(out)

    def scatter(self, devices):
        """Pieces along axis 0, one per device; their sizes differ by at most one.

        Raises DeviceUnavailable, InvalidArgument or OutOfMemory. In C: troika_tensor_scatter.
        """
        array, count = device_array(devices)
        out = (_interface.troika_tensor * count)()
        call(lib.troika_tensor_scatter, self.handle, array, count, out)
        return [Tensor.of_handle(_interface.troika_tensor(handle.value)) for handle in out]

    def __dlpack_device__(self):
        device = self.device
        return (DLPACK_CUDA if device.kind == _interface.DeviceKind.CUDA else DLPACK_CPU, device.index if
                device.kind == _interface.DeviceKind.CUDA else 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule that shares the tensor's memory. `stream` is ignored: work on the tensor has ended when a call returns."""
        if copy or (dl_device is not None and tuple(dl_device) != self.__dlpack_device__()):
            raise BufferError("a tensor is exported from where it is, without a copy; use to() first")
        out = ctypes.c_void_p()
        if max_version is not None and max_version[0] >= 1:
            call(lib.troika_tensor_to_dlpack_versioned, self.handle, ctypes.byref(out))
            return _new_capsule(out, VERSIONED, ctypes.cast(_CAPSULE_DESTRUCTOR, ctypes.c_void_p))
        call(lib.troika_tensor_to_dlpack, self.handle, ctypes.byref(out))
        return _new_capsule(out, LEGACY, ctypes.cast(_CAPSULE_DESTRUCTOR, ctypes.c_void_p))

    @classmethod
    def from_dlpack(cls, context, array):
        """A tensor that shares the memory of an object with __dlpack__, such as a NumPy array or a tensor of PyTorch.

        Raises DeviceUnavailable, InvalidArgument, OutOfMemory or Unsupported. In C:
        troika_tensor_from_dlpack_versioned, troika_tensor_from_dlpack.
        """
        try:
            capsule = array.__dlpack__(max_version=(1, 0))
        except TypeError:  # a producer of before DLPack 1.0
            capsule = array.__dlpack__()
        name = VERSIONED if _is_capsule(capsule, VERSIONED) else LEGACY
        take = lib.troika_tensor_from_dlpack_versioned if name == VERSIONED else lib.troika_tensor_from_dlpack
        out = _interface.troika_tensor()
        call(take, context_of(context), _capsule_pointer(capsule, name), ctypes.byref(out))
        # The tensor owns the memory now, and the capsule must not free it.
        _rename_capsule(capsule, USED[name])
        return cls.of_handle(out)


def all_reduce(tensors):
    """Replaces the elements of each tensor by their sums over all tensors, in the order of the list.

    Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_tensor_all_reduce.
    """
    handles = [tensor_of(tensor, "all_reduce: tensor") for tensor in tensors]
    call(lib.troika_tensor_all_reduce, (_interface.troika_tensor * len(handles))(*handles), len(handles))
