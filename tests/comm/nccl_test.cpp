// Tests of the group of GPUs that sum by NCCL: the sum, ranks that never arrive, are killed or
// hang, and the abort. Ranks are processes: this program with other arguments. They share the first
// GPU and communicate over loopback.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <thread>

#include "comm/nccl/nccl_communicator.h"
#include "comm/nccl/nccl_library.h"
#include "core/error.h"
#include "core/text.h"
#include "support/temp_directory.h"

extern char** environ;

namespace troika::nccl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kToJoin = 60s;    // includes the creation of every rank's context on the one GPU
constexpr auto kToAbort = 20s;   // for aborting a communicator whose kernels wait
constexpr auto kToNotice = 30s;  // for noticing that another rank has ended
constexpr int kEndedWithComm = 3;

Deadline in(Clock::duration time) { return Clock::now() + time; }

void check(cudaError_t status) {
  if (status != cudaSuccess) throw Error(Status::internal, text("CUDA: ", cudaGetErrorString(status)));
}

// The first GPU, in a rank's process, with the stream on which a replica would launch.
struct Gpu {
  Gpu() {
    check(cudaSetDevice(0));
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  }
  cudaStream_t stream = nullptr;
};

class GpuFloats {
 public:
  GpuFloats(Gpu& gpu, const std::vector<float>& values) : gpu_(gpu), count_(values.size()) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), count_ * sizeof(float)));
    write(values);
  }
  ~GpuFloats() { cudaFree(data_); }
  GpuFloats(const GpuFloats&) = delete;
  GpuFloats& operator=(const GpuFloats&) = delete;

  float* data() const { return data_; }
  void write(const std::vector<float>& values) {
    check(cudaMemcpyAsync(data_, values.data(), count_ * sizeof(float), cudaMemcpyHostToDevice, gpu_.stream));
    check(cudaStreamSynchronize(gpu_.stream));
  }
  std::vector<float> read() const {
    std::vector<float> values(count_);
    check(cudaMemcpyAsync(values.data(), data_, count_ * sizeof(float), cudaMemcpyDeviceToHost, gpu_.stream));
    check(cudaStreamSynchronize(gpu_.stream));
    return values;
  }

 private:
  Gpu& gpu_;
  const size_t count_;
  float* data_ = nullptr;
};

// Waits as a replica does: polls the GPU, and checks that all ranks of the group are alive.
void await(const Gpu& gpu, Communicator& group, Deadline deadline) {
  for (cudaError_t state; (state = cudaStreamQuery(gpu.stream)) != cudaSuccess;) {
    if (state != cudaErrorNotReady) check(state);
    group.progress();
    if (Clock::now() >= deadline)
      throw Error(Status::comm, text("rank ", group.rank(), ": its work did not end before the deadline"));
    std::this_thread::sleep_for(1ms);
  }
}

// Returns small integers, whose sums are exact in any order.
std::vector<float> numbers(int rank, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((rank + 1) * static_cast<int>(i % 97));
  return values;
}

std::vector<float> sum_of_numbers(int size, int64_t count) { return numbers(size * (size + 1) / 2 - 1, count); }

void sum_once(Gpu& gpu, Communicator& group, int64_t count, Deadline deadline) {
  GpuFloats bucket(gpu, numbers(group.rank(), count));
  group.start(0, Collective::all_reduce(DType::f32, count), bucket.data());
  group.wait(0, deadline);
  await(gpu, group, deadline);
  if (bucket.read() != sum_of_numbers(group.size(), count))
    throw Error(Status::internal, text("rank ", group.rank(), ": the sum of ", count, " elements is wrong"));
}

// Starts a sum that cannot complete. The sum must fail by the deadline. Then the group must be
// abortable, and the GPU free again.
void fail_to_sum(Gpu& gpu, Communicator& group, Clock::duration time) {
  constexpr int64_t kCount = 1 << 20;
  GpuFloats bucket(gpu, numbers(group.rank(), kCount));
  try {
    group.start(0, Collective::all_reduce(DType::f32, kCount), bucket.data());
    group.wait(0, in(time));
    await(gpu, group, in(time));
  } catch (const Error& e) {
    const Clock::time_point began = Clock::now();
    group.abort(e.what());
    check(cudaStreamSynchronize(gpu.stream));
    if (Clock::now() - began > kToAbort)
      throw Error(Status::internal, text("rank ", group.rank(), ": the abort took more than ", kToAbort.count(), " s"));
    try {
      group.start(0, Collective::all_reduce(DType::f32, kCount), bucket.data());
    } catch (const Error& afterwards) {
      if (std::string(afterwards.what()).find("was aborted") != std::string::npos) throw e;
    }
    throw Error(Status::internal, text("rank ", group.rank(), ": the group does not say that it was aborted"));
  }
  throw Error(Status::internal, text("rank ", group.rank(), ": a sum without all ranks has ended"));
}

// The function of a rank of a test. Returns normally, or throws the group's exception.
using Scenario = void (*)(int rank, int size, const ncclUniqueId& id);

void sum_several_buckets(int rank, int size, const ncclUniqueId& id) {
  const std::vector<int64_t> counts = {1, 17, 1000, 4099, 1 << 20, 3'000'001};
  Gpu gpu;
  NcclCommunicator group(rank, size, id, {0, gpu.stream}, in(kToJoin));
  group.reserve(static_cast<int>(counts.size()));
  for (int64_t count : counts) sum_once(gpu, group, count, in(kToJoin));
  std::vector<std::unique_ptr<GpuFloats>> buckets;
  for (int64_t count : counts) buckets.push_back(std::make_unique<GpuFloats>(gpu, numbers(rank, count)));
  for (int step = 0; step < 3; ++step) {
    for (size_t i = 0; i < counts.size(); ++i) {
      buckets[i]->write(numbers(rank, counts[i]));
      group.start(static_cast<int>(i), Collective::all_reduce(DType::f32, counts[i]), buckets[i]->data());
      group.progress();
    }
    for (size_t i = 0; i < counts.size(); ++i) group.wait(static_cast<int>(i), in(kToJoin));
    await(gpu, group, in(kToJoin));
    for (size_t i = 0; i < counts.size(); ++i)
      if (buckets[i]->read() != sum_of_numbers(size, counts[i]))
        throw Error(Status::internal, text("rank ", rank, ", step ", step, ": bucket ", i, " is wrong"));
  }
}

void join_for_ten_seconds(int rank, int size, const ncclUniqueId& id) {
  Gpu gpu;
  NcclCommunicator group(rank, size, id, {0, gpu.stream}, in(10s));
}

void lose_the_last(int rank, int size, const ncclUniqueId& id) {
  Gpu gpu;
  NcclCommunicator group(rank, size, id, {0, gpu.stream}, in(kToJoin));
  group.reserve(1);
  sum_once(gpu, group, 1000, in(kToJoin));
  if (rank == size - 1) ::raise(SIGKILL);
  fail_to_sum(gpu, group, kToNotice);
}

void wait_for_the_last(int rank, int size, const ncclUniqueId& id) {
  Gpu gpu;
  NcclCommunicator group(rank, size, id, {0, gpu.stream}, in(kToJoin));
  group.reserve(1);
  sum_once(gpu, group, 1000, in(kToJoin));
  while (rank == size - 1) ::pause();
  fail_to_sum(gpu, group, 3s);
}

const std::map<std::string, Scenario> kScenarios = {{"sum_several_buckets", sum_several_buckets},
                                                    {"join_for_ten_seconds", join_for_ten_seconds},
                                                    {"lose_the_last", lose_the_last},
                                                    {"wait_for_the_last", wait_for_the_last}};

// Returns the group's id. Rank 0 creates the id and passes it to the other ranks in a file.
ncclUniqueId exchange_id(int rank, const std::filesystem::path& path) {
  ncclUniqueId id{};
  if (rank == 0) {
    const Library& library = Library::get();
    library.check(library.get_unique_id(&id), "a group's id");
    std::ofstream(path.string() + ".tmp", std::ios::binary).write(id.internal, sizeof id.internal);
    std::filesystem::rename(path.string() + ".tmp", path);
    return id;
  }
  for (const Deadline deadline = in(kToJoin); !std::filesystem::exists(path); std::this_thread::sleep_for(10ms))
    if (Clock::now() >= deadline) throw Error(Status::internal, "rank 0 gave no id");
  std::ifstream(path, std::ios::binary).read(id.internal, sizeof id.internal);
  return id;
}

// Runs `rank SCENARIO RANK SIZE FILE`. Exits with 0, with kEndedWithComm, or with 1 if the test has
// failed.
int run_as_rank(char** arguments) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a rank that hangs ends with the test
  try {
    const int rank = std::stoi(arguments[1]);
    kScenarios.at(arguments[0])(rank, std::stoi(arguments[2]), exchange_id(rank, arguments[3]));
    return 0;
  } catch (const Error& e) {
    std::cerr << "rank " << arguments[1] << ": " << e.what() << '\n';
    return e.status() == Status::comm ? kEndedWithComm : 1;
  } catch (const std::exception& e) {
    std::cerr << "rank " << arguments[1] << ": " << e.what() << '\n';
    return 1;
  }
}

// The processes of ranks 0 to `started` - 1 of a group of `size`. The test's own process never uses
// the GPU.
class Ranks {
 public:
  Ranks(const std::string& scenario, int size, int started) {
    for (int rank = 0; rank < started; ++rank) {
      std::vector<std::string> texts = {
          "nccl_test", "rank", scenario, std::to_string(rank), std::to_string(size), (folder_.path() / "id").string()};
      // NCCL requires a separate GPU for each rank of a host. So each rank claims to be on its own
      // host.
      std::vector<std::string> variables = {text("NCCL_HOSTID=troika-test-", rank), "NCCL_SOCKET_IFNAME=lo",
                                            "NCCL_NET=Socket"};
      for (char** variable = environ; *variable; ++variable)
        if (std::string_view(*variable).substr(0, 5) != "NCCL_") variables.push_back(*variable);
      pid_t child = 0;
      if (::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers(texts).data(),
                        pointers(variables).data()) != 0)
        throw Error(Status::internal, text("rank ", rank, " could not be started"));
      children_.push_back(child);
    }
  }
  ~Ranks() {
    for (pid_t child : children_)
      if (child > 0) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
      }
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  // Returns the exit status of a rank, -SIGNAL if a signal has killed the rank, or nullopt if it
  // runs past the deadline.
  std::optional<int> end_of(int rank, Deadline deadline) {
    pid_t& child = children_[static_cast<size_t>(rank)];
    int status = 0;
    while (::waitpid(child, &status, WNOHANG) != child) {
      if (Clock::now() >= deadline) return std::nullopt;
      std::this_thread::sleep_for(10ms);
    }
    child = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> found;
    for (std::string& t : texts) found.push_back(t.data());
    found.push_back(nullptr);
    return found;
  }

  const TempDirectory folder_;
  std::vector<pid_t> children_;
};

class Nccl : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0)
      GTEST_SKIP() << "there is no NVIDIA GPU: "
                   << (status == cudaSuccess ? "none is visible" : cudaGetErrorString(status));
    try {
      Library::get();
    } catch (const Error& e) {
      GTEST_SKIP() << e.what();
    }
  }
};

TEST_F(Nccl, SumsSeveralBucketsAtOnceOverTwoAndThreeProcesses) {
  for (int size : {2, 3}) {
    Ranks ranks("sum_several_buckets", size, size);
    for (int rank = 0; rank < size; ++rank) EXPECT_EQ(ranks.end_of(rank, in(2 * kToJoin)), 0) << "rank " << rank;
  }
}

TEST_F(Nccl, FailsByTheDeadlineWhereARankNeverComes) {
  Ranks ranks("join_for_ten_seconds", 3, 2);
  for (int rank : {0, 1}) EXPECT_EQ(ranks.end_of(rank, in(10s + kToAbort + 20s)), kEndedWithComm) << "rank " << rank;
}

TEST_F(Nccl, FailsWhereARankIsKilled) {
  Ranks ranks("lose_the_last", 3, 3);
  EXPECT_EQ(ranks.end_of(2, in(2 * kToJoin)), -SIGKILL);
  for (int rank : {0, 1})
    EXPECT_EQ(ranks.end_of(rank, in(kToNotice + kToAbort + 20s)), kEndedWithComm) << "rank " << rank;
}

TEST_F(Nccl, IsAbortedInTimeWhereARankHangs) {
  Ranks ranks("wait_for_the_last", 3, 3);
  for (int rank : {0, 1})
    EXPECT_EQ(ranks.end_of(rank, in(2 * kToJoin + 3s + kToAbort)), kEndedWithComm) << "rank " << rank;
}

}  // namespace
}  // namespace troika::nccl

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "rank") return troika::nccl::run_as_rank(argv + 2);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
