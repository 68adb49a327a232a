// Tests of running out of host memory.
#include "core/host_memory.h"

#include <cstdint>

#include "support/throws.h"

namespace troika {
namespace {

TEST(HostMemory, ThatIsNotThereIsNamedWithItsSize) {
  std::vector<float> values;
  EXPECT_THROWS(Status::out_of_memory, "host memory: parameter 'fc.weight' needs 9223372036854775808 bytes",
                resize_host(values, size_t{1} << 61, "parameter", "fc.weight"));
  EXPECT_TRUE(values.empty());
  resize_host(values, 3, "parameter", "fc.weight");
  EXPECT_EQ(values, std::vector<float>(3));
}

}  // namespace
}  // namespace troika
