// The layers of a model, except its input: each function appends one, and returns the layer's
// output. Throws INVALID_ARGUMENT and changes nothing if something does not fit.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"
#include "ops/window.h"

namespace troika {

struct ConvOptions {
  int64_t out_channels = 0;
  Window window{{1, 1}, {1, 1}, {0, 0}, {1, 1}};
  int64_t groups = 1;
  bool bias = true;
  int64_t output_padding[2] = {0, 0};  // of a transposed convolution
};

ValueId add_conv2d(Model& model, const std::string& name, ValueId input, const ConvOptions& options);
ValueId add_conv_transpose2d(Model& model, const std::string& name, ValueId input, const ConvOptions& options);
// The input is [n, c, l]: only the second axis of the window counts.
ValueId add_conv1d(Model& model, const std::string& name, ValueId input, const ConvOptions& options);
// Multiplies all numbers of a sample, or, per position, the features of each step of a sequence.
ValueId add_linear(Model& model, const std::string& name, ValueId input, int64_t out_features, bool bias,
                   bool is_per_position = false);
ValueId add_embedding(Model& model, const std::string& name, ValueId tokens, int64_t words, int64_t features);
ValueId add_batch_norm2d(Model& model, const std::string& name, ValueId input, double eps = 1e-5,
                         double momentum = 0.1);
ValueId add_batch_norm1d(Model& model, const std::string& name, ValueId input, double eps = 1e-5,
                         double momentum = 0.1);
ValueId add_layer_norm(Model& model, const std::string& name, ValueId input, int64_t axes, double eps = 1e-5);
ValueId add_group_norm(Model& model, const std::string& name, ValueId input, int64_t groups, double eps = 1e-5);
ValueId add_rms_norm(Model& model, const std::string& name, ValueId input, int64_t axes, double eps = 1e-5);
ValueId add_relu(Model& model, const std::string& name, ValueId input);
ValueId add_gelu(Model& model, const std::string& name, ValueId input);
ValueId add_sigmoid(Model& model, const std::string& name, ValueId input);
ValueId add_tanh(Model& model, const std::string& name, ValueId input);
ValueId add_silu(Model& model, const std::string& name, ValueId input);
ValueId add_leaky_relu(Model& model, const std::string& name, ValueId input, double slope = 0.01);
ValueId add_softmax(Model& model, const std::string& name, ValueId input, int64_t axis);
ValueId add_max_pool2d(Model& model, const std::string& name, ValueId input, const Window& window);
ValueId add_avg_pool2d(Model& model, const std::string& name, ValueId input, const Window& window,
                       bool count_include_pad = true);
ValueId add_adaptive_avg_pool2d(Model& model, const std::string& name, ValueId input, int64_t height, int64_t width);
ValueId add_flatten(Model& model, const std::string& name, ValueId input);
ValueId add_sum(Model& model, const std::string& name, ValueId a, ValueId b);
ValueId add_product(Model& model, const std::string& name, ValueId a, ValueId b);
ValueId add_concat(Model& model, const std::string& name, const std::vector<ValueId>& inputs, int64_t axis);
ValueId add_reshape(Model& model, const std::string& name, ValueId input, const std::vector<int64_t>& sample);
ValueId add_slice(Model& model, const std::string& name, ValueId input, int64_t axis, int64_t begin, int64_t end);
// Empty `axes`: all axes of a sample.
ValueId add_mean(Model& model, const std::string& name, ValueId input, const std::vector<int64_t>& axes, bool keep);
ValueId add_dropout(Model& model, const std::string& name, ValueId input, double probability);
ValueId add_lstm(Model& model, const std::string& name, ValueId input, int64_t hidden, bool bias);
ValueId add_gru(Model& model, const std::string& name, ValueId input, int64_t hidden, bool bias);
ValueId add_select_step(Model& model, const std::string& name, ValueId input, int64_t step);

}  // namespace troika
