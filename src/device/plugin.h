// Plug-ins: backends and links in shared objects of their own, opened at run time, so that the
// library itself needs no vendor's library.
#pragma once

#include <memory>
#include <string>

#include "device/backend.h"

namespace troika {

constexpr int32_t kPluginAbi = 5;

struct LinkDef;  // comm/link.h

// The result of a plug-in's only exported function, `extern "C" const troika::Plugin*
// troika_plugin()`. The field `abi` stays first in every version.
struct Plugin {
  int32_t abi = kPluginAbi;
  const char* version = nullptr;  // of the library that the plug-in was built with: both sides share C++ types
  const char* commit = nullptr;   // that the plug-in was built from
  // Returns the versions of the libraries that the plug-in calls: "CUDA 13.0, cuDNN 9.19.0".
  std::string (*libraries)() = nullptr;
  // Creates the backend. Returns null, with the reason in one line, if this machine cannot use it.
  // Null: the plug-in has no backend.
  std::unique_ptr<Backend> (*create)(const BackendSettings& settings, std::string& reason) = nullptr;
  const LinkDef* link = nullptr;  // between processes; null: the plug-in has none
};

// A plug-in that was opened, or the reason why there is none.
struct LoadedPlugin {
  const Plugin* plugin = nullptr;
  std::string path, versions, reason;
};

// Opens libtroika_<name>.so. It is looked for in `folder`, if there is one, in troika-1 next to
// this library, and in troika-1 of the install's library folder; never in the current folder. The
// plug-in is never closed. If there is none to use, the reason has the name, the places, and the
// loader's message.
LoadedPlugin load_plugin(const std::string& name, const std::string& folder);

// Opens a plug-in and creates its backend.
LoadedBackend load_backend(const std::string& name, const BackendSettings& settings);

}  // namespace troika
