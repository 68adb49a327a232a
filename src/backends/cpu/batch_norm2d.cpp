// batch_norm2d, its gradient and its inference form: own loops, with residual and ReLU in the same
// pass. With statistics over several ranks they are cut in two: in between the ranks add up their
// results.
#include <cmath>

#include "backends/cpu/batch_norm2d_chunks.h"

namespace troika::cpu {
namespace {

// Merges the moments of all ranks, from a row {count, means [c], squares [c]} of each.
Moments merged(const float* rows, int64_t ranks, int64_t channels, int64_t channel) {
  Moments all{0, 0, 0};
  auto row = [&](int64_t rank) { return rows + rank * (2 * channels + 1); };
  for (int64_t r = 0; r < ranks; ++r) {
    all.count += static_cast<double>(row(r)[0]);
    all.mean += static_cast<double>(row(r)[0]) * static_cast<double>(row(r)[1 + channel]);
  }
  all.mean /= all.count;
  for (int64_t r = 0; r < ranks; ++r) {
    const double difference = static_cast<double>(row(r)[1 + channel]) - all.mean;
    all.squares +=
        static_cast<double>(row(r)[1 + channels + channel]) + static_cast<double>(row(r)[0]) * difference * difference;
  }
  return all;
}

}  // namespace

KernelChoice select_batch_norm2d_moments(const CpuDevice&, const KernelRequest& request) {
  const Node& node = request.node;
  const LayoutPtr layout = image_layout(request);
  const ChunkView v = chunk_view(request.graph.type(node.inputs[0]), layout);
  const int64_t rank = node.attributes.integer("rank"), ranks = node.attributes.integer("ranks");
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    auto* const rows = static_cast<float*>(out[0]);
    auto* const partial = static_cast<double*>(scratch);
    find_chunk_moments(in[0], v, partial);
    const int64_t size = 2 * v.channels + 1;
    std::fill(rows, rows + ranks * size, 0.0f);
    float* const row = rows + rank * size;
    row[0] = static_cast<float>(v.n * v.spatial);
    for (int64_t channel = 0; channel < v.channels; ++channel) {
      const Moments own = moments_of(partial, v, channel);
      row[1 + channel] = static_cast<float>(own.mean);
      row[1 + v.channels + channel] = static_cast<float>(own.squares);
    }
  };
  KernelChoice choice;
  choice.kernel = make_kernel(body);
  choice.name = "cpu:batch_norm2d_moments";
  choice.input_layouts = {layout};
  choice.output_layouts = {nullptr};
  choice.scratch_bytes = static_cast<size_t>(partial_doubles(v)) * sizeof(double);
  return choice;
}

KernelChoice select_batch_norm2d(const CpuDevice& device, const KernelRequest& request) {
  const Node& node = request.node;
  const TensorType& x_type = request.graph.type(node.inputs[0]);
  const LayoutPtr layout = image_layout(request);
  const ChunkView v = chunk_view(x_type, layout);
  const double eps = node.attributes.real("eps"), momentum = node.attributes.real("momentum");
  const bool relu = node.attributes.flag("relu"), is_merged = has_input(request, 7), lacks = has_input(request, 8);
  const int64_t ranks = is_merged ? request.graph.type(node.inputs[7]).shape[0] : 1;
  if (!is_merged && v.n * v.spatial == 1)
    throw Error(Status::invalid_argument,
                text("batch_norm2d '", node.name, "' on ", device.id(),
                     ": training needs more than 1 value a channel, this device's shard of ", x_type.shape,
                     " has 1; use a larger batch, fewer devices or micro-batches"));

  // Scratch: sums of chunks, then scale [c].
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    const auto *weight = static_cast<const float*>(in[1]), *bias = static_cast<const float*>(in[2]);
    auto *running_mean = static_cast<float*>(in[3]), *running_var = static_cast<float*>(in[4]);
    auto *mean = static_cast<float*>(out[1]), *inv_std = static_cast<float*>(out[2]);
    auto* partial = static_cast<double*>(scratch);
    double* scale = partial + partial_doubles(v);

    if (!is_merged) find_chunk_moments(in[0], v, partial);
    for (int64_t channel = 0; channel < v.channels; ++channel) {
      const auto [count, batch_mean, squares] =
          is_merged ? merged(static_cast<const float*>(in[7]), ranks, v.channels, channel)
                    : moments_of(partial, v, channel);
      const double variance = squares / count, inverse = 1.0 / std::sqrt(variance + eps);
      mean[channel] = static_cast<float>(batch_mean);
      inv_std[channel] = static_cast<float>(inverse);
      scale[channel] = weight[channel] * inverse;
      // Running variance is unbiased; of a single value a channel it stays as it is biased, 0.
      const double unbiased = count > 1 ? squares / (count - 1) : variance;
      if (!running_mean) continue;
      const double whole_mean = batch_mean + (lacks ? static_cast<const float*>(in[8])[channel] : 0);
      const auto new_mean = static_cast<float>((1 - momentum) * running_mean[channel] + momentum * whole_mean),
                 new_var = static_cast<float>((1 - momentum) * running_var[channel] + momentum * unbiased);
      if (!std::isfinite(new_mean) || !std::isfinite(new_var)) continue;  // one such batch would spoil all later ones
      running_mean[channel] = new_mean;
      running_var[channel] = new_var;
    }
    if (in[5]) ++*static_cast<int64_t*>(in[5]);
    apply_chunks(in[0], in[6], out[0], v, mean, scale, bias, relu);
  };
  KernelChoice choice;
  choice.kernel = make_kernel(body);
  choice.name = is_merged ? "cpu:batch_norm2d_merged" : "cpu:batch_norm2d";
  choice.input_layouts = {layout, nullptr, nullptr, nullptr, nullptr, nullptr, layout};
  choice.input_layouts.resize(node.inputs.size());
  choice.output_layouts = {layout, nullptr, nullptr};
  choice.scratch_bytes = static_cast<size_t>(partial_doubles(v) + v.channels) * sizeof(double);
  if (has_input(request, 6)) choice.may_share = {{0, 6}};
  return choice;
}

KernelChoice select_batch_norm2d_gradient_sums(const CpuDevice&, const KernelRequest& request) {
  const Node& node = request.node;
  const LayoutPtr layout = image_layout(request);
  const ChunkView v = chunk_view(request.graph.type(node.inputs[0]), layout);
  const bool writes_dz = node.attributes.flag("residual");
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    auto* const sums = static_cast<float*>(out[0]);
    auto* const partial = static_cast<double*>(scratch);
    find_chunk_gradient_sums(in[0], in[2], in[3], nullptr, writes_dz ? out[1] : nullptr, v,
                             static_cast<const float*>(in[1]), partial);
    sums[0] = static_cast<float>(v.n * v.spatial);
    for (int64_t channel = 0; channel < v.channels; ++channel) {
      const auto [sum, product] = gradient_sums_of(partial, v, channel);
      sums[1 + channel] = static_cast<float>(sum);
      sums[1 + v.channels + channel] = static_cast<float>(product);
    }
  };
  KernelChoice choice;
  choice.kernel = make_kernel(body);
  choice.name = "cpu:batch_norm2d_gradient_sums";
  choice.input_layouts = {layout, nullptr, layout, layout};
  choice.output_layouts = {nullptr};
  if (writes_dz) choice.output_layouts.push_back(layout);
  choice.scratch_bytes = static_cast<size_t>(partial_doubles(v)) * sizeof(double);
  if (writes_dz) choice.may_share = {{1, 3}};
  return choice;
}

KernelChoice select_batch_norm2d_gradient(const CpuDevice&, const KernelRequest& request) {
  const Node& node = request.node;
  const LayoutPtr layout = image_layout(request);
  const ChunkView v = chunk_view(request.graph.type(node.inputs[0]), layout);
  const bool writes_dz = node.attributes.flag("residual"), is_summed = has_input(request, 6),
             adds = has_input(request, 8), has_dbias_too = node.attributes.flag("has_dbias_too");

  // Scratch: sums of chunks, then factors a, b, c [3][c].
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    const auto* weight = static_cast<const float*>(in[1]);
    const auto *mean = static_cast<const float*>(in[2]), *inv_std = static_cast<const float*>(in[3]);
    const void *y = in[4], *dy = in[5], *more = adds ? in[8] : nullptr;
    auto *dweight = static_cast<float*>(out[1]), *dbias = static_cast<float*>(out[2]);
    void* const dz = writes_dz ? out[3] : nullptr;
    auto* const dbias_too = has_dbias_too ? static_cast<float*>(out[writes_dz ? 4 : 3]) : nullptr;
    auto* partial = static_cast<double*>(scratch);
    double *fa = partial + partial_doubles(v), *fb = fa + v.channels, *fc = fb + v.channels;
    const auto *own_sums = is_summed ? static_cast<const float*>(in[6]) : nullptr,
               *all_sums = is_summed ? static_cast<const float*>(in[7]) : nullptr;

    if (!is_summed) find_chunk_gradient_sums(in[0], y, dy, more, dz, v, mean, partial);
    auto sums_in = [&](const float* sums, int64_t channel) {
      return GradientSums{static_cast<double>(sums[1 + channel]), static_cast<double>(sums[1 + v.channels + channel])};
    };
    const double count = is_summed ? static_cast<double>(all_sums[0]) : static_cast<double>(v.n * v.spatial);
    for (int64_t channel = 0; channel < v.channels; ++channel) {
      const GradientSums own = is_summed ? sums_in(own_sums, channel) : gradient_sums_of(partial, v, channel);
      const GradientSums all = is_summed ? sums_in(all_sums, channel) : own;
      const double inverse = inv_std[channel];
      dbias[channel] = static_cast<float>(own.sum);
      if (dbias_too) dbias_too[channel] = dbias[channel];
      dweight[channel] = static_cast<float>(own.product * inverse);
      fa[channel] = weight[channel] * inverse;
      fb[channel] = -fa[channel] * inverse * inverse * all.product / count;
      fc[channel] = -fa[channel] * all.sum / count;
    }
    // Where dz was written it already has the mask.
    apply_chunk_gradients(in[0], dz ? nullptr : y, dz ? dz : dy, out[0], v, mean, fa, fb, fc);
  };
  KernelChoice choice;
  choice.kernel = make_kernel(body);
  choice.name = is_summed ? "cpu:batch_norm2d_gradient_summed" : "cpu:batch_norm2d_gradient";
  choice.input_layouts = {layout, nullptr, nullptr, nullptr, layout, layout};
  choice.input_layouts.resize(node.inputs.size());
  if (adds) choice.input_layouts[8] = layout;
  choice.output_layouts = {layout, nullptr, nullptr};
  if (writes_dz) choice.output_layouts.push_back(layout);
  if (has_dbias_too) choice.output_layouts.push_back(nullptr);
  choice.scratch_bytes = static_cast<size_t>(partial_doubles(v) + 3 * v.channels) * sizeof(double);
  choice.may_share = {{writes_dz ? 3 : 0, 5}};
  if (adds) choice.may_share.push_back({3, 8});
  return choice;
}

KernelChoice select_batch_norm2d_inference(const CpuDevice&, const KernelRequest& request) {
  const Node& node = request.node;
  const LayoutPtr layout = image_layout(request);
  const ChunkView v = chunk_view(request.graph.type(node.inputs[0]), layout);
  const double eps = node.attributes.real("eps");
  const bool relu = node.attributes.flag("relu");
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    const auto *weight = static_cast<const float*>(in[1]), *bias = static_cast<const float*>(in[2]);
    const auto *mean = static_cast<const float*>(in[3]), *var = static_cast<const float*>(in[4]);
    auto* scale = static_cast<double*>(scratch);
    for (int64_t c = 0; c < v.channels; ++c) scale[c] = weight[c] / std::sqrt(var[c] + eps);
    apply_chunks(in[0], in[6], out[0], v, mean, scale, bias, relu);
  };
  KernelChoice choice;
  choice.kernel = make_kernel(body);
  choice.name = "cpu:batch_norm2d_inference";
  choice.input_layouts = {layout, nullptr, nullptr, nullptr, nullptr, nullptr, layout};
  choice.output_layouts = {layout};
  choice.scratch_bytes = static_cast<size_t>(v.channels) * sizeof(double);
  choice.may_share = {{0, 0}};
  return choice;
}

}  // namespace troika::cpu
