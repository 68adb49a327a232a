/** @file interface/trainer_options.hpp Options and results of trainer_options.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_TRAINER_OPTIONS_HPP
#define TROIKA_INTERFACE_TRAINER_OPTIONS_HPP

#include <troika/interface/defaults.hpp>

namespace troika {
inline namespace v1 {

/**
 * How devices share the work; there are data * layer * channel devices. In the list of devices,
 * those with channels of the same layers are adjacent. After them come those with the next
 * layers, then those with other samples. 0 in layer and channel is 1.
 */
struct Mesh {
  /** Parts of the batch (data parallelism); 0: as many as there are devices for. */
  std::int32_t data = detail::initial<std::int32_t, &troika_mesh::data>();
  /** Devices in a row, each with some layers (pipeline parallelism). */
  std::int32_t layer = detail::initial<std::int32_t, &troika_mesh::layer>();
  /** Devices that have some channels of each layer (tensor parallelism). */
  std::int32_t channel = detail::initial<std::int32_t, &troika_mesh::channel>();
};

namespace detail {

template <>
struct Converter<Mesh> {
  using Struct = troika_mesh;
  static Mesh from(const troika_mesh& from) {
    Mesh to;
    to.data = convert<std::int32_t>(from.data);
    to.layer = convert<std::int32_t>(from.layer);
    to.channel = convert<std::int32_t>(from.channel);
    return to;
  }
};

template <>
struct Raw<Mesh> {
  explicit Raw(const Mesh& from) {
    value.data = from.data;
    value.layer = from.layer;
    value.channel = from.channel;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_mesh* get() const noexcept { return &value; }

  troika_mesh value = defaults<troika_mesh>();
};

}  // namespace detail

/**
 * A group of parameters, matched by name, with its own settings. If several groups match a
 * parameter, the first of them counts.
 */
struct ParameterGroup {
  /** 1: the parameters keep their bits, have no gradient and are not communicated. Default 0. */
  bool frozen = detail::initial<bool, &troika_parameter_group::frozen>();
  /** * any run of characters, ? any one; must be set. Copied. */
  std::optional<std::string> pattern = detail::initial<std::optional<std::string>, &troika_parameter_group::pattern>();
  /** Below 0 (default): the trainer's. Follows the schedule too. */
  double learning_rate = detail::initial<double, &troika_parameter_group::learning_rate>();
  /** Below 0 (default): the trainer's. */
  double weight_decay = detail::initial<double, &troika_parameter_group::weight_decay>();
  /** SGD, RMSprop and LARS. unset (default), here and in all fields below: the trainer's. */
  double momentum = detail::initial<double, &troika_parameter_group::momentum>();
  /** Adam, AdamW and LAMB. */
  double beta1 = detail::initial<double, &troika_parameter_group::beta1>();
  /** Adam, AdamW and LAMB. */
  double beta2 = detail::initial<double, &troika_parameter_group::beta2>();
  /** All optimizers except SGD. */
  double eps = detail::initial<double, &troika_parameter_group::eps>();
  /** RMSprop. */
  double alpha = detail::initial<double, &troika_parameter_group::alpha>();
  /** LARS. */
  double trust = detail::initial<double, &troika_parameter_group::trust>();
};

namespace detail {

template <>
struct Converter<ParameterGroup> {
  using Struct = troika_parameter_group;
  static ParameterGroup from(const troika_parameter_group& from) {
    ParameterGroup to;
    to.frozen = convert<bool>(from.frozen);
    to.pattern = convert<std::optional<std::string>>(from.pattern);
    to.learning_rate = convert<double>(from.learning_rate);
    to.weight_decay = convert<double>(from.weight_decay);
    to.momentum = convert<double>(from.momentum);
    to.beta1 = convert<double>(from.beta1);
    to.beta2 = convert<double>(from.beta2);
    to.eps = convert<double>(from.eps);
    to.alpha = convert<double>(from.alpha);
    to.trust = convert<double>(from.trust);
    return to;
  }
};

template <>
struct Raw<ParameterGroup> {
  explicit Raw(const ParameterGroup& from) {
    value.frozen = from.frozen ? 1 : 0;
    value.pattern = c_text(from.pattern, "pattern");
    value.learning_rate = from.learning_rate;
    value.weight_decay = from.weight_decay;
    value.momentum = from.momentum;
    value.beta1 = from.beta1;
    value.beta2 = from.beta2;
    value.eps = from.eps;
    value.alpha = from.alpha;
    value.trust = from.trust;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_parameter_group* get() const noexcept { return &value; }

  troika_parameter_group value = defaults<troika_parameter_group>();
};

}  // namespace detail

/** Options of Model::attach. */
struct TrainerOptions {
  /** Default Loss::cross_entropy. */
  Loss loss = detail::initial<Loss, &troika_trainer_options::loss>();
  /** Default Reduction::mean. */
  Reduction reduction = detail::initial<Reduction, &troika_trainer_options::reduction>();
  /** Default Precision::f32. */
  Precision precision = detail::initial<Precision, &troika_trainer_options::precision>();
  /** At least 0; default 0.1. */
  double learning_rate = detail::initial<double, &troika_trainer_options::learning_rate>();
  /** SGD, RMSprop and LARS: in [0, 1); default 0. */
  double momentum = detail::initial<double, &troika_trainer_options::momentum>();
  /** At least 0; default 0. */
  double weight_decay = detail::initial<double, &troika_trainer_options::weight_decay>();
  /** 1: Nesterov's momentum: SGD with momentum above 0. Default 0. */
  bool nesterov = detail::initial<bool, &troika_trainer_options::nesterov>();
  /** Default Schedule::constant. */
  Schedule schedule = detail::initial<Schedule, &troika_trainer_options::schedule>();
  /** Steps; default 0. At least 1 for Schedule::step, Schedule::cosine, Schedule::exponential
   *  and Schedule::polynomial, at least 2 for Schedule::one_cycle. */
  std::int64_t schedule_period = detail::initial<std::int64_t, &troika_trainer_options::schedule_period>();
  /** Schedule::step, Schedule::multi_step, Schedule::exponential, Schedule::plateau: the factor;
   *  default 0.1. */
  double schedule_gamma = detail::initial<double, &troika_trainer_options::schedule_gamma>();
  /** Schedule::cosine, Schedule::polynomial, Schedule::plateau: the least learning rate; default
   *  0. */
  double schedule_min = detail::initial<double, &troika_trainer_options::schedule_min>();
  /** Step s < warmup_steps uses (s + 1) / warmup_steps of the scheduled rate; default 0. */
  std::int64_t warmup_steps = detail::initial<std::int64_t, &troika_trainer_options::warmup_steps>();
  /** The approximate size of an all-reduce bucket; default 1 MiB; 0: one gradient per bucket. */
  std::int64_t bucket_bytes = detail::initial<std::int64_t, &troika_trainer_options::bucket_bytes>();
  /** The seed of dropout; 0 (default): the context's seed. */
  std::uint64_t seed = detail::initial<std::uint64_t, &troika_trainer_options::seed>();
  /** group_count groups; copied. NULL with 0. */
  std::vector<ParameterGroup> groups = {};
  /** A step that takes longer fails with Status::comm; 1 to 2^31 - 1 milliseconds, default
   *  600000. */
  std::int32_t deadline_ms = detail::initial<std::int32_t, &troika_trainer_options::deadline_ms>();
  /** 1: records every launch and collective for Trainer::trace and Trainer::save_trace. Default
   *  0. */
  bool collect_trace = detail::initial<bool, &troika_trainer_options::collect_trace>();
  /** 1: no fused kernels, for comparison. Default 0. */
  bool no_fusion = detail::initial<bool, &troika_trainer_options::no_fusion>();
  /** The scale that dynamic loss scaling starts with, 1 to 2^24. 0: no loss scaling, also with
   *  Precision::f16. unset (default): 65536 with Precision::f16, no loss scaling with other
   *  precisions. */
  double loss_scale = detail::initial<double, &troika_trainer_options::loss_scale>();
  /** Good steps in a row after which the loss scale doubles; 1 to 2^24, default 2000. */
  std::int64_t loss_scale_interval = detail::initial<std::int64_t, &troika_trainer_options::loss_scale_interval>();
  /** Cuts each replica's samples into this many parts, which are computed one after another.
   *  Their gradients are added before the all-reduce. Takes less memory. BatchNorm normalises
   *  each part by itself. 0 to 1024; 0 and 1 (default): one part. Parts that get no sample are
   *  left out. */
  std::int32_t micro_batches = detail::initial<std::int32_t, &troika_trainer_options::micro_batches>();
  /** 0 (default): none. Otherwise cuts each batch into this many shards: a power of 2 up to
   *  1024. The number of devices may be 1, 2, 4 ... logical_shards; parameters get the same bits
   *  on each of these numbers. BatchNorm normalises each shard by itself and tracks the first. A
   *  CPU device computes on one thread. Excludes micro_batches above 1. */
  std::int32_t logical_shards = detail::initial<std::int32_t, &troika_trainer_options::logical_shards>();
  /** Default: all devices share the batch. Splits by layer and by channel exclude
   *  logical_shards. troika_plan_choose finds the fastest mesh that fits. */
  Mesh mesh = detail::initial<Mesh, &troika_trainer_options::mesh>();
  /** With mesh.layer above 1; default LayerSchedule::one_f_one_b. */
  LayerSchedule layer_schedule = detail::initial<LayerSchedule, &troika_trainer_options::layer_schedule>();
  /** Stages per device, 0 to 1024; default 1; 0 is 1. On a mesh that splits by layer or channel,
   *  a value above 1 needs the interleaved schedule. A split by layer needs at least mesh.layer
   *  * layer_chunks layers. */
  std::int32_t layer_chunks = detail::initial<std::int32_t, &troika_trainer_options::layer_chunks>();
  /** Only with mesh.layer above 1: the layer that begins each stage except the first, separated
   *  by commas. NULL (default): cut so that all stages cost about the same. Copied. */
  std::optional<std::string> layer_cuts =
      detail::initial<std::optional<std::string>, &troika_trainer_options::layer_cuts>();
  /** Cuts the forward pass into at most this many segments. Activations within a segment, except
   *  the last, are computed again in backward. 0 (default): none. */
  std::int32_t recompute_segments = detail::initial<std::int32_t, &troika_trainer_options::recompute_segments>();
  /** 1: BatchNorm normalises the samples of all replicas together, as one device with the whole
   *  batch would. With micro-batches, it normalises those at the same place on all replicas
   *  together. Excludes logical_shards. Default 0: each replica normalises its own samples. */
  bool sync_batch_norm = detail::initial<bool, &troika_trainer_options::sync_batch_norm>();
  /** Layers whose outputs are computed again: names, with * and ?, separated by commas. NULL
   *  (default): none. */
  std::optional<std::string> recompute_layers =
      detail::initial<std::optional<std::string>, &troika_trainer_options::recompute_layers>();
  /** Chooses what to compute again so that activations fit into this many bytes on each device.
   *  Excludes recompute_segments and recompute_layers. 0 (default): no budget. */
  std::int64_t activation_budget_bytes =
      detail::initial<std::int64_t, &troika_trainer_options::activation_budget_bytes>();
  /** Above 0: clips gradients. After their sum over devices, and without the loss scale, all of
   *  them are multiplied by min(1, max_gradient_norm / (norm + 1e-6)). norm is the 2-norm of all
   *  gradients together (PyTorch's clip_grad_norm_). 0 (default): no clipping. */
  double max_gradient_norm = detail::initial<double, &troika_trainer_options::max_gradient_norm>();
  /** 1: each parameter's optimizer state is stored on only one of the replicas, which updates
   *  the parameter and sends it to the others (ZeRO level 1). Default 0, which computes the same
   *  bits. */
  bool shard_optimizer = detail::initial<bool, &troika_trainer_options::shard_optimizer>();
  /** Default Compression::none. Compression::bf16 excludes logical_shards. */
  Compression gradient_compression = detail::initial<Compression, &troika_trainer_options::gradient_compression>();
  /** 0 (default): GPUs keep a dataset that takes at most half of their free memory, from the
   *  first epoch over it on, and gather batches there. If a plan of this trainer needs that
   *  memory, the dataset is evicted. 1: batches are copied from the host. The bits are the same.
   *  CPU devices keep no datasets. Datasets of callbacks, and batches that are drawn by weights,
   *  are always copied from the host. */
  bool samples_on_host = detail::initial<bool, &troika_trainer_options::samples_on_host>();
  /** 0 (default): on GPUs, long weight gradients are computed concurrently with the rest of the
   *  backward pass. 1: every launch waits for the one before it, which takes a little less
   *  memory. The bits are the same. */
  bool launches_in_turn = detail::initial<bool, &troika_trainer_options::launches_in_turn>();
  /** Default Optimizer::sgd. */
  Optimizer optimizer = detail::initial<Optimizer, &troika_trainer_options::optimizer>();
  /** 1: weight decay skips parameters with one axis: biases, and norms over one axis. Default 0. */
  bool skip_decay_one_axis = detail::initial<bool, &troika_trainer_options::skip_decay_one_axis>();
  /** Adam, AdamW, LAMB: in [0, 1); unset (default): 0.9. */
  double beta1 = detail::initial<double, &troika_trainer_options::beta1>();
  /** Adam, AdamW, LAMB: in [0, 1); unset (default): 0.999. */
  double beta2 = detail::initial<double, &troika_trainer_options::beta2>();
  /** Above 0; unset (default): 1e-8, LAMB 1e-6, LARS 1e-9, Adagrad 1e-10. */
  double eps = detail::initial<double, &troika_trainer_options::eps>();
  /** RMSprop: in [0, 1); unset (default): 0.99. */
  double alpha = detail::initial<double, &troika_trainer_options::alpha>();
  /** LARS: above 0; unset (default): 0.001. */
  double trust = detail::initial<double, &troika_trainer_options::trust>();
  /** Above 0 and below 1: keeps a moving average of each parameter that is trained. The average
   *  starts as the parameter when the trainer first computes. After each update, average =
   *  average_decay * average + (1 - average_decay) * parameter. 0 (default): no averages. */
  double average_decay = detail::initial<double, &troika_trainer_options::average_decay>();
  /** 0 (default): evaluation and prediction use the averages, if there are any. 1: the
   *  parameters. */
  bool evaluate_parameters = detail::initial<bool, &troika_trainer_options::evaluate_parameters>();
  /** Schedule::plateau: 1: larger metrics are better. Default 0. */
  bool schedule_maximize = detail::initial<bool, &troika_trainer_options::schedule_maximize>();
  /** Schedule::polynomial: above 0; default 1. */
  double schedule_power = detail::initial<double, &troika_trainer_options::schedule_power>();
  /** Schedule::one_cycle: in (0, 1); default 0.3. */
  double schedule_rise = detail::initial<double, &troika_trainer_options::schedule_rise>();
  /** Schedule::one_cycle: at least 1; default 25. */
  double schedule_divisor = detail::initial<double, &troika_trainer_options::schedule_divisor>();
  /** Schedule::one_cycle: at least 1; default 1e4. */
  double schedule_final_divisor = detail::initial<double, &troika_trainer_options::schedule_final_divisor>();
  /** Schedule::plateau: in [0, 1); default 1e-4. */
  double schedule_threshold = detail::initial<double, &troika_trainer_options::schedule_threshold>();
  /** Schedule::plateau: at least 0; default 10. */
  std::int64_t schedule_patience = detail::initial<std::int64_t, &troika_trainer_options::schedule_patience>();
  /** Schedule::multi_step: schedule_milestone_count steps of at least 0, in ascending order.
   *  Copied. */
  std::vector<std::int64_t> schedule_milestones = {};
  /** Schedule::table: schedule_table_count factors of at least 0. Copied. */
  std::vector<double> schedule_table = {};
  /** Cross-entropy: s in [0, 1). The loss of a label is 1 - s times its own loss plus s times
   *  the mean of the losses of all classes (PyTorch's label_smoothing). Default 0. */
  double label_smoothing = detail::initial<double, &troika_trainer_options::label_smoothing>();
  /** Cross-entropy: a label that weighs nothing. It has no loss and no gradient, and is not
   *  counted, also not in the mean (PyTorch's ignore_index). If a batch has no other label, its
   *  loss is 0 and its gradient is 0. unset (default): none. */
  std::int64_t ignore_index = detail::initial<std::int64_t, &troika_trainer_options::ignore_index>();
  /** 1: a step with a gradient that is not finite changes no parameter and returns
   *  Status::step_skipped, in any precision and without loss scaling too. 0 (default): only loss
   *  scaling skips steps. */
  bool skip_not_finite = detail::initial<bool, &troika_trainer_options::skip_not_finite>();
  /** 1: between processes, an update may wait until the next step is about to read its
   *  parameters. So sums of gradients also travel during the next forward pass, which hides a
   *  network that is as slow as the devices. The bits are the same. Calls that read parameters,
   *  or that evaluate, run the last update first. If a process is lost meanwhile, parameters may
   *  lack that update. Updates of the first three steps with a size of batch are not late; the
   *  third is measured. Needs a mesh that splits by data alone. Excludes max_gradient_norm, loss
   *  scaling, skip_not_finite, shard_optimizer, and CPUs next to GPUs. No effect on GPUs alone,
   *  and between processes that share memory. Default 0: a step ends with its update. */
  bool late_updates = detail::initial<bool, &troika_trainer_options::late_updates>();
  /** Attaches the devices of all processes of the group as one list: devices are those of this
   *  process, and mesh is over all. The processes of a machine are neighbours in the list.
   *  Collective, as all calls of the trainer that compute, read or write state: each process
   *  passes its own samples. Before each batch the processes compare their steps done, settings
   *  and positions in the data; Status::mismatch names what differs, and nothing is done. Values
   *  that the hosts have written into their models since the last batch are replaced by those of
   *  rank 0. If a stop is requested in one process, the call returns Status::stopped in all.
   *  NULL (default): this process alone. */
  troika_group group = detail::initial<troika_group, &troika_trainer_options::group>();
  /** Loss::huber: above 0; default 1. */
  double huber_delta = detail::initial<double, &troika_trainer_options::huber_delta>();
  /** Cross-entropy: class_weight_count weights, one for each class of the model. A label's loss
   *  is multiplied by the weight of its class. With Reduction::mean, the sum of a batch's losses
   *  is divided by the sum of the weights of its labels (PyTorch's weight, without label
   *  smoothing). If all weigh 0, loss and gradient are 0. Each is 0, or from 1e-15 to 1e15, and
   *  rounded to f32. correct and labels of results count labels, whatever they weigh. NULL
   *  (default): 1 each. Copied. */
  std::vector<double> class_weights = {};
  /** 1: samples may have weights (Dataset::weigh, Batch::create_weighted), which multiply their
   *  losses as weights of classes do. Samples without a weight have 1. Batches are copied from
   *  the host. 0 (default): a batch with weights is refused. */
  bool sample_weights = detail::initial<bool, &troika_trainer_options::sample_weights>();
  /** Sizes of the parts of each batch, for devices of different speed: share_count numbers above
   *  0, one for each of the mesh's data parts. Numbers 3 and 1 divide a batch of 10 into 8 and 2
   *  samples. A part may get no sample of a small batch. None is above 1e6 times another. The
   *  result is that of equal parts, up to rounding, without BatchNorm or with sync_batch_norm.
   *  Otherwise BatchNorm's running statistics are those of the largest part. Excludes
   *  logical_shards. NULL (default): equal parts. Copied. */
  std::vector<double> shares = {};
};

namespace detail {

template <>
struct Converter<TrainerOptions> {
  using Struct = troika_trainer_options;
  static TrainerOptions from(const troika_trainer_options& from) {
    TrainerOptions to;
    to.loss = convert<Loss>(from.loss);
    to.reduction = convert<Reduction>(from.reduction);
    to.precision = convert<Precision>(from.precision);
    to.learning_rate = convert<double>(from.learning_rate);
    to.momentum = convert<double>(from.momentum);
    to.weight_decay = convert<double>(from.weight_decay);
    to.nesterov = convert<bool>(from.nesterov);
    to.schedule = convert<Schedule>(from.schedule);
    to.schedule_period = convert<std::int64_t>(from.schedule_period);
    to.schedule_gamma = convert<double>(from.schedule_gamma);
    to.schedule_min = convert<double>(from.schedule_min);
    to.warmup_steps = convert<std::int64_t>(from.warmup_steps);
    to.bucket_bytes = convert<std::int64_t>(from.bucket_bytes);
    to.seed = convert<std::uint64_t>(from.seed);
    to.groups = convert_list<std::vector<ParameterGroup>>(from.groups, from.group_count);
    to.deadline_ms = convert<std::int32_t>(from.deadline_ms);
    to.collect_trace = convert<bool>(from.collect_trace);
    to.no_fusion = convert<bool>(from.no_fusion);
    to.loss_scale = convert<double>(from.loss_scale);
    to.loss_scale_interval = convert<std::int64_t>(from.loss_scale_interval);
    to.micro_batches = convert<std::int32_t>(from.micro_batches);
    to.logical_shards = convert<std::int32_t>(from.logical_shards);
    to.mesh = convert<Mesh>(from.mesh);
    to.layer_schedule = convert<LayerSchedule>(from.layer_schedule);
    to.layer_chunks = convert<std::int32_t>(from.layer_chunks);
    to.layer_cuts = convert<std::optional<std::string>>(from.layer_cuts);
    to.recompute_segments = convert<std::int32_t>(from.recompute_segments);
    to.sync_batch_norm = convert<bool>(from.sync_batch_norm);
    to.recompute_layers = convert<std::optional<std::string>>(from.recompute_layers);
    to.activation_budget_bytes = convert<std::int64_t>(from.activation_budget_bytes);
    to.max_gradient_norm = convert<double>(from.max_gradient_norm);
    to.shard_optimizer = convert<bool>(from.shard_optimizer);
    to.gradient_compression = convert<Compression>(from.gradient_compression);
    to.samples_on_host = convert<bool>(from.samples_on_host);
    to.launches_in_turn = convert<bool>(from.launches_in_turn);
    to.optimizer = convert<Optimizer>(from.optimizer);
    to.skip_decay_one_axis = convert<bool>(from.skip_decay_one_axis);
    to.beta1 = convert<double>(from.beta1);
    to.beta2 = convert<double>(from.beta2);
    to.eps = convert<double>(from.eps);
    to.alpha = convert<double>(from.alpha);
    to.trust = convert<double>(from.trust);
    to.average_decay = convert<double>(from.average_decay);
    to.evaluate_parameters = convert<bool>(from.evaluate_parameters);
    to.schedule_maximize = convert<bool>(from.schedule_maximize);
    to.schedule_power = convert<double>(from.schedule_power);
    to.schedule_rise = convert<double>(from.schedule_rise);
    to.schedule_divisor = convert<double>(from.schedule_divisor);
    to.schedule_final_divisor = convert<double>(from.schedule_final_divisor);
    to.schedule_threshold = convert<double>(from.schedule_threshold);
    to.schedule_patience = convert<std::int64_t>(from.schedule_patience);
    to.schedule_milestones =
        convert_list<std::vector<std::int64_t>>(from.schedule_milestones, from.schedule_milestone_count);
    to.schedule_table = convert_list<std::vector<double>>(from.schedule_table, from.schedule_table_count);
    to.label_smoothing = convert<double>(from.label_smoothing);
    to.ignore_index = convert<std::int64_t>(from.ignore_index);
    to.skip_not_finite = convert<bool>(from.skip_not_finite);
    to.late_updates = convert<bool>(from.late_updates);
    to.group = convert<troika_group>(from.group);
    to.huber_delta = convert<double>(from.huber_delta);
    to.class_weights = convert_list<std::vector<double>>(from.class_weights, from.class_weight_count);
    to.sample_weights = convert<bool>(from.sample_weights);
    to.shares = convert_list<std::vector<double>>(from.shares, from.share_count);
    return to;
  }
};

template <>
struct Raw<TrainerOptions> {
  explicit Raw(const TrainerOptions& from) {
    value.loss = static_cast<std::int32_t>(from.loss);
    value.reduction = static_cast<std::int32_t>(from.reduction);
    value.precision = static_cast<std::int32_t>(from.precision);
    value.learning_rate = from.learning_rate;
    value.momentum = from.momentum;
    value.weight_decay = from.weight_decay;
    value.nesterov = from.nesterov ? 1 : 0;
    value.schedule = static_cast<std::int32_t>(from.schedule);
    value.schedule_period = from.schedule_period;
    value.schedule_gamma = from.schedule_gamma;
    value.schedule_min = from.schedule_min;
    value.warmup_steps = from.warmup_steps;
    value.bucket_bytes = from.bucket_bytes;
    value.seed = from.seed;
    for (const ParameterGroup& each : from.groups) groups.push_back(Raw<ParameterGroup>(each).value);
    value.groups = address(groups);
    value.group_count = length(from.groups);
    value.deadline_ms = from.deadline_ms;
    value.collect_trace = from.collect_trace ? 1 : 0;
    value.no_fusion = from.no_fusion ? 1 : 0;
    value.loss_scale = from.loss_scale;
    value.loss_scale_interval = from.loss_scale_interval;
    value.micro_batches = from.micro_batches;
    value.logical_shards = from.logical_shards;
    value.mesh = Raw<Mesh>(from.mesh).value;
    value.layer_schedule = static_cast<std::int32_t>(from.layer_schedule);
    value.layer_chunks = from.layer_chunks;
    value.layer_cuts = c_text(from.layer_cuts, "layer_cuts");
    value.recompute_segments = from.recompute_segments;
    value.sync_batch_norm = from.sync_batch_norm ? 1 : 0;
    value.recompute_layers = c_text(from.recompute_layers, "recompute_layers");
    value.activation_budget_bytes = from.activation_budget_bytes;
    value.max_gradient_norm = from.max_gradient_norm;
    value.shard_optimizer = from.shard_optimizer ? 1 : 0;
    value.gradient_compression = static_cast<std::int32_t>(from.gradient_compression);
    value.samples_on_host = from.samples_on_host ? 1 : 0;
    value.launches_in_turn = from.launches_in_turn ? 1 : 0;
    value.optimizer = static_cast<std::int32_t>(from.optimizer);
    value.skip_decay_one_axis = from.skip_decay_one_axis ? 1 : 0;
    value.beta1 = from.beta1;
    value.beta2 = from.beta2;
    value.eps = from.eps;
    value.alpha = from.alpha;
    value.trust = from.trust;
    value.average_decay = from.average_decay;
    value.evaluate_parameters = from.evaluate_parameters ? 1 : 0;
    value.schedule_maximize = from.schedule_maximize ? 1 : 0;
    value.schedule_power = from.schedule_power;
    value.schedule_rise = from.schedule_rise;
    value.schedule_divisor = from.schedule_divisor;
    value.schedule_final_divisor = from.schedule_final_divisor;
    value.schedule_threshold = from.schedule_threshold;
    value.schedule_patience = from.schedule_patience;
    value.schedule_milestones = address(from.schedule_milestones);
    value.schedule_milestone_count = length(from.schedule_milestones);
    value.schedule_table = address(from.schedule_table);
    value.schedule_table_count = length(from.schedule_table);
    value.label_smoothing = from.label_smoothing;
    value.ignore_index = from.ignore_index;
    value.skip_not_finite = from.skip_not_finite ? 1 : 0;
    value.late_updates = from.late_updates ? 1 : 0;
    value.group = from.group;
    value.huber_delta = from.huber_delta;
    value.class_weights = address(from.class_weights);
    value.class_weight_count = length(from.class_weights);
    value.sample_weights = from.sample_weights ? 1 : 0;
    value.shares = address(from.shares);
    value.share_count = length(from.shares);
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_trainer_options* get() const noexcept { return &value; }

  troika_trainer_options value = defaults<troika_trainer_options>();
  std::vector<troika_parameter_group> groups;
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
