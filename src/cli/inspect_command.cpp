// `troika inspect`: names, shapes, dtypes and metadata of a weights file or a checkpoint.
#include <iostream>
#include <memory>

#include "cli/client.h"
#include "cli/command_line.h"
#include "cli/commands.h"

namespace troika::cli {

void add_inspect_command(CommandLine& line) {
  const Command command = line.add_command("inspect", "Shows what a weights file or a checkpoint holds");
  auto path = std::make_shared<std::string>();
  command.argument("file", *path, "A .safetensors file", "FILE");
  command.action([path] {
    int64_t size = 0;
    call(troika_file_inspect, path->c_str(), static_cast<char*>(nullptr), int64_t{0}, &size);
    std::string text(static_cast<size_t>(size), '\0');
    call(troika_file_inspect, path->c_str(), text.data(), size, &size);
    text.resize(text.find('\0'));
    std::cout << text;
    if (!text.empty() && text.back() != '\n') std::cout << '\n';
    return 0;
  });
}

}  // namespace troika::cli
