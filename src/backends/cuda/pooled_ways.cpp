// Images that stand in for pooled ones, and the proof of masks.
#include "backends/cuda/pooled_ways.h"

#include "backends/cuda/difference.h"
#include "core/text.h"

namespace troika::cuda {

Pooling PooledWays::of(void* const* tensors) const {
  if (!*this) return {};
  return {kind_, static_cast<uint8_t*>(tensors[mask_place_]), is_plain_};
}

Way PooledWays::forward(Way way, bool relu) const {
  constexpr size_t kY = 2;
  if (!*this) return way;
  const auto pool = [ways = *this, relu](void* const* t, void* image, cudaStream_t stream) {
    pool_image(ways.dtype_, ways.v_, ways.of(t), relu, image, t[kY], stream);
  };
  way.stand_in = {.place = kY, .bytes = image_bytes(), .after = pool};
  return way;
}

Way PooledWays::backward(Way way) const {
  constexpr size_t kDy = 1;
  if (!*this) return way;
  const auto expand = [ways = *this](void* const* t, void* image, cudaStream_t stream) {
    expand_gradient(ways.dtype_, ways.v_, ways.of(t), t[kDy], image, stream);
  };
  way.stand_in = {.place = kDy, .bytes = image_bytes(), .before = expand};
  return way;
}

void PooledWays::add_to(Problem& problem) const {
  if (!*this) return;
  problem.text += kind_ == FusedPool::max ? ", max pool" : ", average pool";
  if (is_plain_) problem.text += ", plain";
}

void PooledWays::add_mask_to(Problem& problem, bool bias) const {
  if (!*this) return;
  problem.outputs.insert(problem.outputs.begin(), {mask_place_, difference_of_masks});
  problem.prepare = [types = problem.tensors, bias](void* const* t, cudaStream_t stream) {
    constexpr size_t kWeights = 1, kBias = 3;
    constexpr float kHalf = 0.5f;  // so that no sum is 0
    for (size_t i = 0; i <= kWeights; ++i) fill_with_whole_numbers(types[i], t[i], i, stream);
    if (bias) fill_with_whole_numbers(types[kBias], t[kBias], kBias, stream, kHalf);
  };
}

std::string difference_of_masks(const std::vector<float>& found, const std::vector<float>& expected) {
  size_t count = 0;
  for (size_t i = 0; i < found.size(); ++i) count += found[i] != expected[i];
  return count == 0 ? "" : text("its mask differs in ", count, " of ", found.size(), " windows");
}

}  // namespace troika::cuda
