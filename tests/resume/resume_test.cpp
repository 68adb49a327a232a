// Training states:
// - A run that is killed and continues in a new process has the same end as a run that was never
//   stopped.
// - A file that does not fit changes nothing.
// - The previous file survives a full disk.
//
// Processes are this program with other arguments.
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <iostream>

#include "resume/run.h"
#include "support/temp_directory.h"

extern char** environ;

namespace troika::test {
namespace {

// Runs `train DEVICES STEPS LOAD SAVE AFTER`: loads a state if LOAD is not "-", steps, saves, and
// steps AFTER more times. If AFTER is above 0, waits to be killed.
int train_as_process(char** arguments) {
  RunOptions options;
  options.devices = std::stoi(arguments[0]);
  TrainingRun run(options);
  if (std::string(arguments[2]) != "-" && run.load(arguments[2]) != TROIKA_OK) {
    std::cerr << run.error.message << '\n';
    return 1;
  }
  run.step(std::stoi(arguments[1]));
  if (run.save(arguments[3]) != TROIKA_OK) return 1;
  const int after = std::stoi(arguments[4]);
  run.step(after);
  if (after > 0) {
    if (::write(STDOUT_FILENO, "!", 1) != 1) return 1;
    for (;;) ::pause();
  }
  return testing::Test::HasFailure();
}

// Runs this process. Kills it in the middle of its run if `after` is above 0.
void train(int devices, int steps, const std::string& load, const std::string& save, int after = 0) {
  std::vector<std::string> texts = {"resume_test", "train", std::to_string(devices), std::to_string(steps),
                                    load,          save,    std::to_string(after)};
  std::vector<char*> arguments;
  for (std::string& argument : texts) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  pid_t child = 0;
  ASSERT_EQ(::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (after > 0) {
    char ready = 0;
    EXPECT_EQ(::read(ends[0], &ready, 1), 1) << "the process ended before it had trained";
    ::kill(child, SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ::close(ends[0]);
  if (after > 0)
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  else
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

class Resume : public testing::Test {
 protected:
  std::string path(const char* name) const { return (folder_.path() / name).string(); }

  // Expects that loading `file` into `run` is refused and does not change the run.
  void expect_refused(TrainingRun& run, const std::string& file, troika_status status, const std::string& message) {
    ASSERT_EQ(run.save(path("before")), TROIKA_OK);
    EXPECT_EQ(run.load(file), status) << run.error.message;
    EXPECT_NE(std::string(run.error.message).find(message), std::string::npos) << run.error.message;
    EXPECT_EQ(std::string(run.error.message).find('\n'), std::string::npos);
    ASSERT_EQ(run.save(path("after")), TROIKA_OK);
    EXPECT_EQ(read_whole(path("before")), read_whole(path("after")));
  }

  TempDirectory folder_;
};

TEST_F(Resume, after_a_kill_is_bit_for_bit_what_was_never_stopped) {
  constexpr int kSteps = 7;  // ends in the middle of the second epoch
  for (int devices : {1, 2}) {
    train(devices, 2 * kSteps, "-", path("whole"));
    train(devices, kSteps, "-", path("half"), 2);
    train(devices, kSteps, path("half"), path("resumed"));
    EXPECT_EQ(read_whole(path("whole")), read_whole(path("resumed"))) << "on " << devices << " devices";
    EXPECT_NE(read_whole(path("whole")), read_whole(path("half")));
  }
}

TEST_F(Resume, at_the_end_of_an_epoch_goes_on_with_the_next) {
  train(2, 10, "-", path("whole"));
  train(2, 5, "-", path("half"), 1);
  train(2, 5, path("half"), path("resumed"));
  EXPECT_EQ(read_whole(path("whole")), read_whole(path("resumed")));
}

TEST_F(Resume, on_another_number_of_devices_goes_on_the_same_way) {
  RunOptions options;
  options.has_batch_norm = false;  // its statistics depend on the devices
  options.devices = 4;
  TrainingRun whole(options);
  whole.step(7);
  ASSERT_EQ(whole.save(path("half")), TROIKA_OK);
  whole.step(7);
  options.devices = 2;
  TrainingRun resumed(options);
  ASSERT_EQ(resumed.load(path("half")), TROIKA_OK) << resumed.error.message;
  resumed.step(7);
  const std::vector<float> expected = whole.parameters(), found = resumed.parameters();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-5 + 1e-4 * std::abs(expected[i])) << "element " << i;
}

TEST_F(Resume, loads_and_saves_the_same_bytes) {
  RunOptions options;
  TrainingRun first(options), second(options);
  first.step(7);
  ASSERT_EQ(first.save(path("a")), TROIKA_OK);
  ASSERT_EQ(second.load(path("a")), TROIKA_OK) << second.error.message;
  ASSERT_EQ(second.save(path("b")), TROIKA_OK);
  EXPECT_EQ(read_whole(path("a")), read_whole(path("b")));
}

TEST_F(Resume, refuses_a_state_of_another_run_and_names_the_difference) {
  RunOptions options;
  TrainingRun run(options);
  run.step(3);
  ASSERT_EQ(run.save(path("state")), TROIKA_OK);

  RunOptions other = options;
  other.model_name = "other";
  TrainingRun other_model(other);
  expect_refused(other_model, path("state"), TROIKA_ERROR_MISMATCH, "model is 'net', the trainer has 'other'");
  other = options;
  other.momentum = 0.5;
  TrainingRun other_momentum(other);
  other_momentum.step(1);
  expect_refused(other_momentum, path("state"), TROIKA_ERROR_MISMATCH, "momentum is '0.9', the trainer has '0.5'");
  other.momentum = 0;
  TrainingRun no_momentum(other);
  expect_refused(no_momentum, path("state"), TROIKA_ERROR_MISMATCH, "momentum is '0.9', the trainer has '0'");
  other = options;
  other.precision = TROIKA_PRECISION_F16;
  TrainingRun other_precision(other);
  expect_refused(other_precision, path("state"), TROIKA_ERROR_MISMATCH, "precision is 'f32', the trainer has 'f16'");
  ASSERT_EQ(other_precision.save(path("scaled")), TROIKA_OK);
  expect_refused(run, path("scaled"), TROIKA_ERROR_MISMATCH, "precision is 'f16', the trainer has 'f32'");
  other = options;
  other.seed = 12;
  TrainingRun other_seed(other);
  expect_refused(other_seed, path("state"), TROIKA_ERROR_MISMATCH, "seed is '11', the trainer has '12'");
  other = options;
  other.hidden = 5;
  TrainingRun other_shape(other);
  expect_refused(other_shape, path("state"), TROIKA_ERROR_MISMATCH,
                 "conv.weight: file F32 [6, 1, 3, 3], model F32 [5, 1, 3, 3]");
  other = options;
  other.has_batch_norm = false;
  TrainingRun other_layers(other);
  expect_refused(other_layers, path("state"), TROIKA_ERROR_MISMATCH, "model/bn.");
}

TEST_F(Resume, refuses_samples_in_another_order) {
  RunOptions options;
  TrainingRun run(options);
  run.step(7);  // up to batch 2 of the second epoch
  ASSERT_EQ(run.save(path("state")), TROIKA_OK);
  const auto expect_refused_step = [](TrainingRun& other, const std::string& message) {
    const std::vector<float> before = other.parameters();
    EXPECT_EQ(other.try_step(), TROIKA_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(std::string(other.error.message), message);
    EXPECT_EQ(other.parameters(), before);
  };
  options.loader_seed = 4;
  TrainingRun other_seed(options);
  ASSERT_EQ(other_seed.load(path("state")), TROIKA_OK) << other_seed.error.message;
  expect_refused_step(other_seed,
                      "batch: its samples come shuffled with seed 4, those of the training state shuffled with seed 3; "
                      "create the loader with the same shuffle, seed, weights, flip and crop");
  options.loader_seed = 3;
  options.shuffles = false;
  TrainingRun in_order(options);
  ASSERT_EQ(in_order.load(path("state")), TROIKA_OK) << in_order.error.message;
  expect_refused_step(in_order,
                      "batch: its samples come in the dataset's order, those of the training state shuffled with seed "
                      "3; create the loader with the same shuffle, seed, weights, flip and crop");
  in_order.step(3);
  ASSERT_EQ(in_order.save(path("in order")), TROIKA_OK);
  options.loader_seed = 4;  // has no effect without shuffling
  TrainingRun also_in_order(options);
  ASSERT_EQ(also_in_order.load(path("in order")), TROIKA_OK) << also_in_order.error.message;
  EXPECT_EQ(also_in_order.try_step(), TROIKA_OK) << also_in_order.error.message;
}

TEST_F(Resume, goes_on_with_the_same_augmented_samples_and_refuses_others) {
  RunOptions options;
  options.flip = 1;
  options.crop = 3;
  TrainingRun whole(options), run(options);
  run.step(7);  // up to batch 2 of the second epoch
  ASSERT_EQ(run.save(path("state")), TROIKA_OK);
  whole.step(17);
  TrainingRun resumed(options);
  ASSERT_EQ(resumed.load(path("state")), TROIKA_OK) << resumed.error.message;
  resumed.step(10);
  EXPECT_EQ(resumed.parameters(), whole.parameters());

  RunOptions plain, wider = options, unmirrored = options;
  wider.crop = 4;
  unmirrored.flip = 0;
  for (const RunOptions& other : {plain, wider, unmirrored}) {
    TrainingRun refused(other);
    ASSERT_EQ(refused.load(path("state")), TROIKA_OK) << refused.error.message;
    const std::vector<float> before = refused.parameters();
    EXPECT_EQ(refused.try_step(), TROIKA_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(refused.error.message).find("shuffled with seed 3, with augmentation "), std::string::npos)
        << refused.error.message;
    EXPECT_EQ(refused.parameters(), before);
  }
  TrainingRun first(plain);
  first.step(17);
  EXPECT_NE(first.parameters(), whole.parameters()) << "samples were augmented";
}

TEST_F(Resume, goes_on_in_any_order_where_the_place_is_another_or_was_not_asked_for) {
  RunOptions options;
  TrainingRun run(options);
  run.step(7);
  ASSERT_EQ(run.save(path("state")), TROIKA_OK);
  options.loader_seed = 4;
  TrainingRun elsewhere(options), alone(options);
  ASSERT_EQ(elsewhere.load(path("state")), TROIKA_OK);
  elsewhere.seek(2, 0);
  EXPECT_EQ(elsewhere.try_step(), TROIKA_OK) << elsewhere.error.message;
  elsewhere.seek(1, 2);
  EXPECT_EQ(elsewhere.try_step(), TROIKA_OK) << "it went on elsewhere: " << elsewhere.error.message;
  ASSERT_EQ(alone.load_alone(path("state")), TROIKA_OK);
  alone.seek(1, 2);
  EXPECT_EQ(alone.try_step(), TROIKA_OK) << alone.error.message;
}

TEST_F(Resume, refuses_what_is_no_state) {
  TrainingRun run{RunOptions{}};
  run.step(2);
  const auto named = [&](const char* what, const char* name) { return what + (" '" + path(name)) + "'"; };
  expect_refused(run, path("nowhere"), TROIKA_ERROR_NOT_FOUND, named("training state", "nowhere"));
  expect_refused(run, folder_.path().string(), TROIKA_ERROR_IO, "is a directory");
  write_whole(path("text"), "this is no safetensors file, but some text");
  expect_refused(run, path("text"), TROIKA_ERROR_CORRUPT, named("training state", "text"));
  write_whole(path("weights"), std::string("\2\0\0\0\0\0\0\0{}", 10));
  expect_refused(run, path("weights"), TROIKA_ERROR_MISMATCH, named("file", "weights") + " is no training state");
}

TEST_F(Resume, refuses_a_file_with_one_flipped_bit_of_data) {
  TrainingRun run{RunOptions{}};
  run.step(2);
  ASSERT_EQ(run.save(path("state")), TROIKA_OK);
  std::string bytes = read_whole(path("state"));
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_whole(path("flipped"), bytes);
  expect_refused(run, path("flipped"), TROIKA_ERROR_CORRUPT, "metadata 'crc32' is '");
}

TEST_F(Resume, refuses_a_file_that_was_cut_anywhere) {
  TrainingRun run{RunOptions{}};
  run.step(2);
  ASSERT_EQ(run.save(path("state")), TROIKA_OK);
  const std::string whole = read_whole(path("state"));
  run.step(1);
  for (size_t size = 0; size < whole.size(); size += 1 + size / 8) {
    write_whole(path("cut"), whole.substr(0, size));
    ASSERT_NO_FATAL_FAILURE(expect_refused(run, path("cut"), TROIKA_ERROR_CORRUPT, "cut")) << size << " bytes";
  }
  write_whole(path("cut"), whole.substr(0, whole.size() - 1));
  expect_refused(run, path("cut"), TROIKA_ERROR_CORRUPT, "cut");
  EXPECT_EQ(run.load(path("state")), TROIKA_OK) << run.error.message;
}

TEST_F(Resume, keeps_the_previous_file_where_the_disk_is_full) {
  TrainingRun run{RunOptions{}};
  run.step(2);
  ASSERT_EQ(run.save(path("state")), TROIKA_OK);
  const std::string before = read_whole(path("state"));
  run.step(1);

  struct rlimit limit {
  }, small{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  small = limit;
  small.rlim_cur = before.size() / 2;
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const troika_status status = run.save(path("state"));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ::signal(SIGXFSZ, old_handler);

  EXPECT_EQ(status, TROIKA_ERROR_IO) << run.error.message;
  EXPECT_NE(std::string(run.error.message).find("the previous file is unchanged"), std::string::npos)
      << run.error.message;
  EXPECT_EQ(read_whole(path("state")), before);
  size_t files = 0;
  for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(folder_.path())) ++files;
  EXPECT_EQ(files, 1u) << "a temporary file remains";
  EXPECT_EQ(run.save(path("state")), TROIKA_OK) << run.error.message;
  EXPECT_NE(read_whole(path("state")), before);
}

TEST_F(Resume, refuses_a_place_where_nothing_can_be_written) {
  TrainingRun run{RunOptions{}};
  EXPECT_EQ(run.save(path("no/such/folder")), TROIKA_ERROR_IO);
  EXPECT_EQ(std::string(run.error.message).find("training state '"), 0u) << run.error.message;
  EXPECT_EQ(run.save("/dev/full"), TROIKA_ERROR_IO) << run.error.message;
  EXPECT_EQ(run.save(folder_.path().string()), TROIKA_ERROR_IO);
  EXPECT_EQ(run.save(""), TROIKA_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace troika::test

int main(int argc, char** argv) {
  if (argc == 7 && std::string(argv[1]) == "train") return troika::test::train_as_process(argv + 2);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
