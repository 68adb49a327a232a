// A dataset of a host, for tests: random images that a callback copies, and faults at chosen
// samples.
#pragma once

#include <troika/troika.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <random>
#include <stdexcept>
#include <vector>

namespace troika::test {

class HostSource {
 public:
  static constexpr int64_t kElements = 16;
  static constexpr int32_t kClasses = 3;

  HostSource(int64_t n, bool is_stream, uint32_t seed = 1) : n_(n), is_stream_(is_stream) {
    std::mt19937 random(seed);
    for (int64_t i = 0; i < n * kElements; ++i) inputs.push_back(static_cast<float>(random() % 2001) / 1000.0f - 1.0f);
    for (int64_t i = 0; i < n; ++i) labels.push_back(static_cast<int32_t>(random() % kClasses));
  }

  // Images [1, 4, 4] with labels.
  troika_source source() {
    static constexpr int64_t kDims[] = {1, 4, 4};
    troika_source source = TROIKA_SOURCE_INIT;
    source.dims = kDims;
    source.rank = 3;
    source.n = is_stream_ ? -1 : n_;
    source.classes = kClasses;
    source.read = read;
    source.user = this;
    source.user_destroy = [](void* user) { ++static_cast<HostSource*>(user)->ends; };
    return source;
  }

  // The same samples as a dataset of arrays.
  troika_dataset arrays(troika_context context) const {
    static constexpr int64_t kDims[] = {1, 4, 4};
    troika_dataset dataset = nullptr;
    troika_dataset_create_arrays(context, inputs.data(), kDims, 3, n_, labels.data(), nullptr, 0, &dataset, nullptr);
    return dataset;
  }

  // Is called when sample `at` is asked for, as often as `faults` says. Returns what the callback
  // returns.
  std::function<int64_t(troika_error*)> fault;
  int64_t at = -1;
  int faults = 1;
  // Is called first, at every call.
  std::function<void(const troika_read_request&)> look;

  std::vector<float> inputs;
  std::vector<int32_t> labels;
  std::atomic<int> ends{0};

 private:
  static int64_t TROIKA_CALL read(const troika_read_request* request, troika_error* error, void* user) {
    return static_cast<HostSource*>(user)->write(*request, error);
  }

  int64_t write(const troika_read_request& request, troika_error* error) {
    std::function<int64_t(troika_error*)> meets;
    {
      std::lock_guard lock(mutex_);
      if (look) look(request);
      const int64_t end = is_stream_ ? std::min(request.first + request.n, n_) : 0;
      for (int64_t i = 0; i < request.n && faults > 0; ++i) {
        const int64_t sample = is_stream_ ? request.first + i : request.indices[i];
        if (sample == at && (!is_stream_ || sample < end)) meets = fault;
      }
      if (meets) --faults;
    }
    if (meets) return meets(error);
    int64_t done = 0;
    for (; done < request.n; ++done) {
      const int64_t sample = is_stream_ ? request.first + done : request.indices[done];
      if (is_stream_ && sample >= n_) break;
      std::copy_n(inputs.data() + sample * kElements, kElements,
                  static_cast<float*>(request.inputs) + done * kElements);
      if (request.labels) request.labels[done] = labels[static_cast<size_t>(sample)];
    }
    return done;
  }

  const int64_t n_;
  const bool is_stream_;
  std::mutex mutex_;
};

// A fault: the host fails with a message, or wants to stop.
inline int64_t fail_with(troika_error* error, const char* message, int32_t status = TROIKA_ERROR_IO) {
  error->status = status;
  std::snprintf(error->message, sizeof error->message, "%s", message);
  return -1;
}

}  // namespace troika::test
