// `troika inspect`: names, shapes, dtypes and metadata of a weights file or a checkpoint, and
// totals.
#include <iostream>
#include <memory>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/tensor_list.h"
#include "cli/text.h"

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

}  // namespace

void add_inspect_command(CommandLine& line) {
  const Command command = line.add_command("inspect", "Shows what a weights file or a checkpoint holds");
  auto path = std::make_shared<std::string>();
  command.argument("file", *path, "A .safetensors file", "FILE");
  command.action([path] {
    const std::string text = inspect_file(*path);
    std::cout << text;
    if (!text.empty() && text.back() != '\n') std::cout << '\n';
    std::cout << print_totals(parse_tensors(text));
    return 0;
  });
}

}  // namespace troika::cli
