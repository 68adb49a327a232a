// char_lstm: a language model of characters, which predicts the next character after each
// character.
#include "models/zoo_models.h"

namespace troika {

void build_char_lstm(Model& model, const ZooSizes& sizes) {
  constexpr int64_t kFeatures = 64;  // of a character
  ValueId x = model.add_input("x", {sizes.steps}, DType::i32);
  x = model.add_embedding("embedding", x, sizes.classes, kFeatures);       // [steps, 64]
  x = model.add_lstm("lstm", x, sizes.hidden, true);                       // [steps, hidden]
  model.set_output(model.add_linear("fc", x, sizes.classes, true, true));  // [steps, classes]
}

}  // namespace troika
