// Tests of environment variables.
#include "core/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace troika {
namespace {

TEST(Environment, NamesThePassThatIsDumpedAndNoneWhereNothingIsSet) {
  ::unsetenv("TROIKA_DUMP");
  EXPECT_EQ(dumped_pass(), "");
  ::setenv("TROIKA_DUMP", "fuse", 1);
  EXPECT_EQ(dumped_pass(), "fuse");
  ::unsetenv("TROIKA_DUMP");
}

}  // namespace
}  // namespace troika
