// Tests of the zoo: names, shapes and counts are the same as in the originals.
#include "models/zoo.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/text.h"
#include "ops/op_def.h"
#include "support/throws.h"

namespace troika {
namespace {

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(TROIKA_SOURCE_DIR "/tests/golden"))
    if (file.path().extension() == ".json") files.push_back(file.path());
  return files;
}

struct Counts {
  int64_t parameters = 0, buffer_elements = 0;
  size_t entries = 0;
};

Counts count(const Model& model) {
  Counts counts;
  counts.entries = model.parameters()->size();
  for (size_t i = 0; i < counts.entries; ++i) {
    const Parameter& p = model.parameters()->entry(i);
    if (!p.is_buffer)
      counts.parameters += p.type.shape.elements();
    else if (p.type.dtype == DType::f32)
      counts.buffer_elements += p.type.shape.elements();
  }
  return counts;
}

std::vector<std::string> entry_names(const Model& model, const std::string& pattern) {
  std::vector<std::string> names;
  for (size_t i = 0; i < model.parameters()->size(); ++i)
    if (matches_pattern(pattern, model.parameters()->entry(i).name)) names.push_back(model.parameters()->entry(i).name);
  return names;
}

TEST(Zoo, HasTheParametersOfEveryGoldenFile) {
  const auto files = golden_files();
  ASSERT_FALSE(files.empty());
  for (const auto& file : files) {
    const auto golden = nlohmann::json::parse(std::ifstream(file));
    const auto model = create_model(golden["model"], {.classes = golden["classes"].get<int64_t>(),
                                                      .input_channels = golden["input"][0].get<int64_t>(),
                                                      .input_height = golden["input"][1].get<int64_t>(),
                                                      .input_width = golden["input"][2].get<int64_t>()});
    std::vector<std::string> expected, found;
    for (const auto& p : golden["parameters"])
      expected.push_back(text(p["name"].get<std::string>(), ' ', Shape(p["shape"].get<std::vector<int64_t>>())));
    for (size_t i = 0; i < model->parameters()->size(); ++i) {
      const Parameter& p = model->parameters()->entry(i);
      if (!p.is_buffer) found.push_back(text(p.name, ' ', p.type.shape));
    }
    EXPECT_EQ(found, expected) << file;
    std::vector<std::string> buffers;
    for (const auto& [name, value] : golden["buffer_norms_end"].items())
      if (!name.ends_with("num_batches_tracked")) buffers.push_back(name);
    for (const std::string& name : buffers) EXPECT_TRUE(model->parameters()->contains(name)) << file << ' ' << name;
  }
}

TEST(Zoo, HasAsManyParametersAsTorchvision) {
  struct Row {
    const char* name;
    int64_t parameters, buffer_elements;
    size_t entries;
  };
  for (const Row& row : {Row{"resnet18", 11689512, 9600, 122}, Row{"resnet34", 21797672, 17024, 218},
                         Row{"resnet50", 25557032, 53120, 320}}) {
    const Counts counts = count(*create_model(row.name, {}));
    EXPECT_EQ(counts.parameters, row.parameters) << row.name;
    EXPECT_EQ(counts.buffer_elements, row.buffer_elements) << row.name;
    EXPECT_EQ(counts.entries, row.entries) << row.name;
  }
}

// The order is that of torchvision's state_dict.
TEST(Zoo, KeepsTheOrderOfTorchvisionsEntries) {
  std::vector<std::string> expected;
  auto batch_norm = [&](const std::string& name) {
    for (const char* part : {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"})
      expected.push_back(name + '.' + part);
  };
  for (const char* n : {"1", "2", "3"}) {
    expected.push_back(text("layer1.0.conv", n, ".weight"));
    batch_norm(text("layer1.0.bn", n));
  }
  expected.push_back("layer1.0.downsample.0.weight");
  batch_norm("layer1.0.downsample.1");
  EXPECT_EQ(entry_names(*create_model("resnet50", {}), "layer1.0.*"), expected);
}

TEST(Zoo, HasDownsamplingWhereTorchvisionHas) {
  EXPECT_EQ(entry_names(*create_model("resnet18", {}), "*downsample.0.weight"),
            (std::vector<std::string>{"layer2.0.downsample.0.weight", "layer3.0.downsample.0.weight",
                                      "layer4.0.downsample.0.weight"}));
  EXPECT_EQ(entry_names(*create_model("resnet50", {}), "*downsample.0.weight").size(), 4u);
}

TEST(Zoo, PutsABottlenecksStrideOnItsSecondConvolution) {
  const auto model = create_model("resnet50", {});
  std::vector<std::string> strided;
  for (const Node& node : model->graph().nodes())
    if (node.op == &conv2d_op && node.attributes.list("stride")[0] == 2) strided.push_back(node.name);
  EXPECT_EQ(strided, (std::vector<std::string>{"conv1", "layer2.0.conv2", "layer2.0.downsample.0", "layer3.0.conv2",
                                               "layer3.0.downsample.0", "layer4.0.conv2", "layer4.0.downsample.0"}));
}

TEST(Zoo, BuildsEveryModelWithItsDefaults) {
  for (const std::string& name : model_names()) {
    const auto model = create_model(name, {});
    const bool is_large = name.rfind("resnet", 0) == 0 && name != "resnet9";
    EXPECT_EQ(model->name(), name);
    EXPECT_TRUE(model->is_complete());
    if (name == "char_lstm") continue;
    EXPECT_EQ(model->input_shape(), is_large ? (Shape{3, 224, 224}) : (Shape{1, 28, 28})) << name;
    EXPECT_EQ(model->output_shape(), Shape{is_large ? 1000 : 10}) << name;
  }
}

// Three convolutions of a stage halve the image; each residual block has two.
TEST(Zoo, BuildsASmallResidualNetwork) {
  const auto model = create_model("resnet9", {});
  EXPECT_EQ(count(*model).parameters, 412666);
  EXPECT_EQ(entry_names(*model, "*conv.weight").size(), 8u);
  EXPECT_EQ(create_model("resnet9", {.classes = 7, .input_channels = 3, .input_height = 8})->output_shape(), Shape{7});
  EXPECT_THROWS(Status::invalid_argument, "max_pool2d 'layer3.pool'", create_model("resnet9", {.input_height = 7}));
}

TEST(Zoo, BuildsALanguageModelOfCharacters) {
  const auto model = create_model("char_lstm", {});
  EXPECT_EQ(model->input_dtype(), DType::i32);
  EXPECT_EQ(model->input_shape(), (Shape{64}));
  EXPECT_EQ(model->output_shape(), (Shape{64, 256}));
  const auto small = create_model("char_lstm", {.classes = 9, .hidden = 5, .steps = 3});
  EXPECT_EQ(small->output_shape(), (Shape{3, 9}));
  EXPECT_THROWS(Status::invalid_argument, "model 'char_lstm': input_height is 3, the model has none",
                create_model("char_lstm", {.input_height = 3}));
  EXPECT_THROWS(Status::invalid_argument, "model 'mlp': steps is 3, the model has none",
                create_model("mlp", {.steps = 3}));
}

TEST(Zoo, TakesOptions) {
  const auto model =
      create_model("resnet18", {.classes = 7, .input_channels = 1, .input_height = 64, .input_width = 96});
  EXPECT_EQ(model->input_shape(), (Shape{1, 64, 96}));
  EXPECT_EQ(model->output_shape(), Shape{7});
  EXPECT_EQ(create_model("resnet18", {.input_height = 32})->input_shape(), (Shape{3, 32, 32}));
  const auto mlp = create_model("mlp", {.hidden = 5});
  EXPECT_EQ(mlp->parameters()->entry(0).type.shape, (Shape{5, 784}));
  EXPECT_EQ(create_model("mlp", {})->parameters()->entry(0).type.shape, (Shape{256, 784}));
}

TEST(Zoo, RefusesOptionsThatMakeNoModel) {
  EXPECT_THROWS(Status::invalid_argument, "model 'mlp': classes is 0, needs at least 1",
                create_model("mlp", {.classes = 0}));
  EXPECT_THROWS(Status::invalid_argument, "model 'resnet18': hidden is 3, the model has none",
                create_model("resnet18", {.hidden = 3}));
  EXPECT_THROWS(Status::invalid_argument, "conv2d 'conv1': input of 2 x 2 is smaller than the kernel's 3 x 3 window",
                create_model("d2l_lenet", {.input_height = 2}));
  const int64_t large = INT32_MAX;
  EXPECT_THROWS(Status::invalid_argument, "has too many elements",
                create_model("mlp", {.input_channels = large, .input_height = large, .input_width = large}));
}

TEST(Zoo, ListsItsModelsWhereANameIsUnknown) {
  EXPECT_THROWS(
      Status::not_found,
      "model 'resnet19' is not in the zoo; it has d2l_lenet, d2l_resnet18, d2l_resnet18_stem7, resnet9, resnet18, "
      "resnet34, resnet50, mlp, char_lstm",
      create_model("resnet19", {}));
}

TEST(Zoo, MakesGraphsThatVerify) {
  for (const std::string& name : model_names()) EXPECT_NO_THROW(verify(create_model(name, {})->graph())) << name;
}

TEST(Zoo, MakesGraphsWhoseTextParsesBack) {
  for (const std::string& name : model_names()) {
    const std::string printed = print_graph(create_model(name, {})->graph());
    const Graph parsed = parse_graph(printed);
    EXPECT_EQ(print_graph(parsed), printed) << name;
    EXPECT_NO_THROW(verify(parsed)) << name;
  }
}

}  // namespace
}  // namespace troika
