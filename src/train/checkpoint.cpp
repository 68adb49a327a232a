// One safetensors file: "model/NAME" for parameters and buffers, "momentum/NAME" for the optimizer, the rest as metadata.
// Nothing in it depends on the number of devices.
#include "train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>

#include "core/text.h"
#include "core/utf8.h"
#include "train/weights_file.h"

namespace troika {
namespace {

constexpr std::string_view kWhat = "training state";

// The shortest decimal that reads back as the same number.
std::string print_number(double value) {
  char buffer[40];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

template <typename Number>
Number parse_number(const std::string& source, const std::string& label, const std::string& key) {
  Number value{};
  auto [end, error] = std::from_chars(source.data(), source.data() + source.size(), value);
  if (error != std::errc() || end != source.data() + source.size())
    throw Error(Status::corrupt, text(label, ": metadata '", key, "' is '", source, "', needs a number"));
  return value;
}

struct Setting {
  std::string key, value;
  bool is_in_every_state = true;
};

// Settings that must be the same for a run to go on as it was. What others depend on comes first, so that the first
// difference is the one to tell of.
std::vector<Setting> settings_of(const Trainer& trainer) {
  const TrainerOptions& o = trainer.options();
  std::vector<Setting> settings = {
      {"model", trainer.model()->name()},
      {"precision", o.allow_tf32 ? "tf32" : std::string(name_of(o.compute))},
      {"optimizer", "sgd"},
      {"loss", o.loss == Loss::cross_entropy ? "cross_entropy" : "mean_squared_error"},
      {"reduction", o.reduction == Reduction::mean ? "mean" : "sum"},
      {"momentum", print_number(o.sgd.momentum)},
      {"nesterov", o.sgd.nesterov ? "1" : "0"},
      {"weight_decay", print_number(o.weight_decay)},
      {"schedule", o.schedule.kind == ScheduleKind::constant ? "constant"
                   : o.schedule.kind == ScheduleKind::step   ? "step"
                                                             : "cosine"},
      {"schedule_period", std::to_string(o.schedule.period)},
      {"schedule_gamma", print_number(o.schedule.gamma)},
      {"schedule_min", print_number(o.schedule.minimum)},
      {"warmup_steps", std::to_string(o.schedule.warmup_steps)},
      {"seed", std::to_string(o.seed)},
  };
  if (o.sgd.is_scaled) settings.push_back({"loss_scale_interval", std::to_string(o.sgd.scale_interval), false});
  if (o.sgd.max_gradient_norm > 0)
    settings.push_back({"max_gradient_norm", print_number(o.sgd.max_gradient_norm), false});
  for (size_t g = 0; g < o.groups.size(); ++g)
    settings.push_back({text("group", g),
                        text(o.groups[g].pattern, o.groups[g].is_frozen ? " frozen" : "", " weight_decay ",
                             print_number(o.groups[g].weight_decay.value_or(o.weight_decay))),
                        false});
  return settings;
}

}  // namespace

void save_checkpoint(Trainer& trainer, const std::string& path) {
  trainer.check_usable();
  SafetensorsWriter writer;
  writer.set_metadata("format", kTrainingStateFormat);
  for (const Setting& setting : settings_of(trainer)) writer.set_metadata(setting.key, setting.value);
  const TrainingState state = trainer.training_state();
  writer.set_metadata("step", std::to_string(state.position.step));
  if (state.position.has_batch) {
    writer.set_metadata("epoch", std::to_string(state.position.batch.epoch));
    writer.set_metadata("batch", std::to_string(state.position.batch.batch));
    writer.set_metadata("batches", std::to_string(state.position.batch.batches));
    if (state.position.shuffle_seed) writer.set_metadata("loader_seed", std::to_string(*state.position.shuffle_seed));
  }
  std::vector<std::string> rates;
  for (double rate : state.learning_rates) rates.push_back(print_number(rate));
  writer.set_metadata("learning_rates", join(rates, " "));
  if (trainer.options().sgd.is_scaled)
    writer.set_metadata("loss_scale", text(print_number(static_cast<double>(state.loss_scale[0])), ' ',
                                           print_number(static_cast<double>(state.loss_scale[1]))));

  std::lock_guard lock(trainer.model()->parameters()->mutex());
  trainer.refresh_store();
  add_parameters(writer, *trainer.model(), kModelPrefix);
  std::map<std::string, std::vector<float>> momentum;
  if (trainer.has_momentum())
    for (const std::string& name : trainer.trainable()) {
      momentum[name] = trainer.read_momentum(name);
      writer.add(kMomentumPrefix + name, "F32",
                 trainer.model()->parameters()->entry(trainer.model()->parameters()->index_of(name)).type.shape,
                 momentum[name].data());
    }
  writer.sum_data();
  writer.write(path, kWhat);
}

void load_checkpoint(Trainer& trainer, const std::string& path) {
  trainer.check_usable();
  const SafetensorsReader reader(path, kWhat);
  const std::string& label = reader.label();
  auto find = [&](const std::string& key) -> const std::string* {
    auto found = reader.metadata().find(key);
    return found == reader.metadata().end() ? nullptr : &found->second;
  };
  auto require = [&](const std::string& key) -> const std::string& {
    const std::string* value = find(key);
    if (!value) throw Error(Status::corrupt, text(label, ": metadata '", key, "' is missing"));
    return *value;
  };
  if (!is_training_state(reader))
    throw Error(Status::mismatch, text("file '", printable(path), "' is no training state: metadata 'format' is '",
                                       find("format") ? *find("format") : "", "', needs '", kTrainingStateFormat, "'"));
  for (const auto& [key, value, is_in_every_state] : settings_of(trainer)) {
    if (!is_in_every_state && !find(key))
      throw Error(Status::mismatch, text(label, ": has no ", key, ", the trainer has '", value, "'"));
    if (require(key) != value)
      throw Error(Status::mismatch, text(label, ": ", key, " is '", *find(key), "', the trainer has '", value, "'"));
  }
  if (trainer.options().sgd.max_gradient_norm == 0 && find("max_gradient_norm"))
    throw Error(Status::mismatch,
                text(label, ": max_gradient_norm is '", *find("max_gradient_norm"), "', the trainer has none"));
  if (find(text("group", trainer.options().groups.size())))
    throw Error(Status::mismatch,
                text(label, " has more parameter groups than the trainer's ", trainer.options().groups.size()));

  TrainingState state;
  state.position.step = parse_number<int64_t>(require("step"), label, "step");
  state.position.has_batch = find("epoch") != nullptr;
  if (state.position.has_batch) {
    state.position.batch.epoch = parse_number<int64_t>(require("epoch"), label, "epoch");
    state.position.batch.batch = parse_number<int64_t>(require("batch"), label, "batch");
    state.position.batch.batches = parse_number<int64_t>(require("batches"), label, "batches");
    if (find("loader_seed"))
      state.position.shuffle_seed = parse_number<uint64_t>(*find("loader_seed"), label, "loader_seed");
  }
  if (state.position.step < 0 || state.position.batch.epoch < 0 || state.position.batch.batch < 0)
    throw Error(Status::corrupt, text(label, ": step, epoch or batch is below 0"));
  const std::string& rates = require("learning_rates");  // with one space between them
  for (size_t begin = 0; begin < rates.size();) {
    const size_t end = std::min(rates.find(' ', begin), rates.size());
    state.learning_rates.push_back(parse_number<double>(rates.substr(begin, end - begin), label, "learning_rates"));
    if (!std::isfinite(state.learning_rates.back()) ||
        (state.learning_rates.back() < 0 && state.learning_rates.size() == 1))
      throw Error(Status::corrupt,
                  text(label, ": metadata 'learning_rates' is '", rates, "', needs finite numbers of at least 0"));
    begin = end + 1;
  }
  if (state.learning_rates.size() != trainer.options().groups.size() + 1)
    throw Error(Status::mismatch, text(label, " has ", state.learning_rates.size(), " learning rates, the trainer ",
                                       trainer.options().groups.size() + 1));

  if (trainer.options().sgd.is_scaled) {
    const std::string& scale = require("loss_scale");  // "65536 12"
    const size_t space = std::min(scale.find(' '), scale.size());
    state.loss_scale[0] = parse_number<float>(scale.substr(0, space), label, "loss_scale");
    state.loss_scale[1] = parse_number<float>(scale.substr(std::min(space + 1, scale.size())), label, "loss_scale");
    if (!(state.loss_scale[0] >= 1) || !std::isfinite(state.loss_scale[0]) || !(state.loss_scale[1] >= 0))
      throw Error(Status::corrupt,
                  text(label, ": metadata 'loss_scale' is '", scale, "', needs a scale of at least 1"));
  } else if (find("loss_scale")) {
    throw Error(Status::mismatch, text(label, " has a loss scale, the trainer has none"));
  }

  LoadReport report;
  const auto values = read_parameters(reader, *trainer.model(), kModelPrefix, report);
  std::vector<std::vector<float>> momentum;
  size_t known = static_cast<size_t>(report.loaded);
  if (trainer.has_momentum())
    for (const std::string& name : trainer.trainable()) {
      const TensorEntry* entry = reader.find(kMomentumPrefix + name);
      const Shape& shape =
          trainer.model()->parameters()->entry(trainer.model()->parameters()->index_of(name)).type.shape;
      momentum.emplace_back(static_cast<size_t>(shape.elements()));
      if (!entry)
        report.missing.push_back(kMomentumPrefix + name);
      else if (entry->shape != shape || entry->dtype != "F32")
        report.mismatching.push_back(
            text(kMomentumPrefix, name, ": file ", entry->dtype, " ", entry->shape, ", model F32 ", shape));
      else
        reader.read(*entry, momentum.back().data(), momentum.back().size() * sizeof(float)), ++known;
    }
  if (report.missing.empty() && report.mismatching.empty() && known != reader.entries().size())
    for (const TensorEntry& entry : reader.entries()) {
      const size_t slash = entry.name.find('/');
      const std::string kind = entry.name.substr(0, slash),
                        name = slash == std::string::npos ? "" : entry.name.substr(slash + 1);
      if (!(kind == "model" && trainer.model()->parameters()->contains(name)) && kind != "momentum")
        report.unexpected.push_back(entry.name);
      else if (kind == "momentum" && !(trainer.has_momentum() && reader.find(entry.name) &&
                                       std::count(trainer.trainable().begin(), trainer.trainable().end(), name)))
        report.unexpected.push_back(entry.name);
    }
  if (!report.missing.empty() || !report.mismatching.empty() || !report.unexpected.empty())
    throw Error(Status::mismatch,
                text(label, " does not fit the trainer of model '", trainer.model()->name(), "': ", summarize(report)));

  trainer.restore(state, std::move(momentum), values);
}

}  // namespace troika
