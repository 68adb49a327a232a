// Written by bindings/generate.py from the C headers; do not edit.

use crate::*;
use std::os::raw::c_char;

// Losses.
/// -log softmax(output)\[label\]. Targets are labels: one per sample for outputs \[batch,
/// classes\], one per step for \[batch, steps, classes\], one per pixel for \[batch, classes, h,
/// w\].
pub const TROIKA_LOSS_CROSS_ENTROPY: i32 = 1;
/// Mean over a sample's outputs of (output - value)^2. Targets are values, as those of the losses
/// below.
pub const TROIKA_LOSS_MEAN_SQUARED_ERROR: i32 = 2;
/// Mean over a sample's outputs of |output - value|.
pub const TROIKA_LOSS_MEAN_ABSOLUTE_ERROR: i32 = 3;
/// Mean over a sample's outputs of d^2 / 2 if |d| \<= delta, else delta (|d| - delta / 2), for d =
/// output - value and delta = `huber_delta` (Huber 1964).
pub const TROIKA_LOSS_HUBER: i32 = 4;
/// Mean over a sample's outputs of -value log(p) - (1 - value) log(1 - p), for p = sigmoid(output):
/// several classes may be true at once. Outputs are logits; values are probabilities, such as 0 and
/// 1.
pub const TROIKA_LOSS_BINARY_CROSS_ENTROPY: i32 = 5;

// How the losses of a batch's labels (or samples, if each has one) become one number.
/// The mean over the whole batch, whatever the number of devices. Ignored labels do not count.
pub const TROIKA_REDUCTION_MEAN: i32 = 1;
/// The sum over the whole batch.
pub const TROIKA_REDUCTION_SUM: i32 = 2;

// Optimizers. The formulas are for a parameter w with gradient g, learning rate lr and weight
// decay wd; t counts updates from 1. Norms are 2-norms of whole parameters, also if a parameter's
// channels or its state are on several devices. In LARS and LAMB, parameters with one axis
// (biases, BatchNorm) have ratio 1 and no weight decay.
/// g = g + wd w; m = momentum m + g; w -= lr m, with Nesterov lr (g + momentum m). As
/// torch.optim.SGD without dampening.
pub const TROIKA_OPTIMIZER_SGD: i32 = 1;
/// g = g + wd w; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= lr / (1 - b1^t) m / (sqrt(v)
/// / sqrt(1 - b2^t) + eps). Kingma and Ba 2015; torch.optim.Adam.
pub const TROIKA_OPTIMIZER_ADAM: i32 = 2;
/// w -= lr wd w; then as Adam with wd 0. Loshchilov and Hutter 2019; torch.optim.AdamW.
pub const TROIKA_OPTIMIZER_ADAMW: i32 = 3;
/// g = g + wd w; v = alpha v + (1 - alpha) g^2; m = momentum m + g / (sqrt(v) + eps); w -= lr m. As
/// torch.optim.RMSprop.
pub const TROIKA_OPTIMIZER_RMSPROP: i32 = 4;
/// ratio = trust |w| / (|g| + wd |w| + eps), 1 if |w| or |g| is 0; m = momentum m + lr ratio (g +
/// wd w); w -= m. You, Gitman and Ginsburg 2017.
pub const TROIKA_OPTIMIZER_LARS: i32 = 5;
/// m and v as Adam; r = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w; w -= lr |w| / |r| r,
/// with the ratio |w| / |r| 1 if a norm is 0. You et al. 2020.
pub const TROIKA_OPTIMIZER_LAMB: i32 = 6;
/// g = g + wd w; s = s + g^2; w -= lr g / (sqrt(s) + eps). Duchi, Hazan and Singer 2011;
/// torch.optim.Adagrad with `lr_decay` 0.
pub const TROIKA_OPTIMIZER_ADAGRAD: i32 = 7;

// Settings of a trainer and of its groups that may change during training, by
// troika_trainer_set_option.
/// The base rate, before the schedule; at least 0.
pub const TROIKA_OPTION_LEARNING_RATE: i32 = 1;
/// At least 0.
pub const TROIKA_OPTION_WEIGHT_DECAY: i32 = 2;
/// SGD, RMSprop, LARS: in \[0, 1).
pub const TROIKA_OPTION_MOMENTUM: i32 = 3;
/// SGD: 0 or 1.
pub const TROIKA_OPTION_NESTEROV: i32 = 4;
/// Adam, AdamW, LAMB: in \[0, 1).
pub const TROIKA_OPTION_BETA1: i32 = 5;
/// Adam, AdamW, LAMB: in \[0, 1).
pub const TROIKA_OPTION_BETA2: i32 = 6;
/// All except SGD: above 0.
pub const TROIKA_OPTION_EPS: i32 = 7;
/// RMSprop: in \[0, 1).
pub const TROIKA_OPTION_ALPHA: i32 = 8;
/// LARS: above 0.
pub const TROIKA_OPTION_TRUST: i32 = 9;
/// Groups only: 0 or 1.
pub const TROIKA_OPTION_FROZEN: i32 = 10;

// Learning-rate schedules: the rate of step s, which counts from 0, for the base rate lr. With
// warm-up, a step s < warmup_steps uses (s + 1) / warmup_steps of the scheduled rate.
// TROIKA_SCHEDULE_COSINE, TROIKA_SCHEDULE_POLYNOMIAL and TROIKA_SCHEDULE_EXPONENTIAL begin after
// the warm-up: w is warmup_steps, and before step w their rate is lr. A run that an earlier
// version began goes on as it began, with w = 0.
/// lr
pub const TROIKA_SCHEDULE_CONSTANT: i32 = 1;
/// lr \* gamma ^ floor(s / period)
pub const TROIKA_SCHEDULE_STEP: i32 = 2;
/// `lr_min` + (lr - `lr_min`) (1 + cos(pi (s - w) / (period - w))) / 2; `lr_min` from step period
/// on.
pub const TROIKA_SCHEDULE_COSINE: i32 = 3;
/// lr \* gamma ^ (number of milestones that are at most s)
pub const TROIKA_SCHEDULE_MULTI_STEP: i32 = 4;
/// lr \* gamma ^ ((s - w) / period)
pub const TROIKA_SCHEDULE_EXPONENTIAL: i32 = 5;
/// `lr_min` + (lr - `lr_min`) (1 - (s - w) / (period - w)) ^ power; `lr_min` from step period on.
pub const TROIKA_SCHEDULE_POLYNOMIAL: i32 = 6;
/// Along half a cosine from lr / divisor up to lr at step rise \* period - 1. Then along half a
/// cosine down to lr / divisor / `final_divisor` at step period - 1. After that step the rate
/// stays. As torch.optim.`lr_scheduler`.OneCycleLR without its change of momentum.
pub const TROIKA_SCHEDULE_ONE_CYCLE: i32 = 7;
/// lr \* gamma ^ n, at least `lr_min` (or lr, if that is smaller). The exponent n grows by 1 each
/// time that more than patience metrics in a row were not better than the best metric by threshold
/// (relative). The caller reports metrics with
/// [`troika_trainer_report_metric`](crate::troika_trainer_report_metric). As
/// torch.optim.`lr_scheduler`.ReduceLROnPlateau.
pub const TROIKA_SCHEDULE_PLATEAU: i32 = 8;
/// lr \* table\[s\]; after the table's end the last entry stays.
pub const TROIKA_SCHEDULE_TABLE: i32 = 9;

// Precisions of computation. With any of them, parameters, their gradients, the optimizer's state,
// BatchNorm's statistics and losses are f32, so weights files do not depend on the precision. A
// training state loads only with the precision that it was saved with. With TROIKA_PRECISION_BF16
// and TROIKA_PRECISION_F16, activations and the factors of convolutions and linear layers are 16
// bits wide; sums are computed in f32. On a CPU with AMX, a step in TROIKA_PRECISION_BF16 is up to
// 1.4 times as fast. On other CPUs, TROIKA_PRECISION_BF16 and TROIKA_PRECISION_F16 save no time
// and often take more memory: they only serve to try out what a GPU will do.
/// IEEE single.
pub const TROIKA_PRECISION_F32: i32 = 1;
/// f32, but a GPU that supports TF32 may round the factors of products to 10 bits of fraction.
pub const TROIKA_PRECISION_TF32: i32 = 2;
/// bfloat16.
pub const TROIKA_PRECISION_BF16: i32 = 3;
/// IEEE half, with dynamic loss scaling.
pub const TROIKA_PRECISION_F16: i32 = 4;

// The order in which the micro-batches of a split by layer pass through its stages;
// docs/splitting-by-layer.md draws them.
/// All forwards, then all backwards: the activations of every micro-batch are kept.
pub const TROIKA_LAYER_SCHEDULE_GPIPE: i32 = 1;
/// Alternates one forward and one backward. At most as many micro-batches as stages are in flight,
/// so fewer activations are kept.
pub const TROIKA_LAYER_SCHEDULE_1F1B: i32 = 2;
/// As 1F1B, with several stages per device: less idle time, more messages.
pub const TROIKA_LAYER_SCHEDULE_INTERLEAVED: i32 = 3;

// How gradients travel between replicas.
/// f32.
pub const TROIKA_COMPRESSION_NONE: i32 = 1;
/// Each replica rounds its gradient to bf16. The rounded gradients are added in f32, and the sum is
/// rounded to bf16.
pub const TROIKA_COMPRESSION_BF16: i32 = 2;

/// How devices share the work; there are data \* layer \* channel devices. In the list of devices,
/// those with channels of the same layers are adjacent. After them come those with the next layers,
/// then those with other samples. 0 in layer and channel is 1.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_mesh {
    /// Parts of the batch (data parallelism); 0: as many as there are devices for.
    pub data: i32,
    /// Devices in a row, each with some layers (pipeline parallelism).
    pub layer: i32,
    /// Devices that have some channels of each layer (tensor parallelism).
    pub channel: i32,
    /// 0.
    pub reserved: i32,
}

/// A group of parameters, matched by name, with its own settings. If several groups match a
/// parameter, the first of them counts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_parameter_group {
    /// sizeof([`troika_parameter_group`](crate::troika_parameter_group)); the same in all groups of
    /// an array.
    pub struct_size: u32,
    /// 1: the parameters keep their bits, have no gradient and are not communicated. Default 0.
    pub frozen: i32,
    /// \* any run of characters, ? any one; must be set. Copied.
    pub pattern: *const c_char,
    /// Below 0 (default): the trainer's. Follows the schedule too.
    pub learning_rate: f64,
    /// Below 0 (default): the trainer's.
    pub weight_decay: f64,
    /// SGD, RMSprop and LARS. [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default), here and in all
    /// fields below: the trainer's.
    pub momentum: f64,
    /// Adam, AdamW and LAMB.
    pub beta1: f64,
    /// Adam, AdamW and LAMB.
    pub beta2: f64,
    /// All optimizers except SGD.
    pub eps: f64,
    /// RMSprop.
    pub alpha: f64,
    /// LARS.
    pub trust: f64,
}

/// Options of [`troika_model_attach`](crate::troika_model_attach). Begin with
/// `TROIKA_TRAINER_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct troika_trainer_options {
    /// sizeof([`troika_trainer_options`](crate::troika_trainer_options)).
    pub struct_size: u32,
    /// Default [`TROIKA_LOSS_CROSS_ENTROPY`](crate::TROIKA_LOSS_CROSS_ENTROPY).
    pub loss: i32,
    /// Default [`TROIKA_REDUCTION_MEAN`](crate::TROIKA_REDUCTION_MEAN).
    pub reduction: i32,
    /// Default [`TROIKA_PRECISION_F32`](crate::TROIKA_PRECISION_F32).
    pub precision: i32,
    /// At least 0; default 0.1.
    pub learning_rate: f64,
    /// SGD, RMSprop and LARS: in \[0, 1); default 0.
    pub momentum: f64,
    /// At least 0; default 0.
    pub weight_decay: f64,
    /// 1: Nesterov's momentum: SGD with momentum above 0. Default 0.
    pub nesterov: i32,
    /// Default [`TROIKA_SCHEDULE_CONSTANT`](crate::TROIKA_SCHEDULE_CONSTANT).
    pub schedule: i32,
    /// Steps; default 0. At least 1 for [`TROIKA_SCHEDULE_STEP`](crate::TROIKA_SCHEDULE_STEP),
    /// [`TROIKA_SCHEDULE_COSINE`](crate::TROIKA_SCHEDULE_COSINE),
    /// [`TROIKA_SCHEDULE_EXPONENTIAL`](crate::TROIKA_SCHEDULE_EXPONENTIAL) and
    /// [`TROIKA_SCHEDULE_POLYNOMIAL`](crate::TROIKA_SCHEDULE_POLYNOMIAL), at least 2 for
    /// [`TROIKA_SCHEDULE_ONE_CYCLE`](crate::TROIKA_SCHEDULE_ONE_CYCLE).
    pub schedule_period: i64,
    /// [`TROIKA_SCHEDULE_STEP`](crate::TROIKA_SCHEDULE_STEP),
    /// [`TROIKA_SCHEDULE_MULTI_STEP`](crate::TROIKA_SCHEDULE_MULTI_STEP),
    /// [`TROIKA_SCHEDULE_EXPONENTIAL`](crate::TROIKA_SCHEDULE_EXPONENTIAL),
    /// [`TROIKA_SCHEDULE_PLATEAU`](crate::TROIKA_SCHEDULE_PLATEAU): the factor; default 0.1.
    pub schedule_gamma: f64,
    /// [`TROIKA_SCHEDULE_COSINE`](crate::TROIKA_SCHEDULE_COSINE),
    /// [`TROIKA_SCHEDULE_POLYNOMIAL`](crate::TROIKA_SCHEDULE_POLYNOMIAL),
    /// [`TROIKA_SCHEDULE_PLATEAU`](crate::TROIKA_SCHEDULE_PLATEAU): the least learning rate;
    /// default 0.
    pub schedule_min: f64,
    /// Step s \< `warmup_steps` uses (s + 1) / `warmup_steps` of the scheduled rate; default 0.
    pub warmup_steps: i64,
    /// The approximate size of an all-reduce bucket; default 1 MiB; 0: one gradient per bucket.
    pub bucket_bytes: i64,
    /// The seed of dropout; 0 (default): the context's seed.
    pub seed: u64,
    /// `group_count` groups; copied. NULL with 0.
    pub groups: *const troika_parameter_group,
    /// 0 (default) to 4096.
    pub group_count: i32,
    /// A step that takes longer fails with [`TROIKA_ERROR_COMM`](crate::TROIKA_ERROR_COMM); 1 to
    /// 2^31 - 1 milliseconds, default 600000.
    pub deadline_ms: i32,
    /// 1: records every launch and collective for
    /// [`troika_trainer_trace`](crate::troika_trainer_trace) and
    /// [`troika_trainer_save_trace`](crate::troika_trainer_save_trace). Default 0.
    pub collect_trace: i32,
    /// 1: no fused kernels, for comparison. Default 0.
    pub no_fusion: i32,
    /// The scale that dynamic loss scaling starts with, 1 to 2^24. 0: no loss scaling, also with
    /// [`TROIKA_PRECISION_F16`](crate::TROIKA_PRECISION_F16). [`TROIKA_UNSET`](crate::TROIKA_UNSET)
    /// (default): 65536 with [`TROIKA_PRECISION_F16`](crate::TROIKA_PRECISION_F16), no loss scaling
    /// with other precisions.
    pub loss_scale: f64,
    /// Good steps in a row after which the loss scale doubles; 1 to 2^24, default 2000.
    pub loss_scale_interval: i64,
    /// Cuts each replica's samples into this many parts, which are computed one after another.
    /// Their gradients are added before the all-reduce. Takes less memory. BatchNorm normalises
    /// each part by itself. 0 to 1024; 0 and 1 (default): one part. Parts that get no sample are
    /// left out.
    pub micro_batches: i32,
    /// 0 (default): none. Otherwise cuts each batch into this many shards: a power of 2 up to 1024.
    /// The number of devices may be 1, 2, 4 ... `logical_shards`; parameters get the same bits on
    /// each of these numbers. BatchNorm normalises each shard by itself and tracks the first. A CPU
    /// device computes on one thread. Excludes `micro_batches` above 1.
    pub logical_shards: i32,
    /// Default: all devices share the batch. Splits by layer and by channel exclude
    /// `logical_shards`. [`troika_plan_choose`](crate::troika_plan_choose) finds the fastest mesh
    /// that fits.
    pub mesh: troika_mesh,
    /// With mesh.layer above 1; default
    /// [`TROIKA_LAYER_SCHEDULE_1F1B`](crate::TROIKA_LAYER_SCHEDULE_1F1B).
    pub layer_schedule: i32,
    /// Stages per device, 0 to 1024; default 1; 0 is 1. On a mesh that splits by layer or channel,
    /// a value above 1 needs the interleaved schedule. A split by layer needs at least mesh.layer
    /// \* `layer_chunks` layers.
    pub layer_chunks: i32,
    /// Only with mesh.layer above 1: the layer that begins each stage except the first, separated
    /// by commas. NULL (default): cut so that all stages cost about the same. Copied.
    pub layer_cuts: *const c_char,
    /// Cuts the forward pass into at most this many segments. Activations within a segment, except
    /// the last, are computed again in backward. 0 (default): none.
    pub recompute_segments: i32,
    /// 1: BatchNorm normalises the samples of all replicas together, as one device with the whole
    /// batch would. With micro-batches, it normalises those at the same place on all replicas
    /// together. Excludes `logical_shards`. Default 0: each replica normalises its own samples.
    pub sync_batch_norm: i32,
    /// Layers whose outputs are computed again: names, with \* and ?, separated by commas. NULL
    /// (default): none.
    pub recompute_layers: *const c_char,
    /// Chooses what to compute again so that activations fit into this many bytes on each device.
    /// Excludes `recompute_segments` and `recompute_layers`. 0 (default): no budget.
    pub activation_budget_bytes: i64,
    /// Above 0: clips gradients. After their sum over devices, and without the loss scale, all of
    /// them are multiplied by min(1, `max_gradient_norm` / (norm + 1e-6)). norm is the 2-norm of
    /// all gradients together (PyTorch's clip_grad_norm_). 0 (default): no clipping.
    pub max_gradient_norm: f64,
    /// 1: each parameter's optimizer state is stored on only one of the replicas, which updates the
    /// parameter and sends it to the others (ZeRO level 1). Default 0, which computes the same
    /// bits.
    pub shard_optimizer: i32,
    /// Default [`TROIKA_COMPRESSION_NONE`](crate::TROIKA_COMPRESSION_NONE).
    /// [`TROIKA_COMPRESSION_BF16`](crate::TROIKA_COMPRESSION_BF16) excludes `logical_shards`.
    pub gradient_compression: i32,
    /// 0 (default): GPUs keep a dataset that takes at most half of their free memory, from the
    /// first epoch over it on, and gather batches there. If a plan of this trainer needs that
    /// memory, the dataset is evicted. 1: batches are copied from the host. The bits are the same.
    /// CPU devices keep no datasets. Datasets of callbacks, and batches that are drawn by weights,
    /// are always copied from the host.
    pub samples_on_host: i32,
    /// 0 (default): on GPUs, long weight gradients are computed concurrently with the rest of the
    /// backward pass. 1: every launch waits for the one before it, which takes a little less
    /// memory. The bits are the same.
    pub launches_in_turn: i32,
    /// Default [`TROIKA_OPTIMIZER_SGD`](crate::TROIKA_OPTIMIZER_SGD).
    pub optimizer: i32,
    /// 1: weight decay skips parameters with one axis: biases, and norms over one axis. Default 0.
    pub skip_decay_one_axis: i32,
    /// Adam, AdamW, LAMB: in \[0, 1); [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default): 0.9.
    pub beta1: f64,
    /// Adam, AdamW, LAMB: in \[0, 1); [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default): 0.999.
    pub beta2: f64,
    /// Above 0; [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default): 1e-8, LAMB 1e-6, LARS 1e-9,
    /// Adagrad 1e-10.
    pub eps: f64,
    /// RMSprop: in \[0, 1); [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default): 0.99.
    pub alpha: f64,
    /// LARS: above 0; [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default): 0.001.
    pub trust: f64,
    /// Above 0 and below 1: keeps a moving average of each parameter that is trained. The average
    /// starts as the parameter when the trainer first computes. After each update, average =
    /// `average_decay` \* average + (1 - `average_decay`) \* parameter. 0 (default): no averages.
    pub average_decay: f64,
    /// 0 (default): evaluation and prediction use the averages, if there are any. 1: the
    /// parameters.
    pub evaluate_parameters: i32,
    /// [`TROIKA_SCHEDULE_PLATEAU`](crate::TROIKA_SCHEDULE_PLATEAU): 1: larger metrics are better.
    /// Default 0.
    pub schedule_maximize: i32,
    /// [`TROIKA_SCHEDULE_POLYNOMIAL`](crate::TROIKA_SCHEDULE_POLYNOMIAL): above 0; default 1.
    pub schedule_power: f64,
    /// [`TROIKA_SCHEDULE_ONE_CYCLE`](crate::TROIKA_SCHEDULE_ONE_CYCLE): in (0, 1); default 0.3.
    pub schedule_rise: f64,
    /// [`TROIKA_SCHEDULE_ONE_CYCLE`](crate::TROIKA_SCHEDULE_ONE_CYCLE): at least 1; default 25.
    pub schedule_divisor: f64,
    /// [`TROIKA_SCHEDULE_ONE_CYCLE`](crate::TROIKA_SCHEDULE_ONE_CYCLE): at least 1; default 1e4.
    pub schedule_final_divisor: f64,
    /// [`TROIKA_SCHEDULE_PLATEAU`](crate::TROIKA_SCHEDULE_PLATEAU): in \[0, 1); default 1e-4.
    pub schedule_threshold: f64,
    /// [`TROIKA_SCHEDULE_PLATEAU`](crate::TROIKA_SCHEDULE_PLATEAU): at least 0; default 10.
    pub schedule_patience: i64,
    /// [`TROIKA_SCHEDULE_MULTI_STEP`](crate::TROIKA_SCHEDULE_MULTI_STEP):
    /// `schedule_milestone_count` steps of at least 0, in ascending order. Copied.
    pub schedule_milestones: *const i64,
    /// [`TROIKA_SCHEDULE_TABLE`](crate::TROIKA_SCHEDULE_TABLE): `schedule_table_count` factors of
    /// at least 0. Copied.
    pub schedule_table: *const f64,
    /// 0 (default) to 65536; [`TROIKA_SCHEDULE_MULTI_STEP`](crate::TROIKA_SCHEDULE_MULTI_STEP): at
    /// least 1.
    pub schedule_milestone_count: i32,
    /// 0 (default) to 2^24; [`TROIKA_SCHEDULE_TABLE`](crate::TROIKA_SCHEDULE_TABLE): at least 1.
    pub schedule_table_count: i32,
    /// Cross-entropy: s in \[0, 1). The loss of a label is 1 - s times its own loss plus s times
    /// the mean of the losses of all classes (PyTorch's `label_smoothing`). Default 0.
    pub label_smoothing: f64,
    /// Cross-entropy: a label that weighs nothing. It has no loss and no gradient, and is not
    /// counted, also not in the mean (PyTorch's `ignore_index`). If a batch has no other label, its
    /// loss is 0 and its gradient is 0. [`TROIKA_UNSET`](crate::TROIKA_UNSET) (default): none.
    pub ignore_index: i64,
    /// 1: a step with a gradient that is not finite changes no parameter and returns
    /// [`TROIKA_STEP_SKIPPED`](crate::TROIKA_STEP_SKIPPED), in any precision and without loss
    /// scaling too. 0 (default): only loss scaling skips steps.
    pub skip_not_finite: i32,
    /// 1: between processes, an update may wait until the next step is about to read its
    /// parameters. So sums of gradients also travel during the next forward pass, which hides a
    /// network that is as slow as the devices. The bits are the same. Calls that read parameters,
    /// or that evaluate, run the last update first. If a process is lost meanwhile, parameters may
    /// lack that update. Updates of the first three steps with a size of batch are not late; the
    /// third is measured. Needs a mesh that splits by data alone. Excludes `max_gradient_norm`,
    /// loss scaling, `skip_not_finite`, `shard_optimizer`, and CPUs next to GPUs. No effect on GPUs
    /// alone, and between processes that share memory. Default 0: a step ends with its update.
    pub late_updates: i32,
    /// Attaches the devices of all processes of the group as one list: devices are those of this
    /// process, and mesh is over all. The processes of a machine are neighbours in the list.
    /// Collective, as all calls of the trainer that compute, read or write state: each process
    /// passes its own samples. Before each batch the processes compare their steps done, settings
    /// and positions in the data; [`TROIKA_ERROR_MISMATCH`](crate::TROIKA_ERROR_MISMATCH) names
    /// what differs, and nothing is done. Values that the hosts have written into their models
    /// since the last batch are replaced by those of rank 0. If a stop is requested in one process,
    /// the call returns [`TROIKA_STOPPED`](crate::TROIKA_STOPPED) in all. NULL (default): this
    /// process alone.
    pub group: troika_group,
    /// [`TROIKA_LOSS_HUBER`](crate::TROIKA_LOSS_HUBER): above 0; default 1.
    pub huber_delta: f64,
    /// Cross-entropy: `class_weight_count` weights, one for each class of the model. A label's loss
    /// is multiplied by the weight of its class. With
    /// [`TROIKA_REDUCTION_MEAN`](crate::TROIKA_REDUCTION_MEAN), the sum of a batch's losses is
    /// divided by the sum of the weights of its labels (PyTorch's weight, without label smoothing).
    /// If all weigh 0, loss and gradient are 0. Each is 0, or from 1e-15 to 1e15, and rounded to
    /// f32. correct and labels of results count labels, whatever they weigh. NULL (default): 1
    /// each. Copied.
    pub class_weights: *const f64,
    /// 0 (default) to 2^24.
    pub class_weight_count: i32,
    /// 1: samples may have weights ([`troika_dataset_weigh`](crate::troika_dataset_weigh),
    /// [`troika_batch_create_weighted`](crate::troika_batch_create_weighted)), which multiply their
    /// losses as weights of classes do. Samples without a weight have 1. Batches are copied from
    /// the host. 0 (default): a batch with weights is refused.
    pub sample_weights: i32,
    /// Sizes of the parts of each batch, for devices of different speed: `share_count` numbers
    /// above 0, one for each of the mesh's data parts. Numbers 3 and 1 divide a batch of 10 into 8
    /// and 2 samples. A part may get no sample of a small batch. None is above 1e6 times another.
    /// The result is that of equal parts, up to rounding, without BatchNorm or with
    /// `sync_batch_norm`. Otherwise BatchNorm's running statistics are those of the largest part.
    /// Excludes `logical_shards`. NULL (default): equal parts. Copied.
    pub shares: *const f64,
    /// 0 (default) to 65536.
    pub share_count: i32,
    /// 0.
    pub reserved2: i32,
}

extern "C" {
    /// Fills group as `TROIKA_PARAMETER_GROUP_INIT` does. Any thread.
    pub fn troika_parameter_group_init(group: *mut troika_parameter_group, struct_size: u32);

    /// Fills options as `TROIKA_TRAINER_OPTIONS_INIT` does. Any thread.
    pub fn troika_trainer_options_init(options: *mut troika_trainer_options, struct_size: u32);
}
