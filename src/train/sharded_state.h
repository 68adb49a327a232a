// Parameters, buffers, gradients and optimizer state, spread over ranks. They are read and written
// whole.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "models/parameter_store.h"
#include "train/local_ranks.h"

namespace troika {

class ShardedState {
 public:
  // All three must outlive it.
  ShardedState(const StepLayout& layout, const LocalRanks& ranks, const ParameterStore& store);

  StateTable& table_of(int rank) { return tables_[static_cast<size_t>(layout_.ranks().part_of(rank))]; }
  const StateTable& table_of(int rank) const { return tables_[static_cast<size_t>(layout_.ranks().part_of(rank))]; }

  // Whether a process lacks a part of the model, so that reading values is collective.
  bool is_scattered() const {
    return std::find(are_everywhere_.begin(), are_everywhere_.end(), false) != are_everywhere_.end();
  }
  bool is_split() const { return !ranks_.is_whole(); }  // over processes

  // ---- layouts: the same in all processes ----
  // Whether they are: always if this process holds the whole world, else after one of the calls
  // that follow.
  bool has_agreed() const { return has_agreed_; }
  // Compares the layouts that the first plans have decided. Returns false if processes differ:
  // then the state is released, all layouts are plain, and the plans must be compiled again.
  // Collective. COMM.
  bool agree_on_layouts();
  // Before any plan: all layouts are plain. All processes call it.
  void agree_on_plain_layouts();
  // NOT_INITIALIZED before the processes have agreed: `what` is a call of one process alone.
  void require_agreement(const char* what) const;

  // Whether every rank has memory for its state. A rank may lack it after a plan ran out of memory.
  bool is_allocated() const;
  void allocate();  // on the replicas that have no memory for their state yet
  // Lets later plans keep parameters in further layouts. Nothing may train.
  void pack();
  // Uses the layouts and the memory of the same ranks elsewhere, which must outlive this.
  void share(const ShardedState& owner);
  // Waits until everything that was written has arrived, in all layouts.
  void finish();

  // Values are row-major in host memory. `write` changes every local rank that holds the value or a
  // part of it. `read` takes each part from the first rank that has the part, a local one if
  // possible. Collective if a process lacks a part of the model.
  void write(Role role, const std::string& name, const void* data);
  // Whether `write` changes a local rank.
  bool holds(Role role, const std::string& name) const;
  void read(Role role, const std::string& name, void* data) const;
  // Reads the value as the rank has it. A parameter that is cut by channel is read whole.
  void read_from(int rank, Role role, const std::string& name, void* data) const;
  // Writes state that every rank holds, such as the loss scale.
  void write_everywhere(const std::string& name, const void* data);

  // Copies the running statistics of the largest share to the other shares. Collective.
  void share_buffers();

  // MISMATCH if ranks that should hold the same bits do not. Collective.
  void check_replicas() const;

 private:
  // Whether a local rank has the value's part as that share.
  bool holds_part(Role role, const std::string& parameter, int share, int part) const;
  void read_part(int part, Role role, const std::string& name, void* data, size_t bytes) const;
  bool every_process_holds(int part) const;
  void check_shares(const Location& location, int part, const std::string& what) const;
  void check_channel_groups() const;
  uint32_t checksum_of(int rank) const;

  const StepLayout& layout_;
  const LocalRanks& ranks_;
  const ParameterStore& store_;
  std::vector<StateTable> tables_;    // by part
  std::vector<bool> are_everywhere_;  // by part: each process holds the part
  bool has_agreed_;
};

}  // namespace troika
