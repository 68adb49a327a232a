/** @file interface/data.hpp Options and results of data.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_DATA_HPP
#define TROIKA_INTERFACE_DATA_HPP

#include <troika/interface/defaults.hpp>

namespace troika {
inline namespace v1 {

/** Arrays of samples and targets. */
struct Arrays {
  /** Shape of a sample: rank sizes. Must be set. Copied. */
  std::vector<std::int64_t> dims = {};
  /** 1: samples are tokens; dtype is Dtype::u8, Dtype::i32 or Dtype::i64. 0 (default): samples
   *  are numbers, which become f32. */
  bool tokens = detail::initial<bool, &troika_arrays::tokens>();
  /** 1: the arrays are not copied. The caller must not change them until destroy is called.
   *  Default 0. */
  bool borrow = detail::initial<bool, &troika_arrays::borrow>();
  /** Labels or values of a sample; default 1. */
  std::int64_t target_size = detail::initial<std::int64_t, &troika_arrays::target_size>();
  /** A number x becomes (x - mean) / std. A u8 number p is x = p / 255. Computed in f32 for
   *  Dtype::u8, Dtype::f16, Dtype::bf16 and Dtype::f32, in f64 for other types. Default 0;
   *  tokens need 0 and 1. */
  double mean = detail::initial<double, &troika_arrays::mean>();
  /** Above 0; default 1. */
  double std = detail::initial<double, &troika_arrays::std>();
  /** A label that weighs nothing; unset (default): none. */
  std::int64_t ignore_index = detail::initial<std::int64_t, &troika_arrays::ignore_index>();
  /** Called once with user when the library no longer needs the arrays: if they are not
   *  borrowed, before the call returns; otherwise by the call or the thread that gives up the
   *  last hold. If the call fails, it is not called. NULL: no call. */
  DestroyFunction destroy = {};
};

namespace detail {

template <>
struct Raw<Arrays> {
  explicit Raw(const Arrays& from) {
    value.dims = address(from.dims);
    value.rank = length(from.dims);
    value.tokens = from.tokens ? 1 : 0;
    value.borrow = from.borrow ? 1 : 0;
    value.target_size = from.target_size;
    value.mean = from.mean;
    value.std = from.std;
    value.ignore_index = from.ignore_index;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_arrays* get() const noexcept { return &value; }

  troika_arrays value = defaults<troika_arrays>();
};

}  // namespace detail

/** Description of a batch. Filled by Batch::describe. */
struct BatchInfo {
  /** Samples. */
  std::int64_t n = {};
  /** Shape of the inputs, [n, ...]. */
  Dims dims = {};
  /** Borrowed: f32, row-major; NULL if inputs are tokens. */
  Span<const float> inputs = {};
  /** Borrowed: i32 [n, label_size]; NULL without labels. */
  Span<const std::int32_t> labels = {};
  /** Borrowed: f32 [n, value_size]; NULL without values. */
  Span<const float> values = {};
  /** Values per sample; 0 without values. */
  std::int64_t value_size = {};
  /** Borrowed: i32, row-major; NULL if inputs are f32. */
  Span<const std::int32_t> tokens = {};
  /** Labels per sample; 0 without labels. */
  std::int64_t label_size = {};
  /** Borrowed: f32 [n], of the samples; NULL: 1 each. */
  Span<const float> weights = {};
};

namespace detail {

template <>
struct Converter<BatchInfo> {
  using Struct = troika_batch_info;
  static BatchInfo from(const troika_batch_info& from) {
    BatchInfo to;
    to.n = convert<std::int64_t>(from.n);
    to.dims = convert_part<Dims>(from.dims, from.rank);
    to.value_size = convert<std::int64_t>(from.value_size);
    to.label_size = convert<std::int64_t>(from.label_size);
    return to;
  }
};

}  // namespace detail

/** Description of a dataset. Filled by Dataset::describe. */
struct DatasetInfo {
  /** Samples; -1 for a stream. */
  std::int64_t n = {};
  /** Shape of a sample, such as {1, 28, 28}. */
  Dims dims = {};
  /** The largest label + 1, without ignored labels. In a stream of tokens: words. A dataset of a
   *  callback has the host's number. If targets are no labels: 0. */
  std::int64_t classes = {};
  /** Labels per sample; 0 if targets are no labels. */
  std::int64_t label_size = {};
  /** Tokens: the largest token + 1. 0 for other samples. */
  std::int64_t words = {};
  /** Type of samples: Dtype::f32, or Dtype::i32 for tokens. */
  Dtype dtype = {};
};

namespace detail {

template <>
struct Converter<DatasetInfo> {
  using Struct = troika_dataset_info;
  static DatasetInfo from(const troika_dataset_info& from) {
    DatasetInfo to;
    to.n = convert<std::int64_t>(from.n);
    to.dims = convert_part<Dims>(from.dims, from.rank);
    to.classes = convert<std::int64_t>(from.classes);
    to.label_size = convert<std::int64_t>(from.label_size);
    to.words = convert<std::int64_t>(from.words);
    to.dtype = convert<Dtype>(from.dtype);
    return to;
  }
};

}  // namespace detail

/** Transforms of image datasets. */
struct DatasetOptions {
  /** Bilinear resize to this height (pixel centres, no antialiasing), 1 to 65535, such as the
   *  tutorial's 96x96; unset: none. */
  std::int64_t resize_height = detail::initial<std::int64_t, &troika_dataset_options::resize_height>();
  /** As resize_height; set both or none. */
  std::int64_t resize_width = detail::initial<std::int64_t, &troika_dataset_options::resize_width>();
  /** A u8 pixel p becomes (p / 255 - mean) / std; default 0. */
  double mean = detail::initial<double, &troika_dataset_options::mean>();
  /** Default 1; above 0. */
  double std = detail::initial<double, &troika_dataset_options::std>();
};

namespace detail {

template <>
struct Raw<DatasetOptions> {
  explicit Raw(const DatasetOptions& from) {
    value.resize_height = from.resize_height;
    value.resize_width = from.resize_width;
    value.mean = from.mean;
    value.std = from.std;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_dataset_options* get() const noexcept { return &value; }

  troika_dataset_options value = defaults<troika_dataset_options>();
};

}  // namespace detail

/** Options of a loader. */
struct LoaderOptions {
  /** 1: the order is a function of (seed, epoch); 0 (default): the dataset's order. */
  bool shuffle = detail::initial<bool, &troika_loader_options::shuffle>();
  /** Samples per batch, for all devices together. Must be set. */
  std::int64_t batch = detail::initial<std::int64_t, &troika_loader_options::batch>();
  /** 1: leaves out a last batch that is smaller than batch; 0 (default): returns it. */
  bool drop_last = detail::initial<bool, &troika_loader_options::drop_last>();
  /** Batches that the loader's own thread prepares ahead, 0 to 1024; default 2; 0: no thread. */
  std::int32_t prefetch = detail::initial<std::int32_t, &troika_loader_options::prefetch>();
  /** Seed of the shuffle, of weighted sampling, and of flip and crop; default 0. */
  std::uint64_t seed = detail::initial<std::uint64_t, &troika_loader_options::seed>();
  /** Weighted sampling: n weights, one per sample of the dataset, at least 0 and not all 0. Each
   *  place of an epoch draws a sample with a probability in proportion to its weight, with
   *  replacement, as a function of (seed, epoch). Excludes shuffle. NULL (default): none.
   *  Copied. */
  std::vector<double> weights = {};
  /** Weighted sampling: samples of an epoch; 0 (default): those of the dataset. */
  std::int64_t epoch_samples = detail::initial<std::int64_t, &troika_loader_options::epoch_samples>();
  /** Reads only this process's share of each batch, for a loop of the caller's own. The samples
   *  of a batch are divided in their order, and the first ranks have one more if they do not
   *  divide evenly. A process may get none: a batch of 0 samples. All processes see the same
   *  number of batches. A trainer that has the group divides any loader by its own devices. NULL
   *  (default): whole batches. */
  troika_group group = detail::initial<troika_group, &troika_loader_options::group>();
  /** 1: each sample is mirrored left to right with probability 1/2. Only for samples f32 [c, h,
   *  w]. Random numbers are a function of (seed, epoch, place in the epoch), so each epoch has
   *  other samples, and a resumed epoch the same. GPUs do not keep the samples. 0 (default):
   *  none. */
  bool flip = detail::initial<bool, &troika_loader_options::flip>();
  /** N: each sample is shifted by -N to N pixels along its height, and along its width. Pixels
   *  beyond an edge are those before the edge, mirrored (as numpy.pad does in its mode
   *  "reflect"). N is below the height and the width. Otherwise as flip; 0 (default): none. */
  std::int32_t crop = detail::initial<std::int32_t, &troika_loader_options::crop>();
};

namespace detail {

template <>
struct Raw<LoaderOptions> {
  explicit Raw(const LoaderOptions& from) {
    value.shuffle = from.shuffle ? 1 : 0;
    value.batch = from.batch;
    value.drop_last = from.drop_last ? 1 : 0;
    value.prefetch = from.prefetch;
    value.seed = from.seed;
    value.epoch_samples = from.epoch_samples;
    value.group = from.group;
    value.flip = from.flip ? 1 : 0;
    value.crop = from.crop;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_loader_options* get() const noexcept { return &value; }

  troika_loader_options value = defaults<troika_loader_options>();
};

}  // namespace detail

/** The position of a loader: the batch that Loader::next returns next. */
struct LoaderPosition {
  /** From 0. */
  std::int64_t epoch = detail::initial<std::int64_t, &troika_loader_position::epoch>();
  /** Batch within the epoch, from 0. */
  std::int64_t batch = detail::initial<std::int64_t, &troika_loader_position::batch>();
  /** Batches in an epoch. 0 in Loader::seek: not known. For a stream: those of the last epoch
   *  that has ended, and 0 before. */
  std::int64_t batches = detail::initial<std::int64_t, &troika_loader_position::batches>();
};

namespace detail {

template <>
struct Converter<LoaderPosition> {
  using Struct = troika_loader_position;
  static LoaderPosition from(const troika_loader_position& from) {
    LoaderPosition to;
    to.epoch = convert<std::int64_t>(from.epoch);
    to.batch = convert<std::int64_t>(from.batch);
    to.batches = convert<std::int64_t>(from.batches);
    return to;
  }
};

template <>
struct Raw<LoaderPosition> {
  explicit Raw(const LoaderPosition& from) {
    value.epoch = from.epoch;
    value.batch = from.batch;
    value.batches = from.batches;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_loader_position* get() const noexcept { return &value; }

  troika_loader_position value = defaults<troika_loader_position>();
};

}  // namespace detail

/** Samples that the host is asked to write. Borrowed until the callback returns. */
struct ReadRequest {
  /** Samples to write, at least 1. */
  std::int64_t n = {};
  /** Indices of these samples; NULL for a stream. */
  Span<const std::int64_t> indices = {};
  /** A stream: the loader's epoch. Otherwise 0. */
  std::int64_t epoch = {};
  /** A stream: samples of the epoch that come before these. 0 begins the epoch, also again.
   *  After Loader::seek it may be any multiple of the batch size, even beyond the end. Otherwise
   *  0. */
  std::int64_t first = {};
  /** To be written: [n, dims...], f32, or i32 for tokens. */
  MutableElements inputs = {};
  /** To be written: [n, label_size]; NULL without labels. */
  Span<std::int32_t> labels = {};
  /** To be written: [n, value_size]; NULL without values. */
  Span<float> values = {};
};

namespace detail {

template <>
struct Converter<ReadRequest> {
  using Struct = troika_read_request;
  static ReadRequest from(const troika_read_request& from) {
    ReadRequest to;
    to.n = convert<std::int64_t>(from.n);
    to.epoch = convert<std::int64_t>(from.epoch);
    to.first = convert<std::int64_t>(from.first);
    return to;
  }
};

}  // namespace detail

/** A dataset of the host's own. */
struct Source {
  /** Dtype::f32 (default), or Dtype::i32 for tokens. */
  Dtype dtype = detail::initial<Dtype, &troika_source::dtype>();
  /** Shape of a sample: rank sizes. Must be set. Copied. */
  std::vector<std::int64_t> dims = {};
  /** Samples, which are read in any order. -1: a stream of unknown length, which is read from
   *  its first sample to its last. */
  std::int64_t n = detail::initial<std::int64_t, &troika_source::n>();
  /** Above the largest label; default 0: targets are no labels. */
  std::int64_t classes = detail::initial<std::int64_t, &troika_source::classes>();
  /** Above the largest token; must be set for tokens. */
  std::int64_t words = detail::initial<std::int64_t, &troika_source::words>();
  /** Labels of a sample, if classes is set; default 1. */
  std::int64_t label_size = detail::initial<std::int64_t, &troika_source::label_size>();
  /** Values of a sample; default 0: targets are no values. Only if classes is 0; if both are 0,
   *  samples have no targets. */
  std::int64_t value_size = detail::initial<std::int64_t, &troika_source::value_size>();
  /** A label that weighs nothing; unset (default): none. */
  std::int64_t ignore_index = detail::initial<std::int64_t, &troika_source::ignore_index>();
  /** Must be set. */
  ReadFunction read = {};
};

namespace detail {

template <>
struct Raw<Source> {
  explicit Raw(const Source& from) {
    value.dtype = static_cast<std::int32_t>(from.dtype);
    value.dims = address(from.dims);
    value.rank = length(from.dims);
    value.n = from.n;
    value.classes = from.classes;
    value.words = from.words;
    value.label_size = from.label_size;
    value.value_size = from.value_size;
    value.ignore_index = from.ignore_index;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_source* get() const noexcept { return &value; }

  troika_source value = defaults<troika_source>();
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
