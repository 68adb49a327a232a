// Names and views of oneDNN's layouts.
#include "backends/cpu/onednn_layout.h"

#include <algorithm>
#include <numeric>

namespace troika::cpu {

Desc plain_desc(const Shape& shape, dnnl::memory::data_type type) {
  Dims dims = shape.dims();
  if (dims.empty()) dims = {1};
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * std::max<int64_t>(dims[i + 1], 1);
  return Desc(dims, type, strides);
}

dnnl::memory::data_type onednn_type(DType dtype) {
  switch (dtype) {
    case DType::i32: return dnnl::memory::data_type::s32;
    case DType::bf16: return dnnl::memory::data_type::bf16;
    default: return dnnl::memory::data_type::f32;
  }
}

Desc desc_of(const TensorType& type, const LayoutPtr& layout) {
  if (!layout) return plain_desc(type.shape, onednn_type(type.dtype));
  if (const auto* low = dynamic_cast<const LowLayout*>(layout.get())) {
    const Blocking wide = blocking_of(static_cast<const OnednnLayout&>(*low->wide()).desc());
    return desc_like(wide, Shape(wide.dims), onednn_type(type.dtype));
  }
  return static_cast<const OnednnLayout&>(*layout).desc();
}

LayoutPtr layout_of(const Desc& desc, const Shape& shape) {
  // Row-major memory of any other dims with as many elements ([out, c, h, w] for [out, in]) is the
  // plain layout too.
  if (is_plain_format(desc) && blocking_of(desc).dims.size() > 0) {
    const Blocking b = blocking_of(desc);
    if (b.blocks.empty() && Shape(b.dims).elements() == shape.elements() &&
        desc == plain_desc(Shape(b.dims), dnnl::memory::data_type::f32))
      return nullptr;
  }
  return std::make_shared<OnednnLayout>(desc);
}

LayoutPtr layout_of(const Desc& desc, const TensorType& type) {
  if (type.dtype != DType::bf16) return layout_of(desc, type.shape);
  if (!is_plain_format(desc)) return std::make_shared<OnednnLayout>(desc);
  const Blocking b = blocking_of(desc);
  if (b.blocks.empty() && Shape(b.dims).elements() == type.shape.elements() &&
      desc == plain_desc(Shape(b.dims), dnnl::memory::data_type::bf16))
    return nullptr;
  if (b.dims == type.shape.dims() && b.dims.size() == 4 &&
      desc == desc_like(b, type.shape, dnnl::memory::data_type::bf16)) {
    const LayoutPtr wide = layout_of(desc_like(b, type.shape), type.shape);
    if (wide && image_view({DType::f32, type.shape}, wide)) return std::make_shared<LowLayout>(wide);
  }
  return std::make_shared<OnednnLayout>(desc);
}

LayoutPtr in_f32(const LayoutPtr& layout) {
  const auto* low = dynamic_cast<const LowLayout*>(layout.get());
  return low ? low->wide() : layout;
}

bool OnednnLayout::is_known_by_name() const { return is_plain_format(desc_); }

std::string OnednnLayout::name() const {
  if (!is_known_by_name()) return "opaque";
  const Blocking b = blocking_of(desc_);
  // oneDNN's own notation: dimensions from the largest stride down, upper case if blocked, then the
  // blocks.
  std::vector<size_t> order(b.dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return b.strides[i] > b.strides[j]; });
  std::string name;
  for (size_t i : order) {
    const bool is_blocked =
        std::find(b.block_axes.begin(), b.block_axes.end(), static_cast<int64_t>(i)) != b.block_axes.end();
    name += static_cast<char>((is_blocked ? 'A' : 'a') + i);
  }
  for (size_t k = 0; k < b.blocks.size(); ++k)
    name += std::to_string(b.blocks[k]) + static_cast<char>('a' + b.block_axes[k]);
  return name;
}

std::optional<ImageView> image_view(const TensorType& type, const LayoutPtr& layout) {
  const Shape& s = type.shape;
  if (s.rank() != 4) return std::nullopt;
  const int64_t spatial = s[2] * s[3];
  if (!layout) return ImageView{s[0], s[1], s[1], spatial, 1};
  const Desc& desc = static_cast<const OnednnLayout&>(*layout).desc();
  if (!is_plain_format(desc)) return std::nullopt;
  const Blocking b = blocking_of(desc);
  if (b.dims != s.dims()) return std::nullopt;
  if (b.blocks.empty() && b.padded_dims == b.dims && b.strides == Dims{spatial * s[1], 1, s[3] * s[1], s[1]})
    return ImageView{s[0], s[1], 1, spatial, s[1]};
  if (b.blocks.size() == 1 && b.block_axes[0] == 1) {
    const int64_t block = b.blocks[0], c_blocks = b.padded_dims[1] / block;
    if (b.padded_dims[0] == s[0] && b.padded_dims[2] == s[2] && b.padded_dims[3] == s[3] &&
        b.strides == Dims{c_blocks * spatial * block, spatial * block, s[3] * block, block})
      return ImageView{s[0], s[1], c_blocks, spatial, block};
  }
  return std::nullopt;
}

Desc desc_like(const Blocking& b, const Shape& shape, dnnl::memory::data_type type) {
  using Tag = dnnl::memory::format_tag;
  if (b.blocks.empty()) {
    const bool channels_last = b.strides[1] < b.strides[3] || (b.strides[1] == 1 && b.dims[1] > 1);
    return Desc(shape.dims(), type, channels_last ? Tag::nhwc : Tag::nchw);
  }
  const int64_t block = b.blocks[0];
  return Desc(shape.dims(), type, block == 16 ? Tag::nChw16c : block == 8 ? Tag::nChw8c : Tag::nChw4c);
}

LayoutPtr like_image(const TensorType& type, const LayoutPtr& layout, const Shape& shape) {
  return layout ? layout_of(desc_like(blocking_of(desc_of(type, layout)), shape), shape) : nullptr;
}

}  // namespace troika::cpu
