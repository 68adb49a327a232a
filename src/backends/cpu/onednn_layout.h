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
  bool is_known_by_name() const override;

 private:
  Desc desc_;
};

// An image's numbers in 16 bits, in the order and with the padding of a layout in f32.
class LowLayout final : public Layout {
 public:
  explicit LowLayout(LayoutPtr wide) : wide_(std::move(wide)) {}
  const LayoutPtr& wide() const { return wide_; }
  size_t bytes() const override { return wide_->bytes() / 2; }
  bool equals(const Layout& other) const override {
    const auto* low = dynamic_cast<const LowLayout*>(&other);
    return low && low->wide_->equals(*wide_);
  }
  std::string name() const override { return wide_->name(); }
  bool is_known_by_name() const override { return wide_->is_known_by_name(); }

 private:
  const LayoutPtr wide_;
};

// An image's layout as f32 has it.
LayoutPtr in_f32(const LayoutPtr& layout);

// Returns oneDNN's name of an element type: f32, bf16 or i32.
dnnl::memory::data_type onednn_type(DType dtype);

// The plain row-major descriptor of a shape; a scalar counts as [1].
Desc plain_desc(const Shape& shape, dnnl::memory::data_type type = dnnl::memory::data_type::f32);
// Returns the descriptor of a tensor: its layout's, or the plain one of its shape.
Desc desc_of(const TensorType& type, const LayoutPtr& layout);
// Returns null if the descriptor is the plain one of `shape`, so that equal layouts compare equal.
LayoutPtr layout_of(const Desc& desc, const Shape& shape);
// The same for any type. In bf16 it returns a LowLayout for an image in an order that f32 has, too.
LayoutPtr layout_of(const Desc& desc, const TensorType& type);

// An image [n, c, h, w] as [n][c_blocks][spatial][block]: nchw has block 1, nhwc one block of c,
// nChw16c blocks of 16 whose last may stand for fewer channels, padded with zeros.
struct ImageView {
  int64_t n, channels, c_blocks, spatial, block;
  int64_t elements() const { return n * c_blocks * spatial * block; }
};
std::optional<ImageView> image_view(const TensorType& type, const LayoutPtr& layout);

// A dense descriptor with the order of dimensions and the blocks of `b`, for another shape of the
// same rank.
Desc desc_like(const Blocking& b, const Shape& shape, dnnl::memory::data_type type = dnnl::memory::data_type::f32);
// Returns the layout of an image of shape `shape` that is stored as an image of type `type` in
// `layout`.
LayoutPtr like_image(const TensorType& type, const LayoutPtr& layout, const Shape& shape);

}  // namespace troika::cpu
