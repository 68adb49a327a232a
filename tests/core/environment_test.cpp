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
        Variable{"TROIKA_BACKEND_DIR", backend_folder}, Variable{"TROIKA_CACHE_DIR", cache_folder},
        Variable{"TROIKA_OWN_KERNELS", own_kernels}}) {
    const EnvironmentGuard guard(name);
    set_variable(name, nullptr);
    EXPECT_EQ(read(), "") << name;
    set_variable(name, "/opt/a b");
    EXPECT_EQ(read(), "/opt/a b") << name;
  }
}

#ifdef _WIN32
TEST(Environment, FindsTheUsersOwnCache) {
  const EnvironmentGuard folder("LOCALAPPDATA"), cache("XDG_CACHE_HOME"), home("HOME");
  set_variable("XDG_CACHE_HOME", nullptr);
  set_variable("HOME", nullptr);
  set_variable("LOCALAPPDATA", "C:\\me");
  EXPECT_EQ(user_cache_folder(), "C:\\me\\troika");
  set_variable("LOCALAPPDATA", nullptr);
  EXPECT_EQ(user_cache_folder(), "");
}
#else
TEST(Environment, FindsTheUsersOwnCache) {
  const EnvironmentGuard cache("XDG_CACHE_HOME"), home("HOME");
  set_variable("XDG_CACHE_HOME", "/var/cache/me");
  EXPECT_EQ(user_cache_folder(), "/var/cache/me/troika");
  set_variable("XDG_CACHE_HOME", nullptr);
  set_variable("HOME", "/home/me");
  EXPECT_EQ(user_cache_folder(), "/home/me/.cache/troika");
  set_variable("HOME", nullptr);
  EXPECT_EQ(user_cache_folder(), "");
}
#endif

}  // namespace
}  // namespace troika
