// The options --sync-batch-norm, --shard-optimizer, --compress-gradients and --late-updates: what
// replicas share apart from the batch.
#pragma once

#include <string>

#include "cli/client.h"
#include "cli/command_line.h"

namespace troika::cli {

struct ReplicationOptions {
  bool sync_batch_norm = false, shard_optimizer = false, late_updates = false;
  std::string compression = "none";
};

inline constexpr const char* kCompressionHelp = "How gradients travel between devices: none (f32) or bf16";

inline int32_t parse_compression(const std::string& name) {
  if (name != "none" && name != "bf16") throw Failure("--compress-gradients is '" + name + "'; give none or bf16");
  return name == "bf16" ? TROIKA_COMPRESSION_BF16 : TROIKA_COMPRESSION_NONE;
}

inline void add_replication_options(const Command& command, ReplicationOptions& options) {
  command.flag("--sync-batch-norm", options.sync_batch_norm,
               "BatchNorm normalises the samples of all devices together, instead of each device's alone");
  command.flag(
      "--shard-optimizer", options.shard_optimizer,
      "Each parameter's optimizer state is on only one device, which updates the parameter for all (ZeRO level 1)");
  command.option("--compress-gradients", options.compression, kCompressionHelp);
  command.flag("--late-updates", options.late_updates,
               "Between processes, sums of gradients also travel during the next step's forward pass: for slow networks");
}

inline void set_replication(const ReplicationOptions& options, troika_trainer_options& out) {
  out.sync_batch_norm = options.sync_batch_norm;
  out.shard_optimizer = options.shard_optimizer;
  out.late_updates = options.late_updates;
  out.gradient_compression = parse_compression(options.compression);
}

}  // namespace troika::cli
