// resnet18, resnet34 and resnet50: layers and parameter names of torchvision (He et al. 2015, with
// the stride of a bottleneck on its 3x3 convolution, "v1.5").
#include "core/text.h"
#include "models/layers.h"
#include "models/zoo_models.h"

namespace troika {
namespace {

ValueId conv_bn(Model& model, const std::string& block, int number, ValueId x, int64_t channels, int64_t kernel,
                int64_t stride) {
  x = add_conv2d(model, text(block, ".conv", number), x, square_conv(channels, kernel, stride, kernel / 2, false));
  return add_batch_norm2d(model, text(block, ".bn", number), x);
}

// Adds the shortcut to `y` and ends the block; `relu` is the number of its last ReLU.
ValueId close_block(Model& model, const std::string& name, ValueId x, ValueId y, int64_t channels, int64_t stride,
                    int relu) {
  if (stride != 1 || model.graph().type(x).shape[1] != channels) {
    x = add_conv2d(model, name + ".downsample.0", x, square_conv(channels, 1, stride, 0, false));
    x = add_batch_norm2d(model, name + ".downsample.1", x);
  }
  y = add_sum(model, name + ".add", y, x);
  return add_relu(model, text(name, ".relu", relu), y);
}

ValueId basic_block(Model& model, const std::string& name, ValueId x, int64_t width, int64_t stride) {
  model.name_container(name, "BasicBlock");
  ValueId y = conv_bn(model, name, 1, x, width, 3, stride);
  y = add_relu(model, name + ".relu1", y);
  y = conv_bn(model, name, 2, y, width, 3, 1);
  return close_block(model, name, x, y, width, stride, 2);
}

ValueId bottleneck(Model& model, const std::string& name, ValueId x, int64_t width, int64_t stride) {
  model.name_container(name, "Bottleneck");
  ValueId y = conv_bn(model, name, 1, x, width, 1, 1);
  y = add_relu(model, name + ".relu1", y);
  y = conv_bn(model, name, 2, y, width, 3, stride);
  y = add_relu(model, name + ".relu2", y);
  y = conv_bn(model, name, 3, y, 4 * width, 1, 1);
  return close_block(model, name, x, y, 4 * width, stride, 3);
}

using Block = ValueId (*)(Model&, const std::string& name, ValueId x, int64_t width, int64_t stride);

void build(Model& model, const ZooSizes& sizes, Block block, const int (&blocks)[4]) {
  ValueId x = model.add_input("x", sizes.image.shape());
  x = add_conv2d(model, "conv1", x, square_conv(64, 7, 2, 3, false));
  x = add_batch_norm2d(model, "bn1", x);
  x = add_relu(model, "relu", x);
  x = add_max_pool2d(model, "maxpool", x, square_window(3, 2, 1));
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < blocks[stage]; ++i)
      x = block(model, text("layer", stage + 1, '.', i), x, int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1);
  x = add_adaptive_avg_pool2d(model, "avgpool", x, 1, 1);
  x = add_flatten(model, "flatten", x);
  model.set_output(add_linear(model, "fc", x, sizes.classes, true));
}

}  // namespace

void build_resnet18(Model& model, const ZooSizes& sizes) { build(model, sizes, basic_block, {2, 2, 2, 2}); }

void build_resnet34(Model& model, const ZooSizes& sizes) { build(model, sizes, basic_block, {3, 4, 6, 3}); }

void build_resnet50(Model& model, const ZooSizes& sizes) { build(model, sizes, bottleneck, {3, 4, 6, 3}); }

}  // namespace troika
