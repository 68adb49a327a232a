// troika_tensor_*.
#include "api/context_handle.h"
#include "api/dlpack_structs.h"
#include "api/structs.h"
#include "api/tensor_handle.h"

using namespace troika;
using namespace troika::api;

namespace {

troika_tensor make_handle(const std::shared_ptr<Context>& context, std::shared_ptr<Tensor> tensor) {
  return new troika_tensor_s(std::make_shared<TensorObject>(TensorObject{context, std::move(tensor)}));
}

std::shared_ptr<Tensor> tensor_of(troika_tensor handle, const char* function, const char* argument) {
  const auto object = object_of(handle, function, argument);
  return object->tensor;
}

void check_size(const Tensor& tensor, int64_t size_bytes, const char* function) {
  if (size_bytes < 0 || static_cast<size_t>(size_bytes) != tensor.bytes())
    throw Error(Status::invalid_argument,
                text(function, ": size_bytes is ", size_bytes, ", tensor ", name_of(tensor.type().dtype),
                     tensor.type().shape, " needs ", tensor.bytes()));
}

DLDataType to_dlpack(DType dtype) {
  switch (dtype) {
    case DType::f32: return {kDLFloat, 32, 1};
    case DType::f64: return {kDLFloat, 64, 1};
    case DType::i32: return {kDLInt, 32, 1};
    case DType::i64: return {kDLInt, 64, 1};
    case DType::u8: return {kDLUInt, 8, 1};
    case DType::bf16: return {kDLBfloat, 16, 1};
    case DType::f16: return {kDLFloat, 16, 1};
  }
  return {};
}

DType from_dlpack(DLDataType type) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8, DType::bf16, DType::f16}) {
    const DLDataType known = to_dlpack(dtype);
    if (known.code == type.code && known.bits == type.bits && known.lanes == type.lanes) return dtype;
  }
  throw Error(Status::unsupported,
              text("troika_tensor_from_dlpack: dtype has code ", int{type.code}, ", ", int{type.bits}, " bits, ",
                   type.lanes, " lanes; need f32, f64, i32, i64, u8, bf16 or f16"));
}

// An exported tensor, with the memory and shape that must live as long as the export.
struct Export {
  DLManagedTensor managed{};
  std::shared_ptr<TensorObject> hold;
  std::vector<int64_t> shape;
};

}  // namespace

troika_status troika_tensor_create(troika_context context, troika_device device, int32_t dtype, const int64_t* dims,
                                   int32_t rank, const void* data, troika_tensor* out_tensor, troika_error* error) {
  constexpr const char* kName = "troika_tensor_create";
  return guard(error, [&] {
    *required(out_tensor, kName, "out_tensor") = nullptr;
    const auto c = object_of(context, kName, "context");
    const TensorType type{read_dtype(dtype, kName), read_shape(dims, rank, kName)};
    auto tensor = Tensor::create(open_device(*c, device, kName), type);
    if (data) tensor->write(data);
    *out_tensor = make_handle(c.shared(), std::move(tensor));
  });
}

void troika_tensor_destroy(troika_tensor tensor) { destroy_handle(tensor); }

troika_status troika_tensor_describe(troika_tensor tensor, troika_tensor_info* out_info, troika_error* error) {
  return guard(error, [&] {
    const auto hold = tensor_of(tensor, "troika_tensor_describe", "tensor");
    const Tensor& t = *hold;
    troika_tensor_info info{};
    info.dtype = static_cast<int32_t>(t.type().dtype);
    info.rank = t.type().shape.rank();
    info.device = {static_cast<int32_t>(t.device()->id().kind), t.device()->id().index};
    for (int i = 0; i < info.rank; ++i) info.dims[i] = t.type().shape[i];
    info.size_bytes = static_cast<int64_t>(t.bytes());
    write_result(out_info, info, "troika_tensor_describe", "out_info");
  });
}

troika_status troika_tensor_to_host(troika_tensor tensor, void* data, int64_t size_bytes, troika_error* error) {
  return guard(error, [&] {
    const auto t = tensor_of(tensor, "troika_tensor_to_host", "tensor");
    check_size(*t, size_bytes, "troika_tensor_to_host");
    if (size_bytes) t->read(required(data, "troika_tensor_to_host", "data"));
  });
}

troika_status troika_tensor_from_host(troika_tensor tensor, const void* data, int64_t size_bytes, troika_error* error) {
  return guard(error, [&] {
    const auto t = tensor_of(tensor, "troika_tensor_from_host", "tensor");
    check_size(*t, size_bytes, "troika_tensor_from_host");
    if (size_bytes) t->write(required(data, "troika_tensor_from_host", "data"));
  });
}

troika_status troika_tensor_copy(troika_tensor source, troika_tensor destination, troika_error* error) {
  return guard(error, [&] {
    const auto from = tensor_of(source, "troika_tensor_copy", "source");
    const auto to = tensor_of(destination, "troika_tensor_copy", "destination");
    if (!(from->type() == to->type()))
      throw Error(Status::invalid_argument,
                  text("troika_tensor_copy: source is ", name_of(from->type().dtype), from->type().shape,
                       ", destination is ", name_of(to->type().dtype), to->type().shape));
    to->write(from->to_host().data());
  });
}

troika_status troika_tensor_to(troika_tensor tensor, troika_device device, troika_tensor* out_tensor,
                               troika_error* error) {
  return guard(error, [&] {
    *required(out_tensor, "troika_tensor_to", "out_tensor") = nullptr;
    const auto object = object_of(tensor, "troika_tensor_to", "tensor");
    auto copy = Tensor::create(open_device(*object->context, device, "troika_tensor_to"), object->tensor->type());
    copy->write(object->tensor->to_host().data());
    *out_tensor = make_handle(object->context, std::move(copy));
  });
}

troika_status troika_tensor_scatter(troika_tensor tensor, const troika_device* devices, int32_t device_count,
                                    troika_tensor* out_tensors, troika_error* error) {
  constexpr const char* kName = "troika_tensor_scatter";
  return guard(error, [&] {
    if (device_count < 1)
      throw Error(Status::invalid_argument, text(kName, ": device_count is ", device_count, ", need at least 1"));
    required(devices, kName, "devices");
    required(out_tensors, kName, "out_tensors");
    std::fill(out_tensors, out_tensors + device_count, nullptr);
    const auto object = object_of(tensor, kName, "tensor");
    std::vector<std::shared_ptr<Device>> opened;
    for (int32_t i = 0; i < device_count; ++i) opened.push_back(open_device(*object->context, devices[i], kName));
    std::vector<std::unique_ptr<troika_tensor_s>> handles;
    handles.reserve(static_cast<size_t>(device_count));
    for (auto& piece : scatter(*object->tensor, opened))
      handles.emplace_back(make_handle(object->context, std::move(piece)));
    for (int32_t i = 0; i < device_count; ++i) out_tensors[i] = handles[static_cast<size_t>(i)].release();
  });
}

troika_status troika_tensor_all_reduce(const troika_tensor* tensors, int32_t tensor_count, troika_error* error) {
  constexpr const char* kName = "troika_tensor_all_reduce";
  return guard(error, [&] {
    if (tensor_count < 1)
      throw Error(Status::invalid_argument, text(kName, ": tensor_count is ", tensor_count, ", need at least 1"));
    required(tensors, kName, "tensors");
    std::vector<std::shared_ptr<Tensor>> holds;
    std::vector<Tensor*> list;
    for (int32_t i = 0; i < tensor_count; ++i) {
      holds.push_back(tensor_of(tensors[i], kName, "tensors[i]"));
      list.push_back(holds.back().get());
    }
    all_reduce(list);
  });
}

troika_status troika_tensor_to_dlpack(troika_tensor tensor, struct DLManagedTensor** out_managed, troika_error* error) {
  return guard(error, [&] {
    *required(out_managed, "troika_tensor_to_dlpack", "out_managed") = nullptr;
    auto record = std::make_unique<Export>();
    const auto exported = object_of(tensor, "troika_tensor_to_dlpack", "tensor");
    record->hold = exported.shared();
    const Tensor& t = *record->hold->tensor;
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
    record->managed.deleter = [](DLManagedTensor* self) { delete static_cast<Export*>(self->manager_ctx); };
    *out_managed = &record.release()->managed;
  });
}

troika_status troika_tensor_from_dlpack(troika_context context, struct DLManagedTensor* managed,
                                        troika_tensor* out_tensor, troika_error* error) {
  constexpr const char* kName = "troika_tensor_from_dlpack";
  return guard(error, [&] {
    *required(out_tensor, kName, "out_tensor") = nullptr;
    const auto c = object_of(context, kName, "context");
    const DLTensor& dl = required(managed, kName, "managed")->dl_tensor;
    if (dl.device.device_type != kDLCPU && dl.device.device_type != kDLCUDA)
      throw Error(Status::unsupported, text(kName, ": device type is ", dl.device.device_type, ", need ", kDLCPU,
                                            " (CPU) or ", kDLCUDA, " (CUDA)"));
    const TensorType type{from_dlpack(dl.dtype), read_shape(dl.shape, dl.ndim, kName)};
    int64_t stride = 1;
    for (int i = type.shape.rank() - 1; dl.strides && i >= 0; --i) {
      if (type.shape[i] != 1 && dl.strides[i] != stride && type.shape.elements() != 0)
        throw Error(Status::unsupported, text(kName, ": stride of dimension ", i, " is ", dl.strides[i], ", row-major ",
                                              type.shape, " needs ", stride));
      stride *= type.shape[i];
    }
    if (!dl.data && type.bytes() > 0)
      throw Error(Status::invalid_argument,
                  text(kName, ": data is NULL, ", type.shape, " needs ", type.bytes(), " bytes"));
    const bool is_gpu = dl.device.device_type == kDLCUDA;
    auto device = open_device(
        *c, is_gpu ? troika_device{TROIKA_DEVICE_CUDA, dl.device.device_id} : troika_device{TROIKA_DEVICE_CPU, 0},
        kName);
    auto object = std::make_shared<TensorObject>(TensorObject{c.shared(), nullptr});
    auto handle = std::make_unique<troika_tensor_s>(object);
    // The last call that can fail takes the struct over; on an error the caller still owns it.
    object->tensor =
        Tensor::borrow(std::move(device), type, static_cast<std::byte*>(dl.data) + dl.byte_offset, [managed] {
          if (managed->deleter) managed->deleter(managed);
        });
    *out_tensor = handle.release();
  });
}
