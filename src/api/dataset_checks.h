// Checks and handles that the functions which create datasets share.
#pragma once

#include <memory>
#include <vector>

#include "api/context_handle.h"
#include "api/data_handles.h"
#include "api/guard.h"
#include "core/shape.h"

namespace troika::api {

template <typename... Parts>
[[noreturn]] void refuse(const char* function, const Parts&... parts) {
  throw Error(Status::invalid_argument, text(function, ": ", parts...));
}

// Reads the shape of a sample. Its rank leaves room for the batch axis before it.
inline Shape read_sample_shape(const int64_t* dims, int32_t rank, int32_t least_rank, const char* function) {
  if (rank < least_rank || rank > TROIKA_MAX_RANK - 1)
    refuse(function, "rank is ", rank, ", need ", least_rank, " to ", TROIKA_MAX_RANK - 1, " for a sample");
  if (rank == 0) return {};
  required(dims, function, "dims");
  for (int32_t i = 0; i < rank; ++i)
    if (dims[i] < 1) refuse(function, "dims[", i, "] is ", dims[i], ", need at least 1");
  return Shape(std::vector<int64_t>(dims, dims + rank));
}

// Counts the elements of `n` samples of `shape`. INVALID_ARGUMENT if the count would overflow.
inline int64_t count_all(int64_t n, const Shape& shape, const char* function) {
  if (n < 0) refuse(function, "n is ", n, ", need at least 0");
  return checked_elements(shape.times(n), text(function, ": samples"));
}

// Returns the label that losses ignore, if there is one.
inline std::optional<int32_t> read_ignored(int64_t ignore_index, const char* function) {
  if (ignore_index == TROIKA_UNSET) return std::nullopt;
  if (ignore_index < INT32_MIN || ignore_index > INT32_MAX)
    refuse(function, "ignore_index is ", ignore_index, ", need a label of 32 bits or TROIKA_UNSET");
  return static_cast<int32_t>(ignore_index);
}

// Weights between these have products and sums that f32 has.
constexpr double kLeastWeight = 1e-15, kLargestWeight = 1e15;
inline bool is_weight(double weight) { return weight == 0 || (weight >= kLeastWeight && weight <= kLargestWeight); }

// INVALID_ARGUMENT unless each weight of a sample is 0, or neither tiny nor huge.
inline void check_weights(const std::vector<float>& weights, const char* function) {
  for (size_t i = 0; i < weights.size(); ++i)
    if (!is_weight(static_cast<double>(weights[i])))
      refuse(function, "weights[", i, "] is ", weights[i], ", need 0, or ", kLeastWeight, " to ", kLargestWeight);
}

inline std::unique_ptr<troika_dataset_s> make_handle(std::shared_ptr<Context> context,
                                                     std::shared_ptr<const Dataset> dataset) {
  return std::make_unique<troika_dataset_s>(
      std::make_shared<DatasetObject>(DatasetObject{std::move(context), std::move(dataset)}));
}

inline troika_dataset make_handle(troika_context context, std::shared_ptr<const Dataset> dataset,
                                  const char* function) {
  const auto owner = object_of(context, function, "context");
  return make_handle(owner.shared(), std::move(dataset)).release();
}

inline void write_dims(const Shape& shape, int64_t (&dims)[TROIKA_MAX_RANK]) {
  for (int axis = 0; axis < shape.rank(); ++axis) dims[axis] = shape[axis];
}

}  // namespace troika::api
