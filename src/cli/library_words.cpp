// Finds names of C in a message.
#include "cli/library_words.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace troika::cli {
namespace {

constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"activation_budget_bytes", "--activation-budget"},
    {"average_decay", "--average-decay"},
    {"bucket_bytes", "--bucket-bytes"},
    {"gradient_compression", "--compress-gradients"},
    {"label_smoothing", "--label-smoothing"},
    {"late_updates", "--late-updates"},
    {"layer_chunks", "--layer-chunks"},
    {"layer_cuts", "--layer-cuts"},
    {"layer_schedule", "--layer-schedule"},
    {"learning_rate", "--lr"},
    {"logical_shards", "--logical-shards"},
    {"max_gradient_norm", "--max-gradient-norm"},
    {"memory_bandwidth", "--memory-bandwidth"},
    {"mesh", "--mesh"},
    {"mesh.channel", "the channels of --mesh"},
    {"mesh.data", "the data parts of --mesh"},
    {"mesh.layer", "the layers of --mesh"},
    {"micro_batches", "--micro-batches"},
    {"momentum", "--momentum"},
    {"name_map", "--name-map"},
    {"nesterov", "--nesterov"},
    {"precision", "--precision"},
    {"recompute_layers", "--recompute-layers"},
    {"recompute_segments", "--recompute-segments"},
    {"schedule_milestones", "--milestones"},
    {"schedule_patience", "--patience"},
    {"schedule_period", "--schedule-period"},
    {"schedule_power", "--power"},
    {"schedule_rise", "--rise"},
    {"share_count", "the count of --shares"},
    {"shares", "--shares"},
    {"shard_optimizer", "--shard-optimizer"},
    {"strip_prefix", "--strip-prefix"},
    {"sync_batch_norm", "--sync-batch-norm"},
    {"warmup_steps", "--warmup"},
    {"weight_decay", "--weight-decay"},
    {"TROIKA_COMPRESSION_BF16", "bf16"},
    {"TROIKA_COMPRESSION_NONE", "none"},
    {"TROIKA_LAYER_SCHEDULE_1F1B", "1f1b"},
    {"TROIKA_LAYER_SCHEDULE_GPIPE", "gpipe"},
    {"TROIKA_LAYER_SCHEDULE_INTERLEAVED", "interleaved"},
};

constexpr std::string_view kOptions = "options.";

// Returns the size of the function's name that a message begins with: "troika_model_attach: ".
size_t size_of_function(std::string_view message) {
  const size_t end = message.find(": ");
  const bool is_function = message.starts_with("troika_") && end < message.find(' ');
  return is_function ? end + 2 : 0;
}

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

std::string translated(std::string_view word) {
  const bool is_field = word.starts_with(kOptions);
  const std::string_view name = is_field ? word.substr(kOptions.size()) : word;
  // A plain word such as "mesh" is a word of English, unless it is a field.
  const bool is_name = is_field || name.find('_') != std::string_view::npos || name.starts_with("mesh.");
  const auto found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const auto& pair) { return pair.first == name; });
  return std::string(is_name && found != std::end(kNames) ? found->second : word);
}

}  // namespace

std::string in_words_of_tool(std::string_view message) {
  constexpr std::string_view kGroup = "parameter group ";  // before its pattern
  std::string out;
  size_t at = size_of_function(message);
  if (message.substr(at).starts_with(kGroup)) {
    out = "--freeze, --train-only or --lr-of ";
    at += kGroup.size();
  }
  while (at < message.size()) {
    size_t end = at;
    if (message[at] == '\'' && (at == 0 || !is_of_name(message[at - 1]))) {
      end = std::min(message.find('\'', at + 1), message.size() - 1) + 1;
      out += message.substr(at, end - at);
    } else if (is_of_name(message[at])) {
      while (end < message.size() && is_of_name(message[end])) ++end;
      while (end > at + 1 && message[end - 1] == '.') --end;  // the end of a sentence
      out += translated(message.substr(at, end - at));
    } else {
      out += message[end++];
    }
    at = end;
  }
  return out;
}

}  // namespace troika::cli
