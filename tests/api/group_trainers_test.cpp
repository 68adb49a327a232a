// Trainers of a group of two processes, as threads of one program: what the processes compare
// before each batch, and errors of one of them.
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "api/group_process.h"
#include "core/text.h"
#include "state/safetensors.h"

namespace troika::test {
namespace {

// Writes the file again as versions wrote it that had no sums.
void remove_sums(const std::string& path) {
  SafetensorsWriter writer;
  {
    const SafetensorsReader reader(path);
    for (const auto& [key, value] : reader.metadata())
      if (key != kSumKey && key != kHeaderSumKey) writer.set_metadata(key, value);
    for (const TensorEntry& entry : reader.entries()) {
      std::vector<char> data(entry.bytes());
      reader.read(entry, data.data(), data.size());
      writer.add(entry.name, entry.dtype, entry.shape,
                 [data](void* to, uint64_t size) { std::copy_n(data.data(), size, static_cast<char*>(to)); });
    }
  }
  writer.write(path);
}

TEST_F(GroupTrainers, DescribeTheDevicesOfTheirProcess) {
  run([&](GroupProcess& p) {
    p.attach([](troika_trainer_options&) {}, 3);
    troika_trainer_info info = TROIKA_TRAINER_INFO_INIT;
    p.expect_ok(troika_trainer_describe(p.trainer_, &info, &p.error_));
    EXPECT_EQ(info.device_count, 3);
    EXPECT_EQ(info.mesh.data, 6);
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    p.expect_ok(troika_trainer_get_options(p.trainer_, &options, &p.error_));
    EXPECT_EQ(options.group, nullptr);
    EXPECT_EQ(options.mesh.data, 6);
  });
}

// A refused step changes nothing: both processes go on, and end with the same weights.
TEST_F(GroupTrainers, CompareLearningRates) {
  std::vector<float> weights[2];
  run([&](GroupProcess& p) {
    p.attach();
    p.load();
    p.expect_ok(p.step());
    if (p.rank() == 1) p.expect_ok(troika_trainer_set_learning_rate(p.trainer_, -1, 0.25, &p.error_));
    p.expect_refused(p.step(), TROIKA_ERROR_MISMATCH, "rank 1 has learning rate 0.25, rank 0 has 0.1");
    if (p.rank() == 0) p.expect_ok(troika_trainer_set_learning_rate(p.trainer_, -1, 0.25, &p.error_));
    p.expect_ok(p.step());
    p.expect_ok(troika_trainer_check_replicas(p.trainer_, &p.error_));
    weights[p.rank()] = p.weights();
  });
  EXPECT_EQ(weights[0], weights[1]);
}

TEST_F(GroupTrainers, CompareSettings) {
  run([&](GroupProcess& p) {
    p.attach();
    p.load();
    if (p.rank() == 0) p.expect_ok(troika_trainer_set_option(p.trainer_, -1, TROIKA_OPTION_MOMENTUM, 0.5, &p.error_));
    p.expect_refused(p.step(), TROIKA_ERROR_MISMATCH, "rank 1 has other settings than rank 0");
  });
}

// Files of earlier versions have no sums, which say that files differ. The steps say so later.
TEST_F(GroupTrainers, CompareStepsDone) {
  const TempDirectory folder;
  const std::string files[] = {(folder.path() / "first").string(), (folder.path() / "second").string()};
  run([&](GroupProcess& p) {
    p.attach();
    p.load();
    for (const std::string& file : files) {
      p.expect_ok(p.step());
      p.expect_ok(troika_trainer_save(p.trainer_, file.c_str(), &p.error_));
    }
    const std::string& own = files[p.rank()];
    remove_sums(own);
    p.expect_ok(troika_trainer_load(p.trainer_, own.c_str(), nullptr, &p.error_));
    p.expect_refused(p.step(), TROIKA_ERROR_MISMATCH, "rank 1 has done 2 steps, rank 0 has done 1");
  });
}

// Each process sums a part of the file, so that all need the same file.
TEST_F(GroupTrainers, RefuseDifferentStates) {
  const TempDirectory folder;
  const std::string files[] = {(folder.path() / "first").string(), (folder.path() / "second").string()};
  run([&](GroupProcess& p) {
    p.attach();
    p.load();
    for (const std::string& file : files) {
      p.expect_ok(p.step());
      p.expect_ok(troika_trainer_save(p.trainer_, file.c_str(), &p.error_));
    }
    const std::string& own = files[p.rank()];
    p.expect_refused(troika_trainer_load(p.trainer_, own.c_str(), nullptr, &p.error_), TROIKA_ERROR_MISMATCH,
                     "rank 1 has another file of this name than rank 0");
    p.expect_ok(p.step());
    p.expect_ok(troika_trainer_load(p.trainer_, files[0].c_str(), nullptr, &p.error_));
    p.expect_ok(p.step());
  });
}

// Values that a host writes into its model reach the devices of all processes, or of none.
TEST_F(GroupTrainers, CompareWhatTheirHostsWrote) {
  std::vector<float> weights[2];
  run([&](GroupProcess& p) {
    p.attach();
    p.load();
    p.expect_ok(p.step());
    if (p.rank() == 1) p.set_weights(0.5f);
    p.expect_refused(p.step(), TROIKA_ERROR_MISMATCH,
                     "rank 1 has new values of the model, written by its host; rank 0 has none");
    if (p.rank() == 0) p.set_weights(0.25f);
    p.expect_ok(p.step());  // with the values of rank 0
    p.expect_ok(troika_trainer_check_replicas(p.trainer_, &p.error_));
    weights[p.rank()] = p.weights();
  });
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_LT(weights[0][0], 0.4f);
}

// A model that gets its values after it has been attached, from another seed in each process, and
// a loader whose samples are kept on the devices.
TEST_F(GroupTrainers, TakeTheValuesOfTheFirst) {
  std::vector<float> weights[2];
  run([&](GroupProcess& p) {
    p.attach();
    p.set_weights(p.rank() == 0 ? 0.25f : 0.5f);
    p.load();
    troika_metrics metrics = TROIKA_METRICS_INIT;
    p.expect_ok(troika_trainer_train_epoch(p.trainer_, p.loader_, &metrics, &p.error_));
    p.expect_ok(troika_trainer_check_replicas(p.trainer_, &p.error_));
    weights[p.rank()] = p.weights();
  });
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_LT(weights[0][0], 0.4f);
}

TEST_F(GroupTrainers, ShareTheErrorOfALoad) {
  const TempDirectory folder;
  const std::string file = (folder.path() / "state").string();
  run([&](GroupProcess& p) {
    p.attach();
    p.load();
    p.expect_ok(p.step());
    p.expect_ok(troika_trainer_save(p.trainer_, file.c_str(), &p.error_));
    const std::vector<float> before = p.weights();
    const std::string path = p.rank() == 1 ? file + ".lost" : file;
    p.expect_refused(troika_trainer_load(p.trainer_, path.c_str(), nullptr, &p.error_), TROIKA_ERROR_NOT_FOUND,
                     "state.lost");
    EXPECT_EQ(p.weights(), before);
    p.expect_ok(p.step());
    p.expect_ok(troika_trainer_load(p.trainer_, file.c_str(), nullptr, &p.error_));
    EXPECT_EQ(p.weights(), before);
  });
}

TEST_F(GroupTrainers, ShareTheErrorOfAPiece) {
  run([&](GroupProcess& p) {
    p.attach();
    p.load();
    const troika_batch batch = p.next();
    p.expect_refused(troika_trainer_apply(p.trainer_, nullptr, &p.error_), TROIKA_ERROR_NOT_INITIALIZED,
                     "there is no backward pass");
    troika_forward_options own_loss = TROIKA_FORWARD_OPTIONS_INIT;
    own_loss.own_loss = 1;
    troika_tensor output = nullptr;
    p.expect_ok(troika_trainer_forward(p.trainer_, batch, &own_loss, &output, nullptr, &p.error_));
    // Rank 1 passes no gradient.
    const troika_status status = troika_trainer_backward(p.trainer_, p.rank() == 1 ? nullptr : output, &p.error_);
    p.expect_refused(status, TROIKA_ERROR_INVALID_ARGUMENT, "the gradient of the output is NULL");
    p.expect_ok(troika_trainer_backward(p.trainer_, output, &p.error_));
    p.expect_ok(troika_trainer_apply(p.trainer_, nullptr, &p.error_));
    p.expect_ok(troika_trainer_check_replicas(p.trainer_, &p.error_));
    troika_tensor_destroy(output);
    troika_forward_options weighted = TROIKA_FORWARD_OPTIONS_INIT;
    weighted.weight = p.rank() == 1 ? 0.5 : 0.25;
    p.expect_refused(troika_trainer_forward(p.trainer_, p.next(), &weighted, nullptr, nullptr, &p.error_),
                     TROIKA_ERROR_MISMATCH, "rank 1 has weight 0.5, rank 0 has 0.25");
  });
}

// The last layers are on the devices of the second process, and both see the output.
TEST_F(GroupTrainers, PassTheOutputOfSplitLayersToAll) {
  std::vector<float> all;
  for (int split = 0; split < 2; ++split) {
    std::vector<float> outputs[2];
    run([&](GroupProcess& p) {
      const auto cut = [](troika_trainer_options& options) { options.mesh = {1, 2, 1, 0}; };
      split == 1 ? p.attach(cut, 1) : p.attach();
      p.set_weights(0.125f);
      p.load();
      troika_tensor output = nullptr;
      p.expect_ok(troika_trainer_forward(p.trainer_, p.next(), nullptr, &output, nullptr, &p.error_));
      troika_tensor_info info = TROIKA_TENSOR_INFO_INIT;
      p.expect_ok(troika_tensor_describe(output, &info, &p.error_));
      outputs[p.rank()].resize(static_cast<size_t>(info.size_bytes) / sizeof(float));
      p.expect_ok(troika_tensor_to_host(output, outputs[p.rank()].data(), info.size_bytes, &p.error_));
      troika_tensor_destroy(output);
    });
    if (split == 0) {  // each process has its rows
      all = outputs[0];
      all.insert(all.end(), outputs[1].begin(), outputs[1].end());
    } else {
      EXPECT_EQ(outputs[0], outputs[1]);
      EXPECT_EQ(outputs[0], all);
    }
  }
  EXPECT_EQ(all.size(), 8u * 3u);
}

// The gradients of the inputs of two passes, for the rows of a process: with the trainer's loss,
// and with the caller's own. Then an update.
std::array<std::vector<float>, 2> input_gradients(GroupProcess& p) {
  std::array<std::vector<float>, 2> gradients;
  for (const bool has_own_loss : {false, true}) {
    troika_forward_options options = TROIKA_FORWARD_OPTIONS_INIT;
    options.input_gradient = 1;
    options.own_loss = has_own_loss;
    const troika_batch batch = p.next();
    troika_tensor output = nullptr;
    p.expect_ok(troika_trainer_forward(p.trainer_, batch, &options, &output, nullptr, &p.error_));
    p.expect_ok(troika_trainer_backward(p.trainer_, has_own_loss ? output : nullptr, &p.error_));
    troika_tensor_info rows = TROIKA_TENSOR_INFO_INIT;
    p.expect_ok(troika_tensor_describe(output, &rows, &p.error_));
    std::vector<float>& gradient = gradients[has_own_loss];
    gradient.assign(static_cast<size_t>(rows.dims[0]) * 28 * 28, std::numeric_limits<float>::quiet_NaN());
    p.expect_ok(troika_trainer_get_input_gradient(p.trainer_, gradient.data(),
                                                  static_cast<int64_t>(gradient.size() * sizeof(float)), &p.error_));
    troika_tensor_destroy(output);
  }
  p.expect_ok(troika_trainer_apply(p.trainer_, nullptr, &p.error_));
  p.expect_ok(troika_trainer_check_replicas(p.trainer_, &p.error_));
  return gradients;
}

void expect_near(const float* found, const std::vector<float>& expected, size_t first, size_t n) {
  ASSERT_LE(first + n, expected.size());
  float largest = 0;
  for (const float number : expected) largest = std::max(largest, std::abs(number));
  ASSERT_GT(largest, 0);
  for (size_t i = 0; i < n; ++i) ASSERT_NEAR(found[i], expected[first + i], 1e-5f * largest) << "number " << i;
}

// The first layers are on devices of one process, and both see the gradients of their rows.
TEST_F(GroupTrainers, PassTheGradientOfTheInputsToAll) {
  struct Division {
    troika_mesh mesh;
    std::array<int32_t, 2> devices;  // of each process
  };
  const auto run_on = [&](const Division& division) {
    std::array<std::array<std::vector<float>, 2>, 2> gradients;  // by process and pass
    run([&](GroupProcess& p) {
      p.attach_lenet([&](troika_trainer_options& options) { options.mesh = division.mesh; },
                     division.devices[static_cast<size_t>(p.rank())]);
      gradients[static_cast<size_t>(p.rank())] = input_gradients(p);
    });
    return gradients;
  };
  std::array<std::vector<float>, 2> whole;
  const auto halves = run_on({{2, 1, 1, 0}, {1, 1}});  // each process has half of the rows
  for (size_t pass = 0; pass < 2; ++pass) {
    whole[pass] = halves[0][pass];
    whole[pass].insert(whole[pass].end(), halves[1][pass].begin(), halves[1][pass].end());
    ASSERT_EQ(whole[pass].size(), 7u * 28 * 28);
  }
  for (const Division& division :
       {Division{{1, 2, 1, 0}, {1, 1}}, Division{{1, 4, 1, 0}, {1, 3}}, Division{{2, 2, 1, 0}, {1, 3}},
        Division{{2, 2, 1, 0}, {3, 1}}, Division{{1, 2, 2, 0}, {1, 3}}, Division{{1, 1, 2, 0}, {1, 1}}}) {
    SCOPED_TRACE(text(division.mesh.data, 'x', division.mesh.layer, 'x', division.mesh.channel, " on ",
                      division.devices[0], " and ", division.devices[1]));
    const auto gradients = run_on(division);
    for (size_t pass = 0; pass < 2; ++pass) {
      const auto& [first, second] = std::tie(gradients[0][pass], gradients[1][pass]);
      EXPECT_GE(first.size() + second.size(), whole[pass].size());
      expect_near(first.data(), whole[pass], 0, first.size());
      expect_near(second.data(), whole[pass], whole[pass].size() - second.size(), second.size());
    }
  }
}

TEST_F(GroupTrainers, ExplainAPlanOnceTheyHaveAgreedOnLayouts) {
  run([&](GroupProcess& p) {
    p.attach();
    p.load();
    int64_t size = 0;
    p.expect_refused(troika_trainer_explain(p.trainer_, 8, nullptr, 0, &size, &p.error_), TROIKA_ERROR_NOT_INITIALIZED,
                     "agree on the layouts of a model with their first batch");
    p.expect_ok(p.step());
    p.expect_ok(troika_trainer_explain(p.trainer_, 8, nullptr, 0, &size, &p.error_));  // by each process alone
    EXPECT_GT(size, 0);
  });
}

TEST_F(GroupTrainers, StopTogether) {
  run([&](GroupProcess& p) {
    p.attach();
    p.load();
    p.expect_ok(p.step());
    if (p.rank() == 1) p.expect_ok(troika_trainer_request_stop(p.trainer_, &p.error_));
    EXPECT_EQ(p.step(), TROIKA_STOPPED);
    p.expect_ok(p.step());
  });
}

TEST_F(GroupTrainers, EndWhenOneMakesAnotherCall) {
  run([&](GroupProcess& p) {
    p.attach();
    p.load();
    troika_metrics metrics = TROIKA_METRICS_INIT;
    const troika_status status =
        p.rank() == 0 ? p.step() : troika_trainer_evaluate(p.trainer_, p.loader_, &metrics, &p.error_);
    p.expect_refused(status, TROIKA_ERROR_COMM, "calls");
  });
}

// ---- loaders of a group ----

// Every sample is read once, by one process, in the order of one process.
TEST_F(GroupTrainers, DivideTheBatchesOfALoader) {
  constexpr int64_t kSamples = 23, kBatch = 5;
  std::vector<int32_t> labels[2];
  std::vector<size_t> sizes[2];
  std::vector<int32_t> whole;
  run([&](GroupProcess& p) {
    const int64_t image[] = {1, 4, 4};
    troika_dataset dataset = nullptr;
    p.expect_ok(troika_dataset_create_synthetic(p.context_, image, 3, kSamples, 1000, 1, &dataset, &p.error_));
    for (const bool divides : {true, false}) {
      troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
      options.batch = kBatch;
      options.shuffle = 1;
      options.seed = 3;
      options.group = divides ? p.group_ : nullptr;
      troika_loader loader = nullptr;
      p.expect_ok(troika_loader_create(dataset, &options, &loader, &p.error_));
      troika_batch batch = nullptr;
      while (troika_loader_next(loader, &batch, &p.error_) == TROIKA_OK) {
        troika_batch_info info = TROIKA_BATCH_INFO_INIT;
        p.expect_ok(troika_batch_describe(batch, &info, &p.error_));
        const auto* const own = info.labels;
        if (divides) {
          labels[p.rank()].insert(labels[p.rank()].end(), own, own + info.n);
          sizes[p.rank()].push_back(static_cast<size_t>(info.n));
        } else if (p.rank() == 0) {
          whole.insert(whole.end(), own, own + info.n);
        }
      }
      troika_loader_destroy(loader);
    }
    troika_dataset_destroy(dataset);
  });
  EXPECT_EQ(sizes[0], (std::vector<size_t>{3, 3, 3, 3, 2}));
  EXPECT_EQ(sizes[1], (std::vector<size_t>{2, 2, 2, 2, 1}));
  std::vector<int32_t> together;
  size_t at[2] = {};
  for (size_t batch = 0; batch < sizes[0].size(); ++batch)
    for (size_t rank = 0; rank < 2; ++rank)
      for (size_t i = 0; i < sizes[rank][batch]; ++i) together.push_back(labels[rank][at[rank]++]);
  EXPECT_EQ(together, whole);
}

// Each process reads its own rows. In another order, the two would not be rows of one batch.
TEST_F(GroupTrainers, CompareTheOrdersOfTheirSamples) {
  run([&](GroupProcess& p) {
    p.attach();
    const int64_t image[] = {1, 4, 4};
    p.expect_ok(troika_dataset_create_synthetic(p.context_, image, 3, 24, 3, 1, &p.dataset_, &p.error_));
    const auto refuse = [&](const troika_loader_options& options, const char* found) {
      troika_loader loader = nullptr;
      p.expect_ok(troika_loader_create(p.dataset_, &options, &loader, &p.error_));
      troika_metrics metrics = TROIKA_METRICS_INIT;
      p.expect_refused(troika_trainer_train_epoch(p.trainer_, loader, &metrics, &p.error_), TROIKA_ERROR_MISMATCH,
                       text("batch: rank 1 has batch 0 of epoch 0, of 8 samples ", found).c_str());
      troika_loader_destroy(loader);
    };
    const int32_t is_second = p.rank() == 1;
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = 8;
    options.shuffle = is_second;
    options.seed = 3;
    refuse(options, "shuffled with seed 3, rank 0 batch 0 of epoch 0, of 8 samples in the dataset's order");
    options.shuffle = 1;
    options.seed = 3 + static_cast<uint64_t>(is_second);
    refuse(options, "shuffled with seed 4, rank 0 batch 0 of epoch 0, of 8 samples shuffled with seed 3");
    options.seed = 3;
    options.flip = is_second;
    refuse(options, "shuffled with seed 3, with augmentation ");
    options.flip = 1;
    p.expect_ok(troika_loader_create(p.dataset_, &options, &p.loader_, &p.error_));
    p.expect_ok(troika_trainer_divide_loader(p.trainer_, p.loader_, &p.error_));
    p.expect_ok(p.step());  // refused batches change nothing
    p.expect_ok(troika_trainer_check_replicas(p.trainer_, &p.error_));
  });
}

// Two processes of two devices train as one process of four: a mean by weight is over the batch of
// all, which is divided unevenly. With channels split over the processes, both have all labels.
TEST_F(GroupTrainers, WeighSamplesAsOneProcess) {
  const double shares[] = {1, 4, 1, 1};
  const std::vector<double> of_classes = {0.5, 2, 1, 0, 3, 1, 1.5, 1, 0.25, 4};
  for (const troika_mesh mesh : {troika_mesh{4, 1, 1, 0}, troika_mesh{1, 1, 4, 0}, troika_mesh{1, 4, 1, 0}}) {
    std::vector<double> losses[3];
    const auto train = [&](GroupProcess& p, int32_t devices, std::vector<double>& found) {
      p.attach_lenet(
          [&](troika_trainer_options& options) {
            options.mesh = mesh;
            options.shares = mesh.data == 4 ? shares : nullptr;
            options.share_count = mesh.data == 4 ? 4 : 0;
            options.class_weights = of_classes.data();
            options.class_weight_count = 10;
            options.sample_weights = 1;
            if (devices == 4) options.group = nullptr;
          },
          devices);
      std::vector<float> weights;
      for (int i = 0; i < 21; ++i) weights.push_back(static_cast<float>(i % 4) / 2);
      troika_dataset weighted = nullptr;
      p.expect_ok(troika_dataset_weigh(p.dataset_, weights.data(), 21, &weighted, &p.error_));
      troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
      options.batch = 7;
      troika_loader loader = nullptr;
      p.expect_ok(troika_loader_create(weighted, &options, &loader, &p.error_));
      troika_metrics metrics = TROIKA_METRICS_INIT;
      for (int epoch = 0; epoch < 2; ++epoch) {
        p.expect_ok(troika_trainer_train_epoch(p.trainer_, loader, &metrics, &p.error_));
        found.push_back(metrics.loss);
      }
      p.expect_ok(troika_trainer_evaluate(p.trainer_, loader, &metrics, &p.error_));
      found.push_back(metrics.loss);
      troika_loader_destroy(loader);
      troika_dataset_destroy(weighted);
    };
    run([&](GroupProcess& p) { train(p, 2, losses[p.rank()]); });
    run([&](GroupProcess& p) {
      if (p.rank() == 0) train(p, 4, losses[2]);
    });
    EXPECT_EQ(losses[0], losses[1]);
    for (size_t i = 0; i < losses[2].size(); ++i) EXPECT_NEAR(losses[0].at(i), losses[2][i], 1e-6) << i;
  }
}

// A trainer without a group would train on its share alone.
TEST_F(GroupTrainers, RefuseALoaderOfAGroupWithoutAGroup) {
  run([&](GroupProcess& p) {
    p.attach([](troika_trainer_options& options) { options.group = nullptr; });
    const int64_t image[] = {1, 4, 4};
    troika_dataset dataset = nullptr;
    p.expect_ok(troika_dataset_create_synthetic(p.context_, image, 3, 12, 3, 1, &dataset, &p.error_));
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = 4;
    options.group = p.group_;
    troika_loader loader = nullptr;
    p.expect_ok(troika_loader_create(dataset, &options, &loader, &p.error_));
    p.expect_refused(troika_trainer_train_epoch(p.trainer_, loader, nullptr, &p.error_), TROIKA_ERROR_UNSUPPORTED,
                     "attach the model with the group");
    troika_batch batch = nullptr;
    p.expect_ok(troika_loader_next(loader, &batch, &p.error_));
    p.expect_ok(troika_trainer_step(p.trainer_, batch, nullptr, &p.error_));  // a loop of the host's own
    troika_loader_destroy(loader);
    troika_dataset_destroy(dataset);
  });
}

}  // namespace
}  // namespace troika::test
