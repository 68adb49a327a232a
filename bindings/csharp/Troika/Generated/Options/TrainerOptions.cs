// Written by bindings/generate.py from the C headers; do not edit.

using System;
using System.Collections.Generic;
using Troika.Native;

namespace Troika
{
    /// <summary>How devices share the work; there are data * layer * channel devices. In the list
    /// of devices, those with channels of the same layers are adjacent. After them come those with
    /// the next layers, then those with other samples. 0 in layer and channel is 1.</summary>
    public sealed partial class Mesh
    {
        /// <summary>Every field is 0.</summary>
        public Mesh()
        {
        }

        internal unsafe Mesh(troika_mesh* raw)
        {
            ReadFrom(raw);
        }

        /// <summary>Parts of the batch (data parallelism); 0: as many as there are devices
        /// for.</summary>
        public int Data { get; set; }

        /// <summary>Devices in a row, each with some layers (pipeline parallelism).</summary>
        public int Layer { get; set; }

        /// <summary>Devices that have some channels of each layer (tensor parallelism).</summary>
        public int Channel { get; set; }

        private unsafe void ReadFrom(troika_mesh* raw)
        {
            Data = raw->data;
            Layer = raw->layer;
            Channel = raw->channel;
        }

        internal unsafe void WriteTo(troika_mesh* raw, NativeScope scope)
        {
            *raw = new troika_mesh();
            raw->data = Data;
            raw->layer = Layer;
            raw->channel = Channel;
        }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text("Mesh", ("Data", Data), ("Layer", Layer), ("Channel", Channel));
    }

    /// <summary>A group of parameters, matched by name, with its own settings. If several groups
    /// match a parameter, the first of them counts.</summary>
    public sealed partial class ParameterGroup
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe ParameterGroup()
        {
            Library.Load();
            troika_parameter_group raw = troika_parameter_group.Default();
            ReadFrom(&raw);
        }

        internal unsafe ParameterGroup(troika_parameter_group* raw)
        {
            ReadFrom(raw);
        }

        /// <summary>true: the parameters keep their bits, have no gradient and are not
        /// communicated. Default false.</summary>
        public bool Frozen { get; set; }

        /// <summary>* any run of characters, ? any one; must be set. Copied.</summary>
        public string Pattern { get; set; }

        /// <summary>Below 0 (default): the trainer's. Follows the schedule too.</summary>
        public double LearningRate { get; set; }

        /// <summary>Below 0 (default): the trainer's.</summary>
        public double WeightDecay { get; set; }

        /// <summary>SGD, RMSprop and LARS. null (default), here and in all fields below: the
        /// trainer's.</summary>
        public double? Momentum { get; set; }

        /// <summary>Adam, AdamW and LAMB.</summary>
        public double? Beta1 { get; set; }

        /// <summary>Adam, AdamW and LAMB.</summary>
        public double? Beta2 { get; set; }

        /// <summary>All optimizers except SGD.</summary>
        public double? Eps { get; set; }

        /// <summary>RMSprop.</summary>
        public double? Alpha { get; set; }

        /// <summary>LARS.</summary>
        public double? Trust { get; set; }

        private unsafe void ReadFrom(troika_parameter_group* raw)
        {
            Frozen = raw->frozen == 1;
            Pattern = Utf8.Read(raw->pattern);
            LearningRate = raw->learning_rate;
            WeightDecay = raw->weight_decay;
            Momentum = raw->momentum == Library.Unset ? (double?)null : raw->momentum;
            Beta1 = raw->beta1 == Library.Unset ? (double?)null : raw->beta1;
            Beta2 = raw->beta2 == Library.Unset ? (double?)null : raw->beta2;
            Eps = raw->eps == Library.Unset ? (double?)null : raw->eps;
            Alpha = raw->alpha == Library.Unset ? (double?)null : raw->alpha;
            Trust = raw->trust == Library.Unset ? (double?)null : raw->trust;
        }

        internal unsafe void WriteTo(troika_parameter_group* raw, NativeScope scope)
        {
            *raw = troika_parameter_group.Default();
            raw->frozen = Frozen ? 1 : 0;
            raw->pattern = scope.Text(Pattern, "ParameterGroup.Pattern");
            raw->learning_rate = LearningRate;
            raw->weight_decay = WeightDecay;
            raw->momentum = Momentum ?? Library.Unset;
            raw->beta1 = Beta1 ?? Library.Unset;
            raw->beta2 = Beta2 ?? Library.Unset;
            raw->eps = Eps ?? Library.Unset;
            raw->alpha = Alpha ?? Library.Unset;
            raw->trust = Trust ?? Library.Unset;
        }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "ParameterGroup", ("Frozen", Frozen), ("Pattern", Pattern),
                ("LearningRate", LearningRate), ("WeightDecay", WeightDecay),
                ("Momentum", Momentum), ("Beta1", Beta1), ("Beta2", Beta2), ("Eps", Eps),
                ("Alpha", Alpha), ("Trust", Trust));
    }

    /// <summary>Options of Model.Attach.</summary>
    public sealed partial class TrainerOptions
    {
        /// <summary>Begins with the library's defaults.</summary>
        public unsafe TrainerOptions()
        {
            Library.Load();
            troika_trainer_options raw = troika_trainer_options.Default();
            ReadFrom(&raw);
        }

        internal unsafe TrainerOptions(troika_trainer_options* raw)
        {
            ReadFrom(raw);
        }

        /// <summary>Default Loss.CrossEntropy.</summary>
        public Loss Loss { get; set; }

        /// <summary>Default Reduction.Mean.</summary>
        public Reduction Reduction { get; set; }

        /// <summary>Default Precision.F32.</summary>
        public Precision Precision { get; set; }

        /// <summary>At least 0; default 0.1.</summary>
        public double LearningRate { get; set; }

        /// <summary>SGD, RMSprop and LARS: in [0, 1); default 0.</summary>
        public double Momentum { get; set; }

        /// <summary>At least 0; default 0.</summary>
        public double WeightDecay { get; set; }

        /// <summary>true: Nesterov's momentum: SGD with momentum above 0. Default false.</summary>
        public bool Nesterov { get; set; }

        /// <summary>Default Schedule.Constant.</summary>
        public Schedule Schedule { get; set; }

        /// <summary>Steps; default 0. At least 1 for Schedule.Step, Schedule.Cosine,
        /// Schedule.Exponential and Schedule.Polynomial, at least 2 for
        /// Schedule.OneCycle.</summary>
        public long SchedulePeriod { get; set; }

        /// <summary>Schedule.Step, Schedule.MultiStep, Schedule.Exponential, Schedule.Plateau: the
        /// factor; default 0.1.</summary>
        public double ScheduleGamma { get; set; }

        /// <summary>Schedule.Cosine, Schedule.Polynomial, Schedule.Plateau: the least learning
        /// rate; default 0.</summary>
        public double ScheduleMin { get; set; }

        /// <summary>Step s &lt; WarmupSteps uses (s + 1) / WarmupSteps of the scheduled rate;
        /// default 0.</summary>
        public long WarmupSteps { get; set; }

        /// <summary>The approximate size of an all-reduce bucket; default 1 MiB; 0: one gradient
        /// per bucket.</summary>
        public long BucketBytes { get; set; }

        /// <summary>The seed of dropout; 0 (default): the context's seed.</summary>
        public ulong Seed { get; set; }

        /// <summary>Groups; copied.</summary>
        public IReadOnlyList<ParameterGroup> Groups { get; set; }

        /// <summary>A step that takes longer fails with Status.Comm; 1 to 2^31 - 1 milliseconds,
        /// default 600000.</summary>
        public int DeadlineMs { get; set; }

        /// <summary>true: records every launch and collective for Trainer.Trace and
        /// Trainer.SaveTrace. Default false.</summary>
        public bool CollectTrace { get; set; }

        /// <summary>true: no fused kernels, for comparison. Default false.</summary>
        public bool NoFusion { get; set; }

        /// <summary>The scale that dynamic loss scaling starts with, 1 to 2^24. 0: no loss scaling,
        /// also with Precision.F16. null (default): 65536 with Precision.F16, no loss scaling with
        /// other precisions.</summary>
        public double? LossScale { get; set; }

        /// <summary>Good steps in a row after which the loss scale doubles; 1 to 2^24, default
        /// 2000.</summary>
        public long LossScaleInterval { get; set; }

        /// <summary>Cuts each replica's samples into this many parts, which are computed one after
        /// another. Their gradients are added before the all-reduce. Takes less memory. BatchNorm
        /// normalises each part by itself. 0 to 1024; 0 and 1 (default): one part. Parts that get
        /// no sample are left out.</summary>
        public int MicroBatches { get; set; }

        /// <summary>0 (default): none. Otherwise cuts each batch into this many shards: a power of
        /// 2 up to 1024. The number of devices may be 1, 2, 4 ... LogicalShards; parameters get the
        /// same bits on each of these numbers. BatchNorm normalises each shard by itself and tracks
        /// the first. A CPU device computes on one thread. Excludes MicroBatches above 1.</summary>
        public int LogicalShards { get; set; }

        /// <summary>Default: all devices share the batch. Splits by layer and by channel exclude
        /// LogicalShards. Model.ChoosePlan finds the fastest mesh that fits.</summary>
        public Mesh Mesh { get; set; }

        /// <summary>With mesh.layer above 1; default LayerSchedule.OneFOneB.</summary>
        public LayerSchedule LayerSchedule { get; set; }

        /// <summary>Stages per device, 0 to 1024; default 1; 0 is 1. On a mesh that splits by layer
        /// or channel, a value above 1 needs the interleaved schedule. A split by layer needs at
        /// least mesh.layer * LayerChunks layers.</summary>
        public int LayerChunks { get; set; }

        /// <summary>Only with mesh.layer above 1: the layer that begins each stage except the
        /// first, separated by commas. null (default): cut so that all stages cost about the same.
        /// Copied.</summary>
        public string LayerCuts { get; set; }

        /// <summary>Cuts the forward pass into at most this many segments. Activations within a
        /// segment, except the last, are computed again in backward. 0 (default): none.</summary>
        public int RecomputeSegments { get; set; }

        /// <summary>true: BatchNorm normalises the samples of all replicas together, as one device
        /// with the whole batch would. With micro-batches, it normalises those at the same place on
        /// all replicas together. Excludes LogicalShards. Default false: each replica normalises
        /// its own samples.</summary>
        public bool SyncBatchNorm { get; set; }

        /// <summary>Layers whose outputs are computed again: names, with * and ?, separated by
        /// commas. null (default): none.</summary>
        public string RecomputeLayers { get; set; }

        /// <summary>Chooses what to compute again so that activations fit into this many bytes on
        /// each device. Excludes RecomputeSegments and RecomputeLayers. 0 (default): no
        /// budget.</summary>
        public long ActivationBudgetBytes { get; set; }

        /// <summary>Above 0: clips gradients. After their sum over devices, and without the loss
        /// scale, all of them are multiplied by min(1, MaxGradientNorm / (norm + 1e-6)). norm is
        /// the 2-norm of all gradients together (PyTorch's clip_grad_norm_). 0 (default): no
        /// clipping.</summary>
        public double MaxGradientNorm { get; set; }

        /// <summary>true: each parameter's optimizer state is stored on only one of the replicas,
        /// which updates the parameter and sends it to the others (ZeRO level 1). Default false,
        /// which computes the same bits.</summary>
        public bool ShardOptimizer { get; set; }

        /// <summary>Default Compression.None. Compression.BF16 excludes LogicalShards.</summary>
        public Compression GradientCompression { get; set; }

        /// <summary>false (default): GPUs keep a dataset that takes at most half of their free
        /// memory, from the first epoch over it on, and gather batches there. If a plan of this
        /// trainer needs that memory, the dataset is evicted. true: batches are copied from the
        /// host. The bits are the same. CPU devices keep no datasets. Datasets of callbacks, and
        /// batches that are drawn by weights, are always copied from the host.</summary>
        public bool SamplesOnHost { get; set; }

        /// <summary>false (default): on GPUs, long weight gradients are computed concurrently with
        /// the rest of the backward pass. true: every launch waits for the one before it, which
        /// takes a little less memory. The bits are the same.</summary>
        public bool LaunchesInTurn { get; set; }

        /// <summary>Default Optimizer.Sgd.</summary>
        public Optimizer Optimizer { get; set; }

        /// <summary>true: weight decay skips parameters with one axis: biases, and norms over one
        /// axis. Default false.</summary>
        public bool SkipDecayOneAxis { get; set; }

        /// <summary>Adam, AdamW, LAMB: in [0, 1); null (default): 0.9.</summary>
        public double? Beta1 { get; set; }

        /// <summary>Adam, AdamW, LAMB: in [0, 1); null (default): 0.999.</summary>
        public double? Beta2 { get; set; }

        /// <summary>Above 0; null (default): 1e-8, LAMB 1e-6, LARS 1e-9, Adagrad 1e-10.</summary>
        public double? Eps { get; set; }

        /// <summary>RMSprop: in [0, 1); null (default): 0.99.</summary>
        public double? Alpha { get; set; }

        /// <summary>LARS: above 0; null (default): 0.001.</summary>
        public double? Trust { get; set; }

        /// <summary>Above 0 and below 1: keeps a moving average of each parameter that is trained.
        /// The average starts as the parameter when the trainer first computes. After each update,
        /// average = AverageDecay * average + (1 - AverageDecay) * parameter. 0 (default): no
        /// averages.</summary>
        public double AverageDecay { get; set; }

        /// <summary>false (default): evaluation and prediction use the averages, if there are any.
        /// true: the parameters.</summary>
        public bool EvaluateParameters { get; set; }

        /// <summary>Schedule.Plateau: true: larger metrics are better. Default false.</summary>
        public bool ScheduleMaximize { get; set; }

        /// <summary>Schedule.Polynomial: above 0; default 1.</summary>
        public double SchedulePower { get; set; }

        /// <summary>Schedule.OneCycle: in (0, 1); default 0.3.</summary>
        public double ScheduleRise { get; set; }

        /// <summary>Schedule.OneCycle: at least 1; default 25.</summary>
        public double ScheduleDivisor { get; set; }

        /// <summary>Schedule.OneCycle: at least 1; default 1e4.</summary>
        public double ScheduleFinalDivisor { get; set; }

        /// <summary>Schedule.Plateau: in [0, 1); default 1e-4.</summary>
        public double ScheduleThreshold { get; set; }

        /// <summary>Schedule.Plateau: at least 0; default 10.</summary>
        public long SchedulePatience { get; set; }

        /// <summary>Schedule.MultiStep: steps of at least 0, in ascending order. Copied.</summary>
        public IReadOnlyList<long> ScheduleMilestones { get; set; }

        /// <summary>Schedule.Table: factors of at least 0. Copied.</summary>
        public IReadOnlyList<double> ScheduleTable { get; set; }

        /// <summary>Cross-entropy: s in [0, 1). The loss of a label is 1 - s times its own loss
        /// plus s times the mean of the losses of all classes (PyTorch's LabelSmoothing). Default
        /// 0.</summary>
        public double LabelSmoothing { get; set; }

        /// <summary>Cross-entropy: a label that weighs nothing. It has no loss and no gradient, and
        /// is not counted, also not in the mean (PyTorch's IgnoreIndex). If a batch has no other
        /// label, its loss is 0 and its gradient is 0. null (default): none.</summary>
        public long? IgnoreIndex { get; set; }

        /// <summary>true: a step with a gradient that is not finite changes no parameter and
        /// returns Status.StepSkipped, in any precision and without loss scaling too. false
        /// (default): only loss scaling skips steps.</summary>
        public bool SkipNotFinite { get; set; }

        /// <summary>true: between processes, an update may wait until the next step is about to
        /// read its parameters. So sums of gradients also travel during the next forward pass,
        /// which hides a network that is as slow as the devices. The bits are the same. Calls that
        /// read parameters, or that evaluate, run the last update first. If a process is lost
        /// meanwhile, parameters may lack that update. Updates of the first three steps with a size
        /// of batch are not late; the third is measured. Needs a mesh that splits by data alone.
        /// Excludes MaxGradientNorm, loss scaling, SkipNotFinite, ShardOptimizer, and CPUs next to
        /// GPUs. No effect on GPUs alone, and between processes that share memory. Default false: a
        /// step ends with its update.</summary>
        public bool LateUpdates { get; set; }

        /// <summary>Attaches the devices of all processes of the group as one list: devices are
        /// those of this process, and mesh is over all. The processes of a machine are neighbours
        /// in the list. Collective, as all calls of the trainer that compute, read or write state:
        /// each process passes its own samples. Before each batch the processes compare their steps
        /// done, settings and positions in the data; Status.Mismatch names what differs, and
        /// nothing is done. Values that the hosts have written into their models since the last
        /// batch are replaced by those of rank 0. If a stop is requested in one process, the call
        /// returns Status.Stopped in all. null (default): this process alone.</summary>
        public Group Group { get; set; }

        /// <summary>Loss.Huber: above 0; default 1.</summary>
        public double HuberDelta { get; set; }

        /// <summary>Cross-entropy: weights, one for each class of the model. A label's loss is
        /// multiplied by the weight of its class. With Reduction.Mean, the sum of a batch's losses
        /// is divided by the sum of the weights of its labels (PyTorch's weight, without label
        /// smoothing). If all weigh 0, loss and gradient are 0. Each is 0, or from 1e-15 to 1e15,
        /// and rounded to f32. correct and labels of results count labels, whatever they weigh.
        /// null (default): 1 each. Copied.</summary>
        public IReadOnlyList<double> ClassWeights { get; set; }

        /// <summary>true: samples may have weights (Dataset.Weigh, Batch.CreateWeighted), which
        /// multiply their losses as weights of classes do. Samples without a weight have 1. Batches
        /// are copied from the host. false (default): a batch with weights is refused.</summary>
        public bool SampleWeights { get; set; }

        /// <summary>Sizes of the parts of each batch, for devices of different speed: numbers above
        /// 0, one for each of the mesh's data parts. Numbers 3 and 1 divide a batch of 10 into 8
        /// and 2 samples. A part may get no sample of a small batch. None is above 1e6 times
        /// another. The result is that of equal parts, up to rounding, without BatchNorm or with
        /// SyncBatchNorm. Otherwise BatchNorm's running statistics are those of the largest part.
        /// Excludes LogicalShards. null (default): equal parts. Copied.</summary>
        public IReadOnlyList<double> Shares { get; set; }

        private unsafe void ReadFrom(troika_trainer_options* raw)
        {
            Loss = (Loss)raw->loss;
            Reduction = (Reduction)raw->reduction;
            Precision = (Precision)raw->precision;
            LearningRate = raw->learning_rate;
            Momentum = raw->momentum;
            WeightDecay = raw->weight_decay;
            Nesterov = raw->nesterov == 1;
            Schedule = (Schedule)raw->schedule;
            SchedulePeriod = raw->schedule_period;
            ScheduleGamma = raw->schedule_gamma;
            ScheduleMin = raw->schedule_min;
            WarmupSteps = raw->warmup_steps;
            BucketBytes = raw->bucket_bytes;
            Seed = raw->seed;
            Groups = ReadGroups(raw->groups, raw->group_count);
            DeadlineMs = raw->deadline_ms;
            CollectTrace = raw->collect_trace == 1;
            NoFusion = raw->no_fusion == 1;
            LossScale = raw->loss_scale == Library.Unset ? (double?)null : raw->loss_scale;
            LossScaleInterval = raw->loss_scale_interval;
            MicroBatches = raw->micro_batches;
            LogicalShards = raw->logical_shards;
            Mesh = new Mesh(&raw->mesh);
            LayerSchedule = (LayerSchedule)raw->layer_schedule;
            LayerChunks = raw->layer_chunks;
            LayerCuts = Utf8.Read(raw->layer_cuts);
            RecomputeSegments = raw->recompute_segments;
            SyncBatchNorm = raw->sync_batch_norm == 1;
            RecomputeLayers = Utf8.Read(raw->recompute_layers);
            ActivationBudgetBytes = raw->activation_budget_bytes;
            MaxGradientNorm = raw->max_gradient_norm;
            ShardOptimizer = raw->shard_optimizer == 1;
            GradientCompression = (Compression)raw->gradient_compression;
            SamplesOnHost = raw->samples_on_host == 1;
            LaunchesInTurn = raw->launches_in_turn == 1;
            Optimizer = (Optimizer)raw->optimizer;
            SkipDecayOneAxis = raw->skip_decay_one_axis == 1;
            Beta1 = raw->beta1 == Library.Unset ? (double?)null : raw->beta1;
            Beta2 = raw->beta2 == Library.Unset ? (double?)null : raw->beta2;
            Eps = raw->eps == Library.Unset ? (double?)null : raw->eps;
            Alpha = raw->alpha == Library.Unset ? (double?)null : raw->alpha;
            Trust = raw->trust == Library.Unset ? (double?)null : raw->trust;
            AverageDecay = raw->average_decay;
            EvaluateParameters = raw->evaluate_parameters == 1;
            ScheduleMaximize = raw->schedule_maximize == 1;
            SchedulePower = raw->schedule_power;
            ScheduleRise = raw->schedule_rise;
            ScheduleDivisor = raw->schedule_divisor;
            ScheduleFinalDivisor = raw->schedule_final_divisor;
            ScheduleThreshold = raw->schedule_threshold;
            SchedulePatience = raw->schedule_patience;
            ScheduleMilestones = NativeArray.Read(raw->schedule_milestones, raw->schedule_milestone_count);
            ScheduleTable = NativeArray.Read(raw->schedule_table, raw->schedule_table_count);
            LabelSmoothing = raw->label_smoothing;
            IgnoreIndex = raw->ignore_index == Library.Unset ? (long?)null : raw->ignore_index;
            SkipNotFinite = raw->skip_not_finite == 1;
            LateUpdates = raw->late_updates == 1;
            HuberDelta = raw->huber_delta;
            ClassWeights = NativeArray.Read(raw->class_weights, raw->class_weight_count);
            SampleWeights = raw->sample_weights == 1;
            Shares = NativeArray.Read(raw->shares, raw->share_count);
        }

        internal unsafe void WriteTo(troika_trainer_options* raw, NativeScope scope)
        {
            *raw = troika_trainer_options.Default();
            raw->loss = (int)Loss;
            raw->reduction = (int)Reduction;
            raw->precision = (int)Precision;
            raw->learning_rate = LearningRate;
            raw->momentum = Momentum;
            raw->weight_decay = WeightDecay;
            raw->nesterov = Nesterov ? 1 : 0;
            raw->schedule = (int)Schedule;
            raw->schedule_period = SchedulePeriod;
            raw->schedule_gamma = ScheduleGamma;
            raw->schedule_min = ScheduleMin;
            raw->warmup_steps = WarmupSteps;
            raw->bucket_bytes = BucketBytes;
            raw->seed = Seed;
            raw->group_count = Groups?.Count ?? 0;
            raw->groups = WriteGroups(scope);
            raw->deadline_ms = DeadlineMs;
            raw->collect_trace = CollectTrace ? 1 : 0;
            raw->no_fusion = NoFusion ? 1 : 0;
            raw->loss_scale = LossScale ?? Library.Unset;
            raw->loss_scale_interval = LossScaleInterval;
            raw->micro_batches = MicroBatches;
            raw->logical_shards = LogicalShards;
            (Mesh ?? new Mesh()).WriteTo(&raw->mesh, scope);
            raw->layer_schedule = (int)LayerSchedule;
            raw->layer_chunks = LayerChunks;
            raw->layer_cuts = scope.Text(LayerCuts, "TrainerOptions.LayerCuts");
            raw->recompute_segments = RecomputeSegments;
            raw->sync_batch_norm = SyncBatchNorm ? 1 : 0;
            raw->recompute_layers = scope.Text(RecomputeLayers, "TrainerOptions.RecomputeLayers");
            raw->activation_budget_bytes = ActivationBudgetBytes;
            raw->max_gradient_norm = MaxGradientNorm;
            raw->shard_optimizer = ShardOptimizer ? 1 : 0;
            raw->gradient_compression = (int)GradientCompression;
            raw->samples_on_host = SamplesOnHost ? 1 : 0;
            raw->launches_in_turn = LaunchesInTurn ? 1 : 0;
            raw->optimizer = (int)Optimizer;
            raw->skip_decay_one_axis = SkipDecayOneAxis ? 1 : 0;
            raw->beta1 = Beta1 ?? Library.Unset;
            raw->beta2 = Beta2 ?? Library.Unset;
            raw->eps = Eps ?? Library.Unset;
            raw->alpha = Alpha ?? Library.Unset;
            raw->trust = Trust ?? Library.Unset;
            raw->average_decay = AverageDecay;
            raw->evaluate_parameters = EvaluateParameters ? 1 : 0;
            raw->schedule_maximize = ScheduleMaximize ? 1 : 0;
            raw->schedule_power = SchedulePower;
            raw->schedule_rise = ScheduleRise;
            raw->schedule_divisor = ScheduleDivisor;
            raw->schedule_final_divisor = ScheduleFinalDivisor;
            raw->schedule_threshold = ScheduleThreshold;
            raw->schedule_patience = SchedulePatience;
            raw->schedule_milestone_count = ScheduleMilestones?.Count ?? 0;
            raw->schedule_milestones = scope.Copy(ScheduleMilestones);
            raw->schedule_table_count = ScheduleTable?.Count ?? 0;
            raw->schedule_table = scope.Copy(ScheduleTable);
            raw->label_smoothing = LabelSmoothing;
            raw->ignore_index = IgnoreIndex ?? Library.Unset;
            raw->skip_not_finite = SkipNotFinite ? 1 : 0;
            raw->late_updates = LateUpdates ? 1 : 0;
            raw->group = scope.Hold(Group);
            raw->huber_delta = HuberDelta;
            raw->class_weight_count = ClassWeights?.Count ?? 0;
            raw->class_weights = scope.Copy(ClassWeights);
            raw->sample_weights = SampleWeights ? 1 : 0;
            raw->share_count = Shares?.Count ?? 0;
            raw->shares = scope.Copy(Shares);
        }

        /// <summary>Returns all fields as text.</summary>
        public override string ToString() =>
            Fields.Text(
                "TrainerOptions", ("Loss", Loss), ("Reduction", Reduction),
                ("Precision", Precision), ("LearningRate", LearningRate), ("Momentum", Momentum),
                ("WeightDecay", WeightDecay), ("Nesterov", Nesterov), ("Schedule", Schedule),
                ("SchedulePeriod", SchedulePeriod), ("ScheduleGamma", ScheduleGamma),
                ("ScheduleMin", ScheduleMin), ("WarmupSteps", WarmupSteps),
                ("BucketBytes", BucketBytes), ("Seed", Seed), ("Groups", Groups),
                ("DeadlineMs", DeadlineMs), ("CollectTrace", CollectTrace), ("NoFusion", NoFusion),
                ("LossScale", LossScale), ("LossScaleInterval", LossScaleInterval),
                ("MicroBatches", MicroBatches), ("LogicalShards", LogicalShards), ("Mesh", Mesh),
                ("LayerSchedule", LayerSchedule), ("LayerChunks", LayerChunks),
                ("LayerCuts", LayerCuts), ("RecomputeSegments", RecomputeSegments),
                ("SyncBatchNorm", SyncBatchNorm), ("RecomputeLayers", RecomputeLayers),
                ("ActivationBudgetBytes", ActivationBudgetBytes),
                ("MaxGradientNorm", MaxGradientNorm), ("ShardOptimizer", ShardOptimizer),
                ("GradientCompression", GradientCompression), ("SamplesOnHost", SamplesOnHost),
                ("LaunchesInTurn", LaunchesInTurn), ("Optimizer", Optimizer),
                ("SkipDecayOneAxis", SkipDecayOneAxis), ("Beta1", Beta1), ("Beta2", Beta2),
                ("Eps", Eps), ("Alpha", Alpha), ("Trust", Trust), ("AverageDecay", AverageDecay),
                ("EvaluateParameters", EvaluateParameters), ("ScheduleMaximize", ScheduleMaximize),
                ("SchedulePower", SchedulePower), ("ScheduleRise", ScheduleRise),
                ("ScheduleDivisor", ScheduleDivisor),
                ("ScheduleFinalDivisor", ScheduleFinalDivisor),
                ("ScheduleThreshold", ScheduleThreshold), ("SchedulePatience", SchedulePatience),
                ("ScheduleMilestones", ScheduleMilestones), ("ScheduleTable", ScheduleTable),
                ("LabelSmoothing", LabelSmoothing), ("IgnoreIndex", IgnoreIndex),
                ("SkipNotFinite", SkipNotFinite), ("LateUpdates", LateUpdates), ("Group", Group),
                ("HuberDelta", HuberDelta), ("ClassWeights", ClassWeights),
                ("SampleWeights", SampleWeights), ("Shares", Shares));

        private static unsafe IReadOnlyList<ParameterGroup> ReadGroups(troika_parameter_group* raw, int count)
        {
            var read = new ParameterGroup[count];
            for (int i = 0; i < count; ++i)
                read[i] = new ParameterGroup((troika_parameter_group*)((byte*)raw + (long)i * raw->struct_size));
            return read;
        }

        private unsafe troika_parameter_group* WriteGroups(NativeScope scope)
        {
            int count = Groups?.Count ?? 0;
            var raw = (troika_parameter_group*)scope.Allocate((long)count * sizeof(troika_parameter_group));
            for (int i = 0; i < count; ++i)
                (Groups[i] ?? new ParameterGroup()).WriteTo(raw + i, scope);
            return raw;
        }
    }
}
