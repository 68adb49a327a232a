// Tests of environment variables.
#include "core/environment.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "support/environment_guard.h"

namespace troika {
namespace {

TEST(Environment, ReadsItsVariablesAndIsEmptyWhereNoneIsSet) {
  struct Variable {
    const char* name;
    std::string (*read)();
  };
  for (const auto& [name, read] :
       {Variable{"TROIKA_DUMP", dumped_pass}, Variable{"TROIKA_LOG", log_levels},
        Variable{"TROIKA_BACKEND_DIR", backend_folder}, Variable{"TROIKA_CACHE_DIR", cache_folder}}) {
    const EnvironmentGuard guard(name);
    ::unsetenv(name);
    EXPECT_EQ(read(), "") << name;
    ::setenv(name, "/opt/a b", 1);
    EXPECT_EQ(read(), "/opt/a b") << name;
  }
}

TEST(Environment, FindsTheUsersOwnCache) {
  const EnvironmentGuard cache("XDG_CACHE_HOME"), home("HOME");
  ::setenv("XDG_CACHE_HOME", "/var/cache/me", 1);
  EXPECT_EQ(user_cache_folder(), "/var/cache/me/troika");
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(user_cache_folder(), "/home/me/.cache/troika");
  ::unsetenv("HOME");
  EXPECT_EQ(user_cache_folder(), "");
}

}  // namespace
}  // namespace troika
