// Tests of printing: the text is PyTorch's repr, followed by counts. The texts below are from
// PyTorch 1.13 and torchvision 0.14.
#include <gtest/gtest.h>

#include <regex>

#include "core/text.h"
#include "models/layers.h"
#include "models/print.h"
#include "models/zoo.h"
#include "models/zoo_models.h"

namespace troika {
namespace {

constexpr const char* kLeNet = R"(LeNet(
  (conv1): Conv2d(1, 20, kernel_size=(3, 3), stride=(1, 1))
  (relu1): ReLU()
  (pool1): AvgPool2d(kernel_size=2, stride=2, padding=0)
  (conv2): Conv2d(20, 50, kernel_size=(5, 5), stride=(1, 1))
  (relu2): ReLU()
  (pool2): AvgPool2d(kernel_size=2, stride=2, padding=0)
  (flatten): Flatten(start_dim=1, end_dim=-1)
  (fc1): Linear(in_features=800, out_features=128, bias=True)
  (relu3): ReLU()
  (fc2): Linear(in_features=128, out_features=10, bias=True)
))";

// Layers whose settings all differ from the defaults.
constexpr const char* kOdd = R"(Odd(
  (conv): Conv2d(4, 8, kernel_size=(3, 2), stride=(2, 1), padding=(1, 0), dilation=(2, 2), groups=2, bias=False)
  (bn): BatchNorm2d(8, eps=0.0001, momentum=1.0, affine=True, track_running_stats=True)
  (max): MaxPool2d(kernel_size=(3, 2), stride=(2, 1), padding=1, dilation=1, ceil_mode=False)
  (avg): AvgPool2d(kernel_size=(1, 2), stride=(1, 2), padding=0)
  (adaptive): AdaptiveAvgPool2d(output_size=(2, 1))
  (drop): Dropout(p=0.25, inplace=False)
))";

constexpr const char* kResNet18 = R"(ResNet(
  (conv1): Conv2d(3, 64, kernel_size=(7, 7), stride=(2, 2), padding=(3, 3), bias=False)
  (bn1): BatchNorm2d(64, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
  (relu): ReLU(inplace=True)
  (maxpool): MaxPool2d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)
  (layer1): Sequential(
    (0): BasicBlock(
      (conv1): Conv2d(64, 64, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn1): BatchNorm2d(64, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      (relu): ReLU(inplace=True)
      (conv2): Conv2d(64, 64, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn2): BatchNorm2d(64, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    )
    (1): BasicBlock(
      (conv1): Conv2d(64, 64, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn1): BatchNorm2d(64, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      (relu): ReLU(inplace=True)
      (conv2): Conv2d(64, 64, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn2): BatchNorm2d(64, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    )
  )
  (layer2): Sequential(
    (0): BasicBlock(
      (conv1): Conv2d(64, 128, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False)
      (bn1): BatchNorm2d(128, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      (relu): ReLU(inplace=True)
      (conv2): Conv2d(128, 128, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn2): BatchNorm2d(128, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      (downsample): Sequential(
        (0): Conv2d(64, 128, kernel_size=(1, 1), stride=(2, 2), bias=False)
        (1): BatchNorm2d(128, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      )
    )
    (1): BasicBlock(
      (conv1): Conv2d(128, 128, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn1): BatchNorm2d(128, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      (relu): ReLU(inplace=True)
      (conv2): Conv2d(128, 128, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn2): BatchNorm2d(128, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    )
  )
  (layer3): Sequential(
    (0): BasicBlock(
      (conv1): Conv2d(128, 256, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False)
      (bn1): BatchNorm2d(256, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      (relu): ReLU(inplace=True)
      (conv2): Conv2d(256, 256, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn2): BatchNorm2d(256, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      (downsample): Sequential(
        (0): Conv2d(128, 256, kernel_size=(1, 1), stride=(2, 2), bias=False)
        (1): BatchNorm2d(256, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      )
    )
    (1): BasicBlock(
      (conv1): Conv2d(256, 256, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn1): BatchNorm2d(256, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      (relu): ReLU(inplace=True)
      (conv2): Conv2d(256, 256, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn2): BatchNorm2d(256, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    )
  )
  (layer4): Sequential(
    (0): BasicBlock(
      (conv1): Conv2d(256, 512, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1), bias=False)
      (bn1): BatchNorm2d(512, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      (relu): ReLU(inplace=True)
      (conv2): Conv2d(512, 512, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn2): BatchNorm2d(512, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      (downsample): Sequential(
        (0): Conv2d(256, 512, kernel_size=(1, 1), stride=(2, 2), bias=False)
        (1): BatchNorm2d(512, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      )
    )
    (1): BasicBlock(
      (conv1): Conv2d(512, 512, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn1): BatchNorm2d(512, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
      (relu): ReLU(inplace=True)
      (conv2): Conv2d(512, 512, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)
      (bn2): BatchNorm2d(512, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)
    )
  )
  (avgpool): AdaptiveAvgPool2d(output_size=(1, 1))
  (fc): Linear(in_features=512, out_features=1000, bias=True)
))";

std::string without_counts(const std::string& printed) {
  const std::regex counts(" -> \\[[0-9, ]*\\](, [0-9,]+ parameters)?(, [0-9,]+ operations)?");
  const std::string lines = std::regex_replace(printed, counts, "");
  return lines.substr(0, lines.find("\n# "));
}

TEST(Print, WritesLeNetAsPyTorchDoes) {
  Model model("LeNet");
  build_lenet(model, {{1, 28, 28}, 10});
  EXPECT_EQ(without_counts(print_model(model)), kLeNet);
}

TEST(Print, WritesEverySettingAsPyTorchDoes) {
  Model model("Odd");
  const ValueId x = model.add_input("x", {4, 12, 12});
  ConvOptions conv{8, {{3, 2}, {2, 1}, {1, 0}, {2, 2}}, 2, false};
  ValueId y = add_conv2d(model, "conv", x, conv);  // [8, 5, 10]
  y = add_batch_norm2d(model, "bn", y, 0.0001, 1.0);
  y = add_max_pool2d(model, "max", y, {{3, 2}, {2, 1}, {1, 1}, {1, 1}});  // [8, 3, 11]
  y = add_avg_pool2d(model, "avg", y, {{1, 2}, {1, 2}, {0, 0}, {1, 1}});
  add_adaptive_avg_pool2d(model, "adaptive", y, 2, 1);
  add_dropout(model, "drop", y, 0.25);
  EXPECT_EQ(without_counts(print_model(model)), kOdd);
}

TEST(Print, WritesALinearLayerWithoutBiasAsPyTorchDoes) {
  Model model("net");
  add_linear(model, "fc", model.add_input("x", {5}), 7, false);
  EXPECT_EQ(model.layers()[1].description, "Linear(in_features=5, out_features=7, bias=False)");
}

// torchvision calls one ReLU of a block several times, adds and flattens without modules, and names
// the model's class.
TEST(Print, WritesResNet18AsTorchvisionDoes) {
  std::string printed = without_counts(print_model(*create_model("resnet18", {})));
  for (const auto& [from, to] : {std::pair{"resnet18\\(\n", "ResNet(\n"},
                                 {" +\\((add|relu2|flatten)\\): [^\n]*\n", ""},
                                 {"relu1", "relu"},
                                 {"ReLU\\(\\)", "ReLU(inplace=True)"}})
    printed = std::regex_replace(printed, std::regex(from), to);
  EXPECT_EQ(printed, kResNet18);
}

TEST(Print, WritesShapeParametersAndOperationsOfEachLayer) {
  const std::string printed = print_model(*create_model("resnet18", {}));
  EXPECT_NE(printed.find("  (conv1): Conv2d(3, 64, kernel_size=(7, 7), stride=(2, 2), padding=(3, 3), bias=False) -> "
                         "[64, 112, 112], 9,408 parameters, 236,027,904 operations\n"),
            std::string::npos);
  EXPECT_NE(printed.find("  (relu): ReLU() -> [64, 112, 112], 802,816 operations\n"), std::string::npos);
  EXPECT_NE(printed.find("  (flatten): Flatten(start_dim=1, end_dim=-1) -> [512]\n"), std::string::npos);
  EXPECT_NE(printed.find("      (add): Add() -> [512, 7, 7], 25,088 operations\n"), std::string::npos);
  EXPECT_NE(printed.find("  (fc): Linear(in_features=512, out_features=1000, bias=True) -> [1000], 513,000 "
                         "parameters, 1,024,000 operations\n"),
            std::string::npos);
}

TEST(Print, EndsWithTheTotals) {
  for (const auto& [name, counts] : {std::pair{"resnet18", "11,689,512 parameters, 9,600 buffer elements"},
                                     {"d2l_lenet", "129,068 parameters, 0 buffer elements"}}) {
    const auto model = create_model(name, {});
    double operations = 0;
    for (const Layer& layer : model->layers()) operations += layer.operations;
    EXPECT_EQ(operations, model->layer_list().operations());
    const std::string printed = print_model(*model), last = printed.substr(printed.find("\n# "));
    EXPECT_TRUE(last.starts_with(text("\n# ", counts, ", "))) << last;
    EXPECT_TRUE(last.ends_with(" operations per sample\n")) << last;
    std::string digits = last.substr(last.find("elements, ") + 10);
    std::erase(digits, ',');
    EXPECT_EQ(std::stod(digits), operations);
  }
}

TEST(Print, NamesTheBlocksOfDiveIntoDeepLearning) {
  EXPECT_NE(print_model(*create_model("d2l_resnet18", {}))
                .find("  (layer2): Sequential(\n    (0): Residual(\n      (conv1): Conv2d(64, 128,"),
            std::string::npos);
}

TEST(Print, WritesAModelWithoutLayersOnOneLine) {
  EXPECT_EQ(print_model(Model("net")), "net()\n# 0 parameters, 0 buffer elements, 0 operations per sample\n");
}

TEST(Print, KeepsALayerBesideAGroupOfItsName) {
  Model model("net");
  const ValueId x = model.add_input("x", {2});
  add_relu(model, "a", x);
  add_relu(model, "a.b", x);
  EXPECT_EQ(without_counts(print_model(model)), "net(\n  (a): ReLU()\n  (a): Sequential(\n    (b): ReLU()\n  )\n)");
}

TEST(Print, WritesRealsAsPythonDoes) {
  Model model("net");
  const ValueId x = model.add_input("x", {2, 4, 4});
  const std::pair<double, const char*> rows[] = {
      {1e-5, "1e-05"}, {1e-3, "0.001"},    {1e-4, "0.0001"}, {1.0, "1.0"}, {123456789.0, "123456789.0"},
      {1e16, "1e+16"}, {1.5e-7, "1.5e-07"}};
  int i = 0;
  for (const auto& [eps, expected] : rows) {
    add_batch_norm2d(model, text("bn", i++), x, eps, 0.0);
    EXPECT_EQ(model.layers().back().description,
              text("BatchNorm2d(2, eps=", expected, ", momentum=0.0, affine=True, track_running_stats=True)"));
  }
}

}  // namespace
}  // namespace troika
