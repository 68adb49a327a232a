// The other processes of a trainer's world: what all agree on before each batch.
#pragma once

#include <exception>
#include <optional>
#include <string>

#include "core/split.h"
#include "data/batch.h"
#include "train/batch_view.h"
#include "train/local_ranks.h"
#include "train/trainer_options.h"

namespace troika {

// The numbers that must be the same in all processes when a batch begins.
struct Standing {
  int64_t step = 0;
  double learning_rate = 0;
  int64_t settings = 0;         // a checksum of all of them
  bool has_new_values = false;  // the host has written values of the model
  double weight = 1;            // of the loss of a forward pass
  bool operator==(const Standing&) const = default;
};

// One thread at a time, apart from `abort`.
class Peers {
 public:
  // All must outlive it. In a whole world there are no other processes, and every batch is agreed
  // on.
  Peers(const LocalDevices& local, const RankMap& map, const LocalRanks& ranks, const TrainerOptions& options);

  bool exist() const { return exchange_ != nullptr; }
  // The shares of a batch of which this process needs the samples.
  const Division& division() const { return division_; }

  // The contribution of this process to a batch.
  struct Turn {
    const char* what = "";                // "a training step"
    const BatchOrigin* origin = nullptr;  // of a loader's batch
    Standing standing = {};
    bool stops = false;      // the host of this process wants to stop
    std::string error = {};  // why this process cannot go on; empty: it can
  };
  // Completes the view of this process's rows: the samples of the whole batch, the first row, the
  // labels that count and their weight. Collective. Returns false if a process wants to stop:
  // nothing may be done then. All throw if a process cannot go on, or if their standings differ, or
  // if the rows are not those that the processes need; all may go on with another batch. COMM if a
  // process is lost.
  bool agree(BatchView& view, const Turn& turn) const;

  // Checks this process's rows by check(), which fills in the view, and agrees on the batch as
  // above. An error of the check is thrown here, and by the others too. `takes_stop` says whether
  // this process's host wants to stop.
  template <typename TakeStop, typename Check>
  bool take(Turn turn, BatchView& view, TakeStop takes_stop, Check check) const {
    turn.stops = takes_stop();
    if (!exist()) {
      if (turn.stops) return false;
      check();
      return true;
    }
    try {
      check();
    } catch (const std::exception& e) {
      turn.error = e.what();
      try {
        agree(view, turn);
      } catch (const Error&) {  // the first error is the one to report
      }
      throw;
    }
    return agree(view, turn);
  }

  // All processes have the same values afterwards: those of process 0. Collective. MISMATCH if
  // process 0 has no value of a parameter that another process has.
  void share_values(ParameterStore& store) const;

  // Calls f(). If it throws in a process, all processes throw. Collective.
  template <typename F>
  void run_in_all(const char* what, F f) const {
    if (!exist()) return f();
    std::exception_ptr error;
    try {
      f();
    } catch (...) {
      error = std::current_exception();
    }
    share_error(what, error);
  }
  // Process 0 writes, and all learn whether it worked. Collective. Throws the error of `write`.
  template <typename Write>
  void write_once(const char* what, Write write) const {
    run_in_all(what, [&] {
      if (is_first()) write();
    });
  }
  bool is_first() const { return rank() == 0; }
  int rank() const { return exist() ? exchange_->rank() : 0; }
  int size() const { return exist() ? exchange_->size() : 1; }
  // Passes a message to all processes, and returns those of all, by rank. Collective. COMM.
  std::vector<std::string> all_gather(const char* what, const std::string& message) const {
    return exist() ? exchange_->all_gather(what, message, deadline()) : std::vector<std::string>{message};
  }
  // Throws the first error that a process has. Collective.
  void share_error(const char* what, const std::exception_ptr& error) const;

  // Returns when all processes have come, or throws COMM soon.
  void meet(const char* what) const;

  // Ends the world: no process can go on.
  void abort(const std::string& reason) const;

 private:
  struct Message;
  void compare_standings(const std::vector<Message>& all) const;
  int64_t find_batch(const std::vector<Message>& all) const;
  void count_labels(BatchView& view, const std::vector<Message>& all, const char* what) const;
  Deadline deadline() const { return std::chrono::steady_clock::now() + deadline_; }

  std::shared_ptr<Exchange> exchange_;
  const LocalRanks& ranks_;
  const std::optional<int32_t> ignored_;  // a label that does not count
  const std::chrono::milliseconds deadline_;
  Division division_;
  std::vector<Division> divisions_;  // by process
  std::vector<Division> led_;        // by process: each share belongs to one process, which counts its labels
};

}  // namespace troika
