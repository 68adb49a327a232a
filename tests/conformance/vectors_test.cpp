// The library's own CPU kernels respect oneDNN's limit of vectors.
#include "backends/cpu/vectors.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace troika::cpu {
namespace {

// tests/any_cpu and tests/run set a limit; a run without one proves nothing here.
TEST(WidestVectors, AreNoWiderThanThoseThatOnednnIsLimitedTo) {
  const char* const variable = std::getenv("ONEDNN_MAX_CPU_ISA");
  const std::string limit = variable ? variable : "";
  if (limit.empty() || limit.starts_with("AVX512"))
    GTEST_SKIP() << "ONEDNN_MAX_CPU_ISA is '" << limit << "': any vectors may be used";
  EXPECT_LE(widest_vectors(), limit.starts_with("AVX2") ? Vectors::avx2 : Vectors::sse);
}

}  // namespace
}  // namespace troika::cpu
