// PyTorch's repr of each layer, number for number.
#include "models/layer_text.h"

#include <charconv>
#include <cstdlib>

#include "core/text.h"
#include "models/layers.h"

namespace troika {
namespace {

std::string pair_text(const int64_t (&pair)[2]) { return text('(', pair[0], ", ", pair[1], ')'); }

// Returns one number if both are equal, as pooling layers print.
std::string size_text(const int64_t (&pair)[2]) { return pair[0] == pair[1] ? text(pair[0]) : pair_text(pair); }

bool both_are(const int64_t (&pair)[2], int64_t value) { return pair[0] == value && pair[1] == value; }

const char* bool_text(bool value) { return value ? "True" : "False"; }

// Returns the shortest decimal that reads back as the same number, as Python's repr: with an
// exponent below 1e-4 and from 1e16 on.
std::string real_text(double value) {
  char buffer[512];
  const auto scientific = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string short_form(buffer, scientific);
  const size_t e = short_form.find('e');
  if (e == std::string::npos) return short_form;  // inf, nan
  const int exponent = std::atoi(short_form.c_str() + e + 1);
  if (value != 0 && (exponent < -4 || exponent >= 16)) return short_form;
  const std::string fixed(buffer, std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr);
  return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

std::string groups_text(const ConvOptions& options) {
  return text(options.groups != 1 ? text(", groups=", options.groups) : "", options.bias ? ")" : ", bias=False)");
}

std::string conv_text(const char* kind, int64_t in_channels, const ConvOptions& options) {
  const Window& w = options.window;
  std::string out = text(kind, '(', in_channels, ", ", options.out_channels, ", kernel_size=", pair_text(w.kernel),
                         ", stride=", pair_text(w.stride));
  if (!both_are(w.padding, 0)) out += text(", padding=", pair_text(w.padding));
  if (!both_are(w.dilation, 1)) out += text(", dilation=", pair_text(w.dilation));
  if (!both_are(options.output_padding, 0)) out += text(", output_padding=", pair_text(options.output_padding));
  return out + groups_text(options);
}

// Returns a Python tuple: "(4,)", "(4, 5)".
std::string tuple_text(const std::vector<int64_t>& numbers) {
  return text('(', join(numbers, ", "), numbers.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string conv2d_text(int64_t in_channels, const ConvOptions& options) {
  return conv_text("Conv2d", in_channels, options);
}

std::string conv_transpose2d_text(int64_t in_channels, const ConvOptions& options) {
  return conv_text("ConvTranspose2d", in_channels, options);
}

std::string conv1d_text(int64_t in_channels, const ConvOptions& options) {
  const Window& w = options.window;
  std::string out = text("Conv1d(", in_channels, ", ", options.out_channels, ", kernel_size=(", w.kernel[1],
                         ",), stride=(", w.stride[1], ",)");
  if (w.padding[1] != 0) out += text(", padding=(", w.padding[1], ",)");
  if (w.dilation[1] != 1) out += text(", dilation=(", w.dilation[1], ",)");
  return out + groups_text(options);
}

std::string linear_text(int64_t in_features, int64_t out_features, bool bias) {
  return text("Linear(in_features=", in_features, ", out_features=", out_features, ", bias=", bool_text(bias), ')');
}

std::string embedding_text(int64_t words, int64_t features) { return text("Embedding(", words, ", ", features, ')'); }

std::string batch_norm_text(const char* kind, int64_t channels, double eps, double momentum) {
  return text(kind, '(', channels, ", eps=", real_text(eps), ", momentum=", real_text(momentum),
              ", affine=True, track_running_stats=True)");
}

std::string norm_of_axes_text(const char* kind, const Shape& normalized, double eps) {
  return text(kind, '(', tuple_text(normalized.dims()), ", eps=", real_text(eps), ", elementwise_affine=True)");
}

std::string group_norm_text(int64_t groups, int64_t channels, double eps) {
  return text("GroupNorm(", groups, ", ", channels, ", eps=", real_text(eps), ", affine=True)");
}

std::string leaky_relu_text(double slope) { return text("LeakyReLU(negative_slope=", real_text(slope), ')'); }

std::string reshape_text(const std::vector<int64_t>& sample) { return text("Reshape(", tuple_text(sample), ')'); }

std::string mean_text(const std::vector<int64_t>& axes, bool keep) {
  return text("Mean(dim=", tuple_text(axes), ", keepdim=", bool_text(keep), ')');
}

std::string max_pool2d_text(const Window& window) {
  return text("MaxPool2d(kernel_size=", size_text(window.kernel), ", stride=", size_text(window.stride),
              ", padding=", size_text(window.padding), ", dilation=1, ceil_mode=False)");
}

std::string avg_pool2d_text(const Window& window) {
  return text("AvgPool2d(kernel_size=", size_text(window.kernel), ", stride=", size_text(window.stride),
              ", padding=", size_text(window.padding), ')');
}

std::string adaptive_avg_pool2d_text(int64_t height, int64_t width) {
  return text("AdaptiveAvgPool2d(output_size=(", height, ", ", width, "))");
}

std::string dropout_text(double probability) { return text("Dropout(p=", real_text(probability), ", inplace=False)"); }

std::string recurrent_text(const char* kind, int64_t features, int64_t hidden, bool bias) {
  return text(kind, '(', features, ", ", hidden, bias ? "" : ", bias=False", ", batch_first=True)");
}

}  // namespace troika
