// The tensor's handle.
#pragma once

#include <troika/tensor.h>

#include "api/handle.h"
#include "device/tensor.h"
#include "eager/tape.h"
#include "train/context.h"

namespace troika::api {

struct TensorObject {
  std::shared_ptr<Context> context;
  std::shared_ptr<Tensor> tensor;
  // The tape that records what is done with the tensor, and the tensor's number there.
  std::weak_ptr<Tape> tape = {};
  ValueId id = kNoValue;
};

inline DeviceId device_id(troika_device device) { return {static_cast<DeviceKind>(device.kind), device.index}; }

inline void check_device_kind(troika_device device, const char* function) {
  if (device.kind != TROIKA_DEVICE_CPU && device.kind != TROIKA_DEVICE_CUDA)
    throw Error(Status::invalid_argument,
                text(function, ": device.kind is ", device.kind, ", need TROIKA_DEVICE_CPU or TROIKA_DEVICE_CUDA"));
}

// Returns the device that stores tensors.
inline std::shared_ptr<Device> open_device(const Context& context, troika_device device, const char* function) {
  check_device_kind(device, function);
  return context.eager_device(device_id(device)).device();
}

// Returns the DType of TROIKA_DTYPE_F32 and so on.
inline DType read_dtype(int32_t dtype, const char* function) {
  if (dtype < TROIKA_DTYPE_F32 || dtype > TROIKA_DTYPE_F8_E5M2)
    throw Error(Status::invalid_argument,
                text(function, ": dtype is ", dtype, ", need TROIKA_DTYPE_F32 (1) to TROIKA_DTYPE_F8_E5M2 (",
                     TROIKA_DTYPE_F8_E5M2, ")"));
  return static_cast<DType>(dtype);
}

inline Shape read_shape(const int64_t* dims, int32_t rank, const char* function) {
  if (rank < 0 || rank > TROIKA_MAX_RANK)
    throw Error(Status::invalid_argument, text(function, ": rank is ", rank, ", need 0 to ", TROIKA_MAX_RANK));
  if (rank > 0) required(dims, function, "dims");
  Shape shape(std::vector<int64_t>(dims, dims + rank));
  checked_elements(shape, function);
  return shape;
}

// INVALID_ARGUMENT if a tape holds the numbers of the tensor, which the call would change.
inline void check_not_recorded(const TensorObject& object, const char* function, const char* argument) {
  if (!object.tape.expired())
    throw Error(Status::invalid_argument,
                text(function, ": argument '", argument,
                     "' is recorded for gradients, and cannot change before the gradients object is destroyed"));
}

}  // namespace troika::api

struct troika_tensor_s : troika::api::Handle<troika::api::TensorObject, 0x54525453> {
  using Handle::Handle;
};

namespace troika::api {

inline troika_tensor new_tensor(const std::shared_ptr<Context>& context, std::shared_ptr<Tensor> tensor) {
  return new troika_tensor_s(std::make_shared<TensorObject>(TensorObject{context, std::move(tensor)}));
}

}  // namespace troika::api
