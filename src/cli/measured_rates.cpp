// Operations on tensors that grow until they take long enough.
#include "cli/measured_rates.h"

#include <algorithm>
#include <chrono>
#include <functional>

namespace troika::cli {
namespace {

constexpr double kLongEnough = 0.02;  // seconds: launches do not count
constexpr int kRuns = 4;

Tensor random_tensor(const Context& context, troika_device device, int32_t dtype, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  Tensor tensor;
  call(troika_tensor_uniform, context.get(), device, dtype, dims, int32_t{2}, -1.0, 1.0, uint64_t{1}, tensor.out());
  return tensor;
}

// Returns the seconds of one run; the fastest of a few rounds.
double seconds_of_run(const Context& context, troika_device device, const std::function<void()>& run) {
  double least = 0;
  for (int round = 0; round < 4; ++round) {  // the first one compiles
    call(troika_device_synchronize, context.get(), device);
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < kRuns; ++i) run();
    call(troika_device_synchronize, context.get(), device);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    if (round == 1 || (round > 1 && seconds.count() < least)) least = seconds.count();
  }
  return least / kRuns;
}

// Returns the highest rate of sizes from `size` on, doubled until a run takes long enough.
double highest_rate(int64_t size, int64_t most, const std::function<double(int64_t size, double& seconds)>& rate_of) {
  double highest = 0, seconds = 0;
  for (; size <= most && seconds < kLongEnough; size *= 2) highest = std::max(highest, rate_of(size, seconds));
  return highest;
}

}  // namespace

MeasuredRates measure_rates(const Context& context, troika_device device, int32_t dtype) {
  MeasuredRates rates;
  // From sizes on that no cache holds.
  rates.bytes_per_second = highest_rate(int64_t{1} << 14, int64_t{1} << 16, [&](int64_t rows, double& seconds) {
    constexpr int64_t kColumns = 1024;
    const Tensor a = random_tensor(context, device, TROIKA_DTYPE_F32, rows, kColumns);
    const Tensor b = random_tensor(context, device, TROIKA_DTYPE_F32, rows, kColumns);
    seconds = seconds_of_run(context, device, [&] { call(troika_tensor_add_in_place, a.get(), b.get(), 0.5); });
    return 3.0 * static_cast<double>(rows * kColumns) * sizeof(float) / seconds;
  });
  rates.operations_per_second = highest_rate(512, 8192, [&](int64_t n, double& seconds) {
    const Tensor a = random_tensor(context, device, dtype, n, n), b = random_tensor(context, device, dtype, n, n);
    seconds = seconds_of_run(context, device, [&] {
      Tensor product;
      call(troika_tensor_matmul, a.get(), b.get(), int32_t{0}, int32_t{0}, product.out());
    });
    return 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) / seconds;
  });
  return rates;
}

}  // namespace troika::cli
