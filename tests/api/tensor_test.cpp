// The C functions of tensor.h.
#include "api/api_test.h"
#include "api/dlpack_structs.h"

namespace troika::test {
namespace {

class TensorApi : public ApiTest {
 protected:
  void TearDown() override {
    for (troika_tensor tensor : made_) troika_tensor_destroy(tensor);
    ApiTest::TearDown();
  }
  troika_tensor make(int32_t dtype, const std::vector<int64_t>& dims, const void* data = nullptr) {
    made_.push_back(make_tensor(dtype, dims, data));
    return made_.back();
  }
  std::vector<troika_tensor> made_;
};

TEST_F(TensorApi, refuses_what_cannot_be_created) {
  const int64_t dims[] = {2, 3}, below[] = {2, -3}, huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  [[maybe_unused]] const int64_t large[] = {int64_t{1} << 45};
  const auto create = [&](troika_context context, troika_device device, int32_t dtype, const int64_t* d, int32_t rank) {
    troika_tensor tensor = garbage<troika_tensor>();
    const troika_status status = troika_tensor_create(context, device, dtype, d, rank, nullptr, &tensor, &error_);
    EXPECT_EQ(tensor, nullptr);
    return status;
  };
  expect_refused(create(nullptr, kCpu0, TROIKA_DTYPE_F32, dims, 2), kInvalid, "argument 'context' is NULL");
  expect_refused(create(context_, {9, 0}, TROIKA_DTYPE_F32, dims, 2), kInvalid, "device.kind is 9");
  expect_refused(create(context_, {TROIKA_DEVICE_CPU, 1 << 20}, TROIKA_DTYPE_F32, dims, 2),
                 TROIKA_ERROR_DEVICE_UNAVAILABLE, "cpu:1048576");
  expect_refused(create(context_, {TROIKA_DEVICE_CUDA, 999}, TROIKA_DTYPE_F32, dims, 2),
                 TROIKA_ERROR_DEVICE_UNAVAILABLE, "cuda:999");
  for (int32_t dtype : {0, 13, -1})
    expect_refused(create(context_, kCpu0, dtype, dims, 2), kInvalid, "dtype is " + std::to_string(dtype));
  for (int32_t rank : {-1, 9})
    expect_refused(create(context_, kCpu0, TROIKA_DTYPE_F32, dims, rank), kInvalid, "rank is " + std::to_string(rank));
  expect_refused(create(context_, kCpu0, TROIKA_DTYPE_F32, nullptr, 2), kInvalid, "argument 'dims' is NULL");
  expect_refused(create(context_, kCpu0, TROIKA_DTYPE_F32, below, 2), kInvalid, "-3");
  expect_refused(create(context_, kCpu0, TROIKA_DTYPE_F32, huge, 2), kInvalid, "troika_tensor_create");
#if !defined(__SANITIZE_THREAD__)  // its malloc ends the process instead of failing
  expect_refused(create(context_, kCpu0, TROIKA_DTYPE_F64, large, 1), TROIKA_ERROR_OUT_OF_MEMORY, "device cpu:0");
#endif
  expect_refused(troika_tensor_create(context_, kCpu0, TROIKA_DTYPE_F32, dims, 2, nullptr, nullptr, &error_), kInvalid,
                 "argument 'out_tensor' is NULL");
  make_model();
  expect_refused(create(cast<troika_context>(model_), kCpu0, TROIKA_DTYPE_F32, dims, 2), kInvalid,
                 "'context' is not a live handle");
}

TEST_F(TensorApi, creates_scalars_and_empty_tensors) {
  const double value = 2.5;
  double read = 0;
  troika_tensor scalar = make(TROIKA_DTYPE_F64, {}, &value), empty = make(TROIKA_DTYPE_I64, {0, 4});
  expect_ok(troika_tensor_to_host(scalar, &read, sizeof read, &error_));
  EXPECT_EQ(read, value);
  expect_ok(troika_tensor_to_host(empty, nullptr, 0, &error_));
  troika_tensor_info info = TROIKA_TENSOR_INFO_INIT;
  expect_ok(troika_tensor_describe(empty, &info, &error_));
  EXPECT_EQ(info.rank, 2);
  EXPECT_EQ(info.dims[1], 4);
  EXPECT_EQ(info.size_bytes, 0);
}

TEST_F(TensorApi, refuses_copies_that_do_not_fit) {
  troika_tensor a = make(TROIKA_DTYPE_F32, {2, 3}), b = make(TROIKA_DTYPE_F32, {3, 2}),
                c = make(TROIKA_DTYPE_I32, {2, 3});
  float data[6];
  make_model();
  expect_refused(troika_tensor_to_host(a, data, 20, &error_), kInvalid, "size_bytes is 20, tensor f32[2, 3] needs 24");
  expect_refused(troika_tensor_to_host(a, data, -24, &error_), kInvalid, "size_bytes is -24");
  expect_refused(troika_tensor_to_host(a, nullptr, 24, &error_), kInvalid, "argument 'data' is NULL");
  expect_refused(troika_tensor_to_host(nullptr, data, 24, &error_), kInvalid, "argument 'tensor' is NULL");
  expect_refused(troika_tensor_to_host(cast<troika_tensor>(model_), data, 24, &error_), kInvalid,
                 "'tensor' is not a live handle");
  expect_refused(troika_tensor_from_host(a, data, 28, &error_), kInvalid, "size_bytes is 28");
  expect_refused(troika_tensor_from_host(a, nullptr, 24, &error_), kInvalid, "argument 'data' is NULL");
  expect_refused(troika_tensor_from_host(nullptr, data, 24, &error_), kInvalid, "argument 'tensor' is NULL");
  expect_refused(troika_tensor_copy(a, b, &error_), kInvalid, "source is f32[2, 3], destination is f32[3, 2]");
  expect_refused(troika_tensor_copy(a, c, &error_), kInvalid, "destination is i32[2, 3]");
  expect_refused(troika_tensor_copy(nullptr, b, &error_), kInvalid, "argument 'source' is NULL");
  expect_refused(troika_tensor_copy(a, nullptr, &error_), kInvalid, "argument 'destination' is NULL");
  expect_ok(troika_tensor_copy(a, a, &error_));

  troika_tensor_info info = TROIKA_TENSOR_INFO_INIT;
  expect_refused(troika_tensor_describe(nullptr, &info, &error_), kInvalid, "argument 'tensor' is NULL");
  expect_refused(troika_tensor_describe(a, nullptr, &error_), kInvalid, "argument 'out_info' is NULL");
  info.struct_size = 1;
  expect_refused(troika_tensor_describe(a, &info, &error_), kInvalid, "out_info->struct_size is 1");

  troika_tensor moved = garbage<troika_tensor>();
  expect_refused(troika_tensor_to(nullptr, kCpu1, &moved, &error_), kInvalid, "argument 'tensor' is NULL");
  EXPECT_EQ(moved, nullptr);
  moved = garbage<troika_tensor>();
  expect_refused(troika_tensor_to(a, {TROIKA_DEVICE_CUDA, 999}, &moved, &error_), TROIKA_ERROR_DEVICE_UNAVAILABLE,
                 "cuda:999");
  EXPECT_EQ(moved, nullptr);
  expect_refused(troika_tensor_to(a, {0, 0}, &moved, &error_), kInvalid, "device.kind is 0");
  expect_refused(troika_tensor_to(a, kCpu0, nullptr, &error_), kInvalid, "argument 'out_tensor' is NULL");
}

TEST_F(TensorApi, scatters_evenly_or_leaves_nothing) {
  const float data[] = {0, 1, 2, 3, 4};
  troika_tensor five = make(TROIKA_DTYPE_F32, {5}, data), scalar = make(TROIKA_DTYPE_F32, {});
  const troika_device devices[] = {kCpu0, kCpu1, kCpu0}, wrong[] = {kCpu0, {TROIKA_DEVICE_CUDA, 999}, kCpu0};
  troika_tensor pieces[3] = {};
  expect_ok(troika_tensor_scatter(five, devices, 3, pieces, &error_));
  for (int i = 0; i < 3; ++i) {
    troika_tensor_info info = TROIKA_TENSOR_INFO_INIT;
    expect_ok(troika_tensor_describe(pieces[i], &info, &error_));
    EXPECT_EQ(info.dims[0], i < 2 ? 2 : 1);
    EXPECT_EQ(info.device.index, devices[i].index);
    troika_tensor_destroy(pieces[i]);
  }
  const auto expect_none = [&] {
    for (troika_tensor& piece : pieces) {
      EXPECT_EQ(piece, nullptr);
      piece = garbage<troika_tensor>();
    }
  };
  for (troika_tensor& piece : pieces) piece = garbage<troika_tensor>();
  expect_refused(troika_tensor_scatter(five, wrong, 3, pieces, &error_), TROIKA_ERROR_DEVICE_UNAVAILABLE, "cuda:999");
  expect_none();
  expect_refused(troika_tensor_scatter(scalar, devices, 3, pieces, &error_), kInvalid, "scatter");
  expect_none();
  expect_refused(troika_tensor_scatter(nullptr, devices, 3, pieces, &error_), kInvalid, "argument 'tensor' is NULL");
  expect_none();
  expect_refused(troika_tensor_scatter(five, nullptr, 3, pieces, &error_), kInvalid, "argument 'devices' is NULL");
  expect_refused(troika_tensor_scatter(five, devices, 3, nullptr, &error_), kInvalid, "argument 'out_tensors' is NULL");
  for (int32_t n : {0, -1})
    expect_refused(troika_tensor_scatter(five, devices, n, pieces, &error_), kInvalid,
                   "device_count is " + std::to_string(n));
}

TEST_F(TensorApi, sums_only_what_is_alike) {
  const int64_t ones[] = {1, 2};
  troika_tensor a = make(TROIKA_DTYPE_I64, {2}, ones), b = make(TROIKA_DTYPE_I64, {2}, ones),
                other = make(TROIKA_DTYPE_I64, {3}), bytes = make(TROIKA_DTYPE_I8, {2}),
                more = make(TROIKA_DTYPE_I8, {2});
  troika_tensor both[] = {a, b}, twice[] = {a, a}, shapes[] = {a, other}, dtypes[] = {a, bytes},
                bytes_only[] = {bytes, more}, none[] = {a, nullptr};
  expect_ok(troika_tensor_all_reduce(both, 2, &error_));
  int64_t sum[2] = {};
  expect_ok(troika_tensor_to_host(b, sum, sizeof sum, &error_));
  EXPECT_EQ(sum[1], 4);
  expect_refused(troika_tensor_all_reduce(twice, 2, &error_), kInvalid, "all_reduce");
  expect_refused(troika_tensor_all_reduce(shapes, 2, &error_), kInvalid, "all_reduce");
  expect_refused(troika_tensor_all_reduce(dtypes, 2, &error_), kInvalid, "all_reduce");
  expect_refused(troika_tensor_all_reduce(bytes_only, 2, &error_), TROIKA_ERROR_UNSUPPORTED,
                 "i8, need f32, f64, bf16, f16, i32, i64 or u8");
  expect_refused(troika_tensor_all_reduce(none, 2, &error_), kInvalid, "argument 'tensors[1]' is NULL");
  expect_refused(troika_tensor_all_reduce(nullptr, 2, &error_), kInvalid, "argument 'tensors' is NULL");
  expect_refused(troika_tensor_all_reduce(both, 0, &error_), kInvalid, "tensor_count is 0");
  expect_ok(troika_tensor_to_host(a, sum, sizeof sum, &error_));
  EXPECT_EQ(sum[0], 2) << "refused calls change nothing";
}

TEST_F(TensorApi, exchanges_memory_by_dlpack) {
  const float data[] = {1, 2, 3, 4, 5, 6};
  troika_tensor tensor = nullptr;
  const int64_t dims[] = {2, 3};
  expect_ok(troika_tensor_create(context_, kCpu0, TROIKA_DTYPE_F32, dims, 2, data, &tensor, &error_));
  DLManagedTensor* managed = nullptr;
  expect_ok(troika_tensor_to_dlpack(tensor, &managed, &error_));
  troika_tensor_destroy(tensor);
  EXPECT_EQ(managed->dl_tensor.ndim, 2);
  EXPECT_EQ(static_cast<float*>(managed->dl_tensor.data)[5], 6.0f) << "the memory outlives the tensor's handle";

  troika_tensor borrowed = garbage<troika_tensor>();
  const auto refuse = [&](troika_status status, const std::string& message) {
    expect_refused(troika_tensor_from_dlpack(context_, managed, &borrowed, &error_), status, message);
    EXPECT_EQ(borrowed, nullptr);
    borrowed = garbage<troika_tensor>();
  };
  DLTensor& dl = managed->dl_tensor;
  const DLTensor before = dl;
  dl.dtype.bits = 8;
  refuse(TROIKA_ERROR_UNSUPPORTED, "8 bits");
  dl = before;
  dl.device.device_type = 4;
  refuse(TROIKA_ERROR_UNSUPPORTED, "device type is 4");
  dl.device = {2, 9};
  refuse(TROIKA_ERROR_DEVICE_UNAVAILABLE, "cuda:9");
  dl = before;
  int64_t strides[] = {1, 2};
  dl.strides = strides;
  refuse(TROIKA_ERROR_UNSUPPORTED, "stride of dimension 1 is 2");
  dl = before;
  dl.ndim = 9;
  refuse(kInvalid, "rank is 9");
  dl = before;
  dl.shape = nullptr;
  refuse(kInvalid, "NULL");
  dl = before;
  dl.data = nullptr;
  refuse(kInvalid, "data is NULL");
  dl = before;
  expect_refused(troika_tensor_from_dlpack(nullptr, managed, &borrowed, &error_), kInvalid,
                 "argument 'context' is NULL");
  expect_refused(troika_tensor_from_dlpack(context_, nullptr, &borrowed, &error_), kInvalid,
                 "argument 'managed' is NULL");
  expect_refused(troika_tensor_from_dlpack(context_, managed, nullptr, &error_), kInvalid,
                 "argument 'out_tensor' is NULL");
  DLManagedTensor* none = managed;
  expect_refused(troika_tensor_to_dlpack(nullptr, &none, &error_), kInvalid, "argument 'tensor' is NULL");
  EXPECT_EQ(none, nullptr);
  expect_ok(troika_tensor_from_dlpack(context_, managed, &borrowed, &error_));
  troika_tensor_destroy(borrowed);  // also frees the memory
}

// The struct of another library, of any version, over bytes of the test.
template <typename Managed>
struct Foreign {
  Foreign(DLDataType type, void* data, int64_t n) : dims{n} {
    managed.dl_tensor.data = data;
    managed.dl_tensor.device = {kDLCPU, 0};
    managed.dl_tensor.ndim = 1;
    managed.dl_tensor.dtype = type;
    managed.dl_tensor.shape = dims;
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->manager_ctx)->deletions; };
  }
  int64_t dims[1];
  Managed managed{};
  int deletions = 0;
};

TEST_F(TensorApi, exchanges_memory_by_dlpack_1) {
  const float data[] = {1, 2, 3};
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {3});
  expect_ok(troika_tensor_from_host(tensor_, data, sizeof data, &error_));
  DLManagedTensorVersioned* managed = nullptr;
  expect_ok(troika_tensor_to_dlpack_versioned(tensor_, &managed, &error_));
  EXPECT_EQ(managed->version.major, 1u);
  EXPECT_EQ(managed->flags, 0u);
  troika_tensor again = nullptr;
  expect_ok(troika_tensor_from_dlpack_versioned(context_, managed, &again, &error_));
  float found[3];
  expect_ok(troika_tensor_to_host(again, found, sizeof found, &error_));
  EXPECT_EQ(found[2], 3);
  troika_tensor_destroy(again);  // calls the deleter

  Foreign<DLManagedTensorVersioned> foreign({kDLFloat, 32, 1}, found, 3);
  foreign.managed.version = {2, 0};
  again = garbage<troika_tensor>();
  expect_refused(troika_tensor_from_dlpack_versioned(context_, &foreign.managed, &again, &error_),
                 TROIKA_ERROR_UNSUPPORTED, "the struct is of DLPack 2.0, need 1.x");
  EXPECT_EQ(again, nullptr);
  EXPECT_EQ(foreign.deletions, 0);
  expect_refused(troika_tensor_from_dlpack_versioned(context_, nullptr, &again, &error_), kInvalid,
                 "'managed' is NULL");
  expect_refused(troika_tensor_to_dlpack_versioned(tensor_, nullptr, &error_), kInvalid, "'out_managed' is NULL");
}

TEST_F(TensorApi, copies_memory_of_dlpack_that_is_read_only_or_misaligned) {
  alignas(8) char bytes[4 * sizeof(float)] = {};
  const float data[] = {5, 6, 7};
  const auto expect_copy = [&](auto& foreign, troika_tensor tensor) {
    EXPECT_EQ(foreign.deletions, 1) << "the memory is not needed any more";
    std::memset(bytes, 0, sizeof bytes);
    float found[3];
    expect_ok(troika_tensor_to_host(tensor, found, sizeof found, &error_));
    EXPECT_EQ(found[0], 5);
    EXPECT_EQ(found[2], 7);
    troika_tensor_destroy(tensor);
    EXPECT_EQ(foreign.deletions, 1);
  };
  troika_tensor tensor = nullptr;
  std::memcpy(bytes + 1, data, sizeof data);
  Foreign<DLManagedTensor> misaligned({kDLFloat, 32, 1}, bytes + 1, 3);
  expect_ok(troika_tensor_from_dlpack(context_, &misaligned.managed, &tensor, &error_));
  expect_copy(misaligned, tensor);

  std::memcpy(bytes, data, sizeof data);
  Foreign<DLManagedTensorVersioned> read_only({kDLFloat, 32, 1}, bytes, 3);
  read_only.managed.version = {1, 7};
  read_only.managed.flags = kDLFlagReadOnly;
  expect_ok(troika_tensor_from_dlpack_versioned(context_, &read_only.managed, &tensor, &error_));
  expect_copy(read_only, tensor);
}

TEST_F(TensorApi, takes_every_type_of_dlpack_that_has_a_name_here) {
  const std::pair<int32_t, DLDataType> types[] = {{TROIKA_DTYPE_F32, {kDLFloat, 32, 1}},
                                                  {TROIKA_DTYPE_F64, {kDLFloat, 64, 1}},
                                                  {TROIKA_DTYPE_I32, {kDLInt, 32, 1}},
                                                  {TROIKA_DTYPE_I64, {kDLInt, 64, 1}},
                                                  {TROIKA_DTYPE_U8, {kDLUInt, 8, 1}},
                                                  {TROIKA_DTYPE_BF16, {kDLBfloat, 16, 1}},
                                                  {TROIKA_DTYPE_F16, {kDLFloat, 16, 1}},
                                                  {TROIKA_DTYPE_I8, {kDLInt, 8, 1}},
                                                  {TROIKA_DTYPE_I16, {kDLInt, 16, 1}},
                                                  {TROIKA_DTYPE_BOOL, {kDLBool, 8, 1}},
                                                  {TROIKA_DTYPE_F8_E4M3, {kDLFloat8_e4m3fn, 8, 1}},
                                                  {TROIKA_DTYPE_F8_E5M2, {kDLFloat8_e5m2, 8, 1}}};
  alignas(8) char bytes[16] = "0123456789abcde";
  for (const auto& [dtype, type] : types) {
    Foreign<DLManagedTensor> foreign(type, bytes, 2);
    troika_tensor tensor = nullptr;
    expect_ok(troika_tensor_from_dlpack(context_, &foreign.managed, &tensor, &error_));
    troika_tensor_info info = TROIKA_TENSOR_INFO_INIT;
    expect_ok(troika_tensor_describe(tensor, &info, &error_));
    EXPECT_EQ(info.dtype, dtype);
    EXPECT_EQ(info.size_bytes, 2 * type.bits / 8);
    troika_tensor moved = nullptr;
    expect_ok(troika_tensor_to(tensor, kCpu1, &moved, &error_));
    char found[16];
    expect_ok(troika_tensor_to_host(moved, found, info.size_bytes, &error_));
    EXPECT_EQ(std::memcmp(found, bytes, static_cast<size_t>(info.size_bytes)), 0);
    DLManagedTensor* exported = nullptr;
    expect_ok(troika_tensor_to_dlpack(moved, &exported, &error_));
    EXPECT_EQ(exported->dl_tensor.dtype.code, type.code);
    exported->deleter(exported);
    troika_tensor_destroy(moved);
    troika_tensor_destroy(tensor);
    EXPECT_EQ(foreign.deletions, 1);
  }
}

}  // namespace
}  // namespace troika::test
