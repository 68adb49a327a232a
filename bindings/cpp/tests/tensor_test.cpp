// Tensors, and groups of processes, which exchange them.
#include "tests.h"

#include <thread>

// As the specification of DLPack lays them out.
struct DLTensor {
  void* data;
  std::int32_t device_type, device_id, ndim;
  std::uint8_t code, bits;
  std::uint16_t lanes;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  std::uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  std::uint64_t flags;
  DLTensor dl_tensor;
};

namespace {

class Tensors : public ::testing::Test {
 protected:
  const Context context_;
};

TEST_F(Tensors, HoldElements) {
  const Tensor tensor(context_, "cpu:1", {2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  const TensorInfo info = tensor.describe();
  EXPECT_EQ(info.dtype, Dtype::f32);
  EXPECT_EQ(info.dims, (Dims{2, 3}));
  EXPECT_EQ(info.device, Device("cpu:1"));
  EXPECT_EQ(info.size_bytes, 24);
  EXPECT_EQ(tensor.to_host<float>(), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Tensor::zeros(context_, "cpu", Dtype::i64, {2}).to_host<std::int64_t>(), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(Tensor(context_, "cpu", {}, {7.0}).to_host<double>(), std::vector<double>{7.0});
}

TEST_F(Tensors, AreCopied) {
  const Tensor tensor(context_, "cpu:0", {2}, {1, 2});
  Tensor other = tensor.to("cpu:1");
  EXPECT_EQ(other.describe().device, Device("cpu:1"));
  other.from_host({3, 4});
  EXPECT_EQ(tensor.to_host<std::int32_t>(), (std::vector<std::int32_t>{1, 2}));
  tensor.copy(other);
  std::vector<std::int32_t> read(2);
  other.to_host(read);
  EXPECT_EQ(read, (std::vector<std::int32_t>{1, 2}));
}

TEST_F(Tensors, AreScatteredAndSummed) {
  std::vector<Tensor> pieces = Tensor(context_, "cpu", {4}, {1.0f, 2.0f, 3.0f, 4.0f}).scatter({"cpu:0", "cpu:1"});
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[1].to_host<float>(), (Floats{3, 4}));
  Tensor::all_reduce(pieces);
  EXPECT_EQ(pieces[0].to_host<float>(), (Floats{4, 6}));
  EXPECT_EQ(pieces[1].to_host<float>(), (Floats{4, 6}));
}

TEST_F(Tensors, RefuseWhatDoesNotFit) {
  expect_misuse<std::invalid_argument>("Tensor: there are 3 elements, the shape needs 4", [&] {
    Tensor(context_, "cpu", {2, 2}, {1.0f, 2.0f, 3.0f});
  });
  expect_error(Status::invalid_argument, "-1", [&] { Tensor(context_, "cpu", {-1}, {1.0f}); });
  const std::int64_t large = std::int64_t{1} << 40;
  expect_misuse<std::invalid_argument>("Tensor: there are 1 elements, the shape needs 9223372036854775807", [&] {
    Tensor(context_, "cpu", {large, large}, {1.0f});
  });
  const Tensor tensor(context_, "cpu", {2}, {1.0f, 2.0f});
  expect_misuse<std::invalid_argument>("Tensor::to_host: the elements are i32, need f32",
                                       [&] { tensor.to_host<std::int32_t>(); });
  Floats three(3);
  expect_error(Status::invalid_argument, "12", [&] { tensor.to_host(three); });
}

TEST_F(Tensors, AreSharedByDLPack) {
  Tensor tensor(context_, "cpu", {2}, {1.0f, 2.0f});
  DLManagedTensor* const managed = tensor.to_dlpack();
  static_cast<float*>(managed->dl_tensor.data)[0] = 5.0f;
  EXPECT_EQ(tensor.to_host<float>(), (Floats{5, 2}));
  tensor.close();
  const Tensor taken = Tensor::from_dlpack(context_, managed);
  EXPECT_EQ(taken.to_host<float>(), (Floats{5, 2}));
  DLManagedTensorVersioned* const versioned = taken.to_dlpack_versioned();
  EXPECT_EQ(versioned->major, 1u);
  EXPECT_EQ(Tensor::from_dlpack_versioned(context_, versioned).to_host<float>(), (Floats{5, 2}));
}

TEST_F(Tensors, LeaveADLPackStructToTheCallerIfTheyRefuseIt) {
  const Tensor tensor(context_, "cpu", {2}, {1.0f, 2.0f});
  DLManagedTensor* const managed = tensor.to_dlpack();
  managed->dl_tensor.lanes = 2;
  expect_error(Status::unsupported, "", [&] { Tensor::from_dlpack(context_, managed); });
  managed->deleter(managed);
}

TEST_F(Tensors, TravelBetweenProcesses) {
  const Folder folder;
  const auto process = [&](std::int32_t rank) {
    const Context context;
    Group group(context, {.rank = rank,
                          .processes = 2,
                          .rendezvous = "file://" + folder / "rendezvous",
                          .connect_timeout_ms = 20000,
                          .deadline_ms = 20000});
    EXPECT_EQ(group.describe().rank, rank);
    EXPECT_EQ(group.describe().processes, 2);
    group.barrier();
    const float x = static_cast<float>(rank + 1);
    Tensor tensor(context, "cpu", {2}, {x, 10 * x});
    EXPECT_EQ(group.all_gather(tensor).to_host<float>(), (Floats{1, 10, 2, 20}));
    EXPECT_EQ(group.reduce_scatter(tensor).to_host<float>(), Floats{rank == 0 ? 3.0f : 30.0f});
    if (rank == 0)
      group.send(tensor, 1);
    else
      group.receive(tensor, 0);
    EXPECT_EQ(tensor.to_host<float>(), (Floats{1, 10}));
    group.all_reduce(tensor);
    EXPECT_EQ(tensor.to_host<float>(), (Floats{2, 20}));
    if (rank == 1) tensor.from_host({7.0f, 8.0f});
    group.broadcast(tensor, 1);
    EXPECT_EQ(tensor.to_host<float>(), (Floats{7, 8}));
    // Each process reads one of the two samples, and both learn from both.
    TrainerOptions options = squares();
    options.group = group.get();
    Trainer trainer = doubling_model(context).attach({"cpu"}, options);
    Loader loader(Dataset::create_arrays(context, {3.0f, 1.0f}, {1}, {0.0f, 0.0f}, 1), {.batch = 2});
    trainer.divide_loader(loader);
    const StepResult result = trainer.step(*loader.next());
    EXPECT_EQ(result.samples, 2);
    EXPECT_FLOAT_EQ(static_cast<float>(result.loss), 20.0f);  // the mean of 36 and 4
    EXPECT_EQ(trainer.get_gradient("fc.weight"), Floats{20.0f});
    Loader share(zeros(context, 4), {.batch = 4, .group = group.get()});
    EXPECT_EQ(share.next()->describe().n, 2);
  };
  std::thread other([&] { process(1); });
  process(0);
  other.join();
}

}  // namespace
