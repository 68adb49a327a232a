// Trainers: steps, epochs, pieces, settings, states and callbacks.
#include "tests.h"

#include <limits>
#include <thread>

namespace {

// The doubling model on one sample: its loss is 36, and a step with rate 0.01 makes the weight
// 1.64.
class Trainers : public ::testing::Test {
 protected:
  float weight() { return trainer_.get_parameter("fc.weight", "cpu")[0]; }
  // A batch of `one_sample`.
  Batch batch() {
    std::optional<Batch> batch = loader_.next();
    return batch ? std::move(*batch) : std::move(*loader_.next());
  }
  const Context context_;
  const Folder folder_;
  Model model_ = doubling_model(context_);
  Trainer trainer_ = model_.attach({"cpu"}, squares());
  Loader loader_ = Loader(one_sample(context_), {.batch = 1});
};

TEST_F(Trainers, Step) {
  const StepResult result = trainer_.step(batch());
  EXPECT_EQ(result.status, Status::ok);
  EXPECT_EQ(result.loss, 36.0);
  EXPECT_EQ(result.step, 1);
  EXPECT_EQ(result.learning_rate, 0.01);
  EXPECT_FLOAT_EQ(weight(), 1.64f);
  EXPECT_EQ(trainer_.get_gradient("fc.weight"), Floats{36.0f});
  EXPECT_FLOAT_EQ(trainer_.unwrap().get_parameter("fc.weight")[0], 1.64f);
}

TEST_F(Trainers, TakeLoops) {
  Loader loader(zeros(context_, 5), {.batch = 2});
  std::int64_t samples = 0;
  for (Batch& batch : loader) samples += trainer_.step(batch).samples;
  EXPECT_EQ(samples, 5);
  for (Batch& batch : loader) samples += trainer_.step(batch).samples;
  EXPECT_EQ(samples, 10);
  EXPECT_EQ(trainer_.describe().step, 6);
}

TEST_F(Trainers, TrainAndEvaluateEpochs) {
  EXPECT_EQ(trainer_.evaluate(loader_).loss, 36.0);
  EXPECT_EQ(trainer_.evaluate_on("cpu", loader_).loss, 36.0);
  EXPECT_EQ(trainer_.evaluate_batch(batch()).loss, 36.0);
  loader_.next();
  const Metrics metrics = trainer_.train_epoch(loader_);
  EXPECT_EQ(metrics.status, Status::ok);
  EXPECT_EQ(metrics.loss, 36.0);
  EXPECT_EQ(metrics.samples, 1);
  Loader loader(zeros(context_, 3), {.batch = 1});
  EXPECT_EQ(trainer_.train_batches(loader, 2).status, Status::ok);
  EXPECT_EQ(trainer_.train_batches(loader, 2).status, Status::end_of_data);
  expect_error(Status::not_on_device, "cpu:3", [&] { trainer_.evaluate_on("cpu:3", loader_); });
}

TEST_F(Trainers, Predict) {
  EXPECT_EQ(trainer_.predict(Tensor(context_, "cpu", {2, 1}, {1.0f, 2.0f})).to_host<float>(), (Floats{2, 4}));
  EXPECT_EQ(trainer_.predict_batch(batch()), Floats{6.0f});
  Loader loader(Dataset::create_arrays(context_, {1, 2, 3}, {1}, {0, 0, 0}, 1), {.batch = 2});
  const Predictions all = trainer_.predict_loader(loader);
  EXPECT_EQ(all.outputs, (Floats{2, 4, 6}));
  EXPECT_EQ(all.samples, 3);
  Floats into(3);
  EXPECT_EQ(trainer_.predict_loader(loader, into).samples, 3);
  EXPECT_EQ(into, all.outputs);
  Loader adopted(loader.release());
  EXPECT_EQ(trainer_.predict_loader(adopted, into).samples, 3);
  expect_misuse<std::invalid_argument>(
      "Trainer::predict_loader: the loader's number of samples is not known, need memory for the outputs",
      [&] { trainer_.predict_loader(adopted); });
}

TEST_F(Trainers, StepInPieces) {
  const ForwardResult forward = trainer_.forward(batch());
  EXPECT_EQ(forward.output.to_host<float>(), Floats{6.0f});
  EXPECT_EQ(forward.result.loss, 36.0);
  trainer_.backward();
  EXPECT_EQ(trainer_.get_gradient("fc.weight"), Floats{36.0f});
  trainer_.set_gradient("fc.weight", {100.0f});
  EXPECT_EQ(trainer_.apply().step, 1);
  EXPECT_FLOAT_EQ(weight(), 1.0f);
}

TEST_F(Trainers, TakeALossOfTheHost) {
  const ForwardResult forward = trainer_.forward(batch(), {.input_gradient = true, .own_loss = true}, false);
  EXPECT_FALSE(forward.output);
  EXPECT_EQ(forward.result.samples, 1);
  trainer_.backward(Tensor(context_, "cpu", {1, 1}, {5.0f}));
  Floats gradient(1);
  trainer_.get_input_gradient(gradient);
  EXPECT_EQ(gradient, Floats{10.0f});
  trainer_.apply();
  EXPECT_FLOAT_EQ(weight(), 2.0f - 0.01f * 15.0f);
}

TEST_F(Trainers, SkipSteps) {
  Trainer trainer = model_.attach({"cpu"}, {.loss = Loss::mean_squared_error, .skip_not_finite = true});
  Loader loader(Dataset::create_arrays(context_, {std::numeric_limits<float>::infinity()}, {1}, {0.0f}, 1),
                {.batch = 1});
  EXPECT_EQ(trainer.step(*loader.next()).status, Status::step_skipped);
  EXPECT_EQ(trainer.train_epoch(loader).skipped_steps, 0);
  EXPECT_EQ(trainer.train_epoch(loader).skipped_steps, 1);
}

TEST_F(Trainers, ChangeTheirSettings) {
  trainer_.set_learning_rate(0.5);
  EXPECT_EQ(trainer_.get_learning_rate(), 0.5);
  trainer_.set_option(Option::weight_decay, 0.25);
  EXPECT_EQ(trainer_.get_option(Option::weight_decay), 0.25);
  expect_error(Status::invalid_argument, "group", [&] { trainer_.set_learning_rate(0.5, 0); });
  expect_error(Status::invalid_argument, "", [&] { trainer_.report_metric(1.0); });
  Trainer plateau =
      model_.attach({"cpu"}, {.learning_rate = 1.0, .schedule = Schedule::plateau, .schedule_patience = 0});
  plateau.report_metric(1.0);
  plateau.report_metric(2.0);
  EXPECT_DOUBLE_EQ(plateau.get_learning_rate(), 0.1);
}

TEST_F(Trainers, AreDescribed) {
  TrainerOptions options = squares();
  options.groups = {{.pattern = "fc.*", .learning_rate = 0.125}, {.frozen = true, .pattern = "*"}};
  options.layer_cuts = std::nullopt;
  options.schedule = Schedule::multi_step;
  options.schedule_milestones = {4, 6};
  Trainer trainer = doubling_model(context_).attach({"cpu:0", "cpu:1"}, options);
  const TrainerInfo info = trainer.describe();
  EXPECT_EQ(info.device_count, 2);
  EXPECT_EQ(info.mesh.data, 2);
  EXPECT_EQ(info.trained_elements, 1);
  EXPECT_TRUE(info.is_usable);
  EXPECT_EQ(trainer.get_devices(), (std::vector<Device>{"cpu:0", "cpu:1"}));
  const TrainerOptions used = trainer.get_options();
  EXPECT_EQ(used.loss, Loss::mean_squared_error);
  EXPECT_EQ(used.schedule_milestones, options.schedule_milestones);
  ASSERT_EQ(used.groups.size(), 2u);
  EXPECT_EQ(used.groups[0].pattern, "fc.*");
  EXPECT_EQ(used.groups[0].learning_rate, 0.125);
  EXPECT_TRUE(used.groups[1].frozen);
  EXPECT_NE(trainer.to_json().find("\"multi_step\""), std::string::npos);
  trainer.step(batch());
  trainer.check_replicas();
  EXPECT_EQ(trainer.memory(1).parameter_bytes, 64);  // rounded up to a line of the cache
  expect_error(Status::not_found, "", [&] { trainer.memory(2); });
  EXPECT_NE(trainer.explain(2).find("fc"), std::string::npos);
}

TEST_F(Trainers, TraceSteps) {
  Trainer trainer = model_.attach({"cpu"}, {.loss = Loss::mean_squared_error, .collect_trace = true});
  expect_error(Status::not_initialized, "", [&] { trainer.trace(); });
  trainer.step(batch());
  EXPECT_NE(trainer.trace().find("fc"), std::string::npos);
  trainer.save_trace(folder_ / "step.json");
  EXPECT_GT(std::filesystem::file_size(folder_ / "step.json"), 100u);
}

TEST_F(Trainers, Resume) {
  Loader loader(zeros(context_, 4), {.batch = 1});
  TrainerOptions options = squares();
  options.average_decay = 0.5;
  Trainer trainer = model_.attach({"cpu"}, options);
  trainer.step(*loader.next());
  const std::string path = folder_ / "state.safetensors";
  trainer.save(path);
  trainer.save_with(path, {.keep = 1, .in_background = true});
  trainer.wait_save();
  EXPECT_EQ(file_newest(path), folder_ / "state-000000000001.safetensors");
  trainer.save_average(folder_ / "average.safetensors");
  EXPECT_EQ(Model::open(context_, folder_ / "average.safetensors").get_parameter("fc.weight"), Floats{2.0f});
  trainer.step(*loader.next());
  const LoaderPosition position = trainer.load(path);
  EXPECT_EQ(position.batch, 1);
  EXPECT_EQ(trainer.describe().step, 1);
  loader.seek(position);
  trainer.step(*loader.next());
  expect_error(Status::not_found, "", [&] { trainer.load(folder_ / "nothing"); });
  expect_error(Status::io, "", [&] { trainer.save(folder_ / "nothing/state.safetensors"); });
}

TEST_F(Trainers, ResumeInAnyOrder) {
  const Dataset dataset = zeros(context_, 9);
  Loader loader(dataset, {.batch = 3}), shuffled(dataset, {.shuffle = true, .batch = 3});
  trainer_.train_batches(loader, 1);
  const std::string path = folder_ / "state.safetensors";
  trainer_.save(path);
  shuffled.seek(trainer_.load(path));
  const std::optional<Batch> batch = shuffled.next();
  expect_error(Status::invalid_argument, "order", [&] { trainer_.step(*batch); });
  trainer_.load_in_any_order(path);
  EXPECT_EQ(trainer_.step(*batch).step, 2);
  expect_error(Status::not_found, "", [&] { trainer_.load_in_any_order(folder_ / "nothing"); });
}

TEST_F(Trainers, AreDetachedByTheNext) {
  const Trainer next = model_.attach({"cpu"}, squares());
  expect_error(Status::detached, "", [&] { trainer_.step(batch()); });
}

TEST_F(Trainers, ReportProgress) {
  Loader loader(zeros(context_, 5), {.batch = 2});
  std::vector<std::int64_t> samples;
  auto alive = std::make_shared<int>();
  const std::weak_ptr<int> watched = alive;
  trainer_.set_progress([&samples, alive = std::move(alive)](const Progress& progress) {
    EXPECT_EQ(progress.batches, 3);
    EXPECT_TRUE(progress.training);
    samples.push_back(progress.samples);
  });
  trainer_.train_epoch(loader);
  EXPECT_EQ(samples, (std::vector<std::int64_t>{2, 4, 5}));
  trainer_.set_progress(nullptr);
  EXPECT_TRUE(watched.expired());
  trainer_.train_epoch(loader);
  EXPECT_EQ(samples.size(), 3u);
}

TEST_F(Trainers, StopIfTheirProgressSaysSo) {
  Loader loader(zeros(context_, 9), {.batch = 1});
  trainer_.set_progress([](const Progress& progress) { return progress.batch == 4; });
  const Metrics metrics = trainer_.train_epoch(loader);
  EXPECT_EQ(metrics.status, Status::stopped);
  EXPECT_EQ(metrics.samples, 4);
  EXPECT_EQ(loader.tell().batch, 4);
}

TEST_F(Trainers, ThrowTheExceptionOfTheirProgress) {
  Loader loader(zeros(context_, 9), {.batch = 1});
  std::exception_ptr thrown;
  trainer_.set_progress([&](const Progress& progress) {
    if (progress.batch < 3) return;
    try {
      throw HostError(7);
    } catch (...) {
      thrown = std::current_exception();
      throw;
    }
  });
  Floats outputs(9);
  const std::vector<std::function<void()>> calls = {
      [&] { trainer_.train_epoch(loader); },    [&] { trainer_.train_batches(loader, 9); },
      [&] { trainer_.evaluate(loader); },       [&] { trainer_.evaluate_on("cpu", loader); },
      [&] { trainer_.predict_loader(loader); }, [&] { trainer_.predict_loader(loader, outputs); }};
  for (const auto& call : calls) {
    loader.seek({});
    std::exception_ptr caught;
    try {
      call();
    } catch (const HostError& error) {
      caught = std::current_exception();
      EXPECT_EQ(error.number, 7);
    }
    EXPECT_TRUE(caught);
    EXPECT_EQ(caught, thrown);  // the same object
  }
  EXPECT_EQ(loader.tell().batch, 3);  // nothing is lost
  trainer_.set_progress(nullptr);
  EXPECT_EQ(trainer_.train_epoch(loader).samples, 6);
}

TEST_F(Trainers, MayTrainAnotherInTheirProgress) {
  Loader outer(zeros(context_, 2), {.batch = 1}), inner(zeros(context_, 2), {.batch = 1});
  Trainer other = doubling_model(context_).attach({"cpu"}, squares());
  other.set_progress([](const Progress&) { throw HostError(2); });
  trainer_.set_progress([&](const Progress&) {
    const auto error = thrown_by<HostError>([&] { other.train_epoch(inner); });
    EXPECT_EQ(error->number, 2);
    inner.seek({});
  });
  EXPECT_EQ(trainer_.train_epoch(outer).samples, 2);
}

TEST_F(Trainers, ThrowTheExceptionOfADataset) {
  Source source{.dims = {1}, .n = 4, .value_size = 1};
  bool fails = true;
  source.read = [&](const ReadRequest& request) {
    if (fails && request.indices[0] == 2) throw HostError(3);
    std::fill(request.values.begin(), request.values.end(), 0.0f);
    std::fill(request.inputs.as<float>().begin(), request.inputs.as<float>().end(), 0.0f);
    return request.n;
  };
  Loader loader(Dataset::create_callback(context_, source), {.batch = 1, .prefetch = 0});
  EXPECT_EQ(thrown_by<HostError>([&] { trainer_.train_epoch(loader); })->number, 3);
  EXPECT_EQ(loader.tell().batch, 2);
  fails = false;
  EXPECT_EQ(trainer_.train_epoch(loader).samples, 2);
}

TEST_F(Trainers, AreStopped) {
  Loader loader(zeros(context_, 100), {.batch = 1});
  trainer_.request_stop();
  trainer_.clear_stop();
  EXPECT_EQ(trainer_.train_batches(loader, 1).status, Status::ok);
  trainer_.request_stop();
  EXPECT_EQ(trainer_.step(*loader.next()).status, Status::stopped);
  loader.seek({});
  trainer_.set_progress([&](const Progress& progress) {
    if (progress.batch == 5) std::thread([&] { trainer_.request_stop(); }).join();
  });
  const Metrics metrics = trainer_.train_epoch(loader);
  EXPECT_EQ(metrics.status, Status::stopped);
  EXPECT_EQ(metrics.samples, 5);
  EXPECT_EQ(trainer_.train_epoch(loader).samples, 95);  // usable, and no batch is lost
}

TEST_F(Trainers, AreStoppedByATokenInTheMiddleOfAnEpoch) {
  Loader loader(zeros(context_, 8), {.batch = 1});
  Floats outputs(8);
  const std::vector<std::function<Status(std::stop_token)>> calls = {
      [&](std::stop_token token) { return trainer_.train_epoch(loader, token).status; },
      [&](std::stop_token token) { return trainer_.train_batches(loader, 8, token).status; },
      [&](std::stop_token token) { return trainer_.evaluate(loader, token).status; },
      [&](std::stop_token token) { return trainer_.evaluate_on("cpu", loader, token).status; },
      [&](std::stop_token token) { return trainer_.predict_loader(loader, token).status; }};
  for (const auto& call : calls) {
    loader.seek({});
    std::stop_source source;
    trainer_.set_progress([&](const Progress& progress) {
      if (progress.batch == 3) source.request_stop();
    });
    EXPECT_EQ(call(source.get_token()), Status::stopped);
    trainer_.set_progress([&](const Progress& progress) { EXPECT_LE(progress.batch, 8); });
    loader.seek({});
    EXPECT_NE(call(std::stop_source().get_token()), Status::stopped);
  }
}

TEST_F(Trainers, TakeBackAStopThatCameTooLate) {
  std::stop_source source;
  trainer_.set_progress([&](const Progress&) { source.request_stop(); });  // after the last batch
  trainer_.train_epoch(loader_, source.get_token());
  trainer_.set_progress(nullptr);
  EXPECT_EQ(trainer_.step(batch()).status, Status::ok);
}

TEST_F(Trainers, RunStepsWhileTheHostGoesOn) {
  const Pending pending = trainer_.step_async(batch());
  EXPECT_EQ(pending.wait().loss, 36.0);
  EXPECT_EQ(pending.wait().status, Status::ok);
  EXPECT_TRUE(pending.poll());
  EXPECT_EQ(pending.wait_for(std::chrono::hours::max())->step, 1);
  std::optional<StepOutcome> outcome;
  const Pending called = trainer_.step_async(batch(), [&](const StepOutcome& o) { outcome = o; });
  EXPECT_EQ(called.wait().step, 2);
  ASSERT_TRUE(outcome);  // the callback has ended
  EXPECT_EQ(outcome->value().step, 2);
  EXPECT_TRUE(called.poll());
}

TEST_F(Trainers, LetHostsWaitForSomeTime) {
  std::promise<void> go_on;
  const Pending pending =
      trainer_.step_async(batch(), [wait = go_on.get_future().share()](const StepOutcome&) { wait.wait(); });
  EXPECT_FALSE(pending.wait_for(std::chrono::milliseconds(20)));
  EXPECT_FALSE(pending.poll());
  go_on.set_value();
  EXPECT_EQ(pending.wait_for(std::chrono::seconds(20))->step, 1);
}

TEST_F(Trainers, WaitForStepsWithoutACallback) {
  // The step waits for the one before it, whose callback waits for the test.
  std::promise<void> go_on;
  const Pending first =
      trainer_.step_async(batch(), [wait = go_on.get_future().share()](const StepOutcome&) { wait.wait(); });
  const Pending second = trainer_.step_async(batch());
  EXPECT_FALSE(second.wait_for(std::chrono::milliseconds(20)));
  EXPECT_FALSE(second.poll());
  expect_error(Status::busy, "", [&] { trainer_.step(batch()); });
  go_on.set_value();
  EXPECT_EQ(second.wait_for(std::chrono::seconds(20))->step, 2);
}

TEST_F(Trainers, ThrowTheErrorOfAStep) {
  const Batch wrong(Tensor(context_, "cpu", {1, 2}, {1.0f, 2.0f}));
  std::promise<StepOutcome> outcome;
  const Pending pending = trainer_.step_async(wrong, [&](const StepOutcome& o) { outcome.set_value(o); });
  expect_error(Status::invalid_argument, "inputs have shape [1, 2]", [&] { pending.wait(); });
  const StepOutcome found = outcome.get_future().get();
  EXPECT_EQ(found.status, Status::invalid_argument);
  expect_error(Status::invalid_argument, "inputs have shape [1, 2]", [&] { found.value(); });
}

TEST_F(Trainers, ThrowTheExceptionOfACallbackOfAStep) {
  std::exception_ptr thrown;
  const Pending pending = trainer_.step_async(batch(), [&](const StepOutcome&) {
    try {
      throw HostError(9);
    } catch (...) {
      thrown = std::current_exception();
      throw;
    }
  });
  for (int i = 0; i < 2; ++i) {
    try {
      pending.wait();
      ADD_FAILURE();
    } catch (const HostError&) {
      EXPECT_EQ(std::current_exception(), thrown);
    }
  }
  EXPECT_EQ(trainer_.step(batch()).step, 2);
}

TEST_F(Trainers, ReleaseTheCallbackOfAStepThatDoesNotBegin) {
  auto alive = std::make_shared<int>();
  const std::weak_ptr<int> watched = alive;
  expect_misuse<std::logic_error>("Batch: it is closed, need an open one", [&] {
    trainer_.step_async(Batch(), [moved = std::move(alive)](const StepOutcome&) {});
  });
  EXPECT_TRUE(watched.expired());
}

}  // namespace
