// `troika inspect`: names, shapes, dtypes and metadata of a model file or a checkpoint, its model
// and totals.
#include <algorithm>
#include <iostream>
#include <memory>

#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/tensor_list.h"
#include "cli/text.h"
#include "cli/weights.h"

namespace troika::cli {
namespace {

std::string print_totals(const std::vector<ListedTensor>& tensors) {
  int64_t parameters = 0, bytes = 0;
  for (const ListedTensor& tensor : tensors) {
    if (tensor.is_parameter()) parameters += tensor.elements();
    bytes += tensor.bytes();
  }
  return formatted("total: %zu %s, %s parameters, %s bytes\n", tensors.size(),
                   tensors.size() == 1 ? "tensor" : "tensors", with_commas(parameters).c_str(),
                   with_commas(bytes).c_str());
}

// The layers are a line of thousands of characters; print_model is one short line.
std::string without_layers(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty() && !line.starts_with("metadata troika.model = ")) out += line + '\n';
  return out;
}

std::string print_model(const Context& context, const std::string& path) {
  Model model;
  troika_error error;
  if (troika_model_open(context.get(), path.c_str(), model.out(), &error) < 0)
    return formatted("model: cannot be opened: %s\n", error.message);
  troika_model_info info = TROIKA_MODEL_INFO_INIT;
  call(troika_model_describe, model.get(), &info);
  return formatted("model: %s, %d layers, [%s] to [%s], %s operations per sample\n", info.name, info.layers,
                   as_shape(info.input_dims, info.input_rank).c_str(),
                   as_shape(info.output_dims, info.output_rank).c_str(),
                   with_commas(static_cast<int64_t>(std::min(info.operations, 9e18))).c_str());
}

}  // namespace

void add_inspect_command(CommandLine& line) {
  const Command command = line.add_command("inspect", "Shows what a weights file or a checkpoint holds");
  auto path = std::make_shared<std::string>();
  command.argument("file", *path, "A .safetensors file", "FILE");
  command.action([path] {
    check_weights_file(*path);
    const std::string text = inspect_file(*path);
    const std::string shown = without_layers(text);
    std::cout << shown;
    if (shown.size() < text.size()) std::cout << print_model(create_context(), *path);
    std::cout << print_totals(parse_tensors(text));
    return 0;
  });
}

}  // namespace troika::cli
