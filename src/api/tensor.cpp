// troika_tensor_*, except DLPack.
#include "api/context_handle.h"
#include "api/structs.h"
#include "api/tensor_handle.h"

using namespace troika;
using namespace troika::api;

namespace {

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
    *out_tensor = new_tensor(c.shared(), std::move(tensor));
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
    const auto object = object_of(tensor, "troika_tensor_from_host", "tensor");
    check_not_recorded(*object, "troika_tensor_from_host", "tensor");
    const std::shared_ptr<Tensor>& t = object->tensor;
    check_size(*t, size_bytes, "troika_tensor_from_host");
    if (size_bytes) t->write(required(data, "troika_tensor_from_host", "data"));
  });
}

troika_status troika_tensor_copy(troika_tensor source, troika_tensor destination, troika_error* error) {
  return guard(error, [&] {
    const auto from = tensor_of(source, "troika_tensor_copy", "source");
    const auto target = object_of(destination, "troika_tensor_copy", "destination");
    check_not_recorded(*target, "troika_tensor_copy", "destination");
    const std::shared_ptr<Tensor>& to = target->tensor;
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
    *out_tensor = new_tensor(object->context, std::move(copy));
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
      handles.emplace_back(new_tensor(object->context, std::move(piece)));
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
      const std::string argument = text("tensors[", i, "]");
      const auto object = object_of(tensors[i], kName, argument.c_str());
      check_not_recorded(*object, kName, argument.c_str());
      holds.push_back(object->tensor);
      list.push_back(holds.back().get());
    }
    all_reduce(list);
  });
}
