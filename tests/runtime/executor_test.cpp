// Tests of the executor: addresses, the order of steps, and collectives in flight while kernels
// run.
#include "runtime/executor.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "core/text.h"
#include "plan/fake_device.h"
#include "support/throws.h"

namespace troika {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

// A log of events, in their order.
using Events = std::vector<std::string>;

struct Bound {
  std::vector<void*> inputs, outputs;
  void* scratch = nullptr;
};

class RecordingKernel : public Kernel {
 public:
  RecordingKernel(std::string name, Events& events, std::chrono::milliseconds time = 0ms, Bound* bound = nullptr)
      : name_(std::move(name)), events_(events), time_(time), bound_(bound) {}
  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    if (bound_) *bound_ = {{inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}, scratch};
  }
  void run() override {
    std::this_thread::sleep_for(time_);
    events_.push_back(name_);
  }

 private:
  const std::string name_;
  Events& events_;
  const std::chrono::milliseconds time_;
  Bound* bound_;
};

// A link that sends one bucket at a time, in `time` per bucket, without using the processor.
class SlowLink : public Communicator {
 public:
  SlowLink(Events& events, std::chrono::milliseconds time) : events_(events), time_(time) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void reserve(int) override {}
  void start(int slot, const Collective& collective, void* data) override {
    events_.push_back(
        text("start ", slot, " at ", static_cast<std::byte*>(data) - gradients, " of ", collective.count));
    free_ = std::max(free_, Clock::now()) + time_;
    done_[slot] = free_;
  }
  void progress() override { ++progressed; }
  void wait(int slot, Deadline deadline) override {
    if (done_.at(slot) > deadline) throw Error(Status::comm, text("slot ", slot, " is late"));
    unfinished += Clock::now() < done_.at(slot);
    // Windows may wake a thread a millisecond early.
    while (Clock::now() < done_.at(slot)) std::this_thread::sleep_until(done_.at(slot));
    events_.push_back(text("wait ", slot));
  }
  void abort(const std::string&) override {}
  std::optional<Clock::time_point> arrival(int slot) const override { return done_.at(slot); }

  int progressed = 0;
  int unfinished = 0;  // collectives that were still in flight when wait() was called
  std::byte* gradients = nullptr;

 private:
  Events& events_;
  const std::chrono::milliseconds time_;
  Clock::time_point free_;
  std::map<int, Clock::time_point> done_;
};

// The groups of a rank whose data group has the link as its communicator. The groups own the link.
struct Linked {
  explicit Linked(Events& events, std::chrono::milliseconds time) {
    auto end = std::make_unique<SlowLink>(events, time);
    link = end.get();
    groups.set(RankGroup::data, std::move(end));
  }
  SlowLink* link;
  RankGroups groups;
};

// Returns a plan of the backward pass of `layers` layers with one bucket each, and an update that
// needs all buckets.
Plan backward(int layers, std::chrono::milliseconds time, Events& events) {
  Plan plan;
  auto launch = [&](const std::string& name, std::chrono::milliseconds t) {
    Launch l;
    l.op = name;
    l.kernel = std::make_unique<RecordingKernel>(name, events, t);
    plan.steps.push_back({PlanStep::launch, plan.launches.size()});
    plan.launches.push_back(std::move(l));
  };
  for (int i = 0; i < layers; ++i) {
    launch(text("backward ", i), time);
    plan.steps.push_back({PlanStep::start_all_reduce, static_cast<size_t>(i)});
    plan.bucket_slots.push_back({10 * i, -1});
  }
  for (int i = 0; i < layers; ++i) plan.steps.push_back({PlanStep::wait_all_reduce, static_cast<size_t>(i)});
  launch("update", 0ms);
  return plan;
}

TEST(Bases, AddressEachSegmentFromItsOwnBase) {
  std::byte memory[4][128];
  const Bases bases{memory[0], memory[1], memory[2], memory[3]};
  EXPECT_EQ(bases.address({Segment::arena, 64, 1}), memory[0] + 64);
  EXPECT_EQ(bases.address({Segment::parameters, 8, 1}), memory[1] + 8);
  EXPECT_EQ(bases.address({Segment::gradients, 0, 1}), memory[2]);
  EXPECT_EQ(bases.address({Segment::optimizer, 16, 1}), memory[3] + 16);
  EXPECT_EQ(bases.address({}), nullptr);
}

TEST(Bind, GivesKernelsTheirAddressesAgainWhenMemoryMoves) {
  Events events;
  Bound bound;
  Plan plan;
  Launch launch;
  launch.kernel = std::make_unique<RecordingKernel>("k", events, 0ms, &bound);
  launch.inputs = {{Segment::arena, 64, 4}, {}};
  launch.outputs = {{Segment::gradients, 0, 4}};
  launch.scratch = {Segment::arena, 128, 4};
  plan.launches.push_back(std::move(launch));
  std::byte first[256], second[256], gradients[64];
  for (std::byte* arena : {first, second}) {
    Bases bases;
    bases.arena = arena;
    bases.gradients = gradients;
    bind(plan, bases);
    EXPECT_EQ(bound.inputs, (std::vector<void*>{arena + 64, nullptr}));
    EXPECT_EQ(bound.outputs, (std::vector<void*>{gradients}));
    EXPECT_EQ(bound.scratch, arena + 128);
  }
}

TEST(Execute, TakesStepsInTheirOrderAndHelpsTheCollectivesAlong) {
  FakeDevice device;
  Events events;
  const Linked linked(events, 0ms);
  std::byte gradients[256];
  linked.link->gradients = gradients;
  Bases bases;
  bases.gradients = gradients;
  execute(backward(2, 0ms, events), device, bases, {{0, 64, {}}, {64, 128, {}}}, linked.groups, Clock::now() + 10s,
          nullptr);
  EXPECT_EQ(events, (Events{"backward 0", "start 0 at 0 of 16", "backward 1", "start 10 at 64 of 32", "wait 0",
                            "wait 10", "update"}));
  EXPECT_EQ(linked.link->progressed, 5) << "after every launch and every start";
}

TEST(Execute, NeedsNoCommunicatorWithoutCollectives) {
  FakeDevice device;
  Events events;
  execute(backward(0, 0ms, events), device, {}, {}, {}, Clock::now(), nullptr);
  EXPECT_EQ(events, Events{"update"});
}

// A clock whose steps take 3 ms each, with 1 ms between them.
class FakeClock : public LaunchClock {
 public:
  explicit FakeClock(Events& events) : events_(events) {}
  void hold(std::chrono::nanoseconds time) override {
    steps_.clear();
    events_.push_back(time > 0ns ? "hold" : "hold for no time");
  }
  void begin(size_t step) override { events_.push_back(text("begin ", step)); }
  void end(size_t step) override {
    events_.push_back(text("end ", step));
    steps_.push_back(step);
  }
  std::vector<LaunchTime> read(Clock::time_point& end) override {
    std::vector<LaunchTime> times;
    end = Clock::now();
    for (size_t step : steps_) times.push_back({step, 4ms * times.size(), 3ms});
    return times;
  }

 private:
  Events& events_;
  std::vector<size_t> steps_;
};

TEST(Execute, TakesTimesFromTheClockOfADevice) {
  FakeDevice device;
  Events events;
  Plan plan = backward(0, 0ms, events);
  plan.steps.push_back({PlanStep::pause, 0});
  plan.launches.push_back({});
  plan.launches.back().kernel = std::make_unique<RecordingKernel>("more", events, 0ms);
  plan.steps.push_back({PlanStep::launch, plan.launches.size() - 1});
  Trace trace;
  trace.clock = std::make_unique<FakeClock>(events);
  for (int run = 0; run < 2; ++run) {
    events.clear();
    trace.events.clear();
    execute(plan, device, {}, {}, {}, Clock::now() + 10s, &trace);
    EXPECT_EQ(events, (Events{"hold", "begin 0", "update", "end 0", "begin 2", "more", "end 2"})) << "no pause";
    ASSERT_EQ(trace.events.size(), 3u);
    EXPECT_EQ(trace.events[0].end - trace.events[0].begin, 3ms);
    EXPECT_EQ(trace.events[2].begin - trace.events[0].end, 1ms);
    EXPECT_LE(trace.events[2].end, Clock::now());
  }
}

// A wait for other ranks is the time in which the device waits, not the host.
TEST(Execute, TakesTimesOfWaitsFromTheClockOfADevice) {
  FakeDevice device;
  Events events;
  const Linked linked(events, 0ms);
  Trace trace;
  trace.clock = std::make_unique<FakeClock>(events);
  execute(backward(1, 0ms, events), device, {}, {{0, 64, {}}}, linked.groups, Clock::now() + 10s, &trace);
  EXPECT_EQ(events, (Events{"hold", "begin 0", "backward 0", "end 0", "begin 1", "start 0 at 0 of 16", "end 1",
                            "begin 2", "wait 0", "end 2", "begin 3", "update", "end 3"}));
  ASSERT_EQ(trace.events.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(trace.events[i].end - trace.events[i].begin, 3ms) << i;
    EXPECT_EQ(trace.events[i].begin - trace.events[0].begin, 4ms * i) << i;
  }
}

// A plan with an update, and one more launch.
class ExecutePieces : public ::testing::Test {
 protected:
  void add_launch(const char* name) {
    Launch launch;
    launch.kernel = std::make_unique<RecordingKernel>(name, events_);
    plan_.steps.push_back({PlanStep::launch, plan_.launches.size()});
    plan_.launches.push_back(std::move(launch));
  }

  Events run(Piece piece) {
    events_.clear();
    execute(plan_, device_, {}, {}, {}, Clock::now() + 10s, nullptr, piece);
    return events_;
  }

  FakeDevice device_;
  Events events_;
  Plan plan_ = backward(0, 0ms, events_);
};

TEST_F(ExecutePieces, StopAtAPauseAndGoOnFromIt) {
  EXPECT_THROWS(Status::internal, "has no pause", run(Piece::forward));
  plan_.steps.push_back({PlanStep::pause, 0});
  add_launch("after");
  EXPECT_EQ(run(Piece::forward), Events{"update"});
  EXPECT_EQ(run(Piece::backward), Events{"after"});
  EXPECT_EQ(run(Piece::all), (Events{"update", "after"}));
}

TEST_F(ExecutePieces, LeaveOutALateUpdateOrRunItAlone) {
  plan_.steps[0].is_late = true;
  add_launch("forward");
  EXPECT_EQ(run(Piece::without_update), Events{"forward"});
  EXPECT_EQ(run(Piece::all), (Events{"update", "forward"}));
  EXPECT_EQ(run(Piece::update), Events{"update"});
}

TEST(Execute, StopsWhereACollectiveFails) {
  FakeDevice device;
  Events events;
  const Linked linked(events, 60000ms);
  EXPECT_THROWS(
      Status::comm, "slot 0 is late",
      (execute(backward(1, 0ms, events), device, {}, {{0, 64, {}}}, linked.groups, Clock::now() + 10ms, nullptr), 0));
  EXPECT_EQ(events.back(), "start 0 at 0 of 16");
}

TEST(Execute, MeasuresTheWaitForOtherRanks) {
  constexpr auto kTime = 20ms;
  FakeDevice device;
  Events events;
  const auto waited = [&](int layers, std::chrono::milliseconds in_flight) {
    const Linked linked(events, in_flight);
    return execute(backward(layers, kTime, events), device, {}, std::vector<BucketRange>(2, BucketRange{0, 64, {}}),
                   linked.groups, Clock::now() + 60s, nullptr);
  };
  EXPECT_EQ(waited(0, 0ms), 0ms) << "there is nothing to wait for";
  EXPECT_GE(waited(2, 3 * kTime), 2 * kTime) << "the last bucket is in flight for longer";
  EXPECT_LT(waited(2, 0ms), kTime) << "kernels do not count";
}

// The kernel of a layer takes at least twice as long as a bucket is in flight. So every bucket
// except the last has arrived when the step waits for it, even on a loaded machine.
TEST(Execute, OverlapsCollectivesWithBackward) {
  constexpr int kLayers = 5;
  constexpr auto kTime = 10ms;
  FakeDevice device;
  Events events;
  const Linked linked(events, kTime / 2);
  const Plan plan = backward(kLayers, kTime, events);
  Trace trace;
  execute(plan, device, {}, std::vector<BucketRange>(kLayers, BucketRange{0, 64, {}}), linked.groups,
          Clock::now() + 60s, &trace);
  EXPECT_LE(linked.link->unfinished, 1);

  ASSERT_EQ(trace.events.size(), plan.steps.size());
  Clock::time_point first_start, last_backward;
  for (const TraceEvent& event : trace.events) {
    EXPECT_LE(event.begin, event.end);
    if (event.step.kind == PlanStep::start_all_reduce && event.step.index == 0) first_start = event.begin;
    if (event.step.kind == PlanStep::launch && event.step.index == kLayers - 1) last_backward = event.begin;
  }
  EXPECT_LT(first_start, last_backward);
}

// A bucket that is on its way during a launch arrives before the step waits for it.
TEST(Execute, TracesWhenTheResultOfACollectiveWasThere) {
  FakeDevice device;
  Events events;
  const Linked linked(events, 5ms);
  Trace trace;
  execute(backward(3, 20ms, events), device, {}, std::vector<BucketRange>(3, BucketRange{0, 64, {}}), linked.groups,
          Clock::now() + 60s, &trace);
  Clock::time_point last_backward;
  for (const TraceEvent& event : trace.events) {
    if (event.step.kind == PlanStep::launch && event.step.index == 2) last_backward = event.end;
    if (event.step.kind != PlanStep::wait_all_reduce)
      EXPECT_EQ(event.arrival, event.end);
    else if (event.step.index < 2)
      EXPECT_LT(event.arrival, last_backward);
    else
      EXPECT_LE(event.arrival, event.end);
  }
}

TEST(Execute, AppendsToATraceWithoutAllocatingOnceItIsReserved) {
  FakeDevice device;
  Events events;
  const Linked linked(events, 0ms);
  const Plan plan = backward(3, 0ms, events);
  Trace trace;
  trace.make_room(plan, nullptr);
  const TraceEvent* memory = trace.events.data();
  execute(plan, device, {}, std::vector<BucketRange>(3), linked.groups, Clock::now() + 10s, &trace);
  EXPECT_EQ(trace.events.size(), plan.steps.size());
  EXPECT_EQ(trace.events.data(), memory);
}

}  // namespace
}  // namespace troika
