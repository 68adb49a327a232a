"""Declarations of trainer_options.h. Written by bindings/generate.py from the C headers; do not edit.

Structs and functions have their C names. `MEANINGS` says how Python sees each field of a struct.
"""
# pylint: disable=invalid-name,too-many-lines,line-too-long

from __future__ import annotations

import ctypes
import enum
import typing

from troika._interface.group import troika_group

if typing.TYPE_CHECKING:
    from troika.group import Group


class Loss(enum.IntEnum):
    """Losses."""

    # -log softmax(output)[label]. Targets are labels: one per sample for outputs [batch, classes],
    # one per step for [batch, steps, classes], one per pixel for [batch, classes, h, w].
    CROSS_ENTROPY = 1
    # Mean over a sample's outputs of (output - value)^2. Targets are values, as those of the losses
    # below.
    MEAN_SQUARED_ERROR = 2
    # Mean over a sample's outputs of |output - value|.
    MEAN_ABSOLUTE_ERROR = 3
    # Mean over a sample's outputs of d^2 / 2 if |d| <= delta, else delta (|d| - delta / 2), for d =
    # output - value and delta = huber_delta (Huber 1964).
    HUBER = 4
    # Mean over a sample's outputs of -value log(p) - (1 - value) log(1 - p), for p =
    # sigmoid(output): several classes may be true at once. Outputs are logits; values are
    # probabilities, such as 0 and 1.
    BINARY_CROSS_ENTROPY = 5


class Reduction(enum.IntEnum):
    """How the losses of a batch's labels (or samples, if each has one) become one number."""

    # The mean over the whole batch, whatever the number of devices. Ignored labels do not count.
    MEAN = 1
    # The sum over the whole batch.
    SUM = 2


class Optimizer(enum.IntEnum):
    """Optimizers. The formulas are for a parameter w with gradient g, learning rate lr and weight
    decay wd; t counts updates from 1. Norms are 2-norms of whole parameters, also if a parameter's
    channels or its state are on several devices. In LARS and LAMB, parameters with one axis
    (biases, BatchNorm) have ratio 1 and no weight decay.
    """

    # g = g + wd w; m = momentum m + g; w -= lr m, with Nesterov lr (g + momentum m). As
    # torch.optim.SGD without dampening.
    SGD = 1
    # g = g + wd w; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= lr / (1 - b1^t) m /
    # (sqrt(v) / sqrt(1 - b2^t) + eps). Kingma and Ba 2015; torch.optim.Adam.
    ADAM = 2
    # w -= lr wd w; then as Adam with wd 0. Loshchilov and Hutter 2019; torch.optim.AdamW.
    ADAMW = 3
    # g = g + wd w; v = alpha v + (1 - alpha) g^2; m = momentum m + g / (sqrt(v) + eps); w -= lr m.
    # As torch.optim.RMSprop.
    RMSPROP = 4
    # ratio = trust |w| / (|g| + wd |w| + eps), 1 if |w| or |g| is 0; m = momentum m + lr ratio (g +
    # wd w); w -= m. You, Gitman and Ginsburg 2017.
    LARS = 5
    # m and v as Adam; r = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w; w -= lr |w| / |r|
    # r, with the ratio |w| / |r| 1 if a norm is 0. You et al. 2020.
    LAMB = 6
    # g = g + wd w; s = s + g^2; w -= lr g / (sqrt(s) + eps). Duchi, Hazan and Singer 2011;
    # torch.optim.Adagrad with lr_decay 0.
    ADAGRAD = 7


class Option(enum.IntEnum):
    """Settings of a trainer and of its groups that may change during training, by
    troika_trainer_set_option.
    """

    # The base rate, before the schedule; at least 0.
    LEARNING_RATE = 1
    # At least 0.
    WEIGHT_DECAY = 2
    # SGD, RMSprop, LARS: in [0, 1).
    MOMENTUM = 3
    # SGD: 0 or 1.
    NESTEROV = 4
    # Adam, AdamW, LAMB: in [0, 1).
    BETA1 = 5
    # Adam, AdamW, LAMB: in [0, 1).
    BETA2 = 6
    # All except SGD: above 0.
    EPS = 7
    # RMSprop: in [0, 1).
    ALPHA = 8
    # LARS: above 0.
    TRUST = 9
    # Groups only: 0 or 1.
    FROZEN = 10


class Schedule(enum.IntEnum):
    """Learning-rate schedules: the rate of step s, which counts from 0, for the base rate lr. With
    warm-up, a step s < warmup_steps uses (s + 1) / warmup_steps of the scheduled rate.
    Schedule.COSINE, Schedule.POLYNOMIAL and Schedule.EXPONENTIAL begin after the warm-up: w is
    warmup_steps, and before step w their rate is lr. A run that an earlier version began goes on as
    it began, with w = 0.
    """

    # lr
    CONSTANT = 1
    # lr * gamma ^ floor(s / period)
    STEP = 2
    # lr_min + (lr - lr_min) (1 + cos(pi (s - w) / (period - w))) / 2; lr_min from step period on.
    COSINE = 3
    # lr * gamma ^ (number of milestones that are at most s)
    MULTI_STEP = 4
    # lr * gamma ^ ((s - w) / period)
    EXPONENTIAL = 5
    # lr_min + (lr - lr_min) (1 - (s - w) / (period - w)) ^ power; lr_min from step period on.
    POLYNOMIAL = 6
    # Along half a cosine from lr / divisor up to lr at step rise * period - 1. Then along half a
    # cosine down to lr / divisor / final_divisor at step period - 1. After that step the rate
    # stays. As torch.optim.lr_scheduler.OneCycleLR without its change of momentum.
    ONE_CYCLE = 7
    # lr * gamma ^ n, at least lr_min (or lr, if that is smaller). The exponent n grows by 1 each
    # time that more than patience metrics in a row were not better than the best metric by
    # threshold (relative). The caller reports metrics with troika_trainer_report_metric. As
    # torch.optim.lr_scheduler.ReduceLROnPlateau.
    PLATEAU = 8
    # lr * table[s]; after the table's end the last entry stays.
    TABLE = 9


class Precision(enum.IntEnum):
    """Precisions of computation. With any of them, parameters, their gradients, the optimizer's
    state, BatchNorm's statistics and losses are f32, so weights files do not depend on the
    precision. A training state loads only with the precision that it was saved with. With
    Precision.BF16 and Precision.F16, activations and the factors of convolutions and linear layers
    are 16 bits wide; sums are computed in f32. On a CPU with AMX, a step in Precision.BF16 is up to
    1.4 times as fast. On other CPUs, Precision.BF16 and Precision.F16 save no time and often take
    more memory: they only serve to try out what a GPU will do.
    """

    # IEEE single.
    F32 = 1
    # f32, but a GPU that supports TF32 may round the factors of products to 10 bits of fraction.
    TF32 = 2
    # bfloat16.
    BF16 = 3
    # IEEE half, with dynamic loss scaling.
    F16 = 4


class LayerSchedule(enum.IntEnum):
    """The order in which the micro-batches of a split by layer pass through its stages;
    docs/splitting-by-layer.md draws them.
    """

    # All forwards, then all backwards: the activations of every micro-batch are kept.
    GPIPE = 1
    # Alternates one forward and one backward. At most as many micro-batches as stages are in
    # flight, so fewer activations are kept.
    ONE_F_ONE_B = 2
    # As 1F1B, with several stages per device: less idle time, more messages.
    INTERLEAVED = 3


class Compression(enum.IntEnum):
    """How gradients travel between replicas."""

    # f32.
    NONE = 1
    # Each replica rounds its gradient to bf16. The rounded gradients are added in f32, and the sum
    # is rounded to bf16.
    BF16 = 2


class troika_mesh(ctypes.Structure):
    """How devices share the work; there are data * layer * channel devices. In the list of devices,
    those with channels of the same layers are adjacent. After them come those with the next layers,
    then those with other samples. 0 in layer and channel is 1.
    """

    _fields_ = [
        ("data", ctypes.c_int32),
        ("layer", ctypes.c_int32),
        ("channel", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    ]


class troika_parameter_group(ctypes.Structure):
    """A group of parameters, matched by name, with its own settings. If several groups match a
    parameter, the first of them counts.
    """

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("frozen", ctypes.c_int32),
        ("pattern", ctypes.c_char_p),
        ("learning_rate", ctypes.c_double),
        ("weight_decay", ctypes.c_double),
        ("momentum", ctypes.c_double),
        ("beta1", ctypes.c_double),
        ("beta2", ctypes.c_double),
        ("eps", ctypes.c_double),
        ("alpha", ctypes.c_double),
        ("trust", ctypes.c_double),
    ]


class troika_trainer_options(ctypes.Structure):
    """Options of troika_model_attach. Begin with TROIKA_TRAINER_OPTIONS_INIT."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("loss", ctypes.c_int32),
        ("reduction", ctypes.c_int32),
        ("precision", ctypes.c_int32),
        ("learning_rate", ctypes.c_double),
        ("momentum", ctypes.c_double),
        ("weight_decay", ctypes.c_double),
        ("nesterov", ctypes.c_int32),
        ("schedule", ctypes.c_int32),
        ("schedule_period", ctypes.c_int64),
        ("schedule_gamma", ctypes.c_double),
        ("schedule_min", ctypes.c_double),
        ("warmup_steps", ctypes.c_int64),
        ("bucket_bytes", ctypes.c_int64),
        ("seed", ctypes.c_uint64),
        ("groups", ctypes.POINTER(troika_parameter_group)),
        ("group_count", ctypes.c_int32),
        ("deadline_ms", ctypes.c_int32),
        ("collect_trace", ctypes.c_int32),
        ("no_fusion", ctypes.c_int32),
        ("loss_scale", ctypes.c_double),
        ("loss_scale_interval", ctypes.c_int64),
        ("micro_batches", ctypes.c_int32),
        ("logical_shards", ctypes.c_int32),
        ("mesh", troika_mesh),
        ("layer_schedule", ctypes.c_int32),
        ("layer_chunks", ctypes.c_int32),
        ("layer_cuts", ctypes.c_char_p),
        ("recompute_segments", ctypes.c_int32),
        ("sync_batch_norm", ctypes.c_int32),
        ("recompute_layers", ctypes.c_char_p),
        ("activation_budget_bytes", ctypes.c_int64),
        ("max_gradient_norm", ctypes.c_double),
        ("shard_optimizer", ctypes.c_int32),
        ("gradient_compression", ctypes.c_int32),
        ("samples_on_host", ctypes.c_int32),
        ("launches_in_turn", ctypes.c_int32),
        ("optimizer", ctypes.c_int32),
        ("skip_decay_one_axis", ctypes.c_int32),
        ("beta1", ctypes.c_double),
        ("beta2", ctypes.c_double),
        ("eps", ctypes.c_double),
        ("alpha", ctypes.c_double),
        ("trust", ctypes.c_double),
        ("average_decay", ctypes.c_double),
        ("evaluate_parameters", ctypes.c_int32),
        ("schedule_maximize", ctypes.c_int32),
        ("schedule_power", ctypes.c_double),
        ("schedule_rise", ctypes.c_double),
        ("schedule_divisor", ctypes.c_double),
        ("schedule_final_divisor", ctypes.c_double),
        ("schedule_threshold", ctypes.c_double),
        ("schedule_patience", ctypes.c_int64),
        ("schedule_milestones", ctypes.POINTER(ctypes.c_int64)),
        ("schedule_table", ctypes.POINTER(ctypes.c_double)),
        ("schedule_milestone_count", ctypes.c_int32),
        ("schedule_table_count", ctypes.c_int32),
        ("label_smoothing", ctypes.c_double),
        ("ignore_index", ctypes.c_int64),
        ("skip_not_finite", ctypes.c_int32),
        ("late_updates", ctypes.c_int32),
        ("group", troika_group),
        ("huber_delta", ctypes.c_double),
        ("class_weights", ctypes.POINTER(ctypes.c_double)),
        ("class_weight_count", ctypes.c_int32),
        ("sample_weights", ctypes.c_int32),
        ("shares", ctypes.POINTER(ctypes.c_double)),
        ("share_count", ctypes.c_int32),
        ("reserved2", ctypes.c_int32),
    ]


class Mesh(typing.NamedTuple):
    """How devices share the work; there are data * layer * channel devices. In the list of devices,
    those with channels of the same layers are adjacent. After them come those with the next layers,
    then those with other samples. 0 in layer and channel is 1.
    """

    # Parts of the batch (data parallelism); 0: as many as there are devices for.
    data: int = 0
    # Devices in a row, each with some layers (pipeline parallelism).
    layer: int = 1
    # Devices that have some channels of each layer (tensor parallelism).
    channel: int = 1


class ParameterGroup(typing.TypedDict, total=False):
    """A group of parameters, matched by name, with its own settings. If several groups match a
    parameter, the first of them counts.
    """

    # 1: the parameters keep their bits, have no gradient and are not communicated. Default 0.
    frozen: bool
    # * any run of characters, ? any one; must be set. Copied.
    pattern: str
    # Below 0 (default): the trainer's. Follows the schedule too.
    learning_rate: float
    # Below 0 (default): the trainer's.
    weight_decay: float
    # SGD, RMSprop and LARS. TROIKA_UNSET (default), here and in all fields below: the trainer's.
    momentum: float
    # Adam, AdamW and LAMB.
    beta1: float
    # Adam, AdamW and LAMB.
    beta2: float
    # All optimizers except SGD.
    eps: float
    # RMSprop.
    alpha: float
    # LARS.
    trust: float


class TrainerOptions(typing.TypedDict, total=False):
    """Options of troika_model_attach. Begin with TROIKA_TRAINER_OPTIONS_INIT."""

    # Default Loss.CROSS_ENTROPY.
    loss: Loss | str
    # Default Reduction.MEAN.
    reduction: Reduction | str
    # Default Precision.F32.
    precision: Precision | str
    # At least 0; default 0.1.
    learning_rate: float
    # SGD, RMSprop and LARS: in [0, 1); default 0.
    momentum: float
    # At least 0; default 0.
    weight_decay: float
    # 1: Nesterov's momentum: SGD with momentum above 0. Default 0.
    nesterov: bool
    # Default Schedule.CONSTANT.
    schedule: Schedule | str
    # Steps; default 0. At least 1 for Schedule.STEP, Schedule.COSINE, Schedule.EXPONENTIAL and
    # Schedule.POLYNOMIAL, at least 2 for Schedule.ONE_CYCLE.
    schedule_period: int
    # Schedule.STEP, Schedule.MULTI_STEP, Schedule.EXPONENTIAL, Schedule.PLATEAU: the factor;
    # default 0.1.
    schedule_gamma: float
    # Schedule.COSINE, Schedule.POLYNOMIAL, Schedule.PLATEAU: the least learning rate; default 0.
    schedule_min: float
    # Step s < warmup_steps uses (s + 1) / warmup_steps of the scheduled rate; default 0.
    warmup_steps: int
    # The approximate size of an all-reduce bucket; default 1 MiB; 0: one gradient per bucket.
    bucket_bytes: int
    # The seed of dropout; 0 (default): the context's seed.
    seed: int
    # group_count groups; copied. NULL with 0.
    groups: typing.Sequence[ParameterGroup]
    # A step that takes longer fails with Status.COMM; 1 to 2^31 - 1 milliseconds, default 600000.
    deadline_ms: int
    # 1: records every launch and collective for troika_trainer_trace and troika_trainer_save_trace.
    # Default 0.
    collect_trace: bool
    # 1: no fused kernels, for comparison. Default 0.
    no_fusion: bool
    # The scale that dynamic loss scaling starts with, 1 to 2^24. 0: no loss scaling, also with
    # Precision.F16. TROIKA_UNSET (default): 65536 with Precision.F16, no loss scaling with other
    # precisions.
    loss_scale: float
    # Good steps in a row after which the loss scale doubles; 1 to 2^24, default 2000.
    loss_scale_interval: int
    # Cuts each replica's samples into this many parts, which are computed one after another. Their
    # gradients are added before the all-reduce. Takes less memory. BatchNorm normalises each part
    # by itself. 0 to 1024; 0 and 1 (default): one part. Parts that get no sample are left out.
    micro_batches: int
    # 0 (default): none. Otherwise cuts each batch into this many shards: a power of 2 up to 1024.
    # The number of devices may be 1, 2, 4 ... logical_shards; parameters get the same bits on each
    # of these numbers. BatchNorm normalises each shard by itself and tracks the first. A CPU device
    # computes on one thread. Excludes micro_batches above 1.
    logical_shards: int
    # Default: all devices share the batch. Splits by layer and by channel exclude logical_shards.
    # troika_plan_choose finds the fastest mesh that fits.
    mesh: Mesh | tuple[int, ...]
    # With mesh.layer above 1; default LayerSchedule.ONE_F_ONE_B.
    layer_schedule: LayerSchedule | str
    # Stages per device, 0 to 1024; default 1; 0 is 1. On a mesh that splits by layer or channel, a
    # value above 1 needs the interleaved schedule. A split by layer needs at least mesh.layer *
    # layer_chunks layers.
    layer_chunks: int
    # Only with mesh.layer above 1: the layer that begins each stage except the first, separated by
    # commas. NULL (default): cut so that all stages cost about the same. Copied.
    layer_cuts: str
    # Cuts the forward pass into at most this many segments. Activations within a segment, except
    # the last, are computed again in backward. 0 (default): none.
    recompute_segments: int
    # 1: BatchNorm normalises the samples of all replicas together, as one device with the whole
    # batch would. With micro-batches, it normalises those at the same place on all replicas
    # together. Excludes logical_shards. Default 0: each replica normalises its own samples.
    sync_batch_norm: bool
    # Layers whose outputs are computed again: names, with * and ?, separated by commas. NULL
    # (default): none.
    recompute_layers: str
    # Chooses what to compute again so that activations fit into this many bytes on each device.
    # Excludes recompute_segments and recompute_layers. 0 (default): no budget.
    activation_budget_bytes: int
    # Above 0: clips gradients. After their sum over devices, and without the loss scale, all of
    # them are multiplied by min(1, max_gradient_norm / (norm + 1e-6)). norm is the 2-norm of all
    # gradients together (PyTorch's clip_grad_norm_). 0 (default): no clipping.
    max_gradient_norm: float
    # 1: each parameter's optimizer state is stored on only one of the replicas, which updates the
    # parameter and sends it to the others (ZeRO level 1). Default 0, which computes the same bits.
    shard_optimizer: bool
    # Default Compression.NONE. Compression.BF16 excludes logical_shards.
    gradient_compression: Compression | str
    # 0 (default): GPUs keep a dataset that takes at most half of their free memory, from the first
    # epoch over it on, and gather batches there. If a plan of this trainer needs that memory, the
    # dataset is evicted. 1: batches are copied from the host. The bits are the same. CPU devices
    # keep no datasets. Datasets of callbacks, and batches that are drawn by weights, are always
    # copied from the host.
    samples_on_host: bool
    # 0 (default): on GPUs, long weight gradients are computed concurrently with the rest of the
    # backward pass. 1: every launch waits for the one before it, which takes a little less memory.
    # The bits are the same.
    launches_in_turn: bool
    # Default Optimizer.SGD.
    optimizer: Optimizer | str
    # 1: weight decay skips parameters with one axis: biases, and norms over one axis. Default 0.
    skip_decay_one_axis: bool
    # Adam, AdamW, LAMB: in [0, 1); TROIKA_UNSET (default): 0.9.
    beta1: float
    # Adam, AdamW, LAMB: in [0, 1); TROIKA_UNSET (default): 0.999.
    beta2: float
    # Above 0; TROIKA_UNSET (default): 1e-8, LAMB 1e-6, LARS 1e-9, Adagrad 1e-10.
    eps: float
    # RMSprop: in [0, 1); TROIKA_UNSET (default): 0.99.
    alpha: float
    # LARS: above 0; TROIKA_UNSET (default): 0.001.
    trust: float
    # Above 0 and below 1: keeps a moving average of each parameter that is trained. The average
    # starts as the parameter when the trainer first computes. After each update, average =
    # average_decay * average + (1 - average_decay) * parameter. 0 (default): no averages.
    average_decay: float
    # 0 (default): evaluation and prediction use the averages, if there are any. 1: the parameters.
    evaluate_parameters: bool
    # Schedule.PLATEAU: 1: larger metrics are better. Default 0.
    schedule_maximize: bool
    # Schedule.POLYNOMIAL: above 0; default 1.
    schedule_power: float
    # Schedule.ONE_CYCLE: in (0, 1); default 0.3.
    schedule_rise: float
    # Schedule.ONE_CYCLE: at least 1; default 25.
    schedule_divisor: float
    # Schedule.ONE_CYCLE: at least 1; default 1e4.
    schedule_final_divisor: float
    # Schedule.PLATEAU: in [0, 1); default 1e-4.
    schedule_threshold: float
    # Schedule.PLATEAU: at least 0; default 10.
    schedule_patience: int
    # Schedule.MULTI_STEP: schedule_milestone_count steps of at least 0, in ascending order. Copied.
    schedule_milestones: typing.Sequence[int]
    # Schedule.TABLE: schedule_table_count factors of at least 0. Copied.
    schedule_table: typing.Sequence[float]
    # Cross-entropy: s in [0, 1). The loss of a label is 1 - s times its own loss plus s times the
    # mean of the losses of all classes (PyTorch's label_smoothing). Default 0.
    label_smoothing: float
    # Cross-entropy: a label that weighs nothing. It has no loss and no gradient, and is not
    # counted, also not in the mean (PyTorch's ignore_index). If a batch has no other label, its
    # loss is 0 and its gradient is 0. TROIKA_UNSET (default): none.
    ignore_index: int
    # 1: a step with a gradient that is not finite changes no parameter and returns
    # Status.STEP_SKIPPED, in any precision and without loss scaling too. 0 (default): only loss
    # scaling skips steps.
    skip_not_finite: bool
    # 1: between processes, an update may wait until the next step is about to read its parameters.
    # So sums of gradients also travel during the next forward pass, which hides a network that is
    # as slow as the devices. The bits are the same. Calls that read parameters, or that evaluate,
    # run the last update first. If a process is lost meanwhile, parameters may lack that update.
    # Updates of the first three steps with a size of batch are not late; the third is measured.
    # Needs a mesh that splits by data alone. Excludes max_gradient_norm, loss scaling,
    # skip_not_finite, shard_optimizer, and CPUs next to GPUs. No effect on GPUs alone, and between
    # processes that share memory. Default 0: a step ends with its update.
    late_updates: bool
    # Attaches the devices of all processes of the group as one list: devices are those of this
    # process, and mesh is over all. The processes of a machine are neighbours in the list.
    # Collective, as all calls of the trainer that compute, read or write state: each process passes
    # its own samples. Before each batch the processes compare their steps done, settings and
    # positions in the data; Status.MISMATCH names what differs, and nothing is done. Values that
    # the hosts have written into their models since the last batch are replaced by those of rank 0.
    # If a stop is requested in one process, the call returns Status.STOPPED in all. NULL (default):
    # this process alone.
    group: Group
    # Loss.HUBER: above 0; default 1.
    huber_delta: float
    # Cross-entropy: class_weight_count weights, one for each class of the model. A label's loss is
    # multiplied by the weight of its class. With Reduction.MEAN, the sum of a batch's losses is
    # divided by the sum of the weights of its labels (PyTorch's weight, without label smoothing).
    # If all weigh 0, loss and gradient are 0. Each is 0, or from 1e-15 to 1e15, and rounded to f32.
    # correct and labels of results count labels, whatever they weigh. NULL (default): 1 each.
    # Copied.
    class_weights: typing.Sequence[float]
    # 1: samples may have weights (troika_dataset_weigh, troika_batch_create_weighted), which
    # multiply their losses as weights of classes do. Samples without a weight have 1. Batches are
    # copied from the host. 0 (default): a batch with weights is refused.
    sample_weights: bool
    # Sizes of the parts of each batch, for devices of different speed: share_count numbers above 0,
    # one for each of the mesh's data parts. Numbers 3 and 1 divide a batch of 10 into 8 and 2
    # samples. A part may get no sample of a small batch. None is above 1e6 times another. The
    # result is that of equal parts, up to rounding, without BatchNorm or with sync_batch_norm.
    # Otherwise BatchNorm's running statistics are those of the largest part. Excludes
    # logical_shards. NULL (default): equal parts. Copied.
    shares: typing.Sequence[float]


# By struct and field: the kind of a field (bindings/generator/interface.py), and what it refers to.
MEANINGS: dict[type, dict[str, tuple[str, typing.Any]]] = {
    troika_mesh: {
        "data": ("number", None),
        "layer": ("number", None),
        "channel": ("number", None),
    },
    troika_parameter_group: {
        "frozen": ("flag", None),
        "pattern": ("text", None),
        "learning_rate": ("number", None),
        "weight_decay": ("number", None),
        "momentum": ("number", None),
        "beta1": ("number", None),
        "beta2": ("number", None),
        "eps": ("number", None),
        "alpha": ("number", None),
        "trust": ("number", None),
    },
    troika_trainer_options: {
        "loss": ("enum", Loss),
        "reduction": ("enum", Reduction),
        "precision": ("enum", Precision),
        "learning_rate": ("number", None),
        "momentum": ("number", None),
        "weight_decay": ("number", None),
        "nesterov": ("flag", None),
        "schedule": ("enum", Schedule),
        "schedule_period": ("number", None),
        "schedule_gamma": ("number", None),
        "schedule_min": ("number", None),
        "warmup_steps": ("number", None),
        "bucket_bytes": ("number", None),
        "seed": ("number", None),
        "groups": ("array", (troika_parameter_group, 'group_count')),
        "deadline_ms": ("number", None),
        "collect_trace": ("flag", None),
        "no_fusion": ("flag", None),
        "loss_scale": ("number", None),
        "loss_scale_interval": ("number", None),
        "micro_batches": ("number", None),
        "logical_shards": ("number", None),
        "mesh": ("struct", troika_mesh),
        "layer_schedule": ("enum", LayerSchedule),
        "layer_chunks": ("number", None),
        "layer_cuts": ("text", None),
        "recompute_segments": ("number", None),
        "sync_batch_norm": ("flag", None),
        "recompute_layers": ("text", None),
        "activation_budget_bytes": ("number", None),
        "max_gradient_norm": ("number", None),
        "shard_optimizer": ("flag", None),
        "gradient_compression": ("enum", Compression),
        "samples_on_host": ("flag", None),
        "launches_in_turn": ("flag", None),
        "optimizer": ("enum", Optimizer),
        "skip_decay_one_axis": ("flag", None),
        "beta1": ("number", None),
        "beta2": ("number", None),
        "eps": ("number", None),
        "alpha": ("number", None),
        "trust": ("number", None),
        "average_decay": ("number", None),
        "evaluate_parameters": ("flag", None),
        "schedule_maximize": ("flag", None),
        "schedule_power": ("number", None),
        "schedule_rise": ("number", None),
        "schedule_divisor": ("number", None),
        "schedule_final_divisor": ("number", None),
        "schedule_threshold": ("number", None),
        "schedule_patience": ("number", None),
        "schedule_milestones": ("array", (ctypes.c_int64, 'schedule_milestone_count')),
        "schedule_table": ("array", (ctypes.c_double, 'schedule_table_count')),
        "label_smoothing": ("number", None),
        "ignore_index": ("number", None),
        "skip_not_finite": ("flag", None),
        "late_updates": ("flag", None),
        "group": ("handle", None),
        "huber_delta": ("number", None),
        "class_weights": ("array", (ctypes.c_double, 'class_weight_count')),
        "sample_weights": ("flag", None),
        "shares": ("array", (ctypes.c_double, 'share_count')),
    },
}

# The named tuple of each struct that the library fills.
RESULTS: dict[type, type] = {
    troika_mesh: Mesh,
}


# The type of the result, and of each parameter.
FUNCTIONS: dict[str, tuple[typing.Any, list[typing.Any]]] = {
    "troika_parameter_group_init": (None, [ctypes.POINTER(troika_parameter_group), ctypes.c_uint32]),
    "troika_trainer_options_init": (None, [ctypes.POINTER(troika_trainer_options), ctypes.c_uint32]),
}
