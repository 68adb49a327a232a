// A training step allocates nothing on any thread, once its plan is compiled. Allocations inside
// oneDNN's functions are not counted. A separate program, since it replaces malloc.
#include <gtest/gtest.h>
#include <troika/troika.h>

#include <vector>

#include "api/allocation_hooks.h"

namespace troika::test {
namespace {

struct Case {
  const char* name;
  const char* model;  // a model of the zoo, or "sequences"
  int32_t side;       // the side of images, or the steps and features of sequences
  int32_t devices;
  int32_t layer = 1, channel = 1, micro_batches = 1;
  bool is_uneven = false;  // shares of a batch that are not equal, and weights of classes and samples
  int32_t precision = TROIKA_PRECISION_F32;
};

// Returns a model with LSTM and GRU over [side, side], which are recomputed for the backward pass,
// and 10 classes.
troika_model sequence_model(troika_context context, int32_t side) {
  troika_error error{};
  troika_model model = nullptr;
  const int64_t dims[] = {side, side};
  troika_value x = 0;
  const troika_status all[] = {troika_model_create_empty(context, "net", &model, &error),
                               troika_model_add_input(model, "x", dims, 2, &x, &error),
                               troika_model_add_lstm(model, "lstm", x, 20, 1, &x, &error),
                               troika_model_add_gru(model, "gru", x, 20, 1, &x, &error),
                               troika_model_add_select_step(model, "last", x, -1, &x, &error),
                               troika_model_add_linear(model, "fc", x, 10, 1, &x, &error),
                               troika_model_set_output(model, x, &error)};
  for (troika_status status : all) EXPECT_EQ(status, TROIKA_OK);
  return model;
}

class NoAllocation : public testing::TestWithParam<Case> {};

TEST_P(NoAllocation, in_a_step) {
  const Case& c = GetParam();
  troika_error error{};
  const auto ok = [&](troika_status status) { ASSERT_GE(status, 0) << error.message; };
  troika_context_options cores = TROIKA_CONTEXT_OPTIONS_INIT;
  cores.cpu_threads = 2;
  cores.log = [](int32_t, const char*, const char*, void*) {};
  cores.log_level = TROIKA_LOG_DEBUG;
  troika_context context = nullptr;
  ok(troika_context_create(&cores, &context, &error));
  troika_model_options image = TROIKA_MODEL_OPTIONS_INIT;
  image.input_height = image.input_width = c.side;
  troika_model model = nullptr;
  const bool is_sequence = std::string(c.model) == "sequences";
  if (is_sequence)
    model = sequence_model(context, c.side);
  else
    ok(troika_model_create(context, c.model, &image, &model, &error));
  const int64_t dims[] = {1, c.side, c.side};
  troika_dataset dataset = nullptr;
  ok(troika_dataset_create_synthetic(context, dims + is_sequence, 3 - is_sequence, 56, 10, 1, &dataset, &error));
  if (c.is_uneven) {
    const std::vector<float> weights(56, 0.5f);
    troika_dataset weighted = nullptr;
    ok(troika_dataset_weigh(dataset, weights.data(), 56, &weighted, &error));
    troika_dataset_destroy(dataset);
    dataset = weighted;
  }
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  batches.batch = 8;
  batches.shuffle = 1;
  troika_loader loader = nullptr;
  ok(troika_loader_create(dataset, &batches, &loader, &error));
  const troika_device devices[] = {
      {TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}, {TROIKA_DEVICE_CPU, 2}, {TROIKA_DEVICE_CPU, 3}};
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.momentum = 0.9;
  options.warmup_steps = 3;
  options.bucket_bytes = 4096;
  options.collect_trace = 1;
  options.mesh.layer = c.layer;
  options.mesh.channel = c.channel;
  options.micro_batches = c.micro_batches;
  options.precision = c.precision;
  options.recompute_segments = is_sequence ? 4 : 0;
  const double shares[] = {3, 1}, class_weights[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  if (c.is_uneven) {
    options.shares = shares;
    options.share_count = 2;
    options.class_weights = class_weights;
    options.class_weight_count = 10;
    options.sample_weights = 1;
  }
  troika_trainer trainer = nullptr;
  ok(troika_model_attach(model, devices, c.devices, &options, &trainer, &error));
  ok(troika_trainer_set_progress(
      trainer, [](const troika_progress*, void*) { return 0; }, nullptr, nullptr, &error));

  troika_batch batch = nullptr;
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  for (int step = 0; step < 7; ++step) {
    if (step == 2) reset_allocation_count();
    ok(troika_loader_next(loader, &batch, &error));
    ok(troika_trainer_step(trainer, batch, &result, &error));
  }
  EXPECT_EQ(allocation_count(), 0) << "in 5 steps";

  troika_metrics metrics = TROIKA_METRICS_INIT;
  for (int epoch = 0; epoch < 2; ++epoch) {
    reset_allocation_count();
    ok(troika_trainer_train_epoch(trainer, loader, &metrics, &error));
  }
  EXPECT_EQ(allocation_count(), 0) << "in an epoch";

  troika_trainer_destroy(trainer);
  troika_loader_destroy(loader);
  troika_dataset_destroy(dataset);
  troika_model_destroy(model);
  troika_context_destroy(context);
}

INSTANTIATE_TEST_SUITE_P(
    Of, NoAllocation,
    testing::Values(Case{"lenet_on_1_device", "d2l_lenet", 28, 1}, Case{"lenet_on_2_devices", "d2l_lenet", 28, 2},
                    Case{"resnet18_on_1_device", "d2l_resnet18", 8, 1},
                    Case{"resnet18_on_2_devices", "d2l_resnet18", 8, 2},
                    Case{"sequences_on_1_device", "sequences", 28, 1},
                    Case{"sequences_on_2_devices", "sequences", 28, 2},
                    Case{"lenet_in_micro_batches", "d2l_lenet", 28, 2, 1, 1, 2},
                    Case{"lenet_by_layer_and_channel", "d2l_lenet", 28, 4, 2, 2, 2},
                    Case{"lenet_in_uneven_parts", "d2l_lenet", 28, 2, 1, 1, 1, true},
                    Case{"resnet18_in_bf16", "d2l_resnet18", 28, 1, 1, 1, 1, false, TROIKA_PRECISION_BF16}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace troika::test
