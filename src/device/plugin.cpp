// The search for a plug-in, and the checks before it is used.
#include "device/plugin.h"

#include <algorithm>

#include "core/dynamic_library.h"
#include "core/path.h"
#include "core/text.h"

namespace troika {
namespace {

#ifdef _WIN32
constexpr const char *kPrefix = "troika_", *kSuffix = ".dll";
#else
constexpr const char *kPrefix = "libtroika_", *kSuffix = ".so";
#endif
constexpr const char* kSubfolder = "troika-1";

// The folder of the library, or of a program that contains the library, comes before the installed
// one.
std::vector<std::string> folders(const std::string& named) {
  std::vector<std::string> found;
  if (!named.empty()) found.push_back(named);
  const std::filesystem::path own = path_of(folder_of_code(reinterpret_cast<const void*>(&load_plugin)));
  if (own.is_absolute()) found.push_back(text_of(own / kSubfolder));
#ifndef _WIN32  // a tree that is installed there has no fixed place
  const std::string installed = text(TROIKA_LIBDIR "/", kSubfolder);
  if (std::find(found.begin(), found.end(), installed) == found.end()) found.push_back(installed);
#endif
  return found;
}

}  // namespace

LoadedPlugin load_plugin(const std::string& name, const std::string& folder) {
  const std::string file = text(kPrefix, name, kSuffix);
  const std::vector<std::string> searched = folders(folder);
  LoadedPlugin loaded;
  for (const std::string& searched_folder : searched) {
    loaded.path = text_of(path_of(searched_folder) / file);
    std::error_code ignored;
    if (!std::filesystem::exists(path_of(loaded.path), ignored)) continue;
    std::string reason;
    void* const library = open_library(loaded.path, reason);
    if (!library) {
      loaded.reason = text("plug-in ", loaded.path, " does not load: ", reason);
      return loaded;
    }
    const auto entry = reinterpret_cast<const Plugin* (*)()>(find_function(library, "troika_plugin"));
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
