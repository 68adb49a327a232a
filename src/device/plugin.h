// Plug-ins: backends in shared objects of their own, opened at run time, so that the library itself needs no vendor's.
#pragma once

#include <memory>
#include <string>

#include "device/backend.h"

namespace troika {

constexpr int32_t kPluginAbi = 1;

// What a plug-in gives by its one exported function, `extern "C" const troika::Plugin* troika_plugin()`. `abi` stays the first
// field for ever.
struct Plugin {
  int32_t abi = kPluginAbi;
  const char* version = nullptr;  // of the library it was built with: C++ types cross this border
  // The backend; null, with the reason in one line, where this machine cannot use it.
  std::unique_ptr<Backend> (*create)(std::string& reason) = nullptr;
};

// Opens libtroika_<name>.so and creates its backend. Looked for in TROIKA_BACKEND_DIR (an absolute path), in troika-1 beside
// this library, and in troika-1 of the install's library folder; never in the current one. Never closed again. Null, with
// what was looked for, where, and what the loader said, where there is none to use.
std::unique_ptr<Backend> load_backend(const std::string& name, std::string& reason);

}  // namespace troika
