// batch_results.
#include "backends/cuda/early_start.cuh"
#include "backends/cuda/elements.cuh"
#include "backends/cuda/kernels.h"

namespace troika::cuda {
namespace {

constexpr int kMostSources = 128;  // of one launch: their addresses travel as its argument

// Losses, then numbers of correct labels.
struct Sources {
  const void* data[kMostSources];
  int losses, count;
};

// One block. `clears`: the results have no value yet. The losses go to results[first] and after.
__global__ void __launch_bounds__(kThreads) batch_results_kernel(const __grid_constant__ Sources sources, bool clears,
                                                                 int64_t first, int64_t places, double* results) {
  wait_for_kernels_before();
  if (clears)
    for (int64_t i = threadIdx.x; i <= places; i += kThreads) results[i] = 0;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < sources.losses; i += kThreads)
    results[first + i] = *static_cast<const double*>(sources.data[i]);
  if (threadIdx.x != 0 || sources.losses == sources.count) return;
  int64_t correct = 0;
  for (int i = sources.losses; i < sources.count; ++i) correct += *static_cast<const int64_t*>(sources.data[i]);
  results[places] += static_cast<double>(correct);
}

}  // namespace

KernelChoice select_batch_results(CudaDevice& device, const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const int64_t first = attributes.integer("first"), places = attributes.integer("places");
  const int inputs = static_cast<int>(request.node.inputs.size()),
            losses = static_cast<int>(attributes.integer("losses"));
  auto kernel = make_kernel(device, [=](const Arguments& a, cudaStream_t stream) {
    int begin = 0;
    do {
      Sources sources{};
      sources.count = std::min(inputs - begin, kMostSources);
      sources.losses = std::clamp(losses - begin, 0, sources.count);
      std::copy_n(a.inputs.begin() + begin, sources.count, sources.data);
      batch_results_kernel<<<1, kThreads, 0, stream>>>(sources, begin == 0, first + begin, places, a.out<double>(0));
      begin += kMostSources;
    } while (begin < inputs);
  });
  return plain_choice(request, "cuda:own:batch_results", std::move(kernel));
}

}  // namespace troika::cuda
