// Opens model files, and compares them with the samples.
#include "cli/model_file.h"

#include <algorithm>
#include <filesystem>

#include "cli/text.h"
#include "cli/weights.h"
#include "core/path.h"

namespace troika::cli {
namespace {

std::string samples_of(int32_t dtype, const int64_t* dims, int32_t rank) {
  return (dtype == TROIKA_DTYPE_I32 ? "tokens of " : "samples of ") + as_shape(dims, rank);
}

}  // namespace

bool is_model_file(const std::string& name) {
  for (int32_t i = 0; troika_zoo_name(i); ++i)
    if (name == troika_zoo_name(i)) return false;
  // The file of a run may have gone.
  return name.ends_with(".safetensors") || path_of(name).is_absolute() ||
         std::filesystem::is_regular_file(path_of(name));
}

std::string shown_model(const std::string& name) {
  return is_model_file(name) ? text_of(path_of(name).filename()) : name;
}

Model open_model_file(const Context& context, const std::string& path, int classes, troika_dataset_info& info) {
  if (classes > 0)
    throw Failure(
        formatted("--classes is %d, '%s' is a file with its own outputs; leave --classes out", classes, path.c_str()));
  check_weights_file(path);
  Model model;
  call(troika_model_open, context.get(), path.c_str(), model.out());
  troika_model_info found = TROIKA_MODEL_INFO_INIT;
  call(troika_model_describe, model.get(), &found);
  if (found.input_dtype != info.dtype || found.input_rank != info.rank ||
      !std::equal(info.dims, info.dims + info.rank, found.input_dims))
    throw Failure("'" + path + "' reads " + samples_of(found.input_dtype, found.input_dims, found.input_rank) +
                  ", the data have " + samples_of(info.dtype, info.dims, info.rank) + "; give others with --data, or " +
                  (info.dtype == TROIKA_DTYPE_I32 ? "--steps" : "--resize"));
  if (found.output_rank != 1) return model;  // of a text, whose bytes are the classes
  if (found.output_dims[0] < info.classes)
    throw Failure(formatted("'%s' has %lld outputs, the labels need %lld; give the data that it is for", path.c_str(),
                            static_cast<long long>(found.output_dims[0]), static_cast<long long>(info.classes)));
  info.classes = found.output_dims[0];
  return model;
}

}  // namespace troika::cli
