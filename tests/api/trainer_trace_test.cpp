// Traces of training steps in files: the events of all ranks, on one clock.
#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/group_process.h"

namespace troika::test {
namespace {

using Json = nlohmann::json;

constexpr double kRounding = 0.002;  // of times, in microseconds

// A file, read.
struct Trace {
  explicit Trace(const std::string& file) : json(Json::parse(std::ifstream(file))) {
    for (const Json& event : json.at("traceEvents")) {
      const std::pair<int, int> track{event.at("pid"), event.at("tid")};
      const std::string phase = event.at("ph"), name = event.at("name");
      if (name == "process_name") processes[track.first] = event.at("args").at("name");
      if (name == "thread_name") tracks[track] = event.at("args").at("name");
      if (phase == "X") events.push_back(event);
      if (phase == "s") sends.push_back(event);
      if (phase == "f") receives.push_back(event);
    }
  }

  static double begin(const Json& event) { return event.at("ts"); }
  static double end(const Json& event) { return begin(event) + event.at("dur").get<double>(); }
  std::string track(const Json& event) const { return tracks.at({event.at("pid"), event.at("tid")}); }
  std::string rank(const Json& event) const { return track(event).substr(0, track(event).find(',')); }

  std::vector<Json> of(const std::string& category) const {
    std::vector<Json> found;
    std::copy_if(events.begin(), events.end(), std::back_inserter(found),
                 [&](const Json& event) { return event.at("cat") == category; });
    return found;
  }
  std::set<std::string> ranks_with(const std::string& category) const {
    std::set<std::string> ranks;
    for (const Json& event : of(category)) ranks.insert(rank(event));
    return ranks;
  }

  // Events have positive times, and follow one another on their track.
  void check() const {
    std::map<std::string, std::vector<Json>> by_track;
    double first = 1e300;
    for (const Json& event : events) {
      EXPECT_GE(event.at("dur"), 0) << event;
      EXPECT_EQ(event.at("args").at("kind"), event.at("cat")) << event;
      first = std::min(first, begin(event));
      by_track[track(event)].push_back(event);
    }
    EXPECT_EQ(first, 0);
    for (auto& [track, list] : by_track) {
      std::stable_sort(list.begin(), list.end(), [](const Json& a, const Json& b) { return begin(a) < begin(b); });
      for (size_t i = 1; i < list.size(); ++i) EXPECT_LE(end(list[i - 1]), begin(list[i]) + kRounding) << list[i];
    }
  }

  // No rank has a sum before all ranks have started it: on one clock, the last start is before the
  // first end.
  void check_clock(const std::set<std::string>& ranks) const {
    std::map<std::string, std::vector<Json>> by_name;
    for (const Json& event : of("collective")) by_name[event.at("name")].push_back(event);
    EXPECT_FALSE(by_name.empty());
    for (const auto& [name, list] : by_name) {
      EXPECT_EQ(list.size(), ranks.size()) << name;
      double last_begin = 0, first_end = 1e300;
      for (const Json& event : list) {
        last_begin = std::max(last_begin, begin(event));
        first_end = std::min(first_end, end(event));
      }
      EXPECT_LE(last_begin, first_end + kRounding) << name;
    }
  }

  // Launches of a rank that run while one of its collectives is on its way.
  int overlaps() const {
    int count = 0;
    for (const Json& collective : of("collective"))
      for (const Json& launch : of("launch"))
        count += rank(launch) == rank(collective) && begin(launch) < end(collective) && begin(collective) < end(launch);
    return count;
  }

  Json json;
  std::map<int, std::string> processes;
  std::map<std::pair<int, int>, std::string> tracks;
  std::vector<Json> events, sends, receives;
};

class TrainerTrace : public ApiTest {
 protected:
  std::string file() const { return (folder_.path() / "step.json").string(); }

  void attach(const char* model, int32_t devices, const std::function<void(troika_trainer_options&)>& change = {}) {
    expect_ok(troika_model_create(context_, model, nullptr, &model_, &error_));
    const int64_t image[] = {1, 28, 28};
    expect_ok(troika_dataset_create_synthetic(context_, image, 3, 32, 10, 1, &dataset_, &error_));
    troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
    batches.batch = 16;
    expect_ok(troika_loader_create(dataset_, &batches, &loader_, &error_));
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    options.collect_trace = 1;
    options.bucket_bytes = 4096;
    if (change) change(options);
    const troika_device all[] = {kCpu0, kCpu1, kCpu2, {TROIKA_DEVICE_CPU, 3}};
    expect_ok(troika_model_attach(model_, all, devices, &options, &trainer_, &error_));
  }
  Trace save() {
    expect_ok(troika_trainer_save_trace(trainer_, file().c_str(), &error_));
    return Trace(file());
  }

  const TempDirectory folder_;
};

TEST_F(TrainerTrace, HasTheEventsOfAllRanks) {
  attach("d2l_lenet", 2);
  expect_ok(step());
  expect_ok(step());
  const Trace trace = save();
  trace.check();
  trace.check_clock({"rank 0", "rank 1"});
  EXPECT_EQ(trace.processes.size(), 1u);
  EXPECT_EQ(trace.processes.at(0).rfind("process 0 on ", 0), 0u) << trace.processes.at(0);
  EXPECT_EQ(trace.tracks.at({0, 1}), "rank 0, cpu:0");
  EXPECT_EQ(trace.tracks.at({0, 2}), "rank 1, cpu:1");
  for (const char* category : {"launch", "start", "wait", "collective"})
    EXPECT_EQ(trace.ranks_with(category), (std::set<std::string>{"rank 0", "rank 1"})) << category;
  for (const Json& event : trace.of("launch"))
    EXPECT_EQ(event.at("args").at("kernel").get<std::string>().rfind("cpu:", 0), 0u);
  const Json& other = trace.json.at("otherData");
  EXPECT_EQ(other.at("step"), 2);
  EXPECT_EQ(other.at("model"), "d2l_lenet");
  EXPECT_EQ(other.at("clock_error_us"), Json::array({0.0}));
}

// The launches are those of the text.
TEST_F(TrainerTrace, HasEveryEventOfTheTextAndTheBytesOfBuckets) {
  attach("d2l_lenet", 2);
  expect_ok(step());
  int64_t size = 0;
  expect_ok(troika_trainer_trace(trainer_, nullptr, 0, &size, &error_));
  std::string lines(static_cast<size_t>(size), '\0');
  expect_ok(troika_trainer_trace(trainer_, lines.data(), size, nullptr, &error_));
  const Trace trace = save();
  EXPECT_EQ(static_cast<size_t>(std::count(lines.begin(), lines.end(), '\n')),
            trace.events.size() - trace.of("collective").size());
  int64_t bytes = 0;
  for (const Json& event : trace.of("collective"))
    if (event.at("name").get<std::string>().rfind("all_reduce bucket", 0) == 0 && trace.rank(event) == "rank 0")
      bytes += event.at("args").at("bytes").get<int64_t>();
  troika_memory_info memory = TROIKA_MEMORY_INFO_INIT;
  expect_ok(troika_trainer_memory(trainer_, 0, &memory, &error_));
  EXPECT_EQ(bytes, memory.gradient_bytes);
}

TEST_F(TrainerTrace, ShowsThatGradientsAreExchangedDuringTheBackwardPass) {
  attach("d2l_lenet", 2);
  int overlaps = 0;
  for (int i = 0; i < 4; ++i) {
    expect_ok(step());
    overlaps += save().overlaps();
  }
  EXPECT_GT(overlaps, 0);
}

// A send begins before its receive ends, and each arrow begins and ends in one of these events.
TEST_F(TrainerTrace, ConnectsTheEndsOfMessages) {
  attach("d2l_lenet", 4, [](troika_trainer_options& options) {
    options.mesh = {2, 2, 1, 0};
    options.micro_batches = 2;
  });
  expect_ok(step());
  const Trace trace = save();
  trace.check();
  EXPECT_GT(trace.sends.size(), 7u);
  ASSERT_EQ(trace.sends.size(), trace.receives.size());
  ASSERT_EQ(trace.of("send").size(), trace.sends.size());
  std::map<std::string, Json> sends;
  for (const Json& arrow : trace.sends) EXPECT_TRUE(sends.emplace(arrow.at("id"), arrow).second) << arrow;
  const auto is_within = [&](const Json& arrow, const std::string& category) {
    const std::vector<Json> events = trace.of(category);
    return std::any_of(events.begin(), events.end(), [&](const Json& event) {
      return trace.track(event) == trace.track(arrow) && Trace::begin(event) <= Trace::begin(arrow) &&
             Trace::begin(arrow) < Trace::end(event);
    });
  };
  for (const Json& arrow : trace.receives) {
    ASSERT_TRUE(sends.count(arrow.at("id"))) << arrow;
    const Json& send = sends.at(arrow.at("id"));
    EXPECT_LE(Trace::begin(send), Trace::begin(arrow));
    EXPECT_TRUE(is_within(send, "send")) << send;
    EXPECT_TRUE(is_within(arrow, "receive")) << arrow;
  }
}

TEST_F(TrainerTrace, HasCollectivesOfChannels) {
  attach("d2l_lenet", 2, [](troika_trainer_options& options) { options.mesh = {1, 1, 2, 0}; });
  expect_ok(step());
  const Trace trace = save();
  trace.check();
  trace.check_clock({"rank 0", "rank 1"});
}

TEST_F(TrainerTrace, RefusesWhatCannotBeSaved) {
  attach("mlp", 1);
  expect_refused(troika_trainer_save_trace(trainer_, file().c_str(), &error_), TROIKA_ERROR_NOT_INITIALIZED,
                 "trace: there is none; set collect_trace and run a step first");
  expect_ok(step());
  expect_refused(troika_trainer_save_trace(nullptr, file().c_str(), &error_), kInvalid, "argument 'trainer' is NULL");
  expect_refused(troika_trainer_save_trace(trainer_, nullptr, &error_), kInvalid,
                 "troika_trainer_save_trace: argument 'file' is NULL");
  expect_refused(troika_trainer_save_trace(trainer_, (file() + "/a").c_str(), &error_), TROIKA_ERROR_IO,
                 "step.json/a'");
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_EQ(save().ranks_with("launch"), std::set<std::string>{"rank 0"});
}

TEST_F(TrainerTrace, NeedsItsOption) {
  make_trainer();
  expect_ok(step());
  expect_refused(troika_trainer_save_trace(trainer_, file().c_str(), &error_), TROIKA_ERROR_NOT_INITIALIZED,
                 "set collect_trace");
}

#ifndef _WIN32  // there are no groups of several processes
// ---- two processes ----
class GroupTraces : public GroupTrainers {
 protected:
  std::string file() const { return (folder_.path() / "step.json").string(); }

  const TempDirectory folder_;
};

void trace(troika_trainer_options& options) { options.collect_trace = 1; }

TEST_F(GroupTraces, HaveTheRanksOfAllProcessesOnOneClock) {
  run([&](GroupProcess& p) {
    p.attach(trace);
    p.load();
    p.expect_ok(p.step());
    p.expect_ok(troika_trainer_save_trace(p.trainer_, p.rank() == 0 ? file().c_str() : "not used", &p.error_));
    p.expect_ok(p.step());
  });
  const Trace found(file());
  found.check();
  const std::set<std::string> ranks{"rank 0", "rank 1", "rank 2", "rank 3"};
  found.check_clock(ranks);
  for (const char* category : {"launch", "start", "wait", "collective"})
    EXPECT_EQ(found.ranks_with(category), ranks) << category;
  EXPECT_EQ(found.processes.size(), 2u);
  EXPECT_EQ(found.processes.at(1).rfind("process 1 on ", 0), 0u);
  EXPECT_EQ(found.tracks.at({1, 2}), "rank 3, cpu:1");
  EXPECT_EQ(found.json.at("otherData").at("clock_error_us"), Json::array({0.0, 0.0}));
  EXPECT_FALSE(std::filesystem::exists("not used"));
}

// The stages of a pipeline are in different processes, and so are the ends of its messages.
TEST_F(GroupTraces, ConnectMessagesOfProcesses) {
  run([&](GroupProcess& p) {
    p.expect_ok(troika_model_create(p.context_, "mlp", nullptr, &p.model_, &p.error_));
    const int64_t image[] = {1, 28, 28};
    p.expect_ok(troika_dataset_create_synthetic(p.context_, image, 3, 16, 10, 1, &p.dataset_, &p.error_));
    troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
    batches.batch = 8;
    p.expect_ok(troika_loader_create(p.dataset_, &batches, &p.loader_, &p.error_));
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    trace(options);
    options.group = p.group_;
    options.mesh = {1, 2, 1, 0};
    options.micro_batches = 2;
    p.expect_ok(troika_model_attach(p.model_, &kCpu0, 1, &options, &p.trainer_, &p.error_));
    p.expect_ok(troika_trainer_divide_loader(p.trainer_, p.loader_, &p.error_));
    p.expect_ok(p.step());
    p.expect_ok(troika_trainer_save_trace(p.trainer_, file().c_str(), &p.error_));
  });
  const Trace found(file());
  found.check();
  ASSERT_FALSE(found.sends.empty());
  ASSERT_EQ(found.sends.size(), found.receives.size());
  for (const Json& send : found.sends) {
    const auto is_other = [&](const Json& receive) { return receive.at("id") == send.at("id"); };
    const auto receive = std::find_if(found.receives.begin(), found.receives.end(), is_other);
    ASSERT_NE(receive, found.receives.end());
    EXPECT_NE(receive->at("pid"), send.at("pid"));
    EXPECT_LE(Trace::begin(send), Trace::begin(*receive));
  }
}

TEST_F(GroupTraces, ShareTheirErrors) {
  run([&](GroupProcess& p) {
    p.attach([&](troika_trainer_options& options) { options.collect_trace = p.rank() == 0; });
    p.load();
    p.expect_ok(p.step());
    p.expect_refused(troika_trainer_save_trace(p.trainer_, file().c_str(), &p.error_), TROIKA_ERROR_NOT_INITIALIZED,
                     p.rank() == 0 ? "rank 1: trace: there is none" : "trace: there is none");
    p.expect_ok(p.step());
  });
  run([&](GroupProcess& p) {
    p.attach(trace);
    p.load();
    p.expect_ok(p.step());
    p.expect_refused(troika_trainer_save_trace(p.trainer_, p.rank() == 1 ? nullptr : file().c_str(), &p.error_),
                     kInvalid, "troika_trainer_save_trace: argument 'file' is NULL");
    const std::string bad = file() + "/a";
    p.expect_refused(troika_trainer_save_trace(p.trainer_, bad.c_str(), &p.error_), TROIKA_ERROR_IO,
                     p.rank() == 0 ? "step.json/a'" : "rank 0: trace '");
    p.expect_ok(p.step());
    p.expect_ok(troika_trainer_save_trace(p.trainer_, file().c_str(), &p.error_));
  });
  EXPECT_TRUE(std::filesystem::exists(file()));
}
#endif

}  // namespace
}  // namespace troika::test
