// Channels last: how images [n, c, h, w] and convolution weights [k, c, kh, kw] are stored on a
// GPU.
#pragma once

#include "device/layout.h"
#include "graph/graph.h"

namespace troika::cuda {

// [n, h, w, c], dense.
class NhwcLayout : public Layout {
 public:
  explicit NhwcLayout(TensorType type) : type_(std::move(type)) {}
  size_t bytes() const override { return type_.bytes(); }
  bool equals(const Layout& other) const override {
    auto* o = dynamic_cast<const NhwcLayout*>(&other);
    return o && o->type_ == type_;
  }
  std::string name() const override { return "nhwc"; }

 private:
  TensorType type_;
};

// Null, the plain layout, where it is the same: no image, one channel, or one pixel.
inline LayoutPtr nhwc(const TensorType& type) {
  const Shape& s = type.shape;
  if (s.rank() != 4 || s[1] == 1 || s[2] * s[3] == 1) return nullptr;
  return std::make_shared<NhwcLayout>(type);
}

}  // namespace troika::cuda
