// Attaching a model: the options, and the effect on an earlier trainer.
#include <cmath>
#include <filesystem>
#include <functional>

#include "api/api_test.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

class AttachApi : public ApiTest {};

TEST_F(AttachApi, attaches_or_says_why_not) {
  make_model();
  const troika_device devices[] = {kCpu0, kCpu1};
  const auto attach = [&](troika_model model, const troika_device* list, int32_t n) {
    troika_trainer trainer = garbage<troika_trainer>();
    const troika_status status = troika_model_attach(model, list, n, nullptr, &trainer, &error_);
    EXPECT_EQ(trainer, nullptr);
    return status;
  };
  expect_refused(attach(nullptr, devices, 2), kInvalid, "troika_model_attach: argument 'model' is NULL");
  expect_refused(attach(cast<troika_model>(context_), devices, 2), kInvalid, "'model' is not a live handle");
  expect_refused(attach(model_, nullptr, 2), kInvalid, "argument 'devices' is NULL");
  for (int32_t n : {0, -1, 1025})
    expect_refused(attach(model_, devices, n), kInvalid,
                   "device_count is " + std::to_string(n) + ", need 1 to 1024 devices");
  expect_refused(troika_model_attach(model_, devices, 2, nullptr, nullptr, &error_), kInvalid,
                 "argument 'out_trainer' is NULL");
  const troika_device unknown[] = {kCpu0, {3, 0}}, far[] = {kCpu0, {TROIKA_DEVICE_CPU, 5000}},
                      gpu[] = {kCpu0, {TROIKA_DEVICE_CUDA, 999}};
  expect_refused(attach(model_, unknown, 2), kInvalid, "device.kind is 3");
  expect_refused(attach(model_, far, 2), TROIKA_ERROR_DEVICE_UNAVAILABLE, "cpu:5000");
  expect_refused(attach(model_, gpu, 2), TROIKA_ERROR_DEVICE_UNAVAILABLE, "cuda:999");
  troika_model unfinished = nullptr;
  expect_ok(troika_model_create_empty(context_, "unfinished", &unfinished, &error_));
  expect_refused(attach(unfinished, devices, 2), kInvalid, "model 'unfinished': has no output yet");
  troika_model_destroy(unfinished);
}

TEST_F(AttachApi, refuses_options_and_names_the_field) {
  make_model();
  const troika_device devices[] = {kCpu0};
  const auto refuse = [&](const std::string& message, const std::function<void(troika_trainer_options&)>& change) {
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    change(options);
    troika_trainer trainer = garbage<troika_trainer>();
    expect_refused(troika_model_attach(model_, devices, 1, &options, &trainer, &error_), kInvalid, message);
    EXPECT_EQ(trainer, nullptr);
  };
  const std::string at = "troika_model_attach: options.";
  for (int32_t v : {0, 6}) refuse(at + "loss is " + std::to_string(v), [&](auto& o) { o.loss = v; });
  for (double v : {0.0, -1.0, double(NAN), double(INFINITY)})
    refuse(at + "huber_delta is", [&](auto& o) { o.huber_delta = v; });
  for (int32_t v : {0, 3}) {
    refuse(at + "reduction is " + std::to_string(v), [&](auto& o) { o.reduction = v; });
  }
  for (int32_t v : {0, 5}) refuse(at + "precision is " + std::to_string(v), [&](auto& o) { o.precision = v; });
  for (int32_t v : {0, 10}) refuse(at + "schedule is " + std::to_string(v), [&](auto& o) { o.schedule = v; });
  for (double v : {-0.1, double(NAN), double(INFINITY)}) {
    refuse(at + "learning_rate is", [&](auto& o) { o.learning_rate = v; });
    refuse(at + "momentum is", [&](auto& o) { o.momentum = v; });
    refuse(at + "weight_decay is", [&](auto& o) { o.weight_decay = v; });
    refuse(at + "schedule_gamma is", [&](auto& o) { o.schedule_gamma = v; });
    refuse(at + "schedule_min is", [&](auto& o) { o.schedule_min = v; });
    refuse(at + "max_gradient_norm is", [&](auto& o) { o.max_gradient_norm = v; });
  }
  for (double v : {-1.0, 0.5, double(NAN), 1e9}) refuse(at + "loss_scale is", [&](auto& o) { o.loss_scale = v; });
  for (int32_t v : {0, -1}) refuse(at + "loss_scale_interval is", [&](auto& o) { o.loss_scale_interval = v; });
  refuse(at + "momentum is 1", [](auto& o) { o.momentum = 1; });
  refuse(at + "nesterov is 2", [](auto& o) { o.nesterov = 2; });
  refuse(at + "nesterov is 1, needs options.momentum above 0", [](auto& o) { o.nesterov = 1; });
  refuse(at + "schedule_period is 0, need at least 1", [](auto& o) { o.schedule = TROIKA_SCHEDULE_STEP; });
  refuse(at + "schedule_period is 1, need at least 2", [](auto& o) {
    o.schedule = TROIKA_SCHEDULE_ONE_CYCLE;
    o.schedule_period = 1;
  });
  refuse(at + "schedule_milestone_count is 0, need 1 to 65536",
         [](auto& o) { o.schedule = TROIKA_SCHEDULE_MULTI_STEP; });
  refuse(at + "schedule_milestones is NULL, schedule_milestone_count is 2",
         [](auto& o) { o.schedule_milestone_count = 2; });
  static constexpr int64_t kMilestones[] = {5, 3};
  static constexpr double kTable[] = {1, -1};
  refuse(at + "schedule_milestones[1] is 3, need at least 5", [](auto& o) {
    o.schedule_milestones = kMilestones;
    o.schedule_milestone_count = 2;
  });
  refuse(at + "schedule_table[1] is -1, need at least 0", [](auto& o) {
    o.schedule_table = kTable;
    o.schedule_table_count = 2;
  });
  refuse(at + "class_weights is NULL, class_weight_count is 3", [](auto& o) { o.class_weight_count = 3; });
  refuse(at + "class_weight_count is -1", [](auto& o) { o.class_weight_count = -1; });
  refuse(at + "class_weights[1] is -1, need 0, or 1e-15 to 1e+15", [](auto& o) {
    o.class_weights = kTable;
    o.class_weight_count = 2;
  });
  refuse(at + "class_weight_count is 1, model 'net' has 3 classes; needs a weight for each", [](auto& o) {
    o.class_weights = kTable;
    o.class_weight_count = 1;
  });
  refuse(at + "class_weights is set, needs options.loss TROIKA_LOSS_CROSS_ENTROPY", [](auto& o) {
    o.loss = TROIKA_LOSS_HUBER;
    o.class_weights = kTable;
    o.class_weight_count = 1;
  });
  refuse(at + "shares is NULL, share_count is 1", [](auto& o) { o.share_count = 1; });
  refuse(at + "shares[1] is -1", [](auto& o) {
    o.shares = kTable;
    o.share_count = 2;
  });
  static constexpr double kShares[] = {3, 1};
  refuse(at + "share_count is 2, the mesh 1x1x1 divides the batch into 1; needs a size for each", [](auto& o) {
    o.shares = kShares;
    o.share_count = 2;
  });
  refuse(at + "share_count is 1 and logical_shards is 2, which divide the batch differently", [](auto& o) {
    o.shares = kShares;
    o.share_count = 1;
    o.logical_shards = 2;
  });
  static constexpr double kFarApart[] = {1, 1e-7};
  refuse(at + "share_count is 2, the mesh 1x1x1", [](auto& o) {
    o.shares = kFarApart;
    o.share_count = 2;
  });
  refuse(at + "reserved2 is 1", [](auto& o) { o.reserved2 = 1; });
  refuse(at + "sample_weights is 2", [](auto& o) { o.sample_weights = 2; });
  for (int32_t v : {0, TROIKA_OPTIMIZER_ADAGRAD + 1})
    refuse(at + "optimizer is " + std::to_string(v), [&](auto& o) { o.optimizer = v; });
  refuse(at + "momentum is 0.9, optimizer adam has none", [](auto& o) {
    o.optimizer = TROIKA_OPTIMIZER_ADAM;
    o.momentum = 0.9;
  });
  refuse(at + "beta1 is 0.9, optimizer sgd has none", [](auto& o) { o.beta1 = 0.9; });
  refuse(at + "beta2 is 1, needs at least 0 and below 1", [](auto& o) {
    o.optimizer = TROIKA_OPTIMIZER_LAMB;
    o.beta2 = 1;
  });
  refuse(at + "average_decay is 1, need at least 0 and below 1", [](auto& o) { o.average_decay = 1; });
  refuse(at + "evaluate_parameters is 2", [](auto& o) { o.evaluate_parameters = 2; });
  refuse(at + "skip_decay_one_axis is -1", [](auto& o) { o.skip_decay_one_axis = -1; });
  refuse(at + "schedule_period is -4", [](auto& o) { o.schedule_period = -4; });
  refuse(at + "warmup_steps is -1", [](auto& o) { o.warmup_steps = -1; });
  refuse(at + "bucket_bytes is -1", [](auto& o) { o.bucket_bytes = -1; });
  refuse(at + "group_count is -1", [](auto& o) { o.group_count = -1; });
  refuse(at + "deadline_ms is 0", [](auto& o) { o.deadline_ms = 0; });
  refuse(at + "collect_trace is 2", [](auto& o) { o.collect_trace = 2; });
  refuse(at + "no_fusion is -1", [](auto& o) { o.no_fusion = -1; });
  refuse("troika_trainer_options: struct_size is 0", [](auto& o) { o.struct_size = 0; });
  refuse("troika_trainer_options: struct_size is 12", [](auto& o) { o.struct_size = 12; });
  refuse(at + "micro_batches is -1", [](auto& o) { o.micro_batches = -1; });
  refuse(at + "micro_batches is 1025, need 0 to 1024", [](auto& o) { o.micro_batches = 1025; });
  refuse(at + "logical_shards is -8", [](auto& o) { o.logical_shards = -8; });
  refuse(at + "logical_shards is 2048, need 0 to 1024", [](auto& o) { o.logical_shards = 2048; });
  refuse(at + "logical_shards is 6, need a power of 2", [](auto& o) { o.logical_shards = 6; });
  refuse(at + "logical_shards is 4, needs options.micro_batches of 1; found 2",
         [](auto& o) { o.logical_shards = 4, o.micro_batches = 2; });
  refuse(at + "mesh.data is -1", [](auto& o) { o.mesh.data = -1; });
  refuse(at + "mesh.layer is -1", [](auto& o) { o.mesh.layer = -1; });
  refuse(at + "mesh.channel is -1", [](auto& o) { o.mesh.channel = -1; });
  refuse("mesh: data is 0, layer is 2 and channel is 1, needs a multiple of 2 devices; found 1",
         [](auto& o) { o.mesh.layer = 2; });
  refuse(at + "layer_schedule is 4, need TROIKA_LAYER_SCHEDULE_GPIPE", [](auto& o) { o.layer_schedule = 4; });
  refuse(at + "layer_chunks is -1", [](auto& o) { o.layer_chunks = -1; });
  refuse(at + "layer_chunks is 1025, need 0 to 1024", [](auto& o) { o.layer_chunks = 1025; });
  refuse(at + "layer_cuts is 'a,,b', need names separated by commas", [](auto& o) { o.layer_cuts = "a,,b"; });
  refuse(at + "layer_cuts is '', need names separated by commas", [](auto& o) { o.layer_cuts = ""; });
  refuse(at + "sync_batch_norm is 2, need 0 to 1", [](auto& o) { o.sync_batch_norm = 2; });
  refuse(at + "shard_optimizer is -1, need 0 to 1", [](auto& o) { o.shard_optimizer = -1; });
  refuse(at + "samples_on_host is 2, need 0 to 1", [](auto& o) { o.samples_on_host = 2; });
  refuse(at + "launches_in_turn is 2, need 0 to 1", [](auto& o) { o.launches_in_turn = 2; });
  refuse(at + "late_updates is 2, need 0 to 1", [](auto& o) { o.late_updates = 2; });
  refuse(at + "late_updates is 1 and max_gradient_norm is 2, which needs all gradients before any update; set only one",
         [](auto& o) { o.late_updates = 1, o.max_gradient_norm = 2; });
  refuse(at + "late_updates is 1 and losses are scaled, which needs all gradients before any update; set only one",
         [](auto& o) { o.late_updates = 1, o.loss_scale = 8; });
  refuse(at + "late_updates is 1 and skip_not_finite is 1, which needs all gradients before any update; set only one",
         [](auto& o) { o.late_updates = 1, o.skip_not_finite = 1; });
  refuse(at + "late_updates is 1 and shard_optimizer is 1, which sends parameters after each update; set only one",
         [](auto& o) { o.late_updates = 1, o.shard_optimizer = 1; });
  refuse(at + "gradient_compression is 3, need TROIKA_COMPRESSION_NONE", [](auto& o) { o.gradient_compression = 3; });
  refuse(at + "recompute_segments is -1, need 0 to 2147483647", [](auto& o) { o.recompute_segments = -1; });
  refuse(at + "activation_budget_bytes is -5, need at least 0", [](auto& o) { o.activation_budget_bytes = -5; });
  for (const char* list : {"", ",", "fc,", ",fc", "fc,,fc"})
    refuse(at + "recompute_layers is '" + list + "', need names separated by commas",
           [&](auto& o) { o.recompute_layers = list; });
  refuse(at + "activation_budget_bytes is 9, which chooses by itself, needs options.recompute_segments of 0",
         [](auto& o) { o.activation_budget_bytes = 9, o.recompute_segments = 2; });
  refuse(at + "activation_budget_bytes is 9, which chooses by itself, needs options.recompute_layers of NULL",
         [](auto& o) { o.activation_budget_bytes = 9, o.recompute_layers = "fc"; });
  refuse(at + "loss is 9, need TROIKA_LOSS_CROSS_ENTROPY, TROIKA_LOSS_MEAN_SQUARED_ERROR", [](auto& o) { o.loss = 9; });
  refuse(at + "schedule is 0, need TROIKA_SCHEDULE_CONSTANT, TROIKA_SCHEDULE_STEP, TROIKA_SCHEDULE_COSINE, ",
         [](auto& o) { o.schedule = 0; });
  refuse("options.groups is NULL, group_count is 1", [](auto& o) { o.group_count = 1; });

  troika_parameter_group group = TROIKA_PARAMETER_GROUP_INIT;
  const auto refuse_group = [&](const std::string& message,
                                const std::function<void(troika_parameter_group&)>& change) {
    group = TROIKA_PARAMETER_GROUP_INIT;
    group.pattern = "fc.*";
    change(group);
    refuse(message, [&](auto& o) {
      o.groups = &group;
      o.group_count = 1;
    });
  };
  refuse_group("options.groups[0].pattern", [](auto& g) { g.pattern = nullptr; });
  refuse_group("options.groups[0].frozen is 2", [](auto& g) { g.frozen = 2; });
  refuse_group("options.groups[0].learning_rate is", [](auto& g) { g.learning_rate = NAN; });
  refuse_group("options.groups[0].weight_decay is", [](auto& g) { g.weight_decay = INFINITY; });
  refuse_group("troika_parameter_group: struct_size is 0", [](auto& g) { g.struct_size = 0; });
  refuse_group("every parameter is frozen", [](auto& g) { g.frozen = 1; });
  make_loader();
  expect_ok(troika_model_attach(model_, devices, 1, nullptr, &trainer_, &error_));
  expect_ok(step());
}

TEST_F(AttachApi, computes_activations_again_as_it_is_told) {
  make_model();
  make_loader();
  const troika_device devices[] = {kCpu0, kCpu1};
  const auto attach = [&](int32_t segments, const char* layers, int64_t budget_bytes) {
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    options.recompute_segments = segments;
    options.recompute_layers = layers;
    options.activation_budget_bytes = budget_bytes;
    troika_trainer_destroy(trainer_);
    trainer_ = garbage<troika_trainer>();
    return troika_model_attach(model_, devices, 2, &options, &trainer_, &error_);
  };
  expect_refused(attach(0, "fc,conv*", 0), TROIKA_ERROR_NOT_FOUND,
                 "recompute_layers 'conv*': no layer of model 'net' matches it");
  EXPECT_EQ(trainer_, nullptr);
  expect_refused(attach(0, nullptr, 8), TROIKA_ERROR_OUT_OF_MEMORY, "activation_budget_bytes is 8; allow more");
  EXPECT_EQ(trainer_, nullptr);
  for (int32_t segments : {1, 2, INT32_MAX}) {
    expect_ok(attach(segments, "f?,*", 0));
    expect_ok(step());
  }
  expect_ok(attach(0, nullptr, 4096));
  expect_ok(step());
}

TEST_F(AttachApi, answers_detached_after_the_model_was_attached_again) {
  make_trainer();
  expect_ok(step());
  troika_trainer newer = nullptr;
  const troika_device devices[] = {kCpu2};
  expect_ok(troika_model_attach(model_, devices, 1, nullptr, &newer, &error_));
  const std::vector<float> before = weights();
  troika_tensor input = make_tensor(TROIKA_DTYPE_F32, {2, 1, 4, 4}), output = garbage<troika_tensor>();
  troika_model model = garbage<troika_model>();
  float values[48];
  const TempDirectory folder;
  const std::string path = (folder.path() / "state").string();
  const auto refuse = [&](troika_status status) {
    expect_refused(status, TROIKA_ERROR_DETACHED, "model 'net' was attached again");
  };
  refuse(step());
  refuse(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_));
  refuse(troika_trainer_evaluate(trainer_, loader_, nullptr, &error_));
  refuse(troika_trainer_evaluate_on(trainer_, kCpu0, loader_, nullptr, &error_));
  refuse(troika_trainer_predict(trainer_, input, &output, &error_));
  EXPECT_EQ(output, nullptr);
  refuse(troika_trainer_get_parameter(trainer_, "fc.weight", kCpu0, values, 192, &error_));
  refuse(troika_trainer_get_gradient(trainer_, "fc.weight", values, 192, &error_));
  refuse(troika_trainer_check_replicas(trainer_, &error_));
  refuse(troika_trainer_unwrap(trainer_, &model, &error_));
  EXPECT_EQ(model, nullptr);
  refuse(troika_trainer_explain(trainer_, 2, nullptr, 0, nullptr, &error_));
  refuse(troika_trainer_save(trainer_, path.c_str(), &error_));
  EXPECT_FALSE(std::filesystem::exists(path));
  refuse(troika_trainer_load(trainer_, path.c_str(), nullptr, &error_));
  EXPECT_EQ(weights(), before);
  troika_trainer_destroy(trainer_);
  trainer_ = newer;
  EXPECT_EQ(weights(), before) << "the old trainer's end changes nothing";
  expect_ok(step());
  EXPECT_NE(weights(), before);
  troika_tensor_destroy(input);
}

TEST_F(AttachApi, keeps_its_model_where_attaching_again_is_refused) {
  make_trainer();
  expect_ok(step());
  troika_trainer other = nullptr;
  const troika_device wrong[] = {{TROIKA_DEVICE_CPU, 5000}};
  expect_refused(troika_model_attach(model_, wrong, 1, nullptr, &other, &error_), TROIKA_ERROR_DEVICE_UNAVAILABLE,
                 "cpu:5000");
  expect_ok(step());
}

}  // namespace
}  // namespace troika::test
