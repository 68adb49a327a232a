// The ring of batches, and the thread that runs ahead of the caller in it.
#include "data/loader.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/block_signals.h"
#include "core/float_environment.h"
#include "core/error.h"
#include "core/sampler.h"
#include "core/text.h"

namespace troika {
namespace {

int64_t count_batches(int64_t n, const LoaderOptions& options) {
  return n / options.batch + (!options.drop_last && n % options.batch != 0 ? 1 : 0);
}

bool has_tokens(const Batch& batch) { return batch.dtype == DType::i32; }

BatchPosition following(const BatchPosition& at) {
  if (at.batch + 1 >= at.batches) return {at.epoch + 1, 0, at.batches};
  return {at.epoch, at.batch + 1, at.batches};
}

}  // namespace

Loader::Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
    : dataset_(std::move(dataset)), options_(options) {
  if (options_.batch < 1)
    throw Error(Status::invalid_argument, text("loader: batch is ", options_.batch, ", need at least 1"));
  if (options_.prefetch < 0 || options_.prefetch > kMaxPrefetch)
    throw Error(Status::invalid_argument,
                text("loader: prefetch is ", options_.prefetch, ", need 0 to ", kMaxPrefetch));
  position_.batches = count_batches(dataset_->size(), options_);
  ahead_ = position_;

  // All memory is allocated here, so that no later call fails for lack of memory.
  const int64_t largest = std::min(options_.batch, dataset_->size());
  const Shape shape = dataset_->sample_shape().times(largest);
  const int64_t elements = checked_elements(shape, "loader: a batch");
  const int64_t labels = checked_elements({largest, dataset_->label_size()}, "loader: the labels of a batch");
  const int64_t values = checked_elements({largest, dataset_->value_size()}, "loader: the values of a batch");
  indices_.resize(static_cast<size_t>(largest));
  ring_.resize(static_cast<size_t>(options_.prefetch) + 1);
  for (Batch& batch : ring_) {
    batch.shape = shape;
    batch.dtype = dataset_->form().dtype;
    batch.inputs.reserve(static_cast<size_t>(has_tokens(batch) ? 0 : elements));
    batch.tokens.reserve(static_cast<size_t>(has_tokens(batch) ? elements : 0));
    batch.labels.reserve(static_cast<size_t>(labels));
    batch.label_size = dataset_->label_size();
    batch.values.reserve(static_cast<size_t>(values));
    batch.value_size = dataset_->value_size();
  }
  if (options_.prefetch > 0 && position_.batches > 0) start_thread();
}

Loader::~Loader() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  wanted_.notify_one();
  thread_.join();
}

bool Loader::ends_epoch() {
  if (position_.batch < position_.batches) return false;
  position_ = {position_.epoch + 1, 0, position_.batches};
  return true;
}

const Batch* Loader::next() {
  if (ends_epoch()) return nullptr;
  if (is_resting_) restart(position_);
  const Batch* batch = nullptr;
  if (thread_.joinable()) {
    batch = &take_filled();
  } else {
    fill(ring_[0], position_);
    batch = &ring_[0];
  }
  ++position_.batch;
  return batch;
}

std::optional<BatchOrigin> Loader::peek() const {
  if (position_.batch == position_.batches) return std::nullopt;
  return origin_of(position_);
}

void Loader::skip() {
  if (ends_epoch()) return;
  ++position_.batch;
  if (is_resting_) return;
  std::lock_guard lock(mutex_);
  is_resting_ = true;
  ++seeks_;
}

void Loader::seek(const BatchPosition& to) {
  if (to.epoch < 0 || to.epoch > kMaxEpoch)
    throw Error(Status::invalid_argument, text("loader: epoch is ", to.epoch, ", need 0 to ", kMaxEpoch));
  if (to.batch < 0 || to.batch > position_.batches)
    throw Error(Status::invalid_argument,
                text("loader: batch is ", to.batch, ", need 0 to ", position_.batches, ", the batches of an epoch"));
  if (to.epoch == position_.epoch && to.batch == position_.batch) return;  // keeps the prepared batches
  position_.epoch = to.epoch;
  position_.batch = to.batch;
  if (!is_resting_) restart(position_.batch < position_.batches ? position_ : following(position_));
}

// Makes the thread fill the batches from `ahead` on.
void Loader::restart(const BatchPosition& ahead) {
  {
    std::lock_guard lock(mutex_);
    ++seeks_;
    handed_count_ = filled_count_ = 0;
    ahead_ = ahead;
    error_ = nullptr;
    is_resting_ = false;
  }
  wanted_.notify_one();
}

BatchOrigin Loader::origin_of(const BatchPosition& at) const {
  BatchOrigin origin{at, following(at), std::nullopt, at.batch * options_.batch, 0};
  if (options_.shuffle) origin.shuffle_seed = options_.seed;
  origin.size = std::min(options_.batch, dataset_->size() - origin.first);
  return origin;
}

void Loader::fill(Batch& batch, const BatchPosition& at) {
  const Sampler sampler =
      options_.shuffle ? Sampler(dataset_->size(), options_.seed, at.epoch) : Sampler(dataset_->size());
  batch.origin = origin_of(at);
  const int64_t n = batch.origin->size;
  for (int64_t i = 0; i < n; ++i) indices_[static_cast<size_t>(i)] = sampler.index_of(batch.origin->first + i);

  batch.shape[0] = n;
  const auto elements = static_cast<size_t>(n * dataset_->sample_elements());
  void* inputs = nullptr;
  if (has_tokens(batch))
    batch.tokens.resize(elements), inputs = batch.tokens.data();
  else
    batch.inputs.resize(elements), inputs = batch.inputs.data();
  batch.labels.resize(static_cast<size_t>(n * dataset_->label_size()));
  batch.values.resize(static_cast<size_t>(n * dataset_->value_size()));
  dataset_->read(indices_.data(), n, inputs, batch.labels.data(), batch.values.data());
}

// Returns the caller's last batch to the thread, and waits for the next one. The wait has no
// deadline: the thread is the loader's own, and only reads memory.
const Batch& Loader::take_filled() {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [&] { return filled_count_ > handed_count_ || error_; });
  if (filled_count_ == handed_count_) {
    const std::exception_ptr error = std::exchange(error_, nullptr);
    lock.unlock();
    wanted_.notify_one();  // the batch is tried again
    std::rethrow_exception(error);
  }
  const Batch& batch = ring_[handed_count_ % ring_.size()];
  ++handed_count_;
  lock.unlock();
  wanted_.notify_one();
  return batch;
}

void Loader::start_thread() {
  const BlockSignals blocked;
  try {
    thread_ = std::thread([this] { produce(); });
  } catch (const std::system_error& e) {
    throw Error(Status::out_of_memory, text("loader: its prefetch thread cannot be started (", e.what(),
                                            "); set prefetch to 0 to do without"));
  }
}

void Loader::produce() {
  const DefaultFloatEnvironment environment;
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto has_room = [&] { return filled_count_ < handed_count_ + static_cast<uint64_t>(options_.prefetch); };
    wanted_.wait(lock, [&] { return stops_ || (!is_resting_ && !error_ && has_room()); });
    if (stops_) return;
    Batch& batch = ring_[filled_count_ % ring_.size()];
    const BatchPosition at = ahead_;
    const uint64_t seeks = seeks_;
    lock.unlock();
    std::exception_ptr error;
    try {
      fill(batch, at);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (seeks != seeks_) continue;
    if (error) {
      error_ = std::move(error);
    } else {
      ahead_ = batch.origin->next;
      ++filled_count_;
    }
    filled_.notify_one();
  }
}

}  // namespace troika
