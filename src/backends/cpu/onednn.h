// One interface to oneDNN 2.6 and 3.x. Only their primitive descriptors and memory descriptors
// differ here.
#pragma once

#include <dnnl.hpp>

#include <string>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace troika::cpu {

#if DNNL_VERSION_MAJOR >= 3
#define TROIKA_ONEDNN_PD(Primitive, ...) dnnl::Primitive::primitive_desc(engine, __VA_ARGS__, attr)
#define TROIKA_ONEDNN_PD_HINT(Primitive, hint, ...) dnnl::Primitive::primitive_desc(engine, __VA_ARGS__, hint, attr)
#define TROIKA_ONEDNN_POOL_DILATION dnnl::memory::dims{0, 0},
#else
#define TROIKA_ONEDNN_PD(Primitive, ...) \
  dnnl::Primitive::primitive_desc(dnnl::Primitive::desc(__VA_ARGS__), attr, engine)
#define TROIKA_ONEDNN_PD_HINT(Primitive, hint, ...) \
  dnnl::Primitive::primitive_desc(dnnl::Primitive::desc(__VA_ARGS__), attr, engine, hint)
#define TROIKA_ONEDNN_POOL_DILATION
#endif

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

// A 2-d convolution in oneDNN's terms, in which a dilation of 0 means none. Weights are [k, c, h,
// w], or [groups, k / groups, c / groups, h, w].
struct ConvSettings {
  dnnl::algorithm algorithm = dnnl::algorithm::convolution_auto;  // oneDNN 2.6 chooses Winograd's if it is faster
  Desc x, weight, bias, y;                                        // an empty bias: none
  Dims stride, dilation, padding_before, padding_after;
};

inline auto conv_forward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const ConvSettings& s) {
  return TROIKA_ONEDNN_PD(convolution_forward, dnnl::prop_kind::forward_training, s.algorithm, s.x, s.weight, s.bias,
                          s.y, s.stride, s.dilation, s.padding_before, s.padding_after);
}

inline auto conv_backward_data(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const ConvSettings& s,
                               const dnnl::convolution_forward::primitive_desc& hint) {
  return TROIKA_ONEDNN_PD_HINT(convolution_backward_data, hint, s.algorithm, s.x, s.weight, s.y, s.stride, s.dilation,
                               s.padding_before, s.padding_after);
}

inline auto conv_backward_weights(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const ConvSettings& s,
                                  const dnnl::convolution_forward::primitive_desc& hint) {
  return TROIKA_ONEDNN_PD_HINT(convolution_backward_weights, hint, s.algorithm, s.x, s.weight, s.bias, s.y, s.stride,
                               s.dilation, s.padding_before, s.padding_after);
}

inline auto linear_forward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const Desc& x,
                           const Desc& weight, const Desc& bias, const Desc& y) {
  return TROIKA_ONEDNN_PD(inner_product_forward, dnnl::prop_kind::forward_training, x, weight, bias, y);
}

inline auto linear_backward_data(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const Desc& dx,
                                 const Desc& weight, const Desc& dy,
                                 const dnnl::inner_product_forward::primitive_desc& hint) {
  return TROIKA_ONEDNN_PD_HINT(inner_product_backward_data, hint, dx, weight, dy);
}

inline auto linear_backward_weights(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const Desc& x,
                                    const Desc& dweight, const Desc& dbias, const Desc& dy,
                                    const dnnl::inner_product_forward::primitive_desc& hint) {
  return TROIKA_ONEDNN_PD_HINT(inner_product_backward_weights, hint, x, dweight, dbias, dy);
}

inline auto matmul_forward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const Desc& a, const Desc& b,
                           const Desc& y, const Desc& bias = {}) {
  return TROIKA_ONEDNN_PD(matmul, a, b, bias, y);
}

struct PoolSettings {
  dnnl::algorithm algorithm;
  Desc x, y;
  Dims stride, kernel, padding_before, padding_after;
};

inline auto pool_forward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const PoolSettings& s) {
  return TROIKA_ONEDNN_PD(pooling_forward, dnnl::prop_kind::forward_training, s.algorithm, s.x, s.y, s.stride, s.kernel,
                          TROIKA_ONEDNN_POOL_DILATION s.padding_before, s.padding_after);
}

inline auto pool_backward(const dnnl::engine& engine, const dnnl::primitive_attr& attr, const PoolSettings& s,
                          const dnnl::pooling_forward::primitive_desc& hint) {
  return TROIKA_ONEDNN_PD_HINT(pooling_backward, hint, s.algorithm, s.x, s.y, s.stride, s.kernel,
                               TROIKA_ONEDNN_POOL_DILATION s.padding_before, s.padding_after);
}

inline dnnl::reorder::primitive_desc reorder(const dnnl::engine& engine, const dnnl::primitive_attr& attr,
                                             const Desc& from, const Desc& to) {
  return {engine, from, engine, to, attr};
}

// How a memory descriptor lays out its elements: strides of the outer dimensions, then inner
// blocks.
struct Blocking {
  Dims dims, padded_dims, strides;
  std::vector<int64_t> blocks;      // sizes of the inner blocks, outermost first
  std::vector<int64_t> block_axes;  // the dimension that each cuts
};

inline Blocking blocking_of(const Desc& desc) {
  Blocking b;
#if DNNL_VERSION_MAJOR >= 3
  b.dims = desc.get_dims();
  b.padded_dims = desc.get_padded_dims();
  b.strides = desc.get_strides();
  b.blocks = desc.get_inner_blks();
  b.block_axes = desc.get_inner_idxs();
#else
  const auto& md = desc.data;
  const auto& blk = md.format_desc.blocking;
  b.dims.assign(md.dims, md.dims + md.ndims);
  b.padded_dims.assign(md.padded_dims, md.padded_dims + md.ndims);
  b.strides.assign(blk.strides, blk.strides + md.ndims);
  b.blocks.assign(blk.inner_blks, blk.inner_blks + blk.inner_nblks);
  b.block_axes.assign(blk.inner_idxs, blk.inner_idxs + blk.inner_nblks);
#endif
  return b;
}

inline bool is_plain_format(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_format_kind() == dnnl::memory::format_kind::blocked;
#else
  return desc.data.format_kind == dnnl_blocked;
#endif
}

// Whether oneDNN's kernels may use AMX. Later sets of instructions have the bits of earlier ones.
inline bool has_amx() {
  const auto amx = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & amx) == amx;
}

inline bool is_empty(const Desc& desc) { return desc.get_size() == 0; }

// Runs `body`, and names `what` if oneDNN refuses.
template <typename Body>
auto check(const std::string& what, Body&& body) {
  try {
    return body();
  } catch (const dnnl::error& e) {
    const Status status = e.status == dnnl_out_of_memory   ? Status::out_of_memory
                          : e.status == dnnl_unimplemented ? Status::unsupported
                                                           : Status::internal;
    throw Error(status, text(what, ": oneDNN: ", e.message, " (status ", static_cast<int>(e.status), ")"));
  }
}

}  // namespace troika::cpu
