// troika_tensor_*_dlpack*: tensors of other libraries, and tensors for them.
#include "api/context_handle.h"
#include "api/dlpack_structs.h"
#include "api/tensor_handle.h"

using namespace troika;
using namespace troika::api;

namespace {

constexpr DLDataType to_dlpack(DType dtype) {
  switch (dtype) {
    case DType::f32: return {kDLFloat, 32, 1};
    case DType::f64: return {kDLFloat, 64, 1};
    case DType::i32: return {kDLInt, 32, 1};
    case DType::i64: return {kDLInt, 64, 1};
    case DType::u8: return {kDLUInt, 8, 1};
    case DType::bf16: return {kDLBfloat, 16, 1};
    case DType::f16: return {kDLFloat, 16, 1};
    case DType::i8: return {kDLInt, 8, 1};
    case DType::i16: return {kDLInt, 16, 1};
    case DType::boolean: return {kDLBool, 8, 1};
    case DType::f8_e4m3: return {kDLFloat8_e4m3fn, 8, 1};
    case DType::f8_e5m2: return {kDLFloat8_e5m2, 8, 1};
  }
  return {};
}

DType from_dlpack(DLDataType type, const char* function) {
  std::vector<std::string_view> names;
  for (DType dtype : kAllDTypes) {
    const DLDataType known = to_dlpack(dtype);
    if (known.code == type.code && known.bits == type.bits && known.lanes == type.lanes) return dtype;
    names.push_back(name_of(dtype));
  }
  throw Error(Status::unsupported, text(function, ": dtype has code ", int{type.code}, ", ", int{type.bits}, " bits, ",
                                        type.lanes, " lanes; need one of ", join(names, ", ")));
}

// ---- export ----

// An exported tensor, with the memory and shape that must live as long as the export.
template <typename Managed>
struct Export {
  Managed managed{};
  std::shared_ptr<TensorObject> hold;
  std::vector<int64_t> shape;
};

template <typename Managed>
Managed* export_tensor(troika_tensor tensor, const char* function) {
  auto record = std::make_unique<Export<Managed>>();
  const auto exported = object_of(tensor, function, "tensor");
  record->hold = exported.shared();
  const Tensor& t = *record->hold->tensor;
  t.device()->synchronize();  // the consumer reads on a stream of its own
  record->shape = t.type().shape.dims();
  DLTensor& dl = record->managed.dl_tensor;
  dl.data = t.data();
  const DeviceId device = t.device()->id();
  dl.device = device.kind == DeviceKind::cuda ? DLDevice{kDLCUDA, device.index}
                                              : DLDevice{kDLCPU, 0};  // every CPU device is the same memory
  dl.ndim = t.type().shape.rank();
  dl.dtype = to_dlpack(t.type().dtype);
  dl.shape = record->shape.data();
  record->managed.manager_ctx = record.get();
  record->managed.deleter = [](Managed* self) { delete static_cast<Export<Managed>*>(self->manager_ctx); };
  return &record.release()->managed;
}

// ---- import ----

TensorType type_of(const DLTensor& dl, const char* function) {
  if (dl.device.device_type != kDLCPU && dl.device.device_type != kDLCUDA)
    throw Error(Status::unsupported, text(function, ": device type is ", dl.device.device_type, ", need ", kDLCPU,
                                          " (CPU) or ", kDLCUDA, " (CUDA)"));
  TensorType type{from_dlpack(dl.dtype, function), read_shape(dl.shape, dl.ndim, function)};
  int64_t stride = 1;
  for (int i = type.shape.rank() - 1; dl.strides && i >= 0; --i) {
    if (type.shape[i] != 1 && dl.strides[i] != stride && type.shape.elements() != 0)
      throw Error(Status::unsupported, text(function, ": stride of dimension ", i, " is ", dl.strides[i],
                                            ", row-major ", type.shape, " needs ", stride));
    stride *= type.shape[i];
  }
  if (!dl.data && type.bytes() > 0)
    throw Error(Status::invalid_argument,
                text(function, ": data is NULL, ", type.shape, " needs ", type.bytes(), " bytes"));
  return type;
}

template <typename Managed>
troika_tensor import_tensor(troika_context context, Managed* managed, bool is_read_only, const char* function) {
  const auto c = object_of(context, function, "context");
  const DLTensor& dl = managed->dl_tensor;
  const TensorType type = type_of(dl, function);
  const bool is_gpu = dl.device.device_type == kDLCUDA;
  auto device = open_device(
      *c, is_gpu ? troika_device{TROIKA_DEVICE_CUDA, dl.device.device_id} : troika_device{TROIKA_DEVICE_CPU, 0},
      function);
  std::byte* const data = static_cast<std::byte*>(dl.data) + dl.byte_offset;
  const auto release = [managed] {
    if (managed->deleter) managed->deleter(managed);
  };
  // The last call that can fail takes the struct over; on an error the caller still owns it.
  if (is_read_only || reinterpret_cast<uintptr_t>(data) % size_of(type.dtype) != 0) {
    auto copy = Tensor::create(device, type);
    if (is_gpu) {
      std::vector<std::byte> host(type.bytes());
      device->copy_to_host(host.data(), data, host.size());
      copy->write(host.data());
    } else {
      copy->write(data);
    }
    const troika_tensor handle = new_tensor(c.shared(), std::move(copy));
    release();
    return handle;
  }
  auto object = std::make_shared<TensorObject>(TensorObject{c.shared(), nullptr});
  auto handle = std::make_unique<troika_tensor_s>(object);
  object->tensor = Tensor::borrow(std::move(device), type, data, release);
  return handle.release();
}

}  // namespace

troika_status troika_tensor_to_dlpack(troika_tensor tensor, struct DLManagedTensor** out_managed, troika_error* error) {
  constexpr const char* kName = "troika_tensor_to_dlpack";
  return guard(error, [&] {
    *required(out_managed, kName, "out_managed") = nullptr;
    *out_managed = export_tensor<DLManagedTensor>(tensor, kName);
  });
}

troika_status troika_tensor_to_dlpack_versioned(troika_tensor tensor, struct DLManagedTensorVersioned** out_managed,
                                                troika_error* error) {
  constexpr const char* kName = "troika_tensor_to_dlpack_versioned";
  return guard(error, [&] {
    *required(out_managed, kName, "out_managed") = nullptr;
    DLManagedTensorVersioned* managed = export_tensor<DLManagedTensorVersioned>(tensor, kName);
    managed->version = {kDLPackMajor, kDLPackMinor};
    *out_managed = managed;
  });
}

troika_status troika_tensor_from_dlpack(troika_context context, struct DLManagedTensor* managed,
                                        troika_tensor* out_tensor, troika_error* error) {
  constexpr const char* kName = "troika_tensor_from_dlpack";
  return guard(error, [&] {
    *required(out_tensor, kName, "out_tensor") = nullptr;
    *out_tensor = import_tensor(context, required(managed, kName, "managed"), false, kName);
  });
}

troika_status troika_tensor_from_dlpack_versioned(troika_context context, struct DLManagedTensorVersioned* managed,
                                                  troika_tensor* out_tensor, troika_error* error) {
  constexpr const char* kName = "troika_tensor_from_dlpack_versioned";
  return guard(error, [&] {
    *required(out_tensor, kName, "out_tensor") = nullptr;
    // Only the version and the deleter have the same place in every version.
    const DLPackVersion version = required(managed, kName, "managed")->version;
    if (version.major != kDLPackMajor)
      throw Error(Status::unsupported, text(kName, ": the struct is of DLPack ", version.major, ".", version.minor,
                                            ", need ", kDLPackMajor, ".x"));
    *out_tensor = import_tensor(context, managed, (managed->flags & kDLFlagReadOnly) != 0, kName);
  });
}
