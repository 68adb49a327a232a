// The arrivals of ranks, and the run that moves the data of all of them.
#include "nccl_clique.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "core/text.h"
#include "gpu.h"

namespace emulated_gpu::nccl {
namespace {

using troika::text;

constexpr int kMostPolls = 3;  // that an operation in progress needs

// Makes a GPU current for a scope.
class CurrentGpu {
 public:
  explicit CurrentGpu(int gpu) : before_(current_gpu()) {
    if (gpu != before_) cudaSetDevice(gpu);
  }
  ~CurrentGpu() {
    if (current_gpu() != before_) cudaSetDevice(before_);
  }
  CurrentGpu(const CurrentGpu&) = delete;
  CurrentGpu& operator=(const CurrentGpu&) = delete;

 private:
  const int before_;
};

std::string& last_message() {
  static std::string& message = *new std::string;
  return message;
}

std::mutex& message_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

}  // namespace

// These objects are never destroyed, since streams may still run when the process ends.
std::mutex& mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

std::condition_variable& changed() {
  static std::condition_variable& changed = *new std::condition_variable;
  return changed;
}

ncclResult_t fail(ncclResult_t result, const std::string& message) {
  std::lock_guard lock(message_mutex());
  last_message() = message;
  return result;
}

std::string last_error() {
  std::lock_guard lock(message_mutex());
  return last_message();
}

ncclResult_t Clique::join(Rank& rank, int size) {
  if (ranks.empty()) ranks.resize(static_cast<size_t>(size));
  if (ranks.size() != static_cast<size_t>(size))
    return fail(ncclInvalidArgument, text("rank ", rank.rank, " joins ", size, " ranks, others ", ranks.size()));
  Rank*& place = ranks[static_cast<size_t>(rank.rank)];
  if (place) return fail(ncclInvalidUsage, text("rank ", rank.rank, " of ", size, " joins twice"));
  place = &rank;
  if (wire) {
    const char* const host = std::getenv("NCCL_HOSTID");
    wire->join(size, text("GPU", rank.device, "-of-", host ? host : "this-host"));
    return ncclSuccess;
  }
  ++joined;
  changed().notify_all();
  if (joined < ranks.size()) return ncclSuccess;
  for (const Rank* a : ranks)
    for (const Rank* b : ranks)
      if (a && b && a->rank < b->rank && a->device == b->device)
        fail_all(ncclInvalidUsage, text("Duplicate GPU detected : rank ", a->rank, " and rank ", b->rank,
                                        " both on CUDA device ", a->device));
  return ncclSuccess;
}

bool Clique::has_all() {
  if (is_broken || ranks.empty()) return false;
  if (!wire || joined == ranks.size()) return joined == ranks.size();
  std::string fault;
  if (!wire->have_joined(static_cast<int>(ranks.size()), fault)) return false;
  joined = ranks.size();
  if (!fault.empty()) fail_all(ncclInvalidUsage, fault);
  return true;
}

void Clique::fail_all(ncclResult_t result, const std::string& message) {
  fail(result, message);
  for (Rank* rank : ranks)
    if (rank && (rank->state == ncclSuccess || rank->state == ncclInProgress)) rank->state = result;
  changed().notify_all();
}

std::shared_ptr<Meeting> Clique::meet(Rank& rank, const Operation& operation) {
  const bool is_message = operation.is_point_to_point(), is_send = operation.kind == Kind::send;
  const int from = !is_message ? -1 : is_send ? rank.rank : operation.root;
  const int to = !is_message ? -1 : is_send ? operation.root : rank.rank;
  const int64_t turn = rank.numbers[{from, to, is_send}]++;
  const size_t own_index = !is_message ? static_cast<size_t>(rank.rank) : is_send ? 0 : 1;
  if (wire) {
    auto meeting = std::make_shared<Meeting>();
    meeting->key = {from, to, turn};
    meeting->operations.assign(is_message ? 2 : ranks.size(), operation);
    meeting->memories.resize(meeting->operations.size());
    meeting->first_rank = rank.rank;
    meeting->arrived = 1;
    wire->send(meeting->key, own_index, operation);
    return meeting;
  }
  std::shared_ptr<Meeting>& place = open[{from, to, turn}];
  if (!place) {
    place = std::make_shared<Meeting>();
    place->operations.resize(is_message ? 2 : ranks.size());
    place->first_rank = rank.rank;
  }
  const std::shared_ptr<Meeting> meeting = place;
  const size_t index = own_index;
  if (meeting->arrived > 0) {
    const size_t first = !is_message ? static_cast<size_t>(meeting->first_rank) : 1 - index;
    const std::string own = describe(operation), expected = describe(meeting->operations[first]);
    if (own != expected) {
      meeting->is_broken = true;
      fail_all(
          ncclInvalidArgument,
          text(is_message ? text("message ", turn, " from rank ", from, " to rank ", to) : text("collective ", turn),
               ": rank ", rank.rank, " has ", own, ", rank ", meeting->first_rank, " has ", expected));
    }
  }
  meeting->operations[index] = operation;
  if (++meeting->arrived == meeting->operations.size()) open.erase({from, to, turn});
  return meeting;
}

bool Clique::is_complete(const Rank& rank, Meeting& meeting) {
  if (!wire || meeting.is_complete() || meeting.is_broken) return meeting.is_complete();
  const auto [from, to, turn] = meeting.key;
  const bool is_message = from >= 0;
  const size_t own = !is_message ? static_cast<size_t>(rank.rank) : from == rank.rank ? 0 : 1;
  for (size_t index = 0; index < meeting.operations.size(); ++index) {
    if (index == own || !meeting.memories[index].empty()) continue;
    Operation& operation = meeting.operations[index];
    std::string description;
    if (!wire->receive(meeting.key, index, operation, description, meeting.memories[index])) continue;
    if (is_message) {
      operation.kind = index == 0 ? Kind::send : Kind::receive;
      wire->forget(meeting.key, index);  // nobody else reads it
    }
    if (const std::string expected = describe(meeting.operations[own]); description != expected) {
      meeting.is_broken = true;
      fail_all(ncclInvalidArgument, text("collective ", turn, ": rank ", rank.rank, " has ", expected, ", another has ",
                                         description));
    }
    ++meeting.arrived;
  }
  return meeting.is_complete();
}

// All ranks have ended the launch before when they arrive at this one.
void Clique::end(const Rank& rank, const std::vector<std::shared_ptr<Meeting>>& meetings) {
  if (!wire) return;
  for (const MeetingKey& key : std::exchange(sent, {})) wire->forget(key, static_cast<size_t>(rank.rank));
  for (const auto& meeting : meetings)
    if (std::get<0>(meeting->key) < 0) sent.push_back(meeting->key);
}

Rank::Rank(std::shared_ptr<Clique> own_clique, int own_rank, int own_device, bool blocks)
    : clique(std::move(own_clique)),
      rank(own_rank),
      device(own_device),
      is_blocking(blocks),
      lot_(static_cast<unsigned>(1 + 64 * clique->number + rank)) {
  polls_left_ = draw_polls();
}

int Rank::draw_polls() { return 1 + static_cast<int>(lot_() % kMostPolls); }

ncclResult_t Rank::check_usable() const {
  if (state == ncclInProgress)  // real NCCL also reports an invalid argument
    return fail(ncclInvalidArgument, text("rank ", rank, ": used before the last call returned success"));
  if (is_finalized) return fail(ncclInvalidArgument, text("rank ", rank, ": used after ncclCommFinalize"));
  return state;
}

ncclResult_t Rank::wait_for_all() {
  std::unique_lock lock(mutex());
  changed().wait(lock, [&] { return state != ncclInProgress || clique->has_all(); });
  if (state == ncclInProgress) state = ncclSuccess;
  return state;
}

ncclResult_t Rank::start(std::shared_ptr<Launch> launch) {
  {
    std::lock_guard lock(mutex());
    if (state != ncclSuccess) return state;  // an error since the call was checked
    if (!is_blocking && lot_() % 4 != 0) {
      deferred_ = std::move(launch);
      polls_left_ = draw_polls();
      return state = ncclInProgress;
    }
  }
  return launch->issue();
}

ncclResult_t Rank::poll() {
  std::shared_ptr<Launch> launch;
  {
    std::lock_guard lock(mutex());
    if (state != ncclInProgress || is_issuing_ || !clique->has_all()) return state;
    if (is_finalized && (ended < issued || clique->finalized < clique->ranks.size())) return state;
    if (--polls_left_ > 0) return state;
    if (!deferred_) return state = ncclSuccess;
    launch = std::move(deferred_);
    is_issuing_ = true;
  }
  const ncclResult_t result = launch->issue();
  std::lock_guard lock(mutex());
  is_issuing_ = false;
  if (state == ncclInProgress) state = result;
  return state;
}

ncclResult_t Rank::finalize() {
  {
    std::lock_guard lock(mutex());
    if (const ncclResult_t result = check_usable(); result != ncclSuccess) return result;
    is_finalized = true;
    ++clique->finalized;
    changed().notify_all();
    if (!is_blocking) {
      polls_left_ = draw_polls();
      return state = ncclInProgress;
    }
  }
  run_until([&] { return (ended == issued && clique->finalized == clique->ranks.size()) || state != ncclSuccess; });
  std::lock_guard lock(mutex());
  return state;
}

void Rank::drain() {
  run_until([&] { return ended == issued; });
}

// GPUs in software make progress only when a thread queries a stream. Queries a stream of its own,
// since the streams of the calls may be destroyed.
template <typename Condition>
void Rank::run_until(Condition is_true) {
  const CurrentGpu gpu(device);
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  std::unique_lock lock(mutex());
  while (!is_true()) {
    lock.unlock();
    cudaStreamQuery(stream);
    lock.lock();
    changed().wait_for(lock, std::chrono::microseconds(200), is_true);
  }
  lock.unlock();
  cudaStreamDestroy(stream);
}

void Rank::abort() {
  std::shared_ptr<Launch> dropped;
  std::lock_guard lock(mutex());
  is_aborted = true;
  dropped.swap(deferred_);
  if (!clique->has_all()) clique->is_broken = true;
  Rank*& place = clique->ranks[static_cast<size_t>(rank)];
  if (place == this) place = nullptr;
  for (const auto& meeting : meetings) {
    if (meeting->is_complete()) continue;
    meeting->is_broken = true;
    for (Rank* other : clique->ranks)  // only some connections report that the other rank has left
      if (other && std::count(other->meetings.begin(), other->meetings.end(), meeting) > 0 && lot_() % 2 == 0 &&
          other->state == ncclSuccess)
        other->state = fail(ncclRemoteError, text("rank ", other->rank, ": rank ", rank, " has gone"));
  }
  changed().notify_all();
}

void Launch::add(const Operation& operation, cudaStream_t stream) {
  operations_.push_back(operation);
  if (std::find(streams_.begin(), streams_.end(), stream) == streams_.end()) streams_.push_back(stream);
}

bool Launch::is_balanced() const {
  int64_t sent = 0;
  for (const Operation& o : operations_)
    if (o.is_point_to_point() && o.root == rank_->rank) sent += o.kind == Kind::send ? 1 : -1;
  return sent == 0;
}

ncclResult_t Launch::issue() {
  const CurrentGpu gpu(rank_->device);
  {
    std::lock_guard lock(mutex());
    has_come_.resize(streams_.size());
    ticket_ = rank_->issued++;
  }
  const auto self = shared_from_this();
  const bool is_between_processes = rank_->clique->wire != nullptr;
  const bool arrives = !is_between_processes ||
                       enqueue(streams_[0], {[self] { self->arrive(); }, [self] { return self->is_turn(); }, true});
  for (size_t i = 0; i < streams_.size(); ++i)
    if (!arrives || !enqueue(streams_[i], {[self] { self->run(); }, [self, i] { return self->is_ready(i); }, true})) {
      std::lock_guard lock(mutex());
      return rank_->state =
                 fail(ncclUnhandledCudaError, text("rank ", rank_->rank, ": the stream is not of GPU ", rank_->device));
    }
  return ncclSuccess;
}

// An operation arrives when all its streams have reached it and the rank's earlier operations have
// ended. It is ready when the operations of all partners have arrived. Then all buffers are ready.
// Later work cannot write to a buffer before the data has moved, since the work of no partner has
// ended.
// Between processes the data are written when the operation arrives. Only running work can read
// them, so arriving is work of its own, on the first stream.
bool Launch::is_turn() {
  std::lock_guard lock(mutex());
  return rank_->is_aborted || (!rank_->in_flight && (!ticket_ || *ticket_ == rank_->ended));
}

void Launch::arrive() {
  std::lock_guard lock(mutex());
  if (rank_->is_aborted) return;
  rank_->in_flight = this;
  for (const Operation& operation : operations_) rank_->meetings.push_back(rank_->clique->meet(*rank_, operation));
}

bool Launch::is_ready(size_t stream) {
  std::lock_guard lock(mutex());
  Rank& rank = *rank_;
  has_come_[stream] = true;
  if (is_done_ || (rank.is_aborted && rank.in_flight != this)) return true;
  if (rank.in_flight != this) {
    if (rank.in_flight || (ticket_ && *ticket_ != rank.ended)) return false;
    if (std::count(has_come_.begin(), has_come_.end(), false) > 0) return false;
    rank.in_flight = this;
    for (const Operation& operation : operations_) rank.meetings.push_back(rank.clique->meet(rank, operation));
  }
  return rank.is_aborted ||
         std::all_of(rank.meetings.begin(), rank.meetings.end(),
                     [&](const auto& m) { return rank.clique->is_complete(rank, *m); });
}

void Launch::run() {
  std::lock_guard lock(mutex());
  Rank& rank = *rank_;
  if (!is_done_) {
    is_done_ = true;
    if (rank.in_flight == this) {
      for (auto m = rank.meetings.rbegin(); m != rank.meetings.rend(); ++m) {  // operations of a group have no order
        Meeting& meeting = **m;
        if (meeting.is_done || !meeting.is_complete()) continue;
        move_data(meeting.operations);
        meeting.is_done = true;
      }
      rank.clique->end(rank, rank.meetings);
      rank.meetings.clear();
      rank.in_flight = nullptr;
    }
    if (ticket_) ++rank.ended;
  }
  if (++streams_ended_ == streams_.size()) {  // a graph may run it again
    has_come_.assign(streams_.size(), false);
    streams_ended_ = 0;
    is_done_ = false;
    ticket_.reset();
  }
  changed().notify_all();
}

}  // namespace emulated_gpu::nccl
