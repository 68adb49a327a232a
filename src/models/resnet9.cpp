// resnet9: the small residual network of DAWNBench's fast entries (Page 2018), with a quarter of
// its channels and an average in place of its last maximum. It is for small images.
#include "models/layers.h"
#include "models/zoo_models.h"

namespace troika {
namespace {

ValueId conv_bn_relu(Model& model, const std::string& name, ValueId x, int64_t channels) {
  x = add_conv2d(model, name + ".conv", x, square_conv(channels, 3, 1, 1, false));
  x = add_batch_norm2d(model, name + ".bn", x);
  return add_relu(model, name + ".relu", x);
}

// [n, c, h, w] -> [n, channels, h / 2, w / 2].
ValueId stage(Model& model, const std::string& name, ValueId x, int64_t channels) {
  x = conv_bn_relu(model, name, x, channels);
  return add_max_pool2d(model, name + ".pool", x, square_window(2, 2, 0));
}

ValueId residual(Model& model, const std::string& name, ValueId x) {
  const int64_t channels = model.graph().type(x).shape[1];
  const ValueId y = conv_bn_relu(model, name + ".0", x, channels);
  return add_sum(model, name + ".add", x, conv_bn_relu(model, name + ".1", y, channels));
}

}  // namespace

void build_resnet9(Model& model, const ZooSizes& sizes) {
  ValueId x = model.add_input("x", sizes.image.shape());
  x = conv_bn_relu(model, "layer0", x, 16);
  x = residual(model, "residual1", stage(model, "layer1", x, 32));
  x = stage(model, "layer2", x, 64);
  x = residual(model, "residual3", stage(model, "layer3", x, 128));
  x = add_adaptive_avg_pool2d(model, "avgpool", x, 1, 1);
  x = add_flatten(model, "flatten", x);
  model.set_output(add_linear(model, "fc", x, sizes.classes, true));
}

}  // namespace troika
