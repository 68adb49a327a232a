// d2l_resnet18: the ResNet-18 of the multi-GPU chapter of Dive into Deep Learning. Convolutions
// have a bias, and a shortcut is a 1x1 convolution without batch normalisation.
#include "core/text.h"
#include "models/layers.h"
#include "models/zoo_models.h"

namespace troika {
namespace {

// y = relu(bn2(conv2(relu(bn1(conv1(x))))) + x). If the shape changes, x goes through the shortcut.
ValueId residual(Model& model, const std::string& name, ValueId x, int64_t channels, int64_t stride) {
  model.name_container(name, "Residual");
  ValueId y = add_conv2d(model, name + ".conv1", x, square_conv(channels, 3, stride, 1, true));
  y = add_batch_norm2d(model, name + ".bn1", y);
  y = add_relu(model, name + ".relu1", y);
  y = add_conv2d(model, name + ".conv2", y, square_conv(channels, 3, 1, 1, true));
  y = add_batch_norm2d(model, name + ".bn2", y);
  if (stride != 1) x = add_conv2d(model, name + ".downsample", x, square_conv(channels, 1, stride, 0, true));
  y = add_sum(model, name + ".add", y, x);
  return add_relu(model, name + ".relu2", y);
}

// Four stages of two blocks, and the head. Every stage except the first halves the image and
// doubles the channels.
void build_body(Model& model, ValueId x, int64_t classes) {
  for (int stage = 0; stage < 4; ++stage)
    for (int block = 0; block < 2; ++block)
      x = residual(model, text("layer", stage + 1, '.', block), x, int64_t{64} << stage,
                   stage > 0 && block == 0 ? 2 : 1);
  x = add_adaptive_avg_pool2d(model, "avgpool", x, 1, 1);  // [512, 1, 1]
  x = add_flatten(model, "flatten", x);
  model.set_output(add_linear(model, "fc", x, classes, true));
}

}  // namespace

void build_d2l_resnet18(Model& model, const ZooSizes& sizes) {
  ValueId x = model.add_input("x", sizes.image.shape());
  x = add_conv2d(model, "conv1", x, square_conv(64, 3, 1, 1, true));
  x = add_batch_norm2d(model, "bn1", x);
  build_body(model, add_relu(model, "relu", x), sizes.classes);
}

void build_d2l_resnet18_stem7(Model& model, const ZooSizes& sizes) {
  ValueId x = model.add_input("x", sizes.image.shape());
  x = add_conv2d(model, "conv1", x, square_conv(64, 7, 2, 3, true));
  x = add_batch_norm2d(model, "bn1", x);
  x = add_relu(model, "relu", x);
  build_body(model, add_max_pool2d(model, "maxpool", x, square_window(3, 2, 1)), sizes.classes);
}

}  // namespace troika
