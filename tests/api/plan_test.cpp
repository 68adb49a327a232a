// The C functions of plan.h: their results, their defaults, and every error.
#include "api/api_test.h"

namespace troika::test {
namespace {

class PlanTest : public ApiTest {
 protected:
  troika_status estimate(const troika_mesh& mesh) {
    return troika_plan_estimate(model_, &options_, &mesh, &plan_, &error_);
  }
  troika_plan_options options_ = TROIKA_PLAN_OPTIONS_INIT;
  troika_plan_result plan_ = TROIKA_PLAN_RESULT_INIT;
};

TEST_F(PlanTest, EstimatesAMesh) {
  make_model();  // 16 inputs, 3 classes: 48 + 3 parameters
  options_.devices = 2;
  options_.batch = 8;
  options_.momentum = 0.9;
  expect_ok(estimate({2, 1, 1, 0}));
  EXPECT_EQ(plan_.mesh.data, 2);
  EXPECT_EQ(plan_.mesh.layer, 1);
  EXPECT_EQ(plan_.mesh.channel, 1);
  EXPECT_EQ(plan_.parameter_bytes, 192 + 64);  // each begins at a multiple of 64 bytes
  EXPECT_EQ(plan_.gradient_bytes, 192 + 64);
  EXPECT_EQ(plan_.optimizer_bytes, 192 + 64);
  EXPECT_GE(plan_.activation_bytes, 4 * 64);  // 4 samples of 16 numbers
  EXPECT_EQ(plan_.total_bytes, 3 * (192 + 64) + plan_.activation_bytes);
  EXPECT_EQ(plan_.sent_bytes, 192 + 12);
  EXPECT_EQ(plan_.bubble, 0);
  EXPECT_GT(plan_.seconds, 0);
  EXPECT_EQ(plan_.fits, 1);
  options_.memory_bytes = plan_.total_bytes - 1;
  expect_ok(estimate({0, 1, 1, 0}));  // as many parts as devices
  EXPECT_EQ(plan_.mesh.data, 2);
  EXPECT_EQ(plan_.fits, 0);
}

TEST_F(PlanTest, AgreesWithATrainersMemory) {
  make_trainer();
  expect_ok(step());
  troika_memory_info memory = TROIKA_MEMORY_INFO_INIT;
  expect_ok(troika_trainer_memory(trainer_, 0, &memory, &error_));
  options_.devices = 2;
  options_.batch = 4;
  options_.momentum = 0.9;
  expect_ok(estimate({2, 1, 1, 0}));  // while the model has a trainer
  EXPECT_EQ(plan_.parameter_bytes, memory.parameter_bytes);
  EXPECT_EQ(plan_.gradient_bytes, memory.gradient_bytes);
  EXPECT_EQ(plan_.optimizer_bytes, memory.optimizer_bytes);
}

TEST_F(PlanTest, PlansForOneDeviceByDefault) {
  make_model();
  expect_ok(troika_plan_estimate(model_, nullptr, nullptr, &plan_, &error_));
  EXPECT_EQ(plan_.mesh.data, 1);
  EXPECT_EQ(plan_.sent_bytes, 0);
  EXPECT_EQ(plan_.fits, 1);
  const double f32 = plan_.seconds;
  expect_ok(troika_plan_choose(model_, nullptr, &plan_, &error_));
  EXPECT_EQ(plan_.seconds, f32);
  EXPECT_EQ(plan_.mesh.data, 1);
}

TEST_F(PlanTest, TakesAFasterMachineForEachPrecision) {
  ASSERT_EQ(troika_model_create(context_, "d2l_lenet", nullptr, &model_, &error_), TROIKA_OK);
  options_.memory_bandwidth = 1e29;  // only operations take time
  double last = 1e30;
  for (int32_t precision : {TROIKA_PRECISION_F32, TROIKA_PRECISION_TF32, TROIKA_PRECISION_BF16}) {
    options_.precision = precision;
    expect_ok(estimate({1, 1, 1, 0}));
    EXPECT_LT(plan_.seconds, last);
    last = plan_.seconds;
  }
  options_.operations_per_second = 989e12 / 4;
  expect_ok(estimate({1, 1, 1, 0}));
  EXPECT_NEAR(plan_.seconds, 4 * last, 1e-3 * last);
}

TEST_F(PlanTest, ChoosesTheFastestThatFits) {
  ASSERT_EQ(troika_model_create(context_, "d2l_lenet", nullptr, &model_, &error_), TROIKA_OK);
  options_.devices = 4;
  expect_ok(troika_plan_choose(model_, &options_, &plan_, &error_));
  const troika_plan_result best = plan_;
  for (const troika_mesh& mesh :
       {troika_mesh{4, 1, 1, 0}, {2, 2, 1, 0}, {2, 1, 2, 0}, {1, 4, 1, 0}, {1, 2, 2, 0}, {1, 1, 4, 0}}) {
    expect_ok(estimate(mesh));
    EXPECT_LE(best.seconds, plan_.seconds);
  }
  options_.memory_bytes = 1000;
  expect_refused(troika_plan_choose(model_, &options_, &plan_, &error_), TROIKA_ERROR_NOT_FOUND,
                 "plan: model 'd2l_lenet' fits no mesh of 4 devices with 1000 bytes each; mesh ");
}

TEST_F(PlanTest, SumsGradientsOverNodes) {
  ASSERT_EQ(troika_model_create(context_, "d2l_lenet", nullptr, &model_, &error_), TROIKA_OK);
  options_.devices = 8;
  options_.batch = 64;
  expect_ok(estimate({8, 1, 1, 0}));
  const double together = plan_.seconds;
  options_.devices_per_node = 8;
  expect_ok(estimate({8, 1, 1, 0}));
  EXPECT_EQ(plan_.seconds, together) << "one node";
  options_.devices_per_node = 4;
  options_.node_bandwidth = 1e8;
  expect_ok(estimate({8, 1, 1, 0}));
  const double slow = plan_.seconds;
  EXPECT_GT(slow, together);
  options_.node_bandwidth = 1e9;
  expect_ok(estimate({8, 1, 1, 0}));
  EXPECT_LT(plan_.seconds, slow);
  expect_refused(estimate({4, 2, 1, 0}), TROIKA_ERROR_UNSUPPORTED,
                 "plan: found a split by layer or channel over nodes of 4 devices, need a split by data alone");
  expect_ok(troika_plan_choose(model_, &options_, &plan_, &error_));
  EXPECT_EQ(plan_.mesh.data, 8);
  options_.shard_optimizer = 1;
  expect_refused(estimate({8, 1, 1, 0}), TROIKA_ERROR_UNSUPPORTED, "plan: found a sharded optimizer over nodes");
  options_.shard_optimizer = 0;
  options_.struct_size = 136;  // of version 1.0: all devices are on one node
  expect_ok(estimate({8, 1, 1, 0}));
  EXPECT_EQ(plan_.seconds, together);
}

TEST_F(PlanTest, RefusesWhatCannotBe) {
  make_model();
  auto refuse = [&](auto change, const std::string& part) {
    const troika_plan_options before = options_;
    change(options_);
    expect_refused(estimate({1, 1, 1, 0}), kInvalid, "troika_plan_estimate: options." + part);
    expect_refused(troika_plan_choose(model_, &options_, &plan_, &error_), kInvalid,
                   "troika_plan_choose: options." + part);
    options_ = before;
  };
  refuse([](auto& o) { o.devices = 0; }, "devices is 0, need 1 to 4096");
  refuse([](auto& o) { o.batch = 0; }, "batch is 0, need 1 to ");
  refuse([](auto& o) { o.loss = 9; }, "loss is 9, need TROIKA_LOSS_CROSS_ENTROPY");
  refuse([](auto& o) { o.precision = 0; }, "precision is 0, need TROIKA_PRECISION_F32");
  refuse([](auto& o) { o.momentum = 1; }, "momentum is 1, needs at least 0 and below 1");
  refuse([](auto& o) { o.micro_batches = -1; }, "micro_batches is -1, need 0 to 1024");
  refuse([](auto& o) { o.layer_schedule = 4; }, "layer_schedule is 4, need TROIKA_LAYER_SCHEDULE_GPIPE");
  refuse([](auto& o) { o.layer_chunks = -1; }, "layer_chunks is -1, need 0 to 1024");
  refuse([](auto& o) { o.device_kind = 3; }, "device_kind is 3, need TROIKA_DEVICE_CPU or TROIKA_DEVICE_CUDA");
  refuse([](auto& o) { o.memory_bytes = 0; }, "memory_bytes is 0, need at least 1");
  refuse([](auto& o) { o.operations_per_second = 0; }, "operations_per_second is 0, need at least 1");
  refuse([](auto& o) { o.memory_bandwidth = -1; }, "memory_bandwidth is -1, need at least 1");
  refuse([](auto& o) { o.link_bandwidth = 0; }, "link_bandwidth is 0, need at least 1");
  refuse([](auto& o) { o.link_latency = -1; }, "link_latency is -1, need at least 0");
  refuse([](auto& o) { o.devices_per_node = -1; }, "devices_per_node is -1, need 0 to 4096");
  refuse([](auto& o) { o.devices_per_node = 2; }, "devices is 1, need a multiple of 2, the devices per node");
  refuse([](auto& o) { o.reserved = 1; }, "reserved is 1, need 0");
  refuse([](auto& o) { o.node_bandwidth = 0; }, "node_bandwidth is 0, need at least 1");
  refuse([](auto& o) { o.node_latency = -1; }, "node_latency is -1, need at least 0");
  refuse([](auto& o) { o.logical_shards = -1; }, "logical_shards is -1, need 0 to 1024");
  refuse([](auto& o) { o.shard_optimizer = 2; }, "shard_optimizer is 2, need 0 to 1");
  refuse([](auto& o) { o.gradient_compression = 3; }, "gradient_compression is 3, need TROIKA_COMPRESSION_NONE");
  refuse([](auto& o) { o.max_gradient_norm = -1; }, "max_gradient_norm is -1, need at least 0");
  refuse([](auto& o) { o.recompute_segments = -1; }, "recompute_segments is -1, need 0 to 2147483647");
  refuse([](auto& o) { o.activation_budget_bytes = -1; }, "activation_budget_bytes is -1, need at least 0");
  refuse([](auto& o) { o.recompute_layers = "fc,"; }, "recompute_layers is 'fc,', need names separated by commas");
  refuse([](auto& o) { o.activation_budget_bytes = 9, o.recompute_layers = "fc"; },
         "activation_budget_bytes is 9, which chooses by itself, needs options.recompute_layers of NULL");

  EXPECT_EQ(plan_.total_bytes, 0) << "a refused call has written its result";
  expect_refused(estimate({-1, 1, 1, 0}), kInvalid, "mesh->data is -1, need 0 to 4096");
  expect_refused(estimate({2, 1, 1, 0}), kInvalid,
                 "mesh: data is 2, layer is 1 and channel is 1, needs 2 devices; found 1");
  expect_refused(estimate({1, 1, 1, 7}), kInvalid, "mesh->reserved is 7, need 0");
  options_.devices = 8;
  expect_refused(estimate({1, 8, 1, 0}), kInvalid, "cannot be cut into 8 stages");
  expect_refused(estimate({1, 1, 8, 0}), kInvalid, "linear 'fc' has 3 output channels, cannot be split over 8 devices");
  expect_refused(troika_plan_estimate(nullptr, &options_, nullptr, &plan_, &error_), kInvalid,
                 "argument 'model' is NULL");
  expect_refused(troika_plan_estimate(model_, &options_, nullptr, nullptr, &error_), kInvalid,
                 "argument 'out_plan' is NULL");
  plan_.struct_size = 8;
  expect_refused(estimate({8, 1, 1, 0}), kInvalid, "out_plan->struct_size is 8");
}

TEST_F(PlanTest, CountsRecomputeShardsAndCompression) {
  ASSERT_EQ(troika_model_create(context_, "d2l_resnet18", nullptr, &model_, &error_), TROIKA_OK);
  options_.devices = 2;
  options_.momentum = 0.9;
  expect_ok(estimate({2, 1, 1, 0}));
  const troika_plan_result whole = plan_;
  options_.recompute_segments = 3;
  expect_ok(estimate({2, 1, 1, 0}));
  EXPECT_LT(plan_.activation_bytes, whole.activation_bytes);
  EXPECT_GT(plan_.seconds, whole.seconds);
  const int64_t in_segments = plan_.activation_bytes;
  options_.recompute_segments = 0;
  options_.activation_budget_bytes = in_segments;
  expect_ok(estimate({2, 1, 1, 0}));
  EXPECT_LE(plan_.activation_bytes, in_segments);
  options_.activation_budget_bytes = 1;
  expect_refused(estimate({2, 1, 1, 0}), TROIKA_ERROR_OUT_OF_MEMORY, "activation_budget_bytes is 1; allow more");
  options_.activation_budget_bytes = 0;
  options_.recompute_layers = "nothing";
  expect_refused(estimate({2, 1, 1, 0}), TROIKA_ERROR_NOT_FOUND,
                 "recompute_layers 'nothing': no layer of model 'd2l_resnet18'");
  options_.recompute_layers = nullptr;
  options_.gradient_compression = TROIKA_COMPRESSION_BF16;
  expect_ok(estimate({2, 1, 1, 0}));
  EXPECT_EQ(2 * plan_.sent_bytes, whole.sent_bytes);
  options_.gradient_compression = TROIKA_COMPRESSION_NONE;
  options_.shard_optimizer = 1;
  expect_ok(estimate({2, 1, 1, 0}));
  EXPECT_LT(plan_.optimizer_bytes, whole.optimizer_bytes);
  EXPECT_GE(plan_.optimizer_bytes, whole.optimizer_bytes / 2);
  EXPECT_GT(plan_.sent_bytes, whole.sent_bytes);
}

TEST_F(PlanTest, ChoosesWhatAttachingTakes) {
  ASSERT_EQ(troika_model_create(context_, "mlp", nullptr, &model_, &error_), TROIKA_OK);
  options_.devices = 2;
  options_.link_bandwidth = 1e6;  // too slow for the gradients
  expect_ok(troika_plan_choose(model_, &options_, &plan_, &error_));
  EXPECT_EQ(plan_.mesh.data, 1);
  options_.device_kind = TROIKA_DEVICE_CPU;
  const troika_device devices[] = {kCpu0, kCpu1};
  troika_trainer_options trainer_options = TROIKA_TRAINER_OPTIONS_INIT;
  for (int32_t shards : {0, 2}) {
    options_.logical_shards = trainer_options.logical_shards = shards;
    expect_ok(troika_plan_choose(model_, &options_, &plan_, &error_));
    EXPECT_EQ(plan_.mesh.data, shards > 0 ? 2 : 1);
    trainer_options.mesh = plan_.mesh;
    expect_ok(troika_model_attach(model_, devices, 2, &trainer_options, &trainer_, &error_));
    troika_trainer_destroy(trainer_);
    trainer_ = nullptr;
  }
  options_.device_kind = TROIKA_DEVICE_CUDA;
  expect_refused(estimate({1, 2, 1, 0}), TROIKA_ERROR_UNSUPPORTED,
                 "mesh.layer is 2, which does not go together with logical_shards");
}

TEST_F(PlanTest, KnowsTheArenaThatCpusTake) {
  ASSERT_EQ(troika_model_create(context_, "d2l_lenet", nullptr, &model_, &error_), TROIKA_OK);
  const troika_device devices[] = {kCpu0, kCpu1};
  options_.batch = 32;
  for (int32_t count : {1, 2}) {
    options_.devices = count;
    options_.device_kind = 0;
    expect_ok(estimate({count, 1, 1, 0}));
    const int64_t by_lifetimes = plan_.activation_bytes;
    options_.device_kind = TROIKA_DEVICE_CPU;
    expect_ok(estimate({count, 1, 1, 0}));
    expect_ok(troika_model_attach(model_, devices, count, nullptr, &trainer_, &error_));
    expect_ok(troika_trainer_explain(trainer_, 32, nullptr, 0, nullptr, &error_));
    troika_memory_info memory = TROIKA_MEMORY_INFO_INIT;
    expect_ok(troika_trainer_memory(trainer_, 0, &memory, &error_));
    EXPECT_EQ(plan_.activation_bytes, memory.arena_bytes);
    EXPECT_NE(plan_.activation_bytes, by_lifetimes);
    troika_trainer_destroy(trainer_);
    trainer_ = nullptr;
  }
}

TEST_F(PlanTest, RefusesAModelWithoutOutput) {
  ASSERT_EQ(troika_model_create_empty(context_, "net", &model_, &error_), TROIKA_OK);
  expect_refused(estimate({1, 1, 1, 0}), kInvalid, "model 'net': has no output yet; set it before planning");
}

}  // namespace
}  // namespace troika::test
