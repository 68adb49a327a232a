// Options of a loader.
#pragma once

#include <cstdint>
#include <vector>

#include "core/split.h"

namespace troika {

constexpr int32_t kMaxPrefetch = 1024;
constexpr int64_t kMaxEpoch = int64_t{1} << 62;

struct LoaderOptions {
  int64_t batch = 0;  // samples, at least 1
  bool shuffle = false;
  bool drop_last = false;
  int32_t prefetch = 2;  // batches prepared ahead; 0: no thread
  uint64_t seed = 0;
  std::vector<double> weights = {};  // of the samples, which are then drawn with replacement; empty: none
  int64_t epoch_samples = 0;         // with weights; 0: as many as the dataset has
  bool flip = false;                 // samples are mirrored left to right at random
  int32_t crop = 0;                  // samples are shifted at random by up to so many pixels
  Division division = {};            // the rows of each batch that are read
  bool is_of_group = false;          // each process has a share of every batch
};

}  // namespace troika
