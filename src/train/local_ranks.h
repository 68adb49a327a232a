// The ranks of the world that this process holds, each with its replica.
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/transport.h"
#include "group/exchange.h"
#include "plan/step_layout.h"
#include "train/context.h"
#include "train/replica.h"

namespace troika {

// The ranks of a world that this process holds, ascending, and their devices.
struct LocalDevices {
  // ---- of several processes; null and empty: this process holds the whole world ----
  std::shared_ptr<Exchange> exchange;
  std::shared_ptr<SharedLink> link;
  std::shared_ptr<MachineMemory> memory;  // null: each process has its own
  std::vector<int> owners;                // by rank: the process that holds the rank
  std::vector<int> nodes;                 // by process: its machine
  bool takes_vendor_sums = true;          // World::takes_vendor_sums
  std::optional<CpuShare> cpus;           // of this process; none: those of the context

  // This process holds the whole world: rank i is on devices[i].
  LocalDevices(std::vector<DeviceId> all);
  LocalDevices(std::vector<DeviceKind> of_all, std::vector<int> held, std::vector<DeviceId> of_held);

  int world_size() const { return static_cast<int>(kinds.size()); }
  bool mixes_kinds() const;  // some ranks are on CPUs, others on GPUs

  std::vector<DeviceKind> kinds;  // by rank, of the whole world
  int threads = 0;                // of each CPU device; 0: its share of the context's
  bool runs_on_callers = false;   // on the threads that call, if the devices allow it
  std::vector<int> ranks;
  std::vector<DeviceId> devices;
};

struct LocalRank {
  int rank;  // in the world
  std::unique_ptr<Replica> replica;
};

// The local ranks that compute a batch: all of them, or one alone.
struct ActiveRanks {
  std::vector<int> ranks;
  bool is_alone = false;
};

class LocalRanks {
 public:
  // Opens the devices. `connects`: the ranks get the ends of their groups.
  LocalRanks(const Context& context, const LocalDevices& local, const StepLayout& layout, bool connects,
             bool collects_trace, std::chrono::milliseconds deadline);

  ~LocalRanks();

  std::vector<LocalRank>::const_iterator begin() const { return ranks_.begin(); }
  std::vector<LocalRank>::const_iterator end() const { return ranks_.end(); }
  size_t size() const { return ranks_.size(); }
  Replica& first() const { return *ranks_.front().replica; }
  bool holds(int rank) const;
  Replica& at(int rank) const;  // UNSUPPORTED if another process holds the rank
  int process_of(int rank) const { return owners_.empty() ? 0 : owners_[static_cast<size_t>(rank)]; }
  int process() const { return process_; }       // this one
  bool is_whole() const { return !host_; }       // this process holds all ranks
  bool mix_kinds() const { return mix_kinds_; }  // LocalDevices::mixes_kinds
  const ActiveRanks& all() const { return all_; }
  bool run_ahead() const;  // every replica does
  // The seconds of the last run in which a replica waited for other ranks: of the one that waited
  // least. 0 if they run ahead: then the devices wait.
  double least_wait() const;

  // Passes pieces of host memory from their owners, which are processes, to all processes.
  // Collective. COMM.
  void all_gather(const std::vector<OwnedBytes>& pieces, void* data) const;
  // Passes a text to all processes, and returns those of all, by process. Collective. COMM.
  std::vector<std::string> gather_texts(const char* what, const std::string& own) const;
  // Passes `bytes` of a process to all.
  void broadcast(int process, void* data, size_t bytes) const { all_gather({{0, bytes, process}}, data); }
  void abort(const std::string& reason) const;  // ends the groups of all ranks
  // Rethrows the error of a run. If the processes have failed, the error is what all of them know:
  // a process may have waited for another that waits itself.
  [[noreturn]] void rethrow(const std::exception_ptr& error) const;

 private:
  void connect(const Context& context, const LocalDevices& local, const std::vector<std::shared_ptr<Device>>& devices,
               const StepLayout& layout);
  const LocalRank* find(int rank) const;  // null: another process holds the rank

  std::vector<LocalRank> ranks_;
  ActiveRanks all_;
  std::vector<int> owners_;
  const bool mix_kinds_;
  std::shared_ptr<Exchange> exchange_;  // of the processes; null: there is one
  int process_ = 0;
  std::unique_ptr<Communicator> host_;  // of the processes; null: there is one
  std::chrono::milliseconds deadline_;
};

}  // namespace troika
