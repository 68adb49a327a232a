// The plug-in's one exported function.
#include "device/plugin.h"

#include "backends/cuda/cuda_backend.h"
#include "core/build.h"

extern "C" __attribute__((visibility("default"))) const troika::Plugin* troika_plugin() {
  static const troika::Plugin plugin{troika::kPluginAbi, TROIKA_VERSION_STRING, troika::build_commit(),
                                     troika::cuda::library_versions, troika::cuda::create_cuda_backend};
  return &plugin;
}
