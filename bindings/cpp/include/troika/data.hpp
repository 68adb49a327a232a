/** @file data.hpp Datasets, loaders and batches. */
#ifndef TROIKA_DATA_HPP
#define TROIKA_DATA_HPP

#include <troika/tensor.hpp>

#include <atomic>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace troika {
inline namespace v1 {
namespace detail {

inline std::string message_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception of unknown type";
  }
}

/**
 * Exceptions of a callback, from the loader's thread to the call that waits for the batch. The
 * message that travels through the library begins with a mark, by which the call finds its
 * exception.
 */
class KeptExceptions {
 public:
  void keep(const std::exception_ptr& exception, troika_error* error) noexcept {
    try {
      static std::atomic<std::uint64_t> count{0};
      std::string mark = "exception " + std::to_string(++count) + ": ";
      std::snprintf(error->message, sizeof error->message, "%s%s", mark.c_str(), message_of(exception).c_str());
      const std::lock_guard lock(mutex_);
      kept_[std::this_thread::get_id()] = {std::move(mark), exception};
    } catch (const std::exception&) {  // no memory: the call that waits throws Error instead
    }
  }

  /** Throws the exception of a message, if it is one of these. */
  void rethrow(const std::string& message) {
    std::exception_ptr found;
    {
      const std::lock_guard lock(mutex_);
      const auto place = std::find_if(kept_.begin(), kept_.end(), [&](const auto& kept) {
        return message.compare(0, kept.second.mark.size(), kept.second.mark) == 0;
      });
      if (place != kept_.end()) found = kept_.extract(place).mapped().exception;
    }
    if (found) std::rethrow_exception(found);
  }

 private:
  struct Kept {
    std::string mark;
    std::exception_ptr exception;
  };
  std::mutex mutex_;
  // A loader's thread goes on when its exception has been thrown, so one per thread is enough.
  std::map<std::thread::id, Kept> kept_;
};

/** The callback of a dataset, and the sizes of a sample. */
struct SourceUser {
  ReadFunction read;
  Dtype dtype;
  std::int64_t elements, labels, values;
  std::shared_ptr<KeptExceptions> exceptions;
};

inline std::int64_t TROIKA_CALL call_read(const troika_read_request* from, troika_error* error, void* user) {
  const auto& source = *static_cast<const SourceUser*>(user);
  try {
    const auto size = [from](const void* data, std::int64_t each) {
      return data ? static_cast<std::size_t>(from->n * each) : 0;
    };
    auto request = convert<ReadRequest>(*from);
    request.indices = {from->indices, size(from->indices, 1)};
    request.inputs = {source.dtype, from->inputs, size(from->inputs, source.elements)};
    request.labels = {from->labels, size(from->labels, source.labels)};
    request.values = {from->values, size(from->values, source.values)};
    const std::int64_t n = source.read(request);
    if (n == stop_reading) error->status = TROIKA_STOPPED;
    return n;
  } catch (...) {
    source.exceptions->keep(std::current_exception(), error);
    return -1;
  }
}

}  // namespace detail

/** Samples and their targets. It never changes: any thread, any number of calls. */
class Dataset : public Object<troika_dataset> {
 public:
  Dataset() noexcept = default;
  explicit Dataset(troika_dataset owned) noexcept : Object(owned) {}

  /** Reads images and labels from two IDX files, plain or gzipped: samples f32 [c, h, w]. */
  static Dataset open_idx(const Context& context, const std::string& images_path, const std::string& labels_path,
                          const DatasetOptions& options = {}) {
    return make(troika_dataset_open_idx, detail::handle_of(context), detail::c_text(images_path, "images_path"),
                detail::c_text(labels_path, "labels_path"), detail::Raw<DatasetOptions>(options).get());
  }

  /** Reads the "train" or "test" files of a folder with the files of MNIST or CIFAR. */
  static Dataset open_directory(const Context& context, const std::string& directory, const std::string& split,
                                const DatasetOptions& options = {}) {
    return make(troika_dataset_open_directory, detail::handle_of(context), detail::c_text(directory, "directory"),
                detail::c_text(split, "split"), detail::Raw<DatasetOptions>(options).get());
  }

  /** Copies `inputs` [n, dims...] and one label per sample. */
  static Dataset create_arrays(const Context& context, Span<const float> inputs, Span<const std::int64_t> dims,
                               Span<const std::int32_t> labels) {
    const auto n = static_cast<std::int64_t>(labels.size());
    detail::check_elements("Dataset: inputs", inputs.size(), n, dims);
    return make(troika_dataset_create_arrays, detail::handle_of(context), not_null(inputs), dims.data(),
                detail::length(dims), n, not_null(labels), static_cast<const float*>(nullptr), std::int64_t{1});
  }

  /** Copies `inputs` [n, dims...] and `values` [n, value_size]. */
  static Dataset create_arrays(const Context& context, Span<const float> inputs, Span<const std::int64_t> dims,
                               Span<const float> values, std::int64_t value_size) {
    const std::int64_t n = detail::rows("Dataset: values", values.size(), value_size);
    detail::check_elements("Dataset: inputs", inputs.size(), n, dims);
    return make(troika_dataset_create_arrays, detail::handle_of(context), not_null(inputs), dims.data(),
                detail::length(dims), n, static_cast<const std::int32_t*>(nullptr), not_null(values), value_size);
  }

  /** Makes `n` samples that a network can learn: sample i has the label i modulo `classes`. */
  static Dataset create_synthetic(const Context& context, Span<const std::int64_t> dims, std::int64_t n,
                                  std::int64_t classes, std::uint64_t seed = 0) {
    return make(troika_dataset_create_synthetic, detail::handle_of(context), dims.data(), detail::length(dims), n,
                classes, seed);
  }

  /** Cuts a stream of u8 or i32 into windows. The label of a token is the token after it. */
  static Dataset create_token_stream(const Context& context, Elements tokens, std::int64_t steps) {
    return make(troika_dataset_create_token_stream, detail::handle_of(context), tokens.data(),
                static_cast<std::int32_t>(tokens.dtype()), static_cast<std::int64_t>(tokens.size()), steps);
  }

  /**
   * Copies sequences of u8 or i32 tokens [n, steps], and `labels` [n, label_size]: one per
   * sequence, or one per token. A label may also be `ignore_index`.
   */
  static Dataset create_tokens(const Context& context, Elements tokens, std::int64_t steps,
                               Span<const std::int32_t> labels, std::int64_t label_size = 1,
                               std::int64_t ignore_index = unset) {
    const std::int64_t n = detail::rows("Dataset: tokens", tokens.size(), steps);
    detail::check_elements("Dataset: labels", labels.size(), n, {label_size});
    return make(troika_dataset_create_tokens, detail::handle_of(context), tokens.data(),
                static_cast<std::int32_t>(tokens.dtype()), n, steps, labels.data(), label_size, ignore_index);
  }

  /**
   * Makes a dataset of `inputs` [n, dims...] and `targets` [n, target_size] of any type, copied or
   * borrowed. Without targets, `{}`, it serves only to predict. Borrowed elements must not change
   * until `arrays.destroy` is called.
   */
  static Dataset create_from(const Context& context, Elements inputs, Elements targets, const Arrays& arrays) {
    const bool has_targets = targets.data() != nullptr;
    const std::int64_t n = has_targets
                               ? detail::rows("Dataset: targets", targets.size(), arrays.target_size)
                               : detail::rows("Dataset: inputs", inputs.size(), detail::elements_of(arrays.dims));
    detail::check_elements("Dataset: inputs", inputs.size(), n, arrays.dims);
    detail::Raw<Arrays> raw(arrays);
    raw.value.dtype = static_cast<std::int32_t>(inputs.dtype());
    raw.value.inputs = inputs.data();
    raw.value.n = n;
    if (has_targets) raw.value.target_dtype = static_cast<std::int32_t>(targets.dtype());
    raw.value.targets = targets.data();
    const troika_context handle = detail::handle_of(context);
    // The library calls the function and ends it, perhaps before it returns; but not if it fails.
    auto* const destroy = arrays.destroy ? new DestroyFunction(arrays.destroy) : nullptr;
    if (destroy) raw.value.destroy = detail::call_destroy;
    raw.value.user = destroy;
    try {
      return make(troika_dataset_create_from, handle, raw.get());
    } catch (...) {
      delete destroy;
      throw;
    }
  }

  /** Makes a dataset that a function of the host reads, in any order or as a stream. */
  static Dataset create_callback(const Context& context, const Source& source) {
    auto exceptions = std::make_shared<detail::KeptExceptions>();
    detail::Raw<Source> raw(source);
    auto user = std::make_unique<detail::SourceUser>(detail::SourceUser{
        source.read, source.dtype, detail::elements_of(source.dims), source.label_size, source.value_size, exceptions});
    if (source.read) raw.value.read = detail::call_read;
    raw.value.user = user.get();
    raw.value.user_destroy = detail::delete_user<detail::SourceUser>;
    Dataset dataset = make(troika_dataset_create_callback, detail::handle_of(context), raw.get());
    (void)user.release();  // the library's from now on
    dataset.exceptions_.push_back(std::move(exceptions));
    return dataset;
  }

  /** Returns the samples at `indices`, in that order; an index may occur several times. */
  Dataset subset(Span<const std::int64_t> indices) const {
    Dataset part = make(troika_dataset_subset, detail::handle_of(*this), indices.data(),
                        static_cast<std::int64_t>(indices.size()));
    part.exceptions_ = exceptions_;
    return part;
  }

  /** Returns the samples with weights in losses, one each, for trainers with `sample_weights`. */
  Dataset weigh(Span<const float> weights) const {
    Dataset weighted = make(troika_dataset_weigh, detail::handle_of(*this), weights.data(),
                            static_cast<std::int64_t>(weights.size()));
    weighted.exceptions_ = exceptions_;
    return weighted;
  }

  /** Cuts the dataset into parts of `sizes[i]` samples, which are drawn if `shuffle` is true. */
  std::vector<Dataset> split(Span<const std::int64_t> sizes, bool shuffle = false, std::uint64_t seed = 0) const {
    std::vector<troika_dataset> handles(sizes.size());
    std::vector<Dataset> parts(sizes.size());
    detail::call(troika_dataset_split, detail::handle_of(*this), sizes.data(), detail::length(sizes), shuffle ? 1 : 0,
                 seed, handles.data());
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = Dataset(handles[i]);
    for (Dataset& part : parts) part.exceptions_ = exceptions_;
    return parts;
  }

  /** Returns the samples of several datasets of one form, one after another: `concat({a, b})`. */
  static Dataset concat(Span<const std::reference_wrapper<const Dataset>> datasets) {
    std::vector<troika_dataset> handles;
    std::vector<std::shared_ptr<detail::KeptExceptions>> exceptions;
    for (const Dataset& dataset : datasets) {
      handles.push_back(detail::handle_of(dataset));
      exceptions.insert(exceptions.end(), dataset.exceptions_.begin(), dataset.exceptions_.end());
    }
    Dataset all = make(troika_dataset_concat, handles.data(), detail::length(handles));
    all.exceptions_ = std::move(exceptions);
    return all;
  }

  /** Returns the number and the form of samples and targets. */
  DatasetInfo describe() const { return detail::fill<DatasetInfo>(troika_dataset_describe, detail::handle_of(*this)); }

 private:
  friend class Loader;

  template <typename Function, typename... Arguments>
  static Dataset make(Function function, Arguments... arguments) {
    return Dataset(detail::make<troika_dataset>(function, arguments...));
  }

  /** No elements may have no address, which means something else in C. */
  template <typename T>
  static const T* not_null(Span<const T> elements) {
    static constexpr T kNone{};
    return elements.data() ? elements.data() : &kNone;
  }

  std::vector<std::shared_ptr<detail::KeptExceptions>> exceptions_;  // of callbacks that it reads
};

/**
 * A batch: inputs [n, ...], f32 or i32, and targets. Several threads may read it at once.
 *
 * A loader's batch is valid until the next call on the loader: a later call throws Error with
 * invalid_argument. It is closed when its loader ends.
 */
class Batch : public Object<troika_batch> {
 public:
  Batch() noexcept = default;
  explicit Batch(troika_batch owned) noexcept : Object(owned) {}
  Batch(Batch&&) noexcept = default;
  Batch& operator=(Batch&& other) noexcept {
    if (this == &other) return *this;
    close();
    Object::operator=(std::move(other));
    loader_ = std::move(other.loader_);
    return *this;
  }
  ~Batch() { close(); }

  /** Copies inputs without targets, for prediction. */
  explicit Batch(const Tensor& inputs)
      : Batch(detail::make<troika_batch>(troika_batch_create, detail::handle_of(inputs),
                                         static_cast<troika_tensor>(nullptr))) {}

  /** Copies inputs, and targets: labels i32 [n, ...] or values f32 [n, k]. */
  Batch(const Tensor& inputs, const Tensor& targets)
      : Batch(detail::make<troika_batch>(troika_batch_create, detail::handle_of(inputs), detail::handle_of(targets))) {}

  /** Copies inputs, targets, and weights f32 [n] of samples, for trainers with `sample_weights`. */
  static Batch create_weighted(const Tensor& inputs, const Tensor& targets, const Tensor& weights) {
    return Batch(detail::make<troika_batch>(troika_batch_create_weighted, detail::handle_of(inputs),
                                            detail::handle_of(targets), detail::handle_of(weights)));
  }

  /** Copies inputs and weights f32 [n] without targets, for prediction and for `own_loss`. */
  static Batch create_weighted(const Tensor& inputs, const Tensor& weights) {
    return Batch(detail::make<troika_batch>(troika_batch_create_weighted, detail::handle_of(inputs),
                                            static_cast<troika_tensor>(nullptr), detail::handle_of(weights)));
  }

  /** Returns a copy, such as of a loader's batch that the caller wants to keep. */
  Batch copy() const { return Batch(detail::make<troika_batch>(troika_batch_copy, detail::handle_of(*this))); }

  /** Returns the handle, for functions of C; NULL if the batch is closed. */
  troika_batch get() const noexcept { return loader_ && loader_->expired() ? nullptr : Object::get(); }
  explicit operator bool() const noexcept { return get() != nullptr; }

  /** Ends the batch at once. Closing again does nothing. */
  void close() noexcept {
    if (loader_) (void)release();  // the loader's
    Object::close();
  }

  /**
   * Describes the batch and lends its memory: the views end with the batch; those of a loader's
   * batch end with the next call on the loader.
   */
  BatchInfo describe() const& {
    auto raw = detail::defaults<troika_batch_info>();
    detail::call(troika_batch_describe, detail::handle_of(*this), &raw);
    auto info = detail::convert<BatchInfo>(raw);
    const auto elements = static_cast<std::size_t>(detail::elements_of(info.dims));
    if (raw.inputs) info.inputs = {raw.inputs, elements};
    if (raw.tokens) info.tokens = {raw.tokens, elements};
    if (raw.labels) info.labels = {raw.labels, static_cast<std::size_t>(raw.n * raw.label_size)};
    if (raw.weights) info.weights = {raw.weights, static_cast<std::size_t>(raw.n)};
    if (raw.values) info.values = {raw.values, static_cast<std::size_t>(raw.n * raw.value_size)};
    return info;
  }
  BatchInfo describe() const&& = delete;

 private:
  friend class Loader;
  Batch(troika_batch lent, std::weak_ptr<void> loader) noexcept : Object(lent), loader_(std::move(loader)) {}

  std::optional<std::weak_ptr<void>> loader_;  // of a loader's batch, whose handle the loader destroys
};

/**
 * Batches of a dataset, epoch after epoch.
 *
 *     for (troika::Batch& batch : loader) trainer.step(batch);
 *
 * The loop takes the rest of the epoch; the next loop begins the next epoch. One call at a time,
 * else Error with busy is thrown.
 */
class Loader : public Object<troika_loader> {
 public:
  Loader() noexcept : life_(nullptr) {}
  explicit Loader(troika_loader owned) : Object(owned) {}

  /** Starts at batch 0 of epoch 0. `options.batch` must be set; `weights` are one per sample. */
  Loader(const Dataset& dataset, const LoaderOptions& options)
      : Object(create(dataset, options)), exceptions_(dataset.exceptions_) {
    const std::int64_t n = dataset.describe().n;
    most_samples_ = options.weights.empty() || options.epoch_samples == 0 ? n : options.epoch_samples;
  }

  /**
   * Returns the next batch. Returns nothing at the end of the epoch, and if the dataset's callback
   * stopped: `status` says which. Throws the exception of a dataset's callback; the loader is then
   * still before that batch.
   */
  std::optional<Batch> next() {
    troika_batch batch = nullptr;
    status_ = call(troika_loader_next, detail::handle_of(*this), &batch);
    return batch ? std::optional<Batch>(Batch(batch, life_)) : std::nullopt;
  }

  /** Returns how the last `next` ended: ok, end_of_data or stopped. */
  Status status() const noexcept { return status_; }

  /** Returns the position: the batch that `next` returns next. */
  LoaderPosition tell() const { return detail::fill<LoaderPosition>(troika_loader_tell, detail::handle_of(*this)); }

  /** Moves to a position, to resume in the middle of an epoch. */
  void seek(const LoaderPosition& position) {
    detail::call(troika_loader_seek, detail::handle_of(*this), detail::Raw<LoaderPosition>(position).get());
  }

  /** Ends the loader and its batch. Waits for a callback of the dataset that runs for it. */
  void close() noexcept {
    life_.reset();
    Object::close();
  }

  /** The end of an epoch. */
  struct End {};

  /** Iterates over `next`. It borrows the loader, which must not move or end meanwhile. */
  class Iterator {
   public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(Loader& loader) : loader_(&loader), batch_(loader.next()) {}
    Batch& operator*() const noexcept { return *batch_; }
    Batch* operator->() const noexcept { return &*batch_; }
    Iterator& operator++() {
      batch_ = loader_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& iterator, End) noexcept { return !iterator.batch_; }
    friend bool operator!=(const Iterator& iterator, End) noexcept { return iterator.batch_.has_value(); }

   private:
    Loader* loader_;
    mutable std::optional<Batch> batch_;
  };

  /** Begins with `next`. A temporary loader is refused: its batches would end with it. */
  Iterator begin() & { return Iterator(*this); }
  Iterator begin() && = delete;
  End end() & noexcept { return {}; }
  End end() && = delete;

 private:
  friend class Trainer;

  static troika_loader create(const Dataset& dataset, const LoaderOptions& options) {
    detail::Raw<LoaderOptions> raw(options);
    if (!options.weights.empty()) {
      detail::check_elements("LoaderOptions: weights", options.weights.size(), dataset.describe().n, {});
      raw.value.weights = options.weights.data();
    }
    return detail::make<troika_loader>(troika_loader_create, detail::handle_of(dataset), raw.get());
  }

  /** Calls a function that may read the dataset, and throws the exception of its callback. */
  template <typename Function, typename... Arguments>
  Status call(Function function, Arguments... arguments) const {
    try {
      return detail::call(function, arguments...);
    } catch (const Error& error) {
      if (error.status() == Status::callback)
        for (const auto& each : exceptions_) each->rethrow(error.what());
      throw;
    }
  }

  std::shared_ptr<void> life_ = std::make_shared<char>();  // ends with the loader, and closes its batch
  Status status_ = Status::ok;
  std::int64_t most_samples_ = -1;  // of an epoch; below 0: not known
  std::vector<std::shared_ptr<detail::KeptExceptions>> exceptions_;
};

}  // namespace v1
}  // namespace troika

#endif
