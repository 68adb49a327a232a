// Tests of the kernels that a GPU's plan takes, by the printed plan of a device that is only planned for.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/cuda/cuda_device.h"
#include "models/zoo.h"
#include "plan/compile.h"

namespace troika {
namespace {

// A whole training step of a model from the zoo, planned for cuda:0.
Plan plan_of(const std::string& name, DType compute, bool is_scaled = false, int64_t batch = 8,
             double max_gradient_norm = 0) {
  const auto model = create_model(name, {});
  CompileRequest request(model->graph());
  request.local_batch = request.global_batch = batch;
  request.micro_batches = {{{0, batch}}};
  request.compute = compute;
  request.sgd.momentum = 0.9;
  request.sgd.is_scaled = is_scaled;
  request.sgd.max_gradient_norm = max_gradient_norm;
  std::vector<NamedBytes> sizes;
  std::vector<StateEntry> entries;
  for (const Value& value : model->graph().values())
    if (value.role == Role::parameter) {
      request.trainable.push_back(value.name);
      sizes.push_back({value.name, value.type.bytes()});
    }
  request.buckets = make_buckets(sizes, 1 << 20);
  auto add = [&](const std::string& entry_name, const TensorType& type, int bucket) {
    StateEntry entry;
    entry.name = entry_name;
    entry.type = type;
    entry.is_buffer = entry.is_decided = bucket < 0;
    entry.bucket = bucket;
    entries.push_back(entry);
  };
  for (size_t b = 0; b < request.buckets.size(); ++b) {
    request.groups.push_back({request.buckets[b].parameters, 0, 0});
    for (const std::string& parameter : request.buckets[b].parameters)
      add(parameter, model->graph().type(*model->graph().find(parameter)), static_cast<int>(b));
  }
  for (const Value& value : model->graph().values())
    if (value.role == Role::buffer) add(value.name, value.type, -1);
  if (is_scaled) add(kLossScale, {DType::f32, {2}}, -1);
  StateTable state(std::move(entries), true);
  cuda::CudaDevice device(0, cuda::CudaDevice::PlanOnly{});
  return compile(request, device, state, Log());
}

int count(const Plan& plan, const std::string& op) {
  int n = 0;
  for (const Launch& launch : plan.launches) n += launch.op == op;
  return n;
}

TEST(CudaPlan, HasAKernelOfTheGpuForEveryLaunch) {
  for (const char* model : {"d2l_lenet", "d2l_resnet18", "d2l_resnet18_stem7", "resnet50", "mlp"})
    for (DType compute : {DType::f32, DType::bf16, DType::f16}) {
      const Plan plan = plan_of(model, compute, compute == DType::f16);
      EXPECT_GT(plan.launches.size(), 5u);
      for (const Launch& launch : plan.launches) {
        EXPECT_EQ(launch.kernel_name.find("cuda:"), 0u) << model << ": " << launch.op << " has " << launch.kernel_name;
        EXPECT_TRUE(launch.kernel) << model << ": " << launch.op;
      }
    }
}

TEST(CudaPlan, GivesConvolutionsToCudnnAndLinearLayersToCublas) {
  const std::string text = print_plan(plan_of("d2l_resnet18", DType::bf16));
  EXPECT_NE(text.find("cuda:cudnn:any"), std::string::npos) << text;
  EXPECT_NE(text.find("cuda:cublaslt"), std::string::npos) << text;
}

TEST(CudaPlan, KeepsImagesChannelsLastFromTheFirstLayerToTheLast) {
  // Reorders stand at the edges alone: of the input where it has several channels, and of what the linear layer reads.
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
  EXPECT_EQ(plan.output_types.back().dtype, DType::i32);
  EXPECT_GE(count(plan, "cast"), 4);  // a weight each
}

TEST(CudaPlan, ClipsInOneLaunchBeforeTheUpdates) {
  const Plan plan = plan_of("d2l_lenet", DType::f16, true, 8, 1.0);
  EXPECT_EQ(count(plan, "clip_factor"), 1);
  const auto found = std::find_if(plan.launches.begin(), plan.launches.end(),
                                  [](const Launch& launch) { return launch.op == "clip_factor"; });
  EXPECT_EQ(std::count_if(plan.launches.begin(), found, [](const Launch& launch) { return launch.op == "sgd_update"; }), 0);
  EXPECT_EQ(found->kernel_name, "cuda:own:clip_factor_runs");
  EXPECT_EQ(plan.output_types.back(), (TensorType{DType::f32, {1}}));
}

TEST(CudaPlan, TakesLessMemoryIn16Bits) {
  const size_t f32 = plan_of("d2l_resnet18", DType::f32, false, 256).arena_bytes,
               bf16 = plan_of("d2l_resnet18", DType::bf16, false, 256).arena_bytes;
  EXPECT_LT(static_cast<double>(bf16), 0.65 * static_cast<double>(f32));
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
