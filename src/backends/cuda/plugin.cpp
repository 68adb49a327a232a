// The plug-in's one exported function.
#include "device/plugin.h"

#include "backends/cuda/cuda_backend.h"

extern "C" __attribute__((visibility("default"))) const troika::Plugin* troika_plugin() {
  static const troika::Plugin plugin{troika::kPluginAbi, TROIKA_VERSION_STRING, troika::cuda::create_cuda_backend};
  return &plugin;
}
