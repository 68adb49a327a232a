// The C functions of troika/model.h, except files and prediction.
#include <troika/model.h>

#include <cmath>

#include "api/layer_options.h"
#include "api/model_call.h"
#include "api/structs.h"
#include "models/addition.h"
#include "models/initializer.h"
#include "models/print.h"
#include "models/zoo.h"

namespace troika::api {
namespace {

std::optional<int64_t> zoo_field(int64_t value, const char* function, const char* field) {
  if (!is_set(value)) return std::nullopt;
  if (value < 1) refuse(function, text("options.", field, " is ", value, ", needs at least 1"));
  return value;
}

ZooOptions zoo_options_of(const troika_model_options& options, const char* function) {
  return {zoo_field(options.classes, function, "classes"),
          zoo_field(options.input_channels, function, "input_channels"),
          zoo_field(options.input_height, function, "input_height"),
          zoo_field(options.input_width, function, "input_width"),
          zoo_field(options.hidden, function, "hidden"),
          zoo_field(options.steps, function, "steps")};
}

// Adds a layer: `add` takes the model and the layer's name, and returns the layer's output.
template <typename Add>
troika_status add_layer(troika_model handle, const char* name, troika_value* out_value, const char* function,
                        troika_error* error, Add&& add) {
  return with_model(handle, function, error, [&](Model& model) {
    required(out_value, function, "out_value");
    *out_value = value_of(model, add(model, name_argument(name, function)));
  });
}

troika_parameter_info info_of(const Parameter& parameter) {
  troika_parameter_info info{};
  info.dtype = static_cast<int32_t>(parameter.type.dtype);
  info.rank = parameter.type.shape.rank();
  info.is_buffer = parameter.is_buffer;
  info.is_initialized = parameter.is_initialized;
  for (int i = 0; i < info.rank; ++i) info.dims[i] = parameter.type.shape[i];
  write_text(parameter.name, info.name, sizeof info.name, nullptr, "troika_model_describe_parameter");
  return info;
}

}  // namespace
}  // namespace troika::api

using namespace troika;
using namespace troika::api;

// ---- creation ----

troika_status troika_model_create(troika_context context, const char* name, const troika_model_options* options,
                                  troika_model* out_model, troika_error* error) {
  const char* function = "troika_model_create";
  return guard(error, [&] {
    *required(out_model, function, "out_model") = nullptr;
    check_handle(context, function, "context");
    const auto read = read_options(options);
    *out_model =
        new_model(context, function, create_model(name_argument(name, function), zoo_options_of(read, function)));
  });
}

troika_status troika_model_create_empty(troika_context context, const char* name, troika_model* out_model,
                                        troika_error* error) {
  const char* function = "troika_model_create_empty";
  return guard(error, [&] {
    *required(out_model, function, "out_model") = nullptr;
    check_handle(context, function, "context");
    const std::string model_name = name_argument(name, function);
    if (const std::string refusal = refusal_of_model_name(model_name); !refusal.empty())
      refuse(function, "argument 'name' " + refusal);
    *out_model = new_model(context, function, std::make_shared<Model>(model_name));
  });
}

void troika_model_destroy(troika_model model) { destroy_handle(model); }

// ---- layers ----

namespace {

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
    return m.add_linear(layer, value_argument(m, input, function, "input"), out_features, with_bias, is_per_position);
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
  const char* function = "troika_model_add_embedding";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return m.add_embedding(layer, value_argument(m, input, function, "input"), words, features);
  });
}

troika_status troika_model_add_conv2d(troika_model model, const char* name, troika_value input,
                                      const troika_conv2d_options* options, troika_value* out_value,
                                      troika_error* error) {
  const char* function = "troika_model_add_conv2d";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    const auto read = read_options(required(options, function, "options"));
    return m.add_conv2d(layer, value_argument(m, input, function, "input"), conv_options_of(read, function));
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
  const char* function = "troika_model_add_batch_norm2d";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return m.add_batch_norm2d(layer, value_argument(m, input, function, "input"), eps, momentum);
  });
}

troika_status troika_model_add_relu(troika_model model, const char* name, troika_value input, troika_value* out_value,
                                    troika_error* error) {
  const char* function = "troika_model_add_relu";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return m.add_relu(layer, value_argument(m, input, function, "input"));
  });
}

troika_status troika_model_add_gelu(troika_model model, const char* name, troika_value input, troika_value* out_value,
                                    troika_error* error) {
  const char* function = "troika_model_add_gelu";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return m.add_gelu(layer, value_argument(m, input, function, "input"));
  });
}

troika_status troika_model_add_max_pool2d(troika_model model, const char* name, troika_value input,
                                          const troika_pool2d_options* options, troika_value* out_value,
                                          troika_error* error) {
  const char* function = "troika_model_add_max_pool2d";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    const auto read = read_options(required(options, function, "options"));
    return m.add_max_pool2d(layer, value_argument(m, input, function, "input"), window_of(read, function));
  });
}

troika_status troika_model_add_avg_pool2d(troika_model model, const char* name, troika_value input,
                                          const troika_pool2d_options* options, troika_value* out_value,
                                          troika_error* error) {
  const char* function = "troika_model_add_avg_pool2d";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    const auto read = read_options(required(options, function, "options"));
    const bool counts_padding = !switch_field(read.exclude_padding, false, function, "options.exclude_padding");
    return m.add_avg_pool2d(layer, value_argument(m, input, function, "input"), window_of(read, function),
                            counts_padding);
  });
}

troika_status troika_model_add_adaptive_avg_pool2d(troika_model model, const char* name, troika_value input,
                                                   int64_t out_height, int64_t out_width, troika_value* out_value,
                                                   troika_error* error) {
  const char* function = "troika_model_add_adaptive_avg_pool2d";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return m.add_adaptive_avg_pool2d(layer, value_argument(m, input, function, "input"), out_height, out_width);
  });
}

troika_status troika_model_add_flatten(troika_model model, const char* name, troika_value input,
                                       troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_flatten";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return m.add_flatten(layer, value_argument(m, input, function, "input"));
  });
}

troika_status troika_model_add_sum(troika_model model, const char* name, troika_value a, troika_value b,
                                   troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_sum";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return m.add_sum(layer, value_argument(m, a, function, "a"), value_argument(m, b, function, "b"));
  });
}

troika_status troika_model_add_dropout(troika_model model, const char* name, troika_value input, double probability,
                                       troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_dropout";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return m.add_dropout(layer, value_argument(m, input, function, "input"), probability);
  });
}

troika_status troika_model_add_lstm(troika_model model, const char* name, troika_value input, int64_t hidden,
                                    int32_t bias, troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_lstm";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    const bool with_bias = switch_field(bias, true, function, "argument 'bias'");
    return m.add_lstm(layer, value_argument(m, input, function, "input"), hidden, with_bias);
  });
}

troika_status troika_model_add_gru(troika_model model, const char* name, troika_value input, int64_t hidden,
                                   int32_t bias, troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_gru";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    const bool with_bias = switch_field(bias, true, function, "argument 'bias'");
    return m.add_gru(layer, value_argument(m, input, function, "input"), hidden, with_bias);
  });
}

troika_status troika_model_add_select_step(troika_model model, const char* name, troika_value input, int64_t step,
                                           troika_value* out_value, troika_error* error) {
  const char* function = "troika_model_add_select_step";
  return add_layer(model, name, out_value, function, error, [&](Model& m, const std::string& layer) {
    return m.add_select_step(layer, value_argument(m, input, function, "input"), step);
  });
}

troika_status troika_model_set_output(troika_model model, troika_value value, troika_error* error) {
  const char* function = "troika_model_set_output";
  return with_model(model, function, error,
                    [&](Model& m) { m.set_output(value_argument(m, value, function, "value")); });
}

// ---- parameters ----

troika_status troika_model_initialize(troika_model model, const char* pattern, int32_t initializer, double a,
                                      uint64_t seed, troika_error* error) {
  return with_model(model, "troika_model_initialize", error, [&](Model& m) {
    initialize(m, pattern ? pattern : "*", static_cast<Initializer>(initializer), a, seed);
  });
}

troika_status troika_model_initialize_default(troika_model model, uint64_t seed, troika_error* error) {
  return with_model(model, "troika_model_initialize_default", error,
                    [&](Model& m) { initialize_default(m, seed, false); });
}

troika_status troika_model_count_parameters(troika_model model, int32_t* out_entries, int64_t* out_elements,
                                            troika_error* error) {
  return with_model<Together>(model, "troika_model_count_parameters", error, [&](Model& m) {
    int64_t elements = 0;
    for (const Layer& layer : m.layers()) elements += layer.parameters;
    if (out_entries) *out_entries = static_cast<int32_t>(m.parameters()->size());
    if (out_elements) *out_elements = elements;
  });
}

troika_status troika_model_describe_parameter(troika_model model, int32_t index, troika_parameter_info* out_info,
                                              troika_error* error) {
  const char* function = "troika_model_describe_parameter";
  return with_model<Together>(model, function, error, [&](Model& m) {
    ParameterStore& store = *m.parameters();
    const std::lock_guard lock(store.mutex());  // a clone may write
    if (index < 0 || static_cast<size_t>(index) >= store.size())
      throw Error(Status::not_found, text(function, ": argument 'index' is ", index, ", model '", m.name(), "' has ",
                                          store.size(), " entries"));
    write_result(out_info, info_of(store.entry(static_cast<size_t>(index))), function, "out_info");
  });
}

troika_status troika_model_find_parameter(troika_model model, const char* name, int32_t* out_index,
                                          troika_error* error) {
  const char* function = "troika_model_find_parameter";
  return with_model<Together>(model, function, error, [&](Model& m) {
    required(out_index, function, "out_index");
    *out_index = static_cast<int32_t>(m.parameters()->index_of(name_argument(name, function)));
  });
}

troika_status troika_model_get_parameter(troika_model model, const char* name, void* data, int64_t size_bytes,
                                         troika_error* error) {
  const char* function = "troika_model_get_parameter";
  return with_model<Together>(model, function, error, [&](Model& m) {
    const size_t index = m.parameters()->index_of(name_argument(name, function));
    m.parameters()->read(index, required(data, function, "data"), bytes_argument(size_bytes, function));
  });
}

troika_status troika_model_set_parameter(troika_model model, const char* name, const void* data, int64_t size_bytes,
                                         troika_error* error) {
  const char* function = "troika_model_set_parameter";
  return with_model(model, function, error, [&](Model& m) {
    const size_t index = m.parameters()->index_of(name_argument(name, function));
    m.parameters()->write(index, required(data, function, "data"), bytes_argument(size_bytes, function));
  });
}

troika_status troika_model_print(troika_model model, char* buffer, int64_t capacity, int64_t* out_size,
                                 troika_error* error) {
  const char* function = "troika_model_print";
  return with_model<Together>(model, function, error,
                    [&](Model& m) { write_text(print_model(m), buffer, capacity, out_size, function); });
}
