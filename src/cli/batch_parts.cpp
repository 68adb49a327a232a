// Counts samples as the library divides them: what comes first is larger.
#include "cli/batch_parts.h"

#include <algorithm>
#include <string_view>

namespace troika::cli {
namespace {

constexpr std::string_view kNorm = "batch_norm2d";  // as the library calls this kind of layer

}  // namespace

int64_t BatchParts::smallest(int64_t batch) const { return smallest_part(portions, batch, pieces, is_joined); }

int64_t BatchParts::least_batch() const {
  if (is_joined) return std::max<int64_t>(2, pieces);
  double least = 1;  // of the batch, that a portion has
  for (int64_t portion = 0; portion < portions.shares; ++portion)
    least = std::min(least, portions.fraction(portion, 1));
  auto batch = static_cast<int64_t>(2.0 * static_cast<double>(pieces) / least) - 1;  // rounding may be off by one
  while (smallest(batch) < 2) ++batch;
  return batch;
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
  if (mesh.logical_shards > 0) return {{mesh.logical_shards}, 1, false};
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  set_mesh(mesh, options);
  const int64_t others = int64_t{std::max(options.mesh.layer, 1)} * std::max(options.mesh.channel, 1);
  BatchParts parts{{options.mesh.data > 0 ? options.mesh.data : std::max<int64_t>(1, devices / others)},
                   mesh.micro_batches,
                   syncs_statistics};
  std::vector<double> shares;
  set_shares(mesh, shares, options);
  if (static_cast<int64_t>(shares.size()) == parts.portions.shares)
    parts.portions.parts = shares;  // else refused later
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
