// Orders of samples, and the memory of batches.
#include "data/batch_reader.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

int64_t count_batches(int64_t n, const LoaderOptions& options) {
  return n / options.batch + (!options.drop_last && n % options.batch != 0 ? 1 : 0);
}

bool augments(const LoaderOptions& options) { return options.flip || options.crop != 0; }

bool has_tokens(const Batch& batch) { return batch.dtype == DType::i32; }

void* inputs_of(Batch& batch) {
  return has_tokens(batch) ? static_cast<void*>(batch.tokens.data()) : batch.inputs.data();
}

void check(const LoaderOptions& options, const Dataset& dataset) {
  if (options.batch < 1)
    throw Error(Status::invalid_argument, text("loader: batch is ", options.batch, ", need at least 1"));
  if (options.prefetch < 0 || options.prefetch > kMaxPrefetch)
    throw Error(Status::invalid_argument, text("loader: prefetch is ", options.prefetch, ", need 0 to ", kMaxPrefetch));
  const bool has_weights = !options.weights.empty();
  if (dataset.is_stream() && (options.shuffle || has_weights))
    throw Error(Status::invalid_argument,
                text("loader: its dataset is a stream, which cannot be ", has_weights ? "drawn by weights" : "shuffled",
                     "; it is read from its first sample to its last"));
  if (has_weights && options.shuffle)
    throw Error(Status::invalid_argument, "loader: has weights and shuffle, need one of them; weights draw at random");
  if (has_weights && static_cast<int64_t>(options.weights.size()) != dataset.size())
    throw Error(Status::invalid_argument,
                text("loader: has ", options.weights.size(), " weights, its dataset has ", dataset.size(), " samples"));
  if (options.epoch_samples < 0)
    throw Error(Status::invalid_argument,
                text("loader: epoch_samples is ", options.epoch_samples, ", need at least 0"));
  if (options.epoch_samples > 0 && !has_weights)
    throw Error(Status::invalid_argument,
                text("loader: epoch_samples is ", options.epoch_samples, ", needs weights, or 0"));
}

}  // namespace

BatchPosition following(const BatchPosition& at) {
  if (at.batch + 1 >= at.batches) return {at.epoch + 1, 0, at.batches};
  return {at.epoch, at.batch + 1, at.batches};
}

BatchReader::BatchReader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
    : dataset_(std::move(dataset)), options_(options) {
  check(options_, *dataset_);
  if (!options_.weights.empty()) weighted_.emplace(options_.weights);
  options_.weights = {};  // the sampler has all that is needed of them
  if (augments(options_)) augmentation_.emplace(dataset_->form(), options_);
  if (!dataset_->is_stream()) {
    epoch_samples_ = options_.epoch_samples > 0 ? options_.epoch_samples : dataset_->size();
    batches_ = count_batches(epoch_samples_, options_);
  }
  measure();
}

// The other one may be reading: the memory that it reads with is not copied.
BatchReader::BatchReader(const BatchReader& other, const Division& division)
    : dataset_(other.dataset_),
      options_(other.options_),
      weighted_(other.weighted_),
      epoch_samples_(other.epoch_samples_),
      batches_(other.batches_) {
  options_.division = division;
  if (augments(options_)) augmentation_.emplace(dataset_->form(), options_);
  measure();
}

// Every process reads the whole of a stream.
void BatchReader::measure() {
  largest_ = options_.batch;
  if (!dataset_->is_stream()) {  // of unequal shares, one may have more rows of the last batch than of others
    const Division& division = options_.division;
    largest_ = std::max(division.rows(std::min(options_.batch, epoch_samples_)).size(),
                        division.rows(epoch_samples_ % options_.batch).size());
  }
  checked_elements(dataset_->sample_shape().times(largest_), "loader: a batch");
  checked_elements({largest_, dataset_->label_size()}, "loader: the labels of a batch");
  checked_elements({largest_, dataset_->value_size()}, "loader: the values of a batch");
  if (!dataset_->is_stream()) indices_.resize(static_cast<size_t>(largest_));
}

Batch BatchReader::make_batch() const {
  const auto elements = static_cast<size_t>(largest_ * dataset_->sample_elements());
  Batch batch;
  batch.shape = dataset_->sample_shape().times(largest_);
  batch.dtype = dataset_->form().dtype;
  batch.inputs.reserve(has_tokens(batch) ? 0 : elements);
  batch.tokens.reserve(has_tokens(batch) ? elements : 0);
  batch.labels.reserve(static_cast<size_t>(largest_ * dataset_->label_size()));
  batch.label_size = dataset_->label_size();
  batch.ignored = dataset_->form().ignored;
  batch.values.reserve(static_cast<size_t>(largest_ * dataset_->value_size()));
  batch.weights.reserve(dataset_->form().is_weighted ? static_cast<size_t>(largest_) : 0);
  batch.value_size = dataset_->value_size();
  return batch;
}

BatchOrigin BatchReader::origin_of(const BatchPosition& at) const {
  BatchOrigin origin{at, following(at), {}, at.batch * options_.batch, 0};
  if (options_.shuffle || weighted_) origin.order.seed = options_.seed;
  if (weighted_) origin.order.weights = weighted_->digest();
  if (augmentation_) origin.order.augmentation = augmentation_->digest();
  origin.size = std::min(options_.batch, epoch_samples_ - origin.first);
  return origin;
}

// Chooses the samples of a batch's rows.
void BatchReader::choose(const BatchOrigin& origin, Range rows) {
  const auto choose_by = [&](auto&& index_of) {
    for (int64_t i = 0; i < rows.size(); ++i)
      indices_[static_cast<size_t>(i)] = index_of(origin.first + rows.begin + i);
  };
  if (weighted_) {
    const uint64_t key = WeightedSampler::key_of(options_.seed, origin.at.epoch);
    return choose_by([&](int64_t position) { return weighted_->index_of(key, position); });
  }
  const Sampler sampler =
      options_.shuffle ? Sampler(dataset_->size(), options_.seed, origin.at.epoch) : Sampler(dataset_->size());
  choose_by([&](int64_t position) { return sampler.index_of(position); });
}

void BatchReader::read(Batch& batch, const BatchPosition& at) {
  if (dataset_->is_stream()) return read_stream(batch, at);
  const BatchOrigin origin = origin_of(at);
  const Range rows = options_.division.rows(origin.size);
  choose(origin, rows);
  resize(batch, rows.size());
  batch.origin = origin;
  batch.first_row = rows.begin;
  if (rows.size() > 0)
    dataset_->read(indices_.data(), rows.size(), inputs_of(batch), batch.labels.data(), batch.values.data());
  for (size_t i = 0; i < batch.weights.size(); ++i) batch.weights[i] = dataset_->weight_of(indices_[i]);
  augment(batch);
}

void BatchReader::read_stream(Batch& batch, const BatchPosition& at) {
  const int64_t first = at.batch * options_.batch;
  resize(batch, options_.batch);
  int64_t n = dataset_->read_stream({at.epoch, first}, options_.batch, inputs_of(batch), batch.labels.data(),
                                    batch.values.data());
  const bool is_end = n < options_.batch;
  if (is_end && options_.drop_last) n = 0;
  resize(batch, n);
  BatchOrigin origin{at, {at.epoch, at.batch + 1, at.batches}, {}, first, n};
  if (is_end) {
    origin.at.batches = at.batch + (n > 0 ? 1 : 0);
    origin.next = {at.epoch + 1, 0, origin.at.batches};
  }
  if (augmentation_) origin.order.augmentation = augmentation_->digest();
  batch.origin = origin;
  keep_rows(batch, options_.division.rows(n));
  augment(batch);
}

void BatchReader::augment(Batch& batch) {
  if (!augmentation_) return;
  const uint64_t key = Augmentation::key_of(options_.seed, batch.origin->at.epoch);
  const int64_t first = batch.origin->first + batch.first_row, elements = dataset_->sample_elements();
  for (int64_t i = 0; i < batch.size(); ++i) augmentation_->apply(key, first + i, batch.inputs.data() + i * elements);
}

// Drops the rows that other processes compute.
void BatchReader::keep_rows(Batch& batch, Range rows) const {
  batch.first_row = rows.begin;
  if (rows.size() == batch.size()) return;
  const auto move = [&](auto& data, int64_t elements) {
    if (!data.empty())
      std::copy(data.begin() + rows.begin * elements, data.begin() + rows.end * elements, data.begin());
  };
  move(batch.tokens, dataset_->sample_elements());
  move(batch.inputs, dataset_->sample_elements());
  move(batch.labels, dataset_->label_size());
  move(batch.values, dataset_->value_size());
  resize(batch, rows.size());
}

void BatchReader::resize(Batch& batch, int64_t n) const {
  batch.shape[0] = n;
  const auto elements = static_cast<size_t>(n * dataset_->sample_elements());
  if (has_tokens(batch))
    batch.tokens.resize(elements);
  else
    batch.inputs.resize(elements);
  batch.labels.resize(static_cast<size_t>(n * dataset_->label_size()));
  batch.values.resize(static_cast<size_t>(n * dataset_->value_size()));
  batch.weights.resize(dataset_->form().is_weighted ? static_cast<size_t>(n) : 0);
}

}  // namespace troika
