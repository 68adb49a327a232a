// d2l_lenet: the two-convolution network of the multi-GPU chapter of Dive into Deep Learning.
#include "models/layers.h"
#include "models/zoo_models.h"

namespace troika {

void build_lenet(Model& model, const ZooSizes& sizes) {
  ValueId x = model.add_input("x", sizes.image.shape());              // [1, 28, 28]
  x = add_conv2d(model, "conv1", x, square_conv(20, 3, 1, 0, true));  // [20, 26, 26]
  x = add_relu(model, "relu1", x);
  x = add_avg_pool2d(model, "pool1", x, square_window(2, 2, 0));      // [20, 13, 13]
  x = add_conv2d(model, "conv2", x, square_conv(50, 5, 1, 0, true));  // [50, 9, 9]
  x = add_relu(model, "relu2", x);
  x = add_avg_pool2d(model, "pool2", x, square_window(2, 2, 0));  // [50, 4, 4]
  x = add_flatten(model, "flatten", x);                           // [800]
  x = add_linear(model, "fc1", x, 128, true);
  x = add_relu(model, "relu3", x);
  model.set_output(add_linear(model, "fc2", x, sizes.classes, true));
}

}  // namespace troika
