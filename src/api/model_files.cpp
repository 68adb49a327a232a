// Saving, loading and opening models, in files and in memory.
#include <troika/model.h>

#include "api/field_check.h"
#include "api/model_call.h"
#include "api/structs.h"
#include "train/weights_file.h"

using namespace troika;
using namespace troika::api;

namespace {

// Returns the first lines, whole, that fit into `bytes` including a NUL. If not all fit, a last
// line counts the others.
std::string fit_lines(const std::vector<std::string>& lines, size_t bytes) {
  const auto count_line = [](size_t n) { return text("... and ", n, " more\n"); };
  std::string all = join(lines, "");
  if (all.size() < bytes) return all;
  std::string some;
  size_t fitting = 0;
  while (some.size() + lines[fitting].size() + count_line(lines.size()).size() < bytes) some += lines[fitting++];
  return some + count_line(lines.size() - fitting);
}

void write_report(const LoadReport& found, troika_load_report* out_report) {
  troika_load_report report{};
  report.loaded = found.loaded;
  report.missing = static_cast<int32_t>(found.missing.size());
  report.unexpected = static_cast<int32_t>(found.unexpected.size());
  report.mismatching = static_cast<int32_t>(found.mismatching.size());
  report.kept = found.kept;
  std::vector<std::string> lines;
  for (const std::string& name : found.missing) lines.push_back(text("missing ", name, '\n'));
  for (const std::string& name : found.unexpected) lines.push_back(text("unexpected ", name, '\n'));
  for (const std::string& name : found.mismatching) lines.push_back(text("mismatching ", name, '\n'));
  write_text(fit_lines(lines, sizeof report.names), report.names, sizeof report.names, nullptr, "troika_model_load");
  write_result(out_report, report, "troika_model_load", "out_report");
}

LoadOptions load_options_of(const troika_load_options* given, const char* function) {
  const auto o = read_options(given);
  const FieldCheck check{text(function, ": options.")};
  check.flag("allow_partial", o.allow_partial);
  check.flag("skip_mismatching", o.skip_mismatching);
  return {.allow_partial = o.allow_partial == 1,
          .skips_mismatching = o.skip_mismatching == 1,
          .strip_prefix = o.strip_prefix ? o.strip_prefix : "",
          .skip = o.skip ? check.names("skip", o.skip) : std::vector<std::string>(),
          .names = o.name_map ? NameMap(o.name_map) : NameMap()};
}

std::unique_ptr<ByteSource> memory_source(const void* data, int64_t size_bytes, const char* function) {
  required(data, function, "data");
  return std::make_unique<MemorySource>(data, bytes_argument(size_bytes, function), "model in memory");
}

// `open` returns a reader of the file, or of the memory, after all arguments have been checked.
template <typename Open>
troika_status load(troika_model model, const troika_load_options* options, troika_load_report* out_report,
                   const char* function, troika_error* error, Open&& open) {
  return guard(error, [&] {
    const auto object = object_of(model, function, "model");
    Model& m = *object->model;
    if (out_report) result_size(out_report, function, "out_report");
    const LoadOptions read = load_options_of(options, function);
    LoadReport report;
    const Exclusive exclusive(m.busy(), function, "model");
    try {
      load_weights(m, open(), read, report);
    } catch (const Error& e) {
      if (out_report && e.status() == Status::mismatch) write_report(report, out_report);
      throw;
    }
    if (out_report) write_report(report, out_report);
  });
}

template <typename Open>
troika_status open_model_with(troika_context context, troika_model* out_model, const char* function,
                              troika_error* error, Open&& open) {
  return guard(error, [&] {
    *required(out_model, function, "out_model") = nullptr;
    check_handle(context, function, "context");
    const SafetensorsReader reader = open();
    *out_model = new_model(context, function, open_model(reader));
  });
}

}  // namespace

troika_status troika_model_save(troika_model model, const char* path, troika_error* error) {
  constexpr const char* kName = "troika_model_save";
  return with_model<Together>(model, kName, error, [&](Model& m) {
    required(path, kName, "path");
    save_model(m, [&](const SafetensorsWriter& writer) { writer.write(path); });
  });
}

troika_status troika_model_save_memory(troika_model model, void* buffer, int64_t capacity, int64_t* out_size,
                                       troika_error* error) {
  constexpr const char* kName = "troika_model_save_memory";
  return with_model<Together>(model, kName, error, [&](Model& m) {
    if (capacity < 0 || (!buffer && capacity > 0))
      refuse(kName, text("buffer of ", capacity, " bytes, need NULL with 0 or a buffer"));
    save_model(m, [&](const SafetensorsWriter& writer) {
      const uint64_t size = writer.size("model in memory");
      if (out_size) *out_size = static_cast<int64_t>(size);
      if (!buffer) return;
      if (size > static_cast<uint64_t>(capacity))
        refuse(kName, text("buffer of ", capacity, " bytes, the model needs ", size));
      writer.write_memory(buffer, "model in memory");
    });
  });
}

troika_status troika_model_load(troika_model model, const char* path, const troika_load_options* options,
                                troika_load_report* out_report, troika_error* error) {
  constexpr const char* kName = "troika_model_load";
  return load(model, options, out_report, kName, error,
              [&] { return SafetensorsReader(required(path, kName, "path")); });
}

troika_status troika_model_load_memory(troika_model model, const void* data, int64_t size_bytes,
                                       const troika_load_options* options, troika_load_report* out_report,
                                       troika_error* error) {
  constexpr const char* kName = "troika_model_load_memory";
  return load(model, options, out_report, kName, error,
              [&] { return SafetensorsReader(memory_source(data, size_bytes, kName)); });
}

troika_status troika_model_open(troika_context context, const char* path, troika_model* out_model,
                                troika_error* error) {
  constexpr const char* kName = "troika_model_open";
  return open_model_with(context, out_model, kName, error,
                         [&] { return SafetensorsReader(required(path, kName, "path"), "model file"); });
}

troika_status troika_model_open_memory(troika_context context, const void* data, int64_t size_bytes,
                                       troika_model* out_model, troika_error* error) {
  constexpr const char* kName = "troika_model_open_memory";
  return open_model_with(context, out_model, kName, error,
                         [&] { return SafetensorsReader(memory_source(data, size_bytes, kName)); });
}
