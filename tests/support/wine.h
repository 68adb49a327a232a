// Whether the test runs under Wine, which lacks some of what Windows has.
#pragma once

#ifdef _WIN32
#include <windows.h>
#endif

namespace troika::test {

inline bool is_wine() {
#ifdef _WIN32
  return GetProcAddress(GetModuleHandleA("ntdll.dll"), "wine_get_version") != nullptr;
#else
  return false;
#endif
}

}  // namespace troika::test
