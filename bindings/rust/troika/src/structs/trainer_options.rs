// Written by bindings/generate.py from the C headers; do not edit.

use crate::convert::*;
use crate::*;
use troika_sys as sys;

enumeration! {
    /// Losses.
    Loss {
        /// -log softmax(output)\[label\]. Targets are labels: one per sample for outputs \[batch,
        /// classes\], one per step for \[batch, steps, classes\], one per pixel for \[batch,
        /// classes, h, w\].
        CrossEntropy = TROIKA_LOSS_CROSS_ENTROPY,
        /// Mean over a sample's outputs of (output - value)^2. Targets are values, as those of the
        /// losses below.
        MeanSquaredError = TROIKA_LOSS_MEAN_SQUARED_ERROR,
        /// Mean over a sample's outputs of |output - value|.
        MeanAbsoluteError = TROIKA_LOSS_MEAN_ABSOLUTE_ERROR,
        /// Mean over a sample's outputs of d^2 / 2 if |d| \<= delta, else delta (|d| - delta / 2),
        /// for d = output - value and delta = `huber_delta` (Huber 1964).
        Huber = TROIKA_LOSS_HUBER,
        /// Mean over a sample's outputs of -value log(p) - (1 - value) log(1 - p), for p =
        /// sigmoid(output): several classes may be true at once. Outputs are logits; values are
        /// probabilities, such as 0 and 1.
        BinaryCrossEntropy = TROIKA_LOSS_BINARY_CROSS_ENTROPY,
    }
}

enumeration! {
    /// How the losses of a batch's labels (or samples, if each has one) become one number.
    Reduction {
        /// The mean over the whole batch, whatever the number of devices. Ignored labels do not
        /// count.
        Mean = TROIKA_REDUCTION_MEAN,
        /// The sum over the whole batch.
        Sum = TROIKA_REDUCTION_SUM,
    }
}

enumeration! {
    /// Optimizers. The formulas are for a parameter w with gradient g, learning rate lr and weight
    /// decay wd; t counts updates from 1. Norms are 2-norms of whole parameters, also if a
    /// parameter's channels or its state are on several devices. In LARS and LAMB, parameters with
    /// one axis (biases, BatchNorm) have ratio 1 and no weight decay.
    Optimizer {
        /// g = g + wd w; m = momentum m + g; w -= lr m, with Nesterov lr (g + momentum m). As
        /// torch.optim.SGD without dampening.
        Sgd = TROIKA_OPTIMIZER_SGD,
        /// g = g + wd w; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= lr / (1 - b1^t) m /
        /// (sqrt(v) / sqrt(1 - b2^t) + eps). Kingma and Ba 2015; torch.optim.Adam.
        Adam = TROIKA_OPTIMIZER_ADAM,
        /// w -= lr wd w; then as Adam with wd 0. Loshchilov and Hutter 2019; torch.optim.AdamW.
        AdamW = TROIKA_OPTIMIZER_ADAMW,
        /// g = g + wd w; v = alpha v + (1 - alpha) g^2; m = momentum m + g / (sqrt(v) + eps); w -=
        /// lr m. As torch.optim.RMSprop.
        RmsProp = TROIKA_OPTIMIZER_RMSPROP,
        /// ratio = trust |w| / (|g| + wd |w| + eps), 1 if |w| or |g| is 0; m = momentum m + lr
        /// ratio (g + wd w); w -= m. You, Gitman and Ginsburg 2017.
        Lars = TROIKA_OPTIMIZER_LARS,
        /// m and v as Adam; r = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w; w -= lr |w| /
        /// |r| r, with the ratio |w| / |r| 1 if a norm is 0. You et al. 2020.
        Lamb = TROIKA_OPTIMIZER_LAMB,
        /// g = g + wd w; s = s + g^2; w -= lr g / (sqrt(s) + eps). Duchi, Hazan and Singer 2011;
        /// torch.optim.Adagrad with `lr_decay` 0.
        Adagrad = TROIKA_OPTIMIZER_ADAGRAD,
    }
}

enumeration! {
    /// Settings of a trainer and of its groups that may change during training, by
    /// [`Trainer::set_option`](crate::Trainer::set_option).
    Setting {
        /// The base rate, before the schedule; at least 0.
        LearningRate = TROIKA_OPTION_LEARNING_RATE,
        /// At least 0.
        WeightDecay = TROIKA_OPTION_WEIGHT_DECAY,
        /// SGD, RMSprop, LARS: in \[0, 1).
        Momentum = TROIKA_OPTION_MOMENTUM,
        /// SGD: 0 or 1.
        Nesterov = TROIKA_OPTION_NESTEROV,
        /// Adam, AdamW, LAMB: in \[0, 1).
        Beta1 = TROIKA_OPTION_BETA1,
        /// Adam, AdamW, LAMB: in \[0, 1).
        Beta2 = TROIKA_OPTION_BETA2,
        /// All except SGD: above 0.
        Eps = TROIKA_OPTION_EPS,
        /// RMSprop: in \[0, 1).
        Alpha = TROIKA_OPTION_ALPHA,
        /// LARS: above 0.
        Trust = TROIKA_OPTION_TRUST,
        /// Groups only: 0 or 1.
        Frozen = TROIKA_OPTION_FROZEN,
    }
}

enumeration! {
    /// Learning-rate schedules: the rate of step s, which counts from 0, for the base rate lr. With
    /// warm-up, a step s \< `warmup_steps` uses (s + 1) / `warmup_steps` of the scheduled rate.
    /// [`Schedule::Cosine`](crate::Schedule::Cosine),
    /// [`Schedule::Polynomial`](crate::Schedule::Polynomial) and
    /// [`Schedule::Exponential`](crate::Schedule::Exponential) begin after the warm-up: w is
    /// `warmup_steps`, and before step w their rate is lr. A run that an earlier version began goes
    /// on as it began, with w = 0.
    Schedule {
        /// lr
        Constant = TROIKA_SCHEDULE_CONSTANT,
        /// lr \* gamma ^ floor(s / period)
        Step = TROIKA_SCHEDULE_STEP,
        /// `lr_min` + (lr - `lr_min`) (1 + cos(pi (s - w) / (period - w))) / 2; `lr_min` from step
        /// period on.
        Cosine = TROIKA_SCHEDULE_COSINE,
        /// lr \* gamma ^ (number of milestones that are at most s)
        MultiStep = TROIKA_SCHEDULE_MULTI_STEP,
        /// lr \* gamma ^ ((s - w) / period)
        Exponential = TROIKA_SCHEDULE_EXPONENTIAL,
        /// `lr_min` + (lr - `lr_min`) (1 - (s - w) / (period - w)) ^ power; `lr_min` from step
        /// period on.
        Polynomial = TROIKA_SCHEDULE_POLYNOMIAL,
        /// Along half a cosine from lr / divisor up to lr at step rise \* period - 1. Then along
        /// half a cosine down to lr / divisor / `final_divisor` at step period - 1. After that step
        /// the rate stays. As torch.optim.`lr_scheduler`.OneCycleLR without its change of momentum.
        OneCycle = TROIKA_SCHEDULE_ONE_CYCLE,
        /// lr \* gamma ^ n, at least `lr_min` (or lr, if that is smaller). The exponent n grows by
        /// 1 each time that more than patience metrics in a row were not better than the best
        /// metric by threshold (relative). The caller reports metrics with
        /// [`Trainer::report_metric`](crate::Trainer::report_metric). As
        /// torch.optim.`lr_scheduler`.ReduceLROnPlateau.
        Plateau = TROIKA_SCHEDULE_PLATEAU,
        /// lr \* table\[s\]; after the table's end the last entry stays.
        Table = TROIKA_SCHEDULE_TABLE,
    }
}

enumeration! {
    /// Precisions of computation. With any of them, parameters, their gradients, the optimizer's
    /// state, BatchNorm's statistics and losses are f32, so weights files do not depend on the
    /// precision. A training state loads only with the precision that it was saved with. With
    /// [`Precision::Bf16`](crate::Precision::Bf16) and [`Precision::F16`](crate::Precision::F16),
    /// activations and the factors of convolutions and linear layers are 16 bits wide; sums are
    /// computed in f32. On a CPU with AMX, a step in [`Precision::Bf16`](crate::Precision::Bf16) is
    /// up to 1.4 times as fast. On other CPUs, [`Precision::Bf16`](crate::Precision::Bf16) and
    /// [`Precision::F16`](crate::Precision::F16) save no time and often take more memory: they only
    /// serve to try out what a GPU will do.
    Precision {
        /// IEEE single.
        F32 = TROIKA_PRECISION_F32,
        /// f32, but a GPU that supports TF32 may round the factors of products to 10 bits of
        /// fraction.
        Tf32 = TROIKA_PRECISION_TF32,
        /// bfloat16.
        Bf16 = TROIKA_PRECISION_BF16,
        /// IEEE half, with dynamic loss scaling.
        F16 = TROIKA_PRECISION_F16,
    }
}

enumeration! {
    /// The order in which the micro-batches of a split by layer pass through its stages;
    /// docs/splitting-by-layer.md draws them.
    LayerSchedule {
        /// All forwards, then all backwards: the activations of every micro-batch are kept.
        GPipe = TROIKA_LAYER_SCHEDULE_GPIPE,
        /// Alternates one forward and one backward. At most as many micro-batches as stages are in
        /// flight, so fewer activations are kept.
        OneFOneB = TROIKA_LAYER_SCHEDULE_1F1B,
        /// As 1F1B, with several stages per device: less idle time, more messages.
        Interleaved = TROIKA_LAYER_SCHEDULE_INTERLEAVED,
    }
}

enumeration! {
    /// How gradients travel between replicas.
    Compression {
        /// f32.
        None = TROIKA_COMPRESSION_NONE,
        /// Each replica rounds its gradient to bf16. The rounded gradients are added in f32, and
        /// the sum is rounded to bf16.
        Bf16 = TROIKA_COMPRESSION_BF16,
    }
}

/// How devices share the work; there are data \* layer \* channel devices. In the list of devices,
/// those with channels of the same layers are adjacent. After them come those with the next layers,
/// then those with other samples. 0 in layer and channel is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Parts of the batch (data parallelism); 0: as many as there are devices for.
    pub data: i32,
    /// Devices in a row, each with some layers (pipeline parallelism).
    pub layer: i32,
    /// Devices that have some channels of each layer (tensor parallelism).
    pub channel: i32,
}

impl Struct for Mesh {
    type Raw = sys::troika_mesh;

    fn init() -> Self::Raw {
        zeroed()
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self { data: raw.data, layer: raw.layer, channel: raw.channel })
    }
}

impl Input for Mesh {
    fn to_raw(&self, _held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.data = self.data;
        raw.layer = self.layer;
        raw.channel = self.channel;
        Ok(raw)
    }
}

/// A group of parameters, matched by name, with its own settings. If several groups match a
/// parameter, the first of them counts.
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterGroup {
    /// `true`: the parameters keep their bits, have no gradient and are not communicated. Default
    /// `false`.
    pub frozen: bool,
    /// \* any run of characters, ? any one; must be set.
    pub pattern: String,
    /// Below 0 (default): the trainer's. Follows the schedule too.
    pub learning_rate: f64,
    /// Below 0 (default): the trainer's.
    pub weight_decay: f64,
    /// SGD, RMSprop and LARS. `None` (default), here and in all fields below: the trainer's.
    pub momentum: Option<f64>,
    /// Adam, AdamW and LAMB.
    pub beta1: Option<f64>,
    /// Adam, AdamW and LAMB.
    pub beta2: Option<f64>,
    /// All optimizers except SGD.
    pub eps: Option<f64>,
    /// RMSprop.
    pub alpha: Option<f64>,
    /// LARS.
    pub trust: Option<f64>,
}

impl Struct for ParameterGroup {
    type Raw = sys::troika_parameter_group;

    fn init() -> Self::Raw {
        initialized(sys::troika_parameter_group_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            frozen: raw.frozen != 0,
            pattern: unsafe { required_text(raw.pattern) },
            learning_rate: raw.learning_rate,
            weight_decay: raw.weight_decay,
            momentum: optional_number(raw.momentum),
            beta1: optional_number(raw.beta1),
            beta2: optional_number(raw.beta2),
            eps: optional_number(raw.eps),
            alpha: optional_number(raw.alpha),
            trust: optional_number(raw.trust),
        })
    }
}

impl Input for ParameterGroup {
    fn to_raw(&self, held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.frozen = i32::from(self.frozen);
        raw.pattern = held.text(Some(self.pattern.as_str()), "pattern")?;
        raw.learning_rate = self.learning_rate;
        raw.weight_decay = self.weight_decay;
        raw.momentum = self.momentum.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.beta1 = self.beta1.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.beta2 = self.beta2.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.eps = self.eps.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.alpha = self.alpha.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.trust = self.trust.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        Ok(raw)
    }
}

impl Default for ParameterGroup {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}

/// Options of [`Model::attach`](crate::Model::attach). End a literal with `..Default::default()`.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainerOptions {
    /// Default [`Loss::CrossEntropy`](crate::Loss::CrossEntropy).
    pub loss: Loss,
    /// Default [`Reduction::Mean`](crate::Reduction::Mean).
    pub reduction: Reduction,
    /// Default [`Precision::F32`](crate::Precision::F32).
    pub precision: Precision,
    /// At least 0; default 0.1.
    pub learning_rate: f64,
    /// SGD, RMSprop and LARS: in \[0, 1); default 0.
    pub momentum: f64,
    /// At least 0; default 0.
    pub weight_decay: f64,
    /// `true`: Nesterov's momentum: SGD with momentum above 0. Default `false`.
    pub nesterov: bool,
    /// Default [`Schedule::Constant`](crate::Schedule::Constant).
    pub schedule: Schedule,
    /// Steps; default 0. At least 1 for [`Schedule::Step`](crate::Schedule::Step),
    /// [`Schedule::Cosine`](crate::Schedule::Cosine),
    /// [`Schedule::Exponential`](crate::Schedule::Exponential) and
    /// [`Schedule::Polynomial`](crate::Schedule::Polynomial), at least 2 for
    /// [`Schedule::OneCycle`](crate::Schedule::OneCycle).
    pub schedule_period: i64,
    /// [`Schedule::Step`](crate::Schedule::Step),
    /// [`Schedule::MultiStep`](crate::Schedule::MultiStep),
    /// [`Schedule::Exponential`](crate::Schedule::Exponential),
    /// [`Schedule::Plateau`](crate::Schedule::Plateau): the factor; default 0.1.
    pub schedule_gamma: f64,
    /// [`Schedule::Cosine`](crate::Schedule::Cosine),
    /// [`Schedule::Polynomial`](crate::Schedule::Polynomial),
    /// [`Schedule::Plateau`](crate::Schedule::Plateau): the least learning rate; default 0.
    pub schedule_min: f64,
    /// Step s \< `warmup_steps` uses (s + 1) / `warmup_steps` of the scheduled rate; default 0.
    pub warmup_steps: i64,
    /// The approximate size of an all-reduce bucket; default 1 MiB; 0: one gradient per bucket.
    pub bucket_bytes: i64,
    /// The seed of dropout; 0 (default): the context's seed.
    pub seed: u64,
    /// Parameters with settings of their own: 0 to 4096 groups.
    pub groups: Vec<ParameterGroup>,
    /// A step that takes longer fails with [`Status::Comm`](crate::Status::Comm); 1 to 2^31 - 1
    /// milliseconds, default 600000.
    pub deadline_ms: i32,
    /// `true`: records every launch and collective for [`Trainer::trace`](crate::Trainer::trace)
    /// and [`Trainer::save_trace`](crate::Trainer::save_trace). Default `false`.
    pub collect_trace: bool,
    /// `true`: no fused kernels, for comparison. Default `false`.
    pub no_fusion: bool,
    /// The scale that dynamic loss scaling starts with, 1 to 2^24. 0: no loss scaling, also with
    /// [`Precision::F16`](crate::Precision::F16). `None` (default): 65536 with
    /// [`Precision::F16`](crate::Precision::F16), no loss scaling with other precisions.
    pub loss_scale: Option<f64>,
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
    /// `logical_shards`. [`Model::plan_choose`](crate::Model::plan_choose) finds the fastest mesh
    /// that fits.
    pub mesh: Mesh,
    /// With mesh.layer above 1; default
    /// [`LayerSchedule::OneFOneB`](crate::LayerSchedule::OneFOneB).
    pub layer_schedule: LayerSchedule,
    /// Stages per device, 0 to 1024; default 1; 0 is 1. On a mesh that splits by layer or channel,
    /// a value above 1 needs the interleaved schedule. A split by layer needs at least mesh.layer
    /// \* `layer_chunks` layers.
    pub layer_chunks: i32,
    /// Only with mesh.layer above 1: the layer that begins each stage except the first, separated
    /// by commas. `None` (default): cut so that all stages cost about the same.
    pub layer_cuts: Option<String>,
    /// Cuts the forward pass into at most this many segments. Activations within a segment, except
    /// the last, are computed again in backward. 0 (default): none.
    pub recompute_segments: i32,
    /// `true`: BatchNorm normalises the samples of all replicas together, as one device with the
    /// whole batch would. With micro-batches, it normalises those at the same place on all replicas
    /// together. Excludes `logical_shards`. Default `false`: each replica normalises its own
    /// samples.
    pub sync_batch_norm: bool,
    /// Layers whose outputs are computed again: names, with \* and ?, separated by commas. `None`
    /// (default): none.
    pub recompute_layers: Option<String>,
    /// Chooses what to compute again so that activations fit into this many bytes on each device.
    /// Excludes `recompute_segments` and `recompute_layers`. 0 (default): no budget.
    pub activation_budget_bytes: i64,
    /// Above 0: clips gradients. After their sum over devices, and without the loss scale, all of
    /// them are multiplied by min(1, `max_gradient_norm` / (norm + 1e-6)). norm is the 2-norm of
    /// all gradients together (PyTorch's clip_grad_norm_). 0 (default): no clipping.
    pub max_gradient_norm: f64,
    /// `true`: each parameter's optimizer state is stored on only one of the replicas, which
    /// updates the parameter and sends it to the others (ZeRO level 1). Default `false`, which
    /// computes the same bits.
    pub shard_optimizer: bool,
    /// Default [`Compression::None`](crate::Compression::None).
    /// [`Compression::Bf16`](crate::Compression::Bf16) excludes `logical_shards`.
    pub gradient_compression: Compression,
    /// `false` (default): GPUs keep a dataset that takes at most half of their free memory, from
    /// the first epoch over it on, and gather batches there. If a plan of this trainer needs that
    /// memory, the dataset is evicted. `true`: batches are copied from the host. The bits are the
    /// same. CPU devices keep no datasets. Datasets of callbacks, and batches that are drawn by
    /// weights, are always copied from the host.
    pub samples_on_host: bool,
    /// `false` (default): on GPUs, long weight gradients are computed concurrently with the rest of
    /// the backward pass. `true`: every launch waits for the one before it, which takes a little
    /// less memory. The bits are the same.
    pub launches_in_turn: bool,
    /// Default [`Optimizer::Sgd`](crate::Optimizer::Sgd).
    pub optimizer: Optimizer,
    /// `true`: weight decay skips parameters with one axis: biases, and norms over one axis.
    /// Default `false`.
    pub skip_decay_one_axis: bool,
    /// Adam, AdamW, LAMB: in \[0, 1); `None` (default): 0.9.
    pub beta1: Option<f64>,
    /// Adam, AdamW, LAMB: in \[0, 1); `None` (default): 0.999.
    pub beta2: Option<f64>,
    /// Above 0; `None` (default): 1e-8, LAMB 1e-6, LARS 1e-9, Adagrad 1e-10.
    pub eps: Option<f64>,
    /// RMSprop: in \[0, 1); `None` (default): 0.99.
    pub alpha: Option<f64>,
    /// LARS: above 0; `None` (default): 0.001.
    pub trust: Option<f64>,
    /// Above 0 and below 1: keeps a moving average of each parameter that is trained. The average
    /// starts as the parameter when the trainer first computes. After each update, average =
    /// `average_decay` \* average + (1 - `average_decay`) \* parameter. 0 (default): no averages.
    pub average_decay: f64,
    /// `false` (default): evaluation and prediction use the averages, if there are any. `true`: the
    /// parameters.
    pub evaluate_parameters: bool,
    /// [`Schedule::Plateau`](crate::Schedule::Plateau): `true`: larger metrics are better. Default
    /// `false`.
    pub schedule_maximize: bool,
    /// [`Schedule::Polynomial`](crate::Schedule::Polynomial): above 0; default 1.
    pub schedule_power: f64,
    /// [`Schedule::OneCycle`](crate::Schedule::OneCycle): in (0, 1); default 0.3.
    pub schedule_rise: f64,
    /// [`Schedule::OneCycle`](crate::Schedule::OneCycle): at least 1; default 25.
    pub schedule_divisor: f64,
    /// [`Schedule::OneCycle`](crate::Schedule::OneCycle): at least 1; default 1e4.
    pub schedule_final_divisor: f64,
    /// [`Schedule::Plateau`](crate::Schedule::Plateau): in \[0, 1); default 1e-4.
    pub schedule_threshold: f64,
    /// [`Schedule::Plateau`](crate::Schedule::Plateau): at least 0; default 10.
    pub schedule_patience: i64,
    /// [`Schedule::MultiStep`](crate::Schedule::MultiStep): steps of at least 0, in ascending
    /// order.
    pub schedule_milestones: Vec<i64>,
    /// [`Schedule::Table`](crate::Schedule::Table): factors of at least 0.
    pub schedule_table: Vec<f64>,
    /// Cross-entropy: s in \[0, 1). The loss of a label is 1 - s times its own loss plus s times
    /// the mean of the losses of all classes (PyTorch's `label_smoothing`). Default 0.
    pub label_smoothing: f64,
    /// Cross-entropy: a label that weighs nothing. It has no loss and no gradient, and is not
    /// counted, also not in the mean (PyTorch's `ignore_index`). If a batch has no other label, its
    /// loss is 0 and its gradient is 0. `None` (default): none.
    pub ignore_index: Option<i64>,
    /// `true`: a step with a gradient that is not finite changes no parameter and returns
    /// [`Status::StepSkipped`](crate::Status::StepSkipped), in any precision and without loss
    /// scaling too. `false` (default): only loss scaling skips steps.
    pub skip_not_finite: bool,
    /// `true`: between processes, an update may wait until the next step is about to read its
    /// parameters. So sums of gradients also travel during the next forward pass, which hides a
    /// network that is as slow as the devices. The bits are the same. Calls that read parameters,
    /// or that evaluate, run the last update first. If a process is lost meanwhile, parameters may
    /// lack that update. Updates of the first three steps with a size of batch are not late; the
    /// third is measured. Needs a mesh that splits by data alone. Excludes `max_gradient_norm`,
    /// loss scaling, `skip_not_finite`, `shard_optimizer`, and CPUs next to GPUs. No effect on GPUs
    /// alone, and between processes that share memory. Default `false`: a step ends with its
    /// update.
    pub late_updates: bool,
    /// Attaches the devices of all processes of the group as one list: devices are those of this
    /// process, and mesh is over all. The processes of a machine are neighbours in the list.
    /// Collective, as all calls of the trainer that compute, read or write state: each process
    /// passes its own samples. Before each batch the processes compare their steps done, settings
    /// and positions in the data; [`Status::Mismatch`](crate::Status::Mismatch) names what differs,
    /// and nothing is done. Values that the hosts have written into their models since the last
    /// batch are replaced by those of rank 0. If a stop is requested in one process, the call
    /// returns [`Status::Stopped`](crate::Status::Stopped) in all. `None` (default): this process
    /// alone.
    pub group: Option<Group>,
    /// [`Loss::Huber`](crate::Loss::Huber): above 0; default 1.
    pub huber_delta: f64,
    /// Cross-entropy: `class_weight_count` weights, one for each class of the model. A label's loss
    /// is multiplied by the weight of its class. With [`Reduction::Mean`](crate::Reduction::Mean),
    /// the sum of a batch's losses is divided by the sum of the weights of its labels (PyTorch's
    /// weight, without label smoothing). If all weigh 0, loss and gradient are 0. Each is 0, or
    /// from 1e-15 to 1e15, and rounded to f32. correct and labels of results count labels, whatever
    /// they weigh. `None` (default): 1 each.
    pub class_weights: Vec<f64>,
    /// `true`: samples may have weights ([`Dataset::weigh`](crate::Dataset::weigh),
    /// [`Batch::create_weighted`](crate::Batch::create_weighted)), which multiply their losses as
    /// weights of classes do. Samples without a weight have 1. Batches are copied from the host.
    /// `false` (default): a batch with weights is refused.
    pub sample_weights: bool,
    /// Sizes of the parts of each batch, for devices of different speed: `share_count` numbers
    /// above 0, one for each of the mesh's data parts. Numbers 3 and 1 divide a batch of 10 into 8
    /// and 2 samples. A part may get no sample of a small batch. None is above 1e6 times another.
    /// The result is that of equal parts, up to rounding, without BatchNorm or with
    /// `sync_batch_norm`. Otherwise BatchNorm's running statistics are those of the largest part.
    /// Excludes `logical_shards`. `None` (default): equal parts.
    pub shares: Vec<f64>,
}

impl Struct for TrainerOptions {
    type Raw = sys::troika_trainer_options;

    fn init() -> Self::Raw {
        initialized(sys::troika_trainer_options_init)
    }

    unsafe fn from_raw(raw: &Self::Raw) -> Result<Self> {
        Ok(Self {
            loss: Loss::from_raw(raw.loss)?,
            reduction: Reduction::from_raw(raw.reduction)?,
            precision: Precision::from_raw(raw.precision)?,
            learning_rate: raw.learning_rate,
            momentum: raw.momentum,
            weight_decay: raw.weight_decay,
            nesterov: raw.nesterov != 0,
            schedule: Schedule::from_raw(raw.schedule)?,
            schedule_period: raw.schedule_period,
            schedule_gamma: raw.schedule_gamma,
            schedule_min: raw.schedule_min,
            warmup_steps: raw.warmup_steps,
            bucket_bytes: raw.bucket_bytes,
            seed: raw.seed,
            groups: unsafe { read_structs(raw.groups, raw.group_count) }?,
            deadline_ms: raw.deadline_ms,
            collect_trace: raw.collect_trace != 0,
            no_fusion: raw.no_fusion != 0,
            loss_scale: optional_number(raw.loss_scale),
            loss_scale_interval: raw.loss_scale_interval,
            micro_batches: raw.micro_batches,
            logical_shards: raw.logical_shards,
            mesh: unsafe { Mesh::from_raw(&raw.mesh) }?,
            layer_schedule: LayerSchedule::from_raw(raw.layer_schedule)?,
            layer_chunks: raw.layer_chunks,
            layer_cuts: unsafe { optional_text(raw.layer_cuts) },
            recompute_segments: raw.recompute_segments,
            sync_batch_norm: raw.sync_batch_norm != 0,
            recompute_layers: unsafe { optional_text(raw.recompute_layers) },
            activation_budget_bytes: raw.activation_budget_bytes,
            max_gradient_norm: raw.max_gradient_norm,
            shard_optimizer: raw.shard_optimizer != 0,
            gradient_compression: Compression::from_raw(raw.gradient_compression)?,
            samples_on_host: raw.samples_on_host != 0,
            launches_in_turn: raw.launches_in_turn != 0,
            optimizer: Optimizer::from_raw(raw.optimizer)?,
            skip_decay_one_axis: raw.skip_decay_one_axis != 0,
            beta1: optional_number(raw.beta1),
            beta2: optional_number(raw.beta2),
            eps: optional_number(raw.eps),
            alpha: optional_number(raw.alpha),
            trust: optional_number(raw.trust),
            average_decay: raw.average_decay,
            evaluate_parameters: raw.evaluate_parameters != 0,
            schedule_maximize: raw.schedule_maximize != 0,
            schedule_power: raw.schedule_power,
            schedule_rise: raw.schedule_rise,
            schedule_divisor: raw.schedule_divisor,
            schedule_final_divisor: raw.schedule_final_divisor,
            schedule_threshold: raw.schedule_threshold,
            schedule_patience: raw.schedule_patience,
            schedule_milestones: unsafe {
                read_list(raw.schedule_milestones, raw.schedule_milestone_count)
            },
            schedule_table: unsafe { read_list(raw.schedule_table, raw.schedule_table_count) },
            label_smoothing: raw.label_smoothing,
            ignore_index: optional_number(raw.ignore_index),
            skip_not_finite: raw.skip_not_finite != 0,
            late_updates: raw.late_updates != 0,
            group: None,
            huber_delta: raw.huber_delta,
            class_weights: unsafe { read_list(raw.class_weights, raw.class_weight_count) },
            sample_weights: raw.sample_weights != 0,
            shares: unsafe { read_list(raw.shares, raw.share_count) },
        })
    }
}

impl Input for TrainerOptions {
    fn to_raw(&self, held: &mut Held) -> Result<Self::Raw> {
        let mut raw = Self::init();
        raw.loss = self.loss.raw();
        raw.reduction = self.reduction.raw();
        raw.precision = self.precision.raw();
        raw.learning_rate = self.learning_rate;
        raw.momentum = self.momentum;
        raw.weight_decay = self.weight_decay;
        raw.nesterov = i32::from(self.nesterov);
        raw.schedule = self.schedule.raw();
        raw.schedule_period = self.schedule_period;
        raw.schedule_gamma = self.schedule_gamma;
        raw.schedule_min = self.schedule_min;
        raw.warmup_steps = self.warmup_steps;
        raw.bucket_bytes = self.bucket_bytes;
        raw.seed = self.seed;
        let list = self.groups.iter().map(|one| one.to_raw(held)).collect::<Result<Vec<_>>>()?;
        raw.group_count = count(self.groups.len(), "groups")?;
        raw.groups = held.list(list);
        raw.deadline_ms = self.deadline_ms;
        raw.collect_trace = i32::from(self.collect_trace);
        raw.no_fusion = i32::from(self.no_fusion);
        raw.loss_scale = self.loss_scale.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.loss_scale_interval = self.loss_scale_interval;
        raw.micro_batches = self.micro_batches;
        raw.logical_shards = self.logical_shards;
        raw.mesh = self.mesh.to_raw(held)?;
        raw.layer_schedule = self.layer_schedule.raw();
        raw.layer_chunks = self.layer_chunks;
        raw.layer_cuts = held.text(self.layer_cuts.as_deref(), "layer_cuts")?;
        raw.recompute_segments = self.recompute_segments;
        raw.sync_batch_norm = i32::from(self.sync_batch_norm);
        raw.recompute_layers = held.text(self.recompute_layers.as_deref(), "recompute_layers")?;
        raw.activation_budget_bytes = self.activation_budget_bytes;
        raw.max_gradient_norm = self.max_gradient_norm;
        raw.shard_optimizer = i32::from(self.shard_optimizer);
        raw.gradient_compression = self.gradient_compression.raw();
        raw.samples_on_host = i32::from(self.samples_on_host);
        raw.launches_in_turn = i32::from(self.launches_in_turn);
        raw.optimizer = self.optimizer.raw();
        raw.skip_decay_one_axis = i32::from(self.skip_decay_one_axis);
        raw.beta1 = self.beta1.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.beta2 = self.beta2.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.eps = self.eps.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.alpha = self.alpha.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.trust = self.trust.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.average_decay = self.average_decay;
        raw.evaluate_parameters = i32::from(self.evaluate_parameters);
        raw.schedule_maximize = i32::from(self.schedule_maximize);
        raw.schedule_power = self.schedule_power;
        raw.schedule_rise = self.schedule_rise;
        raw.schedule_divisor = self.schedule_divisor;
        raw.schedule_final_divisor = self.schedule_final_divisor;
        raw.schedule_threshold = self.schedule_threshold;
        raw.schedule_patience = self.schedule_patience;
        raw.schedule_milestone_count =
            count(self.schedule_milestones.len(), "schedule_milestones")?;
        raw.schedule_milestones = pointer_to(self.schedule_milestones.as_slice());
        raw.schedule_table_count = count(self.schedule_table.len(), "schedule_table")?;
        raw.schedule_table = pointer_to(self.schedule_table.as_slice());
        raw.label_smoothing = self.label_smoothing;
        raw.ignore_index = self.ignore_index.unwrap_or_else(|| sys::TROIKA_UNSET.into());
        raw.skip_not_finite = i32::from(self.skip_not_finite);
        raw.late_updates = i32::from(self.late_updates);
        raw.group = self.group.as_ref().map_or(std::ptr::null_mut(), Group::raw);
        raw.huber_delta = self.huber_delta;
        raw.class_weight_count = count(self.class_weights.len(), "class_weights")?;
        raw.class_weights = pointer_to(self.class_weights.as_slice());
        raw.sample_weights = i32::from(self.sample_weights);
        raw.share_count = count(self.shares.len(), "shares")?;
        raw.shares = pointer_to(self.shares.as_slice());
        Ok(raw)
    }
}

impl Default for TrainerOptions {
    /// The library's defaults.
    fn default() -> Self {
        defaults()
    }
}
