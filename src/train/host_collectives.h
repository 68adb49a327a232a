// Collectives of the caller's own data between the processes of a group.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/messenger.h"
#include "graph/graph.h"
#include "group/process_group.h"

namespace troika {

// Data are in host memory, row-major. The processes connect at their first call. Each call checks
// first that all processes make the same call: COMM if not, MISMATCH if their data do not fit
// together. After COMM no call works. One thread at a time.
class HostCollectives {
 public:
  // Both must outlive it.
  HostCollectives(const ProcessGroup& group, std::string plugin_folder);
  ~HostCollectives();

  void barrier();
  // Replaces the data by their sum over all processes, whose bits are the same in all. f32, f64,
  // i32, i64; f16 and bf16 are summed as f32, and rounded once.
  void all_reduce(const TensorType& type, void* data);
  // Replaces the data by those of process `root`.
  void broadcast(int root, const TensorType& type, void* data);
  // Returns the data of all processes, one after another along axis 0, whose sizes may differ.
  std::vector<std::byte> all_gather(const TensorType& type, const void* data, Shape& shape);
  // Returns this process's rows of the sum. Sizes along axis 0 differ by at most one.
  std::vector<std::byte> reduce_scatter(const TensorType& type, const void* data, Shape& shape);
  // `send` returns when the data may change. The receiver names the type that it expects.
  void send(int to, const TensorType& type, const void* data);
  void receive(int from, const TensorType& type, void* data);

 private:
  struct Connection;
  void connect();
  void compare_transports();
  std::vector<std::string> agree(const char* what, const std::string& own);
  void agree_on_type(const char* what, const TensorType& type, int root);
  void check_peer(const char* what, int process) const;
  void run(const Collective& collective, void* data);
  template <typename F>
  void attempt(F f);
  Deadline deadline() const;

  const ProcessGroup& group_;
  const std::string plugin_folder_;
  const std::shared_ptr<Exchange> exchange_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace troika
