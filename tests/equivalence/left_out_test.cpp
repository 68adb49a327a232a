// Passes that only make steps faster may be left out, one by one and all at once. Results differ by
// rounding alone.
#include "core/text.h"
#include "equivalence/runs.h"
#include "plan/compile.h"

namespace troika {
namespace {

// Returns two residual blocks, the second with a shortcut of stride 2, between a pooling and a
// classifier.
std::shared_ptr<Model> residual_net() {
  auto model = std::make_shared<Model>("residual_net");
  const auto convolution = [&](const std::string& name, ValueId x, int64_t channels, Window window) {
    return add_conv2d(*model, name, x, {channels, window});
  };
  ValueId x = convolution("stem", model->add_input("x", {1, 8, 7}), 8, square(3, 1, 1));
  x = add_max_pool2d(*model, "pool", add_relu(*model, "relu", x), square(2, 1));
  for (const int64_t stride : {1, 2}) {
    const std::string block = text("block", stride, '.');
    ValueId y = add_batch_norm2d(*model, block + "bn1", convolution(block + "conv1", x, 8, square(3, stride, 1)));
    y = convolution(block + "conv2", add_relu(*model, block + "relu1", y), 8, square(3, 1, 1));
    y = add_batch_norm2d(*model, block + "bn2", y);
    if (stride > 1) x = convolution(block + "shortcut", x, 8, square(1, stride));
    x = add_relu(*model, block + "relu2", add_sum(*model, block + "sum", y, x));
  }
  return finished(model, add_linear(*model, "fc", add_flatten(*model, "flatten", x), 5, true));
}

// Returns by how much training has changed a parameter.
std::vector<float> change_of(const Named& begin, const std::string& name, std::vector<float> numbers) {
  const std::vector<float>& before = begin.at(name);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] -= before[i];
  return numbers;
}

TEST(LeftOut, passes_change_nothing_but_rounding) {
  const auto batches = make_batches({7, 7, 7});
  for (const DType compute : {DType::f32, DType::bf16})
    for (const auto& make : {conv_net, residual_net}) {
      TrainerOptions options = momentum_options();
      options.compute = compute;
      options.settings[Setting::learning_rate] = 0.01;  // little drift by rounding
      const Named begin = parameters_of(*make(), false);
      Trained whole = train(make(), test_devices(1), options, batches);
      // BatchNorm subtracts these biases again: their gradients are rounding.
      std::erase_if(whole.parameters, [](const auto& named) {
        return named.first.starts_with("block") && named.first.find("conv") != std::string::npos &&
               named.first.ends_with(".bias");
      });
      const auto expect_same = [&](const std::vector<std::string>& passes) {
        options.left_out = passes;
        const Trained found = train(make(), test_devices(1), options, batches);
        const std::string what = text("without ", join(passes, ", "), " in ", name_of(compute));
        const bool is_low = compute != DType::f32;
        for (size_t i = 0; i < batches.size(); ++i)
          EXPECT_NEAR(found.losses[i], whole.losses[i], (is_low ? 2e-2 : 1e-4) * whole.losses[i]) << what;
        for (const auto& [name, numbers] : whole.parameters)
          EXPECT_LT(
              norm_of_difference(change_of(begin, name, numbers), change_of(begin, name, found.parameters.at(name))),
              is_low ? 0.3 : 1e-3)
              << name << ' ' << what;
      };
      for (const std::string& pass : optional_passes()) expect_same({pass});
      expect_same(optional_passes());
    }
}

TEST(LeftOut, passes_leave_their_launches) {
  const auto launches = [](std::vector<std::string> left_out) {
    TrainerOptions options = momentum_options();
    options.left_out = std::move(left_out);
    Trainer trainer(test_context(), residual_net(), test_devices(1), options);
    trainer.explain(7);
    return trainer.ranks().at(0).current_plan().launches.size();
  };
  EXPECT_GT(launches({"fuse_adds"}), launches({}));
  EXPECT_GT(launches(optional_passes()), launches({}));
}

}  // namespace
}  // namespace troika
