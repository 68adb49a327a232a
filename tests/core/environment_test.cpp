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

TEST(Environment, IgnoresARelativeBackendFolderButKnowsIt) {
  const char* before = ::getenv("TROIKA_BACKEND_DIR");
  const std::string old = before ? before : "";
  ::setenv("TROIKA_BACKEND_DIR", "build/cuda", 1);
  EXPECT_EQ(backend_folder(), "");
  EXPECT_EQ(relative_backend_folder(), "build/cuda");
  ::setenv("TROIKA_BACKEND_DIR", "/opt/cuda", 1);
  EXPECT_EQ(backend_folder(), "/opt/cuda");
  EXPECT_EQ(relative_backend_folder(), "");
  ::unsetenv("TROIKA_BACKEND_DIR");
  EXPECT_EQ(relative_backend_folder(), "");
  if (before) ::setenv("TROIKA_BACKEND_DIR", old.c_str(), 1);
}

}  // namespace
}  // namespace troika
