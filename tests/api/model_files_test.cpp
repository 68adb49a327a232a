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

// Models of one linear layer "fc" on a body "body", of `classes` outputs.
class PartialLoading : public ApiTest {
 protected:
  troika_model make(int64_t classes, const char* body = "body", const char* head = "fc") {
    troika_model model = nullptr;
    const int64_t dims[] = {6};
    troika_value x = 0;
    EXPECT_EQ(troika_model_create_empty(context_, "net", &model, &error_), TROIKA_OK);
    expect_ok(troika_model_add_input(model, "x", dims, 1, &x, &error_));
    expect_ok(troika_model_add_linear(model, body, x, 4, 1, &x, &error_));
    expect_ok(troika_model_add_batch_norm1d(model, "bn", x, 1e-5, 0.1, &x, &error_));
    expect_ok(troika_model_add_linear(model, head, x, classes, 1, &x, &error_));
    expect_ok(troika_model_set_output(model, x, &error_));
    return model;
  }
  std::string saved(troika_model model) {
    int64_t size = 0;
    EXPECT_EQ(troika_model_save_memory(model, nullptr, 0, &size, &error_), TROIKA_OK) << error_.message;
    std::string bytes(static_cast<size_t>(size), ' ');
    EXPECT_EQ(troika_model_save_memory(model, bytes.data(), size, &size, &error_), TROIKA_OK) << error_.message;
    return bytes;
  }
  troika_status load(const std::string& file, const troika_load_options& options) {
    report_ = TROIKA_LOAD_REPORT_INIT;
    return troika_model_load_memory(model_, file.data(), static_cast<int64_t>(file.size()), &options, &report_,
                                    &error_);
  }
  std::vector<float> values(troika_model model, const char* name, size_t count) {
    std::vector<float> numbers(count);
    EXPECT_EQ(troika_model_get_parameter(model, name, numbers.data(), static_cast<int64_t>(4 * count), &error_),
              TROIKA_OK)
        << error_.message;
    return numbers;
  }

  troika_load_report report_ = TROIKA_LOAD_REPORT_INIT;
};

TEST_F(PartialLoading, takes_what_fits_into_a_model_of_other_classes) {
  troika_model source = make(1000);
  expect_ok(troika_model_initialize_default(source, 1, &error_));
  const std::string file = saved(source);
  model_ = make(10);
  expect_ok(troika_model_initialize_default(model_, 2, &error_));
  const std::vector<float> head = values(model_, "fc.weight", 40);
  troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
  options.allow_partial = 1;
  expect_refused(load(file, options), TROIKA_ERROR_MISMATCH, "2 mismatching ('fc.weight: file F32 [1000, 4]");
  options.skip_mismatching = 2;
  expect_refused(load(file, options), kInvalid, "options.skip_mismatching is 2, need 0 or 1");
  options.allow_partial = 0;
  options.skip_mismatching = 1;
  expect_ok(load(file, options));
  EXPECT_EQ(report_.loaded, 7);
  EXPECT_EQ(report_.mismatching, 2);
  EXPECT_STREQ(report_.names,
               "mismatching fc.weight: file F32 [1000, 4], model F32 [10, 4]\n"
               "mismatching fc.bias: file F32 [1000], model F32 [10]\n");
  EXPECT_EQ(values(model_, "body.weight", 24), values(source, "body.weight", 24));
  EXPECT_EQ(values(model_, "fc.weight", 40), head);
  troika_model_destroy(source);
}

TEST_F(PartialLoading, keeps_what_a_pattern_names) {
  troika_model source = make(10);
  expect_ok(troika_model_initialize_default(source, 1, &error_));
  const std::string file = saved(source);
  model_ = make(10);
  expect_ok(troika_model_initialize_default(model_, 2, &error_));
  const std::vector<float> head = values(model_, "fc.weight", 40), bias = values(model_, "body.bias", 4);
  troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
  options.skip = "fc.*, body.bias";
  expect_ok(load(file, options));
  EXPECT_EQ(report_.kept, 3);
  EXPECT_EQ(report_.loaded, 6);
  EXPECT_EQ(report_.unexpected + report_.missing, 0);
  EXPECT_EQ(values(model_, "fc.weight", 40), head);
  EXPECT_EQ(values(model_, "body.bias", 4), bias);
  EXPECT_EQ(values(model_, "body.weight", 24), values(source, "body.weight", 24));
  options.skip = "head.*";
  expect_refused(load(file, options), kInvalid, "no parameter or buffer of model 'net' matches 'head.*'");
  options.skip = "fc.*,,";
  expect_refused(load(file, options), kInvalid, "options.skip is 'fc.*,,', need names separated by commas");
  options.skip = "*";
  expect_refused(load(file, options), TROIKA_ERROR_MISMATCH, "nothing of it is to be loaded into model 'net'");
  EXPECT_EQ(report_.kept, 9);
  troika_model_destroy(source);
}

TEST_F(PartialLoading, translates_names) {
  troika_model source = make(10, "encoder.0", "head.1");
  expect_ok(troika_model_initialize_default(source, 1, &error_));
  const std::string file = saved(source);
  model_ = make(10);
  troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
  expect_refused(load(file, options), TROIKA_ERROR_MISMATCH, "missing");
  options.name_map = "encoder.0.* = body.*, head.1.* = fc.*";
  expect_ok(load(file, options));
  EXPECT_EQ(report_.loaded, 9);
  EXPECT_EQ(values(model_, "fc.weight", 40), values(source, "head.1.weight", 40));
  options.name_map = "encoder.0.*=body.*,head.1.*=tail.*";
  expect_refused(load(file, options), TROIKA_ERROR_MISMATCH, "head.1.bias, as 'tail.bias' by the map of names");
  options.name_map = "encoder.0.*=body.*,head.1.*=fc.*,neck.*=x.*";
  expect_refused(load(file, options), TROIKA_ERROR_MISMATCH, "no name in it fits rule 'neck.*=x.*'");
  options.name_map = "encoder.0.weight=fc.weight,head.1.*=fc.*";
  expect_refused(load(file, options), TROIKA_ERROR_MISMATCH, "are both 'fc.weight' by the map of names");
  options.name_map = "encoder";
  expect_refused(load(file, options), kInvalid, "name map: 'encoder' is no rule");
  options.name_map = "encoder.*=body";
  expect_refused(load(file, options), kInvalid, "has 1 and 0 stars, needs as many on both sides");
  troika_model_destroy(source);
}

TEST_F(PartialLoading, initialises_layers_by_kind) {
  model_ = make(10);
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  const std::vector<float> bias = values(model_, "fc.bias", 10);
  expect_ok(troika_model_initialize_layers(model_, "linear", "weight", TROIKA_INIT_CONSTANT, 3, 0, &error_));
  EXPECT_EQ(values(model_, "fc.weight", 40), std::vector<float>(40, 3.0f));
  EXPECT_EQ(values(model_, "body.weight", 24), std::vector<float>(24, 3.0f));
  EXPECT_EQ(values(model_, "bn.weight", 4), std::vector<float>(4, 1.0f));
  EXPECT_EQ(values(model_, "fc.bias", 10), bias);
  expect_ok(troika_model_initialize_layers(model_, "linear,batch_norm1d", "*", TROIKA_INIT_CONSTANT, 2, 0, &error_));
  EXPECT_EQ(values(model_, "bn.bias", 4), std::vector<float>(4, 2.0f));
  const auto refused = [&](const char* kinds, const char* parameter) {
    return troika_model_initialize_layers(model_, kinds, parameter, TROIKA_INIT_CONSTANT, 0, 0, &error_);
  };
  expect_refused(refused("linear,conv2d", "weight"), TROIKA_ERROR_NOT_FOUND,
                 "model 'net' has no layer of kind 'conv2d'");
  expect_refused(refused("linear", "gain"), TROIKA_ERROR_NOT_FOUND, "has a parameter 'gain'");
  expect_refused(refused("", "weight"), kInvalid, "argument kinds is ''");
  expect_refused(refused(nullptr, "weight"), kInvalid, "argument 'kinds' is NULL");
  expect_refused(refused("linear", nullptr), kInvalid, "argument 'parameter' is NULL");
}

}  // namespace
}  // namespace troika::test
