"""Declarations of plan.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import typing

from troika._interface.device import DeviceKind
from troika._interface.layers import troika_model
from troika._interface.status import troika_error
from troika._interface.trainer_options import Compression, LayerSchedule, Loss, Mesh, Precision, TrainerOptions, troika_mesh, troika_trainer_options


class troika_plan_options(ctypes.Structure):
    """A step to plan, described as in troika_trainer_options, and the devices: all of one kind,
    each linked to every other of its node. The nodes are linked by a network.
    Begin with TROIKA_PLAN_OPTIONS_INIT. Its devices are H200 GPUs with NVLink, by the data sheet:
    - memory of 141 GB, with 4.8e12 bytes per second.
    - 67e12 (F32), 494e12 (TF32) or 989e12 (BF16, F16) operations per second.
    - links of 450e9 bytes per second each way.
    A node's network has 8 cards of 400 Gbit/s, by the data sheet of a DGX H200. The 2 microseconds
    per message within a node, and the 5 between nodes, are guesses.
    """

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("devices", ctypes.c_int32),
        ("batch", ctypes.c_int64),
        ("loss", ctypes.c_int32),
        ("precision", ctypes.c_int32),
        ("momentum", ctypes.c_double),
        ("micro_batches", ctypes.c_int32),
        ("layer_schedule", ctypes.c_int32),
        ("layer_chunks", ctypes.c_int32),
        ("device_kind", ctypes.c_int32),
        ("memory_bytes", ctypes.c_int64),
        ("operations_per_second", ctypes.c_double),
        ("memory_bandwidth", ctypes.c_double),
        ("link_bandwidth", ctypes.c_double),
        ("link_latency", ctypes.c_double),
        ("logical_shards", ctypes.c_int32),
        ("recompute_segments", ctypes.c_int32),
        ("shard_optimizer", ctypes.c_int32),
        ("gradient_compression", ctypes.c_int32),
        ("recompute_layers", ctypes.c_char_p),
        ("activation_budget_bytes", ctypes.c_int64),
        ("max_gradient_norm", ctypes.c_double),
        ("trainer", ctypes.POINTER(troika_trainer_options)),
        ("devices_per_node", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("node_bandwidth", ctypes.c_double),
        ("node_latency", ctypes.c_double),
    ]


class troika_plan_result(ctypes.Structure):
    """Memory, communication and time of a step. Bytes of memory are those of the device that needs
    most in total; bytes sent are those of the device that sends most. Filled by
    troika_plan_estimate and troika_plan_choose.
    """

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("fits", ctypes.c_int32),
        ("mesh", troika_mesh),
        ("parameter_bytes", ctypes.c_int64),
        ("gradient_bytes", ctypes.c_int64),
        ("optimizer_bytes", ctypes.c_int64),
        ("activation_bytes", ctypes.c_int64),
        ("total_bytes", ctypes.c_int64),
        ("sent_bytes", ctypes.c_int64),
        ("bubble", ctypes.c_double),
        ("seconds", ctypes.c_double),
    ]


class PlanOptions(typing.TypedDict, total=False):
    """A step to plan, described as in troika_trainer_options, and the devices: all of one kind,
    each linked to every other of its node. The nodes are linked by a network.
    Begin with TROIKA_PLAN_OPTIONS_INIT. Its devices are H200 GPUs with NVLink, by the data sheet:
    - memory of 141 GB, with 4.8e12 bytes per second.
    - 67e12 (F32), 494e12 (TF32) or 989e12 (BF16, F16) operations per second.
    - links of 450e9 bytes per second each way.
    A node's network has 8 cards of 400 Gbit/s, by the data sheet of a DGX H200. The 2 microseconds
    per message within a node, and the 5 between nodes, are guesses.
    """

    # 1 to 4096; default 1.
    devices: int
    # Samples per step, for all devices together; default 256.
    batch: int
    # Default Loss.CROSS_ENTROPY.
    loss: Loss | str
    # Default Precision.F32.
    precision: Precision | str
    # In [0, 1); above 0 there is optimizer state. Default 0.
    momentum: float
    # Parts of each pipeline's samples; default 1; 0 is 1.
    micro_batches: int
    # Default LayerSchedule.ONE_F_ONE_B.
    layer_schedule: LayerSchedule | str
    # Stages per device, with the interleaved schedule; default 1; 0 is 1.
    layer_chunks: int
    # DeviceKind.CPU or DeviceKind.CUDA; 0 (default): either. A mesh that troika_model_attach
    # refuses on such devices cannot work; today both kinds take the same meshes. With CPU, steps
    # are compiled for CPU devices of this machine, which takes seconds. activation_bytes is then
    # the arena that their kernels need, with scratch.
    device_kind: DeviceKind | str
    # Memory per device; default 141e9.
    memory_bytes: int
    # Operations per second and device. TROIKA_UNSET (default): an H200's, by precision.
    operations_per_second: float
    # Bytes per second that a device reads and writes; default 4.8e12.
    memory_bandwidth: float
    # Bytes per second that a device sends, while it receives as many; default 450e9.
    link_bandwidth: float
    # Seconds until a message's first byte arrives; default 2e-6.
    link_latency: float
    # Shards of each batch; 0 (default): none.
    logical_shards: int
    # Segments of the forward pass; activations within them are computed again. 0 (default): none.
    recompute_segments: int
    # 1: each parameter's optimizer state is stored on only one of the devices that share the batch.
    # That device updates the parameter and sends it to the others (ZeRO level 1). Default 0.
    shard_optimizer: bool
    # How gradients travel; default Compression.NONE.
    gradient_compression: Compression | str
    # Layers whose outputs are computed again: names, with * and ?, separated by commas. NULL
    # (default): none.
    recompute_layers: str
    # Chooses what to compute again so that activations fit into this many bytes on each device.
    # Excludes recompute_segments and recompute_layers. 0 (default): no budget.
    activation_budget_bytes: int
    # Above 0: gradients are clipped; default 0.
    max_gradient_norm: float
    # If not NULL, plans the step of a trainer with these options, except mesh. The fields above
    # that are also in troika_trainer_options are then not read. NULL (default): the fields above
    # count. Borrowed during the call.
    trainer: TrainerOptions
    # Devices of a node, of which devices must be a multiple. Above 0, gradients are summed in three
    # parts: a reduce-scatter within each node, a sum over the nodes, an all-gather within each
    # node. Only meshes that split by data alone are then estimated. 0 (default): all devices are on
    # one node.
    devices_per_node: int
    # Bytes per second that a node sends, while it receives as many: all its network cards together.
    # Default 4e11.
    node_bandwidth: float
    # As link_latency, between nodes; default 5e-6.
    node_latency: float


class PlanResult(typing.NamedTuple):
    """Memory, communication and time of a step. Bytes of memory are those of the device that needs
    most in total; bytes sent are those of the device that sends most. Filled by
    troika_plan_estimate and troika_plan_choose.
    """

    # 1: total_bytes is at most the memory of a device.
    fits: bool
    # data * layer * channel devices.
    mesh: Mesh
    # Parameters and buffers.
    parameter_bytes: int
    # Gradients of parameters.
    gradient_bytes: int
    # Optimizer state; with shard_optimizer the largest share of it.
    optimizer_bytes: int
    # Activations and their gradients, by their lifetimes; without scratch of kernels, unless
    # device_kind is DeviceKind.CPU.
    activation_bytes: int
    # The sum of the four fields above.
    total_bytes: int
    # Sent in a step: sums of gradients and of channels, messages between layers, parameters that
    # their owner updated (shard_optimizer).
    sent_bytes: int
    # The share of the pipeline's time in which its devices wait for each other, 0 to 1.
    bubble: float
    # Duration of a step.
    seconds: float


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_plan_options: {
        "devices": ("number", None),
        "batch": ("number", None),
        "loss": ("enum", Loss),
        "precision": ("enum", Precision),
        "momentum": ("number", None),
        "micro_batches": ("number", None),
        "layer_schedule": ("enum", LayerSchedule),
        "layer_chunks": ("number", None),
        "device_kind": ("enum", DeviceKind),
        "memory_bytes": ("number", None),
        "operations_per_second": ("number", None),
        "memory_bandwidth": ("number", None),
        "link_bandwidth": ("number", None),
        "link_latency": ("number", None),
        "logical_shards": ("number", None),
        "recompute_segments": ("number", None),
        "shard_optimizer": ("flag", None),
        "gradient_compression": ("enum", Compression),
        "recompute_layers": ("text", None),
        "activation_budget_bytes": ("number", None),
        "max_gradient_norm": ("number", None),
        "trainer": ("optional", troika_trainer_options),
        "devices_per_node": ("number", None),
        "node_bandwidth": ("number", None),
        "node_latency": ("number", None),
    },
    troika_plan_result: {
        "fits": ("flag", None),
        "mesh": ("struct", troika_mesh),
        "parameter_bytes": ("number", None),
        "gradient_bytes": ("number", None),
        "optimizer_bytes": ("number", None),
        "activation_bytes": ("number", None),
        "total_bytes": ("number", None),
        "sent_bytes": ("number", None),
        "bubble": ("number", None),
        "seconds": ("number", None),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
    troika_plan_result: PlanResult,
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_plan_options_init": (None, [ctypes.POINTER(troika_plan_options), ctypes.c_uint32]),
    "troika_plan_result_init": (None, [ctypes.POINTER(troika_plan_result), ctypes.c_uint32]),
    "troika_plan_estimate": (ctypes.c_int32, [troika_model, ctypes.POINTER(troika_plan_options), ctypes.POINTER(troika_mesh), ctypes.POINTER(troika_plan_result), ctypes.POINTER(troika_error)]),
    "troika_plan_choose": (ctypes.c_int32, [troika_model, ctypes.POINTER(troika_plan_options), ctypes.POINTER(troika_plan_result), ctypes.POINTER(troika_error)]),
}
