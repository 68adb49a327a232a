"""Declarations of group.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

from troika._interface.context import troika_context
from troika._interface.status import troika_error
from troika._interface.tensor import troika_tensor


class troika_group(ctypes.c_void_p):
    """The processes of a job. Counted: trainers keep their group alive."""


class troika_group_info(ctypes.Structure):
    """The place of a process in its group. Begin with TROIKA_GROUP_INFO_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("rank", ctypes.c_int32),
        ("processes", ctypes.c_int32),
        ("local_rank", ctypes.c_int32),
        ("local_processes", ctypes.c_int32),
        ("node", ctypes.c_int32),
        ("nodes", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class troika_group_options(ctypes.Structure):
    """Options of a group. Begin with TROIKA_GROUP_OPTIONS_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("rank", ctypes.c_int32),
        ("processes", ctypes.c_int32),
        ("node", ctypes.c_int32),
        ("rendezvous", ctypes.c_char_p),
        ("network", ctypes.c_char_p),
        ("transport", ctypes.c_char_p),
        ("secret", ctypes.c_char_p),
        ("connect_timeout_ms", ctypes.c_int32),
        ("deadline_ms", ctypes.c_int32),
    ]


class GroupInfo(typing.NamedTuple):
    """The place of a process in its group. Begin with TROIKA_GROUP_INFO_INIT."""

    # The number of this process.
    rank: int
    # Their number.
    processes: int
    # Its number among those of its machine.
    local_rank: int
    # The number of those of its machine.
    local_processes: int
    # The number of its machine; the machine of rank 0 is 0.
    node: int
    # Machines.
    nodes: int


class GroupOptions(typing.TypedDict, total=False):
    """Options of a group. Begin with TROIKA_GROUP_OPTIONS_INIT."""

    # This process: 0 to processes - 1. TROIKA_UNSET (default): as the launcher of this process
    # says, with processes, node, rendezvous and the secret; rank 0 of 1 without a launcher.
    # docs/several-machines.md lists the launchers and their variables.
    rank: int
    # Their number, 1 to 4096; with a rank.
    processes: int
    # The number of this process's machine; TROIKA_UNSET (default): machines are told apart by their
    # names. Channels and layers are split within a machine if possible.
    node: int
    # The place at which the processes meet: "tcp://host:port", at which rank 0 listens;
    # "file:///folder/name", a file in a folder that all processes see; or "mpi://": MPI passes on
    # rank, size, rank 0's address and, unless one is set, a secret. Copied.
    rendezvous: str
    # The network interface ("eth0") or the address of this machine that other machines reach. NULL
    # (default): loopback, or for rank 0 the host of rendezvous. Copied.
    network: str
    # "gloo", "mpi" or "nccl"; NULL (default): NCCL between GPUs; for the rest, shared memory within
    # a machine and Gloo between machines. If some devices are CPUs and others GPUs, neither NCCL
    # nor shared memory is used. Copied.
    transport: str
    # All processes prove to each other that they know it, before they exchange anything else. NULL
    # (default): TROIKA_SECRET, or the contents of the file TROIKA_SECRET_FILE, if rank is not set;
    # else none, which is refused if rank 0 listens beyond loopback. Copied.
    secret: str
    # Time for all processes to join; 1 to 2^31 - 1 milliseconds, default 60000.
    connect_timeout_ms: int
    # Time of each collective call of the group; 1 to 2^31 - 1 milliseconds, default 120000.
    deadline_ms: int


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_group_info: {
        "rank": ("number", None),
        "processes": ("number", None),
        "local_rank": ("number", None),
        "local_processes": ("number", None),
        "node": ("number", None),
        "nodes": ("number", None),
    },
    troika_group_options: {
        "rank": ("number", None),
        "processes": ("number", None),
        "node": ("number", None),
        "rendezvous": ("text", None),
        "network": ("text", None),
        "transport": ("text", None),
        "secret": ("text", None),
        "connect_timeout_ms": ("number", None),
        "deadline_ms": ("number", None),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
    troika_group_info: GroupInfo,
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_group_options_init": (None, [ctypes.POINTER(troika_group_options), ctypes.c_uint32]),
    "troika_group_info_init": (None, [ctypes.POINTER(troika_group_info), ctypes.c_uint32]),
    "troika_group_create": (ctypes.c_int32, [troika_context, ctypes.POINTER(troika_group_options), ctypes.POINTER(troika_group), ctypes.POINTER(troika_error)]),
    "troika_group_describe": (ctypes.c_int32, [troika_group, ctypes.POINTER(troika_group_info), ctypes.POINTER(troika_error)]),
    "troika_group_barrier": (ctypes.c_int32, [troika_group, ctypes.POINTER(troika_error)]),
    "troika_group_all_reduce": (ctypes.c_int32, [troika_group, troika_tensor, ctypes.POINTER(troika_error)]),
    "troika_group_broadcast": (ctypes.c_int32, [troika_group, troika_tensor, ctypes.c_int32, ctypes.POINTER(troika_error)]),
    "troika_group_all_gather": (ctypes.c_int32, [troika_group, troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_group_reduce_scatter": (ctypes.c_int32, [troika_group, troika_tensor, ctypes.POINTER(troika_tensor), ctypes.POINTER(troika_error)]),
    "troika_group_send": (ctypes.c_int32, [troika_group, troika_tensor, ctypes.c_int32, ctypes.POINTER(troika_error)]),
    "troika_group_receive": (ctypes.c_int32, [troika_group, troika_tensor, ctypes.c_int32, ctypes.POINTER(troika_error)]),
    "troika_group_destroy": (None, [troika_group]),
}
