// Tests of epochs on devices that keep datasets and run ahead of the host: copied bytes, the times
// of reports, and faults.
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "core/text.h"
#include "data/array_dataset.h"
#include "models/zoo.h"
#include "support/throws.h"
#include "train/fault_backend.h"
#include "train/trainer.h"

namespace troika {
namespace {

constexpr int64_t kSamples = 22, kBatch = 5;  // four batches, and one of 2

std::shared_ptr<Model> small_model() {
  ZooOptions options;
  options.classes = 3;
  options.input_channels = 1;
  options.input_height = options.input_width = 4;
  options.hidden = 8;
  return create_model("mlp", options);
}

std::shared_ptr<const Dataset> small_dataset(int32_t classes = 3) {
  std::vector<float> inputs(kSamples * 16);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<float>(i * i % 31) / 31 - 0.5f;
  std::vector<int32_t> labels(kSamples);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i) % classes;
  return std::make_shared<const ArrayDataset>(Shape{1, 4, 4}, std::move(inputs), std::move(labels));
}

LoaderOptions shuffled() {
  LoaderOptions options;
  options.batch = kBatch;
  options.shuffle = true;
  options.seed = 3;
  return options;
}

class Epochs : public ::testing::Test {
 protected:
  Epochs() {
    hooks->runs_ahead = true;
    set_room(1 << 20);
    hooks->before_copy = [this](int, size_t bytes) { copied += bytes; };
  }

  void set_room(size_t bytes) {
    hooks->room_for_samples = [bytes](int) { return bytes; };
  }

  std::unique_ptr<Trainer> attach(int n = 1) {
    std::vector<DeviceId> devices;
    for (int i = 0; i < n; ++i) devices.push_back({DeviceKind::cuda, i});
    TrainerOptions options;
    options.settings[Setting::momentum] = 0.9;
    options.deadline_ms = 20000;
    return std::make_unique<Trainer>(context, small_model(), devices, options);
  }

  static std::vector<std::vector<std::byte>> parameters_of(Trainer& trainer) {
    trainer.pull();
    std::vector<std::vector<std::byte>> values;
    for (size_t i = 0; i < trainer.model()->parameters()->size(); ++i) {
      const auto& data = trainer.model()->parameters()->entry(i).data;
      values.emplace_back(data.begin(), data.end());
    }
    return values;
  }

  std::shared_ptr<FaultHooks> hooks = std::make_shared<FaultHooks>();
  std::shared_ptr<Context> context = fault_context(hooks);
  std::shared_ptr<const Dataset> dataset = small_dataset();
  std::atomic<size_t> copied{0};  // bytes copied from the host
};

TEST_F(Epochs, ComputeTheSameFromSamplesOnTheDeviceAndAheadOfTheHost) {
  for (int n : {1, 2, 3}) {
    std::vector<Metrics> metrics[4];
    std::vector<std::vector<std::byte>> parameters[4];
    for (int form = 0; form < 4; ++form) {
      hooks->runs_ahead = form & 1;
      set_room(form & 2 ? 1 << 20 : 0);
      const auto trainer = attach(n);
      Loader loader(dataset, shuffled());
      for (int epoch = 0; epoch < 3; ++epoch) {
        EXPECT_TRUE(trainer->train_epoch(loader, metrics[form].emplace_back()));
        EXPECT_TRUE(trainer->evaluate(loader, nullptr, metrics[form].emplace_back()));
      }
      parameters[form] = parameters_of(*trainer);
    }
    for (int form = 1; form < 4; ++form) {
      EXPECT_EQ(parameters[form], parameters[0]) << n << " devices, form " << form;
      for (size_t i = 0; i < metrics[0].size(); ++i) {
        EXPECT_EQ(metrics[form][i].loss, metrics[0][i].loss);
        EXPECT_EQ(metrics[form][i].correct, metrics[0][i].correct);
        EXPECT_EQ(metrics[form][i].samples, kSamples);
      }
    }
  }
}

TEST_F(Epochs, CopyTheSamplesOnceAndThenAlmostNothing) {
  const auto trainer = attach();
  Loader loader(dataset, shuffled());
  Metrics metrics;
  trainer->train_epoch(loader, metrics);
  const size_t first = copied.exchange(0);
  EXPECT_EQ(trainer->ranks().at(0).sample_bytes(), kSamples * (17 * sizeof(float) + sizeof(int64_t)))
      << "and the order";
  EXPECT_GE(first, kSamples * 17 * sizeof(float));
  trainer->train_epoch(loader, metrics);
  // Copies the place, rate and dropout counter of each step, and the epoch's key.
  EXPECT_LE(copied.exchange(0), 5 * 64u);
  trainer->evaluate(loader, nullptr, metrics);
  EXPECT_LE(copied.exchange(0), 5 * 64u);
  Loader other(small_dataset(), shuffled());
  trainer->train_epoch(other, metrics);
  EXPECT_GE(copied.exchange(0), kSamples * 17 * sizeof(float)) << "another dataset";
  trainer->train_epoch(loader, metrics);
  EXPECT_LE(copied.exchange(0), 5 * 64u) << "the first is still there";
}

TEST_F(Epochs, CopyBatchesWhereTheDeviceHasNoRoomForTheSamples) {
  set_room(1000);
  const auto trainer = attach();
  Loader loader(dataset, shuffled());
  Metrics metrics;
  trainer->train_epoch(loader, metrics);
  copied = 0;
  trainer->train_epoch(loader, metrics);
  EXPECT_GE(copied, kSamples * 17 * sizeof(float));
}

TEST_F(Epochs, GiveTheMemoryOfSamplesToTheFirstPlanOfALargerBatch) {
  const auto trainer = attach();
  Loader loader(dataset, shuffled());
  Metrics metrics;
  trainer->train_epoch(loader, metrics);
  int arenas = 0;
  hooks->before_allocation = [&](int, size_t, const std::string& purpose) {
    if (purpose != "the plan's arena") return;
    ++arenas;
    EXPECT_EQ(trainer->ranks().at(0).sample_bytes(), 0u);
  };
  LoaderOptions options = shuffled();
  options.batch = 20;
  Loader larger(dataset, options);
  EXPECT_TRUE(trainer->train_epoch(larger, metrics));
  EXPECT_EQ(arenas, 1);
  EXPECT_GT(trainer->ranks().at(0).sample_bytes(), 0u) << "they are back";
  copied = 0;
  EXPECT_TRUE(trainer->train_epoch(loader, metrics));
  EXPECT_LE(copied, 5 * 64u) << "a smaller batch needs nothing of it";
}

TEST_F(Epochs, KeepNoSamplesWhereADeviceHasNoRoom) {
  hooks->room_for_samples = [](int device) { return device == 1 ? size_t{0} : size_t{1} << 20; };
  const auto trainer = attach(3);
  Loader loader(dataset, shuffled());
  Metrics metrics;
  EXPECT_TRUE(trainer->train_epoch(loader, metrics));
  for (size_t r = 0; r < 3; ++r) EXPECT_EQ(trainer->ranks().at(r).sample_bytes(), 0u) << r;

  set_room(1 << 20);
  hooks->before_allocation = [](int device, size_t, const std::string& purpose) {
    if (device == 2 && purpose == "a dataset's targets") throw Error(Status::out_of_memory, "no room after all");
  };
  Loader other(small_dataset(), shuffled());
  EXPECT_TRUE(trainer->train_epoch(other, metrics));
  for (size_t r = 0; r < 3; ++r) EXPECT_EQ(trainer->ranks().at(r).sample_bytes(), 0u) << r;
}

TEST_F(Epochs, KeepTheDatasetsThatWereUsedLast) {
  const auto trainer = attach();
  Metrics metrics;
  std::vector<std::unique_ptr<Loader>> loaders;
  for (int i = 0; i < 5; ++i) {
    loaders.push_back(std::make_unique<Loader>(small_dataset(), shuffled()));
    trainer->train_epoch(*loaders.back(), metrics);
  }
  for (int i : {4, 3, 2, 1}) {
    copied = 0;
    trainer->train_epoch(*loaders[static_cast<size_t>(i)], metrics);
    EXPECT_LE(copied, 5 * 64u) << "dataset " << i;
  }
  trainer->train_epoch(*loaders[0], metrics);
  EXPECT_GE(copied, kSamples * 17 * sizeof(float)) << "the first had to go";
}

TEST_F(Epochs, TellOfEveryBatchInOrder) {
  for (bool ahead : {false, true}) {
    hooks->runs_ahead = ahead;
    const auto trainer = attach();
    std::vector<int64_t> batches, samples;
    trainer->set_progress([&](const Progress& p) {
      batches.push_back(p.batch);
      samples.push_back(p.samples);
      return true;
    });
    Loader loader(dataset, shuffled());
    Metrics metrics;
    EXPECT_TRUE(trainer->train_epoch(loader, metrics));
    EXPECT_EQ(batches, (std::vector<int64_t>{1, 2, 3, 4, 5}));
    EXPECT_EQ(samples, (std::vector<int64_t>{5, 10, 15, 20, 22}));
    EXPECT_EQ(loader.tell(), (BatchPosition{1, 0, 5}));
  }
}

TEST_F(Epochs, CountTheStepThatIsUnderWayWhenTheyAreStopped) {
  for (bool ahead : {false, true}) {
    hooks->runs_ahead = ahead;
    const auto trainer = attach();
    int told = 0;
    trainer->set_progress([&](const Progress&) { return ++told < 2; });
    Loader loader(dataset, shuffled());
    Metrics metrics;
    EXPECT_FALSE(trainer->train_epoch(loader, metrics));
    EXPECT_EQ(told, 2);
    const int64_t done = ahead ? 3 : 2;
    EXPECT_EQ(metrics.samples, done * kBatch);
    EXPECT_EQ(loader.tell().batch, done);
    EXPECT_EQ(trainer->training_state().position.step, done);
    EXPECT_EQ(trainer->training_state().position.batch, loader.tell());
    trainer->set_progress(nullptr);
    EXPECT_TRUE(trainer->train_epoch(loader, metrics));
    EXPECT_EQ(metrics.samples, kSamples - done * kBatch);
  }
}

TEST_F(Epochs, GoOnBehindABatchThatIsRefused) {
  for (size_t room : {size_t{0}, size_t{1} << 20}) {
    set_room(room);
    const auto trainer = attach();
    Loader bad(small_dataset(4), shuffled());
    Metrics metrics;
    EXPECT_THROWS(Status::invalid_argument, "model 'mlp' has classes 0 to 2", (trainer->train_epoch(bad, metrics), 0));
    const BatchPosition refused = bad.tell();
    EXPECT_EQ(trainer->training_state().position.step, refused.batch) << "steps before it are done";
    Loader loader(dataset, shuffled());
    loader.seek(refused);
    EXPECT_TRUE(trainer->train_epoch(loader, metrics));
    EXPECT_EQ(metrics.samples, kSamples - refused.batch * kBatch);
  }
}

TEST_F(Epochs, TellOfTheStepThatIsUnderWayWhenAnotherThreadStopsThem) {
  const auto trainer = attach();
  std::vector<int64_t> told;
  trainer->set_progress([&](const Progress& p) {
    told.push_back(p.batch);
    if (p.batch == 1) trainer->request_stop();
    return true;
  });
  Loader loader(dataset, shuffled());
  Metrics metrics;
  EXPECT_FALSE(trainer->train_epoch(loader, metrics));
  EXPECT_EQ(told, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(metrics.samples, 2 * kBatch);
  EXPECT_EQ(loader.tell().batch, 2);
}

TEST_F(Epochs, EndAtOnceWhereTheLastResultsOfARankAreLost) {
  const auto trainer = attach(3);
  Loader loader(dataset, shuffled());
  Metrics metrics;
  trainer->train_epoch(loader, metrics);
  // Rank 1 fails when the epoch's last results are read. The other ranks' results never arrive;
  // these ranks wait until they are aborted.
  std::atomic<int> looks{0};
  std::atomic<bool> is_lost{false};
  hooks->before_readback = [&](int device) {
    if (device == 1 && ++looks == 5) {
      is_lost = true;
      throw Error(Status::internal, "device cuda:1 is lost");
    }
  };
  EXPECT_THROWS(Status::internal, "device cuda:1 is lost", (trainer->train_epoch(loader, metrics), 0));
  EXPECT_TRUE(is_lost);
  EXPECT_THROWS(Status::comm, "an earlier step failed half way (device cuda:1 is lost)",
                (trainer->train_epoch(loader, metrics), 0));
}

TEST_F(Epochs, EndAtAStepThatFails) {
  const auto trainer = attach();
  std::atomic<int> updates{0};
  hooks->before_run = [&](int, const std::string& op, const std::string&) {
    if (op == "sgd_update" && ++updates == 3) throw Error(Status::internal, "the device is lost");
  };
  Loader loader(dataset, shuffled());
  Metrics metrics;
  EXPECT_THROWS(Status::internal, "the device is lost", (trainer->train_epoch(loader, metrics), 0));
  EXPECT_EQ(loader.tell().batch, 2);
  EXPECT_THROWS(Status::comm, "an earlier step failed half way (the device is lost)",
                (trainer->train_epoch(loader, metrics), 0));
}

TEST_F(Epochs, ForgetDatasetsThatAreGone) {
  const auto trainer = attach();
  Metrics metrics;
  std::weak_ptr<const Dataset> gone;
  for (int i = 0; i < 10; ++i) {
    auto fresh = small_dataset();
    gone = fresh;
    Loader loader(std::move(fresh), shuffled());
    EXPECT_TRUE(trainer->train_epoch(loader, metrics));
  }
  EXPECT_TRUE(gone.expired()) << "the trainer keeps a dataset alive";
  StepResult result;
  Batch batch;
  batch.shape = {2, 1, 4, 4};
  batch.inputs.resize(32);
  batch.labels = {0, 1};
  EXPECT_TRUE(trainer->step(batch, result));
  EXPECT_EQ(trainer->ranks().at(0).sample_bytes(), 0u) << "the next call releases datasets without a user";
}

}  // namespace
}  // namespace troika
