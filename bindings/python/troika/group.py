"""Groups: the processes of a job, which train together."""

import ctypes

from troika import _interface
from troika._call import Handle, call, context_of, default_of, describe, fill, tensor_of
from troika._library import lib
from troika.tensor import Tensor


class Group(Handle):
    """The processes of a job. Without options the launcher says rank and size. Options: GroupOptions.

    Every method is collective, except `info`: all processes make the same calls in the same order.
    One thread at a time.

    Raises CommunicationError, InvalidArgument, IoError, OutOfMemory or Unsupported. In C:
    troika_group_create.
    """

    _destroy = lib.troika_group_destroy

    def __init__(self, context, **options):
        struct = fill(default_of(_interface.troika_group_options), options, "Group")
        out = _interface.troika_group()
        call(lib.troika_group_create, context_of(context), ctypes.byref(struct), ctypes.byref(out))
        super().__init__(out)

    @property
    def info(self):
        """The place of this process, as a GroupInfo.

        In C: troika_group_describe.
        """
        return describe(lib.troika_group_describe, _interface.troika_group_info, self.handle)

    def barrier(self):
        """Returns when all processes have called it.

        Raises CommunicationError. In C: troika_group_barrier.
        """
        call(lib.troika_group_barrier, self.handle)

    def all_reduce(self, tensor):
        """Replaces the elements by their sums over all processes.

        Raises Busy, CommunicationError, InvalidArgument, Mismatch, OutOfMemory or Unsupported. In
        C: troika_group_all_reduce.
        """
        call(lib.troika_group_all_reduce, self.handle, tensor_of(tensor, "all_reduce: tensor"))

    def broadcast(self, tensor, root=0):
        """Replaces the elements by those of process `root`.

        Raises Busy, CommunicationError, InvalidArgument, Mismatch, OutOfMemory or Unsupported. In
        C: troika_group_broadcast.
        """
        call(lib.troika_group_broadcast, self.handle, tensor_of(tensor, "broadcast: tensor"), root)

    def all_gather(self, tensor):
        """The tensors of all processes, one after another along axis 0.

        Raises Busy, CommunicationError, InvalidArgument, Mismatch, OutOfMemory or Unsupported. In
        C: troika_group_all_gather.
        """
        out = _interface.troika_tensor()
        call(lib.troika_group_all_gather, self.handle, tensor_of(tensor, "all_gather: tensor"), ctypes.byref(out))
        return Tensor.of_handle(out)

    def reduce_scatter(self, tensor):
        """This process's rows of the sum over all processes.

        Raises Busy, CommunicationError, InvalidArgument, Mismatch, OutOfMemory or Unsupported. In
        C: troika_group_reduce_scatter.
        """
        out = _interface.troika_tensor()
        call(lib.troika_group_reduce_scatter, self.handle, tensor_of(tensor, "reduce_scatter: tensor"),
             ctypes.byref(out))
        return Tensor.of_handle(out)

    def send(self, tensor, to):
        """Sends the elements to process `to`, which calls receive.

        Raises Busy, CommunicationError, InvalidArgument, Mismatch, OutOfMemory or Unsupported. In
        C: troika_group_send.
        """
        call(lib.troika_group_send, self.handle, tensor_of(tensor, "send: tensor"), to)

    def receive(self, tensor, sender):
        """Replaces the elements by those that process `sender` sends.

        Raises Busy, CommunicationError, InvalidArgument, Mismatch, OutOfMemory or Unsupported. In
        C: troika_group_receive.
        """
        call(lib.troika_group_receive, self.handle, tensor_of(tensor, "receive: tensor"), sender)

    def _summary(self):
        info = self.info
        return f"rank {info.rank} of {info.processes}"
