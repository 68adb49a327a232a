// d2l_lenet: the two-convolution network of the multi-GPU chapter of Dive into Deep Learning.
#include "models/zoo_models.h"

namespace troika {

void build_lenet(Model& model, const ZooSizes& sizes) {
  ValueId x = model.add_input("x", sizes.image.shape());             // [1, 28, 28]
  x = model.add_conv2d("conv1", x, square_conv(20, 3, 1, 0, true));  // [20, 26, 26]
  x = model.add_relu("relu1", x);
  x = model.add_avg_pool2d("pool1", x, square_window(2, 2, 0));      // [20, 13, 13]
  x = model.add_conv2d("conv2", x, square_conv(50, 5, 1, 0, true));  // [50, 9, 9]
  x = model.add_relu("relu2", x);
  x = model.add_avg_pool2d("pool2", x, square_window(2, 2, 0));  // [50, 4, 4]
  x = model.add_flatten("flatten", x);                           // [800]
  x = model.add_linear("fc1", x, 128, true);
  x = model.add_relu("relu3", x);
  model.set_output(model.add_linear("fc2", x, sizes.classes, true));
}

}  // namespace troika
