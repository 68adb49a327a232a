// The context of tests that can run on any device: the environment names the plug-in's folder.
#pragma once

#include "core/environment.h"
#include "train/context.h"

namespace troika {

inline BackendSettings test_backends() { return {{}, backend_folder(), cache_folder()}; }

inline ContextOptions test_context_options() {
  ContextOptions options;
  options.backends = test_backends();
  return options;
}

}  // namespace troika
