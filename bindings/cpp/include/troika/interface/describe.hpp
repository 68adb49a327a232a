/** @file interface/describe.hpp Options and results of describe.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_DESCRIBE_HPP
#define TROIKA_INTERFACE_DESCRIBE_HPP

#include <troika/interface/defaults.hpp>
#include <troika/interface/trainer_options.hpp>

namespace troika {
inline namespace v1 {

/** Description of a layer. Filled by Model::describe_layer. */
struct LayerInfo {
  /** The first of them; 0 beyond the last. */
  ShortList<Value, 8> inputs = {};
  /** The layer's output. */
  Value output = {};
  /** Elements of the layer's parameters. */
  std::int64_t parameters = {};
  /** Operations of the forward pass for one sample. */
  double operations = {};
  /** Type of the output: Dtype::f32 and so on. */
  Dtype dtype = {};
  /** Shape of one sample's output; 0 beyond rank. */
  Dims dims = {};
  /** "conv2d" for a layer of Model::add_conv2d, and so on; "input" for the input. */
  std::string kind = {};
  /** "layer1.0.conv1". */
  std::string name = {};
};

namespace detail {

template <>
struct Converter<LayerInfo> {
  using Struct = troika_layer_info;
  static LayerInfo from(const troika_layer_info& from) {
    LayerInfo to;
    to.inputs = convert_part<ShortList<Value, 8>>(from.inputs, from.input_count);
    to.output = convert<Value>(from.output);
    to.parameters = convert<std::int64_t>(from.parameters);
    to.operations = convert<double>(from.operations);
    to.dtype = convert<Dtype>(from.dtype);
    to.dims = convert_part<Dims>(from.dims, from.rank);
    to.kind = convert<std::string>(from.kind);
    to.name = convert<std::string>(from.name);
    return to;
  }
};

}  // namespace detail

/** Description of a model. Filled by Model::describe. */
struct ModelInfo {
  /** 1: the output is set. */
  bool is_complete = {};
  /** Layers, with the input as layer 0. */
  std::int32_t layers = {};
  /** Parameters and buffers together. */
  std::int32_t entries = {};
  /** Elements of all parameters. */
  std::int64_t parameters = {};
  /** Operations of the forward pass for one sample; a product and its sum are 2. */
  double operations = {};
  /** Dtype::f32, or Dtype::i32 for tokens; 0 without an input. */
  Dtype input_dtype = {};
  /** Shape of a sample; 0 beyond input_rank. */
  Dims input_dims = {};
  /** Dtype::f32; 0 if the model is not complete. */
  Dtype output_dtype = {};
  /** Shape of one sample's output. */
  Dims output_dims = {};
  /** The model's name. */
  std::string name = {};
};

namespace detail {

template <>
struct Converter<ModelInfo> {
  using Struct = troika_model_info;
  static ModelInfo from(const troika_model_info& from) {
    ModelInfo to;
    to.is_complete = convert<bool>(from.is_complete);
    to.layers = convert<std::int32_t>(from.layers);
    to.entries = convert<std::int32_t>(from.entries);
    to.parameters = convert<std::int64_t>(from.parameters);
    to.operations = convert<double>(from.operations);
    to.input_dtype = convert<Dtype>(from.input_dtype);
    to.input_dims = convert_part<Dims>(from.input_dims, from.input_rank);
    to.output_dtype = convert<Dtype>(from.output_dtype);
    to.output_dims = convert_part<Dims>(from.output_dims, from.output_rank);
    to.name = convert<std::string>(from.name);
    return to;
  }
};

}  // namespace detail

/** Description of a trainer. Filled by Trainer::describe. */
struct TrainerInfo {
  /** Devices, and replicas, of this process. */
  std::int32_t device_count = {};
  /** How the devices of all processes share the work; no part is 0. */
  Mesh mesh = {};
  /** Steps done, also those before a training state was loaded. */
  std::int64_t step = {};
  /** The rate of the next step, with schedule. */
  double learning_rate = {};
  /** The scale of the next step; 1 without. */
  double loss_scale = {};
  /** Elements of the parameters that are trained. */
  std::int64_t trained_elements = {};
  /** Parameters that are trained. */
  std::int32_t trained_entries = {};
  /** 1; 0 after an error that is permanent: Status::detached, Status::comm. */
  bool is_usable = {};
};

namespace detail {

template <>
struct Converter<TrainerInfo> {
  using Struct = troika_trainer_info;
  static TrainerInfo from(const troika_trainer_info& from) {
    TrainerInfo to;
    to.device_count = convert<std::int32_t>(from.device_count);
    to.mesh = convert<Mesh>(from.mesh);
    to.step = convert<std::int64_t>(from.step);
    to.learning_rate = convert<double>(from.learning_rate);
    to.loss_scale = convert<double>(from.loss_scale);
    to.trained_elements = convert<std::int64_t>(from.trained_elements);
    to.trained_entries = convert<std::int32_t>(from.trained_entries);
    to.is_usable = convert<bool>(from.is_usable);
    return to;
  }
};

}  // namespace detail

/** Description of a value. Filled by Model::describe_value. */
struct ValueInfo {
  /** Index of the layer whose output the value is. */
  std::int32_t layer = {};
  /** Dtype::f32 and so on. */
  Dtype dtype = {};
  /** Shape of one sample's value; 0 beyond rank. */
  Dims dims = {};
};

namespace detail {

template <>
struct Converter<ValueInfo> {
  using Struct = troika_value_info;
  static ValueInfo from(const troika_value_info& from) {
    ValueInfo to;
    to.layer = convert<std::int32_t>(from.layer);
    to.dtype = convert<Dtype>(from.dtype);
    to.dims = convert_part<Dims>(from.dims, from.rank);
    return to;
  }
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
