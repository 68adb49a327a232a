// Short trainings to compare: the state of a trainer after some steps, by name.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/array_dataset.h"
#include "models/layers.h"
#include "support/test_device.h"
#include "train/trainer.h"

namespace troika {

std::shared_ptr<Context> test_context();
// One CPU thread for each device, so that kernels sum in the same order on any number of devices.
std::shared_ptr<Context> one_thread_context();

Window square(int64_t kernel, int64_t stride = 1, int64_t padding = 0);
// Sets the output and initialises the model with seed 1.
std::shared_ptr<Model> finished(std::shared_ptr<Model> model, ValueId output);

// Return models for images of 1 x 8 x 7 with 5 classes, initialised with seed 1.
std::shared_ptr<Model> conv_net();
std::shared_ptr<Model> dropout_net();
std::shared_ptr<Model> batch_norm_net();

// Returns `count` batches of `samples`. Their numbers depend only on `seed`.
std::vector<Batch> make_batches(int count, int64_t samples, uint64_t seed = 5);
std::vector<Batch> make_batches(const std::vector<int64_t>& sizes, uint64_t seed = 5);
// Returns samples [begin, end) of a batch.
Batch slice(const Batch& batch, int64_t begin, int64_t end);

// Returns every mesh of 1, 2, 4 and 8 devices.
std::vector<Mesh> all_meshes();
int devices_of(const Mesh& mesh);

// Returns options for SGD with learning rate 0.1, momentum 0.9 and weight decay 0.01.
TrainerOptions momentum_options();

using Named = std::map<std::string, std::vector<float>>;

// Predicts the samples of the batch on all devices.
void predict(Trainer& trainer, const Batch& batch, std::vector<float>& output);
inline void predict(Trainer&& trainer, const Batch& batch, std::vector<float>& output) { predict(trainer, batch, output); }

struct Trained {
  std::vector<double> losses;
  std::vector<int64_t> correct;
  Named parameters, buffers;
  Named slots;      // the optimizer's state, by slot_name()
  Named gradients;  // of the last step

  bool operator==(const Trained&) const = default;
};

// Excludes a parameter from comparisons: sets its values, gradient and slots to 0.
void forget(Trained& run, const std::string& parameter);

// Returns the trainer's state. Checks that replicas are bit-identical.
Trained look_at(Trainer& trainer);
Named parameters_of(Model& model, bool buffers);

// Trains one step per batch and returns the trainer's state.
Trained train(const std::shared_ptr<Model>& model, const std::vector<DeviceId>& devices, const TrainerOptions& options,
              const std::vector<Batch>& batches, const std::shared_ptr<Context>& context = test_context());

// The same by a forward pass, a backward pass and an update for each batch.
Trained train_in_pieces(const std::shared_ptr<Model>& model, const std::vector<DeviceId>& devices,
                        const TrainerOptions& options, const std::vector<Batch>& batches,
                        const std::shared_ptr<Context>& context = test_context());
// Expects both to compute the same bits.
void expect_same_in_pieces(const std::function<std::shared_ptr<Model>()>& net, const std::vector<DeviceId>& devices,
                           const TrainerOptions& options, const std::vector<Batch>& batches, const std::string& what);

// Expects losses to differ by at most `tolerance`, and tensors by at most `tolerance` times their
// largest number.
void expect_near(const Trained& expected, const Trained& found, double tolerance, const std::string& what);
void expect_near(const Named& expected, const Named& found, double tolerance, const std::string& what);
// Returns the largest difference of two tensors, relative to the largest number.
double difference(const std::vector<float>& a, const std::vector<float>& b);
// Returns the 2-norm of b - a, relative to the 2-norm of a.
double norm_of_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace troika
