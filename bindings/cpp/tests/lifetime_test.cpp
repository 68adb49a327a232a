// Closed objects, any order of ends, handles of C, threads and leaks.
#include "tests.h"

#include <atomic>
#include <fstream>
#include <thread>

namespace {

TEST(Closed, ObjectsRefuseCalls) {
  const Context context;
  Model model = doubling_model(context);
  Trainer trainer = model.attach({"cpu"}, squares());
  Loader loader(one_sample(context), {.batch = 1});
  const Model moved = std::move(model);
  EXPECT_FALSE(model);
  EXPECT_TRUE(moved);
  expect_misuse<std::logic_error>("Model: it is closed, need an open one", [&] { model.describe(); });
  trainer.close();
  trainer.close();
  expect_misuse<std::logic_error>("Trainer: it is closed, need an open one", [&] { trainer.step(*loader.next()); });
  loader.close();
  expect_misuse<std::logic_error>("Loader: it is closed, need an open one", [&] { loader.next(); });
  expect_misuse<std::logic_error>("Tensor: it is closed, need an open one", [] { Tensor().describe(); });
  expect_misuse<std::logic_error>("Dataset: it is closed, need an open one", [] { Dataset().describe(); });
  expect_misuse<std::logic_error>("Pending: it is closed, need an open one", [] { Pending().wait(); });
  expect_misuse<std::logic_error>("Group: it is closed, need an open one", [] { Group().barrier(); });
  Context closed;
  closed.close();
  expect_misuse<std::logic_error>("Context: it is closed, need an open one", [&] { closed.describe_backends(); });
}

TEST(Objects, EndInAnyOrder) {
  std::optional<Context> context(std::in_place);
  std::optional<Dataset> dataset(one_sample(*context));
  Loader loader(*dataset, {.batch = 1});
  std::optional<Model> model(doubling_model(*context));
  Trainer trainer = model->attach({"cpu:0", "cpu:1"}, squares());
  const Pending pending = trainer.step_async(*loader.next());
  context.reset();
  dataset.reset();
  model.reset();
  EXPECT_EQ(pending.wait().loss, 36.0);
  trainer.close();
  loader.close();
}

TEST(Objects, MixWithC) {
  const Context context;
  troika_model handle = nullptr;
  ASSERT_EQ(troika_model_create(context.get(), "mlp", nullptr, &handle, nullptr), TROIKA_OK);
  Model model(handle);
  EXPECT_EQ(model.get(), handle);
  EXPECT_EQ(model.describe().name, "mlp");
  EXPECT_EQ(model.release(), handle);
  EXPECT_EQ(model.get(), nullptr);
  troika_model_destroy(handle);
}

TEST(Threads, PredictTogether) {
  const Context context;
  const Model model = doubling_model(context);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Floats output(1);
      for (int i = 0; i < 50; ++i) {
        const float x = static_cast<float>(100 * t + i);
        model.predict_into("cpu", {x}, output);
        EXPECT_EQ(output[0], 2 * x);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, GetBusyFromATrainer) {
  const Context context;
  Trainer trainer = doubling_model(context).attach({"cpu"}, squares());
  Loader loader(zeros(context, 2), {.batch = 1});
  trainer.set_progress([&](const Progress&) {
    expect_error(Status::busy, "", [&] { trainer.get_learning_rate(); });
    std::thread([&] {
      expect_error(Status::busy, "", [&] { trainer.train_epoch(loader); });
      expect_error(Status::busy, "", [&] { loader.tell(); });
    }).join();
  });
  EXPECT_EQ(trainer.train_epoch(loader).samples, 2);
}

TEST(Threads, TrainDifferentTrainers) {
  const Context context;
  std::atomic<std::int64_t> samples{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      Trainer trainer = doubling_model(context).attach({"cpu"}, squares());
      Loader loader(zeros(context, 20), {.batch = 1});
      trainer.set_progress([&](const Progress& progress) { samples += progress.batch_samples; });
      trainer.train_epoch(loader);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(samples, 60);
}

// Makes one of everything, with callbacks, and lets some of it fail.
void use_everything(const Context& context) {
  Source source{.dims = {1}, .n = 4, .value_size = 1};
  source.read = [](const ReadRequest& request) -> std::int64_t {
    if (request.indices[0] == 2) throw HostError(1);
    return request.n;
  };
  Loader failing(Dataset::create_callback(context, source), {.batch = 1});
  Loader loader(zeros(context, 4), {.batch = 1});
  Model model = doubling_model(context);
  Trainer trainer = model.attach({"cpu"}, squares());
  trainer.set_progress([](const Progress& progress) {
    if (progress.batch == 3) throw HostError(2);
  });
  EXPECT_THROW(trainer.train_epoch(failing), HostError);
  EXPECT_THROW(trainer.train_epoch(loader), HostError);
  const Tensor one(context, "cpu", {1, 1}, {1.0f});
  const Pending pending = trainer.step_async(Batch(one, one), [](const StepOutcome&) { throw HostError(3); });
  EXPECT_THROW(pending.wait(), HostError);
  const Model clone = trainer.unwrap().clone();
  const Tensor output = clone.predict("cpu", one);
  Tensor input = one.to("cpu");
  Gradients record(context);
  record.watch(input);
  EXPECT_THROW(record.of(one, {input}), Error);
  EXPECT_EQ(record.of((input * input).sum(), {input})[0].to_host<float>(), Floats{2.0f});
  const std::vector<Tensor> pieces = output.scatter({"cpu:0", "cpu:1"});
  const std::vector<Dataset> parts = zeros(context, 4).split({2, 2});
  EXPECT_THROW(Model::open_memory(context, clone.save_memory()).load("nothing"), Error);
}

std::int64_t resident_pages() {
  std::int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident;
}

std::ptrdiff_t count_in(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

TEST(Leaks, AreNotThere) {
  const Context context;
  for (int i = 0; i < 30; ++i) use_everything(context);
  const std::int64_t pages = resident_pages();
  const std::ptrdiff_t threads = count_in("/proc/self/task"), files = count_in("/proc/self/fd");
  for (int i = 0; i < 100; ++i) use_everything(context);
  EXPECT_LT(resident_pages() - pages, 512);  // 2 MiB
  EXPECT_LE(count_in("/proc/self/task"), threads + 1);
  EXPECT_EQ(count_in("/proc/self/fd"), files);
}

}  // namespace
