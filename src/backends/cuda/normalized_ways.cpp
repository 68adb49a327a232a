// The image that stands in for x.
#include "backends/cuda/normalized_ways.h"

#include <algorithm>

#include "backends/cuda/batch_norm2d_passes.h"

namespace troika::cuda {

StandIn normalized_image(const CudaDevice& device, const TensorType& x, size_t x_place, size_t norm_place,
                         size_t place) {
  const auto make = [=, normalize = normalize_relu(device, x)](void* const* t, void* image, cudaStream_t stream) {
    const auto floats = [&](size_t i) { return static_cast<const float*>(t[norm_place + i]); };
    normalize(t[x_place], floats(2), floats(3), floats(0), floats(1), image, stream);
  };
  return {.place = place, .bytes = x.bytes(), .before = make};
}

NormalizedWays::NormalizedWays(const CudaDevice& device, const KernelRequest& request, size_t place) : place_(place) {
  if (!request.node.attributes.flag("normalizes")) return;
  const TensorType& x = input_type(request, 0);
  image_ = normalized_image(device, x, 0, place, 0);
  channels_ = x.shape[1];
}

Way NormalizedWays::whole(Way way) const {
  if (image_) way.stand_in = image_;
  return way;
}

void NormalizedWays::add_to(Problem& problem) const {
  if (!*this) return;
  problem.text += ", normalizes";
  problem.tensors.insert(problem.tensors.end(), kCount, {DType::f32, {channels_}});
}

void NormalizedWays::copy(const Arguments& arguments, void** tensors) const {
  std::copy_n(arguments.inputs.end() - static_cast<ptrdiff_t>(count()), count(), tensors + place_);
}

}  // namespace troika::cuda
