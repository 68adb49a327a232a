// A safetensors file: "model/NAME" for parameters and buffers, "optimizer/SLOT/NAME" for slots, and
// metadata for the rest. Nothing in the file depends on the number of devices.
#include "train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "core/packed.h"
#include "core/text.h"
#include "core/utf8.h"
#include "train/weights_file.h"

namespace troika {
namespace {

constexpr std::string_view kWhat = "training state";

template <typename Number>
Number parse_number(const std::string& source, const std::string& label, const std::string& key) {
  Number value{};
  auto [end, error] = std::from_chars(source.data(), source.data() + source.size(), value);
  if (error != std::errc() || end != source.data() + source.size())
    throw Error(Status::corrupt, text(label, ": metadata '", key, "' is '", source, "', needs a number"));
  return value;
}

constexpr const char* kScheduleNames[] = {"constant",   "step",      "cosine",  "multi_step", "exponential",
                                          "polynomial", "one_cycle", "plateau", "table"};

// The reason why a file may lack an option: the file is damaged, the saved run did not use the
// option, or an earlier version wrote the file. In the last case the option is not compared.
enum class Absence { damaged, unused, unknown };

constexpr const char* kScheduleBegin = "schedule_begin";  // "warmup_steps", if the schedule falls after the warm-up

// An option that must be the same for a run to go on as it was.
struct Option {
  std::string key, value;
  Absence absence = Absence::damaged;
};

void add_schedule(std::vector<Option>& options, const Schedule& s) {
  options.push_back({"schedule", kScheduleNames[static_cast<int>(s.kind) - 1]});
  options.push_back({"schedule_period", std::to_string(s.period)});
  options.push_back({"schedule_gamma", print_number(s.gamma)});
  options.push_back({"schedule_min", print_number(s.minimum)});
  options.push_back({"warmup_steps", std::to_string(s.warmup_steps)});
  switch (s.kind) {
    case ScheduleKind::multi_step:
      options.push_back({"schedule_milestones", print_list(s.milestones), Absence::unused});
      break;
    case ScheduleKind::polynomial: options.push_back({"schedule_power", print_number(s.power), Absence::unused}); break;
    case ScheduleKind::one_cycle:
      options.push_back(
          {"schedule_cycle", print_list(std::vector{s.rise, s.divisor, s.final_divisor}), Absence::unused});
      break;
    case ScheduleKind::plateau:
      options.push_back({"schedule_plateau",
                         text(s.maximizes ? "max " : "min ", s.patience, ' ', print_number(s.threshold)),
                         Absence::unused});
      break;
    case ScheduleKind::table: options.push_back({"schedule_table", print_list(s.table), Absence::unused}); break;
    default: break;
  }
}

// Returns the settings that a group sets itself, such as "weight_decay 0.01 momentum 0.5". The
// learning rate is not one of them: it is part of the state.
std::string print_own_settings(const TrainerOptions& options, size_t group) {
  const SettingValues& own = options.groups[group].settings;
  std::vector<std::string> words;
  for (Setting setting : options.columns())
    if (setting != Setting::learning_rate && own.has(setting))
      words.push_back(text(name_of(setting), ' ', print_number(own[setting])));
  return words.empty() ? "none" : join(words, " ");
}

// Options on which other options depend come first: the first difference is the one to report.
std::vector<Option> options_of(const Trainer& trainer) {
  const TrainerOptions& o = trainer.options();
  std::vector<Option> options = {
      {"model", trainer.model()->name()},
      {"precision", o.allow_tf32 ? "tf32" : std::string(name_of(o.compute))},
      {"optimizer", std::string(o.optimizer->name)},
      {"loss", std::string(name_of(o.loss))},
      {"reduction", o.reduction == Reduction::mean ? "mean" : "sum"},
  };
  for (const OptimizerSetting& own : o.optimizer->settings)
    options.push_back({std::string(name_of(own.setting)), print_number(o.setting(0, own.setting))});
  options.push_back({"weight_decay", print_number(o.setting(0, Setting::weight_decay))});
  add_schedule(options, o.schedule);
  options.push_back({"seed", std::to_string(o.seed)});
  if (o.conditioning.is_scaled)
    options.push_back({"loss_scale_interval", std::to_string(o.conditioning.scale_interval), Absence::unused});
  if (o.conditioning.max_norm > 0)
    options.push_back({"max_gradient_norm", print_number(o.conditioning.max_norm), Absence::unused});
  if (o.conditioning.skips_not_finite) options.push_back({"skip_not_finite", "1", Absence::unused});
  if (o.average_decay > 0) options.push_back({"average_decay", print_number(o.average_decay), Absence::unused});
  if (!o.decays_one_axis) options.push_back({"decay_one_axis", "0", Absence::unused});
  if (o.loss == Loss::huber) options.push_back({"huber_delta", print_number(o.huber_delta), Absence::unused});
  if (o.labels.smoothing > 0) options.push_back({"label_smoothing", print_number(o.labels.smoothing), Absence::unused});
  if (o.labels.ignored) options.push_back({"ignore_index", std::to_string(*o.labels.ignored), Absence::unused});
  if (!o.class_weights.empty()) options.push_back({"class_weights", print_list(o.class_weights), Absence::unused});
  for (size_t g = 0; g < o.groups.size(); ++g) {
    options.push_back({text("group", g),
                       text(o.groups[g].pattern, o.groups[g].is_frozen ? " frozen" : "", " weight_decay ",
                            print_number(o.setting(g + 1, Setting::weight_decay))),
                       Absence::unused});
    options.push_back({text("group", g, "_settings"), print_own_settings(o, g), Absence::unknown});
  }
  return options;
}

// Options that a state may have and the trainer may lack. If the trainer lacks them, options_of
// does too.
constexpr const char* kOptionalKeys[] = {"loss_scale",     "max_gradient_norm", "skip_not_finite", "average_decay",
                                         "decay_one_axis", "label_smoothing",   "ignore_index",    "huber_delta",
                                         "class_weights"};

std::string file_name_of_slot(const std::string& slot_name) { return kOptimizerPrefix + slot_name; }

// ---- settings of updates ----

// Returns settings other than learning rates that have changed since the model was attached, such
// as "1 momentum 0.8;2 beta1 0.95".
std::string print_changes(const Trainer& trainer, const std::vector<SettingValues>& rows) {
  const TrainerOptions& o = trainer.options();
  std::vector<std::string> changes;
  for (size_t row = 0; row < rows.size(); ++row)
    for (Setting setting : o.columns()) {
      const SettingValues& attached = row == 0 ? o.settings : o.groups[row - 1].settings;
      if (setting == Setting::learning_rate || !rows[row].has(setting) || rows[row][setting] == attached[setting])
        continue;
      changes.push_back(text(row, ' ', name_of(setting), ' ', print_number(rows[row][setting])));
    }
  return join(changes, ";");
}

// Splits a text at every `between`.
std::vector<std::string> words_of(const std::string& source, char between) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < source.size();) {
    const size_t end = std::min(source.find(between, begin), source.size());
    words.push_back(source.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// ---- reading ----

class CheckpointReader {
 public:
  CheckpointReader(const Trainer& trainer, const std::string& path)
      : trainer_(trainer), reader_(path, kWhat), label_(reader_.label()) {
    if (!is_training_state(reader_))
      throw Error(Status::mismatch,
                  text("file '", printable(path), "' is no training state: metadata 'format' is '",
                       find("format") ? *find("format") : "", "', needs '", kTrainingStateFormat, "'"));
    check_options();
  }

  TrainingState read_state() const {
    TrainingState state;
    state.position = read_position();
    state.settings = read_settings();
    state.updates.assign(trainer_.options().groups.size() + 1, state.position.step);
    if (trainer_.options().optimizer->counts_updates) state.updates = read_updates();
    const Schedule& schedule = trainer_.options().schedule;
    if (schedule.kind == ScheduleKind::plateau) state.plateau = read_plateau();
    state.falls_in_warmup = schedule.waits_for_warmup() && !find(kScheduleBegin);
    if (trainer_.options().conditioning.is_scaled) state.loss_scale = read_loss_scale();
    return state;
  }

  // Files of the same identity have the same bytes, if the bytes are those that were written.
  std::string identity() const {
    std::string sums;
    for (const char* key : {kSumKey, kHeaderSumKey})
      if (const std::string* sum = find(key)) sums += *sum + ' ';
    return sums;
  }
  // The sum of the file's data, of which each process reads a part.
  uint32_t sum_part(int64_t parts, int64_t part) const { return reader_.sum_part(parts, part); }
  void check_sums(const std::vector<uint32_t>& sums) const { reader_.check_sums(sums); }

  // Fills in the file's values for the model's entries, and for the slots that this process's ranks
  // hold. MISMATCH unless the file has those of all ranks and no others.
  void read_values(std::vector<std::vector<std::byte>>& values, HostSlots& slots) const {
    LoadReport report;
    values = read_parameters(NamedEntries(reader_, kModelPrefix), *trainer_.model(), {}, report);
    size_t known = static_cast<size_t>(report.loaded);
    const ParameterStore& store = *trainer_.model()->parameters();
    for (const std::string& slot : trainer_.options().slots())
      for (const std::string& name : trainer_.trainable()) {
        const Shape& shape = store.entry(store.index_of(name)).type.shape;
        if (read_slot(slot_name(slot, name), shape, slots, report)) ++known;
      }
    if (report.missing.empty() && report.mismatching.empty() && known != reader_.entries().size())
      for (const TensorEntry& entry : reader_.entries())
        if (!is_expected(entry.name)) report.unexpected.push_back(entry.name);
    if (!report.missing.empty() || !report.mismatching.empty() || !report.unexpected.empty())
      throw Error(Status::mismatch, text(label_, " does not fit the trainer of model '", trainer_.model()->name(),
                                         "': ", summarize(report)));
  }

 private:
  const std::string* find(const std::string& key) const {
    const auto found = reader_.metadata().find(key);
    return found == reader_.metadata().end() ? nullptr : &found->second;
  }
  const std::string& require(const std::string& key) const {
    const std::string* value = find(key);
    if (!value) throw Error(Status::corrupt, text(label_, ": metadata '", key, "' is missing"));
    return *value;
  }
  template <typename Number>
  Number number(const std::string& key) const {
    return parse_number<Number>(require(key), label_, key);
  }
  template <typename Number>
  std::vector<Number> numbers(const std::string& key) const {
    std::vector<Number> numbers;
    for (const std::string& word : words_of(require(key), ' '))
      numbers.push_back(parse_number<Number>(word, label_, key));
    return numbers;
  }
  [[noreturn]] void refuse(const std::string& key, const char* needed) const {
    throw Error(Status::corrupt, text(label_, ": metadata '", key, "' is '", require(key), "', needs ", needed));
  }

  void check_options() const {
    const std::vector<Option> options = options_of(trainer_);
    for (const auto& [key, value, absence] : options) {
      if (absence == Absence::unknown && !find(key)) continue;
      if (absence == Absence::unused && !find(key))
        throw Error(Status::mismatch, text(label_, ": has no ", key, ", the trainer has '", value, "'"));
      if (require(key) != value)
        throw Error(Status::mismatch, text(label_, ": ", key, " is '", *find(key), "', the trainer has '", value, "'"));
    }
    for (const char* key : kOptionalKeys)
      if (find(key) && !has_option(key))
        throw Error(Status::mismatch, text(label_, ": ", key, " is '", *find(key), "', the trainer has none"));
    const size_t groups = trainer_.options().groups.size();
    if (find(text("group", groups)))
      throw Error(Status::mismatch, text(label_, " has more parameter groups than the trainer's ", groups));
  }
  bool has_option(const std::string& key) const {
    if (key == "loss_scale") return trainer_.options().conditioning.is_scaled;
    const std::vector<Option> options = options_of(trainer_);
    return std::any_of(options.begin(), options.end(), [&key](const Option& option) { return option.key == key; });
  }

  TrainingPosition read_position() const {
    TrainingPosition position;
    position.step = number<int64_t>("step");
    position.has_batch = find("epoch") != nullptr;
    if (position.has_batch) {
      position.batch.epoch = number<int64_t>("epoch");
      position.batch.batch = number<int64_t>("batch");
      position.batch.batches = number<int64_t>("batches");
      if (find("loader_seed")) position.order.seed = number<uint64_t>("loader_seed");
      if (find("loader_weights")) position.order.weights = number<uint64_t>("loader_weights");
      if (find("loader_augmentation")) position.order.augmentation = number<uint64_t>("loader_augmentation");
    }
    if (position.step < 0 || position.batch.epoch < 0 || position.batch.batch < 0)
      throw Error(Status::corrupt, text(label_, ": step, epoch or batch is below 0"));
    return position;
  }

  // Returns the settings at attach, with the file's learning rates and changes.
  std::vector<SettingValues> read_settings() const {
    const TrainerOptions& o = trainer_.options();
    std::vector<SettingValues> rows = {o.settings};
    for (const ParameterGroup& group : o.groups) rows.push_back(group.settings);
    const auto rates = numbers<double>("learning_rates");  // below 0: the group has no rate of its own
    for (double rate : rates)
      if (!std::isfinite(rate) || rates[0] < 0) refuse("learning_rates", "finite numbers of at least 0");
    if (rates.size() != rows.size())
      throw Error(Status::mismatch, text(label_, " has ", rates.size(), " learning rates, the trainer ", rows.size()));
    for (size_t row = 0; row < rows.size(); ++row)
      rows[row][Setting::learning_rate] = rates[row] < 0 ? std::nan("") : rates[row];
    if (find("settings"))
      for (const std::string& change : words_of(*find("settings"), ';')) {
        const std::vector<std::string> words = words_of(change, ' ');
        const auto setting = words.size() == 3 ? find_setting(words[1]) : std::nullopt;
        const size_t row = setting ? parse_number<size_t>(words[0], label_, "settings") : rows.size();
        if (row >= rows.size()) refuse("settings", "changes of rows that the trainer has");
        const double value = parse_number<double>(words[2], label_, "settings");
        if (!refusal_of(*setting, value).empty()) refuse("settings", "values that its settings can have");
        rows[row][*setting] = value;
      }
    return rows;
  }

  std::vector<int64_t> read_updates() const {
    const auto updates = numbers<int64_t>("updates");
    if (updates.size() != trainer_.options().groups.size() + 1 ||
        std::any_of(updates.begin(), updates.end(), [](int64_t n) { return n < 0; }))
      refuse("updates", "a number of at least 0 for the trainer and each group");
    return updates;
  }

  Plateau read_plateau() const {
    const std::vector<std::string> words = words_of(require("plateau"), ' ');  // "0.43 2 1"
    if (words.size() != 3) refuse("plateau", "three numbers");
    Plateau plateau;
    if (words[0] != "none") plateau.best = parse_number<double>(words[0], label_, "plateau");
    plateau.bad = parse_number<int64_t>(words[1], label_, "plateau");
    plateau.reductions = parse_number<int64_t>(words[2], label_, "plateau");
    return plateau;
  }

  std::array<float, 2> read_loss_scale() const {
    const auto scale = numbers<float>("loss_scale");  // "65536 12"
    if (scale.size() != 2 || !(scale[0] >= 1) || !std::isfinite(scale[0]) || !(scale[1] >= 0))
      refuse("loss_scale", "a scale of at least 1");
    return {scale[0], scale[1]};
  }

  // Returns whether the file has the slot, and its shape fits. Older files have "momentum/NAME".
  bool read_slot(const std::string& name, const Shape& shape, HostSlots& slots, LoadReport& report) const {
    const TensorEntry* entry = reader_.find(file_name_of_slot(name));
    if (!entry && name.starts_with("momentum/")) entry = reader_.find(name);
    if (!entry) {
      report.missing.push_back(file_name_of_slot(name));
    } else if (entry->shape != shape || entry->dtype != "F32") {
      report.mismatching.push_back(
          text(entry->name, ": file ", entry->dtype, " ", entry->shape, ", model F32 ", shape));
    } else {
      if (!trainer_.state().holds(Role::optimizer_state, name)) return true;
      std::vector<float>& values = slots[name];
      values.resize(static_cast<size_t>(shape.elements()));
      reader_.read(*entry, values.data(), values.size() * sizeof(float));
      return true;
    }
    return false;
  }

  bool is_expected(const std::string& name) const {
    const auto after = [&name](std::string_view prefix) {
      return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string();
    };
    return trainer_.model()->parameters()->contains(after(kModelPrefix)) || is_slot(after(kOptimizerPrefix)) ||
           is_slot(name);
  }

  bool is_slot(const std::string& wanted) const {
    for (const std::string& slot : trainer_.options().slots())
      for (const std::string& name : trainer_.trainable())
        if (slot_name(slot, name) == wanted) return true;
    return false;
  }

  const Trainer& trainer_;
  const SafetensorsReader reader_;
  const std::string& label_;
};

}  // namespace

namespace {

void add_metadata(SafetensorsWriter& writer, const Trainer& trainer) {
  set_model_metadata(writer, *trainer.model());
  writer.set_metadata("format", kTrainingStateFormat);
  for (const Option& option : options_of(trainer)) writer.set_metadata(option.key, option.value);
  const TrainingState state = trainer.training_state();
  writer.set_metadata("step", std::to_string(state.position.step));
  if (state.position.has_batch) {
    writer.set_metadata("epoch", std::to_string(state.position.batch.epoch));
    writer.set_metadata("batch", std::to_string(state.position.batch.batch));
    writer.set_metadata("batches", std::to_string(state.position.batch.batches));
    const SampleOrder& order = state.position.order;
    if (order.seed) writer.set_metadata("loader_seed", std::to_string(*order.seed));
    if (order.weights) writer.set_metadata("loader_weights", std::to_string(*order.weights));
    if (order.augmentation) writer.set_metadata("loader_augmentation", std::to_string(*order.augmentation));
  }
  std::vector<double> rates;
  for (const SettingValues& row : state.settings)
    rates.push_back(row.has(Setting::learning_rate) ? row[Setting::learning_rate] : -1);
  writer.set_metadata("learning_rates", print_list(rates));
  if (const std::string changes = print_changes(trainer, state.settings); !changes.empty())
    writer.set_metadata("settings", changes);
  if (trainer.options().optimizer->counts_updates) {
    std::vector<std::string> updates;
    for (int64_t count : state.updates) updates.push_back(std::to_string(count));
    writer.set_metadata("updates", join(updates, " "));
  }
  if (trainer.options().schedule.kind == ScheduleKind::plateau)
    writer.set_metadata("plateau", text(std::isnan(state.plateau.best) ? "none" : print_number(state.plateau.best), ' ',
                                        state.plateau.bad, ' ', state.plateau.reductions));
  if (trainer.options().schedule.waits_for_warmup() && !state.falls_in_warmup)
    writer.set_metadata(kScheduleBegin, "warmup_steps");
  if (trainer.options().conditioning.is_scaled)
    writer.set_metadata("loss_scale", text(print_number(static_cast<double>(state.loss_scale[0])), ' ',
                                           print_number(static_cast<double>(state.loss_scale[1]))));
}

void add_slots(SafetensorsWriter& writer, const ParameterStore& store, const HostSlots& slots) {
  for (const auto& [name, values] : slots)
    writer.add(file_name_of_slot(name), "F32", store.entry(store.index_of(parameter_of_slot(name))).type.shape,
               values.data());
}

}  // namespace

void save_checkpoint(Trainer& trainer, const std::string& path) {
  trainer.check_usable();
  SafetensorsWriter writer;
  add_metadata(writer, trainer);
  ParameterStore& store = *trainer.model()->parameters();
  std::lock_guard lock(store.mutex());
  trainer.refresh_store();
  add_parameters(writer, *trainer.model(), kModelPrefix);
  const HostSlots slots = trainer.read_slots();
  add_slots(writer, store, slots);
  trainer.peers().write_once("saving a training state", [&] { writer.write(path, kWhat); });
}

StateCopy::StateCopy(Trainer& trainer) : step_(trainer.training_state().position.step) {
  trainer.check_usable();
  add_metadata(writer_, trainer);
  ParameterStore& store = *trainer.model()->parameters();
  std::lock_guard lock(store.mutex());
  trainer.refresh_store();
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& entry = store.entry(i);
    values_.push_back(entry.data);
    writer_.add(kModelPrefix + entry.name, safetensors_dtype(entry.type.dtype), entry.type.shape,
                values_.back().data());
  }
  slots_ = trainer.read_slots();
  add_slots(writer_, store, slots_);
}

void StateCopy::write(const std::string& path) const { writer_.write(path, kWhat); }

void load_checkpoint(Trainer& trainer, const std::string& path) {
  trainer.check_usable();
  TrainingState state;
  std::vector<std::vector<std::byte>> values;
  HostSlots slots;
  const char* const what = "loading a training state";
  std::optional<CheckpointReader> reader;
  Packer own;
  trainer.peers().run_in_all(what, [&] {
    reader.emplace(trainer, path);
    state = reader->read_state();
    own.text(reader->identity()).number(reader->sum_part(trainer.peers().size(), trainer.peers().rank()));
  });
  std::vector<uint32_t> sums;
  std::vector<std::string> identities;
  for (const std::string& theirs : trainer.peers().all_gather(what, own.bytes())) {
    Unpacker fields(theirs);
    identities.push_back(fields.text());
    sums.push_back(static_cast<uint32_t>(fields.number()));
  }
  trainer.peers().run_in_all(what, [&] {
    for (size_t rank = 1; rank < identities.size(); ++rank)
      if (identities[rank] != identities[0])
        throw Error(Status::mismatch,
                    text("training state '", printable(path), "': rank ", rank,
                         " has another file of this name than rank 0, need the same in all processes"));
    reader->check_sums(sums);
    reader->read_values(values, slots);
  });
  trainer.restore(state, std::move(slots), values);
}

void save_average(Trainer& trainer, const std::string& path) {
  trainer.check_usable();
  if (trainer.options().average_decay == 0)
    throw Error(Status::invalid_argument,
                text("model '", trainer.model()->name(), "': has no averages; attach it with average_decay above 0"));
  ParameterStore& store = *trainer.model()->parameters();
  std::lock_guard lock(store.mutex());
  trainer.refresh_store();
  const HostSlots slots = trainer.read_slots();
  SafetensorsWriter writer;
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    const auto average = slots.find(slot_name(kAverageSlot, p.name));
    const void* data = average == slots.end() ? static_cast<const void*>(p.data.data()) : average->second.data();
    writer.add(p.name, safetensors_dtype(p.type.dtype), p.type.shape, data);
  }
  set_model_metadata(writer, *trainer.model());
  trainer.peers().write_once("saving averages", [&] { writer.write(path, "weights file"); });
}

}  // namespace troika
