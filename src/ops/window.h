// Windows that slide over an image: kernel, stride, padding and dilation as {height, width}.
#pragma once

#include "core/error.h"
#include "ops/op_def.h"

namespace troika {

struct Window {
  int64_t kernel[2];
  int64_t stride[2];
  int64_t padding[2];
  int64_t dilation[2];

  static Window of(const Node& node) {
    const auto& k = node.attributes.list("kernel");
    const auto& s = node.attributes.list("stride");
    const auto& p = node.attributes.list("padding");
    for (const auto* pair : {&k, &s, &p})
      if (pair->size() != 2)
        throw Error(Status::invalid_argument, std::string(node.op->name) + " '" + node.name +
                                                  "': kernel, stride and padding need 2 numbers each");
    Window w{{k[0], k[1]}, {s[0], s[1]}, {p[0], p[1]}, {1, 1}};
    if (node.attributes.has("dilation")) {
      const auto& d = node.attributes.list("dilation");
      for (size_t i = 0; i < 2 && i < d.size(); ++i) w.dilation[i] = d[i];
    }
    return w;
  }

  // Returns the output's size along axis 0 (height) or 1 (width): floor((in + 2 p - d (k - 1) - 1)
  // / s) + 1, or 0 if nothing fits.
  int64_t out_size(int axis, int64_t in) const {
    const int64_t span = in + 2 * padding[axis] - dilation[axis] * (kernel[axis] - 1) - 1;
    return span < 0 ? 0 : span / stride[axis] + 1;
  }
  // Returns the end of the windows of `out` outputs in the input. If they cover padding, that is
  // beyond the input's end.
  int64_t reach(int axis, int64_t out) const {
    return (out - 1) * stride[axis] + dilation[axis] * (kernel[axis] - 1) + 1 - padding[axis];
  }

  // Throws if the settings make no window.
  void check(const OpInputs& in) const {
    constexpr int64_t kMost = 1 << 20;
    for (int i = 0; i < 2; ++i) {
      if (kernel[i] < 1 || kernel[i] > kMost) in.fail(text_of("kernel", kernel, "1 to 1048576"));
      if (stride[i] < 1 || stride[i] > kMost) in.fail(text_of("stride", stride, "1 to 1048576"));
      if (padding[i] < 0 || padding[i] > kMost) in.fail(text_of("padding", padding, "0 to 1048576"));
      if (dilation[i] < 1 || dilation[i] > kMost) in.fail(text_of("dilation", dilation, "1 to 1048576"));
    }
  }

 private:
  static std::string text_of(const char* what, const int64_t (&v)[2], const char* need) {
    return std::string(what) + " is " + std::to_string(v[0]) + " x " + std::to_string(v[1]) + ", needs " + need;
  }
};

}  // namespace troika
