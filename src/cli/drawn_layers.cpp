// Reads the layers of a model from its description as JSON, as the texts of a drawing.
#include "cli/drawn_layers.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/text.h"

namespace troika::cli {
namespace {

using Json = nlohmann::json;

constexpr size_t kLeastBlock = 3;  // layers

std::string number_text(const Json& number) {
  return number.is_number_float() ? formatted("%g", number.get<double>()) : number.dump();
}

std::string value_text(const Json& value, const char* separator = "x") {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return number_text(value);
  std::string out;
  for (const Json& number : value) out += (out.empty() ? "" : separator) + number_text(number);
  return out;
}

// Settings that the output's shape shows, and others that nobody looks for in a picture.
bool is_hidden(const std::string& setting) {
  static const char* const hidden[] = {"dtype",    "shape", "out_channels", "out_features", "hidden",
                                       "features", "size",  "eps",          "momentum"};
  return std::find(std::begin(hidden), std::end(hidden), setting) != std::end(hidden);
}

bool is_usual(const std::string& setting, const std::string& value) {
  static const std::set<std::pair<std::string, std::string>> usual = {{"bias", "1"},
                                                                      {"count_include_pad", "1"},
                                                                      {"dilation", "1"},
                                                                      {"dilation", "1x1"},
                                                                      {"groups", "1"},
                                                                      {"keep", "0"},
                                                                      {"stride", "1"},
                                                                      {"stride", "1x1"},
                                                                      {"padding", "0"},
                                                                      {"padding", "0x0"},
                                                                      {"output_padding", "0x0"}};
  return usual.contains({setting, value});
}

// The order in a line: first the window, at the end the bias.
int order_of(const std::string& setting) {
  static const char* const window[] = {"kernel", "stride", "padding"};
  return setting == "bias" ? 4 : static_cast<int>(std::find(std::begin(window), std::end(window), setting) - window);
}

// Returns "7x7, stride 2x2, padding 3x3, no bias": the settings that are worth a line.
std::string settings_text(const Json& settings) {
  std::map<std::pair<int, std::string>, std::string> pieces;
  for (const auto& [name, setting] : settings.items()) {
    const std::string value = value_text(setting, name == "axes" ? "," : "x");
    if (is_hidden(name) || is_usual(name, value)) continue;
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    pieces[{order_of(name), name}] = name == "bias" ? "no bias" : name == "kernel" ? value : words + " " + value;
  }
  std::string out;
  for (const auto& [place, piece] : pieces) out += (out.empty() ? "" : ", ") + piece;
  return out;
}

std::string shape_text(const Json& end) {
  const std::string shape = value_text(end["shape"]);
  return end["dtype"] == "f32" ? shape : shape + " " + end["dtype"].get<std::string>();
}

Json describe(const Model& model) {
  int64_t size = 0;
  call(troika_model_to_json, model.get(), nullptr, 0, &size);
  std::string text(static_cast<size_t>(size), '\0');
  call(troika_model_to_json, model.get(), text.data(), size, nullptr);
  text.pop_back();  // the NUL
  return Json::parse(text);
}

// Returns the layers, and the model's output as one more.
std::vector<DrawnLayer> layers_of(const Json& model) {
  std::vector<DrawnLayer> layers;
  std::map<std::string, size_t> indices;
  for (const Json& layer : model["layers"]) {
    const int64_t parameters = layer["parameters"];
    DrawnLayer drawn{layer["name"], layer["kind"], settings_text(layer["settings"]), shape_text(layer), "", {}};
    if (parameters > 0) drawn.parameters = with_commas(parameters) + (parameters == 1 ? " parameter" : " parameters");
    for (const Json& input : layer["inputs"]) drawn.inputs.push_back(indices.at(input));
    indices.emplace(drawn.name, layers.size());
    layers.push_back(drawn);
  }
  if (model["is_complete"])
    layers.push_back({"output", "", "", shape_text(model["output"]), "", {indices.at(model["output"]["layer"])}});
  return layers;
}

// Returns the block of each layer: the longest part of its name, up to a dot, that several layers
// have.
std::vector<std::string> block_names(const std::vector<DrawnLayer>& layers) {
  std::map<std::string, size_t> counts;
  for (const DrawnLayer& layer : layers)
    for (size_t dot = 0; (dot = layer.name.find('.', dot)) != std::string::npos;) ++counts[layer.name.substr(0, ++dot)];
  std::vector<std::string> names;
  for (const DrawnLayer& layer : layers) {
    names.emplace_back();
    for (size_t dot = 0; (dot = layer.name.find('.', dot)) != std::string::npos;)
      if (counts[layer.name.substr(0, ++dot)] >= kLeastBlock) names.back() = layer.name.substr(0, dot);
  }
  return names;
}

}  // namespace

DrawnModel read_model(const Model& model) {
  const Json described = describe(model);
  const std::string operations =
      with_commas(static_cast<int64_t>(std::min(described["operations"].get<double>(), 9e18)));
  return {described["name"],
          with_commas(described["parameters"]) + " parameters, " + operations +
              " operations in a forward pass of one sample",
          layers_of(described)};
}

std::vector<std::pair<size_t, size_t>> blocks_of(const std::vector<DrawnLayer>& layers) {
  const std::vector<std::string> names = block_names(layers);
  std::vector<std::pair<size_t, size_t>> blocks;
  std::map<std::string, int> runs;
  for (size_t begin = 0, end = 0; begin < names.size(); begin = end) {
    while (end < names.size() && names[end] == names[begin]) ++end;
    ++runs[names[begin]];
    if (!names[begin].empty()) blocks.emplace_back(begin, end);
  }
  std::erase_if(blocks, [&](const auto& block) { return runs[names[block.first]] > 1; });
  return blocks;
}

}  // namespace troika::cli
