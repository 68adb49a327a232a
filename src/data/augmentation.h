// Images that change at random from epoch to epoch, as a pure function of (seed, epoch, position):
// nothing is stored, and nothing is replayed on resume.
#pragma once

#include <cstdint>
#include <vector>

#include "data/dataset.h"
#include "data/loader_options.h"

namespace troika {

class Augmentation {
 public:
  // INVALID_ARGUMENT unless samples are f32 [c, h, w] with sides above `options.crop`.
  Augmentation(const SampleForm& form, const LoaderOptions& options);

  static uint64_t key_of(uint64_t seed, int64_t epoch);
  // Changes the sample at `position` in place, for the key of (seed, epoch): the same on every
  // machine and in every version. One thread at a time.
  void apply(uint64_t key, int64_t position, float* sample);
  // A number that differs if the options differ.
  uint64_t digest() const { return digest_; }

 private:
  int64_t channels_, height_, width_;
  bool flip_;
  int64_t crop_;
  uint64_t digest_;
  std::vector<int64_t> columns_;  // of the sample that is changed: the old place of each new pixel
  std::vector<float> plane_;      // the old pixels of a channel
};

}  // namespace troika
