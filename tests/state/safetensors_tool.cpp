// The C++ half of python_safetensors_test.py: writes a file of known tensors or a model file, or
// checks one that Python wrote.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "core/text.h"
#include "models/initializer.h"
#include "models/model_text.h"
#include "models/zoo.h"
#include "train/weights_file.h"

namespace troika {
namespace {

constexpr const char* kDTypes[] = {"BOOL", "U8", "I8", "I16", "U16", "F16", "I32", "U32", "F32", "F64", "I64", "U64"};

// Returns `size` bytes, at most 48. Byte i of every tensor's data is i modulo 2: a boolean and a
// finite number in every type.
std::string pattern(uint64_t size) {
  std::string bytes;
  for (uint64_t i = 0; i < size; ++i) bytes += static_cast<char>(i % 2);
  return bytes;
}

const std::vector<Shape> kShapes = {Shape{}, Shape{0}, Shape{2, 3}, Shape{3, 0, 2}};

std::string name_of_tensor(std::string_view dtype, const Shape& shape) { return text(dtype, " \u00e9 ", shape); }

void write(const std::string& path) {
  const std::string data = pattern(48);
  SafetensorsWriter writer;
  for (const char* dtype : kDTypes)
    for (const Shape& shape : kShapes) writer.add(name_of_tensor(dtype, shape), dtype, shape, data.data());
  writer.set_metadata("format", "pt \"quoted\" \\ \t \u00e9");
  writer.write(path);
}

void check(const std::string& path) {
  const SafetensorsReader reader(path);
  if (reader.metadata().at("format") != "pt \"quoted\" \\ \t \u00e9") throw Error(Status::mismatch, "metadata differs");
  for (const char* dtype : kDTypes)
    for (const Shape& shape : kShapes) {
      const TensorEntry* entry = reader.find(name_of_tensor(dtype, shape));
      if (!entry || entry->dtype != dtype || entry->shape != shape)
        throw Error(Status::mismatch, text(name_of_tensor(dtype, shape), " differs"));
      std::string data(entry->bytes(), '\0');
      reader.read(*entry, data.data(), data.size());
      if (data != pattern(data.size())) throw Error(Status::mismatch, text(entry->name, ": data differs"));
    }
  if (reader.entries().size() != std::size(kDTypes) * kShapes.size()) throw Error(Status::mismatch, "more tensors");
}

std::unique_ptr<Model> known_model() {
  auto model = create_model("d2l_lenet", {});
  initialize_default(*model, 1, false);
  return model;
}

void write_model(const std::string& path) {
  save_model(*known_model(), [&](const SafetensorsWriter& writer) { writer.write(path); });
}

void check_model(const std::string& path) {
  const auto model = open_model(SafetensorsReader(path)), known = known_model();
  if (print_model_text(*model) != print_model_text(*known)) throw Error(Status::mismatch, "the layers differ");
  for (size_t i = 0; i < known->parameters()->size(); ++i)
    if (model->parameters()->entry(i).data != known->parameters()->entry(i).data)
      throw Error(Status::mismatch, text(known->parameters()->entry(i).name, " differs"));
}

}  // namespace
}  // namespace troika

int main(int argc, char** argv) {
  try {
    if (argc == 3 && std::strcmp(argv[1], "write") == 0) return troika::write(argv[2]), 0;
    if (argc == 3 && std::strcmp(argv[1], "check") == 0) return troika::check(argv[2]), 0;
    if (argc == 3 && std::strcmp(argv[1], "write_model") == 0) return troika::write_model(argv[2]), 0;
    if (argc == 3 && std::strcmp(argv[1], "check_model") == 0) return troika::check_model(argv[2]), 0;
    std::fprintf(stderr, "usage: safetensors_tool write|check|write_model|check_model PATH\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "safetensors_tool: %s\n", error.what());
  }
  return 1;
}
