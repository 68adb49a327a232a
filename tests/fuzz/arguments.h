// Arguments of calls, made by type and name. Included by the calls that calls.py writes.
#pragma once

#include <cstring>
#include <memory>

#include "fuzz/call.h"

namespace troika::fuzz {

// A number, a text, a device or a value of a model. Most are valid.
template <typename T>
class Argument {
 public:
  Argument(Call& call, const char* name) : value_(make<T>(call, name)) {}
  T value() const { return value_; }
  void finish(troika_status) {}

 private:
  T value_;
};

// ---- handles ----

template <typename T>
class HandleArgument {
 public:
  HandleArgument(Call& call, const char*) : call_(call) {
    const uint8_t b = call.byte();
    if (b >= 252) {
      const size_t place = call.byte() % kKinds;
      if (place != HandleKind<T>::kPlace) value_ = static_cast<T>(call.world().pick_of(place, call.byte()));
      is_wrong_kind_ = true;
    } else if (b >= 250) {
      value_ = nullptr;
    } else {
      value_ = call.is_destroy() ? call.world().template take<T>(b) : call.world().template pick<T>(b);
    }
    if (is_wrong_kind_) return;
    if constexpr (std::is_same_v<T, troika_trainer>) call.trainer = value_;
    if constexpr (std::is_same_v<T, troika_loader>) call.loader = value_;
    if constexpr (std::is_same_v<T, troika_dataset>) call.dataset = value_;
    if constexpr (std::is_same_v<T, troika_model>) call.model = value_;
  }
  T value() const { return value_; }
  void finish(troika_status status) {
    if (is_wrong_kind_ || value_ || status < 0 || call_.is_destroy() || call_.has("_batch_create") ||
        call_.has("_backward"))
      return;
    report(call_.name(), "success without a handle");
  }

 private:
  Call& call_;
  T value_ = nullptr;
  bool is_wrong_kind_ = false;
};

// A new handle, or several.
template <typename T>
class NewHandles {
 public:
  NewHandles(Call& call, const char* name)
      : call_(call), is_array_(std::strcmp(name, "out_tensors") == 0 || std::strcmp(name, "out_datasets") == 0) {
    std::memset(&pattern_, kUntouched, sizeof pattern_);
    if (call.byte() >= 250) return;
    handles_.assign(is_array_ ? static_cast<size_t>(std::max<int64_t>(call.count, 1)) : 1, pattern_);
  }
  T* value() { return handles_.empty() ? nullptr : handles_.data(); }
  void finish(troika_status status) {
    if (handles_.empty()) return;
    if (!is_array_ && handles_[0] == pattern_) report(call_.name(), "a handle that was not set");
    for (const T handle : handles_) {
      if (status < 0 && handle && handle != pattern_) report(call_.name(), "a failed call returns a handle");
      if (status < 0 || !handle || handle == pattern_) continue;
      World& world = call_.world();
      if constexpr (std::is_same_v<T, troika_batch>) {
        if (call_.is("troika_loader_next")) {
          // Other threads may move a shared loader on, which ends the loan.
          if (!world.is_shared(call_.loader)) world.add_lent(handle, call_.loader);
          continue;
        }
      }
      world.add(handle);
    }
  }

 private:
  Call& call_;
  const bool is_array_;
  T pattern_;
  std::vector<T> handles_;
};

// An array of handles that the call reads.
template <typename T>
class HandleArray {
 public:
  HandleArray(Call& call, const char*) {
    const uint8_t b = call.byte();
    if (b >= 250) return;
    for (int i = b % 5; i > 0; --i) handles_.push_back(call.world().template pick<T>(call.byte()));
    call.count = static_cast<int64_t>(handles_.size());
    if constexpr (std::is_same_v<T, troika_dataset>) {
      // Concatenated again and again, datasets would grow until a loader takes for ever.
      for (const T dataset : handles_) {
        troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
        if (dataset && (troika_dataset_describe(dataset, &info, nullptr) != TROIKA_OK || info.n > 256))
          call.is_skipped = true;
      }
    }
  }
  const T* value() const { return handles_.empty() ? nullptr : handles_.data(); }
  void finish(troika_status) {}

 private:
  std::vector<T> handles_;
};

#define TROIKA_HANDLE_ARGUMENTS(T)                   \
  template <>                                        \
  class Argument<T> : public HandleArgument<T> {     \
   public:                                           \
    using HandleArgument::HandleArgument;            \
  };                                                 \
  template <>                                        \
  class Argument<T*> : public NewHandles<T> {        \
   public:                                           \
    using NewHandles::NewHandles;                    \
  };                                                 \
  template <>                                        \
  class Argument<const T*> : public HandleArray<T> { \
   public:                                           \
    using HandleArray::HandleArray;                  \
  };
TROIKA_HANDLE_ARGUMENTS(troika_context)
TROIKA_HANDLE_ARGUMENTS(troika_tensor)
TROIKA_HANDLE_ARGUMENTS(troika_dataset)
TROIKA_HANDLE_ARGUMENTS(troika_loader)
TROIKA_HANDLE_ARGUMENTS(troika_batch)
TROIKA_HANDLE_ARGUMENTS(troika_model)
TROIKA_HANDLE_ARGUMENTS(troika_trainer)
TROIKA_HANDLE_ARGUMENTS(troika_pending)
TROIKA_HANDLE_ARGUMENTS(troika_group)
TROIKA_HANDLE_ARGUMENTS(troika_gradients)
#undef TROIKA_HANDLE_ARGUMENTS

// ---- outputs ----

// A number that the call returns, and that a failed call leaves untouched.
template <typename T>
class OutputArgument {
 public:
  OutputArgument(Call& call, const char*) : call_(call), is_null_(call.byte() >= 250) {
    std::memset(&value_, kUntouched, sizeof value_);
    before_ = value_;
  }
  T* value() { return is_null_ ? nullptr : &value_; }
  void finish(troika_status status) {
    // A buffer's size is returned before the buffer is found to be too small.
    if (status < 0 && std::memcmp(&value_, &before_, sizeof value_) != 0 && !call_.has("_save_memory"))
      report(call_.name(), "a failed call changes an output");
    if constexpr (std::is_same_v<T, troika_value>)
      if (status >= 0 && call_.has("_model_add_") && !is_null_) call_.world().values.push_back(value_);
  }

 private:
  Call& call_;
  const bool is_null_;
  T value_, before_;
};
template <>
class Argument<int32_t*> : public OutputArgument<int32_t> {
 public:
  using OutputArgument::OutputArgument;
};
template <>
class Argument<int64_t*> : public OutputArgument<int64_t> {
 public:
  using OutputArgument::OutputArgument;
};
template <>
class Argument<double*> : public OutputArgument<double> {
 public:
  using OutputArgument::OutputArgument;
};

template <>
class Argument<troika_error*> {
 public:
  Argument(Call& call, const char*) {
    std::memset(static_cast<void*>(&error_), kUntouched, sizeof error_);
    call.error = call.byte() >= 250 ? nullptr : &error_;
    value_ = call.error;
  }
  troika_error* value() { return value_; }
  void finish(troika_status) {}

 private:
  troika_error error_;
  troika_error* value_;
};

// ---- structs ----

// A struct in a block of the heap that is exactly as large as the struct says.
template <typename T>
class StructArgument {
 public:
  explicit StructArgument(Call& call) : call_(call) {
    T made;
    set_defaults(made);
    const uint8_t b = call.byte();
    if (b % 32 == 31) return;
    for (int i = b < 64 ? 0 : b % 8; i > 0; --i) change_field(made, call);
    complete(made, call);
    static constexpr uint32_t kSizes[] = {0, 1, 4, 8, sizeof(T) - 8, sizeof(T) + 8, 4096, 65536, 65537, 0xFFFFFFFF};
    const uint8_t choice = call.byte();
    if (choice >= 240) made.struct_size = kSizes[choice % std::size(kSizes)];
    size_ = made.struct_size <= 65536 ? std::max<size_t>(made.struct_size, 4) : sizeof(T);
    bytes_.reset(new char[size_]());
    std::memcpy(bytes_.get(), &made, std::min(size_, sizeof(T)));
    if (size_ > sizeof(T) && choice % 2 == 1) bytes_[size_ - 1] = 1;  // a field of a later version
    before_.assign(bytes_.get(), bytes_.get() + size_);
  }
  T* value() { return reinterpret_cast<T*>(bytes_.get()); }
  void check_untouched(const char* call) const {
    if (bytes_ && std::memcmp(before_.data(), bytes_.get(), size_) != 0) report(call, "a failed call changes a struct");
  }
  void finish(troika_status status) {
    const bool is_report = std::is_same_v<T, troika_load_report> && status == TROIKA_ERROR_MISMATCH;
    if (status < 0 && !is_report) check_untouched(call_.name());
  }

 private:
  Call& call_;
  size_t size_ = 0;
  std::unique_ptr<char[]> bytes_;
  std::vector<char> before_;
};

// An option struct that the call reads, or a result that the call fills.
template <typename T>
requires requires(T& s) { set_defaults(s); }
class Argument<const T*> : public StructArgument<T> {
 public:
  Argument(Call& call, const char*) : StructArgument<T>(call) {
    if constexpr (std::is_same_v<T, troika_loader_options>) {
      troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
      if (call.dataset && (troika_dataset_describe(call.dataset, &info, nullptr) != TROIKA_OK || info.n > 4096))
        call.is_skipped = true;  // an epoch would take too long
    }
  }
};
template <typename T>
requires requires(T& s) { set_defaults(s); }
class Argument<T*> : public StructArgument<T> {
 public:
  Argument(Call& call, const char*) : StructArgument<T>(call) {}
};

template <>
class Argument<const troika_mesh*> {
 public:
  Argument(Call& call, const char*) : is_null_(call.byte() >= 220), mesh_(make<troika_mesh>(call, "mesh")) {}
  const troika_mesh* value() const { return is_null_ ? nullptr : &mesh_; }
  void finish(troika_status) {}

 private:
  bool is_null_;
  troika_mesh mesh_;
};

// ---- arrays and buffers ----

template <>
class Argument<const int64_t*> {
 public:
  Argument(Call& call, const char* name) {
    const uint8_t b = call.byte();
    if (b >= 250) return;
    if (std::strcmp(name, "dims") == 0) {
      const int64_t* dims = make_dims(call);
      values_.assign(dims, dims + 16);
    } else if (std::strcmp(name, "inputs") == 0) {
      for (int i = b % 4; i > 0; --i) values_.push_back(make<troika_value>(call, "input"));
      call.count = static_cast<int64_t>(values_.size());
    } else {
      for (int i = b % 6; i > 0; --i) values_.push_back(make_number(call, ""));
      call.count = static_cast<int64_t>(values_.size());
      values_.shrink_to_fit();
    }
  }
  const int64_t* value() const { return values_.empty() ? nullptr : values_.data(); }
  void finish(troika_status) {}

 private:
  std::vector<int64_t> values_;
};

template <>
class Argument<const troika_device*> {
 public:
  Argument(Call& call, const char*) {
    const uint8_t b = call.byte();
    if (b >= 250) return;
    const int n = b == 249 ? 1025 : b >= 240 ? 0 : 1 + b % 4;  // 1025 are too many for a trainer
    for (int i = 0; i < n; ++i)
      devices_.push_back(n < 5 ? make<troika_device>(call, "") : troika_device{TROIKA_DEVICE_CPU, 0});
    call.count = n;
    devices_.shrink_to_fit();
  }
  const troika_device* value() const { return devices_.empty() ? nullptr : devices_.data(); }
  void finish(troika_status) {}

 private:
  std::vector<troika_device> devices_;
};

// One device, or an array of `device_capacity`.
template <>
class Argument<troika_device*> {
 public:
  Argument(Call& call, const char*) : call_(call) {
    call.count = call.byte() % 4;
    if (call.byte() >= 250) return;
    devices_.assign(static_cast<size_t>(std::max<int64_t>(call.count, 1)), kPattern);
  }
  troika_device* value() { return devices_.empty() ? nullptr : devices_.data(); }
  void finish(troika_status status) {
    for (const troika_device& device : devices_)
      if (status < 0 && std::memcmp(&device, &kPattern, sizeof device) != 0)
        report(call_.name(), "a failed call changes a device");
  }

 private:
  static constexpr troika_device kPattern{0x5A5A5A5A, 0x5A5A5A5A};
  Call& call_;
  std::vector<troika_device> devices_;
};

// A block of the heap of `size_bytes` or `capacity` bytes, often as large as a small parameter.
class Block {
 public:
  Block(Call& call, uint8_t fill) {
    static constexpr int64_t kSizes[] = {64, 16, 8, 32, 4, 24, 128, 2, 1, 0, 192, 256, 12, 48, 300, 4096, 16384};
    const uint8_t b = call.byte();
    if (b >= 248) {
      call.count = b % 2 * 16;
      return;
    }
    size_ = call.count = kSizes[b % std::size(kSizes)];
    bytes_.reset(new char[static_cast<size_t>(size_)]);
    std::memset(bytes_.get(), fill, static_cast<size_t>(size_));
  }
  char* value() { return bytes_.get(); }
  int64_t size() const { return size_; }

 private:
  int64_t size_ = 0;
  std::unique_ptr<char[]> bytes_;
};

template <>
class Argument<char*> {
 public:
  Argument(Call& call, const char*) : block_(call, kUntouched), call_(call) {}
  char* value() { return block_.value(); }
  void finish(troika_status status) {
    for (int64_t i = 0; status < 0 && i < block_.size(); ++i)
      if (block_.value()[i] != static_cast<char>(kUntouched)) report(call_.name(), "a failed call changes a buffer");
  }

 private:
  Block block_;
  Call& call_;
};

template <>
class Argument<float*> {
 public:
  Argument(Call& call, const char*) : block_(call, kUntouched) {}
  float* value() { return reinterpret_cast<float*>(block_.value()); }
  void finish(troika_status) {}

 private:
  Block block_;
};

// A buffer, or what a callback receives.
template <>
class Argument<void*> {
 public:
  Argument(Call& call, const char* name) : block_(call, kUntouched), call_(call) {
    is_user_ = std::strcmp(name, "user") == 0;
    if (!is_user_) return;
    if (!call.token) call.token = &call.world().tokens().add();
    call.token->call = call.name();
    call.token->action = call.byte();
    call.token->trainer = call.trainer;
    call.token->world = call.world().is_alone() ? &call.world() : nullptr;
  }
  void* value() { return is_user_ ? static_cast<void*>(call_.token) : block_.value(); }
  void finish(troika_status status) {
    if (status == TROIKA_OK && call_.is("troika_model_save_memory") && block_.size() > 0)
      call_.world().file.assign(block_.value(), block_.value() + block_.size());
  }

 private:
  Block block_;
  Call& call_;
  bool is_user_ = false;
};

// Bytes that the call reads: a file, or an array.
template <>
class Argument<const void*> {
 public:
  Argument(Call& call, const char*) : block_(call, call.byte()) {
    const bool is_file = call.has("_memory");
    if (call.reads_arrays || call.is("troika_tensor_create")) {
      value_ = readable_memory(call);
      int64_t elements = 1;
      for (const int64_t size : call.dims)
        if (size > 0 && elements <= kMostElements * 64) elements *= std::min(size, kMostElements * 64 + 1);
      if (elements > kMostElements * 64) value_ = nullptr;
      call.count = call.byte();
      if (call.is("troika_model_predict_into")) check_input(call);
    } else if (is_file && call.byte() < 200 && !call.world().file.empty()) {
      file_ = call.world().file;
      for (int i = call.byte() % 4; i > 0; --i) file_[call.byte() * 7u % file_.size()] = static_cast<char>(call.byte());
      file_.shrink_to_fit();
      call.count = static_cast<int64_t>(file_.size());
      value_ = file_.data();
    } else {
      value_ = block_.value();
    }
  }
  const void* value() const { return value_; }
  void finish(troika_status) {}

 private:
  // The caller must own as many inputs as the model reads.
  static void check_input(Call& call) {
    troika_model_info info = TROIKA_MODEL_INFO_INIT;
    call.is_skipped = true;
    if (!&troika_model_describe || !call.model || troika_model_describe(call.model, &info, nullptr) != TROIKA_OK)
      return;
    int64_t elements = 1;
    for (int32_t i = 0; i < info.input_rank; ++i) elements = elements < 4096 ? elements * info.input_dims[i] : elements;
    call.is_skipped = elements > 4096;
  }

  Block block_;
  std::vector<char> file_;
  const void* value_ = nullptr;
};

template <>
class Argument<const float*> {
 public:
  Argument(Call& call, const char*) : block_(call, 0) {
    const bool is_of_samples = call.is("troika_dataset_weigh");
    value_ = call.reads_arrays || is_of_samples ? readable_memory(call) : block_.value();
    if (is_of_samples) call.count = call.byte();
  }
  const float* value() const { return static_cast<const float*>(value_); }
  void finish(troika_status) {}

 private:
  Block block_;
  const void* value_;
};

template <>
class Argument<const int32_t*> {
 public:
  Argument(Call& call, const char*) : value_(readable_memory(call)) {}
  const int32_t* value() const { return static_cast<const int32_t*>(value_); }
  void finish(troika_status) {}

 private:
  const void* value_;
};

// ---- callbacks ----

template <>
class Argument<troika_progress_function> {
 public:
  Argument(Call& call, const char*) : value_(call.byte() < 220 ? on_progress : nullptr) {}
  troika_progress_function value() const { return value_; }
  void finish(troika_status) {}

 private:
  troika_progress_function value_;
};

template <>
class Argument<troika_destroy_function> {
 public:
  Argument(Call& call, const char*) : value_(call.byte() < 220 ? release_token : nullptr) {
    call.is_token_released = value_ != nullptr;
  }
  troika_destroy_function value() const { return value_; }
  void finish(troika_status) {}

 private:
  troika_destroy_function value_;
};

template <>
class Argument<troika_done_function> {
 public:
  Argument(Call& call, const char*) : value_(call.byte() < 220 ? on_done : nullptr) {
    call.is_token_released = value_ != nullptr;
  }
  troika_done_function value() const { return value_; }
  void finish(troika_status) {}

 private:
  troika_done_function value_;
};

// ---- DLPack ----

// A tensor of the host, with its shape and its memory.
template <typename Managed>
struct HostTensor : Managed {
  int64_t shape[8], strides[8];
  float memory[64];
};

template <typename Managed>
Managed* make_host_tensor(Call& call) {
  auto* made = new HostTensor<Managed>{};
  DLTensor& tensor = made->dl_tensor;
  tensor.device = {call.byte() < 240 ? kDLCPU : static_cast<int32_t>(call.byte()), call.byte() < 240 ? 0 : -1};
  tensor.ndim = call.byte() % 4;
  if (const uint8_t b = call.byte(); b >= 250) tensor.ndim = b % 2 ? -1 : 1000000;
  tensor.dtype = {static_cast<uint8_t>(call.byte() < 200 ? 2 : call.byte()), 32, 1};
  if (call.byte() >= 240) tensor.dtype = {call.byte(), static_cast<uint8_t>(call.byte() % 65), call.byte()};
  for (int i = 0; i < 8; ++i) {
    made->shape[i] = call.byte() < 245 ? 1 + call.byte() % 2 : call.byte() % 2 - 1;
    made->strides[i] = call.byte() % 8;
  }
  tensor.data = call.byte() < 250 ? reinterpret_cast<char*>(made->memory) + (call.byte() < 240 ? 0 : 1) : nullptr;
  tensor.shape = call.byte() < 250 ? made->shape : nullptr;
  tensor.strides = call.byte() < 200 ? nullptr : made->strides;
  tensor.byte_offset = call.byte() < 250 ? 0 : 8;
  made->deleter = [](Managed* self) { delete static_cast<HostTensor<Managed>*>(self); };
  return made;
}

// A tensor that the call takes, if it succeeds. It is the host's own, or one that was exported.
template <typename Managed>
class TakenTensor {
 public:
  TakenTensor(Call& call, std::vector<Managed*>& exported) : exported_(exported) {
    const uint8_t b = call.byte();
    if (b >= 250) return;
    if (b < 100 && !exported.empty()) {
      value_ = exported.back();
      exported.pop_back();
    } else {
      value_ = make_host_tensor<Managed>(call);
    }
  }
  Managed* get() { return value_; }
  void finish(troika_status status) {
    if (status < 0 && value_) exported_.push_back(value_);
  }

 private:
  std::vector<Managed*>& exported_;
  Managed* value_ = nullptr;
};

template <>
class Argument<struct DLManagedTensor*> : public TakenTensor<DLManagedTensor> {
 public:
  Argument(Call& call, const char*) : TakenTensor(call, call.world().managed) {}
  DLManagedTensor* value() { return get(); }
};

template <>
class Argument<struct DLManagedTensorVersioned*> : public TakenTensor<DLManagedTensorVersioned> {
 public:
  Argument(Call& call, const char*) : TakenTensor(call, call.world().managed_versioned) {
    if (!get()) return;
    get()->version.major = call.byte() < 240 ? 1 : 2;
    get()->flags = call.byte() < 128 ? 0 : call.byte() % 4;
  }
  DLManagedTensorVersioned* value() { return get(); }
};

template <typename Managed>
class ExportedTensor {
 public:
  ExportedTensor(Call& call, std::vector<Managed*>& exported) : exported_(exported), is_null_(call.byte() >= 250) {}
  Managed** value() { return is_null_ ? nullptr : &value_; }
  void finish(troika_status status) {
    if (status >= 0 && value_) exported_.push_back(value_);
  }

 private:
  std::vector<Managed*>& exported_;
  bool is_null_;
  Managed* value_ = nullptr;
};

template <>
class Argument<struct DLManagedTensor**> : public ExportedTensor<DLManagedTensor> {
 public:
  Argument(Call& call, const char*) : ExportedTensor(call, call.world().managed) {}
};

template <>
class Argument<struct DLManagedTensorVersioned**> : public ExportedTensor<DLManagedTensorVersioned> {
 public:
  Argument(Call& call, const char*) : ExportedTensor(call, call.world().managed_versioned) {}
};

// ---- the functions ..._init ----

// The caller's struct has exactly the size that the caller says.
template <typename T>
void call_init(void (*function)(T*, uint32_t), Call& call) {
  const uint8_t b = call.byte();
  const uint32_t size = b < 100 ? sizeof(T) : b < 200 ? b % 8 : 4u * b;
  const std::unique_ptr<char[]> bytes(b == 255 ? nullptr : new char[std::max<uint32_t>(size, 1)]);
  function(reinterpret_cast<T*>(bytes.get()), size);
}

}  // namespace troika::fuzz
