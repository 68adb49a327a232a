// Reads weights files with the library, which is strict.
#include "cli/weights.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/path.h"

namespace troika::cli {
namespace {

troika_parameter_info describe_entry(const Model& model, int32_t index) {
  troika_parameter_info info = TROIKA_PARAMETER_INFO_INIT;
  call(troika_model_describe_parameter, model.get(), index, &info);
  return info;
}

int32_t count_entries(const Model& model) {
  int32_t entries = 0;
  call(troika_model_count_parameters, model.get(), &entries, static_cast<int64_t*>(nullptr));
  return entries;
}

// PyTorch's files are zip archives, or pickles in earlier versions. Safetensors begin with the size
// of their header, which may be the same bytes, and then the header.
bool is_of_pytorch(const std::string& path) {
  char begin[9] = {};
  std::ifstream(path_of(path), std::ios::binary).read(begin, sizeof begin);
  const std::string_view bytes(begin, sizeof begin);
  return (bytes.starts_with("PK\3\4") || bytes.starts_with("\x80\2")) && !bytes.ends_with('{');
}

std::string layer_of(const std::string& parameter) { return parameter.substr(0, parameter.rfind('.')); }

troika_load_options load_options(const WeightNames& names) {
  troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
  if (!names.strip_prefix.empty()) options.strip_prefix = names.strip_prefix.c_str();
  if (!names.map.empty()) options.name_map = names.map.c_str();
  return options;
}

}  // namespace

void add_weight_names(const Command& command, WeightNames& names) {
  command.option("--strip-prefix", names.strip_prefix,
                 "Prefix to leave out of the names in the weights file, such as module.", "PREFIX");
  command.option("--name-map", names.map,
                 "The model's names for those of the weights file: d2l, torchvision, or rules such as "
                 "encoder.*=layer1.*,head.*=fc.*",
                 "RULES");
}

void check_weights_file(const std::string& path) {
  if (is_of_pytorch(path))
    throw Failure("'" + path + "' is a file of torch.save, need .safetensors; convert it with: " +
                  "docs/tools/pt-to-safetensors " + path);
}

int64_t classes_in_file(const Model& model, const std::string& path, const WeightNames& names) {
  const std::string last = describe_entry(model, count_entries(model) - 1).name;
  troika_load_options options = load_options(names);
  options.skip_mismatching = 1;
  troika_load_report report = TROIKA_LOAD_REPORT_INIT;
  troika_error error;
  if (troika_model_load(model.get(), path.c_str(), &options, &report, &error) != TROIKA_OK) return 0;
  // mismatching fc.bias: file F32 [7], model F32 [10]
  const std::string lines = report.names, line = "mismatching " + last + ": file F32 [";
  const size_t at = lines.find(line);
  return at == std::string::npos ? describe_entry(model, count_entries(model) - 1).dims[0]
                                 : std::strtoll(lines.c_str() + at + line.size(), nullptr, 10);
}

void load_weights(const Model& model, const std::string& path, const WeightNames& names) {
  const troika_load_options options = load_options(names);
  call(troika_model_load, model.get(), path.c_str(), &options, static_cast<troika_load_report*>(nullptr));
}

std::vector<std::string> load_body(const Model& model, const std::string& path, const WeightNames& names) {
  troika_load_options options = load_options(names);
  options.skip_mismatching = 1;
  troika_load_report report = TROIKA_LOAD_REPORT_INIT;
  call(troika_model_load, model.get(), path.c_str(), &options, &report);
  const std::string last = layer_of(describe_entry(model, count_entries(model) - 1).name);
  std::vector<std::string> others;
  std::istringstream lines(report.names);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find(':')).substr(line.find(' ') + 1);
    if (!line.starts_with("mismatching ") || layer_of(name) != last) {
      load_weights(model, path, names);  // says all that does not fit
      return {};
    }
    others.push_back(name);
  }
  return others;
}

}  // namespace troika::cli
