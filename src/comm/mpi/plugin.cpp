// The plug-in's one exported function.
#include "device/plugin.h"

#include "comm/mpi/mpi_link.h"
#include "comm/mpi/mpi_runtime.h"
#include "core/build.h"

extern "C" __attribute__((visibility("default"))) const troika::Plugin* troika_plugin() {
  static const troika::Plugin plugin{troika::kPluginAbi,
                                     TROIKA_VERSION_STRING,
                                     troika::build_commit(),
                                     troika::mpi::library_version,
                                     nullptr,
                                     &troika::mpi::mpi_link};
  return &plugin;
}
