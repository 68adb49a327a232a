// How the library reports cuBLASLt's answers when it asks for a kernel: there is no kernel, or the
// request was wrong.
#include <gtest/gtest.h>
#include <troika/troika.h>

#include <string>
#include <vector>

#include "cublaslt_heuristic.h"

namespace troika::test {
namespace {

using emulated_gpu::cublaslt::refuse_next;
using emulated_gpu::cublaslt::Refused;

struct Planned {
  troika_status status = TROIKA_OK;
  std::string text;  // the plan, or the message
};

// Plans a step of a layer after these answers. cuBLASLt adds its bias if it has a kernel for that.
Planned plan_with(std::vector<Refused> answers) {
  troika_error error{};
  Planned planned;
  auto call = [&](troika_status status) {
    if (planned.status < 0 || status >= 0) return;
    planned = {status, error.message};
  };
  troika_context context = nullptr;
  troika_model model = nullptr;
  troika_trainer trainer = nullptr;
  const int64_t features[] = {16};
  troika_value x = -1, y = -1;
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  options.use_environment = 1;
  call(troika_context_create(&options, &context, &error));
  call(troika_model_create_empty(context, "net", &model, &error));
  call(troika_model_add_input(model, "x", features, 1, &x, &error));
  call(troika_model_add_linear(model, "fc", x, 8, 1, &y, &error));
  call(troika_model_set_output(model, y, &error));
  const troika_device gpu{TROIKA_DEVICE_CUDA, 0};
  call(troika_model_attach(model, &gpu, 1, nullptr, &trainer, &error));
  EXPECT_EQ(planned.status, TROIKA_OK) << planned.text;

  std::string text(1 << 16, '\0');
  int64_t bytes = 0;
  refuse_next(std::move(answers));
  call(troika_trainer_explain(trainer, 4, text.data(), static_cast<int64_t>(text.size()), &bytes, &error));
  refuse_next({});
  if (planned.status == TROIKA_OK) planned.text = text.c_str();
  troika_trainer_destroy(trainer);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return planned;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(NoKernel, is_not_what_cublaslt_answers_by_itself) {
  const Planned planned = plan_with({});
  EXPECT_EQ(planned.status, TROIKA_OK) << planned.text;
  EXPECT_TRUE(contains(planned.text, "_bias")) << planned.text;
}

TEST(NoKernel, for_a_product_with_its_bias_leaves_the_bias_to_a_kernel_of_our_own) {
  for (const Refused& answer : {Refused{.status = CUBLAS_STATUS_NOT_SUPPORTED}, Refused{.found = 0},
                                Refused{.found = 1, .state = CUBLAS_STATUS_NOT_SUPPORTED}}) {
    const Planned planned = plan_with({answer});
    EXPECT_EQ(planned.status, TROIKA_OK) << planned.text;
    EXPECT_TRUE(contains(planned.text, "cuda:cublaslt:")) << planned.text;
    EXPECT_FALSE(contains(planned.text, "_bias")) << planned.text;
  }
}

TEST(NoKernel, for_a_product_at_all_is_unsupported) {
  const Refused none{.status = CUBLAS_STATUS_NOT_SUPPORTED};
  const Planned planned = plan_with({none, none});
  EXPECT_EQ(planned.status, TROIKA_ERROR_UNSUPPORTED) << planned.text;
  EXPECT_TRUE(contains(planned.text, "linear 'fc' on cuda:0: cuBLASLt has no product of f32 [4, 16] and [16, 8]"))
      << planned.text;
}

TEST(NoKernel, is_not_what_a_wrong_question_is_taken_for) {
  for (const Refused& answer :
       {Refused{.status = CUBLAS_STATUS_INVALID_VALUE}, Refused{.found = 1, .state = CUBLAS_STATUS_INVALID_VALUE}}) {
    const Planned planned = plan_with({answer});
    EXPECT_EQ(planned.status, TROIKA_ERROR_INTERNAL) << planned.text;
    EXPECT_TRUE(contains(planned.text, "f32 [4, 16] and [16, 8]: cuBLASLt: CUBLAS_STATUS_INVALID_VALUE"))
        << planned.text;
  }
}

}  // namespace
}  // namespace troika::test
