// Collectives by NCCL, with deadlines and without a blocking call.
#include "comm/nccl/nccl_communicator.h"

#include <thread>

#include "comm/nccl/nccl_library.h"
#include "core/error.h"
#include "core/text.h"

namespace troika::nccl {
namespace {

constexpr std::chrono::seconds kTimeToStart{60};  // of a call that NCCL has in progress
constexpr std::chrono::seconds kTimeToEnd{30};    // for work that is under way when a rank ends

void check(cudaError_t status, int rank) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // the error is reported here, not by the next launch
  throw Error(Status::comm, text("rank ", rank, ": CUDA: ", cudaGetErrorString(status)));
}

cudaEvent_t create_event(int rank) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), rank);
  return event;
}

ncclDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return ncclFloat64;
    case DType::i32: return ncclInt32;
    case DType::i64: return ncclInt64;
    default: return ncclFloat32;
  }
}

// Starts one operation for all pieces. NCCL's own all-gather and reduce-scatter need pieces of one
// size.
template <typename Call>
ncclResult_t for_each(const std::vector<OwnedBytes>& pieces, Call&& call) {
  const Library& library = Library::get();
  ncclResult_t result = library.group_start();
  for (const OwnedBytes& piece : pieces)
    if (piece.begin < piece.end && (result == ncclSuccess || result == ncclInProgress)) result = call(piece);
  const ncclResult_t ended = library.group_end();
  return result == ncclSuccess || result == ncclInProgress ? ended : result;
}

}  // namespace

NcclCommunicator::NcclCommunicator(int rank, int size, const ncclUniqueId& id, Rank own, Deadline deadline)
    : rank_(rank), size_(size), own_(own) {
  const Library& library = Library::get();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t result = library.init_rank(comm_.out(), size, id, rank, &config);
  library.check(result, text("rank ", rank, " of ", size, ": joining the group"));
  settle(result, "joining the group", deadline);
  own_.is_given_up = nullptr;
  int least = 0, greatest = 0;  // of priorities: collectives begin before waiting launches
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), rank_);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest), rank_);
  stream_.reset(stream);
}

void NcclCommunicator::reserve(int slots) {
  std::lock_guard lock(mutex_);
  while (slots_.size() < static_cast<size_t>(slots)) {
    Slot slot;
    slot.ready.reset(create_event(rank_));
    slot.done.reset(create_event(rank_));
    slots_.push_back(std::move(slot));
  }
}

// Aborts the communicator when its own work is done.
NcclCommunicator::~NcclCommunicator() {
  const Deadline deadline = std::chrono::steady_clock::now() + kTimeToEnd;
  while (!is_aborted_ && cudaStreamQuery(stream_.get()) == cudaErrorNotReady &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  cudaGetLastError();  // removes the error that the queries left
  comm_.abort();
  cudaStreamSynchronize(stream_.get());
}

void NcclCommunicator::require_usable() const {
  if (is_aborted_) throw Error(Status::comm, text("rank ", rank_, ": the group was aborted: ", abort_reason_));
}

// NCCL itself notices late, or never, that another process has gone.
void NcclCommunicator::require_processes() const {
  if (!own_.processes) return;
  if (const std::string reason = own_.processes->failure(); !reason.empty())
    throw Error(Status::comm, text("rank ", rank_, ": the group was aborted: ", reason));
}

// Waits for a call that is in progress, before the next call and before later launches.
void NcclCommunicator::settle(ncclResult_t result, const char* what, Deadline deadline) {
  const Library& library = Library::get();
  while (result == ncclInProgress) {
    library.check(library.get_async_error(comm_.get(), &result), text("rank ", rank_, ": ", what));
    library.check(result, text("rank ", rank_, ": ", what));
    if (result != ncclInProgress) break;
    if (std::chrono::steady_clock::now() >= deadline)
      throw Error(Status::comm, text("rank ", rank_, " of ", size_, ": ", what, " did not end before the deadline"));
    if (is_aborting_ || (own_.is_given_up && *own_.is_given_up))
      throw Error(Status::comm, text("rank ", rank_, " of ", size_, ": ", what, " ended, as another rank failed"));
    require_processes();
    std::this_thread::yield();
  }
}

// Runs after the launches so far, concurrently with those that follow. `call` is one operation of
// NCCL, or a group of them.
template <typename Call>
void NcclCommunicator::start_call(int slot, const char* what, Call&& call) {
  std::lock_guard lock(mutex_);
  require_usable();
  Slot& s = slots_.at(static_cast<size_t>(slot));
  check(cudaEventRecord(s.ready.get(), own_.stream), rank_);
  check(cudaStreamWaitEvent(stream_.get(), s.ready.get(), 0), rank_);
  const ncclResult_t result = call();
  Library::get().check(result, text("rank ", rank_, ": ", what, ' ', slot));
  settle(result, what, std::chrono::steady_clock::now() + kTimeToStart);
  check(cudaEventRecord(s.done.get(), stream_.get()), rank_);
}

void NcclCommunicator::start(int slot, const Collective& collective, void* data) {
  check_dtype(slot, rank_, collective);
  start_call(slot, name_of(collective.kind), [&] { return call(collective, static_cast<std::byte*>(data)); });
}

ncclResult_t NcclCommunicator::call(const Collective& collective, std::byte* data) {
  const Library& library = Library::get();
  const auto count = static_cast<size_t>(collective.count);
  switch (collective.kind) {
    case CollectiveKind::all_of:
      return library.all_reduce(data, data, 1, ncclInt32, ncclMin, comm_.get(), stream_.get());
    case CollectiveKind::all_gather:
      return for_each(*collective.pieces, [&](const OwnedBytes& piece) {
        std::byte* const begin = data + piece.begin;
        return library.broadcast(begin, begin, piece.end - piece.begin, ncclUint8, piece.owner, comm_.get(),
                                 stream_.get());
      });
    case CollectiveKind::reduce_scatter:
      return for_each(*collective.pieces, [&](const OwnedBytes& piece) {
        std::byte* const begin = data + piece.begin;
        return library.reduce(begin, begin, (piece.end - piece.begin) / sizeof(float), ncclFloat, ncclSum, piece.owner,
                              comm_.get(), stream_.get());
      });
    default:  // a sum: NCCL's fastest paths have no average, and the loss has the factor 1 / batch
      return library.all_reduce(data, data, count, type_of(collective.dtype), ncclSum, comm_.get(), stream_.get());
  }
}

void NcclCommunicator::wait(int slot, Deadline) {
  std::lock_guard lock(mutex_);
  require_usable();
  check(cudaStreamWaitEvent(own_.stream, slots_.at(static_cast<size_t>(slot)).done.get(), 0), rank_);
}

void NcclCommunicator::progress() {
  std::lock_guard lock(mutex_);
  require_usable();
  require_processes();
  ncclResult_t state = ncclSuccess;
  const Library& library = Library::get();
  library.check(library.get_async_error(comm_.get(), &state), text("rank ", rank_, " of ", size_));
  library.check(state, text("rank ", rank_, " of ", size_));
}

void NcclCommunicator::abort(const std::string& reason) {
  is_aborting_ = true;
  std::lock_guard lock(mutex_);
  if (is_aborted_) return;
  is_aborted_ = true;
  abort_reason_ = reason;
  comm_.abort();
}

}  // namespace troika::nccl
