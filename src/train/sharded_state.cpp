// Gathers and scatters the state of ranks.
#include "train/sharded_state.h"

#include <zlib.h>

#include <algorithm>
#include <set>

#include "core/text.h"
#include "train/layout_agreement.h"
#include "train/state_slice.h"

namespace troika {

ShardedState::ShardedState(const StepLayout& layout, const LocalRanks& ranks, const ParameterStore& store)
    : layout_(layout), ranks_(ranks), store_(store), has_agreed_(ranks.is_whole()) {
  for (int part = 0; part < layout.ranks().parts(); ++part) {
    tables_.push_back(layout.make_state_table(part));
    are_everywhere_.push_back(every_process_holds(part));
    if (ranks.mix_kinds()) tables_.back().place();  // kernels of the kinds prefer different layouts
  }
}

// ---- layouts ----

bool ShardedState::agree_on_layouts() {
  agree_on_plain_layouts();  // of parts without a plan: no local rank has them, or any sample
  if (have_same_layouts(ranks_, layout_.ranks(), tables_)) return true;
  for (const auto& [rank, replica] : ranks_) replica->release();
  for (int part = 0; part < layout_.ranks().parts(); ++part) {
    tables_[static_cast<size_t>(part)] = layout_.make_state_table(part);
    tables_[static_cast<size_t>(part)].place();
  }
  return false;
}

void ShardedState::agree_on_plain_layouts() {
  if (has_agreed_) return;
  for (StateTable& table : tables_)
    if (!table.is_placed()) table.place();
  has_agreed_ = true;
}

void ShardedState::require_agreement(const char* what) const {
  if (!has_agreed_)
    throw Error(Status::not_initialized, text(what,
                                              ": the processes of a group agree on the layouts of a model with"
                                              " their first batch; train, evaluate or predict together first"));
}

// ---- memory ----

bool ShardedState::is_allocated() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const LocalRank& local) { return local.replica->state_memory().is_allocated(); });
}

void ShardedState::allocate() {
  for (const auto& [rank, replica] : ranks_)
    if (!replica->state_memory().is_allocated()) replica->allocate_state(table_of(rank));
}

void ShardedState::pack() {
  for (const auto& [rank, replica] : ranks_) table_of(rank).set_packed(&replica->state());
}

void ShardedState::share(const ShardedState& owner) {
  tables_ = owner.tables_;
  has_agreed_ = owner.has_agreed_;
  for (const auto& [rank, replica] : ranks_) replica->share_state(table_of(rank), owner.ranks_.at(rank));
}

void ShardedState::finish() {
  for (const auto& [rank, replica] : ranks_) replica->state().finish();
}

namespace {

std::string parameter_of(Role role, const std::string& name) {
  return role == Role::optimizer_state ? parameter_of_slot(name) : name;
}

}  // namespace

bool ShardedState::holds_part(Role role, const std::string& parameter, int share, int part) const {
  const int rank = layout_.ranks().rank_of(share, part);
  const int owner = role == Role::optimizer_state ? table_of(rank).find(parameter).owner : -1;
  return ranks_.holds(rank) && (owner < 0 || share == owner);
}

bool ShardedState::holds(Role role, const std::string& name) const {
  const std::string parameter = parameter_of(role, name);
  for (int part : layout_.holders_of(parameter))
    for (int share = 0; share < layout_.ranks().shares(); ++share)
      if (holds_part(role, parameter, share, part)) return true;
  return false;
}

void ShardedState::write(Role role, const std::string& name, const void* data) {
  const std::string parameter = parameter_of(role, name);
  const TensorType& type = store_.entry(store_.index_of(parameter)).type;
  std::vector<std::byte> own;
  for (int part : layout_.holders_of(parameter)) {
    const StateSlice& slice = layout_.slice_of(parameter, part);
    const void* source = data;
    if (slice.axis >= 0) {
      own.resize(layout_.type_of(parameter, part).bytes());
      copy_part_out(type.shape, slice, size_of(type.dtype), static_cast<const std::byte*>(data), own.data());
      source = own.data();
    }
    for (int share = 0; share < layout_.ranks().shares(); ++share) {
      if (!holds_part(role, parameter, share, part)) continue;
      const int rank = layout_.ranks().rank_of(share, part);
      ranks_.at(rank).state().upload(table_of(rank), role, name, source);
    }
  }
}

void ShardedState::read(Role role, const std::string& name, void* data) const {
  const std::string parameter = parameter_of(role, name);
  const TensorType& type = store_.entry(store_.index_of(parameter)).type;
  std::vector<std::byte> own;
  for (int part : layout_.holders_of(parameter)) {
    const StateSlice& slice = layout_.slice_of(parameter, part);
    if (slice.axis < 0) return read_part(part, role, name, data, type.bytes());
    own.resize(layout_.type_of(parameter, part).bytes());
    read_part(part, role, name, own.data(), own.size());
    copy_part_in(type.shape, slice, size_of(type.dtype), own.data(), static_cast<std::byte*>(data));
  }
}

bool ShardedState::every_process_holds(int part) const {
  if (ranks_.is_whole()) return true;
  const RankMap& map = layout_.ranks();
  std::set<int> processes, holders;
  for (int rank = 0; rank < map.size(); ++rank) {
    processes.insert(ranks_.process_of(rank));
    if (map.part_of(rank) == part) holders.insert(ranks_.process_of(rank));
  }
  return holders == processes;
}

// Reads the part of a value from the owner's rank, else from a local one, else from the largest
// share's, which has the running statistics.
void ShardedState::read_part(int part, Role role, const std::string& name, void* data, size_t bytes) const {
  const RankMap& map = layout_.ranks();
  const StateTable& table = tables_[static_cast<size_t>(part)];
  const int owner = role == Role::optimizer_state ? table.find(parameter_of_slot(name)).owner : -1;
  int rank = map.rank_of(owner >= 0 ? owner : static_cast<int>(layout_.share_sizes().largest()), part);
  const bool is_local = owner < 0 && are_everywhere_[static_cast<size_t>(part)];
  for (int share = 0; is_local && !ranks_.holds(rank) && share < map.shares(); ++share) rank = map.rank_of(share, part);
  if (ranks_.is_whole() || ranks_.holds(rank)) ranks_.at(rank).state().download(table, role, name, data);
  if (!is_local && !ranks_.is_whole()) ranks_.broadcast(ranks_.process_of(rank), data, bytes);
}

void ShardedState::read_from(int rank, Role role, const std::string& name, void* data) const {
  if (layout_.slice_of(name, layout_.ranks().part_of(rank)).axis < 0)
    ranks_.at(rank).state().download(table_of(rank), role, name, data);
  else
    read(role, name, data);
}

void ShardedState::write_everywhere(const std::string& name, const void* data) {
  for (const auto& [rank, replica] : ranks_) replica->state().upload(table_of(rank), Role::buffer, name, data);
}

void ShardedState::share_buffers() {
  const RankMap& map = layout_.ranks();
  std::vector<std::byte> data;
  for (int part = 0; part < map.parts(); ++part) {
    const StateTable& table = tables_[static_cast<size_t>(part)];
    const int source = map.rank_of(static_cast<int>(layout_.share_sizes().largest()), part);
    for (const StateEntry& entry : table.entries()) {
      if (!entry.is_buffer) continue;
      data.resize(entry.type.bytes());  // the table of a part that others hold is not placed
      if (ranks_.holds(source)) ranks_.at(source).state().download(table, Role::buffer, entry.name, data.data());
      if (!ranks_.is_whole()) ranks_.broadcast(ranks_.process_of(source), data.data(), data.size());
      for (int share = 0; share < map.shares(); ++share)
        if (const int rank = map.rank_of(share, part); rank != source && ranks_.holds(rank))
          ranks_.at(rank).state().upload(table, Role::buffer, entry.name, data.data());
    }
  }
}

// Ranks of other processes are compared by checksums, which are gathered before any check throws.
void ShardedState::check_replicas() const {
  const RankMap& map = layout_.ranks();
  std::vector<uint32_t> sums(static_cast<size_t>(map.size()));
  if (!ranks_.is_whole()) {
    std::vector<OwnedBytes> pieces;
    for (size_t rank = 0; rank < sums.size(); ++rank) {
      const int process = ranks_.process_of(static_cast<int>(rank));
      pieces.push_back({rank * sizeof(uint32_t), (rank + 1) * sizeof(uint32_t), process});
      if (ranks_.holds(static_cast<int>(rank))) sums[rank] = checksum_of(static_cast<int>(rank));
    }
    ranks_.all_gather(pieces, sums.data());
  }
  for (int part = 0; part < layout_.ranks().parts(); ++part) {
    const StateTable& table = tables_[static_cast<size_t>(part)];
    for (const StateEntry& entry : table.entries()) {
      if (entry.is_buffer) continue;
      check_shares(table.locate(Role::parameter, entry.name), part, text("parameter '", entry.name, "'"));
      if (entry.bucket < 0 || entry.owner >= 0) continue;
      for (const std::string& slot : table.slots())
        check_shares(table.locate(Role::optimizer_state, slot_name(slot, entry.name)), part,
                     text(slot, " of '", entry.name, "'"));
    }
  }
  check_channel_groups();
  for (int part = 0; part < map.parts(); ++part)
    for (int share = 1; share < map.shares(); ++share)
      if (const int first = map.rank_of(0, part), rank = map.rank_of(share, part);
          sums[static_cast<size_t>(rank)] != sums[static_cast<size_t>(first)])
        throw Error(Status::mismatch, text("replica ", first, " of process ", ranks_.process_of(first), " and replica ",
                                           rank, " of process ", ranks_.process_of(rank), " hold other parameters"));
}

uint32_t ShardedState::checksum_of(int rank) const {
  const StateTable& table = table_of(rank);
  std::vector<std::byte> data;
  uint32_t sum = 0;
  for (const StateEntry& entry : table.entries()) {
    if (entry.is_buffer) continue;
    const Location location = table.locate(Role::parameter, entry.name);
    data.resize(location.bytes);
    ranks_.at(rank).state().read_segment(location.segment, location.offset, data.data(), data.size());
    sum = static_cast<uint32_t>(crc32_z(sum, reinterpret_cast<const Bytef*>(data.data()), data.size()));
  }
  return sum;
}

void ShardedState::check_shares(const Location& location, int part, const std::string& what) const {
  std::vector<std::byte> first, other(location.bytes);
  int first_rank = 0;
  for (int share = 0; share < layout_.ranks().shares(); ++share) {
    const int rank = layout_.ranks().rank_of(share, part);
    if (!ranks_.holds(rank)) continue;
    ranks_.at(rank).state().read_segment(location.segment, location.offset, other.data(), location.bytes);
    if (first.empty()) {
      first = other;
      first_rank = rank;
    }
    if (first == other) continue;
    size_t at = 0;
    while (first[at] == other[at]) ++at;
    throw Error(Status::mismatch,
                text(what, " differs between replica ", first_rank, " (", ranks_.at(first_rank).device_id(),
                     ") and replica ", rank, " (", ranks_.at(rank).device_id(), ") at byte ", at));
  }
}

// Values that are not cut are the same on all ranks of a channel group.
void ShardedState::check_channel_groups() const {
  std::vector<std::byte> first, other;
  for (int part = 0; part < layout_.ranks().parts(); ++part) {
    const int leader = layout_.ranks().part_at(layout_.ranks().position_of_part(part), 0);
    if (!ranks_.holds(layout_.ranks().rank_of(0, part)) || !ranks_.holds(layout_.ranks().rank_of(0, leader))) continue;
    const StateTable &table = tables_[static_cast<size_t>(part)], &their_table = tables_[static_cast<size_t>(leader)];
    Replica &own = ranks_.at(layout_.ranks().rank_of(0, part)), &theirs = ranks_.at(layout_.ranks().rank_of(0, leader));
    for (const StateEntry& entry : table.entries()) {
      if (part == leader || entry.is_buffer || layout_.slice_of(entry.name, part).axis >= 0) continue;
      first.resize(entry.type.bytes());
      other.resize(entry.type.bytes());
      theirs.state().download(their_table, Role::parameter, entry.name, first.data());
      own.state().download(table, Role::parameter, entry.name, other.data());
      if (first != other)
        throw Error(Status::mismatch, text("parameter '", entry.name, "' differs between ", theirs.device_id(), " and ",
                                           own.device_id(), ", which hold channels of the same layers"));
    }
  }
}

}  // namespace troika
