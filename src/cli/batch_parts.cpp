// Counts samples as the library divides them: what comes first is larger.
#include "cli/batch_parts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "core/split.h"

namespace troika::cli {
namespace {

constexpr std::string_view kNorm = "batch_norm2d";  // as the library calls this kind of layer

// Returns the size of the last of `number` pieces that is not empty: no other is smaller.
int64_t last_size(int64_t whole, int64_t number) { return std::max<int64_t>(1, whole / number); }

}  // namespace

int64_t BatchParts::smallest(int64_t batch) const {
  if (!shares.empty()) {
    const ShareSizes sizes{portions, shares};
    int64_t least = batch;
    for (int64_t piece = 0; piece < pieces; ++piece) {
      int64_t together = 0;
      for (int64_t portion = 0; portion < portions; ++portion) {
        const int64_t size = balanced_split(sizes.rows(batch, portion).size(), pieces, piece).size();
        together += size;
        if (!is_joined && size > 0) least = std::min(least, size);
      }
      if (is_joined && together > 0) least = std::min(least, together);
    }
    return least;
  }
  if (!is_joined) return last_size(last_size(batch, portions), pieces);
  // The last piece that any portion has: of the first ones alone, if these have one sample more.
  const int64_t low = batch / portions, larger = batch % portions;
  const auto size = [&](int64_t whole, int64_t piece) { return whole / pieces + (piece < whole % pieces ? 1 : 0); };
  const int64_t last = std::min(pieces, larger > 0 ? low + 1 : low) - 1;
  return larger * size(low + 1, last) + (portions - larger) * size(low, last);
}

int64_t BatchParts::least_batch() const {
  if (is_joined) return std::max<int64_t>(2, pieces);
  if (shares.empty()) return 2 * portions * pieces;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  const double of_least = sum / *std::min_element(shares.begin(), shares.end());
  return static_cast<int64_t>(std::ceil(2.0 * static_cast<double>(pieces) * of_least));
}

int64_t BatchParts::batch_near(int64_t batch, int64_t samples) const {
  const auto is_good = [&](int64_t size) {
    const int64_t last = samples % size;
    return smallest(size) >= 2 && (last == 0 || smallest(last) >= 2);
  };
  for (int64_t distance = 1; distance < batch; ++distance)
    for (const int64_t size : {batch + distance, batch - distance})
      if (size <= samples && is_good(size)) return size;
  return 0;
}

BatchParts batch_parts(const MeshOptions& mesh, bool syncs_statistics, int64_t devices) {
  if (mesh.logical_shards > 0) return {mesh.logical_shards, 1, false};
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  set_mesh(mesh, options);
  const int64_t others = int64_t{std::max(options.mesh.layer, 1)} * std::max(options.mesh.channel, 1);
  BatchParts parts{options.mesh.data > 0 ? options.mesh.data : std::max<int64_t>(1, devices / others),
                   mesh.micro_batches, syncs_statistics};
  set_shares(mesh, parts.shares, options);
  if (static_cast<int64_t>(parts.shares.size()) != parts.portions) parts.shares.clear();  // the library refuses these
  return parts;
}

std::string norm_of_single_values(const Model& model) {
  troika_model_info info = TROIKA_MODEL_INFO_INIT;
  call(troika_model_describe, model.get(), &info);
  for (int32_t i = 0; i < info.layers; ++i) {
    troika_layer_info layer = TROIKA_LAYER_INFO_INIT;
    call(troika_model_describe_layer, model.get(), i, &layer);
    if (kNorm != layer.kind) continue;
    int64_t values = 1;
    for (int32_t axis = 1; axis < layer.rank; ++axis) values *= layer.dims[axis];
    if (values == 1) return layer.name;
  }
  return {};
}

}  // namespace troika::cli
