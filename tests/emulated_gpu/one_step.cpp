// One training step by the C interface.
#include "one_step.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/temp_directory.h"

namespace troika::test {
namespace {

void add_line(int32_t, const char*, const char* line, void* lines) {
  static_cast<std::vector<std::string>*>(lines)->emplace_back(line);
}

}  // namespace

size_t Trained::launches_of(const std::string& kernel) const {
  size_t launches = 0;
  for (size_t at = 0; (at = plan.find(kernel, at)) != std::string::npos; ++at) ++launches;
  return launches;
}

Trained train(const Recipe& recipe, const std::vector<troika_device>& devices, const std::string& engines,
              int32_t precision, int64_t recompute_segments) {
  Trained trained;
  troika_error error{};
  const auto call = [&](troika_status status) { ASSERT_GE(status, TROIKA_OK) << error.message; };
  troika_context context = nullptr;
  troika_model model = nullptr;
  troika_trainer trainer = nullptr;
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  options.use_environment = 1;
  options.cache_folder = engines.c_str();
  options.log = add_line;
  options.log_user = &trained.warnings;
  call(troika_context_create(&options, &context, &error));
  call(recipe.build(context, &model, &error));
  troika_trainer_options trainer_options = TROIKA_TRAINER_OPTIONS_INIT;
  trainer_options.precision = precision;
  trainer_options.recompute_segments = recompute_segments;
  trainer_options.learning_rate = 0.01;
  call(troika_model_attach(model, devices.data(), static_cast<int32_t>(devices.size()), &trainer_options, &trainer,
                           &error));

  const auto samples = static_cast<int64_t>(recipe.labels.size());
  std::vector<int64_t> dims = {samples};
  dims.insert(dims.end(), recipe.image.begin(), recipe.image.end());
  size_t elements = 1;
  for (int64_t dim : dims) elements *= static_cast<size_t>(dim);
  std::vector<float> images(elements);
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i * i % 17) / 8 - 1;
  troika_tensor inputs = nullptr, targets = nullptr;
  troika_batch batch = nullptr;
  call(troika_tensor_create(context, kCpu, TROIKA_DTYPE_F32, dims.data(), static_cast<int32_t>(dims.size()),
                            images.data(), &inputs, &error));
  call(troika_tensor_create(context, kCpu, TROIKA_DTYPE_I32, dims.data(), 1, recipe.labels.data(), &targets, &error));
  call(troika_batch_create(inputs, targets, &batch, &error));
  troika_step_result result = TROIKA_STEP_RESULT_INIT;
  call(troika_trainer_step(trainer, batch, &result, &error));
  trained.loss = static_cast<float>(result.loss);
  const auto bytes_of = [](const std::vector<float>& numbers) {
    return static_cast<int64_t>(numbers.size() * sizeof(float));
  };
  for (const auto& [name, count] : recipe.gradients) {
    std::vector<float>& numbers = trained.numbers[name];
    numbers.resize(count);
    call(troika_trainer_get_gradient(trainer, name.c_str(), numbers.data(), bytes_of(numbers), &error));
  }
  for (const auto& [name, count] : recipe.buffers) {
    std::vector<float>& numbers = trained.numbers[name];
    numbers.resize(count);
    call(troika_model_get_parameter(model, name.c_str(), numbers.data(), bytes_of(numbers), &error));
  }
  std::string plan(1 << 18, '\0');
  int64_t bytes = 0;
  call(troika_trainer_explain(trainer, samples, plan.data(), static_cast<int64_t>(plan.size()), &bytes, &error));
  trained.plan = plan.c_str();
  troika_batch_destroy(batch);
  troika_tensor_destroy(inputs);
  troika_tensor_destroy(targets);
  troika_trainer_destroy(trainer);
  troika_model_destroy(model);
  troika_context_destroy(context);
  return trained;
}

double distance(const std::vector<float>& found, const std::vector<float>& expected) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(found[i] - expected[i], 2);
    norm += std::pow(expected[i], 2);
  }
  return std::sqrt(difference / norm);
}

void expect_same(const Recipe& recipe, const Trained& found, const Trained& expected) {
  EXPECT_NEAR(found.loss, expected.loss, 2e-2 * expected.loss);
  for (const auto& [name, numbers] : expected.numbers)
    EXPECT_LT(distance(found.numbers.at(name), numbers), recipe.buffers.contains(name) ? 1e-2 : 5e-2) << name;
}

void expect_warnings(const Trained& trained, const std::vector<std::string>& beginnings) {
  for (const std::string& beginning : beginnings)
    EXPECT_TRUE(std::any_of(trained.warnings.begin(), trained.warnings.end(),
                            [&](const std::string& line) { return line.starts_with(beginning); }))
        << beginning << "; the last is: " << (trained.warnings.empty() ? "none" : trained.warnings.back());
}

int change_engines(const std::filesystem::path& folder,
                   const std::function<bool(const std::string& problem, std::string& engine)>& change_one) {
  int changed = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    nlohmann::json engines;
    std::ifstream(file.path()) >> engines;
    for (auto& [problem, engine] : engines.at("engines").items()) {
      std::string changed_engine = engine;
      if (!change_one(problem, changed_engine)) continue;
      engine = changed_engine;
      ++changed;
    }
    std::ofstream(file.path()) << engines;
  }
  return changed;
}

int choose(const std::string& kernel, const std::filesystem::path& folder) {
  return change_engines(folder, [&](const std::string& problem, std::string& engine) {
    const bool is_changed = problem.ends_with(", or " + kernel);
    if (is_changed) engine = kernel;
    return is_changed;
  });
}

Trained expect_right_kernels(const Recipe& recipe, const std::map<std::string, int>& problems, int32_t precision) {
  const TempDirectory folder;
  const Trained measured = train(recipe, {kGpu}, folder.path().string(), precision);
  EXPECT_TRUE(measured.warnings.empty()) << measured.warnings.front();
  for (const auto& [kernel, count] : problems) EXPECT_EQ(choose(kernel, folder.path()), count) << kernel;
  const Trained trained = train(recipe, {kGpu}, folder.path().string(), precision);
  const bool is_tf32 = precision == TROIKA_PRECISION_TF32;
  const Trained on_cpu = train(recipe, {kCpu}, "", is_tf32 ? TROIKA_PRECISION_F32 : precision);
  expect_same(recipe, measured, on_cpu);
  expect_same(recipe, trained, on_cpu);
  return trained;
}

}  // namespace troika::test
