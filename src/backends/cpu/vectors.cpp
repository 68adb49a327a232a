// The CPU's answer and oneDNN's: the narrower counts.
#include "backends/cpu/vectors.h"

#include <dnnl.hpp>

#include <algorithm>

#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

#ifdef TROIKA_TARGET
TROIKA_TARGET("arch=x86-64-v4") Vectors of_cpu() { return Vectors::avx512; }
TROIKA_TARGET("arch=x86-64-v3") Vectors of_cpu() { return Vectors::avx2; }
TROIKA_TARGET("default")
#endif
Vectors of_cpu() { return Vectors::sse; }

// Instruction sets are sets of bits; each holds those that it builds on.
Vectors of_onednn() {
  const auto has = [isa = dnnl_get_effective_cpu_isa()](dnnl_cpu_isa_t wanted) { return (isa & wanted) == wanted; };
  return has(dnnl_cpu_isa_avx512_core) ? Vectors::avx512 : has(dnnl_cpu_isa_avx2) ? Vectors::avx2 : Vectors::sse;
}

}  // namespace

Vectors widest_vectors() {
  static const Vectors vectors = std::min(of_cpu(), of_onednn());
  return vectors;
}

}  // namespace troika::cpu
