// The library, contexts, devices, options and files.
#include "tests.h"

#include <mutex>

namespace {

TEST(Library, HasTheVersionOfTheHeaders) {
  EXPECT_EQ(version(), TROIKA_VERSION);
  EXPECT_NE(std::string(build_info()).find("troika"), std::string::npos);
}

TEST(Options, BeginWithTheDefaultsOfTheLibrary) {
  const troika_trainer_options trainer = TROIKA_TRAINER_OPTIONS_INIT;
  const TrainerOptions options;
  EXPECT_EQ(options.loss, Loss::cross_entropy);
  EXPECT_EQ(options.learning_rate, trainer.learning_rate);
  EXPECT_EQ(options.deadline_ms, trainer.deadline_ms);
  EXPECT_EQ(options.schedule_final_divisor, trainer.schedule_final_divisor);
  EXPECT_EQ(options.loss_scale, unset);
  EXPECT_EQ(options.mesh.data, 0);
  EXPECT_EQ(options.mesh.channel, 1);
  EXPECT_FALSE(options.nesterov);
  EXPECT_FALSE(options.layer_cuts);
  EXPECT_TRUE(options.groups.empty());
  EXPECT_EQ(options.group, nullptr);
  EXPECT_EQ(Conv2dOptions().stride, (std::array<std::int64_t, 2>{1, 1}));
  EXPECT_EQ(Conv2dOptions().kernel, (std::array<std::int64_t, 2>{unset, unset}));
  EXPECT_EQ(LoaderOptions().prefetch, 2);
  EXPECT_EQ(ParameterGroup().learning_rate, -1.0);
  EXPECT_EQ(PlanOptions().memory_bytes, 141000000000);
  EXPECT_EQ(Arrays().std, 1.0);
  EXPECT_EQ(Mesh().layer, 1);
}

TEST(Options, ReachC) {
  TrainerOptions trainer{.learning_rate = 0.5, .nesterov = true, .mesh = {.data = 2}};
  trainer.groups = {{.frozen = true, .pattern = "conv*"}, {.pattern = "fc.*", .weight_decay = 0.25}};
  trainer.schedule_milestones = {3, 5};
  trainer.layer_cuts = "fc";
  const PlanOptions plan{.devices = 4, .trainer = trainer};
  const detail::Raw<PlanOptions> raw(plan);
  EXPECT_EQ(raw.value.devices, 4);
  const troika_trainer_options& inner = *raw.value.trainer;
  EXPECT_EQ(inner.learning_rate, 0.5);
  EXPECT_EQ(inner.nesterov, 1);
  EXPECT_EQ(inner.mesh.data, 2);
  EXPECT_EQ(inner.group_count, 2);
  EXPECT_STREQ(inner.groups[0].pattern, "conv*");
  EXPECT_EQ(inner.groups[1].weight_decay, 0.25);
  EXPECT_EQ(inner.schedule_milestone_count, 2);
  EXPECT_EQ(inner.schedule_milestones[1], 5);
  EXPECT_STREQ(inner.layer_cuts, "fc");
  EXPECT_EQ(inner.recompute_layers, nullptr);
}

TEST(Context, LogsToAFunctionThatItOwns) {
  struct Line {
    LogLevel level;
    std::string topic, text;
  };
  std::mutex mutex;
  std::vector<Line> lines;
  auto alive = std::make_shared<int>();
  const std::weak_ptr<int> watched = alive;
  {
    const Context context({.log =
                               [&, alive](LogLevel level, std::string_view topic, std::string_view line) {
                                 const std::lock_guard lock(mutex);
                                 lines.push_back({level, std::string(topic), std::string(line)});
                                 throw HostError(1);  // dropped: no call waits for a line
                               },
                           .log_level = LogLevel::debug});
    alive.reset();
    Model model = doubling_model(context);
    Trainer trainer = model.attach({"cpu:0"}, squares());
    Loader loader(one_sample(context), {.batch = 1});
    trainer.train_epoch(loader);
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
  ASSERT_FALSE(lines.empty());
  for (const Line& line : lines) {
    EXPECT_FALSE(line.topic.empty());
    EXPECT_EQ(line.text.find('\n'), std::string::npos);
    EXPECT_GE(line.level, LogLevel::error);
    EXPECT_LE(line.level, LogLevel::debug);
  }
}

TEST(Context, ReleasesTheLogOfACallThatFailed) {
  auto alive = std::make_shared<int>();
  const std::weak_ptr<int> watched = alive;
  expect_error(Status::invalid_argument, "cpu_threads", [&] {
    Context({.cpu_threads = -5, .log = [moved = std::move(alive)](LogLevel, std::string_view, std::string_view) {}});
  });
  EXPECT_TRUE(watched.expired());
}

TEST(Context, DescribesBackends) {
  const Context context({.backends = "cpu"});
  EXPECT_EQ(context.describe_backends().find("cpu"), 0u);
}

TEST(Device, IsAValue) {
  const Context context;
  const Device device = "cpu:1";
  EXPECT_EQ(device.kind, DeviceKind::cpu);
  EXPECT_EQ(device.index, 1);
  EXPECT_EQ(device, Device(DeviceKind::cpu, 1));
  EXPECT_NE(device, Device(std::string("cuda:1")));
  EXPECT_EQ(Device(DeviceKind::cuda, 3).format(), "cuda:3");
  EXPECT_EQ(Device::parse("cpu"), Device());
  EXPECT_GE(Device::count(context, DeviceKind::cpu), 8);
  EXPECT_GT(device.describe(context).memory_bytes, 1 << 20);
  EXPECT_FALSE(device.describe(context).name.empty());
  const Context cpu_only({.backends = "cpu"});
  EXPECT_EQ(Device::try_gpu(cpu_only), Device());
  EXPECT_EQ(Device::all(cpu_only), std::vector<Device>{Device()});
  expect_error(Status::invalid_argument, "'tpu:0'", [] { Device::parse("tpu:0"); });
  expect_error(Status::invalid_argument, "", [] { Device(DeviceKind{}, 0).format(); });
}

TEST(Texts, WithANulAreRefused) {
  const std::string text("cpu\0:1", 6);
  expect_misuse<std::invalid_argument>("Device: the text has a NUL at byte 3, need none", [&] { Device device(text); });
  expect_misuse<std::invalid_argument>("backends: the text has a NUL at byte 3, need none",
                                       [&] { Context({.backends = text}); });
}

TEST(Files, AreInspected) {
  const Folder folder;
  const Context context;
  const std::string path = folder / "weights.safetensors";
  doubling_model(context).save(path);
  EXPECT_NE(file_inspect(path).find("fc.weight F32 [1, 1]"), std::string::npos);
  expect_error(Status::not_found, "nothing", [&] { file_inspect(folder / "nothing"); });
  expect_error(Status::not_found, "", [&] { file_newest(path); });
}

}  // namespace
