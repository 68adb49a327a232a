// Kernels of a graph that start before the kernel before them has ended.
//
// Between two kernels a GPU is idle for about a microsecond: it waits for the last block of the
// first, and then places the blocks of the second. An edge of the type "programmatic" lets the
// second kernel's blocks be placed as soon as all blocks of the first have called for them. They
// wait for its results themselves (early_start.cuh).
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

namespace troika::cuda {

// Makes captured edges plain if they let a kernel of a library start before the end of a kernel of
// this plug-in: nothing is known of what the library's touches before it waits. `what` begins the
// message.
void hold_back_libraries(cudaGraph_t graph, std::string_view what);

// Returns the number of kernels that may start early from now on: kernels of this plug-in, compiled
// for 9.0 or later so that they wait, that come after a single node, which is a kernel. If this
// throws, edges may be missing.
int let_kernels_start_early(cudaGraph_t graph, std::string_view what);

}  // namespace troika::cuda
