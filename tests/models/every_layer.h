// Nets that have every kind of layer between them, with settings that differ from the defaults.
#pragma once

#include <memory>

#include "models/layers.h"

namespace troika {

inline std::unique_ptr<Model> every_image_layer() {
  auto model = std::make_unique<Model>("images \"1\" \\ \xc3\xa4");
  Model& m = *model;
  m.set_default_initializer(DefaultInitializer::tutorial);
  m.name_container("block.0", "BasicBlock");
  ValueId x = m.add_input("x", {4, 12, 10});
  x = add_conv2d(m, "block.0.conv", x, {8, {{3, 2}, {2, 1}, {1, 0}, {1, 2}}, 2, false});  // [8, 6, 8]
  x = add_batch_norm2d(m, "block.0.bn", x, 1e-3, 1.0);
  const ValueId shortcut = x;
  x = add_relu(m, "block.0.relu", x);
  x = add_sum(m, "block.0.add", x, shortcut);
  x = add_gelu(m, "gelu", x);
  x = add_max_pool2d(m, "max", x, {{3, 2}, {1, 2}, {1, 0}, {1, 1}});  // [8, 6, 4]
  x = add_avg_pool2d(m, "avg", x, {{2, 3}, {2, 1}, {1, 1}, {1, 1}}, false);
  x = add_adaptive_avg_pool2d(m, "adaptive", x, 2, 3);
  x = add_dropout(m, "drop1", x, 0.25);
  x = add_conv2d(m, "conv2", x, {3, {{1, 1}, {1, 1}, {0, 0}, {1, 1}}, 1, true});
  x = add_flatten(m, "flatten \xe2\x82\xac", x);  // [18]
  x = add_dropout(m, "drop2", x, 0.0);
  x = add_linear(m, "fc1", x, 5, false);
  m.set_output(add_linear(m, "fc2", x, 3, true));
  return model;
}

inline std::unique_ptr<Model> every_signal_layer() {
  auto model = std::make_unique<Model>("signals");
  Model& m = *model;
  ConvOptions conv{6, {{1, 3}, {1, 2}, {0, 1}, {1, 2}}, 2, false}, up{4, {{3, 2}, {2, 3}, {1, 0}, {2, 1}}, 2, true};
  up.output_padding[0] = 1;
  ValueId x = add_conv1d(m, "conv1d", m.add_input("x", {4, 16}), conv);  // [6, 7]
  x = add_layer_norm(m, "layer_norm", add_batch_norm1d(m, "bn", x, 1e-3, 0.5), 2, 1e-4);
  const ValueId slice = add_slice(m, "slice", x, 2, 1, 7);  // [6, 6]
  x = add_product(m, "product", add_sigmoid(m, "sigmoid", slice), add_tanh(m, "tanh", slice));
  x = add_reshape(m, "reshape", add_softmax(m, "softmax", x, 1), {-1, 3, 2});  // [6, 3, 2]
  x = add_conv_transpose2d(m, "up", add_group_norm(m, "group_norm", x, 3, 1e-3), up);
  x = add_concat(m, "concat", {add_silu(m, "silu", x), add_leaky_relu(m, "leaky", x, 0.25), x}, 2);
  x = add_mean(m, "mean", add_rms_norm(m, "rms_norm", x, 1, 1e-6), {1, 3}, false);
  x = add_linear(m, "square", add_linear(m, "fc1", x, 5, true), 5, true);
  m.share_parameter("shared.weight", "square.weight");
  m.set_output(add_linear(m, "shared", x, 5, false));
  return model;
}

inline std::unique_ptr<Model> every_token_layer() {
  auto model = std::make_unique<Model>("tokens");
  Model& m = *model;
  ValueId x = m.add_input("tokens", {9}, DType::i32);
  x = add_embedding(m, "embedding", x, 11, 4);
  x = add_lstm(m, "lstm", x, 5, false);
  x = add_lstm(m, "lstm2", x, 5, true);
  x = add_gru(m, "gru", x, 6, true);
  x = add_gru(m, "gru2", x, 3, false);
  x = add_linear(m, "per_position", x, 4, true, true);
  m.set_output(add_select_step(m, "last", x, -2));
  return model;
}

}  // namespace troika
