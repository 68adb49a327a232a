// Tests of the graphs that cuDNN is asked to compute. Without a GPU, cuDNN itself lists and builds
// engines for an H100. Engines that are compiled when they are built need a driver and are left
// out.
#include <gtest/gtest.h>

#include <set>

#include "backends/cuda/convolution_graph.h"
#include "backends/cuda/cuda_device.h"
#include "core/text.h"

namespace troika {
namespace {

using cuda::Convolution;
using cuda::CudnnPlan;

constexpr cuda::EngineLimits kLimits = {true, 256 << 20};

// cuDNN can list engines without a GPU since version 9.8.
class CudnnEngines : public testing::Test {
 protected:
  void SetUp() override {
    if (cudnnGetVersion() < 90800) GTEST_SKIP() << "cuDNN " << cudnnGetVersion() << " lists engines only on a GPU";
  }
};

std::vector<CudnnPlan> engines_for(const cuda::DescribeGraph& describe, const cuda::EngineLimits& limits = kLimits) {
  const auto device = std::make_shared<cuda::CudaDevice>(0, cuda::CudaDevice::PlanOnly{});
  return CudnnPlan::candidates(*device, describe, limits);
}

// Returns a convolution with square images, kernels and paddings.
Convolution square(int64_t n, int64_t c, int64_t size, int64_t k, int64_t kernel, int64_t stride, int64_t padding) {
  const int64_t y = (size + 2 * padding - kernel) / stride + 1;
  return {n, c, k, 1, {size, size}, {y, y}, {kernel, kernel}, {stride, stride}, {padding, padding}, {1, 1}};
}

struct Named {
  const char* name;
  Convolution v;
};

const Named kZoo[] = {{"resnet18's first stage", square(256, 64, 28, 64, 3, 1, 1)},
                      {"resnet18's step to 128 channels", square(256, 64, 28, 128, 3, 2, 1)},
                      {"resnet18's shortcut", square(256, 64, 28, 128, 1, 2, 0)},
                      {"resnet18's last stage", square(256, 512, 4, 512, 3, 1, 1)},
                      {"resnet50's bottleneck", square(64, 256, 56, 64, 1, 1, 0)},
                      {"lenet's second", square(256, 20, 14, 50, 5, 1, 0)}};

// Shapes that rules of thumb for common networks do not cover.
const Named kOdd[] = {{"odd channels", square(7, 3, 13, 5, 3, 2, 1)},
                      {"a part of x", {8, 16, 32, 1, {8, 8}, {3, 3}, {3, 3}, {2, 2}, {1, 1}, {1, 1}}},
                      {"groups", {8, 128, 128, 32, {14, 14}, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}}},
                      {"depthwise", {8, 64, 64, 64, {14, 14}, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}}},
                      {"dilation and stride", {8, 64, 64, 1, {14, 14}, {7, 7}, {3, 3}, {2, 2}, {2, 2}, {2, 2}}},
                      {"rows", {8, 16, 16, 1, {1, 40}, {1, 40}, {1, 7}, {1, 1}, {0, 3}, {1, 1}}},
                      {"a kernel above the image", {8, 8, 8, 1, {2, 2}, {1, 1}, {3, 3}, {2, 2}, {1, 1}, {1, 1}}}};

void expect_engines(const Named& named, size_t least) {
  for (DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    const std::string what = text(named.name, " in ", name_of(dtype));
    EXPECT_GE(engines_for(cuda::forward_graph(named.v, dtype, false)).size(), least) << what;
    EXPECT_GE(engines_for(cuda::input_gradient_graph(named.v, dtype)).size(), least) << what;
    EXPECT_GE(engines_for(cuda::weight_gradient_graph(named.v, dtype, dtype, 3)).size(), least) << what;
  }
}

TEST_F(CudnnEngines, AreThereForEveryConvolutionOfTheZoo) {
  for (const Named& named : kZoo) expect_engines(named, 4);
}

TEST_F(CudnnEngines, AreThereForOddForms) {
  for (const Named& named : kOdd) expect_engines(named, 1);
}

TEST_F(CudnnEngines, KeepToTheirLimitsAndDiffer) {
  const Convolution v = square(1024, 64, 28, 64, 3, 1, 1);
  for (size_t most : {size_t{0}, size_t{16} << 20, size_t{1} << 30}) {
    std::set<std::string> names;
    for (const CudnnPlan& plan :
         engines_for(cuda::weight_gradient_graph(v, DType::bf16, DType::bf16, 3), {true, most})) {
      EXPECT_LE(plan.workspace_bytes(), most) << plan.engine();
      EXPECT_TRUE(names.insert(plan.engine()).second) << plan.engine() << " twice";
    }
    EXPECT_GE(names.size(), 2u) << most;
  }
}

// For images of this size, engines that multiply without tensor cores copy the images into another
// layout.
TEST_F(CudnnEngines, InF32AreMoreWhereTheyMayCopyTheImages) {
  const Convolution v = square(1024, 64, 28, 64, 3, 1, 1);
  const auto describe = cuda::input_gradient_graph(v, DType::f32);
  const size_t images = static_cast<size_t>(v.x_elements() + v.y_elements()) * sizeof(float);
  EXPECT_GT(engines_for(describe, {false, 3 * images}).size(), engines_for(describe, {false, 256 << 20}).size());
}

TEST_F(CudnnEngines, AreFoundAgainByName) {
  const auto device = std::make_shared<cuda::CudaDevice>(0, cuda::CudaDevice::PlanOnly{});
  const auto describe = cuda::forward_graph(square(32, 64, 14, 64, 3, 1, 1), DType::bf16, false);
  const auto plans = CudnnPlan::candidates(*device, describe, kLimits);
  EXPECT_GT(plans.size(), 12u) << "the second list has others than the first";
  for (const CudnnPlan& plan : plans) {
    const auto again = CudnnPlan::build(*device, describe, kLimits, plan.engine());
    ASSERT_TRUE(again) << plan.engine();
    EXPECT_EQ(again->workspace_bytes(), plan.workspace_bytes()) << plan.engine();
  }
  EXPECT_FALSE(CudnnPlan::build(*device, describe, kLimits, "eng999"));
}

}  // namespace
}  // namespace troika
