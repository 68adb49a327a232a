// The search for a plug-in, and the checks before it is used.
#include "device/plugin.h"

#include <dlfcn.h>
#include <unistd.h>

#include "core/text.h"

namespace troika {
namespace {

// Returns the folder of the file with this function: of libtroika.so, or of a program that contains
// the library.
std::string own_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(&load_plugin), &info) || !info.dli_fname) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::vector<std::string> folders(const std::string& named) {
  std::vector<std::string> found;
  if (!named.empty()) found.push_back(named);
  if (const std::string own = own_folder(); !own.empty() && own[0] == '/') found.push_back(own + "/troika-1");
  const std::string installed = TROIKA_LIBDIR "/troika-1";
  if (std::find(found.begin(), found.end(), installed) == found.end()) found.push_back(installed);
  return found;
}

}  // namespace

LoadedPlugin load_plugin(const std::string& name, const std::string& folder) {
  const std::string file = text("libtroika_", name, ".so");
  const std::vector<std::string> searched = folders(folder);
  LoadedPlugin loaded;
  for (const std::string& searched_folder : searched) {
    loaded.path = text(searched_folder, '/', file);
    if (access(loaded.path.c_str(), F_OK) != 0) continue;
    void* library = dlopen(loaded.path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      const char* said = dlerror();
      loaded.reason = text("plug-in ", loaded.path, " does not load: ", said ? said : "no reason given");
      return loaded;
    }
    const auto entry = reinterpret_cast<const Plugin* (*)()>(dlsym(library, "troika_plugin"));
    const Plugin* plugin = entry ? entry() : nullptr;
    if (!plugin) {
      loaded.reason = text("plug-in ", loaded.path, " has no function troika_plugin");
      return loaded;
    }
    if (plugin->abi != kPluginAbi) {
      loaded.reason = text("plug-in ", loaded.path, " has interface ", plugin->abi, ", this library needs ", kPluginAbi);
      return loaded;
    }
    loaded.versions = text(plugin->version, ", commit ", plugin->commit, ", ", plugin->libraries());
    if (std::string_view(plugin->version) != TROIKA_VERSION_STRING) {
      loaded.reason = text("plug-in ", loaded.path, " is of version ", plugin->version, ", this library is of ",
                           TROIKA_VERSION_STRING);
      return loaded;
    }
    loaded.plugin = plugin;
    return loaded;
  }
  loaded.reason = text("there is no plug-in ", file, " in ", join(searched, " or "));
  return loaded;
}

LoadedBackend load_backend(const std::string& name, const BackendSettings& settings) {
  LoadedPlugin loaded = load_plugin(name, settings.plugin_folder);
  LoadedBackend result;
  result.versions = std::move(loaded.versions);
  result.reason = std::move(loaded.reason);
  if (!loaded.plugin) return result;
  std::string reason = "it has no backend";
  if (loaded.plugin->create) result.backend = loaded.plugin->create(settings, reason);
  if (!result.backend) result.reason = text("plug-in ", loaded.path, ": ", reason);
  return result;
}

}  // namespace troika
