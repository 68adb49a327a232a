// Layouts that oneDNN names, and how our own kernels see an image in one of them.
#pragma once

#include <optional>

#include "backends/cpu/onednn.h"
#include "core/shape.h"
#include "device/layout.h"
#include "graph/graph.h"

namespace troika::cpu {

class OnednnLayout : public Layout {
 public:
  explicit OnednnLayout(Desc desc) : desc_(std::move(desc)) {}
  const Desc& desc() const { return desc_; }
  size_t bytes() const override { return desc_.get_size(); }
  bool equals(const Layout& other) const override {
    auto* o = dynamic_cast<const OnednnLayout*>(&other);
    return o && o->desc_ == desc_;
  }
  std::string name() const override;

 private:
  Desc desc_;
};

// The plain row-major descriptor of a shape; a scalar counts as [1].
Desc plain_desc(const Shape& shape, dnnl::memory::data_type type = dnnl::memory::data_type::f32);
// As a tensor lies: its layout's descriptor, or the plain one of its shape.
Desc desc_of(const TensorType& type, const LayoutPtr& layout);
// Null where the descriptor is the plain one of `shape`, so that equal layouts compare equal.
LayoutPtr layout_of(const Desc& desc, const Shape& shape);

// An image [n, c, h, w] as [n][c_blocks][spatial][block]: nchw has block 1, nhwc one block of c, nChw16c blocks of 16 whose
// last may stand for fewer channels, padded with zeros.
struct ImageView {
  int64_t n, channels, c_blocks, spatial, block;
  int64_t elements() const { return n * c_blocks * spatial * block; }
};
std::optional<ImageView> image_view(const TensorType& type, const LayoutPtr& layout);

// A dense f32 descriptor with the order of dimensions and the blocks of `b`, for another shape of the same rank.
Desc desc_like(const Blocking& b, const Shape& shape);
// The layout of an image of shape `shape` that lies as one of type `type` does in `layout`.
LayoutPtr like_image(const TensorType& type, const LayoutPtr& layout, const Shape& shape);

}  // namespace troika::cpu
