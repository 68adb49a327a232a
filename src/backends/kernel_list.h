// The words of kernels.def: how a backend computes an op.
#pragma once

namespace troika {

enum class CpuKernel {
  none,  // the CPU has no kernel for the op
  f32,   // computes in f32: 16-bit operands are widened before it and rounded after it
  low,   // reads and writes 16-bit numbers itself
  bf16,  // oneDNN reads and writes bf16 itself if the CPU can, otherwise as `f32`
};

enum class CudaKernel {
  none,     // GPUs have no kernel for the op
  present,  // reads and writes every type that mixed precision hands to the op
};

}  // namespace troika
