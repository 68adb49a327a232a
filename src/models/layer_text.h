// The text of a layer, as PyTorch's repr prints it.
#pragma once

#include <string>

#include "models/model.h"

namespace troika {

std::string conv2d_text(int64_t in_channels, const ConvOptions& options);
std::string linear_text(int64_t in_features, int64_t out_features, bool bias);
std::string embedding_text(int64_t words, int64_t features);
std::string batch_norm2d_text(int64_t channels, double eps, double momentum);
std::string max_pool2d_text(const Window& window);
std::string avg_pool2d_text(const Window& window);
std::string adaptive_avg_pool2d_text(int64_t height, int64_t width);
std::string dropout_text(double probability);
std::string recurrent_text(const char* kind, int64_t features, int64_t hidden,
                           bool bias);  // "LSTM(64, 128, batch_first=True)"

}  // namespace troika
