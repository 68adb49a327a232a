// The pooling that a conv2d applies to its result, and whose gradient its gradients apply to dy
// (passes/fuse_pools.cpp): each window of 2 x 2 pixels becomes one. Windows do not overlap.
#pragma once

#include "graph/graph.h"

namespace troika {

// The attribute `pool` of conv2d and its gradients.
enum class FusedPool : int64_t { none, average, max };

constexpr int kFusedPoolSize = 2;  // of a window, down and across

inline FusedPool fused_pool_of(const Node& node) {
  return node.attributes.has("pool") ? static_cast<FusedPool>(node.attributes.integer("pool")) : FusedPool::none;
}

// Whether a linear layer reads the pooled image, and makes its gradient: a device may store both
// channel by channel, whatever it does with other images (passes/plain_pools.cpp).
inline bool has_plain_pool(const Node& node) { return node.attributes.flag("plain_pool"); }

// Type of the mask: a byte for each pooled element. Bit i is set if the
// gradient goes to pixel i of the window: 2 x its row + its column.
inline TensorType fused_pool_mask(const Shape& pooled) { return {DType::u8, pooled}; }

}  // namespace troika
