// Tests of the choice of kernels in plans for a GPU, by printed plans. No GPU is needed: the device
// is only for planning.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "backends/cuda/cuda_device.h"
#include "core/text.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "ops/op_def.h"
#include "plan/compile.h"
#include "plan/launch_order.h"
#include "support/planned_memory.h"
#include "support/throws.h"

namespace troika {
namespace {

// Plans a whole training step of a model for cuda:0. `adjust` may change the request.
Plan plan_of(const Model& model, DType compute, bool is_scaled = false, int64_t batch = 8, double max_gradient_norm = 0,
             const std::function<void(CompileRequest&)>& adjust = {}, bool has_plain_state = false) {
  CompileRequest request(model.graph());
  request.local_batch = request.global_batch = batch;
  request.micro_batches = {{{0, batch}}};
  request.spec.compute = compute;
  request.spec.settings[Setting::momentum] = 0.9;
  request.spec.conditioning.is_scaled = is_scaled;
  request.spec.conditioning.max_norm = max_gradient_norm;
  std::vector<NamedBytes> sizes;
  std::vector<StateEntry> entries;
  for (const Value& value : model.graph().values())
    if (value.role == Role::parameter) {
      request.trainable.push_back(value.name);
      sizes.push_back({value.name, value.type.bytes()});
    }
  request.buckets = make_buckets(sizes, 1 << 20);
  request.counted_gradients.names = request.trainable;
  auto add = [&](const std::string& entry_name, const TensorType& type, int bucket) {
    StateEntry entry;
    entry.name = entry_name;
    entry.type = type;
    entry.is_buffer = bucket < 0;
    entry.is_decided = bucket < 0 || has_plain_state;
    entry.bucket = bucket;
    entries.push_back(entry);
  };
  for (size_t b = 0; b < request.buckets.size(); ++b) {
    request.groups.push_back({request.buckets[b].parameters});
    for (const std::string& parameter : request.buckets[b].parameters)
      add(parameter, model.graph().type(*model.graph().find(parameter)), static_cast<int>(b));
  }
  for (const Value& value : model.graph().values())
    if (value.role == Role::buffer) add(value.name, value.type, -1);
  if (is_scaled) add(kLossScale, {DType::f32, {2}}, -1);
  if (adjust) adjust(request);
  if (request.spec.optimizer->counts_updates) add(kUpdateCount, {DType::i64, {1}}, -1);
  StateTable state(std::move(entries), request.spec.slots());
  cuda::CudaDevice device(0, cuda::CudaDevice::PlanOnly{});
  return compile(request, device, state, Log());
}

// Does the same for a model of the zoo.
Plan plan_of(const std::string& name, DType compute, bool is_scaled = false, int64_t batch = 8,
             double max_gradient_norm = 0, const std::function<void(CompileRequest&)>& adjust = {},
             bool has_plain_state = false) {
  return plan_of(*create_model(name, {}), compute, is_scaled, batch, max_gradient_norm, adjust, has_plain_state);
}

int count(const Plan& plan, const std::string& op) {
  int n = 0;
  for (const Launch& launch : plan.launches) n += launch.op == op;
  return n;
}

// d2l_resnet18 has 20 convolutions and a linear layer. At this batch size, the convolutions are
// long enough, and the linear layer is not.
TEST(CudaPlan, RunsLongGradientsOfWeightsBeside) {
  const auto with_least = [](double operations) {
    return plan_of("d2l_resnet18", DType::bf16, false, 1024, 0, [=](CompileRequest& request) {
      request.runs_beside = true;
      request.spec.least_beside = operations;
    });
  };
  const Plan in_turn = with_least(INFINITY), beside = with_least(5e8);
  for (const Launch& launch : in_turn.launches) EXPECT_FALSE(launch.is_beside) << launch.op;
  int found = 0;
  // The scratch of a concurrent launch is kept as long as its inputs. Its size differs between
  // GPUs.
  size_t most_scratch = 0;
  for (const Launch& launch : beside.launches) {
    EXPECT_EQ(launch.is_beside, launch.op == "conv2d_weight_gradient") << launch.op << ' ' << launch.layer;
    found += launch.is_beside;
    if (launch.is_beside) most_scratch = std::max(most_scratch, launch.scratch.bytes);
  }
  EXPECT_EQ(found, 20);
  EXPECT_LE(beside.arena_bytes, in_turn.arena_bytes * 11 / 10 + most_scratch)
      << "their inputs live only until the next concurrent launch";
  const LaunchOrder order = order_launches(beside, 0, beside.steps.size());
  // Each concurrent launch overlaps at least with the launch right after it, which does not wait.
  int overlapping = 0;
  for (size_t i = 0; i + 1 < order.size(); ++i)
    if (beside.launches[i].is_beside)
      overlapping += std::find(order[i + 1].begin(), order[i + 1].end(), i) == order[i + 1].end();
  EXPECT_EQ(overlapping, 20);
}

TEST(CudaPlan, HasAKernelOfTheGpuForEveryLaunch) {
  for (const char* model : {"d2l_lenet", "d2l_resnet18", "d2l_resnet18_stem7", "resnet50", "mlp"})
    for (DType compute : {DType::f32, DType::bf16, DType::f16}) {
      const Plan plan = plan_of(model, compute, compute == DType::f16);
      EXPECT_GE(plan.launches.size(), 5u);
      for (const Launch& launch : plan.launches) {
        EXPECT_EQ(launch.kernel_name.find("cuda:"), 0u) << model << ": " << launch.op << " has " << launch.kernel_name;
        EXPECT_TRUE(launch.kernel) << model << ": " << launch.op;
      }
    }
}

// Three blocks of d2l_resnet18 have a shortcut with stride 2. The gradient of its input is added
// within batch_norm2d's gradient, or within that of the block's first convolution.
TEST(CudaPlan, StoresGradientsOfShortcutsWithoutZeros) {
  for (DType compute : {DType::f32, DType::bf16}) {
    const Plan plan = plan_of("d2l_resnet18", compute),
               apart = plan_of("d2l_resnet18", compute, false, 8, 0, [](CompileRequest&r) { r.spec.fuse = false; });
    const auto sizes = [](const Plan& of) {
      std::map<std::string, size_t> bytes;  // of the input gradient of each layer
      for (const Launch& launch : of.launches)
        if (launch.op == "conv2d_input_gradient") bytes[launch.layer] = launch.outputs[0].bytes;
      return bytes;
    };
    const std::map<std::string, size_t> found = sizes(plan), with_zeros = sizes(apart);
    int smaller = 0;
    for (const auto& [layer, bytes] : with_zeros) smaller += found.at(layer) < bytes / 2;
    EXPECT_EQ(smaller, 3) << print_plan(plan);
  }
}

TEST(CudaPlan, GivesConvolutionsToCudnnAndLinearLayersToCublas) {
  const std::string text = print_plan(plan_of("d2l_resnet18", DType::bf16));
  EXPECT_NE(text.find("cuda:cudnn:any"), std::string::npos) << text;
  EXPECT_NE(text.find("cuda:cublaslt"), std::string::npos) << text;
}

TEST(CudaPlan, ComputesTheLastLayerOfAClassifierWithItsLoss) {
  for (DType compute : {DType::f32, DType::bf16, DType::f16})
    for (const char* model : {"d2l_lenet", "d2l_resnet18", "mlp"}) {
      const Plan plan = plan_of(model, compute, compute == DType::f16);
      EXPECT_EQ(count(plan, "linear_cross_entropy"), 1) << model;
      EXPECT_EQ(count(plan, "cross_entropy") + count(plan, "cross_entropy_gradient"), 0) << model;
    }
  EXPECT_EQ(count(plan_of("resnet50", DType::bf16), "cross_entropy"), 1) << "1,000 classes are many";
}

// The launch that makes the copies is the first, so that all others are one recording.
TEST(CudaPlan, KeepsCopiesOfParametersIfTheStepAloneChangesThem) {
  const auto copying_steps = [](DType compute, const std::function<void(CompileRequest&)>& adjust,
                                bool has_plain_state = false) {
    const Plan plan = plan_of("d2l_lenet", compute, false, 8, 0, adjust, has_plain_state);
    size_t last = 0;
    int steps = 0;
    for (size_t i = 0; i < plan.steps.size(); ++i)
      if (plan.steps[i].makes_copies) {
        ++steps;
        last = i;
      }
    EXPECT_EQ(last, 0u);
    EXPECT_EQ(plan.keeps_copies, steps > 0);
    return steps;
  };
  EXPECT_EQ(copying_steps(DType::bf16, {}), 1);
  EXPECT_EQ(copying_steps(DType::f16, {}), 1);
  EXPECT_EQ(copying_steps(DType::f32, {}), 0);
  EXPECT_EQ(copying_steps(DType::bf16, [](CompileRequest& r) { r.spec.shards_optimizer = true; }), 0);
  EXPECT_EQ(copying_steps(DType::bf16, [](CompileRequest& r) { r.spec.updates_late = true; }), 0);
  EXPECT_EQ(copying_steps(DType::bf16, [](CompileRequest& r) { r.form.part = StepForm::passes; }), 0);
  EXPECT_EQ(copying_steps(DType::bf16, [](CompileRequest& r) { r.spec.recompute.segments = 2; }), 0);
  EXPECT_EQ(copying_steps(DType::bf16, [](CompileRequest& r) { r.spec.fuse = false; }), 0);
  // The update writes in the order in which parameters are stored, and convolutions read another.
  EXPECT_EQ(copying_steps(DType::bf16, {}, true), 0);
}

// The images of d2l_resnet18 have one channel.
TEST(CudaPlan, TakesMomentsFromTheFirstConvolutionIn16Bits) {
  const auto is_merged = [](DType compute) {
    const Plan plan = plan_of("d2l_resnet18", compute, compute == DType::f16);
    for (const Launch& launch : plan.launches)
      if (launch.op == "batch_norm2d") return launch.kernel_name.ends_with("_merged");
    return false;
  };
  EXPECT_TRUE(is_merged(DType::bf16));
  EXPECT_TRUE(is_merged(DType::f16));
  EXPECT_FALSE(is_merged(DType::f32));
}

TEST(CudaPlan, KeepsImagesChannelsLastFromTheFirstLayerToTheLast) {
  // Reorders are only at the edges: of an input with several channels, and of the linear layer's
  // input.
  for (DType compute : {DType::f32, DType::bf16}) {
    const Plan plan = plan_of("d2l_resnet18", compute);
    EXPECT_LE(count(plan, "reorder"), 1) << print_plan(plan);
    const Plan torchvision = plan_of("resnet50", compute);
    EXPECT_LE(count(torchvision, "reorder"), 2) << print_plan(torchvision);
  }
}

TEST(CudaPlan, UpdatesInF32WhateverItComputesIn) {
  const Plan plan = plan_of("d2l_lenet", DType::f16, true);
  EXPECT_EQ(count(plan, "check_finite"), 1);
  EXPECT_EQ(count(plan, "update_loss_scale"), 1);
  EXPECT_EQ(plan.outputs.end()[-2].report, Report::is_finite);
  EXPECT_EQ(plan.outputs.back().report, Report::loss_scale);
  EXPECT_EQ(count(plan, "cast_all"), 1);  // all weights
}

TEST(CudaPlan, ClipsInOneLaunchBeforeTheUpdates) {
  const Plan plan = plan_of("d2l_lenet", DType::f16, true, 8, 1.0);
  EXPECT_EQ(count(plan, "gradient_factor"), 1);
  const auto found = std::find_if(plan.launches.begin(), plan.launches.end(),
                                  [](const Launch& launch) { return launch.op == "gradient_factor"; });
  ASSERT_NE(found, plan.launches.end());
  EXPECT_EQ(std::count_if(plan.launches.begin(), found, [](const Launch& launch) { return launch.op == "sgd_update"; }),
            0);
  EXPECT_EQ(found->kernel_name, "cuda:own:gradient_factor_runs");
  EXPECT_EQ(plan.outputs.end()[-2].report, Report::gradient_norm);
  EXPECT_EQ(plan.outputs.back().report, Report::loss_scale);
}

TEST(CudaPlan, UpdatesABucketInOneLaunchWhateverTheOptimizer) {
  const int buckets = count(plan_of("d2l_lenet", DType::f32), "sgd_update");
  for (const OptimizerDef* optimizer : all_optimizers()) {
    const Plan plan = plan_of("d2l_lenet", DType::f16, true, 8, 0, [&](CompileRequest& request) {
      request.spec.optimizer = optimizer;
      for (UpdateGroup& group : request.groups) group.has_norms = optimizer->norms != nullptr;
    });
    EXPECT_EQ(count(plan, std::string(optimizer->update.name)), buckets) << optimizer->name;
    if (optimizer->norms) {
      EXPECT_EQ(count(plan, std::string(optimizer->norms->name)), buckets) << optimizer->name;
    }
    EXPECT_EQ(count(plan, "count_updates"), optimizer->counts_updates) << optimizer->name;
    for (const Launch& launch : plan.launches)
      EXPECT_EQ(launch.kernel_name.find("cuda:"), 0u) << launch.op << " has " << launch.kernel_name;
  }
}

bool ends_with(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

TEST(CudaPlan, MergesTheStatisticsOfSeveralRanks) {
  for (DType compute : {DType::f32, DType::bf16, DType::f16}) {
    const int norms = count(plan_of("d2l_resnet18", compute), "batch_norm2d");
    const Plan plan = plan_of("d2l_resnet18", compute, false, 8, 0, [](CompileRequest& request) {
      request.ranks = 2;
      request.rank = 1;
      request.global_batch = 16;
      request.spec.syncs_statistics = true;
    });
    EXPECT_GT(norms, 0);
    for (const char* op :
         {"batch_norm2d_moments", "batch_norm2d", "batch_norm2d_gradient_sums", "batch_norm2d_gradient"})
      EXPECT_EQ(count(plan, op), norms) << op;
    EXPECT_EQ(plan.sums.size(), static_cast<size_t>(2 * norms));
    for (const Launch& launch : plan.launches) {
      EXPECT_EQ(launch.kernel_name.find("cuda:"), 0u) << launch.op << " has " << launch.kernel_name;
      EXPECT_EQ(ends_with(launch.kernel_name, "_merged"), launch.op == "batch_norm2d") << launch.kernel_name;
      EXPECT_EQ(ends_with(launch.kernel_name, "_summed"), launch.op == "batch_norm2d_gradient") << launch.kernel_name;
    }
    // The statistics that ranks exchange are f32 in the plain layout. They do not change the layout
    // of images.
    EXPECT_LE(count(plan, "reorder"), 1) << print_plan(plan);
  }
}

TEST(CudaPlan, RoundsGradientsBeforeTheirSumAndBehindIt) {
  size_t buckets = 0;
  const Plan plan = plan_of("d2l_lenet", DType::f32, false, 8, 0, [&](CompileRequest& request) {
    request.ranks = 2;
    request.spec.compresses_gradients = true;
    buckets = request.buckets.size();
  });
  EXPECT_EQ(count(plan, "round_bf16"), static_cast<int>(2 * buckets));
  for (const Launch& launch : plan.launches)
    if (launch.op == "round_bf16") {
      EXPECT_EQ(launch.kernel_name, "cuda:own:round_bf16_runs");
    }
}

TEST(CudaPlan, ClipsByTheNormsOfAllRanksThatHoldTheModel) {
  for (bool counts_any : {true, false}) {
    const Plan plan = plan_of("d2l_lenet", DType::f32, false, 8, 1.0, [&](CompileRequest& request) {
      request.counted_gradients.rank = 1;
      request.counted_gradients.ranks = 2;
      if (!counts_any) request.counted_gradients.names.clear();
    });
    const auto norm = std::find_if(plan.launches.begin(), plan.launches.end(),
                                   [](const Launch& launch) { return launch.op == "gradient_norm"; });
    ASSERT_NE(norm, plan.launches.end());
    EXPECT_EQ(norm->kernel_name, "cuda:own:gradient_norm_runs");
    EXPECT_EQ(norm->inputs.size() > 0, counts_any);
    EXPECT_EQ((norm + 1)->op, "gradient_factor");
    EXPECT_EQ(plan.sums.size(), 1u);
  }
}

TEST(CudaPlan, NormalisesASingleValueAChannelWithThoseOfOtherRanksAlone) {
  cuda::CudaDevice device(0, cuda::CudaDevice::PlanOnly{});
  auto select = [&](bool is_merged) {
    Graph graph;
    auto add = [&](const char* name, Shape shape) { return graph.add_value(name, {DType::f32, shape}, Role::input); };
    std::vector<ValueId> inputs = {
        add("x", {1, 3, 1, 1}), add("weight", {3}), add("bias", {3}), kNoValue, kNoValue, kNoValue, kNoValue};
    if (is_merged) inputs.push_back(add("moments", {2, 7}));
    append_node(graph, batch_norm2d_op, "bn", inputs, {{"eps", 1e-5}, {"momentum", 0.1}, {"relu", int64_t{0}}});
    return device.select({graph, graph.nodes()[0], std::vector<LayoutPtr>(inputs.size())}).name;
  };
  EXPECT_EQ(select(true), "cuda:own:nhwc_vec1_merged");
  EXPECT_THROWS(Status::invalid_argument, "'bn' on cuda:0: training needs more than 1 value a channel", select(false));
}

// Returns a model of 11 steps, in parts of 4, 4 and 3, with dropout between the layers.
std::unique_ptr<Model> sequence_model() {
  auto model = std::make_unique<Model>("sequences");
  const ValueId x = add_lstm(*model, "lstm", model->add_input("x", {11, 3}), 7, true);
  const ValueId y = add_gru(*model, "gru", add_dropout(*model, "drop", x, 0.25), 5, false);
  model->set_output(add_linear(*model, "fc", add_select_step(*model, "last", y, -1), 10, true));
  return model;
}

TEST(CudaPlan, TakesSequencesPartByPart) {
  for (DType compute : {DType::f32, DType::bf16, DType::f16}) {
    const Plan plan = plan_of(*sequence_model(), compute, compute == DType::f16);
    for (const char* op : {"lstm", "lstm_gradient", "gru", "gru_gradient"}) EXPECT_EQ(count(plan, op), 3) << op;
    for (const Launch& launch : plan.launches) {
      EXPECT_EQ(launch.kernel_name.find("cuda:"), 0u) << launch.op << " has " << launch.kernel_name;
      if (launch.op.starts_with("lstm") || launch.op.starts_with("gru")) {
        EXPECT_EQ(launch.kernel_name, text("cuda:cublaslt:", launch.op, "_any"));
        EXPECT_GT(launch.scratch.bytes, 0u) << launch.op;
      }
      if (launch.op.ends_with("_steps")) {
        EXPECT_EQ(launch.kernel_name, text("cuda:own:", launch.op));
      }
    }
    EXPECT_GT(count(plan, "split_steps"), 0) << print_plan(plan);  // around dropout, which is not cut in time
    EXPECT_GT(count(plan, "join_steps"), 0);
    EXPECT_EQ(count(plan, "reorder"), 0) << print_plan(plan);
  }
}

TEST(CudaPlan, KeepsNothingOfTheStepsOfASequenceWhereItPredicts) {
  const auto predicting = [](CompileRequest& request) { request.mode = Mode::predict; };
  const Plan plan = plan_of(*sequence_model(), DType::f32, false, 8, 0, predicting);
  EXPECT_EQ(count(plan, "lstm"), 3);
  EXPECT_EQ(count(plan, "gru"), 3);
  EXPECT_EQ(count(plan, "dropout") + count(plan, "split_steps") + count(plan, "join_steps"), 0) << print_plan(plan);
}

TEST(CudaPlan, TakesLessMemoryIn16Bits) {
  const auto value_bytes = [](DType compute) {
    return PlannedMemory(plan_of("d2l_resnet18", compute, false, 256)).value_bytes();
  };
  EXPECT_LT(value_bytes(DType::bf16), value_bytes(DType::f32) * 65 / 100);
}

TEST(CudaDevice, ThatIsPlannedForAloneRefusesMemoryInOneLine) {
  cuda::CudaDevice device(3, cuda::CudaDevice::PlanOnly{});
  try {
    device.allocate(64, "a test");
    FAIL() << "memory of a GPU that is not there";
  } catch (const Error& e) {
    EXPECT_EQ(e.status(), Status::device_unavailable);
    EXPECT_STREQ(e.what(), "device cuda:3 is only planned for");
  }
}

}  // namespace
}  // namespace troika
