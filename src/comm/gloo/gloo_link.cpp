// Connecting by Gloo, and the end of its waits.
#include "comm/gloo/gloo_link.h"

#include <gloo/config.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/named_thread.h"
#include "core/packed.h"
#include "core/text.h"
#include "group/address.h"

namespace troika::gloo_link {
namespace {

using std::chrono::milliseconds;

// A wait without a deadline ends when the link is aborted.
constexpr milliseconds kLongest = std::chrono::hours(24 * 365);

constexpr int kTimeoutsToConnect = 5;  // Gloo waits for a connection for so many of its timeouts

milliseconds time_to(Deadline deadline) {
  if (deadline == Deadline::max()) return kLongest;
  return std::max(std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()), milliseconds(0));
}

// Gloo's texts begin with a file and a line: "[/build/gloo/pair.cc:598] Connection closed by peer".
std::string reason_of(const std::exception& e) {
  std::string reason = e.what();
  if (const size_t end = reason.find("] "); reason.starts_with('[') && end != std::string::npos)
    reason = reason.substr(end + 2);
  for (char& c : reason)
    if (c == '\n' || c == '\r') c = ' ';
  return reason;
}

class GlooLink;

class GlooBuffer : public LinkBuffer {
 public:
  GlooBuffer(GlooLink& link, int process, void* data, size_t bytes);
  ~GlooBuffer() override;
  void send(uint64_t tag, size_t offset, size_t bytes) override;
  void receive(uint64_t tag, size_t offset, size_t bytes) override;
  bool wait_sent(Deadline deadline) override;
  bool wait_received(Deadline deadline) override;
  void end_waits();
  void begin(bool sends, uint64_t tag, size_t offset, size_t bytes);

 private:
  template <typename Call>
  bool guarded(Deadline deadline, Call call);

  GlooLink& link_;
  const int process_;
  const std::unique_ptr<gloo::transport::UnboundBuffer> out_, in_;
};

// A message to send or to receive.
struct Operation {
  GlooBuffer* buffer;
  bool sends;
  uint64_t tag;
  size_t offset, bytes;
};

// Messages begin on a thread of the link. Gloo's own thread spins as long as another thread holds
// the lock of a connection, which a send does. A thread that has just computed is at the end of its
// time slice, and would be interrupted in the middle of the send (docs/decisions/processes.md).
class GlooLink : public Link {
 public:
  GlooLink(Exchange& exchange, const LinkSettings& settings);
  ~GlooLink() override;

  std::unique_ptr<LinkBuffer> create_buffer(int process, void* data, size_t bytes) override {
    return std::make_unique<GlooBuffer>(*this, process, data, bytes);
  }
  void abort(const std::string& reason) override;

  std::unique_ptr<gloo::transport::UnboundBuffer> create(int from, int to, void* data, size_t bytes) const {
    return context(from, to).createUnboundBuffer(data, bytes);
  }
  int process() const { return up_->rank; }
  void add(GlooBuffer& buffer);
  void remove(GlooBuffer& buffer);
  void post(const Operation& operation);
  void require_usable() const;

 private:
  gloo::transport::Context& context(int from, int to) const { return from < to ? *up_ : *down_; }
  void connect(int peer, const std::string& addresses);
  void connect_all(const std::vector<std::string>& addresses);
  void close();
  void run();

  std::shared_ptr<gloo::transport::Device> device_;
  // Messages to higher ranks, and to lower ones. A receiver announces each message that it waits
  // for, and the announcement must not queue up after data in its direction.
  std::shared_ptr<gloo::transport::Context> up_, down_;
  std::atomic<bool> is_aborted_ = false;
  mutable std::mutex mutex_;  // guards what follows
  std::set<GlooBuffer*> buffers_;
  std::string reason_;
  std::condition_variable changed_;
  std::deque<Operation> operations_;         // that have not begun
  const GlooBuffer* beginning_ = nullptr;    // the buffer whose operation begins
  bool ends_ = false;
  std::thread thread_;
};

// ---- buffers ----

GlooBuffer::GlooBuffer(GlooLink& link, int process, void* data, size_t bytes)
    : link_(link),
      process_(process),
      out_(link.create(link.process(), process, data, bytes)),
      in_(link.create(process, link.process(), data, bytes)) {
  link_.add(*this);
}

GlooBuffer::~GlooBuffer() { link_.remove(*this); }

// Returns false at the deadline.
template <typename Call>
bool GlooBuffer::guarded(Deadline deadline, Call call) {
  link_.require_usable();
  try {
    if (call()) return true;
  } catch (const std::exception& e) {
    link_.require_usable();
    if (std::chrono::steady_clock::now() >= deadline) return false;
    throw Error(Status::comm, text("process ", process_, ": Gloo: ", reason_of(e)));
  }
  link_.require_usable();  // the wait was ended
  throw Error(Status::comm, text("process ", process_, ": the wait was ended"));
}

void GlooBuffer::send(uint64_t tag, size_t offset, size_t bytes) { link_.post({this, true, tag, offset, bytes}); }

void GlooBuffer::receive(uint64_t tag, size_t offset, size_t bytes) { link_.post({this, false, tag, offset, bytes}); }

// On the link's thread.
void GlooBuffer::begin(bool sends, uint64_t tag, size_t offset, size_t bytes) {
  guarded(Deadline::max(), [&] {
    sends ? out_->send(process_, tag, offset, bytes) : in_->recv(process_, tag, offset, bytes);
    return true;
  });
}

bool GlooBuffer::wait_sent(Deadline deadline) {
  return guarded(deadline, [&] { return out_->waitSend(nullptr, time_to(deadline)); });
}

bool GlooBuffer::wait_received(Deadline deadline) {
  return guarded(deadline, [&] { return in_->waitRecv(nullptr, time_to(deadline)); });
}

void GlooBuffer::end_waits() {
  out_->abortWaitSend();
  in_->abortWaitRecv();
}

// ---- the link ----

// Creates the device on a thread of its own, from which Gloo's thread inherits name and policy: it
// does not interrupt a thread that computes or sends.
std::shared_ptr<gloo::transport::Device> create_device(const gloo::transport::tcp::attr& attributes) {
  std::shared_ptr<gloo::transport::Device> device;
  std::exception_ptr error;
  named_thread("troika gloo", [&] {
    const sched_param parameters{};
    pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameters);  // without it: slower
    try {
      device = gloo::transport::tcp::CreateDevice(attributes);
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
  return device;
}

// Every process passes the addresses of its ends to all others. Gloo's listeners take the first
// connection that comes, whoever opens it.
GlooLink::GlooLink(Exchange& exchange, const LinkSettings& settings) {
  const int rank = exchange.rank(), size = exchange.size();
  gloo::transport::tcp::attr attributes;
  attributes.hostname = settings.interface.empty() ? "127.0.0.1" : local_address(settings.interface, "group: interface").host();
  Packer own;
  try {
    device_ = create_device(attributes);
    for (auto* context : {&up_, &down_}) {
      *context = device_->createContext(rank, size);
      (*context)->setTimeout(std::max(time_to(settings.deadline) / kTimeoutsToConnect, milliseconds(1)));
    }
    for (int peer = 0; peer < size; ++peer)
      for (const auto& context : {up_, down_}) {
        std::vector<char> address;
        if (peer != rank) address = context->createPair(peer)->address().bytes();
        own.text({address.data(), address.size()});
      }
  } catch (const std::exception& e) {
    throw Error(Status::comm, text("Gloo at ", attributes.hostname, ": ", reason_of(e)));
  }
  connect_all(exchange.all_gather("the addresses of Gloo", own.bytes(), settings.deadline));
  try {
    thread_ = require_thread("troika messages", "group", [this] { run(); });
  } catch (...) {
    close();
    throw;
  }
}

void GlooLink::connect_all(const std::vector<std::string>& addresses) {
  const int rank = up_->rank, size = up_->size;
  // All at once: if one process does not come, the pairs of the others connect all the same.
  std::vector<std::exception_ptr> errors(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(size));
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    const auto body = [&, peer] {
      try {
        connect(peer, addresses[static_cast<size_t>(peer)]);
      } catch (...) {
        errors[static_cast<size_t>(peer)] = std::current_exception();
      }
    };
    try {
      threads.push_back(named_thread("troika connect", body));
    } catch (const std::exception&) {  // there are no more threads
      body();
    }
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

// `addresses`: of the peer's ends for each process.
void GlooLink::connect(int peer, const std::string& addresses) {
  Unpacker ends(addresses);
  for (int i = 0; i < 2 * up_->rank; ++i) ends.text();
  try {
    for (const auto& context : {up_, down_}) {
      const std::string address = ends.text();
      context->getPair(peer)->connect({address.begin(), address.end()});
    }
  } catch (const std::exception& e) {
    throw Error(Status::comm, text("process ", peer, ": Gloo cannot connect: ", reason_of(e)));
  }
}

GlooLink::~GlooLink() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
  close();
}

void GlooLink::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !operations_.empty(); });
    if (ends_) return;
    const Operation next = operations_.front();
    operations_.pop_front();
    beginning_ = next.buffer;
    lock.unlock();
    std::string reason;
    try {
      next.buffer->begin(next.sends, next.tag, next.offset, next.bytes);
    } catch (const std::exception& e) {
      store_reason(reason, e.what());
    }
    if (!reason.empty()) abort(reason);  // the wait for the message reports it
    lock.lock();
    beginning_ = nullptr;
    changed_.notify_all();
  }
}

void GlooLink::post(const Operation& operation) {
  require_usable();
  {
    std::lock_guard lock(mutex_);
    operations_.push_back(operation);
  }
  changed_.notify_all();
}

void GlooLink::close() {
  for (const auto& context : {up_, down_})
    for (int peer = 0; peer < context->size; ++peer)
      if (peer != context->rank)
        if (auto& pair = context->getPair(peer)) pair->close();
}

void GlooLink::add(GlooBuffer& buffer) {
  std::lock_guard lock(mutex_);
  buffers_.insert(&buffer);
}

void GlooLink::remove(GlooBuffer& buffer) {
  std::unique_lock lock(mutex_);
  std::erase_if(operations_, [&](const Operation& operation) { return operation.buffer == &buffer; });
  changed_.wait(lock, [&] { return beginning_ != &buffer; });
  buffers_.erase(&buffer);
}

void GlooLink::require_usable() const {
  if (!is_aborted_) return;
  std::lock_guard lock(mutex_);
  throw Error(Status::comm, reason_);
}

void GlooLink::abort(const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (is_aborted_) return;
  store_reason(reason_, reason);
  is_aborted_ = true;
  for (GlooBuffer* buffer : buffers_) buffer->end_waits();
}

}  // namespace

const LinkDef gloo_link{"gloo", [](Exchange& exchange, const LinkSettings& settings) -> std::unique_ptr<Link> {
                          return std::make_unique<GlooLink>(exchange, settings);
                        }};

std::string library_versions() {
  return text("Gloo ", GLOO_VERSION_MAJOR, '.', GLOO_VERSION_MINOR, '.', GLOO_VERSION_PATCH);
}

}  // namespace troika::gloo_link
