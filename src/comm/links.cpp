// Opening the plug-in of a link.
#include "comm/links.h"

#include "core/error.h"
#include "core/text.h"
#include "device/plugin.h"

namespace troika {

const LinkDef& require_link(const std::string& name, const std::string& plugin_folder) {
  const LoadedPlugin loaded = load_plugin(name, plugin_folder);
  if (!loaded.plugin) throw Error(Status::unsupported, text("group: transport '", name, "': ", loaded.reason));
  if (!loaded.plugin->link)
    throw Error(Status::unsupported, text("group: transport '", name, "': plug-in ", loaded.path, " has no link"));
  return *loaded.plugin->link;
}

}  // namespace troika
