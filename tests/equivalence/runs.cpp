// Models, batches and runs for tests.
#include "equivalence/runs.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "core/text.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "support/test_context.h"
#include "train/predict_rows.h"
#include "train/state_reader.h"

namespace troika {
Window square(int64_t kernel, int64_t stride, int64_t padding) {
  return {{kernel, kernel}, {stride, stride}, {padding, padding}, {1, 1}};
}

std::shared_ptr<Model> finished(std::shared_ptr<Model> model, ValueId output) {
  model->set_output(output);
  initialize_default(*model, 1, false);
  return model;
}

std::shared_ptr<Context> test_context() {
  static const auto context = std::make_shared<Context>(test_context_options());
  return context;
}

std::shared_ptr<Context> one_thread_context() {
  static const auto context = [] {
    ContextOptions options = test_context_options();
    options.cpu_threads = 1;
    return std::make_shared<Context>(std::move(options));
  }();
  return context;
}

std::shared_ptr<Model> conv_net() {
  auto model = std::make_shared<Model>("conv_net");
  ValueId x = add_relu(*model, "relu1",
                       add_conv2d(*model, "conv1", model->add_input("x", {1, 8, 7}), {4, square(3, 1, 1), 1, true}));
  x = add_max_pool2d(*model, "pool", x, square(2, 2));
  x = add_relu(*model, "relu2", add_conv2d(*model, "conv2", x, {17, square(3), 1, true}));
  return finished(model, add_linear(*model, "fc", add_flatten(*model, "flatten", x), 5, true));
}

std::shared_ptr<Model> dropout_net() {
  auto model = std::make_shared<Model>("dropout_net");
  ValueId x = add_dropout(*model, "drop1", add_flatten(*model, "flatten", model->add_input("x", {1, 8, 7})), 0.3);
  x = add_dropout(*model, "drop2", add_relu(*model, "relu", add_linear(*model, "fc1", x, 19, true)), 0.5);
  return finished(model, add_linear(*model, "fc2", x, 5, true));
}

std::shared_ptr<Model> batch_norm_net() {
  auto model = std::make_shared<Model>("batch_norm_net");
  ValueId x = add_conv2d(*model, "conv1", model->add_input("x", {1, 8, 7}), {4, square(3, 2), 1, false});
  x = add_relu(*model, "relu1", add_batch_norm2d(*model, "bn1", x));
  ValueId y = add_batch_norm2d(*model, "bn2", add_conv2d(*model, "conv2", x, {4, square(3, 1, 1), 1, true}));
  x = add_relu(*model, "relu2", add_sum(*model, "sum", y, x));
  return finished(
      model, add_linear(*model, "fc", add_flatten(*model, "flatten", add_adaptive_avg_pool2d(*model, "pool", x, 1, 1)),
                        5, true));
}

std::vector<Batch> make_batches(const std::vector<int64_t>& sizes, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<Batch> batches;
  for (int64_t samples : sizes) {
    Batch batch;
    batch.shape = {samples, 1, 8, 7};
    batch.inputs.resize(static_cast<size_t>(batch.shape.elements()));
    for (float& v : batch.inputs) v = normal(engine);
    for (int64_t i = 0; i < samples; ++i) batch.labels.push_back(static_cast<int32_t>(engine() % 5));
    batches.push_back(std::move(batch));
  }
  return batches;
}

void predict(Trainer& trainer, const Batch& batch, std::vector<float>& output) {
  predict_inputs(trainer, {DType::f32, batch.shape}, batch.inputs.data(), output);
}

std::vector<Batch> make_batches(int count, int64_t samples, uint64_t seed) {
  return make_batches(std::vector<int64_t>(static_cast<size_t>(count), samples), seed);
}

Batch slice(const Batch& batch, int64_t begin, int64_t end) {
  const int64_t features = batch.shape.elements() / batch.shape[0];
  Batch piece;
  piece.shape = batch.shape.with_batch(end - begin);
  piece.inputs.assign(batch.inputs.begin() + begin * features, batch.inputs.begin() + end * features);
  piece.labels.assign(batch.labels.begin() + begin, batch.labels.begin() + end);
  return piece;
}

std::vector<Mesh> all_meshes() {
  std::vector<Mesh> all;
  for (int devices : {1, 2, 4, 8})
    for (const Mesh& mesh : meshes_of(devices)) all.push_back(mesh);
  return all;
}

int devices_of(const Mesh& mesh) { return mesh.data * mesh.layer * mesh.channel; }

TrainerOptions momentum_options() {
  TrainerOptions options;
  options.settings[Setting::momentum] = 0.9;
  options.settings[Setting::weight_decay] = 0.01;
  return options;
}

Named parameters_of(Model& model, bool buffers) {
  Named values;
  ParameterStore& store = *model.parameters();
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    if (p.is_buffer != buffers) continue;
    std::vector<std::byte> bytes(p.type.bytes());
    store.read(i, bytes.data(), bytes.size());
    if (p.type.dtype == DType::f32) {
      const auto* floats = reinterpret_cast<const float*>(bytes.data());
      values[p.name].assign(floats, floats + bytes.size() / sizeof(float));
    } else {
      values[p.name] = {static_cast<float>(*reinterpret_cast<const int64_t*>(bytes.data()))};
    }
  }
  return values;
}

void forget(Trained& run, const std::string& parameter) {
  for (Named* named : {&run.parameters, &run.slots, &run.gradients})
    for (auto& [name, values] : *named)
      if (name == parameter || name.ends_with("/" + parameter)) values.assign(values.size(), 0);
}

Trained look_at(Trainer& trainer) {
  trainer.check_replicas();
  Trained run;
  run.parameters = parameters_of(*trainer.model(), false);
  run.buffers = parameters_of(*trainer.model(), true);
  for (const std::string& name : trainer.trainable()) {
    auto& gradient = run.gradients[name];
    gradient.resize(run.parameters.at(name).size());
    read_gradient(trainer, name, gradient.data(), gradient.size() * sizeof(float));
  }
  run.slots = trainer.read_slots();
  return run;
}

Trained train(const std::shared_ptr<Model>& model, const std::vector<DeviceId>& devices, const TrainerOptions& options,
              const std::vector<Batch>& batches, const std::shared_ptr<Context>& context) {
  Trainer trainer(context, model, devices, options);
  std::vector<double> losses;
  std::vector<int64_t> correct;
  for (const Batch& batch : batches) {
    StepResult result;
    EXPECT_TRUE(trainer.step(batch, result));
    EXPECT_EQ(result.samples, batch.size());
    losses.push_back(result.loss);
    correct.push_back(result.correct);
  }
  Trained run = look_at(trainer);
  run.losses = losses;
  run.correct = correct;
  return run;
}

Trained train_in_pieces(const std::shared_ptr<Model>& model, const std::vector<DeviceId>& devices,
                        const TrainerOptions& options, const std::vector<Batch>& batches,
                        const std::shared_ptr<Context>& context) {
  Trainer trainer(context, model, devices, options);
  std::vector<double> losses;
  std::vector<int64_t> correct;
  for (const Batch& batch : batches) {
    StepResult result;
    EXPECT_TRUE(trainer.forward(batch, {}, result, true, nullptr));
    EXPECT_EQ(result.samples, batch.size());
    trainer.backward({}, nullptr);
    trainer.apply(true);
    losses.push_back(result.loss);
    correct.push_back(result.correct);
  }
  Trained run = look_at(trainer);
  run.losses = losses;
  run.correct = correct;
  return run;
}

void expect_same_in_pieces(const std::function<std::shared_ptr<Model>()>& net, const std::vector<DeviceId>& devices,
                           const TrainerOptions& options, const std::vector<Batch>& batches, const std::string& what) {
  const Trained whole = train(net(), devices, options, batches),
                pieces = train_in_pieces(net(), devices, options, batches);
  EXPECT_EQ(whole.losses, pieces.losses) << what;
  EXPECT_EQ(whole.correct, pieces.correct) << what;
  EXPECT_TRUE(whole.gradients == pieces.gradients) << what;
  EXPECT_TRUE(whole.slots == pieces.slots) << what;
  EXPECT_TRUE(whole.buffers == pieces.buffers) << what;
  EXPECT_TRUE(whole.parameters == pieces.parameters) << what;
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double most = 1e-30, off = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    most = std::max({most, std::abs(static_cast<double>(a[i])), std::abs(static_cast<double>(b[i]))});
    off = std::isnan(d) ? INFINITY : std::max(off, d);
  }
  return off / most;
}

double norm_of_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double squares = 0, differences = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    squares += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    differences += std::pow(static_cast<double>(b[i]) - static_cast<double>(a[i]), 2);
  }
  return std::sqrt(differences / std::max(squares, 1e-60));
}

void expect_near(const Named& expected, const Named& found, double tolerance, const std::string& what) {
  ASSERT_EQ(expected.size(), found.size()) << what;
  for (const auto& [name, values] : expected) {
    ASSERT_TRUE(found.count(name)) << what << ' ' << name;
    EXPECT_LE(difference(values, found.at(name)), tolerance) << what << " '" << name << "'";
  }
}

void expect_near(const Trained& expected, const Trained& found, double tolerance, const std::string& what) {
  ASSERT_EQ(expected.losses.size(), found.losses.size());
  for (size_t i = 0; i < expected.losses.size(); ++i)
    EXPECT_NEAR(expected.losses[i], found.losses[i], tolerance * std::abs(expected.losses[i]))
        << what << ", loss of step " << i;
  EXPECT_EQ(expected.correct, found.correct) << what;
  expect_near(expected.parameters, found.parameters, tolerance, what + ", parameter");
  expect_near(expected.slots, found.slots, tolerance, what + ", slots");
  expect_near(expected.gradients, found.gradients, tolerance, what + ", gradient");
  expect_near(expected.buffers, found.buffers, tolerance, what + ", buffer");
}

}  // namespace troika
