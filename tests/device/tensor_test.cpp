// Tests of tensors: memory, scattering and summing.
#include "device/tensor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "core/split.h"
#include "support/throws.h"

namespace troika {
namespace {

std::shared_ptr<Device> cpu(int index = 0) { return BackendRegistry::create()->open({DeviceKind::cpu, index}, {}); }

template <typename Number>
std::shared_ptr<Tensor> tensor_of(DType dtype, const std::vector<Number>& values, int device = 0) {
  auto tensor = Tensor::create(cpu(device), {dtype, {static_cast<int64_t>(values.size())}});
  tensor->write(values.data());
  return tensor;
}

template <typename Number>
std::vector<Number> values_of(const Tensor& tensor) {
  std::vector<Number> values(tensor.bytes() / sizeof(Number));
  tensor.read(values.data());
  return values;
}

TEST(Tensor, BeginsAsZeros) {
  const auto tensor = Tensor::create(cpu(), {DType::f32, {3, 5}});
  EXPECT_EQ(values_of<float>(*tensor), std::vector<float>(15, 0.0f));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 64, 0u);
}

TEST(Tensor, MayHaveNoElements) {
  const auto tensor = Tensor::create(cpu(), {DType::f32, {0, 5}});
  EXPECT_EQ(tensor->bytes(), 0u);
  EXPECT_TRUE(tensor->to_host().empty());
  tensor->write(nullptr);
}

TEST(Tensor, RefusesSizesThatOverflow) {
  EXPECT_THROWS(Status::invalid_argument, "tensor",
                Tensor::create(cpu(), {DType::f32, {int64_t{1} << 40, int64_t{1} << 40}}));
  EXPECT_THROWS(Status::invalid_argument, "tensor", Tensor::create(cpu(), {DType::f32, {-1}}));
}

TEST(Tensor, TellsWhichDeviceHasNoMemoryLeft) {
  EXPECT_THROWS(Status::out_of_memory,
                "device cpu:0: a tensor of u8[1152921504606846976] needs 1152921504606846976 bytes",
                Tensor::create(cpu(), {DType::u8, {int64_t{1} << 60}}));
}

TEST(Tensor, ReleasesBorrowedMemoryOnce) {
  int released = 0;
  float memory[2] = {1, 2};
  {
    const auto tensor = Tensor::borrow(cpu(), {DType::f32, {2}}, memory, [&] { ++released; });
    EXPECT_EQ(values_of<float>(*tensor), (std::vector<float>{1, 2}));
    EXPECT_EQ(static_cast<void*>(tensor->data()), memory);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Scatter, CutsAlongTheFirstDimensionInOrder) {
  for (int64_t n : {0, 1, 3, 9, 10, 31, 50})
    for (int pieces : {1, 2, 4, 8}) {
      auto source = Tensor::create(cpu(), {DType::f32, {n, 3}});
      std::vector<float> values(static_cast<size_t>(n) * 3);
      std::iota(values.begin(), values.end(), 0.0f);
      source->write(values.data());
      std::vector<std::shared_ptr<Device>> devices;
      for (int i = 0; i < pieces; ++i) devices.push_back(cpu(i));
      std::vector<float> joined;
      const auto scattered = scatter(*source, devices);
      for (int i = 0; i < pieces; ++i) {
        const Tensor& piece = *scattered[static_cast<size_t>(i)];
        EXPECT_EQ(piece.type().shape, (Shape{balanced_split(n, pieces, i).size(), 3}));
        EXPECT_EQ(piece.device()->id().index, i);
        const auto part = values_of<float>(piece);
        joined.insert(joined.end(), part.begin(), part.end());
      }
      EXPECT_EQ(joined, values) << n << " samples over " << pieces;
    }
}

TEST(Scatter, RefusesAScalar) {
  EXPECT_THROWS(Status::invalid_argument, "scatter: tensor is a scalar, needs a dimension to cut",
                scatter(*Tensor::create(cpu(), {DType::f32, {}}), {cpu()}));
}

TEST(AllReduce, ReplacesEveryTensorByTheSumInTheirOrder) {
  // (1 + 1e8) - 1e8 is 0 in this order and 1 in another.
  const auto a = tensor_of<float>(DType::f32, {1, 2}), b = tensor_of<float>(DType::f32, {1e8f, 3}, 1),
             c = tensor_of<float>(DType::f32, {-1e8f, 4}, 2);
  all_reduce({a.get(), b.get(), c.get()});
  for (const auto& tensor : {a, b, c}) EXPECT_EQ(values_of<float>(*tensor), (std::vector<float>{0, 9}));
}

TEST(AllReduce, SumsEveryDTypeWithArithmetic) {
  const auto f64 = tensor_of<double>(DType::f64, {0.5}), f64_b = tensor_of<double>(DType::f64, {0.25});
  all_reduce({f64.get(), f64_b.get()});
  EXPECT_EQ(values_of<double>(*f64_b), std::vector<double>{0.75});
  const auto i64 = tensor_of<int64_t>(DType::i64, {int64_t{1} << 40}), i64_b = tensor_of<int64_t>(DType::i64, {5});
  all_reduce({i64.get(), i64_b.get()});
  EXPECT_EQ(values_of<int64_t>(*i64), std::vector<int64_t>{(int64_t{1} << 40) + 5});
  const auto u8 = tensor_of<uint8_t>(DType::u8, {200, 1}), u8_b = tensor_of<uint8_t>(DType::u8, {100, 2});
  all_reduce({u8.get(), u8_b.get()});
  EXPECT_EQ(values_of<uint8_t>(*u8), (std::vector<uint8_t>{44, 3}));
  // 256 + 1 + 1 in bf16: each sum of two would be rounded back to 256.
  const auto a = tensor_of<uint16_t>(DType::bf16, {0x4380}), b = tensor_of<uint16_t>(DType::bf16, {0x3f80}),
             c = tensor_of<uint16_t>(DType::bf16, {0x3f80});
  all_reduce({a.get(), b.get(), c.get()});
  EXPECT_EQ(values_of<uint16_t>(*c), std::vector<uint16_t>{0x4381});
  const auto half = tensor_of<uint16_t>(DType::f16, {0x3c00}), half_b = tensor_of<uint16_t>(DType::f16, {0xc000});
  all_reduce({half.get(), half_b.get()});
  EXPECT_EQ(values_of<uint16_t>(*half), std::vector<uint16_t>{0xbc00});
  const auto i8 = tensor_of<int8_t>(DType::i8, {1}), i8_b = tensor_of<int8_t>(DType::i8, {1});
  EXPECT_THROWS(Status::unsupported, "all_reduce: tensors are i8", (all_reduce({i8.get(), i8_b.get()}), 0));
}

TEST(AllReduce, WrapsIntegersAround) {
  const auto a = tensor_of<int32_t>(DType::i32, {std::numeric_limits<int32_t>::max()}),
             b = tensor_of<int32_t>(DType::i32, {1});
  all_reduce({a.get(), b.get()});
  EXPECT_EQ(values_of<int32_t>(*a), std::vector<int32_t>{std::numeric_limits<int32_t>::min()});
}

TEST(AllReduce, LeavesOneTensorAsItIs) {
  const auto a = tensor_of<float>(DType::f32, {1, 2});
  all_reduce({a.get()});
  EXPECT_EQ(values_of<float>(*a), (std::vector<float>{1, 2}));
}

TEST(AllReduce, RefusesAnEmptyList) {
  EXPECT_THROWS(Status::invalid_argument, "all_reduce: the list of tensors is empty, need at least 1",
                (all_reduce({}), 0));
}

TEST(AllReduce, RefusesTensorsThatDifferOrAreOne) {
  const auto a = tensor_of<float>(DType::f32, {1, 2}), b = tensor_of<float>(DType::f32, {1, 2, 3}),
             c = tensor_of<int32_t>(DType::i32, {1, 2});
  EXPECT_THROWS(Status::invalid_argument, "all_reduce: tensor 1 is f32[3], tensor 0 is f32[2]",
                (all_reduce({a.get(), b.get()}), 0));
  EXPECT_THROWS(Status::invalid_argument, "all_reduce: tensor 1 is i32[2], tensor 0 is f32[2]",
                (all_reduce({a.get(), c.get()}), 0));
  EXPECT_THROWS(Status::invalid_argument, "all_reduce: tensors 0 and 1 are the same",
                (all_reduce({a.get(), a.get()}), 0));
}

}  // namespace
}  // namespace troika
