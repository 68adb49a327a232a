// Messages by MPI, all of which begin and end on a thread of the link.
#include "comm/mpi/mpi_link.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/mpi/mpi_bootstrap.h"
#include "comm/mpi/mpi_runtime.h"
#include "core/error.h"
#include "core/named_thread.h"
#include "core/packed.h"
#include "core/text.h"

namespace troika::mpi {
namespace {

using std::chrono::steady_clock;

constexpr size_t kMostBytes = size_t{1} << 30;        // of one message of MPI, which counts in ints
constexpr int kPromptQuestions = 50;                  // before the thread sleeps between two
constexpr std::chrono::microseconds kPause{20};       // then
constexpr std::chrono::seconds kTimeToCancel{2};      // requests of an aborted link

// MPI's tags are ints. The sender numbers the tags of its messages to a process. The first message
// of a tag comes after its number, which is sent with this tag.
constexpr int kNumbering = 0;
struct Numbering {
  uint64_t tag;
  int64_t number;
};

// A message to send or to receive.
struct Operation {
  bool sends;
  int process;
  uint64_t tag;
  std::byte* data;
  size_t bytes;
  std::vector<MPI_Request> requests;
  bool is_done = false;  // under the link's mutex
};

bool have_ended(std::vector<MPI_Request>& requests) {
  int is_done = 0;
  check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &is_done, MPI_STATUSES_IGNORE), "MPI_Testall");
  return is_done != 0;
}

class MpiLink;

class MpiBuffer : public LinkBuffer {
 public:
  MpiBuffer(MpiLink& link, int process, void* data) : link_(link), process_(process), data_(static_cast<std::byte*>(data)) {}
  ~MpiBuffer() override;
  void send(uint64_t tag, size_t offset, size_t bytes) override { post(sends_, true, tag, offset, bytes); }
  void receive(uint64_t tag, size_t offset, size_t bytes) override { post(receives_, false, tag, offset, bytes); }
  bool wait_sent(Deadline deadline) override { return wait(sends_, deadline); }
  bool wait_received(Deadline deadline) override { return wait(receives_, deadline); }

 private:
  using Operations = std::deque<std::shared_ptr<Operation>>;
  void post(Operations& operations, bool sends, uint64_t tag, size_t offset, size_t bytes);
  bool wait(Operations& operations, Deadline deadline);

  MpiLink& link_;
  const int process_;
  std::byte* const data_;
  Operations sends_, receives_;  // that have not been waited for, the oldest first
};

class MpiLink : public Link {
 public:
  MpiLink(Exchange& exchange, const LinkSettings& settings);
  ~MpiLink() override;

  std::unique_ptr<LinkBuffer> create_buffer(int process, void* data, size_t) override {
    return std::make_unique<MpiBuffer>(*this, process, data);
  }
  void abort(const std::string& reason) override;

  void post(const std::shared_ptr<Operation>& operation);
  // Returns false at the deadline.
  bool wait(const Operation& operation, Deadline deadline);
  // Returns when MPI does not use the operation's data any more.
  void forget(const Operation& operation);

 private:
  using Operations = std::list<std::shared_ptr<Operation>>;

  void connect(Exchange& exchange, Deadline deadline);
  void run();
  bool pass_messages();
  bool has_messages() const { return !active_.empty() || !unnumbered_.empty() || !numberings_.empty(); }
  void begin(Operations& operations);
  void begin_message(Operations& from, Operations::iterator at, int number);
  int number_tag(int process, uint64_t tag);
  void receive_numbering();
  bool take_numbering();
  bool end_messages();
  void cancel();

  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::vector<int> mpi_ranks_;  // of each process
  int most_tag_ = 0;

  // Used by the thread alone:
  Operations active_;
  std::map<std::pair<int, uint64_t>, int> sent_tags_, received_tags_;  // by process and tag
  std::vector<int> numbers_;                                          // given to each process
  std::list<std::pair<Numbering, MPI_Request>> numberings_;           // on their way
  Operations unnumbered_;  // receives whose tag has no number yet
  Numbering numbering_{};  // that is received next
  MPI_Request numbering_request_ = MPI_REQUEST_NULL;
  int idle_questions_ = 0;  // in a row, without an answer

  std::mutex mutex_;  // guards what follows, and Operation::is_done
  std::condition_variable changed_;
  Operations posted_;
  std::string reason_;  // of the abort; empty: none
  bool has_ended_ = false, ends_ = false;
  std::thread thread_;
};

// ---- buffers ----

void MpiBuffer::post(Operations& operations, bool sends, uint64_t tag, size_t offset, size_t bytes) {
  operations.push_back(std::make_shared<Operation>(Operation{sends, process_, tag, data_ + offset, bytes, {}, false}));
  link_.post(operations.back());
}

bool MpiBuffer::wait(Operations& operations, Deadline deadline) {
  if (!link_.wait(*operations.front(), deadline)) return false;
  operations.pop_front();
  return true;
}

MpiBuffer::~MpiBuffer() {
  for (const Operations* operations : {&sends_, &receives_})
    for (const auto& operation : *operations) link_.forget(*operation);
}

// ---- the link ----

MpiLink::MpiLink(Exchange& exchange, const LinkSettings& settings) {
  connect(exchange, settings.deadline);
  thread_ = require_thread("troika mpi", "group", [this] { run(); });
}

void MpiLink::connect(Exchange& exchange, Deadline deadline) {
  const Processes& all = processes(deadline);
  std::vector<int> ranks(static_cast<size_t>(exchange.size()));
  const Packer own = std::move(Packer().number(all.rank).number(all.size));
  const std::vector<std::string> messages = exchange.all_gather("the ranks of MPI", own.bytes(), deadline);
  for (size_t process = 0; process < messages.size(); ++process) {
    Unpacker message(messages[process]);
    ranks[process] = static_cast<int>(message.number());
    const int64_t size = message.number();
    if (size != exchange.size() || std::count(ranks.begin(), ranks.begin() + static_cast<ptrdiff_t>(process), ranks[process]) > 0)
      throw Error(Status::unsupported,
                  text("group: transport 'mpi': process ", process, " is rank ", ranks[process], " of ", size,
                       " in MPI_COMM_WORLD, need each of the group's ", exchange.size(), " processes, and no other"));
  }
  mpi_ranks_ = std::move(ranks);
  numbers_.resize(mpi_ranks_.size(), kNumbering);
  communicator_ = duplicate(all.communicator, deadline);
  int* most_tag = nullptr;
  int is_set = 0;
  check(MPI_Comm_get_attr(communicator_, MPI_TAG_UB, &most_tag, &is_set), "MPI_Comm_get_attr");
  most_tag_ = is_set ? *most_tag : 32767;  // that the standard guarantees
}

MpiLink::~MpiLink() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void MpiLink::post(const std::shared_ptr<Operation>& operation) {
  {
    std::lock_guard lock(mutex_);
    if (!reason_.empty()) throw Error(Status::comm, reason_);
    posted_.push_back(operation);
  }
  changed_.notify_all();
}

bool MpiLink::wait(const Operation& operation, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return operation.is_done || !reason_.empty(); };
  if (deadline == Deadline::max())
    changed_.wait(lock, is_over);
  else if (!changed_.wait_until(lock, deadline, is_over))
    return false;
  if (!operation.is_done) throw Error(Status::comm, reason_);
  return true;
}

void MpiLink::forget(const Operation& operation) {
  std::unique_lock lock(mutex_);
  if (operation.is_done || has_ended_) return;
  if (std::erase_if(posted_, [&](const auto& posted) { return posted.get() == &operation; }) > 0) return;
  // A message that another process did not take: nothing of this link can be used any more.
  if (reason_.empty()) store_reason(reason_, "a buffer ended before its messages");
  changed_.notify_all();
  changed_.wait(lock, [this] { return has_ended_; });
}

void MpiLink::abort(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (reason_.empty()) store_reason(reason_, reason);
  }
  changed_.notify_all();
}

// ---- the thread ----

void MpiLink::run() {
  std::string reason;
  try {
    receive_numbering();
    while (pass_messages()) {
    }
  } catch (const std::exception& e) {
    store_reason(reason, e.what());
  }
  bool is_aborted = false;
  {
    std::lock_guard lock(mutex_);
    if (reason_.empty() && !reason.empty()) reason_ = std::move(reason);
    is_aborted = !reason_.empty();
  }
  changed_.notify_all();
  cancel();
  if (is_aborted)
    forget_end();
  else if (is_running())
    MPI_Comm_free(&communicator_);
  {
    std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  changed_.notify_all();
}

// Returns false when the thread ends. MPI has no wait that another thread can end, so the thread
// asks again and again, as long as there are messages.
bool MpiLink::pass_messages() {
  Operations begun;
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ends_ || !reason_.empty() || !posted_.empty() || has_messages(); });
    if (ends_ || !reason_.empty()) return false;
    begun.swap(posted_);
  }
  if (!is_running()) throw Error(Status::comm, "group: transport 'mpi': the host has finalized MPI");
  bool has_changed = !begun.empty();
  while (!begun.empty()) begin(begun);
  while (take_numbering()) has_changed = true;
  has_changed |= end_messages();
  idle_questions_ = has_changed ? 0 : idle_questions_ + 1;
  if (idle_questions_ <= kPromptQuestions)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(kPause);
  return true;
}

// Begins the first operation of the list.
void MpiLink::begin(Operations& operations) {
  const auto operation = operations.begin();
  const std::pair<int, uint64_t> key{(*operation)->process, (*operation)->tag};
  if ((*operation)->sends) {
    int& number = sent_tags_[key];
    if (number == 0) number = number_tag(key.first, key.second);
    begin_message(operations, operation, number);
  } else if (const auto found = received_tags_.find(key); found != received_tags_.end()) {
    begin_message(operations, operation, found->second);
  } else {
    unnumbered_.splice(unnumbered_.end(), operations, operation);
  }
}

int MpiLink::number_tag(int process, uint64_t tag) {
  int& last = numbers_[static_cast<size_t>(process)];
  if (last == most_tag_)
    throw Error(Status::unsupported, text("group: transport 'mpi': MPI has ", most_tag_, " tags, which are used up"));
  numberings_.push_back({{tag, ++last}, MPI_REQUEST_NULL});
  auto& [numbering, request] = numberings_.back();
  check(MPI_Isend(&numbering, sizeof numbering, MPI_BYTE, mpi_ranks_[static_cast<size_t>(process)], kNumbering,
                  communicator_, &request),
        "MPI_Isend");
  return last;
}

void MpiLink::begin_message(Operations& from, Operations::iterator at, int number) {
  active_.splice(active_.end(), from, at);
  Operation& operation = **at;
  const int peer = mpi_ranks_[static_cast<size_t>(operation.process)];
  for (size_t offset = 0; offset == 0 || offset < operation.bytes; offset += kMostBytes) {
    const int bytes = static_cast<int>(std::min(kMostBytes, operation.bytes - offset));
    MPI_Request& request = operation.requests.emplace_back(MPI_REQUEST_NULL);
    if (operation.sends)
      check(MPI_Isend(operation.data + offset, bytes, MPI_BYTE, peer, number, communicator_, &request), "MPI_Isend");
    else
      check(MPI_Irecv(operation.data + offset, bytes, MPI_BYTE, peer, number, communicator_, &request), "MPI_Irecv");
  }
}

void MpiLink::receive_numbering() {
  check(MPI_Irecv(&numbering_, sizeof numbering_, MPI_BYTE, MPI_ANY_SOURCE, kNumbering, communicator_, &numbering_request_),
        "MPI_Irecv");
}

// Returns whether a tag has got its number.
bool MpiLink::take_numbering() {
  int is_done = 0;
  MPI_Status status;
  check(MPI_Test(&numbering_request_, &is_done, &status), "MPI_Test");
  if (!is_done) return false;
  const auto peer = std::find(mpi_ranks_.begin(), mpi_ranks_.end(), status.MPI_SOURCE);
  const Numbering taken = numbering_;
  receive_numbering();
  const std::pair<int, uint64_t> key{static_cast<int>(peer - mpi_ranks_.begin()), taken.tag};
  received_tags_[key] = static_cast<int>(taken.number);
  for (auto at = unnumbered_.begin(); at != unnumbered_.end();) {
    const auto next = std::next(at);
    if ((*at)->process == key.first && (*at)->tag == key.second) begin_message(unnumbered_, at, static_cast<int>(taken.number));
    at = next;
  }
  return true;
}

// Returns whether a message has ended.
bool MpiLink::end_messages() {
  Operations ended;
  for (auto at = active_.begin(); at != active_.end();) {
    const auto next = std::next(at);
    if (have_ended((*at)->requests)) ended.splice(ended.end(), active_, at);
    at = next;
  }
  std::erase_if(numberings_, [](auto& sent) {
    int is_done = 0;
    check(MPI_Test(&sent.second, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
    return is_done != 0;
  });
  if (ended.empty()) return false;
  {
    std::lock_guard lock(mutex_);
    for (const auto& operation : ended) operation->is_done = true;
  }
  changed_.notify_all();
  return true;
}

// Ends the messages that nobody waits for. After an abort some cannot end: MPI then keeps their
// memory, and makes no progress without calls.
void MpiLink::cancel() {
  try {
    if (!is_running()) return;
    const Deadline deadline = steady_clock::now() + kTimeToCancel;
    check(MPI_Cancel(&numbering_request_), "MPI_Cancel");
    mpi::wait(numbering_request_, deadline);
    for (const auto& operation : active_)
      if (!operation->sends)
        for (MPI_Request& request : operation->requests)
          if (request != MPI_REQUEST_NULL) check(MPI_Cancel(&request), "MPI_Cancel");
    for (const auto& operation : active_)
      for (MPI_Request& request : operation->requests) mpi::wait(request, deadline);
  } catch (const std::exception&) {  // MPI has failed already
  }
}

}  // namespace

const LinkDef mpi_link{"mpi",
                       [](Exchange& exchange, const LinkSettings& settings) -> std::unique_ptr<Link> {
                         return std::make_unique<MpiLink>(exchange, settings);
                       },
                       create_bootstrap};

}  // namespace troika::mpi
