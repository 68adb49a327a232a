// The communicators of NCCL's stand-in: which ranks have joined, which operations meet, and what
// happens to operations that never meet their counterparts.
#pragma once

#include <nccl.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "nccl_operation.h"
#include "nccl_wire.h"

namespace emulated_gpu::nccl {

// Guards everything in this file. Work on streams takes this mutex, so no thread may hold it while
// it enqueues work on a stream.
std::mutex& mutex();
// Notified when an operation has ended, or a rank has joined or left.
std::condition_variable& changed();

// Stores the message for ncclGetLastError, which has one text for the whole process. Returns
// `result`.
ncclResult_t fail(ncclResult_t result, const std::string& message);
std::string last_error();

// The operations of all ranks under one operation number of a communicator, or the send and the
// receive of one message.
struct Meeting {
  std::vector<Operation> operations;  // in the order of move_data()
  int first_rank = -1;                // the rank that arrived first
  size_t arrived = 0;
  bool is_broken = false;  // can never be complete
  bool is_done = false;
  // Between processes: by index, the memory of a rank that has come.
  MeetingKey key;
  std::vector<std::vector<std::byte>> memories;

  bool is_complete() const { return arrived == operations.size() && !is_broken; }
};

class Rank;
class Launch;

// The ranks that share an id. Between processes, each rank has a clique of its own, and the wire
// has what the others do.
struct Clique {
  explicit Clique(int own_number) : number(own_number) {}
  Clique(int own_number, const std::string& folder, int rank)
      : number(own_number), wire(std::make_unique<Wire>(folder, rank)) {}

  // Adds `rank`. When all ranks have joined, checks whether they can be a communicator.
  ncclResult_t join(Rank& rank, int size);
  // Sets the error on all ranks.
  void fail_all(ncclResult_t result, const std::string& message);
  std::shared_ptr<Meeting> meet(Rank& rank, const Operation& operation);
  // Takes what has arrived on the wire. Returns whether all operations are there.
  bool is_complete(const Rank& rank, Meeting& meeting);
  // The data of a launch have moved.
  void end(const Rank& rank, const std::vector<std::shared_ptr<Meeting>>& meetings);
  bool has_all();

  const int number;
  const std::unique_ptr<Wire> wire;  // null: all ranks are of this process
  std::vector<Rank*> ranks;  // null: the rank has not joined yet, or has left
  size_t joined = 0;
  bool is_broken = false;  // a rank has left before all had joined
  size_t finalized = 0;    // the number of finalized ranks
  std::map<MeetingKey, std::shared_ptr<Meeting>> open;
  std::vector<MeetingKey> sent;  // the collectives of the last launch, on the wire
};

// One communicator handle. Callers do not hold the mutex, except if a comment here says so.
class Rank {
 public:
  Rank(std::shared_ptr<Clique> own_clique, int own_rank, int own_device, bool blocks);

  // Returns success if a call may use the communicator now. Called under the mutex.
  ncclResult_t check_usable() const;
  // Waits until all ranks have joined. For communicators that block.
  ncclResult_t wait_for_all();
  // Issues the launch. A communicator that does not block may instead defer it, at random, and
  // return ncclInProgress.
  ncclResult_t start(std::shared_ptr<Launch> launch);
  // Returns the result for ncclCommGetAsyncError, and advances the operation in progress by one
  // step.
  ncclResult_t poll();
  ncclResult_t finalize();
  // Returns when this rank's operations have ended.
  void drain();
  // Leaves the clique. Operations of this rank whose meeting is complete still move their data,
  // since other ranks count on that. All other operations of this rank, now and later, do nothing.
  // Ranks that wait for such an operation wait until they abort too.
  void abort();

  const std::shared_ptr<Clique> clique;
  const int rank, device;
  const bool is_blocking;

  // The members below are guarded by the mutex.
  ncclResult_t state = ncclInProgress;
  bool is_finalized = false, is_aborted = false;
  // Operations of a rank run one at a time, in the order of the calls, on whatever streams they
  // are.
  int64_t issued = 0, ended = 0;
  const Launch* in_flight = nullptr;
  std::vector<std::shared_ptr<Meeting>> meetings;  // of the launch in flight
  // How many operations have arrived; the key is (sender, receiver, whether this rank sends).
  std::map<std::tuple<int, int, bool>, int64_t> numbers;

 private:
  int draw_polls();
  template <typename Condition>
  void run_until(Condition is_true);

  std::shared_ptr<Launch> deferred_;
  bool is_issuing_ = false;
  int polls_left_;
  std::minstd_rand lot_;
};

// The calls of a rank from ncclGroupStart to ncclGroupEnd, or a single call. A launch is one
// kernel. The streams of a launch keep it alive. If they were captured, each launch of the graph
// runs it again.
class Launch : public std::enable_shared_from_this<Launch> {
 public:
  explicit Launch(std::shared_ptr<Rank> rank) : rank_(std::move(rank)) {}

  void add(const Operation& operation, cudaStream_t stream);
  const std::shared_ptr<Rank>& rank() const { return rank_; }
  // Returns whether each send of the rank to itself has a receive in the same group, and the
  // reverse.
  bool is_balanced() const;
  // Enqueues the launch on its streams. Called without the mutex.
  ncclResult_t issue();

 private:
  bool is_turn();
  void arrive();
  bool is_ready(size_t stream);
  void run();

  const std::shared_ptr<Rank> rank_;
  std::vector<Operation> operations_;
  std::vector<cudaStream_t> streams_;
  // The launch's position among the rank's calls; empty if a graph runs the launch again. So a
  // captured launch holds up the rank's later calls until the graph is launched for the first time.
  std::optional<int64_t> ticket_;
  // The state of the current run:
  std::vector<bool> has_come_;  // per stream
  size_t streams_ended_ = 0;
  bool is_done_ = false;
};

}  // namespace emulated_gpu::nccl
