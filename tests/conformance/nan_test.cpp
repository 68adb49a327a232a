// What is not a number must stay visible: a ReLU that turned NaN into 0 would hide that training has failed.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "models/zoo.h"
#include "train/trainer.h"

namespace troika {
namespace {

double loss_with_a_nan(const std::string& model_name, bool fuse) {
  auto context = std::make_shared<Context>(ContextOptions{});
  std::shared_ptr<Model> model = create_model(model_name, {});
  TrainerOptions options;
  options.fuse = fuse;
  Trainer trainer(context, model, {{DeviceKind::cpu, 0}}, options);
  Batch batch;
  batch.shape = Shape{4, 1, 28, 28};
  batch.inputs.assign(4 * 784, 0.5f);
  batch.inputs[100] = std::numeric_limits<float>::quiet_NaN();
  batch.labels = {0, 1, 2, 3};
  StepResult result;
  trainer.step(batch, result);
  return result.loss;
}

TEST(NaN, in_the_input_reaches_the_loss_fused_or_not) {
  for (const char* model : {"mlp", "d2l_lenet", "d2l_resnet18"})
    for (bool fuse : {false, true})
      EXPECT_TRUE(std::isnan(loss_with_a_nan(model, fuse))) << model << (fuse ? " fused" : "");
}

}  // namespace
}  // namespace troika
