// mlp: a perceptron with one hidden layer.
#include "models/zoo_models.h"

namespace troika {

void build_mlp(Model& model, const ZooSizes& sizes) {
  ValueId x = model.add_input("x", sizes.image.shape());
  x = model.add_flatten("flatten", x);
  x = model.add_linear("fc1", x, sizes.hidden, true);
  x = model.add_relu("relu", x);
  model.set_output(model.add_linear("fc2", x, sizes.classes, true));
}

}  // namespace troika
