// Plug-ins: backends in shared objects of their own, opened at run time, so that the library itself
// needs no vendor's library.
#pragma once

#include <memory>
#include <string>

#include "device/backend.h"

namespace troika {

constexpr int32_t kPluginAbi = 2;

// The result of a plug-in's only exported function, `extern "C" const troika::Plugin*
// troika_plugin()`. The field `abi` stays first in every version.
struct Plugin {
  int32_t abi = kPluginAbi;
  const char* version = nullptr;  // of the library that the plug-in was built with: both sides share C++ types
  const char* commit = nullptr;   // that the plug-in was built from
  // Returns the versions of the libraries that the plug-in calls: "CUDA 13.0, cuDNN 9.19.0".
  std::string (*libraries)() = nullptr;
  // Creates the backend. Returns null, with the reason in one line, if this machine cannot use it.
  std::unique_ptr<Backend> (*create)(const BackendSettings& settings, std::string& reason) = nullptr;
};

// Opens libtroika_<name>.so and creates its backend. It is looked for in the settings' folder, in
// troika-1 next to this library, and in troika-1 of the install's library folder; never in the
// current folder. The plug-in is never closed. If there is none to use, the reason has the name,
// the places, and the loader's message.
LoadedBackend load_backend(const std::string& name, const BackendSettings& settings);

}  // namespace troika
