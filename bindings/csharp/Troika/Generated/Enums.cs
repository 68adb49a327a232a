// Written by bindings/generate.py from the C headers; do not edit.

namespace Troika
{
    /// <summary>Levels of log lines.</summary>
    public enum LogLevel
    {
        /// <summary>TROIKA_LOG_ERROR of C.</summary>
        Error = 1,

        /// <summary>TROIKA_LOG_WARNING of C.</summary>
        Warning = 2,

        /// <summary>TROIKA_LOG_INFO of C.</summary>
        Info = 3,

        /// <summary>TROIKA_LOG_DEBUG of C.</summary>
        Debug = 4,
    }

    /// <summary>Kinds of device.</summary>
    public enum DeviceKind
    {
        /// <summary>A logical CPU device. CPU devices that are attached together share the
        /// context's cores.</summary>
        Cpu = 1,

        /// <summary>An NVIDIA GPU.</summary>
        Cuda = 2,
    }

    /// <summary>Kinds of initialiser. Fans are PyTorch's: for a shape [o, i, k...], fan_in = i *
    /// product of k, and fan_out = o * product of k. Initialisers that use them need rank 2 or
    /// above.</summary>
    public enum Initializer
    {
        /// <summary>a everywhere.</summary>
        Constant = 1,

        /// <summary>Mean 0, standard deviation a.</summary>
        Normal = 2,

        /// <summary>Between -a and a.</summary>
        Uniform = 3,

        /// <summary>Normal, std sqrt(2 / fan_in) (He et al. 2015).</summary>
        KaimingNormal = 4,

        /// <summary>Uniform, bound sqrt(6 / fan_in).</summary>
        KaimingUniform = 5,

        /// <summary>Normal, std sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010).</summary>
        XavierNormal = 6,

        /// <summary>Uniform, bound sqrt(6 / (fan_in + fan_out)).</summary>
        XavierUniform = 7,
    }

    /// <summary>Relations of Tensor.Compare.</summary>
    public enum Relation
    {
        /// <summary>a == b</summary>
        Equal = 1,

        /// <summary>a != b; the only relation that holds with NaN</summary>
        NotEqual = 2,

        /// <summary>a &lt; b</summary>
        Less = 3,

        /// <summary>a &lt;= b</summary>
        LessOrEqual = 4,

        /// <summary>a &gt; b</summary>
        Greater = 5,

        /// <summary>a &gt;= b</summary>
        GreaterOrEqual = 6,
    }

    /// <summary>Statuses.</summary>
    public enum Status
    {
        /// <summary>Success.</summary>
        Ok = 0,

        /// <summary>The loader has returned every batch of this epoch.</summary>
        EndOfData = 1,

        /// <summary>The step changed no parameter on any device; it is counted
        /// nevertheless.</summary>
        StepSkipped = 2,

        /// <summary>A stop was requested, or a callback returned non-zero.</summary>
        Stopped = 3,

        /// <summary>null, an unknown value, a wrong shape, dtype, name or size.</summary>
        InvalidArgument = -1,

        /// <summary>Host or device memory ran out; nothing was changed.</summary>
        OutOfMemory = -2,

        /// <summary>No such name, file or device.</summary>
        NotFound = -3,

        /// <summary>The library cannot do this; the message says what it can.</summary>
        Unsupported = -4,

        /// <summary>Another call on the same object is in progress.</summary>
        Busy = -5,

        /// <summary>The operating system refused a read or a write.</summary>
        Io = -6,

        /// <summary>A file does not hold what its format demands.</summary>
        Corrupt = -7,

        /// <summary>A parameter has no value yet.</summary>
        NotInitialized = -8,

        /// <summary>The object is not stored on that device.</summary>
        NotOnDevice = -9,

        /// <summary>Names or shapes in a file differ from the model's.</summary>
        Mismatch = -10,

        /// <summary>The device exists in no usable form; the message says why.</summary>
        DeviceUnavailable = -11,

        /// <summary>Communication between devices failed or missed its deadline.</summary>
        Comm = -12,

        /// <summary>The trainer no longer owns its model's parameters.</summary>
        Detached = -13,

        /// <summary>A defect of the library. Please report it with the message.</summary>
        Internal = -14,

        /// <summary>A callback of the host failed; the message is the host's own, if it left
        /// one.</summary>
        Callback = -15,
    }

    /// <summary>Element types.</summary>
    public enum Dtype
    {
        /// <summary>IEEE 754 single precision.</summary>
        F32 = 1,

        /// <summary>IEEE 754 double precision.</summary>
        F64 = 2,

        /// <summary>Signed 32-bit integer.</summary>
        I32 = 3,

        /// <summary>Signed 64-bit integer.</summary>
        I64 = 4,

        /// <summary>Unsigned 8-bit integer.</summary>
        U8 = 5,

        /// <summary>bfloat16: 8 bits of exponent, 7 of fraction.</summary>
        BF16 = 6,

        /// <summary>IEEE 754 half precision.</summary>
        F16 = 7,

        /// <summary>Signed 8-bit integer.</summary>
        I8 = 8,

        /// <summary>Signed 16-bit integer.</summary>
        I16 = 9,

        /// <summary>One byte, 0 or 1.</summary>
        Bool = 10,

        /// <summary>8 bits: 4 of exponent, 3 of fraction, no infinity.</summary>
        F8E4M3 = 11,

        /// <summary>8 bits: 5 of exponent, 2 of fraction.</summary>
        F8E5M2 = 12,
    }

    /// <summary>Losses.</summary>
    public enum Loss
    {
        /// <summary>-log softmax(output)[label]. Targets are labels: one per sample for outputs
        /// [batch, classes], one per step for [batch, steps, classes], one per pixel for [batch,
        /// classes, h, w].</summary>
        CrossEntropy = 1,

        /// <summary>Mean over a sample's outputs of (output - value)^2. Targets are values, as
        /// those of the losses below.</summary>
        MeanSquaredError = 2,

        /// <summary>Mean over a sample's outputs of |output - value|.</summary>
        MeanAbsoluteError = 3,

        /// <summary>Mean over a sample's outputs of d^2 / 2 if |d| &lt;= delta, else delta (|d| -
        /// delta / 2), for d = output - value and delta = HuberDelta (Huber 1964).</summary>
        Huber = 4,

        /// <summary>Mean over a sample's outputs of -value log(p) - (1 - value) log(1 - p), for p =
        /// sigmoid(output): several classes may be true at once. Outputs are logits; values are
        /// probabilities, such as 0 and 1.</summary>
        BinaryCrossEntropy = 5,
    }

    /// <summary>How the losses of a batch's labels (or samples, if each has one) become one
    /// number.</summary>
    public enum Reduction
    {
        /// <summary>The mean over the whole batch, whatever the number of devices. Ignored labels
        /// do not count.</summary>
        Mean = 1,

        /// <summary>The sum over the whole batch.</summary>
        Sum = 2,
    }

    /// <summary>Optimizers. The formulas are for a parameter w with gradient g, learning rate lr
    /// and weight decay wd; t counts updates from 1. Norms are 2-norms of whole parameters, also if
    /// a parameter's channels or its state are on several devices. In LARS and LAMB, parameters
    /// with one axis (biases, BatchNorm) have ratio 1 and no weight decay.</summary>
    public enum Optimizer
    {
        /// <summary>g = g + wd w; m = momentum m + g; w -= lr m, with Nesterov lr (g + momentum m).
        /// As torch.optim.SGD without dampening.</summary>
        Sgd = 1,

        /// <summary>g = g + wd w; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= lr / (1 -
        /// b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps). Kingma and Ba 2015;
        /// torch.optim.Adam.</summary>
        Adam = 2,

        /// <summary>w -= lr wd w; then as Adam with wd 0. Loshchilov and Hutter 2019;
        /// torch.optim.AdamW.</summary>
        AdamW = 3,

        /// <summary>g = g + wd w; v = alpha v + (1 - alpha) g^2; m = momentum m + g / (sqrt(v) +
        /// eps); w -= lr m. As torch.optim.RMSprop.</summary>
        RmsProp = 4,

        /// <summary>ratio = trust |w| / (|g| + wd |w| + eps), 1 if |w| or |g| is 0; m = momentum m
        /// + lr ratio (g + wd w); w -= m. You, Gitman and Ginsburg 2017.</summary>
        Lars = 5,

        /// <summary>m and v as Adam; r = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w; w -=
        /// lr |w| / |r| r, with the ratio |w| / |r| 1 if a norm is 0. You et al. 2020.</summary>
        Lamb = 6,

        /// <summary>g = g + wd w; s = s + g^2; w -= lr g / (sqrt(s) + eps). Duchi, Hazan and Singer
        /// 2011; torch.optim.Adagrad with lr_decay 0.</summary>
        Adagrad = 7,
    }

    /// <summary>Settings of a trainer and of its groups that may change during training, by
    /// Trainer.SetOption.</summary>
    public enum Option
    {
        /// <summary>The base rate, before the schedule; at least 0.</summary>
        LearningRate = 1,

        /// <summary>At least 0.</summary>
        WeightDecay = 2,

        /// <summary>SGD, RMSprop, LARS: in [0, 1).</summary>
        Momentum = 3,

        /// <summary>SGD: 0 or 1.</summary>
        Nesterov = 4,

        /// <summary>Adam, AdamW, LAMB: in [0, 1).</summary>
        Beta1 = 5,

        /// <summary>Adam, AdamW, LAMB: in [0, 1).</summary>
        Beta2 = 6,

        /// <summary>All except SGD: above 0.</summary>
        Eps = 7,

        /// <summary>RMSprop: in [0, 1).</summary>
        Alpha = 8,

        /// <summary>LARS: above 0.</summary>
        Trust = 9,

        /// <summary>Groups only: 0 or 1.</summary>
        Frozen = 10,
    }

    /// <summary>Learning-rate schedules: the rate of step s, which counts from 0, for the base rate
    /// lr. With warm-up, a step s &lt; WarmupSteps uses (s + 1) / WarmupSteps of the scheduled
    /// rate. Schedule.Cosine, Schedule.Polynomial and Schedule.Exponential begin after the warm-up:
    /// w is WarmupSteps, and before step w their rate is lr. A run that an earlier version began
    /// goes on as it began, with w = 0.</summary>
    public enum Schedule
    {
        /// <summary>lr</summary>
        Constant = 1,

        /// <summary>lr * gamma ^ floor(s / period)</summary>
        Step = 2,

        /// <summary>lr_min + (lr - lr_min) (1 + cos(pi (s - w) / (period - w))) / 2; lr_min from
        /// step period on.</summary>
        Cosine = 3,

        /// <summary>lr * gamma ^ (number of milestones that are at most s)</summary>
        MultiStep = 4,

        /// <summary>lr * gamma ^ ((s - w) / period)</summary>
        Exponential = 5,

        /// <summary>lr_min + (lr - lr_min) (1 - (s - w) / (period - w)) ^ power; lr_min from step
        /// period on.</summary>
        Polynomial = 6,

        /// <summary>Along half a cosine from lr / divisor up to lr at step rise * period - 1. Then
        /// along half a cosine down to lr / divisor / final_divisor at step period - 1. After that
        /// step the rate stays. As torch.optim.lr_scheduler.OneCycleLR without its change of
        /// momentum.</summary>
        OneCycle = 7,

        /// <summary>lr * gamma ^ n, at least lr_min (or lr, if that is smaller). The exponent n
        /// grows by 1 each time that more than patience metrics in a row were not better than the
        /// best metric by threshold (relative). The caller reports metrics with
        /// Trainer.ReportMetric. As torch.optim.lr_scheduler.ReduceLROnPlateau.</summary>
        Plateau = 8,

        /// <summary>lr * table[s]; after the table's end the last entry stays.</summary>
        Table = 9,
    }

    /// <summary>Precisions of computation. With any of them, parameters, their gradients, the
    /// optimizer's state, BatchNorm's statistics and losses are f32, so weights files do not depend
    /// on the precision. A training state loads only with the precision that it was saved with.
    /// With Precision.BF16 and Precision.F16, activations and the factors of convolutions and
    /// linear layers are 16 bits wide; sums are computed in f32. On a CPU with AMX, a step in
    /// Precision.BF16 is up to 1.4 times as fast. On other CPUs, Precision.BF16 and Precision.F16
    /// save no time and often take more memory: they only serve to try out what a GPU will
    /// do.</summary>
    public enum Precision
    {
        /// <summary>IEEE single.</summary>
        F32 = 1,

        /// <summary>f32, but a GPU that supports TF32 may round the factors of products to 10 bits
        /// of fraction.</summary>
        TF32 = 2,

        /// <summary>bfloat16.</summary>
        BF16 = 3,

        /// <summary>IEEE half, with dynamic loss scaling.</summary>
        F16 = 4,
    }

    /// <summary>The order in which the micro-batches of a split by layer pass through its stages;
    /// docs/splitting-by-layer.md draws them.</summary>
    public enum LayerSchedule
    {
        /// <summary>All forwards, then all backwards: the activations of every micro-batch are
        /// kept.</summary>
        GPipe = 1,

        /// <summary>Alternates one forward and one backward. At most as many micro-batches as
        /// stages are in flight, so fewer activations are kept.</summary>
        OneFOneB = 2,

        /// <summary>As 1F1B, with several stages per device: less idle time, more
        /// messages.</summary>
        Interleaved = 3,
    }

    /// <summary>How gradients travel between replicas.</summary>
    public enum Compression
    {
        /// <summary>f32.</summary>
        None = 1,

        /// <summary>Each replica rounds its gradient to bf16. The rounded gradients are added in
        /// f32, and the sum is rounded to bf16.</summary>
        BF16 = 2,
    }

    public static partial class Library
    {
        /// <summary>Most inputs of a layer that LayerInfo lists.</summary>
        public const int MaxLayerInputs = 8;

        /// <summary>"Not set" for an integer field of an option struct: the library takes its
        /// default.</summary>
        internal const int Unset = -2147483648;

        /// <summary>Numbers per class of ScoreReport.Compute.</summary>
        internal const int ScoresPerClass = 7;

        /// <summary>Bytes of Error.message, its terminating NUL included.</summary>
        internal const int ErrorMessageBytes = 1020;

        /// <summary>Largest rank of a tensor.</summary>
        public const int MaxRank = 8;

        /// <summary>The major version of the declarations.</summary>
        internal const int DeclaredMajor = 1;

        /// <summary>The minor version of the declarations.</summary>
        internal const int DeclaredMinor = 1;
    }
}
