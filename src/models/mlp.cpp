// mlp: a perceptron with one hidden layer.
#include "models/zoo_models.h"

namespace troika {

void build_mlp(Model& model, const ImageSize& image, int64_t classes, int64_t hidden) {
  ValueId x = model.add_input("x", image.shape());
  x = model.add_flatten("flatten", x);
  x = model.add_linear("fc1", x, hidden, true);
  x = model.add_relu("relu", x);
  model.set_output(model.add_linear("fc2", x, classes, true));
}

}  // namespace troika
