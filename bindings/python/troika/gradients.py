"""Gradients: of a number that operations on tensors have made."""

import ctypes

from troika import _interface
from troika._call import Handle, call, context_of, tensor_of
from troika._library import lib
from troika.tensor import Tensor


class Gradients(Handle):
    """A record of the operations that read a watched tensor, or a result of such an operation.

        with troika.Gradients(context) as record:
            record.watch(w)
            loss = (x @ w).mean()
            dw, = record.of(loss, [w])
        w.add_in_place(dw, -0.1)

    It holds the tensors that it has recorded until it is closed; until then they are not changed in
    place.

    Raises InvalidArgument. In C: troika_gradients_create.
    """

    _destroy = lib.troika_gradients_destroy

    def __init__(self, context):
        out = _interface.troika_gradients()
        call(lib.troika_gradients_create, context_of(context), ctypes.byref(out))
        super().__init__(out)

    def watch(self, *tensors):
        """Records the operations that read these tensors from now on.

        Raises InvalidArgument. In C: troika_gradients_watch.
        """
        for tensor in tensors:
            call(lib.troika_gradients_watch, self.handle, tensor_of(tensor, "watch: tensor"))

    def of(self, number, tensors):
        """The gradients of a tensor of one number, for each of a list of tensors. May be called several times.

        Raises InvalidArgument, OutOfMemory or Unsupported. In C: troika_gradients_compute.
        """
        tensors = list(tensors)
        handles = [tensor_of(tensor, "of: tensor") for tensor in tensors]
        kind = _interface.troika_tensor * len(handles)
        out = kind()
        call(lib.troika_gradients_compute, self.handle, tensor_of(number, "of: number"), kind(*handles), len(handles),
             out)
        return [Tensor.of_handle(_interface.troika_tensor(handle.value)) for handle in out]
