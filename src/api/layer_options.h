// Options of convolutions and pooling, as layers and operations read them.
#pragma once

#include <troika/layers.h>

#include "api/model_call.h"
#include "models/layers.h"

namespace troika::api {

constexpr bool is_set(int64_t value) { return value != TROIKA_UNSET; }

// Reads a flag: 0, 1 or unset.
inline bool switch_field(int32_t value, bool unset, const char* function, const char* field) {
  if (!is_set(value)) return unset;
  if (value != 0 && value != 1) refuse(function, text(field, " is ", value, ", needs 0 or 1"));
  return value == 1;
}

inline int64_t needed_field(int64_t value, const char* function, const std::string& field) {
  if (!is_set(value)) refuse(function, text("options.", field, " is not set"));
  return value;
}

inline void needed_pair(int64_t (&out)[2], const int64_t (&given)[2], const char* function, const char* field) {
  for (int i = 0; i < 2; ++i) out[i] = needed_field(given[i], function, text(field, '[', i, ']'));
}

inline void optional_pair(int64_t (&out)[2], const int64_t (&given)[2], int64_t first, int64_t second) {
  out[0] = is_set(given[0]) ? given[0] : first;
  out[1] = is_set(given[1]) ? given[1] : second;
}

inline Window window_of(const troika_pool2d_options& options, const char* function) {
  Window window{{1, 1}, {1, 1}, {0, 0}, {1, 1}};
  needed_pair(window.kernel, options.kernel, function, "kernel");
  optional_pair(window.stride, options.stride, window.kernel[0], window.kernel[1]);
  optional_pair(window.padding, options.padding, 0, 0);
  return window;
}

inline ConvOptions conv_options_of(const troika_conv2d_options& options, const char* function) {
  ConvOptions conv;
  conv.out_channels = needed_field(options.out_channels, function, "out_channels");
  needed_pair(conv.window.kernel, options.kernel, function, "kernel");
  optional_pair(conv.window.stride, options.stride, 1, 1);
  optional_pair(conv.window.padding, options.padding, 0, 0);
  optional_pair(conv.window.dilation, options.dilation, 1, 1);
  conv.groups = is_set(options.groups) ? options.groups : 1;
  conv.bias = !switch_field(options.no_bias, false, function, "options.no_bias");
  optional_pair(conv.output_padding, options.output_padding, 0, 0);
  return conv;
}

// Along the second axis of the window.
inline ConvOptions conv_options_of(const troika_conv1d_options& options, const char* function) {
  ConvOptions conv;
  conv.out_channels = needed_field(options.out_channels, function, "out_channels");
  conv.window.kernel[1] = needed_field(options.kernel, function, "kernel");
  if (is_set(options.stride)) conv.window.stride[1] = options.stride;
  if (is_set(options.padding)) conv.window.padding[1] = options.padding;
  if (is_set(options.dilation)) conv.window.dilation[1] = options.dilation;
  if (is_set(options.groups)) conv.groups = options.groups;
  conv.bias = !switch_field(options.no_bias, false, function, "options.no_bias");
  return conv;
}

}  // namespace troika::api
