// Reads weights files with the library, which is strict.
#include "cli/weights.h"

#include <algorithm>
#include <fstream>

#include "cli/tensor_list.h"
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

int64_t size_of_entry(const troika_parameter_info& info) {
  int64_t bytes = info.dtype == TROIKA_DTYPE_I64 ? 8 : 4;
  for (int32_t axis = 0; axis < info.rank; ++axis) bytes *= info.dims[axis];
  return bytes;
}

// PyTorch's files are zip archives, or pickles in earlier versions.
bool is_of_pytorch(const std::string& path) {
  char begin[4] = {};
  std::ifstream(path_of(path), std::ios::binary).read(begin, sizeof begin);
  const std::string_view bytes(begin, sizeof begin);
  return bytes == "PK\3\4" || bytes.starts_with("\x80\2");
}

}  // namespace

void check_weights_file(const std::string& path) {
  if (is_of_pytorch(path))
    throw Failure("'" + path + "' is a file of torch.save, need .safetensors; convert it with: " +
                  "docs/tools/pt-to-safetensors " + path);
}

int64_t classes_in_file(const Model& model, const std::string& path, const std::string& prefix) {
  const std::string last = describe_entry(model, count_entries(model) - 1).name;
  for (const ListedTensor& tensor : parse_tensors(inspect_file(path)))
    if ((tensor.name == prefix + last || tensor.name == "model/" + last) && !tensor.dims.empty()) return tensor.dims[0];
  return 0;
}

void load_weights(const Model& model, const std::string& path, const std::string& prefix) {
  troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
  if (!prefix.empty()) options.strip_prefix = prefix.c_str();
  call(troika_model_load, model.get(), path.c_str(), &options, static_cast<troika_load_report*>(nullptr));
}

std::vector<std::string> copy_weights(const Model& from, const Model& to) {
  std::vector<std::string> others;
  std::vector<char> value;
  for (int32_t i = 0, count = count_entries(to); i < count; ++i) {
    const troika_parameter_info wanted = describe_entry(to, i);
    const troika_parameter_info found = describe_entry(from, i);
    if (!std::equal(wanted.dims, wanted.dims + TROIKA_MAX_RANK, found.dims)) {
      others.emplace_back(wanted.name);
      continue;
    }
    value.resize(static_cast<size_t>(size_of_entry(wanted)));
    const auto size = static_cast<int64_t>(value.size());
    call(troika_model_get_parameter, from.get(), wanted.name, static_cast<void*>(value.data()), size);
    call(troika_model_set_parameter, to.get(), wanted.name, static_cast<const void*>(value.data()), size);
  }
  return others;
}

}  // namespace troika::cli
