// Saving and loading weights, strictly and with a report.
#include "train/weights_file.h"

#include <algorithm>

#include "core/host_memory.h"
#include "core/text.h"
#include "core/utf8.h"
#include "models/model_text.h"

namespace troika {
namespace {

constexpr const char* kBatchCounter = "num_batches_tracked";  // older files lack it, so it is never missing

bool is_batch_counter(const std::string& name) { return name.ends_with(text('.', kBatchCounter)); }

std::string list_names(const char* what, const std::vector<std::string>& names) {
  constexpr size_t kShown = 3;
  if (names.empty()) return "";
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, names.size())));
  return text(names.size(), " ", what, " ('", join(shown, "', '"), names.size() > kShown ? "', ...)" : "')");
}

// Returns a prefix of the file's names without which all of the model's names are found; "" if
// there is none.
std::string find_prefix(const SafetensorsReader& reader, const Model& model) {
  if (reader.entries().empty() || model.parameters()->size() == 0) return "";
  const std::string& wanted = model.parameters()->entry(0).name;
  for (const TensorEntry& entry : reader.entries()) {
    if (entry.name.size() <= wanted.size() || !entry.name.ends_with(wanted)) continue;
    const std::string prefix = entry.name.substr(0, entry.name.size() - wanted.size());
    if (std::all_of(reader.entries().begin(), reader.entries().end(),
                    [&](const TensorEntry& e) { return e.name.starts_with(prefix); }))
      return prefix;
  }
  return "";
}

bool is_skipped(const std::vector<std::string>& skip, const ParameterStore& store, size_t i) {
  return std::any_of(skip.begin(), skip.end(), [&](const std::string& pattern) { return store.matches(pattern, i); });
}

void check_patterns(const std::vector<std::string>& skip, const Model& model) {
  const ParameterStore& store = *model.parameters();
  for (const std::string& pattern : skip) {
    bool is_used = false;
    for (size_t i = 0; i < store.size(); ++i) is_used = is_used || store.matches(pattern, i);
    if (!is_used)
      throw Error(Status::invalid_argument, text("skip: no parameter or buffer of model '", model.name(), "' matches '",
                                                 printable(pattern), "'"));
  }
}

// A file of PyTorch has a shared parameter once per name. Both must be the same; if they differ,
// neither is loaded.
void compare_shared(const NamedEntries& entries, const ParameterStore& store,
                    std::vector<std::vector<std::byte>>& values, LoadReport& report) {
  for (const SharedName& shared : store.shared_names()) {
    const Parameter& of = store.entry(shared.of);
    const TensorEntry *own = entries.find(of.name), *other = entries.find(shared.name);
    if (!own || !other || values[shared.of].empty()) continue;
    bool is_same = own->shape == other->shape && own->dtype == other->dtype;
    if (is_same) {
      std::vector<std::byte> second;
      resize_host(second, of.type.bytes(), "parameter", of.name);
      entries.reader().read(*other, second.data(), second.size());
      is_same = values[shared.of] == second;
    }
    if (is_same) continue;
    report.mismatching.push_back(text(shared.name, ": shares '", of.name, "', but differs from it in the file"));
    values[shared.of].clear();
    --report.loaded;
  }
}

}  // namespace

NamedEntries::NamedEntries(const SafetensorsReader& reader, const std::string& prefix, const NameMap& names)
    : reader_(reader) {
  std::vector<bool> is_used(names.rules());
  for (const TensorEntry& entry : reader.entries()) {
    if (!entry.name.starts_with(prefix)) continue;
    NameMap::Translated translated = names.translate(std::string_view(entry.name).substr(prefix.size()));
    if (translated.rule < is_used.size()) is_used[translated.rule] = true;
    const auto [found, is_new] = entries_.emplace(std::move(translated.name), &entry);
    if (!is_new)
      throw Error(Status::mismatch, text(reader.label(), ": '", found->second->name, "' and '", entry.name,
                                         "' are both '", found->first, "' by the map of names"));
  }
  for (size_t rule = 0; rule < is_used.size(); ++rule)
    if (!is_used[rule] && !names.is_table())
      throw Error(Status::mismatch,
                  text(reader.label(), ": no name in it fits rule '", names.text_of(rule), "' of the map of names"));
}

std::string NamedEntries::describe(const std::string& name, const TensorEntry& entry) const {
  return name == entry.name || entry.name.ends_with(name) ? entry.name
                                                          : text(entry.name, ", as '", name, "' by the map of names");
}

const TensorEntry* NamedEntries::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : found->second;
}

const TensorEntry* NamedEntries::find(const ParameterStore& store, size_t i) const {
  const TensorEntry* entry = find(store.entry(i).name);
  for (const SharedName& shared : store.shared_names())
    if (!entry && shared.of == i) entry = find(shared.name);
  return entry;
}

std::string summarize(const LoadReport& report) {
  std::vector<std::string> parts;
  // Differences that allow_partial does not allow come first.
  for (const std::string& part : {list_names("mismatching", report.mismatching), list_names("missing", report.missing),
                                  list_names("unexpected", report.unexpected)})
    if (!part.empty()) parts.push_back(part);
  return join(parts, ", ");
}

bool is_training_state(const SafetensorsReader& reader) {
  const auto format = reader.metadata().find("format");
  return format != reader.metadata().end() && format->second == kTrainingStateFormat;
}

void add_parameters(SafetensorsWriter& writer, Model& model, const std::string& prefix) {
  ParameterStore& store = *model.parameters();
  std::lock_guard lock(store.mutex());
  store.refresh();
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    if (!p.is_initialized)
      throw Error(Status::not_initialized,
                  text("parameter '", p.name, "' has no value yet; initialize or load the model before saving it"));
    writer.add(prefix + p.name, safetensors_dtype(p.type.dtype), p.type.shape, p.data.data());
  }
}

void set_model_metadata(SafetensorsWriter& writer, const Model& model) {
  writer.set_metadata("format", "pt");  // the key by which PyTorch's tools recognise files with their names
  writer.set_metadata("model", model.name());
  writer.set_metadata(kLayersKey, print_model_text(model));
  writer.sum_data();
}

void save_model(Model& model, const std::function<void(const SafetensorsWriter&)>& write) {
  SafetensorsWriter writer;
  std::lock_guard lock(model.parameters()->mutex());  // borrowed values stay as they are until they are written
  add_parameters(writer, model, "");
  set_model_metadata(writer, model);
  write(writer);
}

std::vector<std::vector<std::byte>> read_parameters(const NamedEntries& entries, const Model& model,
                                                    const std::vector<std::string>& skip, LoadReport& report) {
  const ParameterStore& store = *model.parameters();
  std::vector<std::vector<std::byte>> values(store.size());
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    if (is_skipped(skip, store, i)) {
      ++report.kept;
      continue;
    }
    const TensorEntry* entry = entries.find(store, i);
    if (!entry) {
      if (!is_batch_counter(p.name)) report.missing.push_back(p.name);
    } else if (entry->shape != p.type.shape || entry->dtype != safetensors_dtype(p.type.dtype)) {
      report.mismatching.push_back(text(p.name, ": file ", entry->dtype, " ", entry->shape, ", model ",
                                        safetensors_dtype(p.type.dtype), " ", p.type.shape));
    } else {
      resize_host(values[i], p.type.bytes(), "parameter", p.name);
      entries.reader().read(*entry, values[i].data(), values[i].size());
      ++report.loaded;
    }
  }
  return values;
}

void load_weights(Model& model, const SafetensorsReader& reader, const LoadOptions& options, LoadReport& report) {
  ParameterStore& store = *model.parameters();
  const bool is_state = options.strip_prefix.empty() && is_training_state(reader);
  const std::string prefix = is_state ? kModelPrefix : options.strip_prefix;
  check_patterns(options.skip, model);
  reader.check_sum();
  const NamedEntries entries(reader, prefix, options.names);
  auto values = read_parameters(entries, model, options.skip, report);
  compare_shared(entries, store, values, report);
  entries.each([&](const std::string& name, const TensorEntry& entry) {
    if (!store.contains(name)) report.unexpected.push_back(entries.describe(name, entry));
  });
  for (const TensorEntry& entry : reader.entries())
    if (!entry.name.starts_with(prefix) &&
        !(is_state && (entry.name.starts_with(kOptimizerPrefix) || entry.name.starts_with("momentum/"))))
      report.unexpected.push_back(entry.name);

  const bool differs = !report.missing.empty() || !report.unexpected.empty();
  if ((!report.mismatching.empty() && !options.skips_mismatching) || report.loaded == 0 ||
      (differs && !options.allow_partial)) {
    const std::string other_prefix = prefix.empty() && options.names.rules() == 0 ? find_prefix(reader, model) : "";
    report.loaded = 0;
    if (!options.strip_prefix.empty() &&
        std::none_of(reader.entries().begin(), reader.entries().end(),
                     [&](const TensorEntry& e) { return e.name.starts_with(options.strip_prefix); }))
      throw Error(Status::mismatch,
                  text(reader.label(), ": no name in it begins with '", printable(options.strip_prefix),
                       "', which strip_prefix is to remove",
                       reader.entries().empty() ? "" : text("; the first is '", reader.entries()[0].name, "'")));
    if (report.mismatching.empty() && !differs)
      throw Error(Status::mismatch, text(reader.label(), ": nothing of it is to be loaded into model '", model.name(),
                                         "'", report.kept > 0 ? "; skip names all" : ""));
    throw Error(Status::mismatch, text(reader.label(), is_state ? ", a training state," : "", " does not fit model '",
                                       model.name(), "': ", summarize(report),
                                       other_prefix.empty() ? ""
                                                            : text("; every name in it begins with '", other_prefix,
                                                                   "', which strip_prefix can remove")));
  }
  std::lock_guard lock(store.mutex());
  store.refresh();  // throws BUSY before anything is written
  for (size_t i = 0; i < store.size(); ++i)
    if (const Parameter& p = store.entry(i); values[i].empty() && is_batch_counter(p.name) && !p.is_initialized)
      values[i].resize(p.type.bytes());  // 0; from here on nothing is allocated
  for (size_t i = 0; i < store.size(); ++i)
    if (!values[i].empty()) store.write(i, std::move(values[i]));
}

std::unique_ptr<Model> open_model(const SafetensorsReader& reader) {
  const auto layers = reader.metadata().find(kLayersKey);
  if (layers == reader.metadata().end())
    throw Error(Status::mismatch, text(reader.label(), ": has weights alone, no metadata '", kLayersKey,
                                       "'; add the layers to a model and load the weights into it"));
  auto model = read_model_text(layers->second, reader.label());
  if (model->parameters()->size() == 0 && reader.entries().empty()) return model;
  LoadReport report;
  load_weights(*model, reader, {}, report);
  return model;
}

}  // namespace troika
