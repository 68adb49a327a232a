// Opening the plug-in of a link.
#include "comm/links.h"

#include "core/error.h"
#include "core/text.h"
#include "device/plugin.h"

namespace troika {
namespace {

constexpr const char* kLinks[] = {"gloo", "mpi"};  // that come with the library

}  // namespace

const LinkDef& require_link(const std::string& name, const std::string& plugin_folder) {
  const LoadedPlugin loaded = load_plugin(name, plugin_folder);
  if (!loaded.plugin) throw Error(Status::unsupported, text("group: transport '", name, "': ", loaded.reason));
  if (!loaded.plugin->link)
    throw Error(Status::unsupported, text("group: transport '", name, "': plug-in ", loaded.path, " has no link"));
  return *loaded.plugin->link;
}

std::vector<std::string> describe_links(const std::string& plugin_folder) {
  std::vector<std::string> lines;
  for (const char* name : kLinks) {
    const LoadedPlugin loaded = load_plugin(name, plugin_folder);
    lines.push_back(loaded.plugin ? text(name, ' ', loaded.versions) : text(name, ", not usable: ", loaded.reason));
  }
  return lines;
}

std::unique_ptr<Bootstrap> create_bootstrap(const std::string& rendezvous, const std::string& plugin_folder,
                                            Deadline deadline) {
  for (const char* name : kLinks)
    if (rendezvous == text(name, "://"))
      if (const LinkDef& link = require_link(name, plugin_folder); link.create_bootstrap)
        return link.create_bootstrap(deadline);
  return nullptr;
}

}  // namespace troika
