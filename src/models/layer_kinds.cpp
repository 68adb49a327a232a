// One line per kind: the settings that a layer was added with become the arguments of its call.
#include "models/layer_kinds.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "models/layers.h"

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

ValueId add_conv_transpose2d(Model& m, const LayerCall& c) {
  ConvOptions options = conv_options(c);
  read_pair(options.output_padding, c, "output_padding");
  return add_conv_transpose2d(m, c.name, c.inputs[0], options);
}

ValueId add_conv1d(Model& m, const LayerCall& c) {
  const auto along = [&](const char* name) { return c.settings.integer(name); };
  return add_conv1d(
      m, c.name, c.inputs[0],
      {.out_channels = along("out_channels"),
       .window = {{1, along("kernel")}, {1, along("stride")}, {0, along("padding")}, {1, along("dilation")}},
       .groups = along("groups"),
       .bias = c.settings.flag("bias")});
}

ValueId add_adaptive(Model& m, const LayerCall& c) {
  int64_t size[2];
  read_pair(size, c, "size");
  return add_adaptive_avg_pool2d(m, c.name, c.inputs[0], size[0], size[1]);
}

ValueId add_linear(Model& m, const LayerCall& c, bool is_per_position) {
  return add_linear(m, c.name, c.inputs[0], c.settings.integer("out_features"), c.settings.flag("bias"),
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
         return add_avg_pool2d(m, c.name, c.inputs[0], pool_window(c), c.settings.flag("count_include_pad"));
       }},
      {"batch_norm1d", 1,
       [](M& m, const C& c) {
         return add_batch_norm1d(m, c.name, c.inputs[0], c.settings.real("eps"), c.settings.real("momentum"));
       }},
      {"batch_norm2d", 1,
       [](M& m, const C& c) {
         return add_batch_norm2d(m, c.name, c.inputs[0], c.settings.real("eps"), c.settings.real("momentum"));
       }},
      {"concat", kAnyInputs,
       [](M& m, const C& c) { return add_concat(m, c.name, c.inputs, c.settings.integer("axis")); }},
      {"conv1d", 1, add_conv1d},
      {"conv2d", 1, [](M& m, const C& c) { return add_conv2d(m, c.name, c.inputs[0], conv_options(c)); }},
      {"conv_transpose2d", 1, add_conv_transpose2d},
      {"dropout", 1,
       [](M& m, const C& c) { return add_dropout(m, c.name, c.inputs[0], c.settings.real("probability")); }},
      {"embedding", 1,
       [](M& m, const C& c) {
         return add_embedding(m, c.name, c.inputs[0], c.settings.integer("words"), c.settings.integer("features"));
       }},
      {"flatten", 1, [](M& m, const C& c) { return add_flatten(m, c.name, c.inputs[0]); }},
      {"gelu", 1, [](M& m, const C& c) { return add_gelu(m, c.name, c.inputs[0]); }},
      {"group_norm", 1,
       [](M& m, const C& c) {
         return add_group_norm(m, c.name, c.inputs[0], c.settings.integer("groups"), c.settings.real("eps"));
       }},
      {"gru", 1,
       [](M& m, const C& c) {
         return add_gru(m, c.name, c.inputs[0], c.settings.integer("hidden"), c.settings.flag("bias"));
       }},
      {"layer_norm", 1,
       [](M& m, const C& c) {
         return add_layer_norm(m, c.name, c.inputs[0], c.settings.integer("axes"), c.settings.real("eps"));
       }},
      {"leaky_relu", 1,
       [](M& m, const C& c) { return add_leaky_relu(m, c.name, c.inputs[0], c.settings.real("slope")); }},
      {"linear", 1, [](M& m, const C& c) { return add_linear(m, c, false); }},
      {"linear_per_position", 1, [](M& m, const C& c) { return add_linear(m, c, true); }},
      {"lstm", 1,
       [](M& m, const C& c) {
         return add_lstm(m, c.name, c.inputs[0], c.settings.integer("hidden"), c.settings.flag("bias"));
       }},
      {"max_pool2d", 1, [](M& m, const C& c) { return add_max_pool2d(m, c.name, c.inputs[0], pool_window(c)); }},
      {"mean", 1,
       [](M& m, const C& c) {
         return add_mean(m, c.name, c.inputs[0], c.settings.list("axes"), c.settings.flag("keep"));
       }},
      {"product", 2, [](M& m, const C& c) { return add_product(m, c.name, c.inputs[0], c.inputs[1]); }},
      {"relu", 1, [](M& m, const C& c) { return add_relu(m, c.name, c.inputs[0]); }},
      {"reshape", 1, [](M& m, const C& c) { return add_reshape(m, c.name, c.inputs[0], c.settings.list("shape")); }},
      {"rms_norm", 1,
       [](M& m, const C& c) {
         return add_rms_norm(m, c.name, c.inputs[0], c.settings.integer("axes"), c.settings.real("eps"));
       }},
      {"select_step", 1,
       [](M& m, const C& c) { return add_select_step(m, c.name, c.inputs[0], c.settings.integer("step")); }},
      {"sigmoid", 1, [](M& m, const C& c) { return add_sigmoid(m, c.name, c.inputs[0]); }},
      {"silu", 1, [](M& m, const C& c) { return add_silu(m, c.name, c.inputs[0]); }},
      {"slice", 1,
       [](M& m, const C& c) {
         return add_slice(m, c.name, c.inputs[0], c.settings.integer("axis"), c.settings.integer("begin"),
                          c.settings.integer("end"));
       }},
      {"softmax", 1, [](M& m, const C& c) { return add_softmax(m, c.name, c.inputs[0], c.settings.integer("axis")); }},
      {"sum", 2, [](M& m, const C& c) { return add_sum(m, c.name, c.inputs[0], c.inputs[1]); }},
      {"tanh", 1, [](M& m, const C& c) { return add_tanh(m, c.name, c.inputs[0]); }},
  };
  return kinds;
}

const LayerKind* find_layer_kind(std::string_view name) {
  for (const LayerKind& kind : all_layer_kinds())
    if (kind.name == name) return &kind;
  return nullptr;
}

}  // namespace troika
