// Short trainings to compare: what a trainer holds after some steps, by name.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/array_dataset.h"
#include "support/test_device.h"
#include "train/trainer.h"

namespace troika {

std::shared_ptr<Context> test_context();
// One CPU thread for each device, so that kernels sum in the same order on any number of devices.
std::shared_ptr<Context> one_thread_context();

Window square(int64_t kernel, int64_t stride = 1, int64_t padding = 0);
// With its output, initialised by seed 1.
std::shared_ptr<Model> finished(std::shared_ptr<Model> model, ValueId output);

// Nets for images of 1 x 8 x 7 with 5 classes, initialised by seed 1.
std::shared_ptr<Model> conv_net();
std::shared_ptr<Model> dropout_net();
std::shared_ptr<Model> batch_norm_net();

// `count` batches of `samples`: numbers that depend on `seed` alone.
std::vector<Batch> make_batches(int count, int64_t samples, uint64_t seed = 5);
std::vector<Batch> make_batches(const std::vector<int64_t>& sizes, uint64_t seed = 5);
// Samples begin to end of a batch.
Batch slice(const Batch& batch, int64_t begin, int64_t end);

// SGD with learning rate 0.1, momentum 0.9 and weight decay 0.01.
TrainerOptions momentum_options();

using Named = std::map<std::string, std::vector<float>>;

struct Trained {
  std::vector<double> losses;
  std::vector<int64_t> correct;
  Named parameters, buffers;
  Named slots;      // what the optimizer keeps, by slot_name
  Named gradients;  // of the last step

  bool operator==(const Trained&) const = default;
};

// Takes a parameter out of comparisons: its values, gradient and slots become 0.
void forget(Trained& run, const std::string& parameter);

// What the trainer holds. Checks that replicas are bit-identical.
Trained look_at(Trainer& trainer);
Named parameters_of(Model& model, bool buffers);

// Steps through the batches.
Trained train(const std::shared_ptr<Model>& model, const std::vector<DeviceId>& devices, const TrainerOptions& options,
              const std::vector<Batch>& batches, const std::shared_ptr<Context>& context = test_context());

// Losses within `tolerance`, tensors within `tolerance` of their largest number.
void expect_near(const Trained& expected, const Trained& found, double tolerance, const std::string& what);
void expect_near(const Named& expected, const Named& found, double tolerance, const std::string& what);
// The largest difference of two tensors, relative to the largest number.
double difference(const std::vector<float>& a, const std::vector<float>& b);
// The 2-norm of b - a, relative to that of a.
double norm_of_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace troika
