// cross_entropy of a row of logits, which several lanes of a warp share.
#pragma once

#include "backends/cuda/loss_operands.cuh"

namespace troika::cuda {

struct RowSums {
  float most;        // the largest logit
  int best;          // its class; of equal logits the first
  double sum;        // of exp(logit - most), so that it cannot overflow
  double of_logits;  // the sum of logit - most; 0 without smoothing
};

// Lane c % kLanes has class c: logit_of(c) is called there. `first`: the logit of class 0. All
// lanes of a warp call this, and those of a row get the same.
template <int kLanes, typename LogitOf>
__device__ inline RowSums sums_of_row(float first, const Labels& form, LogitOf logit_of) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t classes = form.classes;
  // Every lane begins with the first class, so that all lanes agree on the largest even if it is
  // not a number.
  RowSums row{first, 0, 0, 0};
  for (int64_t c = lane; c < classes; c += kLanes)
    if (logit_of(c) > row.most) {
      row.most = logit_of(c);
      row.best = static_cast<int>(c);
    }
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(~0u, row.most, distance);
    const int other_best = __shfl_xor_sync(~0u, row.best, distance);
    if (other > row.most || (other == row.most && other_best < row.best)) {
      row.most = other;
      row.best = other_best;
    }
  }
  for (int64_t c = lane; c < classes; c += kLanes) row.sum += expf(logit_of(c) - row.most);
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) row.sum += __shfl_xor_sync(~0u, row.sum, distance);
  if (form.smoothing > 0) {  // the same for all lanes
    for (int64_t c = lane; c < classes; c += kLanes) row.of_logits += static_cast<double>(logit_of(c)) - row.most;
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2)
      row.of_logits += __shfl_xor_sync(~0u, row.of_logits, distance);
  }
  return row;
}

struct LabelLoss {
  double loss = 0;
  bool is_correct = false;
};

// A label that is not counted has no loss. `logit_of` is called for a class only.
template <typename LogitOf>
__device__ inline LabelLoss loss_of_label(const RowSums& row, int32_t label, const Labels& form, LogitOf logit_of) {
  if (!form.counts(label)) return {};
  if (!form.is_class(label)) return {nan(""), false};  // trainers refuse such a label before
  const double own = log(row.sum) - (static_cast<double>(logit_of(label)) - row.most);
  const double mean = log(row.sum) - row.of_logits / static_cast<double>(form.classes);
  return {form.smoothing > 0 ? (1 - form.smoothing) * own + form.smoothing * mean : own,
          row.best == label && !isnan(row.sum)};
}

}  // namespace troika::cuda
