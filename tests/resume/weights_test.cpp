// Weights files: a file with torchvision's names for ResNet-18 loads, and every name that does not
// fit is reported.
#include <algorithm>
#include <cstring>
#include <memory>

#include "resume/run.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

struct Entry {
  std::string name;
  std::vector<int64_t> dims;
  bool is_counter = false;  // i64, else f32

  size_t elements() const {
    size_t n = 1;
    for (int64_t d : dims) n *= static_cast<size_t>(d);
    return n;
  }
  size_t bytes() const { return elements() * (is_counter ? 8 : 4); }
};

// Returns the entries of the state_dict of torchvision.models.resnet18().
std::vector<Entry> resnet18(bool has_counters) {
  std::vector<Entry> entries;
  const auto batch_norm = [&](const std::string& name, int64_t channels) {
    for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"})
      entries.push_back({name + part, {channels}});
    if (has_counters) entries.push_back({name + ".num_batches_tracked", {}, true});
  };
  entries.push_back({"conv1.weight", {64, 3, 7, 7}});
  batch_norm("bn1", 64);
  int64_t in = 64;
  for (int stage = 1; stage <= 4; ++stage) {
    const int64_t out = int64_t{32} << stage;
    for (int block = 0; block < 2; ++block) {
      const std::string prefix = "layer" + std::to_string(stage) + "." + std::to_string(block) + ".";
      entries.push_back({prefix + "conv1.weight", {out, in, 3, 3}});
      batch_norm(prefix + "bn1", out);
      entries.push_back({prefix + "conv2.weight", {out, out, 3, 3}});
      batch_norm(prefix + "bn2", out);
      if (in != out) {
        entries.push_back({prefix + "downsample.0.weight", {out, in, 1, 1}});
        batch_norm(prefix + "downsample.1", out);
      }
      in = out;
    }
  }
  entries.push_back({"fc.weight", {1000, 512}});
  entries.push_back({"fc.bias", {1000}});
  return entries;
}

// Returns a value that depends on the entry and the element.
float value_of(const std::string& name, size_t i) {
  uint32_t h = 2166136261u;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
  return static_cast<float>((h + i * 7919) % 10007) / 10007;
}

// Writes the entries as a safetensors file, with `prefix` before every name. The values are those
// of the names without the prefix.
void write_file(const std::filesystem::path& path, const std::vector<Entry>& entries, const std::string& prefix = "") {
  std::string header, data;
  for (const Entry& e : entries) {
    header += header.empty() ? "{\"" : ",\"";
    header += prefix + e.name + "\":{\"dtype\":\"" + (e.is_counter ? "I64" : "F32") + "\",\"shape\":[";
    for (size_t axis = 0; axis < e.dims.size(); ++axis) header += (axis ? "," : "") + std::to_string(e.dims[axis]);
    header +=
        "],\"data_offsets\":[" + std::to_string(data.size()) + "," + std::to_string(data.size() + e.bytes()) + "]}";
    const size_t begin = data.size();
    data.resize(begin + e.bytes());
    if (e.is_counter) {
      const int64_t count = 12345;
      std::memcpy(data.data() + begin, &count, sizeof count);
    } else {
      for (size_t i = 0; i < e.elements(); ++i) {
        const float value = value_of(e.name, i);
        std::memcpy(data.data() + begin + i * sizeof value, &value, sizeof value);
      }
    }
  }
  header += "}";
  uint64_t size = header.size();
  std::string whole(reinterpret_cast<const char*>(&size), sizeof size);
  write_whole(path, whole + header + data);
}

class Weights : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(troika_context_create(nullptr, &context_, &error_), TROIKA_OK);
    ASSERT_EQ(troika_model_create(context_, "resnet18", nullptr, &model_, &error_), TROIKA_OK) << error_.message;
    report_->struct_size = sizeof(troika_load_report);
  }
  void TearDown() override {
    troika_model_destroy(model_);
    troika_context_destroy(context_);
  }

  troika_status load(const troika_load_options* options = nullptr) {
    return troika_model_load(model_, file_.string().c_str(), options, report_.get(), &error_);
  }

  // Expects that the model has the file's value for every entry.
  void expect_loaded(const std::vector<Entry>& entries) {
    for (const Entry& e : entries) {
      if (e.is_counter) {
        int64_t count = 0;
        ASSERT_EQ(troika_model_get_parameter(model_, e.name.c_str(), &count, sizeof count, &error_), TROIKA_OK)
            << error_.message;
        EXPECT_EQ(count, 12345) << e.name;
        continue;
      }
      std::vector<float> values(e.elements());
      ASSERT_EQ(
          troika_model_get_parameter(model_, e.name.c_str(), values.data(), static_cast<int64_t>(e.bytes()), &error_),
          TROIKA_OK)
          << error_.message;
      for (size_t i = 0; i < values.size(); i += 97)
        ASSERT_EQ(values[i], value_of(e.name, i)) << e.name << ", element " << i;
    }
  }

  // Expects that a refused file has set no parameter.
  void expect_nothing_loaded() {
    troika_parameter_info info = TROIKA_PARAMETER_INFO_INIT;
    for (int32_t i = 0; troika_model_describe_parameter(model_, i, &info, &error_) == TROIKA_OK; ++i)
      EXPECT_EQ(info.is_initialized, 0) << info.name;
  }

  std::string names() const { return report_->names; }

  TempDirectory folder_;
  const std::filesystem::path file_ = folder_.path() / "resnet18.safetensors";
  const std::unique_ptr<troika_load_report> report_ = std::make_unique<troika_load_report>();
  troika_context context_ = nullptr;
  troika_model model_ = nullptr;
  troika_error error_{};
};

TEST_F(Weights, load_from_a_file_with_torchvisions_names) {
  const auto entries = resnet18(true);
  EXPECT_EQ(entries.size(), 122u);
  write_file(file_, entries);
  ASSERT_EQ(load(), TROIKA_OK) << error_.message;
  EXPECT_EQ(report_->loaded, 122);
  EXPECT_EQ(report_->missing + report_->unexpected + report_->mismatching, 0) << names();
  expect_loaded(entries);
}

TEST_F(Weights, load_from_an_older_file_without_batch_counters) {
  const auto entries = resnet18(false);
  write_file(file_, entries);
  ASSERT_EQ(load(), TROIKA_OK) << error_.message;
  EXPECT_EQ(report_->loaded, 102);
  EXPECT_EQ(report_->missing, 0) << names();
  expect_loaded(entries);
  int64_t count = -1;
  ASSERT_EQ(
      troika_model_get_parameter(model_, "layer2.0.downsample.1.num_batches_tracked", &count, sizeof count, &error_),
      TROIKA_OK)
      << error_.message;
  EXPECT_EQ(count, 0);
}

TEST_F(Weights, behind_a_prefix_are_refused_with_a_hint_and_load_without_it) {
  const auto entries = resnet18(true);
  write_file(file_, entries, "module.");
  EXPECT_EQ(load(), TROIKA_ERROR_MISMATCH);
  EXPECT_NE(std::string(error_.message).find("every name in it begins with 'module.', which strip_prefix can remove"),
            std::string::npos)
      << error_.message;
  EXPECT_EQ(report_->loaded, 0);
  EXPECT_EQ(report_->missing, 102);
  EXPECT_EQ(report_->unexpected, 122);
  expect_nothing_loaded();

  troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
  options.strip_prefix = "module.";
  ASSERT_EQ(load(&options), TROIKA_OK) << error_.message;
  EXPECT_EQ(report_->loaded, 122);
  expect_loaded(entries);
  options.strip_prefix = "net.";
  EXPECT_EQ(load(&options), TROIKA_ERROR_MISMATCH);
  EXPECT_NE(
      std::string(error_.message).find("no name in it begins with 'net.', which strip_prefix is to remove; the first"),
      std::string::npos)
      << error_.message;
}

TEST_F(Weights, that_lack_some_and_have_others_are_reported_and_load_in_part_where_asked) {
  auto entries = resnet18(true);
  std::erase_if(entries, [](const Entry& e) { return e.name.starts_with("fc."); });
  auto others = entries;
  others.push_back({"head.weight", {10, 512}});
  write_file(file_, others);
  EXPECT_EQ(load(), TROIKA_ERROR_MISMATCH);
  EXPECT_EQ(report_->missing, 2);
  EXPECT_EQ(report_->unexpected, 1);
  EXPECT_EQ(report_->mismatching, 0);
  EXPECT_EQ(names(), "missing fc.weight\nmissing fc.bias\nunexpected head.weight\n");
  EXPECT_NE(std::string(error_.message).find("2 missing ('fc.weight', 'fc.bias'), 1 unexpected ('head.weight')"),
            std::string::npos)
      << error_.message;
  expect_nothing_loaded();

  troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
  options.allow_partial = 1;
  ASSERT_EQ(load(&options), TROIKA_OK) << error_.message;
  EXPECT_EQ(report_->loaded, 120);
  EXPECT_EQ(report_->missing, 2);
  EXPECT_EQ(report_->unexpected, 1);
  expect_loaded(entries);
  float bias[1000];
  EXPECT_EQ(troika_model_get_parameter(model_, "fc.bias", bias, sizeof bias, &error_), TROIKA_ERROR_NOT_INITIALIZED)
      << error_.message;
}

TEST_F(Weights, of_other_shapes_or_types_are_refused_even_in_part) {
  auto entries = resnet18(true);
  entries[0].dims = {64, 1, 7, 7};
  entries.back().is_counter = true;
  auto others = entries;
  others.push_back({"head.weight", {10, 512}});
  write_file(file_, others);
  troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
  options.allow_partial = 1;
  EXPECT_EQ(load(&options), TROIKA_ERROR_MISMATCH);
  EXPECT_NE(std::string(error_.message).find("': 2 mismatching ('conv1.weight: file"), std::string::npos)
      << "mismatches come before differences that partial loading allows: " << error_.message;
  write_file(file_, entries);
  EXPECT_EQ(load(&options), TROIKA_ERROR_MISMATCH);
  EXPECT_EQ(report_->mismatching, 2);
  EXPECT_EQ(names(),
            "mismatching conv1.weight: file F32 [64, 1, 7, 7], model F32 [64, 3, 7, 7]\n"
            "mismatching fc.bias: file I64 [1000], model F32 [1000]\n");
  expect_nothing_loaded();
}

TEST_F(Weights, of_another_network_altogether_are_refused_even_in_part) {
  write_file(file_, {{"one.weight", {2}}, {"two.weight", {3}}});
  troika_load_options options = TROIKA_LOAD_OPTIONS_INIT;
  options.allow_partial = 1;
  EXPECT_EQ(load(&options), TROIKA_ERROR_MISMATCH);
  EXPECT_EQ(report_->missing, 102);
  EXPECT_EQ(report_->unexpected, 2);
  EXPECT_EQ(names().back(), '\n') << "whole lines only";
}

TEST_F(Weights, that_differ_in_more_names_than_the_report_holds_are_counted_in_its_last_line) {
  std::vector<Entry> entries;
  for (int i = 0; i < 1000; ++i) entries.push_back({"other." + std::to_string(i), {1}});
  write_file(file_, entries);
  EXPECT_EQ(load(), TROIKA_ERROR_MISMATCH);
  EXPECT_EQ(report_->missing, 102);
  EXPECT_EQ(report_->unexpected, 1000);
  std::string text = names();
  EXPECT_GT(text.size(), sizeof report_->names - 50) << "room is used";
  ASSERT_EQ(text.back(), '\n') << "whole lines only";
  text.pop_back();
  const std::string last = text.substr(text.rfind('\n') + 1);
  const auto shown = std::count(text.begin(), text.end(), '\n');
  EXPECT_EQ(last, "... and " + std::to_string(1102 - shown) + " more");
}

TEST_F(Weights, round_trip_byte_for_byte) {
  write_file(file_, resnet18(true));
  ASSERT_EQ(load(), TROIKA_OK) << error_.message;
  const std::string first = (folder_.path() / "first").string(), second = (folder_.path() / "second").string();
  ASSERT_EQ(troika_model_save(model_, first.c_str(), &error_), TROIKA_OK) << error_.message;
  troika_model other = nullptr;
  ASSERT_EQ(troika_model_create(context_, "resnet18", nullptr, &other, &error_), TROIKA_OK);
  ASSERT_EQ(troika_model_load(other, first.c_str(), nullptr, nullptr, &error_), TROIKA_OK) << error_.message;
  ASSERT_EQ(troika_model_save(other, second.c_str(), &error_), TROIKA_OK);
  EXPECT_EQ(read_whole(first), read_whole(second));
  troika_model_destroy(other);
}

}  // namespace
}  // namespace troika::test
