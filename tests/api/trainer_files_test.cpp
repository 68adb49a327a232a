// Saving training states with options: the last K of them, and in the background.
#include <troika/file.h>

#include <filesystem>
#include <fstream>

#include "api/api_test.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

class TrainerFilesApi : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    make_trainer();
  }
  troika_status save(const std::string& path, int32_t keep, bool in_background) {
    troika_save_options options = TROIKA_SAVE_OPTIONS_INIT;
    options.keep = keep;
    options.in_background = in_background ? 1 : 0;
    return troika_trainer_save_with(trainer_, path.c_str(), &options, &error_);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string bytes_of(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string at(const std::string& name) const { return (folder_.path() / name).string(); }

  TempDirectory folder_;
};

TEST_F(TrainerFilesApi, keeps_the_last_files) {
  char newest[512] = "";
  expect_refused(troika_file_newest(at("state.st").c_str(), newest, sizeof newest, nullptr, &error_),
                 TROIKA_ERROR_NOT_FOUND, "state-000000000000.st'");
  std::ofstream(at("state-99.st")) << "not ours: too few digits";
  std::ofstream(at("state-0000000000x1.st")) << "not ours";
  std::ofstream(at("state-000000000900.st")) << "of an earlier run";
  for (int i = 1; i <= 5; ++i) {
    expect_ok(step());
    expect_ok(save(at("state.st"), 3, i % 2 == 0));
  }
  expect_ok(troika_trainer_wait_save(trainer_, &error_));
  EXPECT_EQ(files(),
            (std::vector<std::string>{"state-000000000003.st", "state-000000000004.st", "state-000000000005.st",
                                      "state-0000000000x1.st", "state-000000000900.st", "state-99.st"}));
  std::filesystem::remove(at("state-000000000900.st"));
  int64_t size = 0;
  expect_ok(troika_file_newest(at("state.st").c_str(), newest, sizeof newest, &size, &error_));
  EXPECT_EQ(newest, at("state-000000000005.st"));
  EXPECT_EQ(size, static_cast<int64_t>(at("state-000000000005.st").size()) + 1);
  expect_ok(troika_trainer_load(trainer_, newest, nullptr, &error_));
}

TEST_F(TrainerFilesApi, writes_the_same_bytes_in_the_background) {
  for (int i = 0; i < 3; ++i) {
    expect_ok(step());
    expect_ok(troika_trainer_save(trainer_, at("now").c_str(), &error_));
    expect_ok(save(at("later"), 0, true));
    expect_ok(step());  // changes the parameters while the file is written
    expect_ok(troika_trainer_wait_save(trainer_, &error_));
    EXPECT_EQ(bytes_of(at("now")), bytes_of(at("later")));
  }
}

TEST_F(TrainerFilesApi, returns_the_error_of_a_file_with_the_next_call) {
  expect_ok(save(at("no/such/folder"), 0, true));
  expect_refused(troika_trainer_wait_save(trainer_, &error_), TROIKA_ERROR_IO, "no/such");
  expect_ok(troika_trainer_wait_save(trainer_, &error_));
  expect_ok(save(at("no/such/folder"), 0, true));
  expect_ok(step());
  expect_refused(save(at("state"), 0, false), TROIKA_ERROR_IO, "no/such");
  EXPECT_TRUE(files().empty()) << "the call that returns the error does nothing else";
  expect_ok(save(at("state"), 0, false));
  expect_ok(save(at("no/such/folder"), 0, true));  // destroying the trainer waits
}

TEST_F(TrainerFilesApi, refuses_options_and_paths) {
  expect_refused(save(at("state"), -1, false), kInvalid, "options.keep is -1, need 0 to 65536");
  expect_refused(save("", 1, false), kInvalid, "path is ''");
  expect_refused(save(at("") + "/", 1, false), kInvalid, "needs the name of a file");
  troika_save_options options = TROIKA_SAVE_OPTIONS_INIT;
  options.in_background = 2;
  expect_refused(troika_trainer_save_with(trainer_, at("state").c_str(), &options, &error_), kInvalid,
                 "options.in_background is 2, need 0 to 1");
  expect_refused(troika_trainer_save(trainer_, "", &error_), kInvalid, "the path is empty, need the name of a file");
  EXPECT_TRUE(files().empty());
  expect_ok(troika_trainer_save_with(trainer_, at("state").c_str(), nullptr, &error_));
}

}  // namespace
}  // namespace troika::test
