// The text of a layer, as PyTorch's repr prints it.
#pragma once

#include <string>

#include "models/layers.h"

namespace troika {

std::string conv2d_text(int64_t in_channels, const ConvOptions& options);
std::string conv_transpose2d_text(int64_t in_channels, const ConvOptions& options);
std::string conv1d_text(int64_t in_channels, const ConvOptions& options);
std::string linear_text(int64_t in_features, int64_t out_features, bool bias);
std::string embedding_text(int64_t words, int64_t features);
std::string batch_norm_text(const char* kind, int64_t channels, double eps, double momentum);
std::string norm_of_axes_text(const char* kind, const Shape& normalized, double eps);
std::string group_norm_text(int64_t groups, int64_t channels, double eps);
std::string leaky_relu_text(double slope);
std::string reshape_text(const std::vector<int64_t>& sample);
std::string mean_text(const std::vector<int64_t>& axes, bool keep);
std::string max_pool2d_text(const Window& window);
std::string avg_pool2d_text(const Window& window);
std::string adaptive_avg_pool2d_text(int64_t height, int64_t width);
std::string dropout_text(double probability);
std::string recurrent_text(const char* kind, int64_t features, int64_t hidden,
                           bool bias);  // "LSTM(64, 128, batch_first=True)"

}  // namespace troika
