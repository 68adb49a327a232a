// The list of models, and their common options.
#include "models/zoo.h"

#include <iterator>

#include "core/error.h"
#include "core/text.h"
#include "models/zoo_models.h"

namespace troika {
namespace {

struct ZooEntry {
  const char* name;
  void (*build)(Model& model, const ZooSizes& sizes);
  ZooSizes sizes;  // defaults; 0: the model has no such size
  DefaultInitializer initializer;
};

constexpr ImageSize kFashion{1, 28, 28}, kImageNet{3, 224, 224};
constexpr auto kTutorial = DefaultInitializer::tutorial, kPyTorch = DefaultInitializer::pytorch;

const ZooEntry kModels[] = {
    {"d2l_lenet", build_lenet, {kFashion, 10}, kTutorial},
    {"d2l_resnet18", build_d2l_resnet18, {kFashion, 10}, kTutorial},
    {"d2l_resnet18_stem7", build_d2l_resnet18_stem7, {kFashion, 10}, kTutorial},
    {"resnet9", build_resnet9, {kFashion, 10}, kPyTorch},
    {"resnet18", build_resnet18, {kImageNet, 1000}, kPyTorch},
    {"resnet34", build_resnet34, {kImageNet, 1000}, kPyTorch},
    {"resnet50", build_resnet50, {kImageNet, 1000}, kPyTorch},
    {"mlp", build_mlp, {kFashion, 10, 256}, kPyTorch},
    {"char_lstm", build_char_lstm, {{}, 256, 128, 64}, kPyTorch},  // classes: the values of a byte
};

int64_t option(const std::string& model, const char* name, const std::optional<int64_t>& value, int64_t unset) {
  if (value && unset == 0)
    throw Error(Status::invalid_argument, text("model '", model, "': ", name, " is ", *value, ", the model has none"));
  if (value && *value < 1)
    throw Error(Status::invalid_argument, text("model '", model, "': ", name, " is ", *value, ", needs at least 1"));
  return value.value_or(unset);
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const ZooEntry& entry : kModels) names.push_back(entry.name);
  return names;
}

const char* model_name(size_t index) { return index < std::size(kModels) ? kModels[index].name : nullptr; }

std::unique_ptr<Model> create_model(const std::string& name, const ZooOptions& options) {
  for (const ZooEntry& entry : kModels) {
    if (name != entry.name) continue;
    const ImageSize& image = entry.sizes.image;
    ZooSizes sizes;
    sizes.image.channels = option(name, "input_channels", options.input_channels, image.channels);
    sizes.image.height = option(name, "input_height", options.input_height, image.height);
    sizes.image.width =
        option(name, "input_width", options.input_width, options.input_height ? sizes.image.height : image.width);
    sizes.classes = option(name, "classes", options.classes, entry.sizes.classes);
    sizes.hidden = option(name, "hidden", options.hidden, entry.sizes.hidden);
    sizes.steps = option(name, "steps", options.steps, entry.sizes.steps);
    auto model = std::make_unique<Model>(name);
    model->set_default_initializer(entry.initializer);
    entry.build(*model, sizes);
    return model;
  }
  throw Error(Status::not_found,
              text("model '", name.substr(0, 100), "' is not in the zoo; it has ", join(model_names(), ", ")));
}

}  // namespace troika
