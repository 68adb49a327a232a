// Reads what the devices of a trainer hold, and replaces gradients, for callers that ask by name.
#pragma once

#include <string>

#include "train/trainer.h"

namespace troika {

// Copies the parameter or buffer that the first local replica on `device` holds, row-major. A
// parameter that is cut by channel is copied whole. NOT_ON_DEVICE if no such replica has it.
void read_parameter(Trainer& trainer, const std::string& name, DeviceId device, void* data, size_t bytes);

// Copies the gradient of the last step, summed over all devices and without the loss scale.
void read_gradient(Trainer& trainer, const std::string& name, float* data, size_t bytes);

// Replaces the gradient of a backward pass on all local replicas. NOT_INITIALIZED if there is none
// since the last step.
void write_gradient(Trainer& trainer, const std::string& name, const float* data, size_t bytes);

}  // namespace troika
