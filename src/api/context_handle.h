// The context's handle.
#pragma once

#include <troika/context.h>

#include "api/handle.h"
#include "train/context.h"

struct troika_context_s : troika::api::Handle<troika::Context, 0x54524358> {
  using Handle::Handle;
};
