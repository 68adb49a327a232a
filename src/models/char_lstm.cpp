// char_lstm: a language model of characters, which predicts the next character after each
// character.
#include "models/layers.h"
#include "models/zoo_models.h"

namespace troika {

void build_char_lstm(Model& model, const ZooSizes& sizes) {
  constexpr int64_t kFeatures = 64;  // of a character
  ValueId x = model.add_input("x", {sizes.steps}, DType::i32);
  x = add_embedding(model, "embedding", x, sizes.classes, kFeatures);       // [steps, 64]
  x = add_lstm(model, "lstm", x, sizes.hidden, true);                       // [steps, hidden]
  model.set_output(add_linear(model, "fc", x, sizes.classes, true, true));  // [steps, classes]
}

}  // namespace troika
