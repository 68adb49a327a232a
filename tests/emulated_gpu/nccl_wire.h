// The operations of NCCL's stand-in between processes: files in a folder that all of them see.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "nccl_operation.h"

namespace emulated_gpu::nccl {

// (sender, receiver, operation number); collectives have -1 as sender and receiver.
using MeetingKey = std::tuple<int, int, int64_t>;

// One rank's end. A rank that arrives at an operation writes the operation and its data into a file
// of its own, which the other ranks read.
class Wire {
 public:
  Wire(std::filesystem::path folder, int rank) : folder_(std::move(folder)), rank_(rank) {}

  // Says that the rank has joined a communicator of `size` ranks, with the GPU.
  void join(int size, const std::string& gpu) const;
  // Returns whether all have joined; `fault` is why they cannot be a communicator, or empty.
  bool have_joined(int size, std::string& fault) const;

  void send(const MeetingKey& key, size_t index, const Operation& operation) const;
  // Fills in what rank `index` has sent, with `data` as its memory. Returns false if the rank has
  // not come.
  bool receive(const MeetingKey& key, size_t index, Operation& operation, std::string& description,
               std::vector<std::byte>& data) const;
  // Removes what no rank reads any more.
  void forget(const MeetingKey& key, size_t index) const;

 private:
  std::filesystem::path file_of(const MeetingKey& key, size_t index) const;
  void write(const std::filesystem::path& path, const std::string& text, const void* data, size_t bytes) const;

  const std::filesystem::path folder_;
  const int rank_;
};

}  // namespace emulated_gpu::nccl
