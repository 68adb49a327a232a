// Faults of a GPU in software, for tests.
#pragma once

namespace emulated_gpu {

// Whether each product of a warp has one wrong element from now on.
void spoil_warp_products(bool spoils);

}  // namespace emulated_gpu

namespace emulated_gpu::hopper {

// Whether each product of a warpgroup has one wrong element from now on.
void spoil_products(bool spoils);

}  // namespace emulated_gpu::hopper
