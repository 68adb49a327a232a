// troika_model_save and troika_model_load.
#include <troika/model.h>

#include "api/context_handle.h"
#include "api/model_handle.h"
#include "train/weights_file.h"

using namespace troika;
using namespace troika::api;

namespace {

constexpr troika_load_options kDefaults = TROIKA_LOAD_OPTIONS_INIT;

void write_report(const LoadReport& found, troika_load_report* out_report) {
  troika_load_report report{};
  report.loaded = found.loaded;
  report.missing = static_cast<int32_t>(found.missing.size());
  report.unexpected = static_cast<int32_t>(found.unexpected.size());
  report.mismatching = static_cast<int32_t>(found.mismatching.size());
  std::string names;
  for (const std::string& name : found.missing) names += "missing " + name + "\n";
  for (const std::string& name : found.unexpected) names += "unexpected " + name + "\n";
  for (const std::string& name : found.mismatching) names += "mismatching " + name + "\n";
  if (names.size() >= sizeof report.names) {  // whole lines only
    names.resize(sizeof report.names - 1);
    names.resize(names.rfind('\n') + 1);
  }
  write_text(names, report.names, sizeof report.names, nullptr, "troika_model_load");
  write_result(out_report, report, "troika_model_load", "out_report");
}

}  // namespace

void troika_load_options_init(troika_load_options* options) {
  if (options) *options = kDefaults;
}

troika_status troika_model_save(troika_model model, const char* path, troika_error* error) {
  constexpr const char* kName = "troika_model_save";
  return guard(error, [&] {
    Model& m = *object_of(model, kName, "model")->model;
    required(path, kName, "path");
    Exclusive exclusive(m.busy(), kName, "model");
    save_weights(m, path);
  });
}

troika_status troika_model_load(troika_model model, const char* path, const troika_load_options* options,
                                troika_load_report* out_report, troika_error* error) {
  constexpr const char* kName = "troika_model_load";
  return guard(error, [&] {
    Model& m = *object_of(model, kName, "model")->model;
    required(path, kName, "path");
    if (out_report) result_size(out_report, kName, "out_report");
    const auto o = read_options(options, kDefaults, "troika_load_options");
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
