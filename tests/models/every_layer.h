// Two nets that have every kind of layer between them, with settings that differ from the defaults.
#pragma once

#include <memory>

#include "models/model.h"

namespace troika {

inline std::unique_ptr<Model> every_image_layer() {
  auto model = std::make_unique<Model>("images \"1\" \\ \xc3\xa4");
  Model& m = *model;
  m.set_default_initializer(DefaultInitializer::tutorial);
  m.name_container("block.0", "BasicBlock");
  ValueId x = m.add_input("x", {4, 12, 10});
  x = m.add_conv2d("block.0.conv", x, {8, {{3, 2}, {2, 1}, {1, 0}, {1, 2}}, 2, false});  // [8, 6, 8]
  x = m.add_batch_norm2d("block.0.bn", x, 1e-3, 1.0);
  const ValueId shortcut = x;
  x = m.add_relu("block.0.relu", x);
  x = m.add_sum("block.0.add", x, shortcut);
  x = m.add_gelu("gelu", x);
  x = m.add_max_pool2d("max", x, {{3, 2}, {1, 2}, {1, 0}, {1, 1}});  // [8, 6, 4]
  x = m.add_avg_pool2d("avg", x, {{2, 3}, {2, 1}, {1, 1}, {1, 1}}, false);
  x = m.add_adaptive_avg_pool2d("adaptive", x, 2, 3);
  x = m.add_dropout("drop1", x, 0.25);
  x = m.add_conv2d("conv2", x, {3, {{1, 1}, {1, 1}, {0, 0}, {1, 1}}, 1, true});
  x = m.add_flatten("flatten \xe2\x82\xac", x);  // [18]
  x = m.add_dropout("drop2", x, 0.0);
  x = m.add_linear("fc1", x, 5, false);
  m.set_output(m.add_linear("fc2", x, 3, true));
  return model;
}

inline std::unique_ptr<Model> every_token_layer() {
  auto model = std::make_unique<Model>("tokens");
  Model& m = *model;
  ValueId x = m.add_input("tokens", {9}, DType::i32);
  x = m.add_embedding("embedding", x, 11, 4);
  x = m.add_lstm("lstm", x, 5, false);
  x = m.add_lstm("lstm2", x, 5, true);
  x = m.add_gru("gru", x, 6, true);
  x = m.add_gru("gru2", x, 3, false);
  x = m.add_linear("per_position", x, 4, true, true);
  m.set_output(m.add_select_step("last", x, -2));
  return model;
}

}  // namespace troika
