// Each creating call of CUDA's libraries fails in turn while a trainer is created, used and
// destroyed. The library returns an error or works without the object, and destroys all others.
#include <gtest/gtest.h>
#include <troika/troika.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "creations.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

constexpr int kSteps = 2;  // the second is recorded as a graph
constexpr int64_t kSamples = 4;

// A flow of calls, which ends at the first call that fails.
class Flow {
 public:
  template <typename Call>
  void operator()(const char* what, Call&& call) {
    if (status_ < 0) return;
    troika_error error{};
    status_ = call(&error);
    if (status_ >= 0) return;
    what_ = what;
    message_ = error.message;
  }
  troika_status status() const { return status_; }
  std::string message() const { return what_ + ": " + troika_status_name(status_) + ": " + message_; }
  bool has_message() const { return !message_.empty() && message_.find('\n') == std::string::npos; }

 private:
  troika_status status_ = TROIKA_OK;
  std::string what_, message_;
};

// Builds a model with images [4, 6, 6] and 5 classes. `has_convolution`: uses cuDNN, else only
// cuBLASLt.
void build(Flow& flow, troika_model model, bool has_convolution) {
  const int64_t image[] = {4, 6, 6};
  troika_value x = -1, y = -1;
  flow("add_input", [&](troika_error* e) { return troika_model_add_input(model, "image", image, 3, &x, e); });
  if (has_convolution) {
    troika_conv2d_options conv = TROIKA_CONV2D_OPTIONS_INIT;
    conv.out_channels = 8;
    conv.kernel[0] = conv.kernel[1] = 3;
    flow("add_conv2d", [&](troika_error* e) { return troika_model_add_conv2d(model, "conv", x, &conv, &y, e); });
    x = y;
  }
  flow("add_flatten", [&](troika_error* e) { return troika_model_add_flatten(model, "flatten", x, &y, e); });
  x = y;
  flow("add_linear", [&](troika_error* e) { return troika_model_add_linear(model, "fc1", x, 16, 1, &y, e); });
  x = y;
  flow("add_linear", [&](troika_error* e) { return troika_model_add_linear(model, "fc2", x, 5, 1, &y, e); });
  flow("set_output", [&](troika_error* e) { return troika_model_set_output(model, y, e); });
}

// Creates a context and a trainer on these GPUs, trains some steps, and destroys everything.
Flow train(const std::vector<troika_device>& devices, bool has_convolution, const troika_trainer_options& options) {
  Flow flow;
  troika_context context = nullptr;
  troika_model model = nullptr;
  troika_tensor samples = nullptr, labels = nullptr;
  troika_batch batch = nullptr;
  troika_trainer trainer = nullptr;
  troika_context_options context_options = TROIKA_CONTEXT_OPTIONS_INIT;
  context_options.use_environment = 1;
  flow("context_create", [&](troika_error* e) { return troika_context_create(&context_options, &context, e); });
  flow("model_create", [&](troika_error* e) { return troika_model_create_empty(context, "net", &model, e); });
  build(flow, model, has_convolution);

  std::vector<float> numbers(kSamples * 4 * 6 * 6);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 13) / 13;
  const int32_t classes[kSamples] = {0, 1, 2, 3};
  const int64_t dims[] = {kSamples, 4, 6, 6};
  const troika_device cpu{TROIKA_DEVICE_CPU, 0};
  flow("samples", [&](troika_error* e) {
    return troika_tensor_create(context, cpu, TROIKA_DTYPE_F32, dims, 4, numbers.data(), &samples, e);
  });
  flow("labels", [&](troika_error* e) {
    return troika_tensor_create(context, cpu, TROIKA_DTYPE_I32, dims, 1, classes, &labels, e);
  });
  flow("batch", [&](troika_error* e) { return troika_batch_create(samples, labels, &batch, e); });
  flow("attach", [&](troika_error* e) {
    return troika_model_attach(model, devices.data(), static_cast<int32_t>(devices.size()), &options, &trainer, e);
  });
  for (int i = 0; i < kSteps; ++i) {
    troika_step_result result = TROIKA_STEP_RESULT_INIT;
    flow("step", [&](troika_error* e) { return troika_trainer_step(trainer, batch, &result, e); });
  }
  troika_trainer_destroy(trainer);
  troika_batch_destroy(batch);
  troika_tensor_destroy(labels);
  troika_tensor_destroy(samples);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return flow;
}

std::vector<troika_device> gpus(const std::vector<int32_t>& indices) {
  std::vector<troika_device> devices;
  for (int32_t index : indices) devices.push_back({TROIKA_DEVICE_CUDA, index});
  return devices;
}

troika_trainer_options defaults() {
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.momentum = 0.9;
  options.deadline_ms = 60000;
  return options;
}

// No run may come near the deadline: ranks do not wait for a rank that has failed.
constexpr std::chrono::seconds kLongest{30};

// Returns whether the flow failed because memory ran out. NCCL does not report this status, and
// neither does cuDNN's front end when an engine runs.
bool is_clean(const Flow& flow) {
  return flow.has_message() && (flow.status() == TROIKA_ERROR_OUT_OF_MEMORY || flow.status() == TROIKA_ERROR_COMM ||
                                flow.message().find("cuDNN engine") != std::string::npos);
}

// Repeats the flow until none of its creating calls has failed: first call 0 fails, then call 1 and
// so on. Calls of the name `spared` never fail.
template <typename Run>
void fail_each(Run&& run, const std::string& spared = "") {
  int errors = 0, done_without = 0;
  for (int64_t n = 0;; ++n) {
    const auto live = emulated_gpu::live_objects();
    const int64_t refused = emulated_gpu::refused_ends();
    const auto begin = std::chrono::steady_clock::now();
    emulated_gpu::fail_creation(n, spared);
    const Flow flow = run();
    const std::string failed = emulated_gpu::failed_creation();
    emulated_gpu::fail_creation(-1);

    SCOPED_TRACE("creating call " + std::to_string(n) + ", " + (failed.empty() ? "none" : failed) + ", failed; " +
                 flow.message());
    EXPECT_EQ(emulated_gpu::live_objects(), live);
    EXPECT_EQ(emulated_gpu::refused_ends(), refused);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kLongest);
    if (failed.empty()) {
      EXPECT_EQ(flow.status(), TROIKA_OK);
      break;
    }
    if (flow.status() < 0) {
      ++errors;
      EXPECT_TRUE(is_clean(flow));
    } else {
      ++done_without;  // such as one engine of many
    }
  }
  EXPECT_GT(errors, 10);
  testing::Test::RecordProperty("errors", errors);
  testing::Test::RecordProperty("done_without", done_without);
}

class CreationFailures : public testing::Test {
 protected:
  // Without a folder for engines, each context measures them.
  void keep_engines(const char* folder) { ::setenv("TROIKA_CACHE_DIR", folder, 1); }

  void SetUp() override { keep_engines(folder_.path().c_str()); }

 private:
  TempDirectory folder_;
};

TEST_F(CreationFailures, end_clean_on_one_gpu) {
  fail_each([] { return train(gpus({0}), false, defaults()); });
}

TEST_F(CreationFailures, end_clean_while_engines_are_measured) {
  keep_engines("/dev/null/none");
  // There are thousands of descriptors. The next test includes them, for engines that are built in
  // the same way.
  const char* const descriptors = "cudnnBackendCreateDescriptor";
  fail_each([] { return train(gpus({0}), true, defaults()); }, descriptors);
}

TEST_F(CreationFailures, end_clean_while_engines_are_remembered) {
  EXPECT_EQ(train(gpus({0}), true, defaults()).status(), TROIKA_OK);
  fail_each([] { return train(gpus({0}), true, defaults()); });
}

TEST_F(CreationFailures, end_clean_on_two_gpus) {
  fail_each([] { return train(gpus({0, 1}), false, defaults()); });
}

TEST_F(CreationFailures, end_clean_on_two_gpus_that_add_in_the_order_of_ranks) {
  troika_trainer_options options = defaults();
  options.logical_shards = 2;
  fail_each([&] { return train(gpus({0, 1}), false, options); });
}

TEST_F(CreationFailures, end_clean_on_a_gpu_with_two_replicas) {
  fail_each([] { return train(gpus({0, 0}), false, defaults()); });
}

TEST_F(CreationFailures, end_clean_in_a_pipeline_of_two_gpus) {
  troika_trainer_options options = defaults();
  options.mesh = {1, 2, 1, 0};
  fail_each([&] { return train(gpus({0, 1}), false, options); });
}

}  // namespace
}  // namespace troika::test
