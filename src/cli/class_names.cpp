// Reads and compares names of classes.
#include "cli/class_names.h"

#include <nlohmann/json.hpp>

#include "cli/files.h"
#include "cli/text.h"

namespace troika::cli {

std::vector<std::string> names_of_cifar(const std::filesystem::path& directory, const troika_dataset_info& info) {
  constexpr const char* kFiles[] = {"batches.meta.txt", "cifar-10-batches-bin/batches.meta.txt", "fine_label_names.txt",
                                    "cifar-100-binary/fine_label_names.txt"};
  if (info.rank != 3 || info.dims[0] != 3) return {};  // those of MNIST are grey
  for (const char* file : kFiles) {
    if (!std::filesystem::is_regular_file(directory / file)) continue;
    std::vector<std::string> names;
    for (std::string& name : split(read_file(directory / file), '\n')) {
      if (name.ends_with('\r')) name.pop_back();
      if (!name.empty()) names.push_back(std::move(name));
    }
    return std::ssize(names) < info.classes ? std::vector<std::string>() : names;
  }
  return {};
}

std::vector<std::string> in_utf8(std::vector<std::string> names) {
  try {
    static_cast<void>(nlohmann::json(names).dump());
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  return names;
}

void check_class_names(const std::vector<std::string>& of_data, const std::vector<std::string>& of_run) {
  if (of_data.empty() || of_run.empty() || of_data == of_run) return;
  throw Failure("the data have the classes " + listed(of_data) + ", the run has " + listed(of_run) +
                "; give data of the same classes");
}

std::string name_of_class(const std::vector<std::string>& names, int64_t number) {
  return number >= 0 && number < std::ssize(names) ? names[static_cast<size_t>(number)] : std::to_string(number);
}

}  // namespace troika::cli
