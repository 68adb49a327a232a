// Layers that move a window: convolutions and pooling.
#include "core/text.h"
#include "models/addition.h"
#include "models/layer_text.h"
#include "models/layers.h"
#include "ops/op_def.h"

namespace troika {
namespace {

std::vector<int64_t> list(const int64_t (&pair)[2]) { return {pair[0], pair[1]}; }

void check_out_channels(const char* kind, const std::string& name, int64_t out_channels) {
  if (out_channels < 1) fail_layer(kind, name, text("out_channels is ", out_channels, ", needs at least 1"));
}

void check_groups(const char* kind, const std::string& name, int64_t groups, int64_t in_channels,
                  int64_t out_channels) {
  if (groups < 1 || in_channels % groups != 0 || out_channels % groups != 0)
    fail_layer(
        kind, name,
        text("groups is ", groups, ", must divide ", in_channels, " input and ", out_channels, " output channels"));
}

void check_no_dilation(const char* kind, const std::string& name, const Window& window) {
  if (window.dilation[0] != 1 || window.dilation[1] != 1)
    fail_layer(kind, name, "a dilation other than 1 is not supported");
}

Attributes attributes_of(const Window& w, int64_t groups) {
  return {{"kernel", list(w.kernel)},
          {"stride", list(w.stride)},
          {"padding", list(w.padding)},
          {"dilation", list(w.dilation)},
          {"groups", groups}};
}

}  // namespace

ValueId add_conv2d(Model& model, const std::string& name, ValueId input, const ConvOptions& options) {
  Addition layer(model, "conv2d", name);
  const int64_t in_channels = channels_of(layer.input(input)), out_channels = options.out_channels;
  check_out_channels("conv2d", name, out_channels);
  if (options.output_padding[0] != 0 || options.output_padding[1] != 0)
    fail_layer("conv2d", name, "output_padding is for a transposed convolution");
  const Window& w = options.window;
  // The op refuses groups that do not divide the channels, or are below 1.
  const int64_t group_channels = options.groups > 0 ? in_channels / options.groups : in_channels;
  layer.parameter("weight", {DType::f32, {out_channels, group_channels, w.kernel[0], w.kernel[1]}});
  if (options.bias)
    layer.parameter("bias", {DType::f32, {out_channels}});
  else
    layer.absent();
  const Attributes attributes = attributes_of(w, options.groups);
  Attributes settings = attributes;
  settings.set("out_channels", out_channels);
  settings.set("bias", int64_t{options.bias});
  return layer.commit(attributes, conv2d_text(in_channels, options), settings);
}

ValueId add_conv_transpose2d(Model& model, const std::string& name, ValueId input, const ConvOptions& options) {
  Addition layer(model, "conv_transpose2d", name);
  const Shape& x = layer.input(input);
  const int64_t in_channels = channels_of(x), out_channels = options.out_channels, groups = options.groups;
  if (x.rank() != 4)
    fail_layer("conv_transpose2d", name, text("input has shape ", x, ", needs [batch, channels, height, width]"));
  check_out_channels("conv_transpose2d", name, out_channels);
  check_groups("conv_transpose2d", name, groups, in_channels, out_channels);
  const Window& w = options.window;
  layer.parameter("weight", {DType::f32, {in_channels, out_channels / groups, w.kernel[0], w.kernel[1]}});
  if (options.bias) layer.parameter("bias", {DType::f32, {out_channels}});
  Attributes attributes = attributes_of(w, groups);
  attributes.set("output_padding", list(options.output_padding));
  const auto append = [&](Graph& graph, const std::vector<ValueId>& given) {
    const ValueId y = append_node(graph, conv_transpose2d_op, name, {given[1], given[0]}, attributes)[0];
    if (!options.bias) return y;
    return append_node(graph, add_op, name, {y, given[2]}, {{"axis", int64_t{1}}, {"broadcast", int64_t{1}}})[0];
  };
  Attributes settings = attributes;
  settings.set("out_channels", out_channels);
  settings.set("bias", int64_t{options.bias});
  return layer.commit_nodes(append, conv_transpose2d_text(in_channels, options), settings);
}

// A convolution of images of one row.
ValueId add_conv1d(Model& model, const std::string& name, ValueId input, const ConvOptions& options) {
  Addition layer(model, "conv2d", name, "conv1d");
  const Shape x = layer.input(input);
  const int64_t in_channels = channels_of(x), out_channels = options.out_channels, groups = options.groups;
  if (x.rank() != 3) fail_layer("conv1d", name, text("input has shape ", x, ", needs [batch, channels, length]"));
  check_out_channels("conv1d", name, out_channels);
  check_groups("conv1d", name, groups, in_channels, out_channels);
  const Window& w = options.window;
  const std::vector<int64_t> weight = {out_channels, in_channels / groups, w.kernel[1]};
  if (w.kernel[1] < 1) fail_layer("conv1d", name, text("kernel is ", w.kernel[1], ", needs at least 1"));
  layer.parameter("weight", {DType::f32, Shape(weight)});
  if (options.bias)
    layer.parameter("bias", {DType::f32, {out_channels}});
  else
    layer.absent();
  const auto append = [&](Graph& graph, const std::vector<ValueId>& given) {
    const ValueId rows =
        append_node(graph, reshape_op, name, {given[0]}, {{"shape", std::vector<int64_t>{x[1], 1, x[2]}}})[0];
    const std::vector<int64_t> whole = {weight[0], weight[1], 1, weight[2]};
    const ValueId window =
        append_node(graph, reshape_op, name, {given[1]}, {{"shape", whole}, {"whole", int64_t{1}}})[0];
    const ValueId y = append_node(graph, conv2d_op, name, {rows, window, given[2]}, attributes_of(w, groups))[0];
    const int64_t length = graph.type(y).shape[3];
    return append_node(graph, reshape_op, name, {y}, {{"shape", std::vector<int64_t>{out_channels, length}}})[0];
  };
  return layer.commit_nodes(append, conv1d_text(in_channels, options),
                            {{"out_channels", out_channels},
                             {"kernel", w.kernel[1]},
                             {"stride", w.stride[1]},
                             {"padding", w.padding[1]},
                             {"dilation", w.dilation[1]},
                             {"groups", groups},
                             {"bias", int64_t{options.bias}}});
}

ValueId add_max_pool2d(Model& model, const std::string& name, ValueId input, const Window& window) {
  Addition layer(model, "max_pool2d", name);
  layer.input(input);
  check_no_dilation("max_pool2d", name, window);
  const Attributes settings = {
      {"kernel", list(window.kernel)}, {"stride", list(window.stride)}, {"padding", list(window.padding)}};
  return layer.commit(settings, max_pool2d_text(window), settings);
}

ValueId add_avg_pool2d(Model& model, const std::string& name, ValueId input, const Window& window,
                       bool count_include_pad) {
  Addition layer(model, "avg_pool2d", name);
  layer.input(input);
  check_no_dilation("avg_pool2d", name, window);
  const Attributes settings = {{"kernel", list(window.kernel)},
                               {"stride", list(window.stride)},
                               {"padding", list(window.padding)},
                               {"count_include_pad", int64_t{count_include_pad}}};
  return layer.commit(settings, avg_pool2d_text(window), settings);
}

ValueId add_adaptive_avg_pool2d(Model& model, const std::string& name, ValueId input, int64_t height, int64_t width) {
  Addition layer(model, "adaptive_avg_pool2d", name);
  layer.input(input);
  const Attributes settings = {{"size", std::vector<int64_t>{height, width}}};
  return layer.commit(settings, adaptive_avg_pool2d_text(height, width), settings);
}

}  // namespace troika
