// resnet18, resnet34 and resnet50: layers and parameter names of torchvision (He et al. 2015, with
// the stride of a bottleneck on its 3x3 convolution, "v1.5").
#include "core/text.h"
#include "models/zoo_models.h"

namespace troika {
namespace {

ValueId conv_bn(Model& model, const std::string& block, int number, ValueId x, int64_t channels, int64_t kernel,
                int64_t stride) {
  x = model.add_conv2d(text(block, ".conv", number), x, square_conv(channels, kernel, stride, kernel / 2, false));
  return model.add_batch_norm2d(text(block, ".bn", number), x);
}

// Adds the shortcut to `y` and ends the block; `relu` is the number of its last ReLU.
ValueId close_block(Model& model, const std::string& name, ValueId x, ValueId y, int64_t channels, int64_t stride,
                    int relu) {
  if (stride != 1 || model.graph().type(x).shape[1] != channels) {
    x = model.add_conv2d(name + ".downsample.0", x, square_conv(channels, 1, stride, 0, false));
    x = model.add_batch_norm2d(name + ".downsample.1", x);
  }
  y = model.add_sum(name + ".add", y, x);
  return model.add_relu(text(name, ".relu", relu), y);
}

ValueId basic_block(Model& model, const std::string& name, ValueId x, int64_t width, int64_t stride) {
  model.name_container(name, "BasicBlock");
  ValueId y = conv_bn(model, name, 1, x, width, 3, stride);
  y = model.add_relu(name + ".relu1", y);
  y = conv_bn(model, name, 2, y, width, 3, 1);
  return close_block(model, name, x, y, width, stride, 2);
}

ValueId bottleneck(Model& model, const std::string& name, ValueId x, int64_t width, int64_t stride) {
  model.name_container(name, "Bottleneck");
  ValueId y = conv_bn(model, name, 1, x, width, 1, 1);
  y = model.add_relu(name + ".relu1", y);
  y = conv_bn(model, name, 2, y, width, 3, stride);
  y = model.add_relu(name + ".relu2", y);
  y = conv_bn(model, name, 3, y, 4 * width, 1, 1);
  return close_block(model, name, x, y, 4 * width, stride, 3);
}

using Block = ValueId (*)(Model&, const std::string& name, ValueId x, int64_t width, int64_t stride);

void build(Model& model, const ZooSizes& sizes, Block block, const int (&blocks)[4]) {
  ValueId x = model.add_input("x", sizes.image.shape());
  x = model.add_conv2d("conv1", x, square_conv(64, 7, 2, 3, false));
  x = model.add_batch_norm2d("bn1", x);
  x = model.add_relu("relu", x);
  x = model.add_max_pool2d("maxpool", x, square_window(3, 2, 1));
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < blocks[stage]; ++i)
      x = block(model, text("layer", stage + 1, '.', i), x, int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1);
  x = model.add_adaptive_avg_pool2d("avgpool", x, 1, 1);
  x = model.add_flatten("flatten", x);
  model.set_output(model.add_linear("fc", x, sizes.classes, true));
}

}  // namespace

void build_resnet18(Model& model, const ZooSizes& sizes) { build(model, sizes, basic_block, {2, 2, 2, 2}); }

void build_resnet34(Model& model, const ZooSizes& sizes) { build(model, sizes, basic_block, {3, 4, 6, 3}); }

void build_resnet50(Model& model, const ZooSizes& sizes) { build(model, sizes, bottleneck, {3, 4, 6, 3}); }

}  // namespace troika
