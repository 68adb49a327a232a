// The search for a plug-in, and the checks before it is used.
#include "device/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include "core/environment.h"
#include "core/text.h"

namespace troika {
namespace {

// Returns the folder of the file with this function: of libtroika.so, or of a program that contains
// the library.
std::string own_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&load_backend), &info) || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::vector<std::string> folders() {
  std::vector<std::string> found;
  if (const std::string named = backend_folder(); !named.empty()) found.push_back(named);
  if (const std::string own = own_folder(); !own.empty() && own[0] == '/') found.push_back(own + "/troika-1");
  const std::string installed = TROIKA_LIBDIR "/troika-1";
  if (std::find(found.begin(), found.end(), installed) == found.end()) found.push_back(installed);
  return found;
}

}  // namespace

std::unique_ptr<Backend> load_backend(const std::string& name, std::string& reason) {
  const std::string file = text("libtroika_", name, ".so");
  const std::vector<std::string> searched = folders();
  for (const std::string& folder : searched) {
    const std::string path = text(folder, '/', file);
    if (access(path.c_str(), F_OK) != 0) continue;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* said = dlerror();
      reason = text("plug-in ", path, " does not load: ", said ? said : "no reason given");
      return nullptr;
    }
    const auto entry = reinterpret_cast<const Plugin* (*)()>(dlsym(library, "troika_plugin"));
    const Plugin* plugin = entry ? entry() : nullptr;
    if (!plugin) {
      reason = text("plug-in ", path, " has no function troika_plugin");
    } else if (plugin->abi != kPluginAbi) {
      reason = text("plug-in ", path, " has interface ", plugin->abi, ", this library needs ", kPluginAbi);
    } else if (std::string_view(plugin->version) != TROIKA_VERSION_STRING) {
      reason =
          text("plug-in ", path, " is of version ", plugin->version, ", this library is of ", TROIKA_VERSION_STRING);
    } else if (auto backend = plugin->create(reason)) {
      return backend;
    } else {
      reason = text("plug-in ", path, ": ", reason);
    }
    return nullptr;
  }
  const std::string ignored = relative_backend_folder();
  reason = text("there is no plug-in ", file, " in ", join(searched, " or "),
                ignored.empty()
                    ? ""
                    : text("; TROIKA_BACKEND_DIR is '", ignored, "', which is ignored: it needs an absolute path"));
  return nullptr;
}

}  // namespace troika
