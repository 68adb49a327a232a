// troika_model_save and troika_model_load.
#include <troika/model.h>

#include "api/context_handle.h"
#include "api/model_handle.h"
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
  std::vector<std::string> lines;
  for (const std::string& name : found.missing) lines.push_back(text("missing ", name, '\n'));
  for (const std::string& name : found.unexpected) lines.push_back(text("unexpected ", name, '\n'));
  for (const std::string& name : found.mismatching) lines.push_back(text("mismatching ", name, '\n'));
  write_text(fit_lines(lines, sizeof report.names), report.names, sizeof report.names, nullptr, "troika_model_load");
  write_result(out_report, report, "troika_model_load", "out_report");
}

}  // namespace

troika_status troika_model_save(troika_model model, const char* path, troika_error* error) {
  constexpr const char* kName = "troika_model_save";
  return guard(error, [&] {
    const auto object = object_of(model, kName, "model");
    Model& m = *object->model;
    required(path, kName, "path");
    Exclusive exclusive(m.busy(), kName, "model");
    save_weights(m, path);
  });
}

troika_status troika_model_load(troika_model model, const char* path, const troika_load_options* options,
                                troika_load_report* out_report, troika_error* error) {
  constexpr const char* kName = "troika_model_load";
  return guard(error, [&] {
    const auto object = object_of(model, kName, "model");
    Model& m = *object->model;
    required(path, kName, "path");
    if (out_report) result_size(out_report, kName, "out_report");
    const auto o = read_options(options);
    if (o.allow_partial != 0 && o.allow_partial != 1)
      throw Error(Status::invalid_argument,
                  text(kName, ": options.allow_partial is ", o.allow_partial, ", need 0 or 1"));
    Exclusive exclusive(m.busy(), kName, "model");
    LoadReport report;
    try {
      load_weights(m, path, {o.allow_partial == 1, o.strip_prefix ? o.strip_prefix : ""}, report);
    } catch (const Error& e) {
      if (out_report && e.status() == Status::mismatch) write_report(report, out_report);
      throw;
    }
    if (out_report) write_report(report, out_report);
  });
}
