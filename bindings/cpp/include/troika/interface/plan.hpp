/** @file interface/plan.hpp Options and results of plan.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_PLAN_HPP
#define TROIKA_INTERFACE_PLAN_HPP

#include <troika/interface/defaults.hpp>
#include <troika/interface/trainer_options.hpp>

namespace troika {
inline namespace v1 {

/**
 * A step to plan, described as in TrainerOptions, and the devices: all of one kind, each linked
 * to every other of its node. The nodes are linked by a network.
 *  Its devices are H200 GPUs with NVLink, by the data sheet:
 * - memory of 141 GB, with 4.8e12 bytes per second.
 * - 67e12 (F32), 494e12 (TF32) or 989e12 (BF16, F16) operations per second.
 * - links of 450e9 bytes per second each way.
 * A node's network has 8 cards of 400 Gbit/s, by the data sheet of a DGX H200. The 2
 * microseconds per message within a node, and the 5 between nodes, are guesses.
 */
struct PlanOptions {
  /** 1 to 4096; default 1. */
  std::int32_t devices = detail::initial<std::int32_t, &troika_plan_options::devices>();
  /** Samples per step, for all devices together; default 256. */
  std::int64_t batch = detail::initial<std::int64_t, &troika_plan_options::batch>();
  /** Default Loss::cross_entropy. */
  Loss loss = detail::initial<Loss, &troika_plan_options::loss>();
  /** Default Precision::f32. */
  Precision precision = detail::initial<Precision, &troika_plan_options::precision>();
  /** In [0, 1); above 0 there is optimizer state. Default 0. */
  double momentum = detail::initial<double, &troika_plan_options::momentum>();
  /** Parts of each pipeline's samples; default 1; 0 is 1. */
  std::int32_t micro_batches = detail::initial<std::int32_t, &troika_plan_options::micro_batches>();
  /** Default LayerSchedule::one_f_one_b. */
  LayerSchedule layer_schedule = detail::initial<LayerSchedule, &troika_plan_options::layer_schedule>();
  /** Stages per device, with the interleaved schedule; default 1; 0 is 1. */
  std::int32_t layer_chunks = detail::initial<std::int32_t, &troika_plan_options::layer_chunks>();
  /** DeviceKind::cpu or DeviceKind::cuda; 0 (default): either. A mesh that Model::attach refuses
   *  on such devices cannot work; today both kinds take the same meshes. With CPU, steps are
   *  compiled for CPU devices of this machine, which takes seconds. activation_bytes is then the
   *  arena that their kernels need, with scratch. */
  DeviceKind device_kind = detail::initial<DeviceKind, &troika_plan_options::device_kind>();
  /** Memory per device; default 141e9. */
  std::int64_t memory_bytes = detail::initial<std::int64_t, &troika_plan_options::memory_bytes>();
  /** Operations per second and device. unset (default): an H200's, by precision. */
  double operations_per_second = detail::initial<double, &troika_plan_options::operations_per_second>();
  /** Bytes per second that a device reads and writes; default 4.8e12. */
  double memory_bandwidth = detail::initial<double, &troika_plan_options::memory_bandwidth>();
  /** Bytes per second that a device sends, while it receives as many; default 450e9. */
  double link_bandwidth = detail::initial<double, &troika_plan_options::link_bandwidth>();
  /** Seconds until a message's first byte arrives; default 2e-6. */
  double link_latency = detail::initial<double, &troika_plan_options::link_latency>();
  /** Shards of each batch; 0 (default): none. */
  std::int32_t logical_shards = detail::initial<std::int32_t, &troika_plan_options::logical_shards>();
  /** Segments of the forward pass; activations within them are computed again. 0 (default):
   *  none. */
  std::int32_t recompute_segments = detail::initial<std::int32_t, &troika_plan_options::recompute_segments>();
  /** 1: each parameter's optimizer state is stored on only one of the devices that share the
   *  batch. That device updates the parameter and sends it to the others (ZeRO level 1). Default
   *  0. */
  bool shard_optimizer = detail::initial<bool, &troika_plan_options::shard_optimizer>();
  /** How gradients travel; default Compression::none. */
  Compression gradient_compression = detail::initial<Compression, &troika_plan_options::gradient_compression>();
  /** Layers whose outputs are computed again: names, with * and ?, separated by commas. NULL
   *  (default): none. */
  std::optional<std::string> recompute_layers =
      detail::initial<std::optional<std::string>, &troika_plan_options::recompute_layers>();
  /** Chooses what to compute again so that activations fit into this many bytes on each device.
   *  Excludes recompute_segments and recompute_layers. 0 (default): no budget. */
  std::int64_t activation_budget_bytes = detail::initial<std::int64_t, &troika_plan_options::activation_budget_bytes>();
  /** Above 0: gradients are clipped; default 0. */
  double max_gradient_norm = detail::initial<double, &troika_plan_options::max_gradient_norm>();
  /** If not NULL, plans the step of a trainer with these options, except mesh. The fields above
   *  that are also in TrainerOptions are then not read. NULL (default): the fields above count.
   *  Borrowed during the call. */
  std::optional<TrainerOptions> trainer = {};
  /** Devices of a node, of which devices must be a multiple. Above 0, gradients are summed in
   *  three parts: a reduce-scatter within each node, a sum over the nodes, an all-gather within
   *  each node. Only meshes that split by data alone are then estimated. 0 (default): all
   *  devices are on one node. */
  std::int32_t devices_per_node = detail::initial<std::int32_t, &troika_plan_options::devices_per_node>();
  /** Bytes per second that a node sends, while it receives as many: all its network cards
   *  together. Default 4e11. */
  double node_bandwidth = detail::initial<double, &troika_plan_options::node_bandwidth>();
  /** As link_latency, between nodes; default 5e-6. */
  double node_latency = detail::initial<double, &troika_plan_options::node_latency>();
};

namespace detail {

template <>
struct Raw<PlanOptions> {
  explicit Raw(const PlanOptions& from) {
    value.devices = from.devices;
    value.batch = from.batch;
    value.loss = static_cast<std::int32_t>(from.loss);
    value.precision = static_cast<std::int32_t>(from.precision);
    value.momentum = from.momentum;
    value.micro_batches = from.micro_batches;
    value.layer_schedule = static_cast<std::int32_t>(from.layer_schedule);
    value.layer_chunks = from.layer_chunks;
    value.device_kind = static_cast<std::int32_t>(from.device_kind);
    value.memory_bytes = from.memory_bytes;
    value.operations_per_second = from.operations_per_second;
    value.memory_bandwidth = from.memory_bandwidth;
    value.link_bandwidth = from.link_bandwidth;
    value.link_latency = from.link_latency;
    value.logical_shards = from.logical_shards;
    value.recompute_segments = from.recompute_segments;
    value.shard_optimizer = from.shard_optimizer ? 1 : 0;
    value.gradient_compression = static_cast<std::int32_t>(from.gradient_compression);
    value.recompute_layers = c_text(from.recompute_layers, "recompute_layers");
    value.activation_budget_bytes = from.activation_budget_bytes;
    value.max_gradient_norm = from.max_gradient_norm;
    if (from.trainer) value.trainer = &trainer.emplace(*from.trainer).value;
    value.devices_per_node = from.devices_per_node;
    value.node_bandwidth = from.node_bandwidth;
    value.node_latency = from.node_latency;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_plan_options* get() const noexcept { return &value; }

  troika_plan_options value = defaults<troika_plan_options>();
  std::optional<Raw<TrainerOptions>> trainer;
};

}  // namespace detail

/**
 * Memory, communication and time of a step. Bytes of memory are those of the device that needs
 * most in total; bytes sent are those of the device that sends most. Filled by
 * troika_plan_estimate and troika_plan_choose.
 */
struct PlanResult {
  /** 1: total_bytes is at most the memory of a device. */
  bool fits = {};
  /** data * layer * channel devices. */
  Mesh mesh = {};
  /** Parameters and buffers. */
  std::int64_t parameter_bytes = {};
  /** Gradients of parameters. */
  std::int64_t gradient_bytes = {};
  /** Optimizer state; with shard_optimizer the largest share of it. */
  std::int64_t optimizer_bytes = {};
  /** Activations and their gradients, by their lifetimes; without scratch of kernels, unless
   *  device_kind is DeviceKind::cpu. */
  std::int64_t activation_bytes = {};
  /** The sum of the four fields above. */
  std::int64_t total_bytes = {};
  /** Sent in a step: sums of gradients and of channels, messages between layers, parameters that
   *  their owner updated (shard_optimizer). */
  std::int64_t sent_bytes = {};
  /** The share of the pipeline's time in which its devices wait for each other, 0 to 1. */
  double bubble = {};
  /** Duration of a step. */
  double seconds = {};
};

namespace detail {

template <>
struct Converter<PlanResult> {
  using Struct = troika_plan_result;
  static PlanResult from(const troika_plan_result& from) {
    PlanResult to;
    to.fits = convert<bool>(from.fits);
    to.mesh = convert<Mesh>(from.mesh);
    to.parameter_bytes = convert<std::int64_t>(from.parameter_bytes);
    to.gradient_bytes = convert<std::int64_t>(from.gradient_bytes);
    to.optimizer_bytes = convert<std::int64_t>(from.optimizer_bytes);
    to.activation_bytes = convert<std::int64_t>(from.activation_bytes);
    to.total_bytes = convert<std::int64_t>(from.total_bytes);
    to.sent_bytes = convert<std::int64_t>(from.sent_bytes);
    to.bubble = convert<double>(from.bubble);
    to.seconds = convert<double>(from.seconds);
    return to;
  }
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
