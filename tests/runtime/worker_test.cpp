// Tests of the worker: one thread, one job at a time, and a job's exception is rethrown to the
// caller.
#include "runtime/worker.h"

#include <gtest/gtest.h>

#include <signal.h>

#include <atomic>

#include "plan/fake_device.h"
#include "support/throws.h"

namespace troika {
namespace {

using namespace std::chrono_literals;

Deadline in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

std::shared_ptr<Device> device() { return std::make_shared<FakeDevice>(); }

TEST(Worker, RunsEveryJobOnOneThreadOfItsOwn) {
  Worker worker(device());
  std::thread::id first, other;
  worker.run([&] { first = std::this_thread::get_id(); });
  for (int i = 0; i < 10; ++i) {
    worker.run([&] { other = std::this_thread::get_id(); });
    EXPECT_EQ(other, first);
  }
  EXPECT_NE(first, std::this_thread::get_id());
}

TEST(Worker, GivesBackWhatAJobThrows) {
  Worker worker(device());
  EXPECT_THROWS(Status::comm, "the job's own words",
                (worker.run([] { throw Error(Status::comm, "the job's own words"); }), 0));
  const std::function<void()> job = [] { throw std::bad_alloc(); };
  worker.start(job);
  EXPECT_THROW(worker.wait(in(10s)), std::bad_alloc);
}

TEST(Worker, GoesOnAfterAJobThatThrew) {
  Worker worker(device());
  EXPECT_THROW(worker.run([] { throw std::runtime_error("once"); }), std::runtime_error);
  int ran = 0;
  worker.run([&] { ++ran; });
  EXPECT_EQ(ran, 1);
}

TEST(Worker, WaitsUntilItsJobHasEndedBeforeItGoes) {
  std::atomic<bool> ended{false};
  const std::function<void()> job = [&] {
    std::this_thread::sleep_for(50ms);
    ended = true;
  };
  {
    Worker worker(device());
    worker.start(job);
  }
  EXPECT_TRUE(ended);
}

TEST(Worker, TellsAtTheDeadlineThatItsJobHasNotEnded) {
  std::atomic<bool> may_end{false};
  const std::function<void()> job = [&] {
    while (!may_end) std::this_thread::sleep_for(1ms);
  };
  Worker worker(device());
  worker.start(job);
  EXPECT_THROWS(Status::comm, "device cpu:0: its work did not end before the deadline", (worker.wait(in(20ms)), 0));
  EXPECT_THROWS(Status::comm, "device cpu:0: its last job has not ended yet", (worker.start(job), 0));
  may_end = true;
  worker.wait(in(10s));
  worker.start(job);
  worker.wait(in(10s));
}

#ifndef _WIN32
TEST(Worker, RunsNoSignalHandlersOfTheHost) {
  Worker worker(device());
  sigset_t blocked;
  worker.run([&] { pthread_sigmask(SIG_SETMASK, nullptr, &blocked); });
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM}) EXPECT_EQ(sigismember(&blocked, signal), 1);
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(sigismember(&blocked, SIGINT), 0) << "the host's own mask is as it was";
}
#endif

class BrokenDevice : public FakeDevice {
  void enter_thread() override { throw Error(Status::device_unavailable, "device cpu:0 is gone"); }
};

TEST(Worker, EndsEveryJobWithTheReasonWhereItsDeviceCannotBeEntered) {
  Worker worker(std::make_shared<BrokenDevice>());
  bool ran = false;
  for (int i = 0; i < 2; ++i)
    EXPECT_THROWS(Status::device_unavailable, "device cpu:0 is gone", (worker.run([&] { ran = true; }), 0));
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace troika
