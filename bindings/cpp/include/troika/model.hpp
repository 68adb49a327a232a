/** @file model.hpp Models. */
#ifndef TROIKA_MODEL_HPP
#define TROIKA_MODEL_HPP

#include <troika/tensor.hpp>

namespace troika {
inline namespace v1 {

class Trainer;

/** Returns the name of model `index` of the zoo; NULL beyond the last. Any thread. */
inline const char* zoo_name(std::int32_t index) noexcept { return troika_zoo_name(index); }

/** Returns the names of the zoo's models. Any thread. */
inline std::vector<std::string> zoo_names() {
  std::vector<std::string> names;
  for (std::int32_t i = 0; zoo_name(i); ++i) names.emplace_back(zoo_name(i));
  return names;
}

/** An Error of loading whose report has the names that differ. */
class LoadError : public Error {
 public:
  LoadError(const Error& error, LoadReport report) : Error(error), report_(std::move(report)) {}
  const LoadReport& report() const noexcept { return report_; }

 private:
  LoadReport report_;
};

/** Counts of a model's parameters. */
struct ParameterCount {
  std::int32_t entries = 0;   // parameters and buffers
  std::int64_t elements = 0;  // of all parameters
};

/**
 * A network of named layers with parameters.
 *
 * Threads: constant calls run together, on any threads; any other call runs alone. A call that
 * cannot run throws Error with busy, also if it needs parameters while a trainer is in a call.
 */
class Model : public Object<troika_model> {
 public:
  Model() noexcept = default;
  explicit Model(troika_model owned) noexcept : Object(owned) {}

  /** Builds a model of the zoo. Throws Error with not_found, which lists the names. */
  Model(const Context& context, const std::string& name, const ModelOptions& options = {})
      : Model(detail::make<troika_model>(troika_model_create, detail::handle_of(context), detail::c_text(name, "name"),
                                         detail::Raw<ModelOptions>(options).get())) {}

  /** Creates a model without layers, for the `add` functions and `set_output`. */
  static Model create_empty(const Context& context, const std::string& name) {
    return Model(detail::make<troika_model>(troika_model_create_empty, detail::handle_of(context),
                                            detail::c_text(name, "name")));
  }

  /** Reads layers and weights from a file of `save` or of a trainer. */
  static Model open(const Context& context, const std::string& path) {
    return Model(
        detail::make<troika_model>(troika_model_open, detail::handle_of(context), detail::c_text(path, "path")));
  }

  /** Reads a model from the bytes of a file. */
  static Model open_memory(const Context& context, Elements data) {
    return Model(detail::make<troika_model>(troika_model_open_memory, detail::handle_of(context), data.data(),
                                            data.size_bytes()));
  }

  /** Returns another model with the same parameters, which takes calls of its own. */
  Model clone() const { return Model(detail::make<troika_model>(troika_model_clone, detail::handle_of(*this))); }

  // Layers. Each call adds one, and returns its output. A refused call changes nothing.

  /** Adds the input: f32 [batch, dims...]. */
  Value add_input(const std::string& name, Span<const std::int64_t> dims) {
    return add(troika_model_add_input, name, dims.data(), detail::length(dims));
  }
  /** Adds the input, of f32 or of i32 for tokens. */
  Value add_typed_input(const std::string& name, Dtype dtype, Span<const std::int64_t> dims) {
    return add(troika_model_add_typed_input, name, static_cast<std::int32_t>(dtype), dims.data(), detail::length(dims));
  }
  /** Adds an embedding: tokens [batch, ...] to [batch, ..., features]. */
  Value add_embedding(const std::string& name, Value input, std::int64_t words, std::int64_t features) {
    return add(troika_model_add_embedding, name, raw(input), words, features);
  }
  /** Adds a 2-d convolution. `options.out_channels` and `options.kernel` must be set. */
  Value add_conv2d(const std::string& name, Value input, const Conv2dOptions& options) {
    return add(troika_model_add_conv2d, name, raw(input), detail::Raw<Conv2dOptions>(options).get());
  }
  /** Adds a linear layer: [batch, in] to [batch, out_features]. */
  Value add_linear(const std::string& name, Value input, std::int64_t out_features, bool bias = true) {
    return add(troika_model_add_linear, name, raw(input), out_features, bias ? 1 : 0);
  }
  /** Adds a linear layer for each step: [batch, steps, in] to [batch, steps, out_features]. */
  Value add_linear_per_position(const std::string& name, Value input, std::int64_t out_features, bool bias = true) {
    return add(troika_model_add_linear_per_position, name, raw(input), out_features, bias ? 1 : 0);
  }
  /** Adds batch normalisation of [batch, C, H, W]. */
  Value add_batch_norm2d(const std::string& name, Value input, double eps = 1e-5, double momentum = 0.1) {
    return add(troika_model_add_batch_norm2d, name, raw(input), eps, momentum);
  }
  /** Adds max(x, 0). */
  Value add_relu(const std::string& name, Value input) { return add(troika_model_add_relu, name, raw(input)); }
  /** Adds GELU without approximation. */
  Value add_gelu(const std::string& name, Value input) { return add(troika_model_add_gelu, name, raw(input)); }
  /** Adds max pooling. `options.kernel` must be set. */
  Value add_max_pool2d(const std::string& name, Value input, const Pool2dOptions& options) {
    return add(troika_model_add_max_pool2d, name, raw(input), detail::Raw<Pool2dOptions>(options).get());
  }
  /** Adds average pooling. `options.kernel` must be set. */
  Value add_avg_pool2d(const std::string& name, Value input, const Pool2dOptions& options) {
    return add(troika_model_add_avg_pool2d, name, raw(input), detail::Raw<Pool2dOptions>(options).get());
  }
  /** Adds adaptive average pooling: [batch, C, H, W] to [batch, C, out_height, out_width]. */
  Value add_adaptive_avg_pool2d(const std::string& name, Value input, std::int64_t out_height, std::int64_t out_width) {
    return add(troika_model_add_adaptive_avg_pool2d, name, raw(input), out_height, out_width);
  }
  /** Adds a flattening of all axes except the batch. */
  Value add_flatten(const std::string& name, Value input) { return add(troika_model_add_flatten, name, raw(input)); }
  /** Adds the sum of two values of one shape. */
  Value add_sum(const std::string& name, Value a, Value b) { return add(troika_model_add_sum, name, raw(a), raw(b)); }
  /** Adds dropout with a probability in [0, 1). */
  Value add_dropout(const std::string& name, Value input, double probability) {
    return add(troika_model_add_dropout, name, raw(input), probability);
  }
  /** Adds an LSTM: [batch, steps, features] to [batch, steps, hidden]. */
  Value add_lstm(const std::string& name, Value input, std::int64_t hidden, bool bias = true) {
    return add(troika_model_add_lstm, name, raw(input), hidden, bias ? 1 : 0);
  }
  /** Adds a GRU: [batch, steps, features] to [batch, steps, hidden]. */
  Value add_gru(const std::string& name, Value input, std::int64_t hidden, bool bias = true) {
    return add(troika_model_add_gru, name, raw(input), hidden, bias ? 1 : 0);
  }
  /** Adds the choice of one step; -1 is the last. */
  Value add_select_step(const std::string& name, Value input, std::int64_t step) {
    return add(troika_model_add_select_step, name, raw(input), step);
  }
  /**
   * Adds a transposed 2-d convolution: [batch, C, H, W] to [batch, K, H', W'].
   * `options.out_channels` and `options.kernel` must be set.
   */
  Value add_conv_transpose2d(const std::string& name, Value input, const Conv2dOptions& options) {
    return add(troika_model_add_conv_transpose2d, name, raw(input), detail::Raw<Conv2dOptions>(options).get());
  }
  /**
   * Adds a 1-d convolution: [batch, C, L] to [batch, K, L']. `options.out_channels` and
   * `options.kernel` must be set.
   */
  Value add_conv1d(const std::string& name, Value input, const Conv1dOptions& options) {
    return add(troika_model_add_conv1d, name, raw(input), detail::Raw<Conv1dOptions>(options).get());
  }
  /** Adds batch normalisation of [batch, C] or [batch, C, L]. */
  Value add_batch_norm1d(const std::string& name, Value input, double eps = 1e-5, double momentum = 0.1) {
    return add(troika_model_add_batch_norm1d, name, raw(input), eps, momentum);
  }
  /** Adds layer normalisation over the last `axes` axes. */
  Value add_layer_norm(const std::string& name, Value input, std::int32_t axes, double eps = 1e-5) {
    return add(troika_model_add_layer_norm, name, raw(input), axes, eps);
  }
  /** Adds normalisation of each of `groups` groups of channels. */
  Value add_group_norm(const std::string& name, Value input, std::int64_t groups, double eps = 1e-5) {
    return add(troika_model_add_group_norm, name, raw(input), groups, eps);
  }
  /** Adds root mean square normalisation over the last `axes` axes. */
  Value add_rms_norm(const std::string& name, Value input, std::int32_t axes, double eps = 1e-5) {
    return add(troika_model_add_rms_norm, name, raw(input), axes, eps);
  }
  /** Adds 1 / (1 + e^-x), element by element. */
  Value add_sigmoid(const std::string& name, Value input) { return add(troika_model_add_sigmoid, name, raw(input)); }
  /** Adds the hyperbolic tangent, element by element. */
  Value add_tanh(const std::string& name, Value input) { return add(troika_model_add_tanh, name, raw(input)); }
  /** Adds x times the sigmoid of x, element by element. */
  Value add_silu(const std::string& name, Value input) { return add(troika_model_add_silu, name, raw(input)); }
  /** Adds x if x > 0, else `slope` x, element by element. */
  Value add_leaky_relu(const std::string& name, Value input, double slope = 0.01) {
    return add(troika_model_add_leaky_relu, name, raw(input), slope);
  }
  /** Adds e^x over the sum of e^x along `axis`, which is not the batch. */
  Value add_softmax(const std::string& name, Value input, std::int32_t axis = -1) {
    return add(troika_model_add_softmax, name, raw(input), axis);
  }
  /** Adds the part [begin, end) along `axis`, which is not the batch. */
  Value add_slice(const std::string& name, Value input, std::int32_t axis, std::int64_t begin, std::int64_t end) {
    return add(troika_model_add_slice, name, raw(input), axis, begin, end);
  }
  /** Adds the product of two values, element by element; an axis of size 1 is repeated. */
  Value add_product(const std::string& name, Value a, Value b) {
    return add(troika_model_add_product, name, raw(a), raw(b));
  }
  /** Joins values along `axis`, which is not the batch. */
  Value add_concat(const std::string& name, Span<const Value> inputs, std::int32_t axis) {
    std::vector<troika_value> values;
    for (const Value input : inputs) values.push_back(raw(input));
    return add(troika_model_add_concat, name, values.data(), detail::length(inputs), axis);
  }
  /** Reshapes a sample: [batch, dims...]. One size may be -1. */
  Value add_reshape(const std::string& name, Value input, Span<const std::int64_t> dims) {
    return add(troika_model_add_reshape, name, raw(input), dims.data(), detail::length(dims));
  }
  /** Adds the means over some axes; none: over all axes of a sample. */
  Value add_mean(const std::string& name, Value input, Span<const std::int32_t> axes = {}, bool keep_axes = false) {
    return add(troika_model_add_mean, name, raw(input), axes.empty() ? nullptr : axes.data(), detail::length(axes),
               keep_axes ? 1 : 0);
  }
  /** Makes parameter `name` of a layer that is added later another name of parameter `of`. */
  void share_parameter(const std::string& name, const std::string& of) {
    detail::call(troika_model_share_parameter, detail::handle_of(*this), detail::c_text(name, "name"),
                 detail::c_text(of, "of"));
  }
  /** Completes the model: no layer can be added afterwards. */
  void set_output(Value value) { detail::call(troika_model_set_output, detail::handle_of(*this), raw(value)); }

  // Parameters.

  /** Initialises the parameters that match `pattern`; "*" is all. `a` is a number of the kind. */
  void initialize(const std::string& pattern, Initializer initializer, double a = 0.0, std::uint64_t seed = 0) {
    detail::call(troika_model_initialize, detail::handle_of(*this), detail::c_text(pattern, "pattern"),
                 static_cast<std::int32_t>(initializer), a, seed);
  }
  /** Initialises a parameter of all layers of some kinds: "weight" of "linear,conv2d". */
  void initialize_layers(const std::string& kinds, const std::string& parameter, Initializer initializer,
                         double a = 0.0, std::uint64_t seed = 0) {
    detail::call(troika_model_initialize_layers, detail::handle_of(*this), detail::c_text(kinds, "kinds"),
                 detail::c_text(parameter, "parameter"), static_cast<std::int32_t>(initializer), a, seed);
  }
  /** Initialises all parameters and buffers by the model's default. */
  void initialize_default(std::uint64_t seed = 0) {
    detail::call(troika_model_initialize_default, detail::handle_of(*this), seed);
  }
  ParameterCount count_parameters() const {
    ParameterCount count;
    detail::call(troika_model_count_parameters, detail::handle_of(*this), &count.entries, &count.elements);
    return count;
  }
  /** Describes parameter or buffer `index`. Throws Error with not_found. */
  ParameterInfo describe_parameter(std::int32_t index) const {
    return detail::fill<ParameterInfo>(troika_model_describe_parameter, detail::handle_of(*this), index);
  }
  /** Describes all parameters and buffers, in the order of creation. */
  std::vector<ParameterInfo> parameters() const {
    std::vector<ParameterInfo> all;
    for (std::int32_t i = 0, n = count_parameters().entries; i < n; ++i) all.push_back(describe_parameter(i));
    return all;
  }
  /** Returns the index of a parameter or buffer. Throws Error with not_found. */
  std::int32_t find_parameter(const std::string& name) const {
    std::int32_t index = 0;
    detail::call(troika_model_find_parameter, detail::handle_of(*this), detail::c_text(name, "name"), &index);
    return index;
  }
  /** Copies a parameter or buffer, row-major. Throws std::invalid_argument if the dtype differs. */
  void get_parameter(const std::string& name, MutableElements data) const {
    check_parameter(name, data.dtype());
    detail::call(troika_model_get_parameter, detail::handle_of(*this), detail::c_text(name, "name"), data.data(),
                 data.size_bytes());
  }
  /** Returns a parameter, or a buffer with elements of T. */
  template <typename T = float>
  std::vector<T> get_parameter(const std::string& name) const {
    std::vector<T> data(parameter_elements(name));
    get_parameter(name, data);
    return data;
  }
  /** Sets a parameter or buffer, row-major. Throws std::invalid_argument if the dtype differs. */
  void set_parameter(const std::string& name, Elements data) {
    check_parameter(name, data.dtype());
    detail::call(troika_model_set_parameter, detail::handle_of(*this), detail::c_text(name, "name"), data.data(),
                 data.size_bytes());
  }

  // Descriptions.

  ModelInfo describe() const { return detail::fill<ModelInfo>(troika_model_describe, detail::handle_of(*this)); }
  /** Describes layer `index`; the input is a layer. Throws Error with not_found. */
  LayerInfo describe_layer(std::int32_t index) const {
    return detail::fill<LayerInfo>(troika_model_describe_layer, detail::handle_of(*this), index);
  }
  /** Describes all layers, in the order in which layers were added; the input is a layer. */
  std::vector<LayerInfo> layers() const {
    std::vector<LayerInfo> all;
    for (std::int32_t i = 0, n = describe().layers; i < n; ++i) all.push_back(describe_layer(i));
    return all;
  }
  /** Returns the index of a layer. Throws Error with not_found, which has the nearest name. */
  std::int32_t find_layer(const std::string& name) const {
    std::int32_t index = 0;
    detail::call(troika_model_find_layer, detail::handle_of(*this), detail::c_text(name, "name"), &index);
    return index;
  }
  ValueInfo describe_value(Value value) const {
    return detail::fill<ValueInfo>(troika_model_describe_value, detail::handle_of(*this), raw(value));
  }
  /** Returns the model as a tree, with shapes and counts. */
  std::string print() const { return detail::read_text(troika_model_print, detail::handle_of(*this)); }
  /** Returns the description as one JSON object. */
  std::string to_json() const { return detail::read_text(troika_model_to_json, detail::handle_of(*this)); }

  // Files.

  /** Writes layers and weights to one safetensors file, which appears whole or not at all. */
  void save(const std::string& path) const {
    detail::call(troika_model_save, detail::handle_of(*this), detail::c_text(path, "path"));
  }
  /** Returns the bytes that `save` writes. */
  std::vector<std::byte> save_memory() const {
    std::int64_t size = 0;
    detail::call(troika_model_save_memory, detail::handle_of(*this), static_cast<void*>(nullptr), std::int64_t{0},
                 &size);
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    detail::call(troika_model_save_memory, detail::handle_of(*this), static_cast<void*>(bytes.data()), size, &size);
    return bytes;
  }
  /** Reads weights. A refused file changes nothing. Throws LoadError if names or shapes differ. */
  LoadReport load(const std::string& path, const LoadOptions& options = {}) {
    return load_by(troika_model_load, options, detail::c_text(path, "path"));
  }
  /** Reads weights as `load` does, from the bytes of a file. */
  LoadReport load_memory(Elements data, const LoadOptions& options = {}) {
    return load_by(troika_model_load_memory, options, data.data(), data.size_bytes());
  }

  // Use.

  /** Returns the output for `input` [batch, ...] in evaluation mode, on `device`. */
  Tensor predict(Device device, const Tensor& input) const {
    return Tensor(detail::make<troika_tensor>(troika_model_predict, detail::handle_of(*this), device.get(),
                                              detail::handle_of(input)));
  }

  /**
   * Predicts from and into host memory: `inputs` [n, the input's shape], `output` f32 [n, the
   * output's shape], or that of `layer`. Throws std::invalid_argument if the type of the inputs
   * differs, or if they are no whole samples.
   */
  void predict_into(Device device, Elements inputs, Span<float> output,
                    const std::optional<std::string>& layer = std::nullopt) const {
    const ModelInfo info = describe();
    std::int64_t n = 1;  // of a model that is not complete, which the library refuses
    if (info.is_complete) {
      detail::check_dtype("Model::predict_into", inputs.dtype(), info.input_dtype);
      n = detail::rows("Model::predict_into", inputs.size(), detail::elements_of(info.input_dims));
    }
    detail::call(troika_model_predict_into, detail::handle_of(*this), device.get(), inputs.data(), n,
                 detail::c_text(layer, "layer"), output.data(), detail::size_bytes(output));
  }

  /** Returns a trainer on one replica per device. An earlier trainer of the model is detached. */
  Trainer attach(Span<const Device> devices, const TrainerOptions& options = {});

  // A program that is warned of these functions is warned when it calls them, and not here.
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
  /** Estimates memory and time of a step on a mesh; without one, all devices share the batch. */
  TROIKA_EXPERIMENTAL
  PlanResult plan_estimate(const PlanOptions& options = {}, const std::optional<Mesh>& mesh = std::nullopt) const {
    const detail::Raw<Mesh> raw_mesh(mesh.value_or(Mesh()));
    return detail::fill<PlanResult>(troika_plan_estimate, detail::handle_of(*this),
                                    detail::Raw<PlanOptions>(options).get(), mesh ? raw_mesh.get() : nullptr);
  }

  /** Returns the fastest mesh that fits. Throws Error with not_found if there is none. */
  TROIKA_EXPERIMENTAL
  PlanResult plan_choose(const PlanOptions& options = {}) const {
    return detail::fill<PlanResult>(troika_plan_choose, detail::handle_of(*this),
                                    detail::Raw<PlanOptions>(options).get());
  }
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

 private:
  friend class Trainer;

  static troika_value raw(Value value) noexcept { return static_cast<troika_value>(value); }

  template <typename Function, typename... Arguments>
  Value add(Function function, const std::string& name, Arguments... arguments) {
    troika_value value = 0;
    detail::call(function, detail::handle_of(*this), detail::c_text(name, "name"), arguments..., &value);
    return Value(value);
  }

  template <typename Function, typename... Arguments>
  LoadReport load_by(Function function, const LoadOptions& options, Arguments... arguments) {
    auto report = detail::defaults<troika_load_report>();
    try {
      detail::call(function, detail::handle_of(*this), arguments..., detail::Raw<LoadOptions>(options).get(), &report);
    } catch (const Error& error) {
      if (error.status() == Status::mismatch) throw LoadError(error, detail::convert<LoadReport>(report));
      throw;
    }
    return detail::convert<LoadReport>(report);
  }

  void check_parameter(const std::string& name, Dtype dtype) const {
    detail::check_dtype("parameter " + name, dtype, describe_parameter(find_parameter(name)).dtype);
  }
  std::size_t parameter_elements(const std::string& name) const {
    return static_cast<std::size_t>(detail::elements_of(describe_parameter(find_parameter(name)).dims));
  }
};

}  // namespace v1
}  // namespace troika

#endif
