// Saving and loading a model's weights.
#include <filesystem>
#include <memory>

#include "api/api_test.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

class ModelFilesApi : public ApiTest {};

TEST_F(ModelFilesApi, saves_and_loads_or_says_why_not) {
  const TempDirectory folder;
  const std::string path = (folder.path() / "weights").string();
  make_model();
  expect_refused(troika_model_save(model_, path.c_str(), &error_), TROIKA_ERROR_NOT_INITIALIZED,
                 "parameter 'fc.weight' has no value yet");
  EXPECT_FALSE(std::filesystem::exists(path));
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  expect_ok(troika_model_save(model_, path.c_str(), &error_));
  expect_refused(troika_model_save(model_, nullptr, &error_), kInvalid, "argument 'path' is NULL");
  expect_refused(troika_model_save(nullptr, path.c_str(), &error_), kInvalid, "argument 'model' is NULL");
  expect_refused(troika_model_save(model_, (path + "/below").c_str(), &error_), TROIKA_ERROR_IO, "below");

  const auto report = std::make_unique<troika_load_report>();
  report->struct_size = sizeof *report;
  expect_ok(troika_model_load(model_, path.c_str(), nullptr, report.get(), &error_));
  EXPECT_EQ(report->loaded, 2);
  expect_refused(troika_model_load(model_, nullptr, nullptr, nullptr, &error_), kInvalid, "argument 'path' is NULL");
  expect_refused(troika_model_load(nullptr, path.c_str(), nullptr, nullptr, &error_), kInvalid,
                 "argument 'model' is NULL");
  expect_refused(troika_model_load(model_, (path + "2").c_str(), nullptr, nullptr, &error_), TROIKA_ERROR_NOT_FOUND,
                 "weights2");
  troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
  options.allow_partial = 2;
  expect_refused(troika_model_load(model_, path.c_str(), &options, nullptr, &error_), kInvalid,
                 "options.allow_partial is 2, need 0 or 1");
  options = TROIKA_LOAD_OPTIONS_INIT;
  options.struct_size = 0;
  expect_refused(troika_model_load(model_, path.c_str(), &options, nullptr, &error_), kInvalid,
                 "troika_load_options: struct_size is 0");
  options = TROIKA_LOAD_OPTIONS_INIT;
  options.strip_prefix = "none.";
  expect_refused(troika_model_load(model_, path.c_str(), &options, report.get(), &error_), TROIKA_ERROR_MISMATCH,
                 "no name in it begins with 'none.', which strip_prefix is to remove");
  EXPECT_EQ(report->unexpected, 2);
  report->struct_size = 3;
  expect_refused(troika_model_load(model_, path.c_str(), nullptr, report.get(), &error_), kInvalid,
                 "out_report->struct_size is 3");
}

}  // namespace
}  // namespace troika::test
