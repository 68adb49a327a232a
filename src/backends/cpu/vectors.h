// The vectors that own kernels compute with, if a kernel is written anew for each of them.
#pragma once

namespace troika::cpu {

enum class Vectors { sse, avx2, avx512 };  // of 4, 8 and 16 floats

// Returns the widest that this CPU has and that oneDNN may use. So ONEDNN_MAX_CPU_ISA limits own
// kernels too, and tests run those of older CPUs. TROIKA_VECTORIZE's functions follow the CPU
// alone.
Vectors widest_vectors();

}  // namespace troika::cpu
