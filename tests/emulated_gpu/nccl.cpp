// NCCL for GPUs in software: its C functions, their checks, and groups of calls. The ranks are
// threads of one process, or of several if EMULATED_NCCL_FOLDER names a folder for their data. The
// stand-in is stricter than the real NCCL:
// - The communicator's GPU must be current.
// - Ranks that disagree get an error. The real NCCL hangs or moves wrong data.
//
// Alignment and buffers are checked, but not whether the buffers are memory of a GPU.
#include <nccl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "core/text.h"
#include "creations.h"
#include "gpu.h"
#include "nccl_clique.h"
#include "streams.h"

namespace emulated_gpu::nccl {
namespace {

using troika::text;

constexpr std::string_view kWire = "wire ";  // begins the id of ranks of several processes

// Handles are numbers that are never used twice, so that the use of a destroyed handle is noticed.
struct Registry {
  std::map<ncclComm_t, std::shared_ptr<Rank>> ranks;
  std::map<std::string, std::shared_ptr<Clique>> cliques;  // by id, until all ranks have joined
  uintptr_t last_handle = 0;
  int last_clique = 0;

  static Registry& get() {  // under the mutex
    static Registry& registry = *new Registry;
    return registry;
  }
};

// The calls of this thread since ncclGroupStart.
struct Group {
  int depth = 0;
  ncclResult_t result = ncclSuccess;  // the first failure
  std::vector<std::shared_ptr<Launch>> launches;
  std::vector<std::pair<ncclComm_t*, std::shared_ptr<Rank>>> joining;
};

thread_local Group group;

std::shared_ptr<Rank> find(ncclComm_t handle) {
  std::lock_guard lock(mutex());
  const auto& ranks = Registry::get().ranks;
  const auto found = ranks.find(handle);
  if (found != ranks.end()) return found->second;
  fail(ncclInvalidArgument, handle ? "the communicator has been destroyed or aborted" : "the communicator is null");
  return nullptr;
}

const LiveKind ranks_kind("NCCL communicators", [] {
  std::lock_guard lock(mutex());
  return Registry::get().ranks.size();
});

void forget(const Rank& rank) {
  std::lock_guard lock(mutex());
  std::erase_if(Registry::get().ranks, [&](const auto& entry) { return entry.second.get() == &rank; });
}

// Makes the group of the current call fail, if there is a group. Returns `result`.
ncclResult_t refuse(ncclResult_t result) {
  if (group.depth > 0 && group.result == ncclSuccess) group.result = result;
  return result;
}

ncclResult_t join_all(const Group& ended) {
  ncclResult_t result = ncclSuccess;
  for (const auto& [handle, rank] : ended.joining) {
    if (!rank->is_blocking) {
      result = ncclInProgress;
      continue;
    }
    const ncclResult_t own = ended.result == ncclSuccess ? rank->wait_for_all() : ended.result;
    if (own == ncclSuccess) continue;
    rank->abort();
    forget(*rank);
    *handle = nullptr;
    result = own;
  }
  return result;
}

ncclResult_t start_all(const Group& ended) {
  ncclResult_t result = ncclSuccess;
  for (const auto& launch : ended.launches) {
    if (launch->rank()->is_blocking != ended.launches[0]->rank()->is_blocking)
      return fail(ncclInvalidArgument, "a group has communicators that block and others that do not");
    if (!launch->is_balanced())
      return fail(ncclInvalidUsage, text("rank ", launch->rank()->rank, " sends to itself without a matching receive"));
  }
  for (const auto& launch : ended.launches) {
    const ncclResult_t own = launch->rank()->start(launch);
    if (result == ncclSuccess || (result == ncclInProgress && own != ncclSuccess)) result = own;
  }
  return result;
}

ncclResult_t end_group() {
  if (group.depth == 0) return fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--group.depth > 0) return ncclSuccess;
  const Group ended = std::exchange(group, Group());
  const ncclResult_t joined = join_all(ended);
  if (ended.result != ncclSuccess) return ended.result;
  if (ended.joining.empty()) return start_all(ended);
  if (ended.launches.empty()) return joined;
  return fail(ncclInvalidUsage, "a group creates communicators and calls others");
}

ncclResult_t check(const Rank& rank, const Operation& operation) {
  {
    std::lock_guard lock(mutex());
    if (const ncclResult_t result = rank.check_usable(); result != ncclSuccess) return result;
  }
  if (current_gpu() != rank.device)
    return fail(ncclInvalidUsage,
                text("rank ", rank.rank, " is of GPU ", rank.device, ", but GPU ", current_gpu(), " is current"));
  const std::string fault = fault_of(operation, rank.rank, static_cast<int>(rank.clique->ranks.size()));
  return fault.empty() ? ncclSuccess : fail(ncclInvalidArgument, text("rank ", rank.rank, ": ", fault));
}

ncclResult_t call(ncclComm_t handle, const Operation& operation, cudaStream_t stream) {
  const std::shared_ptr<Rank> rank = find(handle);
  if (!rank) return refuse(ncclInvalidArgument);
  if (const ncclResult_t result = check(*rank, operation); result != ncclSuccess) {
    std::lock_guard lock(mutex());
    if (!rank->is_blocking) rank->state = result;  // unusable from now on, as in real NCCL
    return refuse(result);
  }
  if (operation.count == 0 && !operation.is_point_to_point()) return ncclSuccess;  // no-op, as in NCCL
  ++group.depth;
  std::shared_ptr<Launch> launch;
  for (const auto& other : group.launches)
    if (other->rank() == rank) launch = other;
  if (!launch) group.launches.push_back(launch = std::make_shared<Launch>(rank));
  launch->add(operation, stream);
  return end_group();
}

// Runs what is on the GPUs, as long as the process runs: another process may wait for a rank whose
// thread waits for something else.
void keep_running() {
  static const bool is_started = [] {
    std::thread([] {
      while (true) {
        run_some();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    }).detach();
    return true;
  }();
  static_cast<void>(is_started);
}

ncclResult_t join(ncclComm_t* handle, int size, const ncclUniqueId& id, int own_rank, bool is_blocking) {
  if (!handle) return refuse(fail(ncclInvalidArgument, "the place for the communicator is null"));
  *handle = nullptr;
  if (must_fail("ncclCommInitRank")) return refuse(fail(ncclSystemError, "out of memory"));
  if (size < 1 || own_rank < 0 || own_rank >= size)
    return refuse(fail(ncclInvalidArgument, text("rank ", own_rank, " is not one of ", size)));
  std::shared_ptr<Rank> rank;
  {
    std::lock_guard lock(mutex());
    Registry& registry = Registry::get();
    const std::string name(id.internal, sizeof id.internal);
    const bool is_wire = name.starts_with(kWire);
    if (is_wire) keep_running();
    if (is_wire && is_blocking) return refuse(fail(ncclInvalidUsage, "ranks of several processes may not block"));
    const auto found = registry.cliques.find(name);
    if (!is_wire && found == registry.cliques.end())
      return refuse(
          fail(ncclSystemError,
               "no communicator waits for ranks with this id: all ranks have joined, or the id is of another process"));
    const auto clique = is_wire ? std::make_shared<Clique>(++registry.last_clique, name.c_str() + kWire.size(), own_rank)
                                : found->second;
    rank = std::make_shared<Rank>(clique, own_rank, current_gpu(), is_blocking);
    if (const ncclResult_t result = clique->join(*rank, size); result != ncclSuccess) return refuse(result);
    if (!is_wire && clique->has_all()) registry.cliques.erase(found);
    *handle = reinterpret_cast<ncclComm_t>(++registry.last_handle);
    registry.ranks[*handle] = rank;
  }
  ++group.depth;
  group.joining.emplace_back(handle, rank);
  const ncclResult_t result = end_group();
  return result == ncclSuccess && !is_blocking ? ncclInProgress : result;
}

// Stores a property of the communicator in `place`, once all ranks have joined.
template <typename Value>
ncclResult_t answer(ncclComm_t handle, int* place, Value value) {
  const std::shared_ptr<Rank> rank = find(handle);
  if (!rank) return ncclInvalidArgument;
  if (!place) return fail(ncclInvalidArgument, "the place for the answer is null");
  std::lock_guard lock(mutex());
  if (const ncclResult_t result = rank->check_usable(); result != ncclSuccess) return result;
  *place = value(*rank);
  return ncclSuccess;
}

}  // namespace
}  // namespace emulated_gpu::nccl

using namespace emulated_gpu::nccl;
using emulated_gpu::ended;
using emulated_gpu::must_fail;

ncclResult_t ncclGetVersion(int* version) {
  if (!version) return fail(ncclInvalidArgument, "the place for the version is null");
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInternalError: return "internal error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t) {
  static thread_local std::string copy;  // the text may change while it is read
  copy = last_error();
  return copy.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (!id) return fail(ncclInvalidArgument, "the place for the id is null");
  if (must_fail("ncclGetUniqueId")) return fail(ncclSystemError, "out of memory");
  std::lock_guard lock(mutex());
  Registry& registry = Registry::get();
  *id = {};
  if (const char* const folder = std::getenv("EMULATED_NCCL_FOLDER")) {
    const std::string name = text(kWire, folder, '/', getpid(), '-', ++registry.last_clique);
    if (name.size() >= sizeof id->internal) return fail(ncclSystemError, text("the name is too long: ", name));
    std::memcpy(id->internal, name.data(), name.size());
    return ncclSuccess;
  }
  const std::string name = text("emulated clique ", ++registry.last_clique, " of ", static_cast<void*>(&registry));
  std::memcpy(id->internal, name.data(), name.size());
  registry.cliques[std::string(id->internal, sizeof id->internal)] = std::make_shared<Clique>(registry.last_clique);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  const ncclConfig_t expected = NCCL_CONFIG_INITIALIZER;
  if (config && (config->magic != expected.magic || config->size > expected.size))
    return refuse(fail(ncclInvalidArgument, "the configuration was not initialized"));
  const int blocking = config ? config->blocking : NCCL_CONFIG_UNDEF_INT;
  if (blocking != NCCL_CONFIG_UNDEF_INT && blocking != 0 && blocking != 1)
    return refuse(fail(ncclInvalidArgument, text("blocking is ", blocking, ", need 0 or 1")));
  return join(comm, size, id, rank, blocking != 0);
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return join(comm, size, id, rank, true);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  const std::shared_ptr<Rank> rank = find(comm);
  if (!rank) return ncclInvalidArgument;
  if (!error) return fail(ncclInvalidArgument, "the place for the error is null");
  *error = rank->poll();
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const std::shared_ptr<Rank> rank = find(comm);
  return rank ? rank->finalize() : ncclInvalidArgument;
}

// Waits for this rank's operations. Does not wait for other ranks.
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  const std::shared_ptr<Rank> rank = find(comm);
  if (!rank) return ncclInvalidArgument;
  {
    std::lock_guard lock(mutex());
    if (!rank->is_finalized || rank->state != ncclSuccess)
      if (const ncclResult_t result = rank->check_usable(); result != ncclSuccess) return result;
    if (!std::exchange(rank->is_finalized, true)) ++rank->clique->finalized;
  }
  rank->drain();
  rank->abort();
  forget(*rank);
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  if (!comm) return ncclSuccess;
  const std::shared_ptr<Rank> rank = find(comm);
  if (!rank) return ended(ncclInvalidArgument);
  rank->abort();
  forget(*rank);
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return answer(comm, count, [](const Rank& rank) { return static_cast<int>(rank.clique->ranks.size()); });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return answer(comm, rank, [](const Rank& own) { return own.rank; });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return answer(comm, device, [](const Rank& rank) { return rank.device; });
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                           ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::all_reduce, in, out, count, type, reduction}, stream);
}

ncclResult_t ncclReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t reduction, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::reduce, in, out, count, type, reduction, root}, stream);
}

ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return call(comm, {Kind::broadcast, in, out, count, type, ncclSum, root}, stream);
}

ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return call(comm, {Kind::all_gather, in, out, count, type}, stream);
}

ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t reduction,
                               ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::reduce_scatter, in, out, count, type, reduction}, stream);
}

ncclResult_t ncclSend(const void* in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return call(comm, {Kind::send, in, nullptr, count, type, ncclSum, peer}, stream);
}

ncclResult_t ncclRecv(void* out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return call(comm, {Kind::receive, nullptr, out, count, type, ncclSum, peer}, stream);
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() { return end_group(); }
