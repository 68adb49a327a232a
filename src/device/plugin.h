// Plug-ins: backends in shared objects of their own, opened at run time, so that the library itself
// needs no vendor's library.
#pragma once

#include <memory>
#include <string>

#include "device/backend.h"

namespace troika {

constexpr int32_t kPluginAbi = 1;

// The result of a plug-in's only exported function, `extern "C" const troika::Plugin*
// troika_plugin()`. The field `abi` stays first in every version.
struct Plugin {
  int32_t abi = kPluginAbi;
  const char* version = nullptr;  // of the library that the plug-in was built with: both sides share C++ types
  // Creates the backend. Returns null, with the reason in one line, if this machine cannot use it.
  std::unique_ptr<Backend> (*create)(std::string& reason) = nullptr;
};

// Opens libtroika_<name>.so and creates its backend. It is looked for in TROIKA_BACKEND_DIR (an
// absolute path), in troika-1 next to this library, and in troika-1 of the install's library
// folder; never in the current folder. The plug-in is never closed. If there is none to use,
// returns null and the reason: the name, the places, and the loader's message.
std::unique_ptr<Backend> load_backend(const std::string& name, std::string& reason);

}  // namespace troika
