// Tests of predictions that share a device: their weights, their number, and uploads in between.
#include "train/device_predictors.h"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <set>
#include <thread>

#include "models/initializer.h"
#include "models/zoo.h"
#include "support/throws.h"
#include "train/fault_backend.h"

namespace troika {
namespace {

constexpr DeviceId kDevice{DeviceKind::cuda, 1}, kCpu{DeviceKind::cpu, 0};

class DevicePredictorsTest : public testing::Test {
 protected:
  DevicePredictorsTest() { initialize_default(*model_, 1, false); }

  static std::shared_ptr<Model> make_model() {
    ZooOptions options;
    options.classes = 4;
    options.input_height = 5;
    options.input_width = 3;
    options.hidden = 7;
    return create_model("mlp", options);
  }

  std::vector<float> predict(DevicePredictors& predictors, int64_t n = 2) {
    const std::vector<float> inputs(static_cast<size_t>(n) * 15, 0.5f);
    std::vector<float> output(static_cast<size_t>(n) * 4);
    predictors.predict(n, kNoValue, inputs.data(), output.data());
    return output;
  }

  void set_bias(float value) {
    const float values[] = {value, value, value, value};
    ParameterStore& store = *model_->parameters();
    store.write(store.index_of("fc2.bias"), values, sizeof values);
  }

  const std::shared_ptr<FaultHooks> hooks_ = std::make_shared<FaultHooks>();
  const std::shared_ptr<Context> context_ = fault_context(hooks_);
  const std::shared_ptr<Model> model_ = make_model();
};

// Holds runs back until `count` of them have begun.
struct Meeting {
  explicit Meeting(int count) : left(count) {}
  std::atomic<int> left;
  std::counting_semaphore<64> all{0};
  void meet(int count) {
    if (--left == 0) all.release(count);
    all.acquire();
  }
};

TEST_F(DevicePredictorsTest, ShareOneCopyOfTheWeightsAndAreReused) {
  constexpr int kCallers = 8;
  std::mutex mutex;
  int with_bytes = 0;
  hooks_->before_allocation = [&](int, size_t bytes, const std::string& purpose) {
    const std::lock_guard lock(mutex);
    with_bytes += purpose == "memory for parameters" && bytes > 0;
  };
  DevicePredictors predictors(*context_, *model_, kDevice);
  const std::vector<float> alone = predict(predictors);
  EXPECT_EQ(predictors.size(), 1u) << "one predicts, one call after the other";
  EXPECT_EQ(predict(predictors), alone);
  EXPECT_EQ(predictors.size(), 1u);

  Meeting meeting(kCallers);
  hooks_->before_run = [&](int, const std::string& op, const std::string& layer) {
    if (op == "linear" && layer == "fc1") meeting.meet(kCallers);
  };
  std::vector<std::vector<float>> results(kCallers);
  std::vector<std::thread> callers;
  for (auto& result : results) callers.emplace_back([&] { result = predict(predictors); });
  for (std::thread& caller : callers) caller.join();
  for (const auto& result : results) EXPECT_EQ(result, alone);
  EXPECT_EQ(predictors.size(), size_t{kCallers});
  EXPECT_EQ(with_bytes, 1);
  hooks_->before_run = nullptr;
  EXPECT_EQ(predict(predictors), alone);
  EXPECT_EQ(predictors.size(), size_t{kCallers});
}

TEST_F(DevicePredictorsTest, WaitIfThereAreTooMany) {
  constexpr int kCallers = static_cast<int>(DevicePredictors::kMost) + 3;
  DevicePredictors predictors(*context_, *model_, kDevice);
  const std::vector<float> alone = predict(predictors);
  std::atomic<int> running{0}, most{0};
  std::counting_semaphore<kCallers> open{0};
  hooks_->before_run = [&](int, const std::string&, const std::string& layer) {
    if (layer != "fc1") return;
    const int now = ++running;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
    if (now == static_cast<int>(DevicePredictors::kMost)) open.release(kCallers);
    open.acquire();
    --running;
  };
  std::vector<std::vector<float>> results(kCallers);
  std::vector<std::thread> callers;
  for (auto& result : results) callers.emplace_back([&] { result = predict(predictors); });
  for (std::thread& caller : callers) caller.join();
  for (const auto& result : results) EXPECT_EQ(result, alone);
  EXPECT_EQ(most, static_cast<int>(DevicePredictors::kMost));
  EXPECT_EQ(predictors.size(), DevicePredictors::kMost);
}

TEST_F(DevicePredictorsTest, FinishOnTheOldWeightsBeforeNewOnesArrive) {
  DevicePredictors predictors(*context_, *model_, kDevice);
  set_bias(1);
  const std::vector<float> with_one = predict(predictors);
  set_bias(2);
  const std::vector<float> with_two = predict(predictors);
  EXPECT_NE(with_one, with_two);
  set_bias(1);
  EXPECT_EQ(predict(predictors), with_one);

  std::binary_semaphore reached{0}, open{0};
  std::atomic<bool> is_first{true};
  hooks_->before_run = [&](int, const std::string&, const std::string& layer) {
    if (layer != "fc1" || !is_first.exchange(false)) return;
    reached.release();
    open.acquire();
  };
  std::vector<float> first, second;
  std::thread old([&] { first = predict(predictors); });
  reached.acquire();
  set_bias(2);  // the store has it at once; the device when the first prediction has ended
  std::thread newer([&] { second = predict(predictors); });
  open.release();
  old.join();
  newer.join();
  EXPECT_EQ(first, with_one);
  EXPECT_EQ(second, with_two);
}

TEST_F(DevicePredictorsTest, ComputeNothingAfterTheLayerThatIsAskedFor) {
  DevicePredictors predictors(*context_, *model_, kDevice);
  predict(predictors, 3);
  std::mutex mutex;
  std::set<std::string> layers;
  hooks_->before_run = [&](int, const std::string&, const std::string& layer) {
    const std::lock_guard lock(mutex);
    layers.insert(layer);
  };
  const std::vector<Node>& nodes = model_->graph().nodes();
  const auto fc1 = std::find_if(nodes.begin(), nodes.end(), [](const Node& node) { return node.name == "fc1"; });
  const std::vector<float> inputs(45, -0.25f);
  std::vector<float> output(21);
  predictors.predict(3, fc1->outputs[0], inputs.data(), output.data());
  EXPECT_EQ(layers, std::set<std::string>{"fc1"});
  EXPECT_TRUE(std::any_of(output.begin(), output.end(), [](float value) { return value < 0; })) << "ReLU comes later";
}

TEST_F(DevicePredictorsTest, RecoverFromAFailure) {
  DevicePredictors predictors(*context_, *model_, kDevice);
  hooks_->before_allocation = [](int, size_t, const std::string& purpose) {
    if (purpose == "memory for parameters") throw Error(Status::out_of_memory, "no memory for parameters");
  };
  EXPECT_THROWS(Status::out_of_memory, "no memory", predict(predictors));
  hooks_->before_allocation = nullptr;
  const std::vector<float> alone = predict(predictors);
  hooks_->before_copy = [](int, size_t) { throw Error(Status::internal, "the copy failed"); };
  set_bias(3);
  EXPECT_THROWS(Status::internal, "the copy failed", predict(predictors));
  hooks_->before_copy = nullptr;
  EXPECT_NE(predict(predictors), alone) << "the upload that failed is made up for";
}

TEST_F(DevicePredictorsTest, ChooseThreadsByTheWork) {
  ContextOptions options;
  options.cpu_threads = 8;
  const Context context(options);
  const DevicePredictors predictors(context, *model_, kCpu);
  EXPECT_EQ(predictors.threads_for(1, kNoValue), 1);
  int last = 1;
  std::set<int> seen;
  for (int64_t n = 1; n < int64_t{1} << 40; n *= 2) {
    const int threads = predictors.threads_for(n, kNoValue);
    EXPECT_GE(threads, last);
    seen.insert(last = threads);
  }
  EXPECT_EQ(seen, (std::set<int>{1, 2, 4, 8}));
  const ValueId flatten = model_->graph().nodes()[0].outputs[0];
  EXPECT_EQ(predictors.threads_for(int64_t{1} << 40, flatten), 1) << "without work";

  options.predict_threads = 3;
  const Context fixed(options);
  EXPECT_EQ(DevicePredictors(fixed, *model_, kCpu).threads_for(1, kNoValue), 3);
}

// One that wants all threads comes before those that want one later.
TEST(ThreadBudgetTest, GivesThreadsInTheOrderOfTheRequests) {
  for (int round = 0; round < 20; ++round) {
    ThreadBudget budget(3);
    std::vector<int> order;
    std::mutex mutex;
    std::vector<std::thread> threads;
    {
      const ThreadBudget::Share first(budget, 1);
      for (int number = 0; number < 4; ++number) {
        threads.emplace_back([&, number] {
          const ThreadBudget::Share share(budget, number == 0 ? 3 : 1);
          const std::lock_guard lock(mutex);
          order.push_back(number);
        });
        while (budget.waiting() <= static_cast<size_t>(number)) std::this_thread::yield();
      }
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(order.empty()) << "a later request has overtaken the first";
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(order.at(0), 0);
  }
}

TEST(ThreadBudgetTest, NeverGivesTooManyThreads) {
  ThreadBudget budget(5);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number)
    threads.emplace_back([&, number] {
      for (int i = 0; i < 200; ++i) {
        const int own = 1 + (number + i) % 5;
        const ThreadBudget::Share share(budget, own);
        EXPECT_LE(taken += own, 5);
        taken -= own;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken, 0);
}

}  // namespace
}  // namespace troika
