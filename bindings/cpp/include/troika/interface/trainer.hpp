/** @file interface/trainer.hpp Options and results of trainer.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_TRAINER_HPP
#define TROIKA_INTERFACE_TRAINER_HPP

#include <troika/interface/defaults.hpp>

namespace troika {
inline namespace v1 {

/** Memory of one replica in bytes. Filled by Trainer::memory. */
struct MemoryInfo {
  /** Compiled plans: one per mode and batch size. At most 16 are kept. */
  std::int32_t plans = {};
  /** Activations, their gradients and scratch, shared by all plans. */
  std::int64_t arena_bytes = {};
  /** Parameters, buffers, and copies of parameters in 16 bits. */
  std::int64_t parameter_bytes = {};
  /** Gradients of parameters; twice after sums over passes. */
  std::int64_t gradient_bytes = {};
  /** Optimizer state. */
  std::int64_t optimizer_bytes = {};
  /** Datasets that the device keeps (samples_on_host). */
  std::int64_t sample_bytes = {};
};

namespace detail {

template <>
struct Converter<MemoryInfo> {
  using Struct = troika_memory_info;
  static MemoryInfo from(const troika_memory_info& from) {
    MemoryInfo to;
    to.plans = convert<std::int32_t>(from.plans);
    to.arena_bytes = convert<std::int64_t>(from.arena_bytes);
    to.parameter_bytes = convert<std::int64_t>(from.parameter_bytes);
    to.gradient_bytes = convert<std::int64_t>(from.gradient_bytes);
    to.optimizer_bytes = convert<std::int64_t>(from.optimizer_bytes);
    to.sample_bytes = convert<std::int64_t>(from.sample_bytes);
    return to;
  }
};

}  // namespace detail

/** Sums over many batches. Filled by calls that train on or evaluate the batches of a loader. */
struct Metrics {
  /** Status::ok, Status::stopped, or Status::end_of_data of `Trainer::train_batches`. */
  Status status = Status::ok;
  /** Mean over all labels, by weight. */
  double loss = {};
  /** correct / labels. */
  double accuracy = {};
  /** Samples seen. */
  std::int64_t samples = {};
  /** Labels whose largest output is the label's own. */
  std::int64_t correct = {};
  /** Wall-clock time. */
  double seconds = {};
  /** Labels seen that are not ignored; samples for other losses. */
  std::int64_t labels = {};
  /** Steps that were skipped (Status::step_skipped); 0 of an evaluation. */
  std::int64_t skipped_steps = {};
};

namespace detail {

template <>
struct Converter<Metrics> {
  using Struct = troika_metrics;
  static Metrics from(const troika_metrics& from) {
    Metrics to;
    to.loss = convert<double>(from.loss);
    to.accuracy = convert<double>(from.accuracy);
    to.samples = convert<std::int64_t>(from.samples);
    to.correct = convert<std::int64_t>(from.correct);
    to.seconds = convert<double>(from.seconds);
    to.labels = convert<std::int64_t>(from.labels);
    to.skipped_steps = convert<std::int64_t>(from.skipped_steps);
    return to;
  }
};

}  // namespace detail

/** The progress after a batch, as a progress callback receives it. */
struct Progress {
  /** Batches of this epoch that are done. */
  std::int64_t batch = {};
  /** Batches in the epoch; see LoaderPosition for streams. */
  std::int64_t batches = {};
  /** Epoch of the loader, from 0. */
  std::int64_t epoch = {};
  /** Samples done in this call. */
  std::int64_t samples = {};
  /** Those of labels that were classified correctly. */
  std::int64_t correct = {};
  /** Mean over the labels of this call, by weight. */
  double loss = {};
  /** Since the call began. */
  double seconds = {};
  /** 1 while training, 0 while evaluating or predicting. */
  bool training = {};
  /** 1: this batch's step was skipped (Status::step_skipped). If the loss of the batch is then
   *  not finite, the sums over this call leave the batch out. */
  bool skipped = {};
  /** Mean over the labels of this batch, by weight. */
  double batch_loss = {};
  /** Samples of this batch. */
  std::int64_t batch_samples = {};
  /** Those of batch_labels that were classified correctly. */
  std::int64_t batch_correct = {};
  /** The trainer's rate that this step used; 0 while evaluating. */
  double learning_rate = {};
  /** Labels done in this call that are not ignored; samples for other losses. */
  std::int64_t labels = {};
  /** Those of labels that belong to this batch. */
  std::int64_t batch_labels = {};
  /** Seconds of this step in which the devices of this process waited for others: those of the
   *  device that waited least. Without a group the others are the trainer's own. The process
   *  that waits least is the one that the others wait for. 0 with devices that run ahead of the
   *  host (GPUs), and while evaluating. */
  double wait_seconds = {};
};

namespace detail {

template <>
struct Converter<Progress> {
  using Struct = troika_progress;
  static Progress from(const troika_progress& from) {
    Progress to;
    to.batch = convert<std::int64_t>(from.batch);
    to.batches = convert<std::int64_t>(from.batches);
    to.epoch = convert<std::int64_t>(from.epoch);
    to.samples = convert<std::int64_t>(from.samples);
    to.correct = convert<std::int64_t>(from.correct);
    to.loss = convert<double>(from.loss);
    to.seconds = convert<double>(from.seconds);
    to.training = convert<bool>(from.training);
    to.skipped = convert<bool>(from.skipped);
    to.batch_loss = convert<double>(from.batch_loss);
    to.batch_samples = convert<std::int64_t>(from.batch_samples);
    to.batch_correct = convert<std::int64_t>(from.batch_correct);
    to.learning_rate = convert<double>(from.learning_rate);
    to.labels = convert<std::int64_t>(from.labels);
    to.batch_labels = convert<std::int64_t>(from.batch_labels);
    to.wait_seconds = convert<double>(from.wait_seconds);
    return to;
  }
};

}  // namespace detail

/** How a training state is saved. */
struct SaveOptions {
  /** 0 (default): writes the file at path. K above 0: puts the step before the extension, as in
   *  state-000000001200.safetensors for the path state.safetensors, and removes all but the
   *  newest K of these files. At most 65536. */
  std::int32_t keep = detail::initial<std::int32_t, &troika_save_options::keep>();
  /** 1: the call returns when the state has been copied to host memory. A thread of the library
   *  writes the file. Default 0. */
  bool in_background = detail::initial<bool, &troika_save_options::in_background>();
};

namespace detail {

template <>
struct Raw<SaveOptions> {
  explicit Raw(const SaveOptions& from) {
    value.keep = from.keep;
    value.in_background = from.in_background ? 1 : 0;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_save_options* get() const noexcept { return &value; }

  troika_save_options value = defaults<troika_save_options>();
};

}  // namespace detail

/** The result of a step. Filled by Trainer::step. */
struct StepResult {
  /** Status::ok, Status::step_skipped, or Status::stopped: then nothing was done. */
  Status status = Status::ok;
  /** Loss of the batch before the update: mean or sum, by reduction. */
  double loss = {};
  /** Samples in the batch. */
  std::int64_t samples = {};
  /** Those of labels whose largest output is the label's own; 0 for other losses. A label whose
   *  outputs are not numbers is not correct. */
  std::int64_t correct = {};
  /** Steps done, including this one. */
  std::int64_t step = {};
  /** The trainer's rate that this step used; groups may have others. */
  double learning_rate = {};
  /** Wall-clock time of the step. */
  double seconds = {};
  /** The loss scale that this step used; 1 without loss scaling. */
  double loss_scale = {};
  /** The 2-norm of all gradients together before clipping; not finite if one of them is not. 0
   *  without max_gradient_norm. */
  double gradient_norm = {};
  /** Labels that are not ignored, over which the mean is computed; samples for other losses. */
  std::int64_t labels = {};
};

namespace detail {

template <>
struct Converter<StepResult> {
  using Struct = troika_step_result;
  static StepResult from(const troika_step_result& from) {
    StepResult to;
    to.loss = convert<double>(from.loss);
    to.samples = convert<std::int64_t>(from.samples);
    to.correct = convert<std::int64_t>(from.correct);
    to.step = convert<std::int64_t>(from.step);
    to.learning_rate = convert<double>(from.learning_rate);
    to.seconds = convert<double>(from.seconds);
    to.loss_scale = convert<double>(from.loss_scale);
    to.gradient_norm = convert<double>(from.gradient_norm);
    to.labels = convert<std::int64_t>(from.labels);
    return to;
  }
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
