// Collectives over the link of a group.
#include "train/host_collectives.h"

#include <algorithm>
#include <cstring>

#include "comm/transports.h"
#include "core/error.h"
#include "core/float16.h"
#include "core/packed.h"
#include "core/text.h"

namespace troika {
namespace {

enum MessageSlot : int { form_slot, data_slot };

// Takes as many bytes for every type: the receiver does not know the type of the sender.
std::string encode(const TensorType& type) {
  Packer message;
  message.number(static_cast<int64_t>(type.dtype)).number(type.shape.rank());
  for (int axis = 0; axis < kMaxRank; ++axis) message.number(axis < type.shape.rank() ? type.shape[axis] : 0);
  return message.bytes();
}

TensorType decode(const std::string& bytes) {
  Unpacker message(bytes);
  TensorType type;
  type.dtype = static_cast<DType>(message.number());
  std::vector<int64_t> dims(static_cast<size_t>(std::clamp<int64_t>(message.number(), 0, kMaxRank)));
  for (int64_t& dim : dims) dim = message.number();
  type.shape = Shape(std::move(dims));
  return type;
}

std::string print(const TensorType& type) { return text(name_of(type.dtype), type.shape); }

// Sums of 16-bit types are computed in f32.
bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

std::vector<float> widen(const TensorType& type, const void* data) {
  std::vector<float> wide(static_cast<size_t>(type.shape.elements()));
  const auto* const narrow = static_cast<const uint16_t*>(data);
  std::transform(narrow, narrow + wide.size(), wide.begin(), type.dtype == DType::f16 ? float_of_f16 : float_of_bf16);
  return wide;
}

void narrow(const std::vector<float>& wide, DType dtype, void* data) {
  std::transform(wide.begin(), wide.end(), static_cast<uint16_t*>(data),
                 dtype == DType::f16 ? f16_of_float : bf16_of_float);
}

void check_sum(const char* what, DType dtype) {
  if (is_half(dtype) || dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64)
    return;
  throw Error(Status::unsupported,
              text(what, ": the tensor is ", name_of(dtype), ", sums are of f32, f64, i32, i64, f16 or bf16"));
}

size_t bytes_of_row(const TensorType& type) {
  return size_of(type.dtype) * static_cast<size_t>(type.shape.elements(1, type.shape.rank()));
}

void require_axis(const char* what, const TensorType& type) {
  if (type.shape.rank() == 0)
    throw Error(Status::invalid_argument, text(what, ": the tensor has no axis, needs at least one"));
}

}  // namespace

struct HostCollectives::Connection {
  std::shared_ptr<SharedLink> link;
  std::shared_ptr<Exchange> exchange;  // as fast as can be
  std::unique_ptr<Communicator> communicator;
  std::unique_ptr<Messenger> messenger;
};

HostCollectives::HostCollectives(const ProcessGroup& group, std::string plugin_folder)
    : group_(group), plugin_folder_(std::move(plugin_folder)), exchange_(group.create_exchange()) {}

HostCollectives::~HostCollectives() = default;

Deadline HostCollectives::deadline() const {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(group_.options().deadline_ms);
}

// No process can go on after a call that has failed in one of them.
template <typename F>
void HostCollectives::attempt(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    std::string own;
    store_reason(own, e.what());
    exchange_->abort(own);
    if (const std::string reason = exchange_->failure(); !reason.empty())
      throw Error(Status::comm, text("group: rank ", group_.rank(), ": ", reason));
    throw;
  }
}

void HostCollectives::compare_transports() {
  const auto name = [](const std::string& transport) { return transport.empty() ? "not set" : transport; };
  const std::vector<std::string> all =
      exchange_->all_gather("connecting a group", group_.options().transport, deadline());
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw Error(Status::mismatch, text("the group's transport of rank ", rank, " is '", name(all[rank]),
                                         "', rank 0 has '", name(all[0]), "'"));
}

// Two processes may send each other a message first, while the others make another call: the first
// call of each process connects, whatever it is.
void HostCollectives::connect() {
  if (!connection_ && group_.size() > 1)
    attempt([&] {
      compare_transports();
      auto connected = std::make_unique<Connection>();
      connected->link = connect_processes(group_.options().link_name(), plugin_folder_, exchange_,
                                          {group_.options().interface, deadline()}, "the end of a group");
      std::vector<int> nodes;
      for (int process = 0; process < group_.size(); ++process) nodes.push_back(group_.process(process).node);
      const auto memory = group_.options().uses_memory() ? share_memory(*exchange_, nodes, deadline()) : nullptr;
      connected->exchange = exchange_in_memory(exchange_, memory, deadline());
      connected->communicator = create_host_communicator(connected->link, *exchange_, memory, deadline());
      connected->communicator->reserve(1);
      connected->messenger = create_host_messenger(connected->link);
      connection_ = std::move(connected);
    });
}

std::vector<std::string> HostCollectives::agree(const char* what, const std::string& own) {
  connect();
  Exchange& exchange = connection_ ? *connection_->exchange : *exchange_;
  return exchange.all_gather(what, own, deadline());
}

void HostCollectives::agree_on_type(const char* what, const TensorType& type, int root) {
  const std::vector<std::string> all = agree(what, Packer().number(root).text(encode(type)).bytes());
  int64_t first_root = 0;
  TensorType first;
  for (int rank = 0; rank < group_.size(); ++rank) {
    Unpacker message(all[static_cast<size_t>(rank)]);
    const int64_t their_root = message.number();
    const TensorType theirs = decode(message.text());
    if (rank == 0) {
      first_root = their_root;
      first = theirs;
    }
    if (theirs != first)
      throw Error(Status::mismatch, text(what, ": the tensor of rank ", rank, " is ", print(theirs),
                                         ", that of rank 0 is ", print(first)));
    if (their_root != first_root)
      throw Error(Status::mismatch,
                  text(what, ": root is ", their_root, " in rank ", rank, ", and ", first_root, " in rank 0"));
  }
}

void HostCollectives::check_peer(const char* what, int process) const {
  if (process < 0 || process >= group_.size())
    throw Error(Status::invalid_argument, text(what, " is ", process, ", need 0 to ", group_.size() - 1));
}

void HostCollectives::run(const Collective& collective, void* data) {
  if (group_.size() == 1) return;
  Communicator& communicator = *connection_->communicator;
  attempt([&] {
    communicator.start(0, collective, data);
    communicator.wait(0, deadline());
  });
}

// ---- the calls ----

void HostCollectives::barrier() { agree("a barrier", ""); }

void HostCollectives::all_reduce(const TensorType& type, void* data) {
  check_sum("all_reduce", type.dtype);
  agree_on_type("all_reduce", type, -1);
  const int64_t elements = type.shape.elements();
  if (elements == 0) return;
  if (!is_half(type.dtype)) return run(Collective::all_reduce(type.dtype, elements), data);
  std::vector<float> wide = widen(type, data);
  run(Collective::all_reduce(DType::f32, elements), wide.data());
  narrow(wide, type.dtype, data);
}

void HostCollectives::broadcast(int root, const TensorType& type, void* data) {
  check_peer("broadcast: root", root);
  agree_on_type("broadcast", type, root);
  const std::vector<OwnedBytes> pieces = {{0, type.bytes(), root}};
  if (type.bytes() > 0) run(Collective::all_gather(pieces), data);
}

std::vector<std::byte> HostCollectives::all_gather(const TensorType& type, const void* data, Shape& shape) {
  require_axis("all_gather", type);
  std::vector<OwnedBytes> pieces;
  size_t own = 0, at = 0;
  TensorType first;
  shape = type.shape.with_batch(0);
  const std::vector<std::string> all = agree("all_gather", encode(type));
  for (int rank = 0; rank < group_.size(); ++rank) {
    const TensorType theirs = decode(all[static_cast<size_t>(rank)]);
    if (rank == 0) first = theirs;
    if (theirs.dtype != first.dtype || theirs.shape.rank() != first.shape.rank() ||
        theirs.shape.with_batch(0) != first.shape.with_batch(0))
      throw Error(Status::mismatch, text("all_gather: the tensor of rank ", rank, " is ", print(theirs),
                                         ", that of rank 0 is ", print(first), "; only axis 0 may differ"));
    if (rank == group_.rank()) own = at;
    pieces.push_back({at, at + theirs.bytes(), rank});
    at += theirs.bytes();
    shape[0] += theirs.shape[0];
  }
  std::vector<std::byte> whole(at);
  if (type.bytes() > 0) std::memcpy(whole.data() + own, data, type.bytes());
  if (at > 0) run(Collective::all_gather(pieces), whole.data());
  return whole;
}

std::vector<std::byte> HostCollectives::reduce_scatter(const TensorType& type, const void* data, Shape& shape) {
  require_axis("reduce_scatter", type);
  check_sum("reduce_scatter", type.dtype);
  agree_on_type("reduce_scatter", type, -1);
  const Range rows = balanced_split(type.shape[0], group_.size(), group_.rank());
  shape = type.shape.with_batch(rows.size());
  const bool is_wide = is_half(type.dtype);
  // Only f32 has sums of pieces; other types are summed whole.
  std::vector<float> wide;
  std::vector<std::byte> sums;
  void* numbers = nullptr;
  if (is_wide) {
    wide = widen(type, data);
    numbers = wide.data();
  } else {
    sums.assign(static_cast<const std::byte*>(data), static_cast<const std::byte*>(data) + type.bytes());
    numbers = sums.data();
  }
  const DType dtype = is_wide ? DType::f32 : type.dtype;
  const size_t row = bytes_of_row({dtype, type.shape});
  std::vector<OwnedBytes> pieces;
  for (int rank = 0; rank < group_.size(); ++rank) {
    const Range theirs = balanced_split(type.shape[0], group_.size(), rank);
    pieces.push_back({static_cast<size_t>(theirs.begin) * row, static_cast<size_t>(theirs.end) * row, rank});
  }
  if (type.bytes() > 0)
    run(dtype == DType::f32 ? Collective::reduce_scatter(pieces) : Collective::all_reduce(dtype, type.shape.elements()),
        numbers);
  std::vector<std::byte> own(static_cast<size_t>(rows.size()) * bytes_of_row(type));
  if (is_wide) {
    const auto begin = wide.begin() + rows.begin * type.shape.elements(1, type.shape.rank());
    narrow({begin, begin + static_cast<ptrdiff_t>(shape.elements())}, type.dtype, own.data());
  } else if (!own.empty()) {
    std::memcpy(own.data(), sums.data() + static_cast<size_t>(rows.begin) * row, own.size());
  }
  return own;
}

void HostCollectives::send(int to, const TensorType& type, const void* data) {
  check_peer("send: to", to);
  if (to == group_.rank()) throw Error(Status::invalid_argument, text("send: to is ", to, ", this process itself"));
  connect();
  Messenger& messenger = *connection_->messenger;
  attempt([&] {
    const std::string form = encode(type);
    messenger.send(to, form_slot, form.data(), form.size(), deadline());
    if (type.bytes() > 0) messenger.send(to, data_slot, data, type.bytes(), deadline());
  });
}

void HostCollectives::receive(int from, const TensorType& type, void* data) {
  check_peer("receive: from", from);
  if (from == group_.rank())
    throw Error(Status::invalid_argument, text("receive: from is ", from, ", this process itself"));
  connect();
  Messenger& messenger = *connection_->messenger;
  TensorType theirs;
  attempt([&] {
    std::string form = encode(type);
    messenger.receive(from, form_slot, form.data(), form.size(), deadline());
    theirs = decode(form);
    // Data that do not fit are taken, too: the next message would find them.
    std::vector<std::byte> others(theirs == type ? 0 : theirs.bytes());
    if (theirs.bytes() > 0)
      messenger.receive(from, data_slot, theirs == type ? data : others.data(), theirs.bytes(), deadline());
  });
  if (theirs != type)
    throw Error(Status::mismatch,
                text("receive: rank ", from, " has sent ", print(theirs), ", the tensor is ", print(type)));
}

}  // namespace troika
