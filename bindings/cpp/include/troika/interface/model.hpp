/** @file interface/model.hpp Options and results of model.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_MODEL_HPP
#define TROIKA_INTERFACE_MODEL_HPP

#include <troika/interface/defaults.hpp>

namespace troika {
inline namespace v1 {

/** Options of Model::load. */
struct LoadOptions {
  /** 0 (default): names that differ are Status::mismatch. 1: loads the names that are in both. */
  bool allow_partial = detail::initial<bool, &troika_load_options::allow_partial>();
  /** Removed from the beginning of every name in the file, such as "module."; NULL: none. */
  std::optional<std::string> strip_prefix =
      detail::initial<std::optional<std::string>, &troika_load_options::strip_prefix>();
  /** 0 (default): shapes or dtypes that differ are Status::mismatch. 1: such parameters keep
   *  their values, and the report names them: for a last layer of another number of classes. */
  bool skip_mismatching = detail::initial<bool, &troika_load_options::skip_mismatching>();
  /** Patterns of names in the model, separated by commas, such as "fc.*": parameters and buffers
   *  that keep their values, whatever the file has. NULL: none. */
  std::optional<std::string> skip = detail::initial<std::optional<std::string>, &troika_load_options::skip>();
  /** The model's names for those of the file, after strip_prefix: rules "name in file=name in
   *  model", separated by commas. The first rule that fits a whole name applies; * is any run of
   *  characters, the same on both sides: "encoder.*=backbone.*". Also the name of a table: "d2l"
   *  for the ResNet-18 of Dive into Deep Learning, "torchvision" for torchvision's models, also
   *  within a module. NULL: the file has the model's names. */
  std::optional<std::string> name_map = detail::initial<std::optional<std::string>, &troika_load_options::name_map>();
};

namespace detail {

template <>
struct Raw<LoadOptions> {
  explicit Raw(const LoadOptions& from) {
    value.allow_partial = from.allow_partial ? 1 : 0;
    value.strip_prefix = c_text(from.strip_prefix, "strip_prefix");
    value.skip_mismatching = from.skip_mismatching ? 1 : 0;
    value.skip = c_text(from.skip, "skip");
    value.name_map = c_text(from.name_map, "name_map");
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_load_options* get() const noexcept { return &value; }

  troika_load_options value = defaults<troika_load_options>();
};

}  // namespace detail

/** Report on loading. Filled by Model::load. */
struct LoadReport {
  /** Parameters and buffers that took a value. */
  std::int32_t loaded = {};
  /** In the model, not in the file; num_batches_tracked is never missing. */
  std::int32_t missing = {};
  /** In the file, not in the model. */
  std::int32_t unexpected = {};
  /** In both, with another shape or dtype. */
  std::int32_t mismatching = {};
  /** In the model, and not loaded because of skip. */
  std::int32_t kept = {};
  /** The first missing, unexpected and mismatching names, in whole lines, one line per name:
   *  "missing fc.bias", "unexpected x", "mismatching x: file F32 [9], model F32 [5]". If not all
   *  fit, the last line is "... and N more". */
  std::string names = {};
};

namespace detail {

template <>
struct Converter<LoadReport> {
  using Struct = troika_load_report;
  static LoadReport from(const troika_load_report& from) {
    LoadReport to;
    to.loaded = convert<std::int32_t>(from.loaded);
    to.missing = convert<std::int32_t>(from.missing);
    to.unexpected = convert<std::int32_t>(from.unexpected);
    to.mismatching = convert<std::int32_t>(from.mismatching);
    to.kept = convert<std::int32_t>(from.kept);
    to.names = convert<std::string>(from.names);
    return to;
  }
};

}  // namespace detail

/** Options of Model. A field that is unset takes the model's own default. */
struct ModelOptions {
  /** Outputs of the last layer. Default 10 (d2l_*, resnet9, mlp), 1000 (resnet18, 34 and 50) or
   *  256 (char_lstm: also the words of its embedding). */
  std::int64_t classes = detail::initial<std::int64_t, &troika_model_options::classes>();
  /** Default 1 (d2l_*, resnet9, mlp) or 3 (resnet18, 34 and 50). */
  std::int64_t input_channels = detail::initial<std::int64_t, &troika_model_options::input_channels>();
  /** Default 28 (d2l_*, resnet9, mlp) or 224 (resnet18, 34 and 50). */
  std::int64_t input_height = detail::initial<std::int64_t, &troika_model_options::input_height>();
  /** Default: input_height if that is set, else as its default. */
  std::int64_t input_width = detail::initial<std::int64_t, &troika_model_options::input_width>();
  /** Units of the hidden layer; default 256 (mlp) or 128 (char_lstm). */
  std::int64_t hidden = detail::initial<std::int64_t, &troika_model_options::hidden>();
  /** char_lstm: tokens of a sample, default 64. */
  std::int64_t steps = detail::initial<std::int64_t, &troika_model_options::steps>();
};

namespace detail {

template <>
struct Raw<ModelOptions> {
  explicit Raw(const ModelOptions& from) {
    value.classes = from.classes;
    value.input_channels = from.input_channels;
    value.input_height = from.input_height;
    value.input_width = from.input_width;
    value.hidden = from.hidden;
    value.steps = from.steps;
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  const troika_model_options* get() const noexcept { return &value; }

  troika_model_options value = defaults<troika_model_options>();
};

}  // namespace detail

/** Description of a parameter or buffer. Filled by Model::describe_parameter. */
struct ParameterInfo {
  /** Dtype::f32, or Dtype::i64 for num_batches_tracked. */
  Dtype dtype = {};
  /** 1: a buffer that no optimizer updates (running statistics). */
  bool is_buffer = {};
  /** 1: it has a value. */
  bool is_initialized = {};
  /** Sizes; 0 beyond rank. */
  Dims dims = {};
  /** "conv1.weight". */
  std::string name = {};
};

namespace detail {

template <>
struct Converter<ParameterInfo> {
  using Struct = troika_parameter_info;
  static ParameterInfo from(const troika_parameter_info& from) {
    ParameterInfo to;
    to.dtype = convert<Dtype>(from.dtype);
    to.is_buffer = convert<bool>(from.is_buffer);
    to.is_initialized = convert<bool>(from.is_initialized);
    to.dims = convert_part<Dims>(from.dims, from.rank);
    to.name = convert<std::string>(from.name);
    return to;
  }
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
