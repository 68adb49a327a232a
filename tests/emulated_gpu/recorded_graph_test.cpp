// Recordings whose kernels may start early, on a GPU in software: which kernels do, and which of
// the two graphs runs.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "backends/cuda/early_starts.h"
#include "backends/cuda/graph_recording.h"
#include "backends/cuda/stream.h"
#include "backends/cuda/trial_runs.h"
#include "creations.h"
#include "gpu.h"
#include "kernel_faults.h"

namespace troika::cuda {
namespace {

// A foreign kernel has a function that the runtime knows, in another library.
enum class Kind { own, cooperative, library, foreign, copy };

class RecordedGraph : public testing::Test {
 protected:
  void TearDown() override {
    emulated_gpu::fail_creation(-1);
    emulated_gpu::report_code_for(90);
  }

  // Puts a piece of work on the stream, which counts its runs.
  void launch(Kind kind, size_t place) {
    static const char function = 0;
    emulated_gpu::Work work{.run = [this, place] { ++runs_[place]; }};
    if (kind == Kind::copy) work.type = cudaGraphNodeTypeMemcpy;
    if (kind == Kind::own || kind == Kind::cooperative) work.function = &function;
    if (kind == Kind::foreign) work.function = reinterpret_cast<const void*>(&emulated_gpu::report_code_for);
    work.is_cooperative = kind == Kind::cooperative;
    ASSERT_TRUE(emulated_gpu::enqueue(stream_.get(), work));
  }

  std::unique_ptr<Recording> record(const std::vector<Kind>& kinds, const LaunchOrder& order) {
    return record_graph(
        context_, stream_.get(), order, [&](size_t i) { launch(kinds[i], i); }, true, "the test");
  }

  static LaunchOrder in_turn(size_t launches) {
    LaunchOrder order(launches);
    for (size_t i = 1; i < launches; ++i) order[i] = {i - 1};
    return order;
  }

  // The number of kernels that may start early.
  std::string early_in(const std::vector<Kind>& kinds, const LaunchOrder& order) {
    const std::string note = record(kinds, order)->note();
    return note.substr(0, note.find(' '));
  }

  void finish() { ASSERT_EQ(cudaStreamSynchronize(stream_.get()), cudaSuccess); }

  const ContextPtr context_ = std::make_shared<PrimaryContext>(0);
  const ContextGuard guard_{*context_};
  const Stream stream_ = create_stream(context_, "the test");
  std::map<size_t, int> runs_;
};

TEST_F(RecordedGraph, LetsOwnKernelsAfterKernelsStartEarly) {
  using enum Kind;
  const auto early = [&](const std::vector<Kind>& kinds) { return early_in(kinds, in_turn(kinds.size())); };
  EXPECT_EQ(early({own, own, own}), "2");
  EXPECT_EQ(early({library, own}), "1");
  EXPECT_EQ(early({cooperative, own}), "1");
  EXPECT_EQ(early({own}), "") << "nothing is before it";
  EXPECT_EQ(early({own, library, library}), "") << "a library's kernel may not wait";
  EXPECT_EQ(early({own, foreign}), "");
  EXPECT_EQ(early({foreign, own}), "1");
  EXPECT_EQ(early({copy, own}), "") << "no kernel is before it";
  EXPECT_EQ(early({own, copy}), "");
  EXPECT_EQ(early({own, cooperative}), "") << "its blocks need room at once";
}

// Such as the code for 8.0 that a GPU of 9.0 compiles for itself.
TEST_F(RecordedGraph, LetsNoKernelStartEarlyWhoseCodeDoesNotWait) {
  using enum Kind;
  emulated_gpu::report_code_for(80);
  EXPECT_EQ(early_in({own, own}, in_turn(2)), "");
}

TEST_F(RecordedGraph, HoldsBackKernelsOfLibraries) {
  using enum Kind;
  const std::vector<Kind> kinds = {own, library, library, own};
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  for (size_t i = 0; i < kinds.size(); ++i) launch(kinds[i], i);
  ASSERT_EQ(cudaStreamEndCapture(stream_.get(), &graph), cudaSuccess);
  const GpuObject<cudaGraph_t, cudaGraphDestroy> held(graph, {context_});

  // Returns whether each edge is early, and makes all of them early.
  const auto edges = [&](bool changes) {
    cudaGraphNode_t from[3], to[3];
    cudaGraphEdgeData data[3], early{};
    early.type = cudaGraphDependencyTypeProgrammatic;
    early.from_port = cudaGraphKernelNodePortProgrammatic;
    size_t count = 3;
    EXPECT_EQ(cudaGraphGetEdges(graph, from, to, data, &count), cudaSuccess);
    EXPECT_EQ(count, 3u);
    std::vector<bool> are_early;
    for (size_t i = 0; i < 3; ++i) {
      are_early.push_back(data[i].type == cudaGraphDependencyTypeProgrammatic);
      if (!changes) continue;
      EXPECT_EQ(cudaGraphRemoveDependencies(graph, &from[i], &to[i], &data[i], 1), cudaSuccess);
      EXPECT_EQ(cudaGraphAddDependencies(graph, &from[i], &to[i], &early, 1), cudaSuccess);
    }
    return are_early;
  };
  edges(true);
  EXPECT_EQ(edges(false), (std::vector<bool>{true, true, true}));
  hold_back_libraries(graph, "the test");
  EXPECT_EQ(edges(false), (std::vector<bool>{false, true, true})) << "the library arranges its own kernels";
  EXPECT_EQ(let_kernels_start_early(graph, "the test"), 0) << "only plain edges are changed";
}

TEST_F(RecordedGraph, LetsNoKernelThatWaitsForSeveralStartEarly) {
  using enum Kind;
  // 1 and 2 are concurrent.
  EXPECT_EQ(early_in({own, own, own, own}, {{}, {0}, {0}, {1, 2}}), "2");
}

TEST_F(RecordedGraph, RunsEachLaunchOnceInEitherForm) {
  using enum Kind;
  const auto recording = record({own, own, copy, own, own}, in_turn(5));
  constexpr int kTimes = 30;
  for (int i = 0; i < kTimes; ++i) {
    recording->run();
    finish();
  }
  for (size_t place = 0; place < 5; ++place) EXPECT_EQ(runs_[place], kTimes) << place;
  EXPECT_TRUE(recording->note().starts_with("2 start early, ")) << recording->note();
  EXPECT_NE(recording->note().find(" us; without, "), std::string::npos) << recording->note();
}

// The plain graph is made first, and is enough.
TEST_F(RecordedGraph, DoesWithoutTheSecondGraphIfItCannotBeMade) {
  using enum Kind;
  std::vector<std::string> notes, refused;
  for (int64_t n = 0;; ++n) {
    emulated_gpu::fail_creation(n);
    try {
      const std::string note = record({own, own}, in_turn(2))->note();
      if (emulated_gpu::failed_creation().empty()) break;
      notes.push_back(emulated_gpu::failed_creation() + ":" + note);
    } catch (const Error&) {
      refused.push_back(emulated_gpu::failed_creation());
    }
  }
  EXPECT_EQ(refused,
            (std::vector<std::string>{"cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiate"}));
  ASSERT_GE(notes.size(), 2u);
  EXPECT_EQ(notes[0], "cudaGraphInstantiate:");
  for (size_t i = 1; i < notes.size(); ++i) EXPECT_EQ(notes[i], "cudaEventCreate:");
}

// Work on the stream takes at least as long as it sleeps.
TEST_F(RecordedGraph, KeepsTheFasterFormAfterATrial) {
  for (size_t faster : {size_t{0}, size_t{1}}) {
    TrialRuns trial(context_, stream_.get(), "the test");
    std::vector<size_t> forms;
    const auto run = [&] {
      trial.run([&](size_t form) {
        forms.push_back(form);
        emulated_gpu::enqueue(
            stream_.get(), {[=] { std::this_thread::sleep_for(std::chrono::milliseconds(form == faster ? 0 : 3)); }});
      });
    };
    int runs = 0;
    for (; !trial.faster() && runs < 1000; ++runs) {
      run();
      finish();
    }
    ASSERT_EQ(trial.faster(), faster);
    EXPECT_GE(trial.milliseconds(1 - faster), 3);
    EXPECT_LT(trial.milliseconds(faster), trial.milliseconds(1 - faster));
    EXPECT_EQ(std::vector<size_t>(forms.begin(), forms.begin() + 4), (std::vector<size_t>{0, 1, 0, 1}));
    run();
    EXPECT_EQ(forms.back(), faster);
  }
}

// A host that does not wait for its steps is not made to.
TEST_F(RecordedGraph, RunsThePlainFormUntilTheTimesAreKnown) {
  bool may_end = false;
  std::mutex mutex;
  TrialRuns trial(context_, stream_.get(), "the test");
  emulated_gpu::enqueue(stream_.get(), {[] {},
                                        [&] {
                                          const std::lock_guard lock(mutex);
                                          return may_end;
                                        }});
  std::vector<size_t> forms;
  for (int i = 0; i < 40; ++i) trial.run([&](size_t form) { forms.push_back(form); });
  EXPECT_FALSE(trial.faster());
  EXPECT_EQ(std::vector<size_t>(forms.end() - 10, forms.end()), std::vector<size_t>(10, 0));
  {
    const std::lock_guard lock(mutex);
    may_end = true;
  }
  finish();
  trial.run([&](size_t) {});
  EXPECT_TRUE(trial.faster());
}

}  // namespace
}  // namespace troika::cuda
