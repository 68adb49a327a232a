// Libraries by dlopen.
#include "core/dynamic_library.h"

#include <dlfcn.h>

namespace troika {

void* open_library(const std::string& file, std::string& reason) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  const char* const said = dlerror();
  reason = said ? said : "no reason given";
  return nullptr;
}

void* find_function(void* library, const char* name) { return dlsym(library, name); }

void* find_loaded_function(const char* name) { return dlsym(RTLD_DEFAULT, name); }

std::string folder_of_code(const void* address) {
  Dl_info info{};
  if (!dladdr(address, &info) || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

bool are_of_one_library(const void* a, const void* b) {
  Dl_info of_a{}, of_b{};
  return dladdr(a, &of_a) && dladdr(b, &of_b) && of_a.dli_fbase == of_b.dli_fbase;
}

}  // namespace troika
