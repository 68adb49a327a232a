// Tests of training on several replicas: the times of collectives, frozen parameters, and a replica
// that fails.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "core/text.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "support/throws.h"
#include "train/fault_backend.h"
#include "train/predict_rows.h"
#include "train/state_reader.h"

namespace troika {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::shared_ptr<Model> small_model() {
  ZooOptions options;
  options.classes = 3;
  options.input_channels = 1;
  options.input_height = 4;
  options.input_width = 4;
  options.hidden = 8;
  return create_model("mlp", options);
}

Batch small_batch(int64_t n) {
  Batch batch;
  batch.shape = {n, 1, 4, 4};
  for (int64_t i = 0; i < n * 16; ++i) batch.inputs.push_back(static_cast<float>(i % 13) / 13 - 0.5f);
  for (int64_t i = 0; i < n; ++i) batch.labels.push_back(static_cast<int32_t>(i % 3));
  return batch;
}

std::vector<DeviceId> devices(int n) {
  std::vector<DeviceId> ids;
  for (int i = 0; i < n; ++i) ids.push_back({DeviceKind::cuda, i});
  return ids;
}

TrainerOptions every_parameter_alone() {
  TrainerOptions options;
  options.bucket_bytes = 0;
  options.settings[Setting::momentum] = 0.9;
  options.deadline_ms = 20000;
  return options;
}

// A trainer of a small model on devices that call the hooks.
struct Training {
  std::shared_ptr<FaultHooks> hooks = std::make_shared<FaultHooks>();
  std::shared_ptr<Context> context = fault_context(hooks);
  std::shared_ptr<Model> model = small_model();
  std::unique_ptr<Trainer> trainer;

  explicit Training(int n, const TrainerOptions& options = every_parameter_alone())
      : trainer(std::make_unique<Trainer>(context, model, devices(n), options)) {}

  StepResult step(int64_t n = 6) {
    StepResult result;
    trainer->step(small_batch(n), result);
    return result;
  }

  std::vector<float> parameter(const std::string& name, int device) {
    const Parameter& p = model->parameters()->entry(model->parameters()->index_of(name));
    std::vector<float> values(p.type.bytes() / sizeof(float));
    read_parameter(*trainer, name, {DeviceKind::cuda, device}, values.data(), p.type.bytes());
    return values;
  }
};

// ---- overlap ----

struct TraceLine {
  int rank;
  double begin_us, end_us;
  std::string op, what;
};

std::vector<TraceLine> parse_trace(const std::string& trace) {
  std::vector<TraceLine> lines;
  std::istringstream in(trace);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    TraceLine l;
    words >> l.rank >> l.begin_us >> l.end_us >> l.op >> l.what;
    lines.push_back(l);
  }
  return lines;
}

TEST(Trainer, StartsTheFirstAllReduceBeforeTheLastGradientIsThere) {
  TrainerOptions options = every_parameter_alone();
  options.collect_trace = true;
  Training t(2, options);
  t.step();
  std::map<int, double> first_start, last_gradient_end;
  for (const TraceLine& line : parse_trace(t.trainer->trace())) {
    EXPECT_LE(line.begin_us, line.end_us);
    if (line.op == "start_all_reduce" && !first_start.count(line.rank)) first_start[line.rank] = line.begin_us;
    if (line.op.find("_weight_gradient") != std::string::npos) last_gradient_end[line.rank] = line.end_us;
  }
  ASSERT_EQ(first_start.size(), 2u);
  for (int rank : {0, 1}) EXPECT_LE(first_start[rank], last_gradient_end[rank]) << t.trainer->trace();
}

TEST(Trainer, StartsTheSameBucketsInTheSameOrderOnEveryReplica) {
  TrainerOptions options = every_parameter_alone();
  options.collect_trace = true;
  Training t(3, options);
  t.step(2);  // replica 2 has no samples
  std::map<int, std::vector<std::string>> started;
  for (const TraceLine& line : parse_trace(t.trainer->trace()))
    if (line.op == "start_all_reduce") started[line.rank].push_back(line.what);
  for (int rank : {0, 1, 2}) EXPECT_EQ(started[rank], (std::vector<std::string>{"0", "1", "2", "3"}));
}

TEST(Trainer, HasNoTraceWhereNoneWasAskedFor) {
  Training t(2);
  t.step();
  EXPECT_THROWS(Status::not_initialized, "trace: there is none", t.trainer->trace());
}

// ---- steps ----

TEST(Trainer, KeepsReplicasEqualWhateverTheBatchAndTheBuckets) {
  std::vector<float> expected;
  for (int64_t bucket_bytes : {0, 1 << 10, 1 << 20, 1 << 30}) {
    TrainerOptions options = every_parameter_alone();
    options.bucket_bytes = bucket_bytes;
    Training t(3, options);
    for (int64_t n : {6, 7, 8, 2, 1, 6}) t.step(n);
    t.trainer->check_replicas();
    const std::vector<float> values = t.parameter("fc1.weight", 0);
    for (int device : {1, 2}) EXPECT_EQ(t.parameter("fc1.weight", device), values);
    if (expected.empty()) expected = values;
    EXPECT_EQ(values, expected) << "buckets of " << bucket_bytes << " bytes";
  }
}

TEST(Trainer, CompilesOncePerBatchSize) {
  Training t(2);
  for (int i = 0; i < 5; ++i) t.step(6);
  for (size_t i : {0, 1}) EXPECT_EQ(t.trainer->ranks().at(i).plan_count(), 1u);
  for (int i = 0; i < 5; ++i) t.step(i % 2 ? 6 : 5);
  for (size_t i : {0, 1}) EXPECT_EQ(t.trainer->ranks().at(i).plan_count(), 2u);
}

TEST(Trainer, CopiesNothingButTheBatchIntoAStep) {
  Training t(2);
  t.step();
  std::atomic<size_t> bytes{0};
  t.hooks->before_copy = [&](int, size_t n) { bytes += n; };
  for (int i = 0; i < 3; ++i) {
    bytes = 0;
    t.step();
    EXPECT_EQ(bytes, 6 * 16 * sizeof(float) + 6 * sizeof(int32_t) + 2 * 4 * sizeof(float))
        << "inputs, labels, and for each replica SGD's settings";
  }
}

// ---- frozen parameters ----

TEST(Trainer, PutsFrozenParametersInNoBucketAndLeavesTheirBitsAlone) {
  TrainerOptions options = every_parameter_alone();
  options.settings[Setting::momentum] = 0.9;
  options.settings[Setting::weight_decay] = 0.1;
  options.groups.push_back({"fc1.*", true});
  Training t(2, options);
  EXPECT_EQ(t.trainer->trainable(), (std::vector<std::string>{"fc2.weight", "fc2.bias"}));
  const auto before = t.parameter("fc1.weight", 0);
  const auto trained = t.parameter("fc2.weight", 0);
  for (int i = 0; i < 4; ++i) t.step();
  EXPECT_EQ(t.trainer->state().table_of(0).find("fc1.weight").bucket, -1);
  EXPECT_GE(t.trainer->state().table_of(0).find("fc2.weight").bucket, 0);
  EXPECT_EQ(t.trainer->state().table_of(0).buckets().size(), 2u);
  for (int device : {0, 1}) EXPECT_EQ(t.parameter("fc1.weight", device), before);
  EXPECT_NE(t.parameter("fc2.weight", 0), trained);
}

TEST(Trainer, RefusesToTrainNothing) {
  TrainerOptions options;
  options.groups.push_back({"*", true});
  EXPECT_THROWS(Status::invalid_argument, "model 'mlp': every parameter is frozen; nothing is left to train",
                Training(2, options).step());
}

TEST(Trainer, RefusesAModelWithoutParameters) {
  Training t(1);
  t.model = std::make_shared<Model>("bare");
  t.model->set_output(add_flatten(*t.model, "flatten", t.model->add_input("x", {1, 4, 4})));
  EXPECT_THROWS(Status::invalid_argument, "model 'bare': has no parameters; nothing is there to train",
                Trainer(t.context, t.model, devices(2), {}));
}

// ---- a replica that fails ----

// Throws at the last gradient of device `bad`, when other buckets are already in flight.
void fail_on(Training& t, int bad, Status status) {
  t.hooks->before_run = [bad, status](int device, const std::string& op, const std::string& layer) {
    if (device == bad && op == "linear_weight_gradient" && layer == "fc1")
      throw Error(status, "cuda:1: the kernel was lost");
  };
}

TEST(Trainer, EndsAStepOnEveryReplicaWithTheCauseWhereOneFails) {
  Training t(3);
  t.step();
  fail_on(t, 1, Status::internal);
  const auto begin = Clock::now();
  StepResult result;
  EXPECT_THROWS(Status::comm, "the kernel was lost", t.trainer->step(small_batch(6), result));
  EXPECT_LT(Clock::now() - begin, 10s) << "long before the deadline of 20 s";
}

TEST(Trainer, TellsTheCauseItselfWhereTheFirstReplicaFails) {
  Training t(2);
  fail_on(t, 0, Status::out_of_memory);
  EXPECT_THROWS(Status::out_of_memory, "the kernel was lost", t.step());
}

TEST(Trainer, RefusesToGoOnAfterAStepThatFailedHalfWay) {
  Training t(2);
  t.step();
  fail_on(t, 1, Status::internal);
  EXPECT_THROWS(Status::comm, "the kernel was lost", t.step());
  t.hooks->before_run = nullptr;
  EXPECT_THROWS(Status::comm, "an earlier step failed half way (", t.step());
  std::vector<float> output;
  const Batch batch = small_batch(2);
  EXPECT_THROWS(Status::comm, "attach the model again and load a checkpoint",
                (predict_inputs(*t.trainer, {DType::f32, batch.shape}, batch.inputs.data(), output), 0));
  EXPECT_THROWS(Status::comm, "an earlier step failed half way (", (t.trainer->check_replicas(), 0));
}

TEST(Trainer, RefusesToGoOnAfterAPieceThatFailedHalfWay) {
  Training t(2);
  StepResult result;
  t.trainer->forward(small_batch(6), {}, result, true, nullptr);
  t.trainer->backward({}, nullptr);
  t.trainer->forward(small_batch(6), {}, result, true, nullptr);
  fail_on(t, 1, Status::internal);
  EXPECT_THROWS(Status::comm, "the kernel was lost", (t.trainer->backward({}, nullptr), 0));
  t.hooks->before_run = nullptr;
  constexpr const char* kFailed = "an earlier step failed half way (";
  EXPECT_THROWS(Status::comm, kFailed, t.trainer->forward(small_batch(6), {}, result, true, nullptr));
  EXPECT_THROWS(Status::comm, kFailed, (t.trainer->backward({}, nullptr), 0));
  EXPECT_THROWS(Status::comm, kFailed, t.trainer->apply(true));
  EXPECT_THROWS(Status::comm, kFailed, t.step());
}

// Without memory, a piece changes nothing and can be repeated.
TEST(Trainer, GoesOnAfterAPieceWithoutMemory) {
  Training whole(2), t(2);
  const auto without = [&](const std::string& purpose, const auto& piece) {
    t.hooks->before_allocation = [&](int device, size_t, const std::string& wanted) {
      if (device == 1 && wanted == purpose) throw Error(Status::out_of_memory, "device cuda:1: no memory");
    };
    EXPECT_THROWS(Status::out_of_memory, "no memory", (piece(), 0));
    t.hooks->before_allocation = nullptr;
  };
  StepResult result;
  const auto forward = [&] { t.trainer->forward(small_batch(6), {}, result, true, nullptr); };
  const auto backward = [&] { t.trainer->backward({}, nullptr); };
  without("the plan's arena", forward);
  EXPECT_THROWS(Status::not_initialized, "run forward first", (backward(), 0));
  forward();
  backward();
  forward();
  without("memory for sums of gradients", backward);
  backward();
  t.trainer->apply(true);
  whole.trainer->forward(small_batch(6), {}, result, true, nullptr);
  whole.trainer->backward({}, nullptr);
  whole.trainer->forward(small_batch(6), {}, result, true, nullptr);
  whole.trainer->backward({}, nullptr);
  whole.trainer->apply(true);
  t.trainer->check_replicas();
  EXPECT_EQ(t.parameter("fc1.weight", 1), whole.parameter("fc1.weight", 0));
}

TEST(Trainer, CompilesPiecesOncePerBatchSizeAndTheUpdateOnce) {
  Training t(3);
  for (int64_t n : {6, 2, 6, 2, 6}) {
    StepResult result;
    t.trainer->forward(small_batch(n), {}, result, true, nullptr);
    t.trainer->backward({}, nullptr);
    t.trainer->apply(true);
  }
  for (size_t i : {0, 1, 2}) EXPECT_EQ(t.trainer->ranks().at(i).plan_count(), 3u);
}

// The backward pass computes gradients before it sums them, and both are timed with the forward
// pass.
TEST(Trainer, TracesBothPassesOfAStepInPieces) {
  TrainerOptions options = every_parameter_alone();
  options.collect_trace = true;
  Training t(2, options);
  StepResult result;
  t.trainer->forward(small_batch(6), {}, result, true, nullptr);
  t.trainer->backward({}, nullptr);
  const std::string trace = t.trainer->trace();
  EXPECT_NE(trace.find(" linear fc1"), std::string::npos) << trace;
  EXPECT_NE(trace.find(" linear_weight_gradient fc1"), std::string::npos) << trace;
  EXPECT_EQ(trace.find("sgd_update"), std::string::npos) << trace;
  t.trainer->apply(true);
  EXPECT_NE(t.trainer->trace().find("sgd_update"), std::string::npos);
}

TEST(Trainer, GoesInPeaceAfterAStepThatFailedAndTheModelCanBeAttachedAgain) {
  Training t(2);
  t.step();
  fail_on(t, 1, Status::internal);
  EXPECT_THROWS(Status::comm, "the kernel was lost", t.step());
  t.hooks->before_run = nullptr;
  t.trainer.reset();
  t.trainer = std::make_unique<Trainer>(t.context, t.model, devices(2), every_parameter_alone());
  t.step();
  t.trainer->check_replicas();
}

// Another thread may attach the model after a call has begun. The host copies are then the other
// trainer's, and empty after its step.
TEST(Trainer, PreparesNothingForAModelThatWasAttachedAgain) {
  Training t(2);
  t.step();
  Trainer second(t.context, t.model, devices(2), every_parameter_alone());
  StepResult result;
  second.step(small_batch(4), result);
  EXPECT_THROWS(Status::detached, "was attached again",
                (t.trainer->prepare(Mode::train, 6, t.trainer->ranks().all()), 0));
}

TEST(Trainer, EndsAStepAtTheDeadlineWhereAReplicaHangs) {
  TrainerOptions options = every_parameter_alone();
  options.deadline_ms = 1000;  // enough for the other rank on a loaded machine
  Training t(2, options);
  t.hooks->before_run = [](int device, const std::string& op, const std::string&) {
    if (device == 1 && op == "linear_weight_gradient") std::this_thread::sleep_for(2s);
  };
  const auto begin = Clock::now();
  EXPECT_THROWS(Status::comm, "rank 0 of 2 waited past the deadline; ranks that had started it: 1", t.step());
  EXPECT_LT(Clock::now() - begin, 10s);
}

// Bad input is refused before anything has begun, and the next step works.
TEST(Trainer, GoesOnAfterABatchThatItRefused) {
  Training t(2);
  Batch batch = small_batch(4);
  batch.labels[3] = 3;
  StepResult result;
  EXPECT_THROWS(Status::invalid_argument, "batch: label of sample 3 is 3, model 'mlp' has classes 0 to 2",
                t.trainer->step(batch, result));
  EXPECT_EQ(t.step().step, 1);
}

}  // namespace
}  // namespace troika
