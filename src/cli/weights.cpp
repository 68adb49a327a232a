// Reads weights files with the library, which is strict.
#include "cli/weights.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/text.h"
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

// Returns the options with which the names in the file fit, such as "--name-map d2l"; empty: none.
std::string fitting_options(const Model& model, const std::string& path, const WeightNames& given) {
  for (const char* prefix : {"", "module."})
    for (const char* map : {"", "d2l", "torchvision"}) {
      WeightNames names = given;
      if (*prefix) names.strip_prefix = prefix;
      if (*map) names.map = map;
      troika_load_options options = load_options(names);
      options.skip_mismatching = 1;
      troika_error error;
      if (troika_model_load(model.get(), path.c_str(), &options, nullptr, &error) != TROIKA_OK) continue;
      return (*prefix ? formatted("--strip-prefix %s", prefix) : "") + (*prefix && *map ? " " : "") +
             (*map ? formatted("--name-map %s", map) : "");
    }
  return "";
}

// Returns the shape of the layer's weights if its images had three colours: "[64, 3, 7, 7]".
std::string coloured_shape(const troika_parameter_info& weights) {
  std::string shape;
  for (int axis = 0; axis < weights.rank; ++axis)
    shape += formatted(axis > 0 ? ", %lld" : "[%lld", static_cast<long long>(axis == 1 ? 3 : weights.dims[axis]));
  return shape + "]";
}

// Adds up the colours of the weights [outputs, 3, height, width] of a model's first layer, into
// those of a model for grey images.
void add_up_colours(const Model& coloured, const Model& grey) {
  const troika_parameter_info info = describe_entry(grey, 0);
  const int64_t pixels = info.dims[2] * info.dims[3];
  std::vector<float> all(static_cast<size_t>(3 * info.dims[0] * pixels)), sums(all.size() / 3);
  call(troika_model_get_parameter, coloured.get(), info.name, static_cast<void*>(all.data()),
       static_cast<int64_t>(all.size() * sizeof(float)));
  for (size_t i = 0; i < all.size(); ++i) {
    const auto at = static_cast<int64_t>(i), output = at / (3 * pixels);
    sums[static_cast<size_t>(output * pixels + at % pixels)] += all[i];
  }
  call(troika_model_set_parameter, grey.get(), info.name, static_cast<const void*>(sums.data()),
       static_cast<int64_t>(sums.size() * sizeof(float)));
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
    throw Failure("'" + path + "' is a file of torch.save, need .safetensors; convert it with " +
                  "docs/tools/pt-to-safetensors, which is installed in share/troika");
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
  troika_error error;
  const troika_status status = troika_model_load(model.get(), path.c_str(), &options, nullptr, &error);
  const std::string fitting =
      status == TROIKA_ERROR_MISMATCH && names.map.empty() ? fitting_options(model, path, names) : "";
  if (!fitting.empty()) throw Failure(in_words_of_tool(error.message) + "; its names fit with " + fitting);
  check(status, error);
}

std::vector<std::string> load_body(const Model& model, const std::string& path, const WeightNames& names,
                                   const std::function<Model()>& create_coloured) {
  troika_load_options options = load_options(names);
  options.skip_mismatching = 1;
  troika_load_report report = TROIKA_LOAD_REPORT_INIT;
  troika_error error;
  if (troika_model_load(model.get(), path.c_str(), &options, &report, &error) < 0) load_weights(model, path, names);
  const troika_parameter_info first = describe_entry(model, 0);
  const std::string colours = std::string("mismatching ") + first.name + ": file F32 " + coloured_shape(first) + ",";
  const std::string last = layer_of(describe_entry(model, count_entries(model) - 1).name);
  std::vector<std::string> others;
  bool is_coloured = false;
  std::istringstream lines(report.names);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find(':')).substr(line.find(' ') + 1);
    if (create_coloured && line.starts_with(colours)) {
      is_coloured = true;
    } else if (!line.starts_with("mismatching ") || layer_of(name) != last) {
      load_weights(model, path, names);  // says all that does not fit
      return {};
    } else {
      others.push_back(name);
    }
  }
  if (is_coloured) {
    const Model coloured = create_coloured();
    call(troika_model_load, coloured.get(), path.c_str(), &options, &report);
    add_up_colours(coloured, model);
  }
  return others;
}

}  // namespace troika::cli
