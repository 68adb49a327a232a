// The cost of the binding: bench [SAMPLES]
//
// Prints nanoseconds of a trivial call, and images/s of LeNet at batch 16, by train_epoch and by a
// loop of steps. The best of five runs counts.
#include <troika/troika.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

// Returns the seconds of the shortest of five calls.
template <typename Call>
double seconds_of(const Call& call) {
  double best = 1e9;
  for (int run = 0; run < 5; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    call();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

int main(int argc, char** argv) try {
  const std::int64_t samples = argc > 1 ? std::atoll(argv[1]) : 16384;
  const troika::Context context;

  const troika::Tensor tensor = troika::Tensor::zeros(context, "cpu:0", troika::Dtype::f32, {2, 3});
  constexpr std::int64_t kCalls = 1'000'000;
  std::int64_t bytes = 0;
  const double call_seconds = seconds_of([&] {
    for (std::int64_t i = 0; i < kCalls; ++i) bytes += tensor.describe().size_bytes;
  });
  if (bytes != 5 * kCalls * 24) return 1;
  std::printf("call ns %.1f\n", call_seconds / kCalls * 1e9);

  troika::Loader loader(troika::Dataset::create_synthetic(context, {1, 28, 28}, samples, 10), {.batch = 16});
  troika::Trainer trainer = troika::Model(context, "d2l_lenet").attach({"cpu:0"}, {.learning_rate = 0.05});
  trainer.train_epoch(loader);  // compiles the plans
  std::printf("epoch images/s %.0f\n", static_cast<double>(samples) / seconds_of([&] { trainer.train_epoch(loader); }));
  std::printf("steps images/s %.0f\n", static_cast<double>(samples) / seconds_of([&] {
                                         for (troika::Batch& batch : loader) trainer.step(batch);
                                       }));
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
