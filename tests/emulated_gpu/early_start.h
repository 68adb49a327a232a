// How a kernel on a GPU in software begins. Its node of a graph runs after those that it waits for.
#pragma once

namespace troika::cuda {

inline void wait_for_kernels_before() {}

}  // namespace troika::cuda
