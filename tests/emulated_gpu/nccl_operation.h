// What a rank asks of NCCL's stand-in, and the movement of data that follows when all its partners ask for the same.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

namespace emulated_gpu::nccl {

enum class Kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter, send, receive };

// `count` as in the call: of what a rank sends to an all-gather, and of what it receives from a reduce-scatter.
struct Operation {
  Kind kind{};
  const void* in = nullptr;
  void* out = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int root = 0;  // of a send or receive: the other rank

  bool is_point_to_point() const { return kind == Kind::send || kind == Kind::receive; }
};

// 0 for types that the stand-in does not have.
size_t bytes_of(ncclDataType_t type);

// Why a rank of a communicator of `size` may not ask for it; empty where it may.
std::string fault_of(const Operation& operation, int rank, int size);

// "all-reduce of 5 x f32, sum": ranks that meet must agree in it.
std::string describe(const Operation& operation);

// All at once. Operations by rank; of a message the send, then the receive.
void move_data(const std::vector<Operation>& operations);

}  // namespace emulated_gpu::nccl
