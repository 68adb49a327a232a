// The choice of a node's fastest way as its kernel.
#pragma once

#include "backends/cuda/fastest_way.h"
#include "backends/cuda/kernels.h"

namespace troika::cuda {

// `tensors_of(arguments, stream)` returns an array that begins with the problem's tensors.
// `choice_of` sets the layouts: nhwc_choice or plain_choice.
template <typename TensorsOf>
KernelChoice fastest_choice(CudaDevice& device, const KernelRequest& request, const Problem& problem,
                            std::vector<Way> ways, decltype(nhwc_choice)& choice_of, TensorsOf tensors_of) {
  auto way = std::make_unique<FastestWay>(device, problem, std::move(ways));
  const std::string name = way->kernel_name();
  const std::vector<LogLine> notes = way->notes();
  const size_t scratch_bytes = way->scratch_bytes(), count = problem.tensors.size();
  auto kernel = make_kernel(device, [=, way = std::move(way)](const Arguments& a, cudaStream_t stream) {
    const auto tensors = tensors_of(a, stream);
    way->run({tensors.data(), count}, a.scratch, stream);
  });
  KernelChoice choice = choice_of(request, name, std::move(kernel));
  choice.scratch_bytes = scratch_bytes;
  choice.notes = notes;
  return choice;
}

}  // namespace troika::cuda
