// A small training run through the public interface. It has everything that a resume must restore.
#pragma once

#include <gtest/gtest.h>
#include <troika/troika.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/test_device_name.h"

namespace troika::test {

inline std::string read_whole(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_whole(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_TRUE(out.flush()) << path;
}

struct RunOptions {
  const char* model_name = "net";
  int32_t hidden = 6;
  bool has_batch_norm = true;  // each device normalises its own samples
  double momentum = 0.9;
  uint64_t seed = 11;
  bool shuffles = true;
  uint64_t loader_seed = 3;
  int32_t flip = 0, crop = 0;
  int32_t devices = 1;
  int32_t precision = TROIKA_PRECISION_F32;
};

// A run on 37 images in batches of 8: five batches per epoch, the last batch smaller. It has
// momentum, weight decay, a cosine schedule with warm-up, a shuffled loader, dropout and batch
// normalisation.
class TrainingRun {
 public:
  explicit TrainingRun(const RunOptions& options) {
    troika_context_options cores = TROIKA_CONTEXT_OPTIONS_INIT;
    cores.cpu_threads = 2;
    ok(troika_context_create(&cores, &context_, &error));
    build_model(options);

    const int64_t image[] = {1, 8, 8};
    ok(troika_dataset_create_synthetic(context_, image, 3, 37, 3, 5, &dataset_, &error));
    troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
    batches.batch = 8;
    batches.shuffle = options.shuffles ? 1 : 0;
    batches.seed = options.loader_seed;
    batches.flip = options.flip;
    batches.crop = options.crop;
    ok(troika_loader_create(dataset_, &batches, &loader_, &error));

    troika_trainer_options settings = TROIKA_TRAINER_OPTIONS_INIT;
    settings.learning_rate = 0.05;
    settings.momentum = options.momentum;
    settings.weight_decay = 1e-3;
    settings.schedule = TROIKA_SCHEDULE_COSINE;
    settings.schedule_period = 16;
    settings.warmup_steps = 3;
    settings.seed = options.seed;
    settings.bucket_bytes = 256;
    settings.precision = options.precision;
    troika_device device;
    ok(troika_device_parse(test_device_name().c_str(), &device, &error));
    std::vector<troika_device> devices(static_cast<size_t>(options.devices), device);
    if (device.kind == TROIKA_DEVICE_CPU)  // on a GPU, all replicas use the same GPU
      for (int32_t i = 0; i < options.devices; ++i) devices[static_cast<size_t>(i)].index = i;
    ok(troika_model_attach(model_, devices.data(), options.devices, &settings, &trainer_, &error));
  }
  ~TrainingRun() {
    troika_trainer_destroy(trainer_);
    troika_loader_destroy(loader_);
    troika_dataset_destroy(dataset_);
    troika_model_destroy(model_);
    troika_context_destroy(context_);
  }
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  void step(int count) {
    while (count > 0) {
      troika_batch batch = nullptr;
      if (ok(troika_loader_next(loader_, &batch, &error)) != TROIKA_OK) continue;  // the next epoch begins
      ok(troika_trainer_step(trainer_, batch, nullptr, &error));
      --count;
    }
  }

  // Trains a step on the loader's next batch. Returns its status, which may be an error.
  troika_status try_step() {
    troika_batch batch = nullptr;
    while (ok(troika_loader_next(loader_, &batch, &error)) != TROIKA_OK) continue;
    return troika_trainer_step(trainer_, batch, nullptr, &error);
  }

  troika_status save(const std::string& path) { return troika_trainer_save(trainer_, path.c_str(), &error); }
  // Loads a state, and moves the loader to the position of the saved run.
  troika_status load(const std::string& path) {
    troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
    const troika_status status = troika_trainer_load(trainer_, path.c_str(), &position, &error);
    if (status == TROIKA_OK) ok(troika_loader_seek(loader_, &position, &error));
    return status;
  }

  // Loads a state without moving the loader.
  troika_status load_alone(const std::string& path) {
    return troika_trainer_load(trainer_, path.c_str(), nullptr, &error);
  }
  void seek(int64_t epoch, int64_t batch) {
    const troika_loader_position position{sizeof position, 0, epoch, batch, 0};
    ok(troika_loader_seek(loader_, &position, &error));
  }

  // Returns all parameters and all buffers of floats, concatenated.
  std::vector<float> parameters() {
    std::vector<float> all;
    int32_t entries = 0;
    ok(troika_model_count_parameters(model_, &entries, nullptr, &error));
    for (int32_t i = 0; i < entries; ++i) {
      troika_parameter_info info = TROIKA_PARAMETER_INFO_INIT;
      ok(troika_model_describe_parameter(model_, i, &info, &error));
      if (info.dtype != TROIKA_DTYPE_F32) continue;
      size_t elements = 1;
      for (int32_t axis = 0; axis < info.rank; ++axis) elements *= static_cast<size_t>(info.dims[axis]);
      std::vector<float> values(elements);
      ok(troika_model_get_parameter(model_, info.name, values.data(), static_cast<int64_t>(elements * sizeof(float)),
                                    &error));
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  troika_error error{};

 private:
  troika_status ok(troika_status status) {
    EXPECT_GE(status, 0) << error.message;
    if (status < 0) throw std::runtime_error(error.message);
    return status;
  }

  void build_model(const RunOptions& options) {
    ok(troika_model_create_empty(context_, options.model_name, &model_, &error));
    const int64_t image[] = {1, 8, 8};
    troika_value x = 0;
    ok(troika_model_add_input(model_, "x", image, 3, &x, &error));
    troika_conv2d_options conv = TROIKA_CONV2D_OPTIONS_INIT;
    conv.out_channels = options.hidden;
    conv.kernel[0] = conv.kernel[1] = 3;
    ok(troika_model_add_conv2d(model_, "conv", x, &conv, &x, &error));
    if (options.has_batch_norm) ok(troika_model_add_batch_norm2d(model_, "bn", x, 1e-5, 0.1, &x, &error));
    ok(troika_model_add_relu(model_, "relu", x, &x, &error));
    ok(troika_model_add_flatten(model_, "flatten", x, &x, &error));
    ok(troika_model_add_dropout(model_, "dropout", x, 0.3, &x, &error));
    ok(troika_model_add_linear(model_, "fc", x, 3, 1, &x, &error));
    ok(troika_model_set_output(model_, x, &error));
    ok(troika_model_initialize_default(model_, 1, &error));
  }

  troika_context context_ = nullptr;
  troika_model model_ = nullptr;
  troika_dataset dataset_ = nullptr;
  troika_loader loader_ = nullptr;
  troika_trainer trainer_ = nullptr;
};

}  // namespace troika::test
