// Libraries by LoadLibraryEx.
#include "core/dynamic_library.h"

#include <windows.h>

#include <psapi.h>  // needs the types of windows.h

#include <algorithm>
#include <array>
#include <vector>

#include "core/path.h"
#include "core/windows/error_text.h"

namespace troika {
namespace {

// Returns the library or program with this address; null if the system has none.
HMODULE module_of(const void* address) {
  HMODULE module = nullptr;
  constexpr DWORD kByAddress = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  return GetModuleHandleExW(kByAddress, static_cast<LPCWSTR>(address), &module) ? module : nullptr;
}

}  // namespace

void* open_library(const std::string& file, std::string& reason) {
  const std::filesystem::path path = path_of(file);
  // The current folder is never searched. The folder of the library itself can only be if the path
  // is absolute.
  const DWORD places = LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | (path.is_absolute() ? LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR : 0);
  const HMODULE library = LoadLibraryExW(path.c_str(), nullptr, places);
  if (!library) reason = error_text(GetLastError());
  return library;
}

void* find_function(void* library, const char* name) {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(library), name));
}

void* find_loaded_function(const char* name) {
  std::vector<HMODULE> modules(1024);
  DWORD bytes = 0;
  if (!EnumProcessModules(GetCurrentProcess(), modules.data(), static_cast<DWORD>(modules.size() * sizeof(HMODULE)),
                          &bytes))
    return nullptr;
  modules.resize(std::min(modules.size(), bytes / sizeof(HMODULE)));
  for (HMODULE module : modules)
    if (void* const function = find_function(module, name)) return function;
  return nullptr;
}

std::string folder_of_code(const void* address) {
  const HMODULE module = module_of(address);
  if (!module) return "";
  std::array<wchar_t, 32768> file{};  // the longest path that the system has
  const DWORD length = GetModuleFileNameW(module, file.data(), static_cast<DWORD>(file.size()));
  if (length == 0 || length == file.size()) return "";
  return text_of(std::filesystem::path(file.data()).parent_path());
}

bool are_of_one_library(const void* a, const void* b) { return module_of(a) && module_of(a) == module_of(b); }

}  // namespace troika
