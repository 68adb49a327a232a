// Models, settings and machines for estimates of meshes, and trainers to compare with.
#pragma once

#include <memory>

#include "core/text.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "plan/estimate.h"
#include "support/test_context.h"
#include "train/trainer.h"

namespace troika {

// Returns a model of 16 inputs, 8 units, ReLU and 3 classes: fc1 has 128 + 8 parameters, fc2 has 24
// + 3.
inline std::shared_ptr<Model> small_model() {
  ZooOptions zoo;
  zoo.classes = 3, zoo.input_channels = 1, zoo.input_height = 4, zoo.input_width = 4, zoo.hidden = 8;
  return create_model("mlp", zoo);
}

inline std::shared_ptr<Model> lenet() { return create_model("d2l_lenet", {}); }

// Returns a model whose numbers of channels and units, and their halves and quarters, need no
// padding in any layout.
inline std::shared_ptr<Model> even_net() {
  auto model = std::make_shared<Model>("even_net");
  const Window three{{3, 3}, {1, 1}, {1, 1}, {1, 1}}, two{{2, 2}, {2, 2}, {0, 0}, {1, 1}};
  ValueId x = model->add_input("x", {1, 16, 16});
  x = add_avg_pool2d(*model, "pool1", add_relu(*model, "relu1", add_conv2d(*model, "conv1", x, {64, three, 1, true})),
                     two);
  x = add_avg_pool2d(*model, "pool2", add_relu(*model, "relu2", add_conv2d(*model, "conv2", x, {128, three, 1, true})),
                     two);
  x = add_relu(*model, "relu3", add_linear(*model, "fc1", add_flatten(*model, "flatten", x), 256, true));
  model->set_output(add_linear(*model, "fc2", x, 64, true));
  return model;
}

inline std::shared_ptr<Model> small_resnet() {
  ZooOptions zoo;
  zoo.input_channels = 1, zoo.input_height = 8, zoo.input_width = 8;
  return create_model("d2l_resnet18", zoo);
}

// Returns a model of linear layers with equal costs.
inline std::shared_ptr<Model> deep_model(int layers) {
  auto model = std::make_shared<Model>("deep");
  ValueId x = model->add_input("x", {64});
  for (int i = 0; i < layers; ++i) x = add_linear(*model, text("fc", i), x, 64, false);
  model->set_output(x);
  return model;
}

inline PlannedStep step_of(int64_t batch, int64_t micro_batches = 1, double momentum = 0) {
  PlannedStep settings;
  settings.batch = batch;
  settings.micro_batches = micro_batches;
  settings.settings[Setting::momentum] = momentum;
  return settings;
}

constexpr double kFast = 1e30;

inline Machine machine_of(int devices) { return {devices, size_t{1} << 40, 1e12, 1e11, 1e10, 1e-6}; }

inline MeshEstimate estimate(const Model& model, const PlannedStep& settings, const Mesh& mesh) {
  return estimate_mesh(model.graph(), settings, machine_of(mesh.data * mesh.layer * mesh.channel), mesh);
}

inline std::unique_ptr<Trainer> attach(std::shared_ptr<Model> model, const PlannedStep& settings, const Mesh& mesh) {
  static const auto context = std::make_shared<Context>(test_context_options());
  TrainerOptions options;
  options.mesh = mesh;
  options.optimizer = settings.optimizer;
  options.settings = settings.settings;
  options.conditioning = settings.conditioning;
  options.compute = settings.compute;
  options.micro_batches = settings.micro_batches;
  options.logical_shards = settings.logical_shards;
  options.recompute = settings.recompute;
  options.pipeline_schedule = settings.pipeline_schedule;
  options.pipeline_chunks = settings.pipeline_chunks;
  std::vector<DeviceId> devices;
  for (int i = 0; i < mesh.data * mesh.layer * mesh.channel; ++i) devices.push_back({DeviceKind::cpu, i});
  return std::make_unique<Trainer>(context, std::move(model), devices, options);
}

}  // namespace troika
