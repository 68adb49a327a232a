// Times Gloo's own all-reduce, as all_reduce_bench.c does. RANK and WORLD_SIZE are set.
//
//     troika run --processes 2 -- gloo_all_reduce_bench FOLDER 1024 1048576
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  const int rank = std::atoi(std::getenv("RANK")), size = std::atoi(std::getenv("WORLD_SIZE"));
  gloo::transport::tcp::attr attributes;
  attributes.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  gloo::rendezvous::FileStore store(argv[1]);
  context->connectFullMesh(store, device);
  for (int i = 2; i < argc; ++i) {
    const int64_t bytes = std::atoll(argv[i]);
    const int64_t calls = std::clamp<int64_t>(400'000'000 / (bytes + 200'000), 5, 2000);
    std::vector<float> data(static_cast<size_t>(bytes / 4));
    std::vector<double> times;
    for (int64_t call = -3; call < calls; ++call) {
      gloo::AllreduceOptions options(context);
      options.setOutput(data.data(), data.size());
      options.setReduceFunction([](void* to, const void* a, const void* b, size_t n) { gloo::sum<float>(to, a, b, n); });
      const auto begin = std::chrono::steady_clock::now();
      gloo::allreduce(options);
      if (call >= 0) times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2), times.end());
    if (rank == 0) std::printf("%lld %.1f\n", static_cast<long long>(bytes), 1e6 * times[times.size() / 2]);
    std::fflush(stdout);
  }
}
