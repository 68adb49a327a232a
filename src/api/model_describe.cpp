// Descriptions of models, layers and values, as structs and as JSON.
#include <troika/describe.h>

#include "api/json_text.h"
#include "api/model_call.h"
#include "api/structs.h"
#include "core/nearest_name.h"
#include "models/zoo.h"

using namespace troika;
using namespace troika::api;

namespace {

void write_shape(const Shape& shape, int32_t& rank, int64_t (&dims)[TROIKA_MAX_RANK]) {
  rank = shape.rank();
  std::copy(shape.dims().begin(), shape.dims().end(), dims);
}

template <size_t kSize>
void write_name(const std::string& name, char (&out)[kSize]) {
  write_text(name, out, kSize, nullptr, "");
}

// Returns the layer that makes a value. The input's is layer 0.
const Layer& maker_of(const Model& model, ValueId value) {
  return model.layers()[model.layer_list().find_output(value).value()];
}

Shape shape_of(const Model& model, const Layer& layer) { return without_batch(model.graph().type(layer.output).shape); }

DType dtype_of(const Model& model, const Layer& layer) { return model.graph().type(layer.output).dtype; }

troika_model_info info_of(const Model& model) {
  troika_model_info info{};
  info.is_complete = model.is_complete();
  info.layers = static_cast<int32_t>(model.layers().size());
  info.entries = static_cast<int32_t>(model.parameters()->size());
  info.parameters = model.layer_list().parameters();
  info.operations = model.layer_list().operations();
  if (!model.layers().empty()) {
    info.input_dtype = static_cast<int32_t>(model.input_dtype());
    write_shape(model.input_shape(), info.input_rank, info.input_dims);
  }
  if (model.is_complete()) {
    info.output_dtype = static_cast<int32_t>(model.graph().type(model.graph().outputs[0]).dtype);
    write_shape(model.output_shape(), info.output_rank, info.output_dims);
  }
  write_name(model.name(), info.name);
  return info;
}

troika_layer_info info_of(const Model& model, const Layer& layer) {
  troika_layer_info info{};
  info.input_count = static_cast<int32_t>(layer.inputs.size());
  for (size_t i = 0; i < std::min<size_t>(layer.inputs.size(), TROIKA_MAX_LAYER_INPUTS); ++i)
    info.inputs[i] = value_of(model, layer.inputs[i]);
  info.output = value_of(model, layer.output);
  info.parameters = layer.parameters;
  info.operations = layer.operations;
  info.dtype = static_cast<int32_t>(dtype_of(model, layer));
  write_shape(shape_of(model, layer), info.rank, info.dims);
  write_name(layer.kind, info.kind);
  write_name(layer.name, info.name);
  return info;
}

JsonText json_of(const Model& model, const Layer& layer) {
  std::vector<std::string> inputs;
  for (ValueId id : layer.inputs) inputs.push_back(maker_of(model, id).name);
  JsonObject settings;
  for (const auto& [name, setting] : layer.settings.items())
    std::visit(
        [&, &key = name]<typename Value>(const Value& value) {
          if constexpr (!std::is_same_v<Value, NoAttribute>) settings.add(key, value);
        },
        setting);
  return JsonObject()
      .add("name", layer.name)
      .add("kind", layer.kind)
      .add("inputs", inputs)
      .add("dtype", name_of(dtype_of(model, layer)))
      .add("shape", shape_of(model, layer).dims())
      .add("parameters", layer.parameters)
      .add("operations", layer.operations)
      .add("settings", settings.text())
      .text();
}

JsonText json_of(const Parameter& p) {
  return JsonObject()
      .add("name", p.name)
      .add("dtype", name_of(p.type.dtype))
      .add("shape", p.type.shape.dims())
      .add("is_buffer", p.is_buffer)
      .add("is_initialized", p.is_initialized)
      .text();
}

// The layer that is the model's input or output, with the shape of one sample.
JsonText end_of(const Model& model, const Layer& layer) {
  return JsonObject()
      .add("layer", layer.name)
      .add("dtype", name_of(dtype_of(model, layer)))
      .add("shape", shape_of(model, layer).dims())
      .text();
}

JsonText json_of(Model& model) {
  std::vector<JsonText> layers, entries;
  for (const Layer& layer : model.layers()) layers.push_back(json_of(model, layer));
  ParameterStore& store = *model.parameters();
  {
    std::lock_guard lock(store.mutex());  // a clone may be loading
    for (size_t i = 0; i < store.size(); ++i) entries.push_back(json_of(store.entry(i)));
  }
  return JsonObject()
      .add("name", model.name())
      .add("is_complete", model.is_complete())
      .add("input", model.layers().empty() ? JsonText() : end_of(model, model.layers()[0]))
      .add("output", model.is_complete() ? end_of(model, maker_of(model, model.graph().outputs[0])) : JsonText())
      .add("parameters", model.layer_list().parameters())
      .add("operations", model.layer_list().operations())
      .add("layers", layers)
      .add("entries", entries)
      .text();
}

}  // namespace

const char* troika_zoo_name(int32_t index) { return index < 0 ? nullptr : model_name(static_cast<size_t>(index)); }

troika_status troika_model_describe(troika_model model, troika_model_info* out_info, troika_error* error) {
  const char* function = "troika_model_describe";
  return with_model<Together>(model, function, error,
                    [&](Model& m) { write_result(out_info, info_of(m), function, "out_info"); });
}

troika_status troika_model_describe_layer(troika_model model, int32_t index, troika_layer_info* out_info,
                                          troika_error* error) {
  const char* function = "troika_model_describe_layer";
  return with_model<Together>(model, function, error, [&](Model& m) {
    if (index < 0 || static_cast<size_t>(index) >= m.layers().size())
      throw Error(Status::not_found, text(function, ": argument 'index' is ", index, ", model '", m.name(), "' has ",
                                          m.layers().size(), " layers"));
    write_result(out_info, info_of(m, m.layers()[static_cast<size_t>(index)]), function, "out_info");
  });
}

troika_status troika_model_find_layer(troika_model model, const char* name, int32_t* out_index, troika_error* error) {
  const char* function = "troika_model_find_layer";
  return with_model<Together>(model, function, error, [&](Model& m) {
    required(out_index, function, "out_index");
    const std::string wanted = name_argument(name, function);
    const auto index = m.layer_list().find(wanted);
    if (!index) {
      const std::string* nearest = nearest_name(
          wanted, m.layers(), [](const Layer& l) -> auto& { return l.name; });
      throw Error(Status::not_found,
                  text(function, ": layer '", printable_name(wanted), "' is not in model '", m.name(), "'",
                       nearest ? text("; the nearest name is '", *nearest, "'")
                               : text(", which has ", m.layers().size(), " others")));
    }
    *out_index = static_cast<int32_t>(*index);
  });
}

troika_status troika_model_describe_value(troika_model model, troika_value value, troika_value_info* out_info,
                                          troika_error* error) {
  const char* function = "troika_model_describe_value";
  return with_model<Together>(model, function, error, [&](Model& m) {
    const ValueId id = value_argument(m, value, function, "value");
    const auto layer = m.layer_list().find_output(id);
    if (!layer) refuse(function, text("argument 'value' is ", value, ", not a value of model '", m.name(), "'"));
    troika_value_info info{};
    info.layer = static_cast<int32_t>(*layer);
    info.dtype = static_cast<int32_t>(m.graph().type(id).dtype);
    write_shape(without_batch(m.graph().type(id).shape), info.rank, info.dims);
    write_result(out_info, info, function, "out_info");
  });
}

troika_status troika_model_to_json(troika_model model, char* buffer, int64_t capacity, int64_t* out_size,
                                   troika_error* error) {
  const char* function = "troika_model_to_json";
  return with_model<Together>(model, function, error,
                    [&](Model& m) { write_text(json_of(m).text, buffer, capacity, out_size, function); });
}
