// One line per kind: the settings that a layer was added with become the arguments of its call.
#include "models/layer_kinds.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

void read_pair(int64_t (&pair)[2], const LayerCall& call, const char* name) {
  const std::vector<int64_t>& list = call.settings.list(name);
  if (list.size() != 2)
    throw Error(Status::invalid_argument, text("'", call.name, "': ", name, " has ", list.size(), " sizes, needs 2"));
  std::copy(list.begin(), list.end(), pair);
}

Window pool_window(const LayerCall& call) {
  Window window{{1, 1}, {1, 1}, {0, 0}, {1, 1}};
  read_pair(window.kernel, call, "kernel");
  read_pair(window.stride, call, "stride");
  read_pair(window.padding, call, "padding");
  return window;
}

ConvOptions conv_options(const LayerCall& call) {
  ConvOptions options{.out_channels = call.settings.integer("out_channels"),
                      .window = pool_window(call),
                      .groups = call.settings.integer("groups"),
                      .bias = call.settings.flag("bias")};
  read_pair(options.window.dilation, call, "dilation");
  return options;
}

ValueId add_adaptive(Model& m, const LayerCall& c) {
  int64_t size[2];
  read_pair(size, c, "size");
  return m.add_adaptive_avg_pool2d(c.name, c.inputs[0], size[0], size[1]);
}

ValueId add_linear(Model& m, const LayerCall& c, bool is_per_position) {
  return m.add_linear(c.name, c.inputs[0], c.settings.integer("out_features"), c.settings.flag("bias"),
                      is_per_position);
}

}  // namespace

const std::vector<LayerKind>& all_layer_kinds() {
  using M = Model;
  using C = LayerCall;
  static const std::vector<LayerKind> kinds = {
      {"input", 0,
       [](M& m, const C& c) {
         return m.add_input(c.name, Shape(c.settings.list("shape")), parse_dtype(c.settings.word("dtype")));
       }},
      {"adaptive_avg_pool2d", 1, add_adaptive},
      {"avg_pool2d", 1,
       [](M& m, const C& c) {
         return m.add_avg_pool2d(c.name, c.inputs[0], pool_window(c), c.settings.flag("count_include_pad"));
       }},
      {"batch_norm2d", 1,
       [](M& m, const C& c) {
         return m.add_batch_norm2d(c.name, c.inputs[0], c.settings.real("eps"), c.settings.real("momentum"));
       }},
      {"conv2d", 1, [](M& m, const C& c) { return m.add_conv2d(c.name, c.inputs[0], conv_options(c)); }},
      {"dropout", 1,
       [](M& m, const C& c) { return m.add_dropout(c.name, c.inputs[0], c.settings.real("probability")); }},
      {"embedding", 1,
       [](M& m, const C& c) {
         return m.add_embedding(c.name, c.inputs[0], c.settings.integer("words"), c.settings.integer("features"));
       }},
      {"flatten", 1, [](M& m, const C& c) { return m.add_flatten(c.name, c.inputs[0]); }},
      {"gelu", 1, [](M& m, const C& c) { return m.add_gelu(c.name, c.inputs[0]); }},
      {"gru", 1,
       [](M& m, const C& c) {
         return m.add_gru(c.name, c.inputs[0], c.settings.integer("hidden"), c.settings.flag("bias"));
       }},
      {"linear", 1, [](M& m, const C& c) { return add_linear(m, c, false); }},
      {"linear_per_position", 1, [](M& m, const C& c) { return add_linear(m, c, true); }},
      {"lstm", 1,
       [](M& m, const C& c) {
         return m.add_lstm(c.name, c.inputs[0], c.settings.integer("hidden"), c.settings.flag("bias"));
       }},
      {"max_pool2d", 1, [](M& m, const C& c) { return m.add_max_pool2d(c.name, c.inputs[0], pool_window(c)); }},
      {"relu", 1, [](M& m, const C& c) { return m.add_relu(c.name, c.inputs[0]); }},
      {"select_step", 1,
       [](M& m, const C& c) { return m.add_select_step(c.name, c.inputs[0], c.settings.integer("step")); }},
      {"sum", 2, [](M& m, const C& c) { return m.add_sum(c.name, c.inputs[0], c.inputs[1]); }},
  };
  return kinds;
}

const LayerKind* find_layer_kind(std::string_view name) {
  for (const LayerKind& kind : all_layer_kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

}  // namespace troika
