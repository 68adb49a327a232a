/** @file enums.hpp The constants of the interface.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_ENUMS_HPP
#define TROIKA_ENUMS_HPP

#include <troika/troika.h>

#include <cstdint>

namespace troika {
inline namespace v1 {

static_assert(TROIKA_VERSION_MAJOR == 1 && TROIKA_VERSION >= 10100,
              "these headers need those of Troika 1.1 or a later 1.x");

/** Most inputs of a layer that LayerInfo lists. */
inline constexpr std::int32_t max_layer_inputs = TROIKA_MAX_LAYER_INPUTS;

/** "Not set" for an integer field of an option struct: the library takes its default. */
inline constexpr std::int32_t unset = TROIKA_UNSET;

/** Numbers per class of troika_scores_compute. */
inline constexpr std::int32_t scores_per_class = TROIKA_SCORES_PER_CLASS;

/** Bytes of troika_error.message, its terminating NUL included. */
inline constexpr std::int32_t error_message_bytes = TROIKA_ERROR_MESSAGE_BYTES;

/** Largest rank of a tensor. */
inline constexpr std::int32_t max_rank = TROIKA_MAX_RANK;

/** The output of a layer. Other models refuse the value. 0 is no value. */
enum class Value : std::int64_t {};

/** Levels of log lines. */
enum class LogLevel : std::int32_t {
  error = TROIKA_LOG_ERROR,
  warning = TROIKA_LOG_WARNING,
  info = TROIKA_LOG_INFO,
  debug = TROIKA_LOG_DEBUG,
};

/** Returns the name of an enumerator, such as "error"; "?" for others. */
constexpr const char* to_string(LogLevel value) noexcept {
  switch (value) {
    case LogLevel::error: return "error";
    case LogLevel::warning: return "warning";
    case LogLevel::info: return "info";
    case LogLevel::debug: return "debug";
  }
  return "?";
}

/** Kinds of device. */
enum class DeviceKind : std::int32_t {
  /** A logical CPU device. CPU devices that are attached together share the context's cores. */
  cpu = TROIKA_DEVICE_CPU,
  /** An NVIDIA GPU. */
  cuda = TROIKA_DEVICE_CUDA,
};

/** Returns the name of an enumerator, such as "cpu"; "?" for others. */
constexpr const char* to_string(DeviceKind value) noexcept {
  switch (value) {
    case DeviceKind::cpu: return "cpu";
    case DeviceKind::cuda: return "cuda";
  }
  return "?";
}

/**
 * Kinds of initialiser. Fans are PyTorch's: for a shape [o, i, k...], fan_in = i * product of
 * k, and fan_out = o * product of k. Initialisers that use them need rank 2 or above.
 */
enum class Initializer : std::int32_t {
  /** a everywhere. */
  constant = TROIKA_INIT_CONSTANT,
  /** Mean 0, standard deviation a. */
  normal = TROIKA_INIT_NORMAL,
  /** Between -a and a. */
  uniform = TROIKA_INIT_UNIFORM,
  /** Normal, std sqrt(2 / fan_in) (He et al. 2015). */
  kaiming_normal = TROIKA_INIT_KAIMING_NORMAL,
  /** Uniform, bound sqrt(6 / fan_in). */
  kaiming_uniform = TROIKA_INIT_KAIMING_UNIFORM,
  /** Normal, std sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010). */
  xavier_normal = TROIKA_INIT_XAVIER_NORMAL,
  /** Uniform, bound sqrt(6 / (fan_in + fan_out)). */
  xavier_uniform = TROIKA_INIT_XAVIER_UNIFORM,
};

/** Returns the name of an enumerator, such as "constant"; "?" for others. */
constexpr const char* to_string(Initializer value) noexcept {
  switch (value) {
    case Initializer::constant: return "constant";
    case Initializer::normal: return "normal";
    case Initializer::uniform: return "uniform";
    case Initializer::kaiming_normal: return "kaiming_normal";
    case Initializer::kaiming_uniform: return "kaiming_uniform";
    case Initializer::xavier_normal: return "xavier_normal";
    case Initializer::xavier_uniform: return "xavier_uniform";
  }
  return "?";
}

/** Relations of Tensor::compare. */
enum class Relation : std::int32_t {
  /** a == b */
  equal = TROIKA_RELATION_EQUAL,
  /** a != b; the only relation that holds with NaN */
  not_equal = TROIKA_RELATION_NOT_EQUAL,
  /** a < b */
  less = TROIKA_RELATION_LESS,
  /** a <= b */
  less_or_equal = TROIKA_RELATION_LESS_OR_EQUAL,
  /** a > b */
  greater = TROIKA_RELATION_GREATER,
  /** a >= b */
  greater_or_equal = TROIKA_RELATION_GREATER_OR_EQUAL,
};

/** Returns the name of an enumerator, such as "equal"; "?" for others. */
constexpr const char* to_string(Relation value) noexcept {
  switch (value) {
    case Relation::equal: return "equal";
    case Relation::not_equal: return "not_equal";
    case Relation::less: return "less";
    case Relation::less_or_equal: return "less_or_equal";
    case Relation::greater: return "greater";
    case Relation::greater_or_equal: return "greater_or_equal";
  }
  return "?";
}

/** Statuses. */
enum class Status : std::int32_t {
  /** Success. */
  ok = TROIKA_OK,
  /** The loader has returned every batch of this epoch. */
  end_of_data = TROIKA_END_OF_DATA,
  /** The step changed no parameter on any device; it is counted nevertheless. */
  step_skipped = TROIKA_STEP_SKIPPED,
  /** A stop was requested, or a callback returned non-zero. */
  stopped = TROIKA_STOPPED,
  /** NULL, an unknown value, a wrong shape, dtype, name or size. */
  invalid_argument = TROIKA_ERROR_INVALID_ARGUMENT,
  /** Host or device memory ran out; nothing was changed. */
  out_of_memory = TROIKA_ERROR_OUT_OF_MEMORY,
  /** No such name, file or device. */
  not_found = TROIKA_ERROR_NOT_FOUND,
  /** The library cannot do this; the message says what it can. */
  unsupported = TROIKA_ERROR_UNSUPPORTED,
  /** Another call on the same object is in progress. */
  busy = TROIKA_ERROR_BUSY,
  /** The operating system refused a read or a write. */
  io = TROIKA_ERROR_IO,
  /** A file does not hold what its format demands. */
  corrupt = TROIKA_ERROR_CORRUPT,
  /** A parameter has no value yet. */
  not_initialized = TROIKA_ERROR_NOT_INITIALIZED,
  /** The object is not stored on that device. */
  not_on_device = TROIKA_ERROR_NOT_ON_DEVICE,
  /** Names or shapes in a file differ from the model's. */
  mismatch = TROIKA_ERROR_MISMATCH,
  /** The device exists in no usable form; the message says why. */
  device_unavailable = TROIKA_ERROR_DEVICE_UNAVAILABLE,
  /** Communication between devices failed or missed its deadline. */
  comm = TROIKA_ERROR_COMM,
  /** The trainer no longer owns its model's parameters. */
  detached = TROIKA_ERROR_DETACHED,
  /** A defect of the library. Please report it with the message. */
  internal = TROIKA_ERROR_INTERNAL,
  /** A callback of the host failed; the message is the host's own, if it left one. */
  callback = TROIKA_ERROR_CALLBACK,
};

/** Element types. */
enum class Dtype : std::int32_t {
  /** IEEE 754 single precision. */
  f32 = TROIKA_DTYPE_F32,
  /** IEEE 754 double precision. */
  f64 = TROIKA_DTYPE_F64,
  /** Signed 32-bit integer. */
  i32 = TROIKA_DTYPE_I32,
  /** Signed 64-bit integer. */
  i64 = TROIKA_DTYPE_I64,
  /** Unsigned 8-bit integer. */
  u8 = TROIKA_DTYPE_U8,
  /** bfloat16: 8 bits of exponent, 7 of fraction. */
  bf16 = TROIKA_DTYPE_BF16,
  /** IEEE 754 half precision. */
  f16 = TROIKA_DTYPE_F16,
  /** Signed 8-bit integer. */
  i8 = TROIKA_DTYPE_I8,
  /** Signed 16-bit integer. */
  i16 = TROIKA_DTYPE_I16,
  /** One byte, 0 or 1. */
  bool_ = TROIKA_DTYPE_BOOL,
  /** 8 bits: 4 of exponent, 3 of fraction, no infinity. */
  f8_e4m3 = TROIKA_DTYPE_F8_E4M3,
  /** 8 bits: 5 of exponent, 2 of fraction. */
  f8_e5m2 = TROIKA_DTYPE_F8_E5M2,
};

/** Returns the name of an enumerator, such as "f32"; "?" for others. */
constexpr const char* to_string(Dtype value) noexcept {
  switch (value) {
    case Dtype::f32: return "f32";
    case Dtype::f64: return "f64";
    case Dtype::i32: return "i32";
    case Dtype::i64: return "i64";
    case Dtype::u8: return "u8";
    case Dtype::bf16: return "bf16";
    case Dtype::f16: return "f16";
    case Dtype::i8: return "i8";
    case Dtype::i16: return "i16";
    case Dtype::bool_: return "bool";
    case Dtype::f8_e4m3: return "f8_e4m3";
    case Dtype::f8_e5m2: return "f8_e5m2";
  }
  return "?";
}

/** Losses. */
enum class Loss : std::int32_t {
  /** -log softmax(output)[label]. Targets are labels: one per sample for outputs [batch,
   *  classes], one per step for [batch, steps, classes], one per pixel for [batch, classes, h,
   *  w]. */
  cross_entropy = TROIKA_LOSS_CROSS_ENTROPY,
  /** Mean over a sample's outputs of (output - value)^2. Targets are values, as those of the
   *  losses below. */
  mean_squared_error = TROIKA_LOSS_MEAN_SQUARED_ERROR,
  /** Mean over a sample's outputs of |output - value|. */
  mean_absolute_error = TROIKA_LOSS_MEAN_ABSOLUTE_ERROR,
  /** Mean over a sample's outputs of d^2 / 2 if |d| <= delta, else delta (|d| - delta / 2), for
   *  d = output - value and delta = huber_delta (Huber 1964). */
  huber = TROIKA_LOSS_HUBER,
  /** Mean over a sample's outputs of -value log(p) - (1 - value) log(1 - p), for p =
   *  sigmoid(output): several classes may be true at once. Outputs are logits; values are
   *  probabilities, such as 0 and 1. */
  binary_cross_entropy = TROIKA_LOSS_BINARY_CROSS_ENTROPY,
};

/** Returns the name of an enumerator, such as "cross_entropy"; "?" for others. */
constexpr const char* to_string(Loss value) noexcept {
  switch (value) {
    case Loss::cross_entropy: return "cross_entropy";
    case Loss::mean_squared_error: return "mean_squared_error";
    case Loss::mean_absolute_error: return "mean_absolute_error";
    case Loss::huber: return "huber";
    case Loss::binary_cross_entropy: return "binary_cross_entropy";
  }
  return "?";
}

/** How the losses of a batch's labels (or samples, if each has one) become one number. */
enum class Reduction : std::int32_t {
  /** The mean over the whole batch, whatever the number of devices. Ignored labels do not count. */
  mean = TROIKA_REDUCTION_MEAN,
  /** The sum over the whole batch. */
  sum = TROIKA_REDUCTION_SUM,
};

/** Returns the name of an enumerator, such as "mean"; "?" for others. */
constexpr const char* to_string(Reduction value) noexcept {
  switch (value) {
    case Reduction::mean: return "mean";
    case Reduction::sum: return "sum";
  }
  return "?";
}

/**
 * Optimizers. The formulas are for a parameter w with gradient g, learning rate lr and weight
 * decay wd; t counts updates from 1. Norms are 2-norms of whole parameters, also if a
 * parameter's channels or its state are on several devices. In LARS and LAMB, parameters with
 * one axis (biases, BatchNorm) have ratio 1 and no weight decay.
 */
enum class Optimizer : std::int32_t {
  /** g = g + wd w; m = momentum m + g; w -= lr m, with Nesterov lr (g + momentum m). As
   *  torch.optim.SGD without dampening. */
  sgd = TROIKA_OPTIMIZER_SGD,
  /** g = g + wd w; m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; w -= lr / (1 - b1^t) m /
   *  (sqrt(v) / sqrt(1 - b2^t) + eps). Kingma and Ba 2015; torch.optim.Adam. */
  adam = TROIKA_OPTIMIZER_ADAM,
  /** w -= lr wd w; then as Adam with wd 0. Loshchilov and Hutter 2019; torch.optim.AdamW. */
  adamw = TROIKA_OPTIMIZER_ADAMW,
  /** g = g + wd w; v = alpha v + (1 - alpha) g^2; m = momentum m + g / (sqrt(v) + eps); w -= lr
   *  m. As torch.optim.RMSprop. */
  rmsprop = TROIKA_OPTIMIZER_RMSPROP,
  /** ratio = trust |w| / (|g| + wd |w| + eps), 1 if |w| or |g| is 0; m = momentum m + lr ratio
   *  (g + wd w); w -= m. You, Gitman and Ginsburg 2017. */
  lars = TROIKA_OPTIMIZER_LARS,
  /** m and v as Adam; r = m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps) + wd w; w -= lr |w| /
   *  |r| r, with the ratio |w| / |r| 1 if a norm is 0. You et al. 2020. */
  lamb = TROIKA_OPTIMIZER_LAMB,
  /** g = g + wd w; s = s + g^2; w -= lr g / (sqrt(s) + eps). Duchi, Hazan and Singer 2011;
   *  torch.optim.Adagrad with lr_decay 0. */
  adagrad = TROIKA_OPTIMIZER_ADAGRAD,
};

/** Returns the name of an enumerator, such as "sgd"; "?" for others. */
constexpr const char* to_string(Optimizer value) noexcept {
  switch (value) {
    case Optimizer::sgd: return "sgd";
    case Optimizer::adam: return "adam";
    case Optimizer::adamw: return "adamw";
    case Optimizer::rmsprop: return "rmsprop";
    case Optimizer::lars: return "lars";
    case Optimizer::lamb: return "lamb";
    case Optimizer::adagrad: return "adagrad";
  }
  return "?";
}

/**
 * Settings of a trainer and of its groups that may change during training, by
 * Trainer::set_option.
 */
enum class Option : std::int32_t {
  /** The base rate, before the schedule; at least 0. */
  learning_rate = TROIKA_OPTION_LEARNING_RATE,
  /** At least 0. */
  weight_decay = TROIKA_OPTION_WEIGHT_DECAY,
  /** SGD, RMSprop, LARS: in [0, 1). */
  momentum = TROIKA_OPTION_MOMENTUM,
  /** SGD: 0 or 1. */
  nesterov = TROIKA_OPTION_NESTEROV,
  /** Adam, AdamW, LAMB: in [0, 1). */
  beta1 = TROIKA_OPTION_BETA1,
  /** Adam, AdamW, LAMB: in [0, 1). */
  beta2 = TROIKA_OPTION_BETA2,
  /** All except SGD: above 0. */
  eps = TROIKA_OPTION_EPS,
  /** RMSprop: in [0, 1). */
  alpha = TROIKA_OPTION_ALPHA,
  /** LARS: above 0. */
  trust = TROIKA_OPTION_TRUST,
  /** Groups only: 0 or 1. */
  frozen = TROIKA_OPTION_FROZEN,
};

/** Returns the name of an enumerator, such as "learning_rate"; "?" for others. */
constexpr const char* to_string(Option value) noexcept {
  switch (value) {
    case Option::learning_rate: return "learning_rate";
    case Option::weight_decay: return "weight_decay";
    case Option::momentum: return "momentum";
    case Option::nesterov: return "nesterov";
    case Option::beta1: return "beta1";
    case Option::beta2: return "beta2";
    case Option::eps: return "eps";
    case Option::alpha: return "alpha";
    case Option::trust: return "trust";
    case Option::frozen: return "frozen";
  }
  return "?";
}

/**
 * Learning-rate schedules: the rate of step s, which counts from 0, for the base rate lr. With
 * warm-up, a step s < warmup_steps uses (s + 1) / warmup_steps of the scheduled rate.
 * Schedule::cosine, Schedule::polynomial and Schedule::exponential begin after the warm-up: w is
 * warmup_steps, and before step w their rate is lr. A run that an earlier version began goes on
 * as it began, with w = 0.
 */
enum class Schedule : std::int32_t {
  /** lr */
  constant = TROIKA_SCHEDULE_CONSTANT,
  /** lr * gamma ^ floor(s / period) */
  step = TROIKA_SCHEDULE_STEP,
  /** lr_min + (lr - lr_min) (1 + cos(pi (s - w) / (period - w))) / 2; lr_min from step period
   *  on. */
  cosine = TROIKA_SCHEDULE_COSINE,
  /** lr * gamma ^ (number of milestones that are at most s) */
  multi_step = TROIKA_SCHEDULE_MULTI_STEP,
  /** lr * gamma ^ ((s - w) / period) */
  exponential = TROIKA_SCHEDULE_EXPONENTIAL,
  /** lr_min + (lr - lr_min) (1 - (s - w) / (period - w)) ^ power; lr_min from step period on. */
  polynomial = TROIKA_SCHEDULE_POLYNOMIAL,
  /** Along half a cosine from lr / divisor up to lr at step rise * period - 1. Then along half a
   *  cosine down to lr / divisor / final_divisor at step period - 1. After that step the rate
   *  stays. As torch.optim.lr_scheduler.OneCycleLR without its change of momentum. */
  one_cycle = TROIKA_SCHEDULE_ONE_CYCLE,
  /** lr * gamma ^ n, at least lr_min (or lr, if that is smaller). The exponent n grows by 1 each
   *  time that more than patience metrics in a row were not better than the best metric by
   *  threshold (relative). The caller reports metrics with Trainer::report_metric. As
   *  torch.optim.lr_scheduler.ReduceLROnPlateau. */
  plateau = TROIKA_SCHEDULE_PLATEAU,
  /** lr * table[s]; after the table's end the last entry stays. */
  table = TROIKA_SCHEDULE_TABLE,
};

/** Returns the name of an enumerator, such as "constant"; "?" for others. */
constexpr const char* to_string(Schedule value) noexcept {
  switch (value) {
    case Schedule::constant: return "constant";
    case Schedule::step: return "step";
    case Schedule::cosine: return "cosine";
    case Schedule::multi_step: return "multi_step";
    case Schedule::exponential: return "exponential";
    case Schedule::polynomial: return "polynomial";
    case Schedule::one_cycle: return "one_cycle";
    case Schedule::plateau: return "plateau";
    case Schedule::table: return "table";
  }
  return "?";
}

/**
 * Precisions of computation. With any of them, parameters, their gradients, the optimizer's
 * state, BatchNorm's statistics and losses are f32, so weights files do not depend on the
 * precision. A training state loads only with the precision that it was saved with. With
 * Precision::bf16 and Precision::f16, activations and the factors of convolutions and linear
 * layers are 16 bits wide; sums are computed in f32. On a CPU with AMX, a step in
 * Precision::bf16 is up to 1.4 times as fast. On other CPUs, Precision::bf16 and Precision::f16
 * save no time and often take more memory: they only serve to try out what a GPU will do.
 */
enum class Precision : std::int32_t {
  /** IEEE single. */
  f32 = TROIKA_PRECISION_F32,
  /** f32, but a GPU that supports TF32 may round the factors of products to 10 bits of fraction. */
  tf32 = TROIKA_PRECISION_TF32,
  /** bfloat16. */
  bf16 = TROIKA_PRECISION_BF16,
  /** IEEE half, with dynamic loss scaling. */
  f16 = TROIKA_PRECISION_F16,
};

/** Returns the name of an enumerator, such as "f32"; "?" for others. */
constexpr const char* to_string(Precision value) noexcept {
  switch (value) {
    case Precision::f32: return "f32";
    case Precision::tf32: return "tf32";
    case Precision::bf16: return "bf16";
    case Precision::f16: return "f16";
  }
  return "?";
}

/**
 * The order in which the micro-batches of a split by layer pass through its stages;
 * docs/splitting-by-layer.md draws them.
 */
enum class LayerSchedule : std::int32_t {
  /** All forwards, then all backwards: the activations of every micro-batch are kept. */
  gpipe = TROIKA_LAYER_SCHEDULE_GPIPE,
  /** Alternates one forward and one backward. At most as many micro-batches as stages are in
   *  flight, so fewer activations are kept. */
  one_f_one_b = TROIKA_LAYER_SCHEDULE_1F1B,
  /** As 1F1B, with several stages per device: less idle time, more messages. */
  interleaved = TROIKA_LAYER_SCHEDULE_INTERLEAVED,
};

/** Returns the name of an enumerator, such as "gpipe"; "?" for others. */
constexpr const char* to_string(LayerSchedule value) noexcept {
  switch (value) {
    case LayerSchedule::gpipe: return "gpipe";
    case LayerSchedule::one_f_one_b: return "one_f_one_b";
    case LayerSchedule::interleaved: return "interleaved";
  }
  return "?";
}

/** How gradients travel between replicas. */
enum class Compression : std::int32_t {
  /** f32. */
  none = TROIKA_COMPRESSION_NONE,
  /** Each replica rounds its gradient to bf16. The rounded gradients are added in f32, and the
   *  sum is rounded to bf16. */
  bf16 = TROIKA_COMPRESSION_BF16,
};

/** Returns the name of an enumerator, such as "none"; "?" for others. */
constexpr const char* to_string(Compression value) noexcept {
  switch (value) {
    case Compression::none: return "none";
    case Compression::bf16: return "bf16";
  }
  return "?";
}

}  // namespace v1
}  // namespace troika

#endif
