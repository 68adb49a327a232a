// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::c_char;

/// A step to plan, described as in [`troika_trainer_options`](crate::troika_trainer_options), and
/// the devices: all of one kind, each linked to every other of its node. The nodes are linked by a
/// network.
///
/// Begin with `TROIKA_PLAN_OPTIONS_INIT`. Its devices are H200 GPUs with NVLink, by the data sheet:
///
/// - memory of 141 GB, with 4.8e12 bytes per second.
/// - 67e12 (F32), 494e12 (TF32) or 989e12 (BF16, F16) operations per second.
/// - links of 450e9 bytes per second each way.
///
/// A node's network has 8 cards of 400 Gbit/s, by the data sheet of a DGX H200. The 2 microseconds
/// per message within a node, and the 5 between nodes, are guesses.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_plan_options {
    /// sizeof([`troika_plan_options`](crate::troika_plan_options)).
    pub struct_size: u32,
    /// 1 to 4096; default 1.
    pub devices: i32,
    /// Samples per step, for all devices together; default 256.
    pub batch: i64,
    /// Default [`TROIKA_LOSS_CROSS_ENTROPY`](crate::TROIKA_LOSS_CROSS_ENTROPY).
    pub loss: i32,
    /// Default [`TROIKA_PRECISION_F32`](crate::TROIKA_PRECISION_F32).
    pub precision: i32,
    /// In \[0, 1); above 0 there is optimizer state. Default 0.
    pub momentum: f64,
    /// Parts of each pipeline's samples; default 1; 0 is 1.
    pub micro_batches: i32,
    /// Default [`TROIKA_LAYER_SCHEDULE_1F1B`](crate::TROIKA_LAYER_SCHEDULE_1F1B).
    pub layer_schedule: i32,
    /// Stages per device, with the interleaved schedule; default 1; 0 is 1.
    pub layer_chunks: i32,
    /// [`TROIKA_DEVICE_CPU`](crate::TROIKA_DEVICE_CPU) or
    /// [`TROIKA_DEVICE_CUDA`](crate::TROIKA_DEVICE_CUDA); 0 (default): either. A mesh that
    /// [`troika_model_attach`](crate::troika_model_attach) refuses on such devices cannot work;
    /// today both kinds take the same meshes. With CPU, steps are compiled for CPU devices of this
    /// machine, which takes seconds. `activation_bytes` is then the arena that their kernels need,
    /// with scratch.
    pub device_kind: i32,
    /// Memory per device; default 141e9.
    pub memory_bytes: i64,
    /// Operations per second and device. [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default): an
    /// H200's, by precision.
    pub operations_per_second: f64,
    /// Bytes per second that a device reads and writes; default 4.8e12.
    pub memory_bandwidth: f64,
    /// Bytes per second that a device sends, while it receives as many; default 450e9.
    pub link_bandwidth: f64,
    /// Seconds until a message's first byte arrives; default 2e-6.
    pub link_latency: f64,
    /// Shards of each batch; 0 (default): none.
    pub logical_shards: i32,
    /// Segments of the forward pass; activations within them are computed again. 0 (default): none.
    pub recompute_segments: i32,
    /// 1: each parameter's optimizer state is stored on only one of the devices that share the
    /// batch. That device updates the parameter and sends it to the others (ZeRO level 1). Default
    /// 0.
    pub shard_optimizer: i32,
    /// How gradients travel; default [`TROIKA_COMPRESSION_NONE`](crate::TROIKA_COMPRESSION_NONE).
    pub gradient_compression: i32,
    /// Layers whose outputs are computed again: names, with \* and ?, separated by commas. NULL
    /// (default): none.
    pub recompute_layers: *const c_char,
    /// Chooses what to compute again so that activations fit into this many bytes on each device.
    /// Excludes `recompute_segments` and `recompute_layers`. 0 (default): no budget.
    pub activation_budget_bytes: i64,
    /// Above 0: gradients are clipped; default 0.
    pub max_gradient_norm: f64,
    /// If not NULL, plans the step of a trainer with these options, except mesh. The fields above
    /// that are also in [`troika_trainer_options`](crate::troika_trainer_options) are then not
    /// read. NULL (default): the fields above count. Borrowed during the call.
    pub trainer: *const troika_trainer_options,
    /// Devices of a node, of which devices must be a multiple. Above 0, gradients are summed in
    /// three parts: a reduce-scatter within each node, a sum over the nodes, an all-gather within
    /// each node. Only meshes that split by data alone are then estimated. 0 (default): all devices
    /// are on one node.
    pub devices_per_node: i32,
    /// 0.
    pub reserved: i32,
    /// Bytes per second that a node sends, while it receives as many: all its network cards
    /// together. Default 4e11.
    pub node_bandwidth: f64,
    /// As `link_latency`, between nodes; default 5e-6.
    pub node_latency: f64,
}

/// Memory, communication and time of a step. Bytes of memory are those of the device that needs
/// most in total; bytes sent are those of the device that sends most. Filled by
/// [`troika_plan_estimate`](crate::troika_plan_estimate) and
/// [`troika_plan_choose`](crate::troika_plan_choose).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_plan_result {
    /// Set by the caller to sizeof([`troika_plan_result`](crate::troika_plan_result)).
    pub struct_size: u32,
    /// 1: `total_bytes` is at most the memory of a device.
    pub fits: i32,
    /// data \* layer \* channel devices.
    pub mesh: troika_mesh,
    /// Parameters and buffers.
    pub parameter_bytes: i64,
    /// Gradients of parameters.
    pub gradient_bytes: i64,
    /// Optimizer state; with `shard_optimizer` the largest share of it.
    pub optimizer_bytes: i64,
    /// Activations and their gradients, by their lifetimes; without scratch of kernels, unless
    /// `device_kind` is [`TROIKA_DEVICE_CPU`](crate::TROIKA_DEVICE_CPU).
    pub activation_bytes: i64,
    /// The sum of the four fields above.
    pub total_bytes: i64,
    /// Sent in a step: sums of gradients and of channels, messages between layers, parameters that
    /// their owner updated (`shard_optimizer`).
    pub sent_bytes: i64,
    /// The share of the pipeline's time in which its devices wait for each other, 0 to 1.
    pub bubble: f64,
    /// Duration of a step.
    pub seconds: f64,
}

extern "C" {
    /// Fills options as `TROIKA_PLAN_OPTIONS_INIT` does. Any thread.
    pub fn troika_plan_options_init(options: *mut troika_plan_options, struct_size: u32);

    /// Fills result as `TROIKA_PLAN_RESULT_INIT` does. Any thread.
    pub fn troika_plan_result_init(result: *mut troika_plan_result, struct_size: u32);

    /// Estimates a training step on one mesh. options may be NULL: defaults. mesh may be NULL: all
    /// devices share the batch. If mesh-\>data is 0, it is as many as there are devices for.
    ///
    /// Errors:
    ///
    /// - INVALID_ARGUMENT: a field, which the message names; a model with no output.
    /// - INVALID_ARGUMENT: a mesh that needs another number of devices; more stages than the model
    ///   has layers; more parts of a layer than it has channels.
    /// - INVALID_ARGUMENT: parts of the batch that BatchNorm cannot normalise.
    /// - UNSUPPORTED: a parameter shared by layers that a split by channel cuts differently;
    ///   `logical_shards` with a split by layer or channel; `devices_per_node` with such a split or
    ///   with `shard_optimizer`.
    /// - NOT_FOUND: a pattern of `recompute_layers`, or in trainer a group or a layer of
    ///   `layer_cuts`, that matches nothing.
    /// - OUT_OF_MEMORY: also if activations cannot fit into `activation_budget_bytes`.
    /// - BUSY.
    ///
    /// Any thread; reads the model.
    pub fn troika_plan_estimate(
        model: troika_model,
        options: *const troika_plan_options,
        mesh: *const troika_mesh,
        out_plan: *mut troika_plan_result,
        error: *mut troika_error,
    ) -> troika_status;

    /// Estimates every mesh of all options-\>devices and returns the fastest whose memory fits. If
    /// several are equally fast, it returns the one with most parts of the batch, then the one with
    /// most devices in a row. Meshes that cannot work are left out. options may be NULL: defaults.
    ///
    /// Errors:
    ///
    /// - NOT_FOUND: no mesh fits; the message says which needs least, and how much.
    /// - NOT_FOUND: no mesh works; the message says why the first does not.
    /// - NOT_FOUND: a name or pattern that matches nothing, as in
    ///   [`troika_plan_estimate`](crate::troika_plan_estimate).
    /// - INVALID_ARGUMENT (names the field; a model with no output), OUT_OF_MEMORY, BUSY.
    ///
    /// Any thread; reads the model.
    pub fn troika_plan_choose(
        model: troika_model,
        options: *const troika_plan_options,
        out_plan: *mut troika_plan_result,
        error: *mut troika_error,
    ) -> troika_status;
}
