// The library does not change the host's state: its streams, signals, cores, locale and
// floating-point modes.
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <troika/pending.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <locale>
#include <mutex>
#include <set>
#include <sstream>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "api/api_test.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

class HostState : public ApiTest {
 protected:
  // Runs most functions of the library, with failures in between.
  void run_everything(const std::string& folder) {
    make_trainer();
    step();
    troika_trainer_train_epoch(trainer_, loader_, nullptr, nullptr);
    troika_trainer_evaluate(trainer_, loader_, nullptr, nullptr);
    troika_trainer_save(trainer_, (folder + "/state").c_str(), nullptr);
    troika_trainer_load(trainer_, (folder + "/state").c_str(), nullptr, nullptr);
    troika_trainer_load(trainer_, (folder + "/none").c_str(), nullptr, nullptr);
    troika_model_load(model_, "/dev/null", nullptr, nullptr, nullptr);
    troika_trainer_step(trainer_, nullptr, nullptr, nullptr);
    troika_model broken = nullptr;
    troika_model_create(context_, "nothing", nullptr, &broken, nullptr);
    troika_trainer gpu = nullptr;
    const troika_device device{TROIKA_DEVICE_CUDA, 999};
    troika_model_attach(model_, &device, 1, nullptr, &gpu, nullptr);
    tensor_ = make_tensor(TROIKA_DTYPE_F32, {2, 1, 4, 4});
    troika_tensor output = nullptr;
    troika_model_predict(model_, kCpu0, tensor_, &output, nullptr);
    troika_tensor_destroy(output);
    TearDown();
    model_ = nullptr, tensor_ = nullptr, dataset_ = nullptr, loader_ = nullptr, trainer_ = nullptr, context_ = nullptr;
  }

  TempDirectory folder_;
};

TEST_F(HostState, streams_get_nothing_and_the_log_gets_lines) {
  troika_context_destroy(std::exchange(context_, nullptr));
  struct Lines {
    std::mutex mutex;
    std::vector<std::string> lines;
  } log;
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  options.log_level = TROIKA_LOG_DEBUG;
  options.log_user = &log;
  options.log = [](int32_t level, const char*, const char* line, void* user) {
    auto& l = *static_cast<Lines*>(user);
    const std::unique_lock lock(l.mutex, std::try_to_lock);
    EXPECT_TRUE(lock.owns_lock()) << "one call at a time";
    EXPECT_TRUE(level >= TROIKA_LOG_ERROR && level <= TROIKA_LOG_DEBUG) << level;
    l.lines.emplace_back(line);
  };
  expect_ok(troika_context_create(&options, &context_, &error_));

  const std::string captured = (folder_.path() / "captured").string();
  std::fflush(nullptr);
  const int file = ::open(captured.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600), out = ::dup(1),
            err = ::dup(2);
  ::dup2(file, 1);
  ::dup2(file, 2);
  run_everything(folder_.path().string());
  std::fflush(nullptr);
  ::dup2(out, 1);
  ::dup2(err, 2);
  for (int descriptor : {file, out, err}) ::close(descriptor);

  std::ifstream in(captured);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "");
  EXPECT_GT(log.lines.size(), 0u);
  for (const std::string& line : log.lines) EXPECT_EQ(line.find('\n'), std::string::npos) << line;
}

// Returns the names of the process's threads.
std::set<std::string> thread_names() {
  std::set<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    names.insert(name);
  }
  return names;
}

TEST_F(HostState, threads_of_the_library_have_names_of_their_own) {
  make_trainer();
  troika_pending pending = nullptr;
  troika_batch batch = nullptr;
  expect_ok(troika_loader_next(loader_, &batch, &error_));
  expect_ok(troika_trainer_step_async(trainer_, batch, nullptr, nullptr, &pending, &error_));
  expect_ok(troika_pending_wait(pending, -1, nullptr, &error_));
  troika_pending_destroy(pending);
  const std::set<std::string> names = thread_names();
  for (const char* name : {"troika cpu:0", "troika cpu:1", "troika loader", "troika steps"})
    EXPECT_TRUE(names.contains(name)) << name;
}

// Real-time signals are those of managed runtimes: a thread of the library blocks one only if the
// host's thread did.
TEST_F(HostState, threads_of_the_library_block_signals_of_the_host) {
  sigset_t wanted, before;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGRTMIN + 3);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &wanted, &before), 0);
  make_trainer();
  troika_batch batch = nullptr;
  expect_ok(troika_loader_next(loader_, &batch, &error_));
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  int threads = 0;
  for (const std::filesystem::directory_entry& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream name_file(thread.path() / "comm"), status(thread.path() / "status");
    std::string name, line;
    std::getline(name_file, name);
    if (name != "troika cpu:0" && name != "troika loader") continue;
    while (std::getline(status, line) && !line.starts_with("SigBlk:")) continue;
    const uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
    const auto blocks = [&](int signal) { return (blocked >> (signal - 1) & 1) != 0; };
    for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1, SIGRTMIN + 3})
      EXPECT_TRUE(blocks(signal)) << name << ", signal " << signal;
    EXPECT_FALSE(blocks(SIGRTMIN + 4)) << name;
    ++threads;
  }
  EXPECT_EQ(threads, 2);
}

TEST_F(HostState, stops_from_a_signal_handler) {
  static troika_trainer stopped;
  static troika_error error;
  make_trainer();
  stopped = trainer_;
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { troika_trainer_request_stop(stopped, &error); };
  ASSERT_EQ(sigaction(SIGUSR2, &action, &before), 0);
  const auto raise_at_once = [](const troika_progress* progress, void*) -> int32_t {
    if (progress->batch == 1) raise(SIGUSR2);
    return 0;
  };
  expect_ok(troika_trainer_set_progress(trainer_, raise_at_once, nullptr, nullptr, &error_));
  EXPECT_EQ(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_), TROIKA_STOPPED);
  EXPECT_EQ(error.status, TROIKA_OK);
  ASSERT_EQ(sigaction(SIGUSR2, &before, nullptr), 0);
}

TEST_F(HostState, of_the_calling_thread_is_as_it_was) {
  sigset_t mask_before, mask_after, wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGUSR1);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &wanted, &mask_before), 0);
  cpu_set_t cores_before, cores_after;
  ASSERT_EQ(sched_getaffinity(0, sizeof cores_before, &cores_before), 0);
  const std::string locale_before = setlocale(LC_ALL, nullptr);
  struct sigaction actions_before[32] = {};
  for (int signal = 1; signal < 32; ++signal) sigaction(signal, nullptr, &actions_before[signal]);
  ASSERT_EQ(fesetround(FE_UPWARD), 0);
#if defined(__x86_64__)
  const unsigned modes_before = _mm_getcsr();
#endif

  run_everything(folder_.path().string());

#if defined(__x86_64__)
  EXPECT_EQ(_mm_getcsr() & ~0x3Fu, modes_before & ~0x3Fu) << "flushing, rounding and masks; sticky flags apart";
#endif
  EXPECT_EQ(fegetround(), FE_UPWARD);
  fesetround(FE_TONEAREST);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &mask_before, &mask_after), 0);
  for (int signal = 1; signal < 32; ++signal) {
    EXPECT_EQ(sigismember(&mask_after, signal), sigismember(&wanted, signal)) << "signal " << signal;
    struct sigaction after {};
    sigaction(signal, nullptr, &after);
    EXPECT_EQ(after.sa_handler, actions_before[signal].sa_handler) << "handler of signal " << signal;
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof cores_after, &cores_after), 0);
  EXPECT_TRUE(CPU_EQUAL(&cores_before, &cores_after));
  EXPECT_EQ(setlocale(LC_ALL, nullptr), locale_before);
}

// Numbers are read and printed in the same way in any locale.
TEST_F(HostState, locale_does_not_reach_texts_and_files) {
  struct German : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const auto texts = [&](const char* name) {
    make_trainer();
    expect_ok(step());
    const std::string path = (folder_.path() / name).string();
    expect_ok(troika_trainer_set_learning_rate(trainer_, -1, 0.0625, &error_));
    expect_ok(troika_trainer_save(trainer_, path.c_str(), &error_));
    expect_ok(troika_trainer_load(trainer_, path.c_str(), nullptr, &error_));
    double rate = 0;
    expect_ok(troika_trainer_get_learning_rate(trainer_, -1, &rate, &error_));
    EXPECT_EQ(rate, 0.0625);
    std::string all(1 << 16, '\0');
    int64_t size = 0;
    expect_ok(troika_trainer_explain(trainer_, 1234, all.data(), static_cast<int64_t>(all.size()), &size, &error_));
    all.resize(static_cast<size_t>(size));
    troika_model_set_parameter(model_, "fc.weight", all.data(), 123456, &error_);
    all += error_.message;
    std::ifstream file(path, std::ios::binary);
    all.append(std::istreambuf_iterator<char>(file), {});
    TearDown();
    model_ = nullptr, dataset_ = nullptr, loader_ = nullptr, trainer_ = nullptr, context_ = nullptr;
    SetUp();
    return all;
  };
  const std::string classic = texts("classic");
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new German));
  const std::string german = texts("german");
  std::locale::global(before);
  EXPECT_TRUE(classic == german);
}

// Traps, another rounding mode and flushed subnormal numbers of the host's threads change no bit,
// and are what they were after each call.
TEST_F(HostState, floating_point_environment_changes_no_bit) {
  const auto train = [&] {
    make_trainer();
    EXPECT_EQ(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_), TROIKA_OK) << error_.message;
    std::vector<float> weight(48);
    EXPECT_EQ(troika_model_get_parameter(model_, "fc.weight", weight.data(), 192, &error_), TROIKA_OK);
    TearDown();
    model_ = nullptr, dataset_ = nullptr, loader_ = nullptr, trainer_ = nullptr, context_ = nullptr;
    SetUp();
    return weight;
  };
  const std::vector<float> expected = train();
  // Some processors for arm64 have no traps.
  const int traps = feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW) == -1 ? 0 : FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
  fesetround(FE_UPWARD);
  const std::vector<float> found = train();
  EXPECT_EQ(fegetround(), FE_UPWARD);
  EXPECT_EQ(fegetexcept(), traps);
  fedisableexcept(FE_ALL_EXCEPT);
  fesetround(FE_TONEAREST);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace troika::test
