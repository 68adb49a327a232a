// Cuts of the batch.
#include "parallel/micro_batches.h"

#include <bit>

#include "core/text.h"
#include "ops/batch_norm2d.h"
#include "ops/op_def.h"

namespace troika {

std::vector<MicroBatch> cut_micro_batches(int64_t micro_batches, Range own) {
  std::vector<MicroBatch> result;
  for (int64_t i = 0; i < micro_batches; ++i) {
    const Range part = balanced_split(own.size(), micro_batches, i);
    if (part.size() > 0) result.push_back({{own.begin + part.begin, own.begin + part.end}});
  }
  return result;
}

std::vector<MicroBatch> cut_aligned_micro_batches(int64_t micro_batches, int64_t global, const ShareSizes& sizes,
                                                  int64_t share) {
  std::vector<MicroBatch> result;
  for (int64_t i = 0; i < micro_batches; ++i) {
    MicroBatch micro_batch;
    for (int64_t s = 0; s < sizes.shares; ++s) {
      const Range own = sizes.rows(global, s), part = balanced_split(own.size(), micro_batches, i);
      micro_batch.together += part.size();
      if (s == share) micro_batch.samples = {own.begin + part.begin, own.begin + part.end};
    }
    result.push_back(micro_batch);
  }
  return result;
}

std::vector<MicroBatch> cut_logical_shards(int64_t logical_shards, int64_t global, int64_t ranks, int64_t rank) {
  std::vector<MicroBatch> result;
  const Range own = balanced_split(logical_shards, ranks, rank);
  for (int64_t shard = own.begin; shard < own.end; ++shard) {
    const Range samples = balanced_split(global, logical_shards, shard);
    if (samples.size() > 0) result.push_back({samples, shard == 0});
  }
  return result;
}

Range samples_of_shards(int64_t logical_shards, int64_t global, int64_t ranks, int64_t rank) {
  const Range own = balanced_split(logical_shards, ranks, rank);
  return {balanced_split(global, logical_shards, own.begin).begin,
          balanced_split(global, logical_shards, own.end - 1).end};
}

std::string refusal_of_shards(int64_t logical_shards, int64_t micro_batches, int64_t devices) {
  const std::string found = text("logical_shards is ", logical_shards);
  if (micro_batches > 1) return text(found, ", needs options.micro_batches of 1; found ", micro_batches);
  if (!std::has_single_bit(static_cast<uint64_t>(logical_shards))) return text(found, ", need a power of 2");
  if (logical_shards % devices != 0)
    return text(found, ", needs 1, 2, 4 ... ", logical_shards, " devices; found ", devices);
  return {};
}

void stop_tracking(Graph& graph) {
  for (Node& node : graph.nodes()) {
    if (node.op != &batch_norm2d_op) continue;
    for (size_t i : {batch_norm2d::running_mean, batch_norm2d::running_var, batch_norm2d::num_batches_tracked})
      node.inputs[i] = kNoValue;
  }
}

}  // namespace troika
