// The C functions of troika/layers.h.
#include <troika/layers.h>

#include "api/layer_options.h"
#include "api/model_call.h"
#include "api/structs.h"
#include "models/layers.h"

using namespace troika;
using namespace troika::api;

namespace {

// Adds a layer: `add` takes the model and the layer's name, and returns the layer's output.
template <typename Add>
troika_status add_layer(troika_model handle, const char* name, troika_value* out_value, const char* function,
                        troika_error* error, Add&& add) {
  return with_model(handle, function, error, [&](Model& model) {
    required(out_value, function, "out_value");
    *out_value = value_of(model, add(model, name_argument(name, function)));
  });
}

// Adds a layer of one input.
template <typename Add>
troika_status add_layer_of(troika_model handle, const char* name, troika_value input, troika_value* out_value,
                           const char* function, troika_error* error, Add&& add) {
  return add_layer(handle, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return add(m, layer, value_argument(m, input, function, "input"));
  });
}

// Adds a layer of one input that has options.
template <typename Options, typename Add>
troika_status add_layer_with(troika_model handle, const char* name, troika_value input, const Options* options,
                             troika_value* out_value, const char* function, troika_error* error, Add&& add) {
  return add_layer(handle, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    const Options read = read_options(required(options, function, "options"));
    return add(m, layer, value_argument(m, input, function, "input"), read);
  });
}

troika_status add_input(troika_model model, const char* name, int32_t dtype, const int64_t* dims, int32_t rank,
                        troika_value* out_value, const char* function, troika_error* error) {
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    required(dims, function, "dims");
    if (rank < 1 || rank >= kMaxRank)
      refuse(function, text("argument 'rank' is ", rank, ", needs 1 to ", kMaxRank - 1));
    if (dtype != TROIKA_DTYPE_F32 && dtype != TROIKA_DTYPE_I32)
      refuse(function, text("argument 'dtype' is ", dtype, ", needs TROIKA_DTYPE_F32 or TROIKA_DTYPE_I32"));
    return m.add_input(layer, Shape(std::vector<int64_t>(dims, dims + rank)), static_cast<DType>(dtype));
  });
}

troika_status add_linear(troika_model model, const char* name, troika_value input, int64_t out_features, int32_t bias,
                         bool is_per_position, troika_value* out_value, const char* function, troika_error* error) {
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    const bool with_bias = switch_field(bias, true, function, "argument 'bias'");
    return add_linear(m, layer, value_argument(m, input, function, "input"), out_features, with_bias, is_per_position);
  });
}

}  // namespace

troika_status troika_model_add_input(troika_model model, const char* name, const int64_t* dims, int32_t rank,
                                     troika_value* out_value, troika_error* error) {
  return add_input(model, name, TROIKA_DTYPE_F32, dims, rank, out_value, "troika_model_add_input", error);
}

troika_status troika_model_add_typed_input(troika_model model, const char* name, int32_t dtype, const int64_t* dims,
                                           int32_t rank, troika_value* out_value, troika_error* error) {
  return add_input(model, name, dtype, dims, rank, out_value, "troika_model_add_typed_input", error);
}

troika_status troika_model_add_embedding(troika_model model, const char* name, troika_value input, int64_t words,
                                         int64_t features, troika_value* out_value, troika_error* error) {
  return add_layer_of(
      model, name, input, out_value, "troika_model_add_embedding", error,
      [&](Model& m, const std::string& layer, ValueId x) { return add_embedding(m, layer, x, words, features); });
}

troika_status troika_model_add_conv2d(troika_model model, const char* name, troika_value input,
                                      const troika_conv2d_options* options, troika_value* out_value,
                                      troika_error* error) {
  const char* function = "troika_model_add_conv2d";
  return add_layer_with(model, name, input, options, out_value, function, error,
                        [&](Model& m, const std::string& layer, ValueId x, const auto& read) {
                          return add_conv2d(m, layer, x, conv_options_of(read, function));
                        });
}

troika_status troika_model_add_linear(troika_model model, const char* name, troika_value input, int64_t out_features,
                                      int32_t bias, troika_value* out_value, troika_error* error) {
  return add_linear(model, name, input, out_features, bias, false, out_value, "troika_model_add_linear", error);
}

troika_status troika_model_add_linear_per_position(troika_model model, const char* name, troika_value input,
                                                   int64_t out_features, int32_t bias, troika_value* out_value,
                                                   troika_error* error) {
  const char* function = "troika_model_add_linear_per_position";
  return add_linear(model, name, input, out_features, bias, true, out_value, function, error);
}

troika_status troika_model_add_batch_norm2d(troika_model model, const char* name, troika_value input, double eps,
                                            double momentum, troika_value* out_value, troika_error* error) {
  return add_layer_of(
      model, name, input, out_value, "troika_model_add_batch_norm2d", error,
      [&](Model& m, const std::string& layer, ValueId x) { return add_batch_norm2d(m, layer, x, eps, momentum); });
}

troika_status troika_model_add_relu(troika_model model, const char* name, troika_value input, troika_value* out_value,
                                    troika_error* error) {
  return add_layer_of(model, name, input, out_value, "troika_model_add_relu", error,
                      [&](Model& m, const std::string& layer, ValueId x) { return add_relu(m, layer, x); });
}

troika_status troika_model_add_gelu(troika_model model, const char* name, troika_value input, troika_value* out_value,
                                    troika_error* error) {
  return add_layer_of(model, name, input, out_value, "troika_model_add_gelu", error,
                      [&](Model& m, const std::string& layer, ValueId x) { return add_gelu(m, layer, x); });
}

troika_status troika_model_add_max_pool2d(troika_model model, const char* name, troika_value input,
                                          const troika_pool2d_options* options, troika_value* out_value,
                                          troika_error* error) {
  const char* function = "troika_model_add_max_pool2d";
  return add_layer_with(model, name, input, options, out_value, function, error,
                        [&](Model& m, const std::string& layer, ValueId x, const auto& read) {
                          return add_max_pool2d(m, layer, x, window_of(read, function));
                        });
}

troika_status troika_model_add_avg_pool2d(troika_model model, const char* name, troika_value input,
                                          const troika_pool2d_options* options, troika_value* out_value,
                                          troika_error* error) {
  const char* function = "troika_model_add_avg_pool2d";
  return add_layer_with(model, name, input, options, out_value, function, error,
                        [&](Model& m, const std::string& layer, ValueId x, const auto& read) {
                          const bool counts_padding =
                              !switch_field(read.exclude_padding, false, function, "options.exclude_padding");
                          return add_avg_pool2d(m, layer, x, window_of(read, function), counts_padding);
                        });
}

troika_status troika_model_add_adaptive_avg_pool2d(troika_model model, const char* name, troika_value input,
                                                   int64_t out_height, int64_t out_width, troika_value* out_value,
                                                   troika_error* error) {
  return add_layer_of(model, name, input, out_value, "troika_model_add_adaptive_avg_pool2d", error,
                      [&](Model& m, const std::string& layer, ValueId x) {
                        return add_adaptive_avg_pool2d(m, layer, x, out_height, out_width);
                      });
}

troika_status troika_model_add_flatten(troika_model model, const char* name, troika_value input,
                                       troika_value* out_value, troika_error* error) {
  return add_layer_of(model, name, input, out_value, "troika_model_add_flatten", error,
                      [&](Model& m, const std::string& layer, ValueId x) { return add_flatten(m, layer, x); });
}

troika_status troika_model_add_sum(troika_model model, const char* name, troika_value a, troika_value b,
                                   troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_sum";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return add_sum(m, layer, value_argument(m, a, function, "a"), value_argument(m, b, function, "b"));
  });
}

troika_status troika_model_add_dropout(troika_model model, const char* name, troika_value input, double probability,
                                       troika_value* out_value, troika_error* error) {
  return add_layer_of(
      model, name, input, out_value, "troika_model_add_dropout", error,
      [&](Model& m, const std::string& layer, ValueId x) { return add_dropout(m, layer, x, probability); });
}

troika_status troika_model_add_lstm(troika_model model, const char* name, troika_value input, int64_t hidden,
                                    int32_t bias, troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_lstm";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    const bool with_bias = switch_field(bias, true, function, "argument 'bias'");
    return add_lstm(m, layer, value_argument(m, input, function, "input"), hidden, with_bias);
  });
}

troika_status troika_model_add_gru(troika_model model, const char* name, troika_value input, int64_t hidden,
                                   int32_t bias, troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_gru";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    const bool with_bias = switch_field(bias, true, function, "argument 'bias'");
    return add_gru(m, layer, value_argument(m, input, function, "input"), hidden, with_bias);
  });
}

troika_status troika_model_add_select_step(troika_model model, const char* name, troika_value input, int64_t step,
                                           troika_value* out_value, troika_error* error) {
  return add_layer_of(
      model, name, input, out_value, "troika_model_add_select_step", error,
      [&](Model& m, const std::string& layer, ValueId x) { return add_select_step(m, layer, x, step); });
}

troika_status troika_model_add_conv_transpose2d(troika_model model, const char* name, troika_value input,
                                                const troika_conv2d_options* options, troika_value* out_value,
                                                troika_error* error) {
  const char* function = "troika_model_add_conv_transpose2d";
  return add_layer_with(model, name, input, options, out_value, function, error,
                        [&](Model& m, const std::string& layer, ValueId x, const auto& read) {
                          return add_conv_transpose2d(m, layer, x, conv_options_of(read, function));
                        });
}

troika_status troika_model_add_conv1d(troika_model model, const char* name, troika_value input,
                                      const troika_conv1d_options* options, troika_value* out_value,
                                      troika_error* error) {
  const char* function = "troika_model_add_conv1d";
  return add_layer_with(model, name, input, options, out_value, function, error,
                        [&](Model& m, const std::string& layer, ValueId x, const auto& read) {
                          return add_conv1d(m, layer, x, conv_options_of(read, function));
                        });
}

troika_status troika_model_add_batch_norm1d(troika_model model, const char* name, troika_value input, double eps,
                                            double momentum, troika_value* out_value, troika_error* error) {
  return add_layer_of(
      model, name, input, out_value, "troika_model_add_batch_norm1d", error,
      [&](Model& m, const std::string& layer, ValueId x) { return add_batch_norm1d(m, layer, x, eps, momentum); });
}

troika_status troika_model_add_layer_norm(troika_model model, const char* name, troika_value input, int32_t axes,
                                          double eps, troika_value* out_value, troika_error* error) {
  return add_layer_of(
      model, name, input, out_value, "troika_model_add_layer_norm", error,
      [&](Model& m, const std::string& layer, ValueId x) { return add_layer_norm(m, layer, x, axes, eps); });
}

troika_status troika_model_add_group_norm(troika_model model, const char* name, troika_value input, int64_t groups,
                                          double eps, troika_value* out_value, troika_error* error) {
  return add_layer_of(
      model, name, input, out_value, "troika_model_add_group_norm", error,
      [&](Model& m, const std::string& layer, ValueId x) { return add_group_norm(m, layer, x, groups, eps); });
}

troika_status troika_model_add_rms_norm(troika_model model, const char* name, troika_value input, int32_t axes,
                                        double eps, troika_value* out_value, troika_error* error) {
  return add_layer_of(
      model, name, input, out_value, "troika_model_add_rms_norm", error,
      [&](Model& m, const std::string& layer, ValueId x) { return add_rms_norm(m, layer, x, axes, eps); });
}

troika_status troika_model_add_sigmoid(troika_model model, const char* name, troika_value input,
                                       troika_value* out_value, troika_error* error) {
  return add_layer_of(model, name, input, out_value, "troika_model_add_sigmoid", error,
                      [&](Model& m, const std::string& layer, ValueId x) { return add_sigmoid(m, layer, x); });
}

troika_status troika_model_add_tanh(troika_model model, const char* name, troika_value input, troika_value* out_value,
                                    troika_error* error) {
  return add_layer_of(model, name, input, out_value, "troika_model_add_tanh", error,
                      [&](Model& m, const std::string& layer, ValueId x) { return add_tanh(m, layer, x); });
}

troika_status troika_model_add_silu(troika_model model, const char* name, troika_value input, troika_value* out_value,
                                    troika_error* error) {
  return add_layer_of(model, name, input, out_value, "troika_model_add_silu", error,
                      [&](Model& m, const std::string& layer, ValueId x) { return add_silu(m, layer, x); });
}

troika_status troika_model_add_leaky_relu(troika_model model, const char* name, troika_value input, double slope,
                                          troika_value* out_value, troika_error* error) {
  return add_layer_of(
      model, name, input, out_value, "troika_model_add_leaky_relu", error,
      [&](Model& m, const std::string& layer, ValueId x) { return add_leaky_relu(m, layer, x, slope); });
}

troika_status troika_model_add_softmax(troika_model model, const char* name, troika_value input, int32_t axis,
                                       troika_value* out_value, troika_error* error) {
  return add_layer_of(model, name, input, out_value, "troika_model_add_softmax", error,
                      [&](Model& m, const std::string& layer, ValueId x) { return add_softmax(m, layer, x, axis); });
}

troika_status troika_model_add_product(troika_model model, const char* name, troika_value a, troika_value b,
                                       troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_product";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return add_product(m, layer, value_argument(m, a, function, "a"), value_argument(m, b, function, "b"));
  });
}

troika_status troika_model_add_concat(troika_model model, const char* name, const troika_value* inputs,
                                      int32_t input_count, int32_t axis, troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_concat";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    if (input_count < 1) refuse(function, text("argument 'input_count' is ", input_count, ", needs at least 1"));
    required(inputs, function, "inputs");
    std::vector<ValueId> values;
    for (int32_t i = 0; i < input_count; ++i)
      values.push_back(value_argument(m, inputs[i], function, text("inputs[", i, "]").c_str()));
    return add_concat(m, layer, values, axis);
  });
}

troika_status troika_model_add_reshape(troika_model model, const char* name, troika_value input, const int64_t* dims,
                                       int32_t rank, troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_reshape";
  return add_layer_of(model, name, input, out_value, function, error,
                      [&](Model& m, const std::string& layer, ValueId x) {
                        required(dims, function, "dims");
                        if (rank < 1 || rank >= kMaxRank)
                          refuse(function, text("argument 'rank' is ", rank, ", needs 1 to ", kMaxRank - 1));
                        return add_reshape(m, layer, x, std::vector<int64_t>(dims, dims + rank));
                      });
}

troika_status troika_model_add_slice(troika_model model, const char* name, troika_value input, int32_t axis,
                                     int64_t begin, int64_t end, troika_value* out_value, troika_error* error) {
  return add_layer_of(
      model, name, input, out_value, "troika_model_add_slice", error,
      [&](Model& m, const std::string& layer, ValueId x) { return add_slice(m, layer, x, axis, begin, end); });
}

troika_status troika_model_add_mean(troika_model model, const char* name, troika_value input, const int32_t* axes,
                                    int32_t axis_count, int32_t keep_axes, troika_value* out_value,
                                    troika_error* error) {
  const char* function = "troika_model_add_mean";
  return add_layer_of(
      model, name, input, out_value, function, error, [&](Model& m, const std::string& layer, ValueId x) {
        if (axes && (axis_count < 1 || axis_count > kMaxRank))
          refuse(function, text("argument 'axis_count' is ", axis_count, ", needs 1 to ", kMaxRank));
        const bool keep = switch_field(keep_axes, false, function, "argument 'keep_axes'");
        return add_mean(m, layer, x, axes ? std::vector<int64_t>(axes, axes + axis_count) : std::vector<int64_t>(),
                        keep);
      });
}

troika_status troika_model_share_parameter(troika_model model, const char* name, const char* of, troika_error* error) {
  const char* function = "troika_model_share_parameter";
  return with_model(model, function, error, [&](Model& m) {
    const std::string shared = name_argument(name, function);
    m.share_parameter(shared, required(of, function, "of"));
  });
}

troika_status troika_model_set_output(troika_model model, troika_value value, troika_error* error) {
  const char* function = "troika_model_set_output";
  return with_model(model, function, error,
                    [&](Model& m) { m.set_output(value_argument(m, value, function, "value")); });
}
