// The layers that the zoo's models lack compute what PyTorch computes, on any mesh.
#include "core/text.h"
#include "equivalence/golden.h"
#include "equivalence/runs.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "support/throws.h"

namespace troika {
namespace {

constexpr int64_t kSamples = 7;

// Completes a net of tests/golden/layers/layers.py with its values.
std::shared_ptr<Model> completed(std::shared_ptr<Model> model, ValueId output) {
  model->set_output(output);
  initialize_default(*model, 1, false);  // the buffers
  golden::set_parameters(*model);
  return model;
}

ConvOptions conv1d(int64_t channels, int64_t kernel) {
  ConvOptions options;
  options.out_channels = channels;
  options.window.kernel[1] = kernel;
  return options;
}

std::shared_ptr<Model> image_net() {
  auto model = std::make_shared<Model>("Image");
  Model& m = *model;
  ValueId x = m.add_input("x", {4, 6, 6});
  x = add_conv2d(m, "conv", x, {8, square(3, 1, 1), 1, false});
  x = add_silu(m, "silu", add_group_norm(m, "group_norm", x, 2, 1e-3));
  const ValueId means = add_mean(m, "means", x, {-2, -1}, true);  // [8, 1, 1]
  const ValueId gate = add_sigmoid(m, "sigmoid", add_conv2d(m, "gate", means, {8, square(1), 1, true}));
  x = add_product(m, "gated", x, gate);
  ConvOptions up{6, square(3, 2, 1), 2, true};
  up.output_padding[0] = up.output_padding[1] = 1;
  x = add_leaky_relu(m, "leaky_relu", add_conv_transpose2d(m, "up", x, up), 0.1);  // [6, 12, 12]
  const ValueId first = add_slice(m, "first", x, 1, 0, 4), last = add_slice(m, "last", x, -3, 2, 6);
  x = add_mean(m, "mean", add_concat(m, "concat", {first, last}, 1), {3}, false);  // [8, 12]
  ConvOptions conv = conv1d(6, 3);
  conv.window.stride[1] = 2;
  conv.window.padding[1] = 1;
  x = add_tanh(m, "tanh", add_conv1d(m, "conv1d", x, conv));
  x = add_reshape(m, "reshape", add_layer_norm(m, "layer_norm", x, 2), {-1});  // [36]
  const ValueId softmax = add_softmax(m, "softmax", add_linear(m, "mix", x, 36, true), -1);
  x = add_rms_norm(m, "rms_norm", add_product(m, "mixed", softmax, x), 1, 1e-4);
  return completed(model, add_linear(m, "fc", x, 5, true));
}

std::shared_ptr<Model> batch_norm1d_net() {
  auto model = std::make_shared<Model>("BatchNorm");
  Model& m = *model;
  ConvOptions conv = conv1d(4, 3);
  conv.window.padding[1] = conv.window.dilation[1] = conv.groups = 2;
  conv.bias = false;
  ValueId x = add_conv1d(m, "conv", m.add_input("x", {6, 5}), conv);
  x = add_relu(m, "relu", add_batch_norm1d(m, "bn1", x));
  x = add_linear(m, "fc1", add_flatten(m, "flatten", x), 8, true);
  return completed(model, add_linear(m, "fc2", add_batch_norm1d(m, "bn2", x, 1e-3, 0.3), 5, true));
}

std::shared_ptr<Model> shared_net() {
  auto model = std::make_shared<Model>("Shared");
  Model& m = *model;
  const ValueId words = add_embedding(m, "embedding", m.add_input("x", {6}, DType::i32), 11, 8);
  const ValueId x = add_lstm(m, "lstm", words, 8, true);
  m.share_parameter("fc.weight", "embedding.weight");
  return completed(model, add_linear(m, "last", add_linear(m, "fc", x, 11, true, true), 11, true, true));
}

std::shared_ptr<Model> inputs_net() {
  auto model = std::make_shared<Model>("Inputs");
  Model& m = *model;
  const ValueId x = m.add_input("x", {16});
  const ValueId signal = add_reshape(m, "signal", add_slice(m, "first", x, 1, 0, 12), {3, -1});
  const ValueId a = add_flatten(m, "flatten", add_tanh(m, "tanh", add_conv1d(m, "conv", signal, conv1d(4, 2))));
  const ValueId b = add_relu(m, "relu", add_linear(m, "fc1", add_slice(m, "last", x, 1, 12, 16), 4, true));
  return completed(model, add_linear(m, "fc2", add_concat(m, "concat", {a, b}, 1), 5, true));
}

std::vector<Batch> golden_batches(const Model& model) {
  const Shape sample = model.input_shape(), output = model.output_shape();
  std::vector<Batch> batches;
  for (uint32_t step = 0; step < 3; ++step) {
    Batch batch;
    batch.shape = sample.dims().empty() ? Shape{kSamples} : model.graph().type(*model.graph().find("x")).shape;
    batch.shape[0] = kSamples;
    batch.dtype = model.input_dtype();
    if (batch.dtype == DType::i32)
      batch.tokens = golden::integers(1000 + step, batch.shape.elements(), 11);
    else
      batch.inputs = golden::units(1000 + step, batch.shape.elements());
    const int64_t classes = output[output.rank() - 1];
    batch.label_size = output.elements() / classes;
    batch.labels = golden::integers(2000 + step, kSamples * batch.label_size, static_cast<uint32_t>(classes));
    batches.push_back(std::move(batch));
  }
  return batches;
}

const nlohmann::json& golden_file() {
  static const nlohmann::json json = golden::read_file("layers.json");
  return json;
}

TrainerOptions golden_options() {
  TrainerOptions options;
  options.settings[Setting::learning_rate] = 0.1;
  options.settings[Setting::momentum] = 0.9;
  options.deadline_ms = 60000;
  return options;
}

class GoldenLayers : public testing::TestWithParam<std::shared_ptr<Model> (*)()> {
 protected:
  void check(const TrainerOptions& options, int devices, const std::string& what, double tolerance = 1e-5) {
    const auto net = GetParam();
    const std::string name = net()->name();
    const auto batches = golden_batches(*net());
    const auto& expected = golden_file().at(name);
    const Trained found = train(net(), test_devices(devices), options, batches);
    for (size_t i = 0; i < batches.size(); ++i)
      EXPECT_NEAR(expected.at("losses").at(i).get<double>(), found.losses[i], tolerance) << what << ", step " << i;
    expect_near(expected.at("parameters").get<Named>(), found.parameters, tolerance, what + ", parameter");
    expect_near(expected.at("buffers").get<Named>(), without_counters(found.buffers), tolerance, what + ", buffer");
    Trained first = train(net(), test_devices(devices), options, {batches[0]});
    Named gradients = expected.at("gradients").get<Named>();
    for (Named* run : {&gradients, &first.gradients})
      if (name == "BatchNorm") run->erase("fc1.bias");  // BatchNorm cancels this bias: its gradient is only rounding
    expect_near(gradients, first.gradients, tolerance, what + ", gradient");
  }

  static Named without_counters(Named buffers) {
    std::erase_if(buffers, [](const auto& buffer) { return buffer.first.ends_with(".num_batches_tracked"); });
    return buffers;
  }
};

TEST_P(GoldenLayers, FollowPyTorchOnAnyMesh) {
  const bool normalises_batches = GetParam()()->name() == "BatchNorm";
  for (auto [data, layer, channel, micro_batches] : {std::array{1, 1, 1, 1},
                                                     {1, 1, 1, 3},
                                                     {2, 1, 1, 1},
                                                     {3, 1, 1, 2},
                                                     {1, 2, 1, 1},
                                                     {1, 1, 2, 1},
                                                     {1, 1, 3, 1},
                                                     {2, 2, 2, 2}}) {
    if (normalises_batches && micro_batches > 1) continue;  // each would be normalised by itself
    TrainerOptions options = golden_options();
    options.mesh.layer = layer;
    options.mesh.channel = channel;
    options.micro_batches = micro_batches;
    options.syncs_statistics = normalises_batches && data > 1;
    check(options, data * layer * channel, text(data, " x ", layer, " x ", channel, " in ", micro_batches));
  }
}

TEST_P(GoldenLayers, FollowPyTorchInEveryForm) {
  TrainerOptions options = golden_options();
  options.fuse = false;
  check(options, 1, "not fused");
  options = golden_options();
  options.recompute.segments = 2;
  check(options, 1, "recomputed");
  if (GetParam()()->name() != "BatchNorm") {
    options = golden_options();
    options.logical_shards = 4;
    check(options, 2, "logical shards");
  }
}

TEST(GoldenLosses, FollowPyTorchOnAnyMesh) {
  for (const Loss loss :
       {Loss::mean_squared_error, Loss::mean_absolute_error, Loss::huber, Loss::binary_cross_entropy}) {
    const auto& expected = golden_file().at(std::string(name_of(loss)));
    std::vector<Batch> batches = golden_batches(*inputs_net());
    for (uint32_t step = 0; step < batches.size(); ++step) {
      batches[step].labels.clear();
      batches[step].label_size = 1;
      batches[step].value_size = 5;
      batches[step].values = golden::units(3000 + step, kSamples * 5);
      for (float& value : batches[step].values) value += 0.5f;
    }
    for (auto [data, layer, channel] : {std::array{1, 1, 1}, {3, 1, 1}, {1, 2, 1}, {1, 1, 2}}) {
      TrainerOptions options = golden_options();
      options.loss = loss;
      options.huber_delta = 0.3;
      options.mesh.layer = layer;
      options.mesh.channel = channel;
      const std::string what = text(name_of(loss), " on ", data, " x ", layer, " x ", channel);
      const Trained found = train(inputs_net(), test_devices(data * layer * channel), options, batches);
      for (size_t i = 0; i < batches.size(); ++i)
        EXPECT_NEAR(expected.at("losses").at(i).get<double>(), found.losses[i], 1e-5) << what << ", step " << i;
      expect_near(expected.at("parameters").get<Named>(), found.parameters, 1e-5, what);
    }
  }
}

// 16-bit numbers have 8 (bf16) or 11 (f16) significant bits.
TEST_P(GoldenLayers, ComputeInSixteenBits) {
  for (const DType compute : {DType::bf16, DType::f16}) {
    const auto net = GetParam();
    TrainerOptions options = golden_options();
    options.compute = compute;
    options.syncs_statistics = net()->name() == "BatchNorm";
    const Trained found = train(net(), test_devices(2), options, golden_batches(*net()));
    const auto losses = golden_file().at(net()->name()).at("losses").get<std::vector<double>>();
    for (size_t i = 0; i < losses.size(); ++i)
      EXPECT_NEAR(losses[i], found.losses[i], 0.02) << name_of(compute) << ", step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, GoldenLayers, testing::Values(&image_net, &batch_norm1d_net, &shared_net, &inputs_net),
                         [](const auto& info) { return info.param()->name(); });

}  // namespace
}  // namespace troika
