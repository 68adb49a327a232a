// The communicators of NCCL's stand-in: who has joined, which operations meet, and what becomes of those that never do.
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

namespace emulated_gpu::nccl {

// Guards all that is in this file. Taken by what runs on streams, so never held while a stream is given something.
std::mutex& mutex();
// That an operation has ended, or a rank has come or gone.
std::condition_variable& changed();

// For ncclGetLastError, which knows one text for the whole process. Returns `result`.
ncclResult_t fail(ncclResult_t result, const std::string& message);
std::string last_error();

// What one operation number of a communicator, or one message of a pair of ranks, brings together.
struct Meeting {
  std::vector<Operation> operations;  // as move_data wants them
  int first_rank = -1;                // that came
  size_t arrived = 0;
  bool is_broken = false;  // can never be complete
  bool is_done = false;

  bool is_complete() const { return arrived == operations.size() && !is_broken; }
};

class Rank;
class Launch;

// The ranks that share an id.
struct Clique {
  explicit Clique(int own_number) : number(own_number) {}

  // Puts `rank` in its place; when all have come, sees whether they can be a communicator.
  ncclResult_t join(Rank& rank, int size);
  // Gives all ranks the error.
  void fail_all(ncclResult_t result, const std::string& message);
  std::shared_ptr<Meeting> meet(Rank& rank, const Operation& operation);
  bool has_all() const { return !is_broken && !ranks.empty() && joined == ranks.size(); }

  const int number;
  std::vector<Rank*> ranks;  // null: not come yet, or gone again
  size_t joined = 0;
  bool is_broken = false;  // a rank has gone before all had come
  size_t finalized = 0;    // ranks
  // By sender and receiver, -1 and -1 for collectives, and by number.
  std::map<std::tuple<int, int, int64_t>, std::shared_ptr<Meeting>> open;
};

// One communicator handle. Its functions are called without the mutex, but where they say so.
class Rank {
 public:
  Rank(std::shared_ptr<Clique> own_clique, int own_rank, int own_device, bool blocks);

  // Under the mutex. Success where a call may use the communicator now.
  ncclResult_t check_usable() const;
  // For a communicator that blocks: until all have joined.
  ncclResult_t wait_for_all();
  // By lot leaves the launch for later, as a communicator that does not block may, and says that it is in progress.
  ncclResult_t start(std::shared_ptr<Launch> launch);
  // What ncclCommGetAsyncError says; takes a step of what is in progress.
  ncclResult_t poll();
  ncclResult_t finalize();
  // Returns when this rank's operations have ended.
  void drain();
  // Leaves the clique. What of this rank's has met with all it needs is still moved, since others count on it; the rest, here
  // and later, does nothing. Others that wait for it wait until they abort too.
  void abort();

  const std::shared_ptr<Clique> clique;
  const int rank, device;
  const bool is_blocking;

  // Under the mutex:
  ncclResult_t state = ncclInProgress;
  bool is_finalized = false, is_aborted = false;
  // Operations of a rank run one at a time, in the order of the calls, on whichever streams they are.
  int64_t issued = 0, ended = 0;
  const Launch* in_flight = nullptr;
  std::vector<std::shared_ptr<Meeting>> meetings;  // of what is in flight
  std::map<std::tuple<int, int, bool>, int64_t>
      numbers;  // of what has arrived: by sender, receiver, and whether it sends

 private:
  int draw_polls();
  template <typename Condition>
  void run_until(Condition is_true);

  std::shared_ptr<Launch> deferred_;
  bool is_issuing_ = false;
  int polls_left_;
  std::minstd_rand lot_;
};

// The calls of a rank from ncclGroupStart to ncclGroupEnd, or a single one: one kernel. Kept by the streams it is on; where
// these were captured, run again with each launch of the graph.
class Launch : public std::enable_shared_from_this<Launch> {
 public:
  explicit Launch(std::shared_ptr<Rank> rank) : rank_(std::move(rank)) {}

  void add(const Operation& operation, cudaStream_t stream);
  const std::shared_ptr<Rank>& rank() const { return rank_; }
  // A rank that sends to itself must receive in the same group, and the other way round.
  bool is_balanced() const;
  // Puts it on its streams; without the mutex.
  ncclResult_t issue();

 private:
  bool is_ready(size_t stream);
  void run();

  const std::shared_ptr<Rank> rank_;
  std::vector<Operation> operations_;
  std::vector<cudaStream_t> streams_;
  // Its place among the rank's calls; none where a graph runs it again. So a captured one holds up the rank's later calls
  // until the graph is first launched.
  std::optional<int64_t> ticket_;
  // Of this run:
  std::vector<bool> has_come_;  // by stream
  size_t streams_ended_ = 0;
  bool is_done_ = false;
};

}  // namespace emulated_gpu::nccl
