// The image that stands in for x.
#include "backends/cuda/normalized_ways.h"

#include <algorithm>

#include "backends/cuda/difference.h"

namespace troika::cuda {

NormalizedWays::NormalizedWays(const CudaDevice& device, const KernelRequest& request, size_t place) : place_(place) {
  if (!request.node.attributes.flag("normalizes")) return;
  image_ = input_type(request, 0);
  normalize_ = normalize_relu(device, image_);
}

Way NormalizedWays::whole(Way way) const {
  if (!*this) return way;
  const auto normalize = [ways = *this](void* const* t, void* image, cudaStream_t stream) {
    const auto floats = [&](size_t i) { return static_cast<const float*>(t[ways.place_ + i]); };
    ways.normalize_(t[0], floats(2), floats(3), floats(0), floats(1), image, stream);
  };
  way.stand_in = {.place = 0, .bytes = image_.bytes(), .before = normalize};
  return way;
}

void NormalizedWays::add_to(Problem& problem) const {
  if (!*this) return;
  problem.text += ", normalizes";
  problem.tensors.insert(problem.tensors.end(), kCount, {DType::f32, {image_.shape[1]}});
}

void NormalizedWays::copy(const Arguments& arguments, void** tensors) const {
  std::copy_n(arguments.inputs.end() - static_cast<ptrdiff_t>(count()), count(), tensors + place_);
}

}  // namespace troika::cuda
