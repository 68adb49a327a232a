// The precisions of computation, by the names of --precision.
#pragma once

#include <string>

#include "cli/client.h"
#include "cli/command_line.h"

namespace troika::cli {

constexpr const char* kPrecisionHelp = "f32, tf32, bf16 or f16";

inline int32_t parse_precision(const std::string& name) {
  if (name == "f32") return TROIKA_PRECISION_F32;
  if (name == "tf32") return TROIKA_PRECISION_TF32;
  if (name == "bf16") return TROIKA_PRECISION_BF16;
  if (name == "f16") return TROIKA_PRECISION_F16;
  refuse_value("--precision", name, kPrecisionHelp);
}

}  // namespace troika::cli
