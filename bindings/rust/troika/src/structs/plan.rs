// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

/// A step to plan, described as in [`TrainerOptions`](crate::TrainerOptions), and the devices: all
/// of one kind, each linked to every other of its node. The nodes are linked by a network.
///
/// End a literal with `..Default::default()`. Its devices are H200 GPUs with NVLink, by the data
/// sheet:
///
/// - memory of 141 GB, with 4.8e12 bytes per second.
/// - 67e12 (F32), 494e12 (TF32) or 989e12 (BF16, F16) operations per second.
/// - links of 450e9 bytes per second each way.
///
/// A node's network has 8 cards of 400 Gbit/s, by the data sheet of a DGX H200. The 2 microseconds
/// per message within a node, and the 5 between nodes, are guesses.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanOptions {
    /// 1 to 4096; default 1.
    pub devices: i32,
    /// Samples per step, for all devices together; default 256.
    pub batch: i64,
    /// Default [`Loss::CrossEntropy`](crate::Loss::CrossEntropy).
    pub loss: Loss,
    /// Default [`Precision::F32`](crate::Precision::F32).
    pub precision: Precision,
    /// In \[0, 1); above 0 there is optimizer state. Default 0.
    pub momentum: f64,
    /// Parts of each pipeline's samples; default 1; 0 is 1.
    pub micro_batches: i32,
    /// Default [`LayerSchedule::OneFOneB`](crate::LayerSchedule::OneFOneB).
    pub layer_schedule: LayerSchedule,
    /// Stages per device, with the interleaved schedule; default 1; 0 is 1.
    pub layer_chunks: i32,
    /// The kind of the devices; `None` (default): either.
    pub device_kind: Option<DeviceKind>,
    /// Memory per device; default 141e9.
    pub memory_bytes: i64,
    /// Operations per second and device. `None` (default): an H200's, by precision.
    pub operations_per_second: Option<f64>,
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
    /// `true`: each parameter's optimizer state is stored on only one of the devices that share the
    /// batch. That device updates the parameter and sends it to the others (ZeRO level 1). Default
    /// `false`.
    pub shard_optimizer: bool,
    /// How gradients travel; default [`Compression::None`](crate::Compression::None).
    pub gradient_compression: Compression,
    /// Layers whose outputs are computed again: names, with \* and ?, separated by commas. `None`
    /// (default): none.
    pub recompute_layers: Option<String>,
    /// Chooses what to compute again so that activations fit into this many bytes on each device.
    /// Excludes `recompute_segments` and `recompute_layers`. 0 (default): no budget.
    pub activation_budget_bytes: i64,
    /// Above 0: gradients are clipped; default 0.
    pub max_gradient_norm: f64,
    /// If not `None`, plans the step of a trainer with these options, except mesh. The fields above
    /// that are also in [`TrainerOptions`](crate::TrainerOptions) are then not read. `None`
    /// (default): the fields above count.
    pub trainer: Option<TrainerOptions>,
    /// Devices of a node, of which devices must be a multiple. Above 0, gradients are summed in
    /// three parts: a reduce-scatter within each node, a sum over the nodes, an all-gather within
    /// each node. Only meshes that split by data alone are then estimated. 0 (default): all devices
    /// are on one node.
    pub devices_per_node: i32,
    /// Bytes per second that a node sends, while it receives as many: all its network cards
    /// together. Default 4e11.
    pub node_bandwidth: f64,
    /// As `link_latency`, between nodes; default 5e-6.
    pub node_latency: f64,
}

impl Struct for PlanOptions {
    type Raw = sys::troika_plan_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_plan_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            devices: raw.devices,
            batch: raw.batch,
            loss: Loss::from_raw(raw.loss)?,
            precision: Precision::from_raw(raw.precision)?,
            momentum: raw.momentum,
            micro_batches: raw.micro_batches,
            layer_schedule: LayerSchedule::from_raw(raw.layer_schedule)?,
            layer_chunks: raw.layer_chunks,
            device_kind: optional_enum(raw.device_kind, 0, DeviceKind::from_raw)?,
            memory_bytes: raw.memory_bytes,
            operations_per_second: optional_number(raw.operations_per_second),
            memory_bandwidth: raw.memory_bandwidth,
            link_bandwidth: raw.link_bandwidth,
            link_latency: raw.link_latency,
            logical_shards: raw.logical_shards,
            recompute_segments: raw.recompute_segments,
            shard_optimizer: raw.shard_optimizer != 0,
            gradient_compression: Compression::from_raw(raw.gradient_compression)?,
            recompute_layers: unsafe { optional_text(raw.recompute_layers) },
            activation_budget_bytes: raw.activation_budget_bytes,
            max_gradient_norm: raw.max_gradient_norm,
            trainer: unsafe {
                raw.trainer.as_ref().map(|raw| TrainerOptions::from_raw(raw)).transpose()
            }?,
            devices_per_node: raw.devices_per_node,
            node_bandwidth: raw.node_bandwidth,
            node_latency: raw.node_latency,
        })
    }
}

impl Input for PlanOptions {
    fn to_raw(&self, held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.devices = self.devices;
        raw.batch = self.batch;
        raw.loss = self.loss.raw();
        raw.precision = self.precision.raw();
        raw.momentum = self.momentum;
        raw.micro_batches = self.micro_batches;
        raw.layer_schedule = self.layer_schedule.raw();
        raw.layer_chunks = self.layer_chunks;
        raw.device_kind = self.device_kind.map_or(0, DeviceKind::raw);
        raw.memory_bytes = self.memory_bytes;
        raw.operations_per_second =
            self.operations_per_second.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.memory_bandwidth = self.memory_bandwidth;
        raw.link_bandwidth = self.link_bandwidth;
        raw.link_latency = self.link_latency;
        raw.logical_shards = self.logical_shards;
        raw.recompute_segments = self.recompute_segments;
        raw.shard_optimizer = i32::from(self.shard_optimizer);
        raw.gradient_compression = self.gradient_compression.raw();
        raw.recompute_layers = held.text(self.recompute_layers.as_deref(), "recompute_layers")?;
        raw.activation_budget_bytes = self.activation_budget_bytes;
        raw.max_gradient_norm = self.max_gradient_norm;
        if let Some(inner) = &self.trainer {
            let inner = vec![inner.to_raw(held)?];
            raw.trainer = held.list(inner);
        }
        raw.devices_per_node = self.devices_per_node;
        raw.node_bandwidth = self.node_bandwidth;
        raw.node_latency = self.node_latency;
        Ok(raw)
    }
}

impl Default for PlanOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}

/// Memory, communication and time of a step. Bytes of memory are those of the device that needs
/// most in total; bytes sent are those of the device that sends most. Filled by
/// [`Model::plan_estimate`](crate::Model::plan_estimate) and
/// [`Model::plan_choose`](crate::Model::plan_choose).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PlanResult {
    /// `true`: `total_bytes` is at most the memory of a device.
    pub fits: bool,
    /// data \* layer \* channel devices.
    pub mesh: Mesh,
    /// Parameters and buffers.
    pub parameter_bytes: i64,
    /// Gradients of parameters.
    pub gradient_bytes: i64,
    /// Optimizer state; with `shard_optimizer` the largest share of it.
    pub optimizer_bytes: i64,
    /// Activations and their gradients, by their lifetimes; without scratch of kernels, unless
    /// `device_kind` is [`DeviceKind::Cpu`](crate::DeviceKind::Cpu).
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

impl Struct for PlanResult {
    type Raw = sys::troika_plan_result;

    fn init() -> Self::Raw {
        initialized(sys::troika_plan_result_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            fits: raw.fits != 0,
            mesh: unsafe { Mesh::from_raw(&raw.mesh) }?,
            parameter_bytes: raw.parameter_bytes,
            gradient_bytes: raw.gradient_bytes,
            optimizer_bytes: raw.optimizer_bytes,
            activation_bytes: raw.activation_bytes,
            total_bytes: raw.total_bytes,
            sent_bytes: raw.sent_bytes,
            bubble: raw.bubble,
            seconds: raw.seconds,
        })
    }
}
