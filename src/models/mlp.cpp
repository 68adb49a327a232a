// mlp: a perceptron with one hidden layer.
#include "models/layers.h"
#include "models/zoo_models.h"

namespace troika {

void build_mlp(Model& model, const ZooSizes& sizes) {
  ValueId x = model.add_input("x", sizes.image.shape());
  x = add_flatten(model, "flatten", x);
  x = add_linear(model, "fc1", x, sizes.hidden, true);
  x = add_relu(model, "relu", x);
  model.set_output(add_linear(model, "fc2", x, sizes.classes, true));
}

}  // namespace troika
