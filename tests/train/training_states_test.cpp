// A training state loads only into a trainer with the same options, and a state that an earlier
// version has written still loads.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "core/text.h"
#include "models/initializer.h"
#include "models/layers.h"
#include "state/safetensors.h"
#include "support/temp_directory.h"
#include "support/test_context.h"
#include "support/throws.h"
#include "train/checkpoint.h"

namespace troika {
namespace {

std::shared_ptr<Model> net() {
  auto model = std::make_shared<Model>("net");
  const ValueId x = add_relu(*model, "relu", add_linear(*model, "fc1", model->add_input("x", {4}), 3, true));
  model->set_output(add_linear(*model, "fc2", x, 5, true));
  initialize_default(*model, 1, false);
  return model;
}

Batch batch() {
  Batch batch;
  batch.shape = {2, 4};
  batch.inputs = {0.5f, -1, 2, 0.25f, 1, 0.75f, -0.5f, 3};
  batch.labels = {1, 4};
  return batch;
}

std::unique_ptr<Trainer> trainer_with(const TrainerOptions& options) {
  return std::make_unique<Trainer>(std::make_shared<Context>(test_context_options()), net(),
                                   std::vector{DeviceId{DeviceKind::cpu, 0}}, options);
}

// ---- options that must agree ----

using Change = std::function<void(TrainerOptions&)>;

// Two trainers that differ in one option.
struct Difference {
  std::string name;     // of the test
  std::string message;  // part of the refusal
  Change one, other;
};

// Returns two values that a setting can have.
std::pair<double, double> two_values(Setting setting) {
  if (setting == Setting::nesterov) return {0, 1};
  return {0.5, 0.125};
}

TrainerOptions base_of(const OptimizerDef& optimizer) {
  TrainerOptions options;
  options.optimizer = &optimizer;
  if (optimizer.reads(Setting::momentum)) options.settings[Setting::momentum] = 0.75;
  return options;
}

// Settings of the trainer and of a group, of every optimizer. A group's own value differs from
// another value and from none, also if both mean the same number.
void add_settings(std::vector<Difference>& all) {
  for (const OptimizerDef* optimizer : all_optimizers())
    for (Setting setting : base_of(*optimizer).columns()) {
      if (setting == Setting::learning_rate) continue;  // part of the state
      const std::string name = text(optimizer->name, '_', name_of(setting));
      const auto [a, b] = two_values(setting);
      const auto with = [=](double value) {
        return [=](TrainerOptions& o) { (o = base_of(*optimizer)).settings[setting] = value; };
      };
      all.push_back({name, text(name_of(setting), " is '", a, "', the trainer has '", b, "'"), with(a), with(b)});
      const auto of_group = [=](double own) {
        return [=](TrainerOptions& o) {
          o = base_of(*optimizer);
          o.settings[setting] = b;
          o.groups = {{"fc1.*", false, {{setting, own}}}};
        };
      };
      const Change none = [=](TrainerOptions& o) {
        of_group(0)(o);
        o.groups[0].settings = {};
      };
      const std::string group = setting == Setting::weight_decay ? "group0 is 'fc1.*" : "group0_settings is '";
      all.push_back({name + "_of_a_group",
                     text(group, setting == Setting::weight_decay ? " " : "", name_of(setting), ' ', a), of_group(a),
                     of_group(b)});
      all.push_back(
          {name + "_of_a_group_alone", text("group0_settings is '", name_of(setting), ' ', b), of_group(b), none});
    }
}

void add_schedules(std::vector<Difference>& all) {
  const auto add = [&all](const std::string& key, ScheduleKind kind, std::function<void(Schedule&)> change) {
    const Change one = [kind](TrainerOptions& o) {
      o.schedule.kind = kind;
      o.schedule.period = 100;
      o.schedule.milestones = {5};
      o.schedule.table = {1};
    };
    all.push_back({text(key, '_', all.size()), key + " is '", one, [=](TrainerOptions& o) {
                     one(o);
                     change(o.schedule);
                   }});
  };
  add("schedule", ScheduleKind::cosine, [](Schedule& s) { s.kind = ScheduleKind::step; });
  add("schedule_period", ScheduleKind::cosine, [](Schedule& s) { s.period = 101; });
  add("schedule_gamma", ScheduleKind::step, [](Schedule& s) { s.gamma = 0.2; });
  add("schedule_min", ScheduleKind::cosine, [](Schedule& s) { s.minimum = 0.01; });
  add("warmup_steps", ScheduleKind::constant, [](Schedule& s) { s.warmup_steps = 3; });
  add("schedule_milestones", ScheduleKind::multi_step, [](Schedule& s) { s.milestones = {6}; });
  add("schedule_power", ScheduleKind::polynomial, [](Schedule& s) { s.power = 2; });
  add("schedule_cycle", ScheduleKind::one_cycle, [](Schedule& s) { s.rise = 0.4; });
  add("schedule_cycle", ScheduleKind::one_cycle, [](Schedule& s) { s.divisor = 20; });
  add("schedule_cycle", ScheduleKind::one_cycle, [](Schedule& s) { s.final_divisor = 20; });
  add("schedule_plateau", ScheduleKind::plateau, [](Schedule& s) { s.patience = 3; });
  add("schedule_plateau", ScheduleKind::plateau, [](Schedule& s) { s.threshold = 0.5; });
  add("schedule_plateau", ScheduleKind::plateau, [](Schedule& s) { s.maximizes = true; });
  add("schedule_table", ScheduleKind::table, [](Schedule& s) { s.table = {0.5}; });
}

std::vector<Difference> differences() {
  std::vector<Difference> all;
  add_settings(all);
  add_schedules(all);
  const auto add = [&all](const std::string& key, Change one, Change other) {
    all.push_back({text(key, '_', all.size()), key + " is '", std::move(one), std::move(other)});
  };
  // An option that is not used is not in the file: also try its absence on either side.
  const auto add_optional = [&](const std::string& key, const Change& one, const Change& other) {
    const Change none = [](TrainerOptions&) {};
    add(key, one, other);
    add(key, one, none);
    all.push_back({text("no_", key, '_', all.size()), "has no " + key, none, one});
  };
  add_optional(
      "label_smoothing", [](auto& o) { o.labels.smoothing = 0.1; }, [](auto& o) { o.labels.smoothing = 0.2; });
  add_optional(
      "ignore_index", [](auto& o) { o.labels.ignored = 0; }, [](auto& o) { o.labels.ignored = -100; });
  add_optional(
      "class_weights", [](auto& o) { o.class_weights = {1, 2, 0.5f, 1, 1}; },
      [](auto& o) { o.class_weights = {1, 2, 0.5f, 1, 0}; });
  add_optional(
      "max_gradient_norm", [](auto& o) { o.conditioning.max_norm = 1; }, [](auto& o) { o.conditioning.max_norm = 2; });
  add_optional(
      "average_decay", [](auto& o) { o.average_decay = 0.5; }, [](auto& o) { o.average_decay = 0.75; });
  const auto scaled = [](int64_t interval) {
    return [interval](TrainerOptions& o) {
      o.conditioning.is_scaled = true;
      o.conditioning.scale_interval = interval;
      o.loss_scale = 1024;
    };
  };
  const Change none = [](TrainerOptions&) {};
  add("loss_scale_interval", scaled(5), scaled(6));
  add("loss_scale", scaled(5), none);
  add(
      "decay_one_axis", [](auto& o) { o.decays_one_axis = false; }, none);
  add("seed", none, [](auto& o) { o.seed = 7; });
  add("reduction", none, [](auto& o) { o.reduction = Reduction::sum; });
  add("precision", none, [](auto& o) { o.compute = DType::bf16; });
  add(
      "group0", [](auto& o) { o.groups = {{"fc1.*"}}; }, [](auto& o) { o.groups = {{"fc2.*"}}; });
  add(
      "group0", [](auto& o) { o.groups = {{"fc1.*"}}; },
      [](auto& o) {
        o.groups = {{"fc1.*", true}};
      });
  return all;
}

class Differences : public ::testing::TestWithParam<size_t> {};

TEST_P(Differences, AreRefusedAndNamed) {
  const Difference difference = differences()[GetParam()];
  const TempDirectory folder;
  const std::string path = (folder.path() / "state").string();
  TrainerOptions one, other;
  difference.one(one);
  difference.other(other);
  save_checkpoint(*trainer_with(one), path);
  EXPECT_THROWS(Status::mismatch, difference.message, (load_checkpoint(*trainer_with(other), path), 0));
  load_checkpoint(*trainer_with(one), path);
}

INSTANTIATE_TEST_SUITE_P(All, Differences, ::testing::Range(size_t{0}, differences().size()),
                         [](const auto& info) { return differences()[info.param].name; });

// ---- settings that changed while training ----

// Options are compared as they were when the model was attached. Changes are part of the state.
TEST(TrainingStates, KeepSettingsThatChangedWhileTraining) {
  const TempDirectory folder;
  const std::string path = (folder.path() / "state").string();
  TrainerOptions options = base_of(sgd_optimizer);
  options.groups = {{"fc1.*", false, {{Setting::momentum, 0.5}}}, {"fc2.*"}};
  const auto whole = trainer_with(options);
  StepResult result;
  whole->step(batch(), result);
  whole->set(0, Setting::momentum, 0.25);
  whole->set(1, Setting::momentum, 0.125);  // until now the trainer's
  whole->set(-1, Setting::weight_decay, 0.01);
  save_checkpoint(*whole, path);

  const auto resumed = trainer_with(options);
  load_checkpoint(*resumed, path);
  EXPECT_EQ(resumed->get(0, Setting::momentum), 0.25);
  EXPECT_EQ(resumed->get(1, Setting::momentum), 0.125);
  EXPECT_EQ(resumed->get(-1, Setting::momentum), 0.75);
  EXPECT_EQ(resumed->get(0, Setting::weight_decay), 0.01);
  for (Trainer* trainer : {whole.get(), resumed.get()}) trainer->step(batch(), result);
  EXPECT_TRUE(resumed->read_slots() == whole->read_slots());

  options.groups[0].settings[Setting::momentum] = 0.25;  // the value now, not the value at the start
  EXPECT_THROWS(Status::mismatch, "group0_settings is 'momentum 0.5', the trainer has 'momentum 0.25'",
                (load_checkpoint(*trainer_with(options), path), 0));
}

// ---- earlier versions ----

// A file with the keys that the version before the family of optimizers wrote, and no others.
// Momentum was "momentum/NAME"; a group had no settings apart from its rate and weight decay.
struct EarlierState {
  std::map<std::string, std::vector<float>> momentum;
  std::shared_ptr<Model> model = net();

  void write(const std::string& path) {
    SafetensorsWriter writer;
    const std::pair<const char*, const char*> metadata[] = {
        {"format", "troika.checkpoint.1"},
        {"model", "net"},
        {"precision", "f32"},
        {"optimizer", "sgd"},
        {"loss", "cross_entropy"},
        {"reduction", "mean"},
        {"momentum", "0.75"},
        {"nesterov", "1"},
        {"weight_decay", "0.01"},
        {"schedule", "cosine"},
        {"schedule_period", "100"},
        {"schedule_gamma", "0.1"},
        {"schedule_min", "0.001"},
        {"warmup_steps", "2"},
        {"seed", "11"},
        {"loss_scale_interval", "5"},
        {"max_gradient_norm", "2.5"},
        {"group0", "fc1.* weight_decay 0"},
        {"group1", "fc2.weight weight_decay 0.01"},
        {"step", "7"},
        {"epoch", "1"},
        {"batch", "2"},
        {"batches", "5"},
        {"loader_seed", "3"},
        {"learning_rates", "0.05 0.025 -1"},
        {"loss_scale", "1024 2"},
    };
    for (const auto& [key, value] : metadata) writer.set_metadata(key, value);
    const ParameterStore& store = *model->parameters();
    for (size_t i = 0; i < store.size(); ++i) {
      const Parameter& p = store.entry(i);
      writer.add("model/" + p.name, "F32", p.type.shape, p.data.data());
      std::vector<float>& values = momentum[p.name];
      for (int64_t k = 0; k < p.type.shape.elements(); ++k) values.push_back(0.01f * static_cast<float>(k + 1));
      writer.add("momentum/" + p.name, "F32", p.type.shape, values.data());
    }
    writer.sum_data();
    writer.write(path);
  }

  static TrainerOptions options() {
    TrainerOptions options;
    options.settings = {{Setting::learning_rate, 0.05},
                        {Setting::momentum, 0.75},
                        {Setting::nesterov, 1},
                        {Setting::weight_decay, 0.01}};
    options.schedule.kind = ScheduleKind::cosine;
    options.schedule.period = 100;
    options.schedule.minimum = 0.001;
    options.schedule.warmup_steps = 2;
    options.seed = 11;
    options.conditioning = {true, 5, 2.5};
    options.loss_scale = 65536;
    options.groups = {{"fc1.*", false, {{Setting::learning_rate, 0.025}, {Setting::weight_decay, 0}}}, {"fc2.weight"}};
    return options;
  }
};

TEST(TrainingStates, SayWhenTheScheduleBeginsAndGoOnAsTheyBegan) {
  const TempDirectory folder;
  const std::string old = (folder.path() / "old").string(), again = (folder.path() / "again").string(),
                    newer = (folder.path() / "newer").string();
  EarlierState earlier;
  earlier.write(old);
  const auto trainer = trainer_with(EarlierState::options());
  const double waits = trainer->learning_rate(-1);
  save_checkpoint(*trainer, newer);
  load_checkpoint(*trainer, old);
  Schedule schedule = EarlierState::options().schedule;
  const double after = schedule.at(7, 0.05);
  schedule.falls_in_warmup = true;
  EXPECT_EQ(trainer->learning_rate(-1), schedule.at(7, 0.05));
  EXPECT_NE(trainer->learning_rate(-1), after);
  save_checkpoint(*trainer, again);
  EXPECT_FALSE(SafetensorsReader(again, "state").metadata().contains("schedule_begin"));
  EXPECT_EQ(SafetensorsReader(newer, "state").metadata().at("schedule_begin"), "warmup_steps");
  load_checkpoint(*trainer, newer);
  EXPECT_EQ(trainer->learning_rate(-1), waits);
}

TEST(TrainingStates, OfTheVersionBeforeOtherOptimizersLoad) {
  const TempDirectory folder;
  const std::string path = (folder.path() / "state").string();
  EarlierState earlier;
  earlier.write(path);
  const auto trainer = trainer_with(EarlierState::options());
  load_checkpoint(*trainer, path);
  const TrainingState state = trainer->training_state();
  EXPECT_EQ(state.position.step, 7);
  EXPECT_EQ(state.position.batch.epoch, 1);
  EXPECT_EQ(state.position.order.seed, 3u);
  EXPECT_EQ(state.loss_scale, (std::array<float, 2>{1024, 2}));
  EXPECT_EQ(trainer->get(0, Setting::learning_rate), 0.025);
  EXPECT_EQ(trainer->get(1, Setting::learning_rate), 0.05);
  EXPECT_EQ(trainer->get(0, Setting::weight_decay), 0);
  const HostSlots slots = trainer->read_slots();
  EXPECT_EQ(slots.size(), earlier.momentum.size());
  for (const auto& [name, values] : earlier.momentum) EXPECT_EQ(slots.at("momentum/" + name), values) << name;
  StepResult result;
  trainer->step(batch(), result);
  EXPECT_EQ(result.step, 8);

  TrainerOptions other = EarlierState::options();
  other.labels.smoothing = 0.1;  // there was none
  EXPECT_THROWS(Status::mismatch, "has no label_smoothing, the trainer has '0.1'",
                (load_checkpoint(*trainer_with(other), path), 0));
  other = EarlierState::options();
  other.groups[0].settings[Setting::weight_decay] = 0.02;
  EXPECT_THROWS(Status::mismatch, "group0 is 'fc1.* weight_decay 0', the trainer has 'fc1.* weight_decay 0.02'",
                (load_checkpoint(*trainer_with(other), path), 0));
}

}  // namespace
}  // namespace troika
