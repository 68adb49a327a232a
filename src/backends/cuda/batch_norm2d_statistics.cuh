// Uses a channel's mean and squared differences: as statistics, by which batch_norm2d normalises
// and which it tracks, or as a row that several ranks merge.
#pragma once

#include "backends/cuda/batch_norm2d.cuh"

namespace troika::cuda {

struct Statistics {
  float *mean, *inv_std, *running_mean, *running_var;
  int64_t* batches;
  double eps, momentum;
  double share, unbiased_share;  // of a value in the mean, and of its squared difference in the running variance
  const float* lacking;          // of the values, what the running mean is to count; null: nothing
};

// The tracked numbers of a channel, before this batch.
struct Running {
  float mean, var;
};

__device__ inline Running load_running(const Statistics& from, int64_t channel) {
  if (!from.running_mean) return {0, 0};
  return {from.running_mean[channel], from.running_var[channel]};
}

// `squares`: the sum of squared differences.
__device__ inline void store_statistics(const Statistics& to, int64_t channel, double mean, double squares,
                                        Running before) {
  to.mean[channel] = static_cast<float>(mean);
  to.inv_std[channel] = 1 / sqrtf(static_cast<float>(squares * to.share + to.eps));
  if (!to.running_mean) return;
  const double whole_mean = mean + (to.lacking ? to.lacking[channel] : 0);
  const float new_mean = static_cast<float>((1 - to.momentum) * before.mean + to.momentum * whole_mean);
  const float new_var = static_cast<float>((1 - to.momentum) * before.var + to.momentum * squares * to.unbiased_share);
  if (!isfinite(new_mean) || !isfinite(new_var)) return;  // one such batch would spoil all later ones
  to.running_mean[channel] = new_mean;
  to.running_var[channel] = new_var;
}

// A row {values a channel, means [channels], sums of squared differences [channels]} of each rank,
// of which this rank's is written, and zeros to the others.
struct MomentRows {
  float* rows;  // null: statistics are wanted
  int64_t rank, ranks;
};

__device__ inline void store_moments(const MomentRows& to, const Tiling& t, int channel, double mean, double squares) {
  for (int64_t r = 0; r < to.ranks; ++r) {
    float* const row = to.rows + r * (2 * int64_t{t.channels} + 1);
    const bool is_own = r == to.rank;
    if (channel == 0) row[0] = is_own ? static_cast<float>(t.rows()) : 0;
    row[1 + channel] = is_own ? static_cast<float>(mean) : 0;
    row[1 + int64_t{t.channels} + channel] = is_own ? static_cast<float>(squares) : 0;
  }
}

}  // namespace troika::cuda
