// The C functions of troika/model.h, except layers, files and prediction.
#include <troika/model.h>

#include "api/field_check.h"
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

// ---- parameters ----

troika_status troika_model_initialize(troika_model model, const char* pattern, int32_t initializer, double a,
                                      uint64_t seed, troika_error* error) {
  return with_model(model, "troika_model_initialize", error, [&](Model& m) {
    initialize(m, pattern ? pattern : "*", static_cast<Initializer>(initializer), a, seed);
  });
}

troika_status troika_model_initialize_layers(troika_model model, const char* kinds, const char* parameter,
                                             int32_t initializer, double a, uint64_t seed, troika_error* error) {
  const char* function = "troika_model_initialize_layers";
  return with_model(model, function, error, [&](Model& m) {
    const FieldCheck check{text(function, ": argument ")};
    initialize_layers(m, check.names("kinds", required(kinds, function, "kinds")),
                      required(parameter, function, "parameter"), static_cast<Initializer>(initializer), a, seed);
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
