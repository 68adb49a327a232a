// An operation that a rank requests from NCCL's stand-in. When all its partners have requested the
// same operation, the data moves.
#pragma once

#include <nccl.h>

#include <string>
#include <vector>

namespace emulated_gpu::nccl {

enum class Kind { all_reduce, reduce, broadcast, all_gather, reduce_scatter, send, receive };

// `count` is as in the call: for an all-gather the elements that a rank sends, for a reduce-scatter
// the elements that a rank receives.
struct Operation {
  Kind kind{};
  const void* in = nullptr;
  void* out = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t reduction = ncclSum;
  int root = 0;  // for a send or a receive: the other rank

  bool is_point_to_point() const { return kind == Kind::send || kind == Kind::receive; }
};

// Returns 0 for types that the stand-in does not support.
size_t bytes_of(ncclDataType_t type);

// Returns why a rank of a communicator of `size` ranks may not request the operation; empty if it
// may.
std::string fault_of(const Operation& operation, int rank, int size);

// Returns a text such as "all-reduce of 5 x f32, sum". It must be the same on all ranks that meet.
std::string describe(const Operation& operation);

// Moves the data of all ranks at once. `operations`: one per rank; for a message the send, then the
// receive.
void move_data(const std::vector<Operation>& operations);

}  // namespace emulated_gpu::nccl
