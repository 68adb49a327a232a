// The plug-in's one exported function.
#include "device/plugin.h"

#include "comm/gloo/gloo_link.h"
#include "core/build.h"

extern "C" __attribute__((visibility("default"))) const troika::Plugin* troika_plugin() {
  static const troika::Plugin plugin{troika::kPluginAbi,
                                     TROIKA_VERSION_STRING,
                                     troika::build_commit(),
                                     troika::gloo_link::library_versions,
                                     nullptr,
                                     &troika::gloo_link::gloo_link};
  return &plugin;
}
