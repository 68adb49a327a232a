// Collecting messages, and who is missing.
#include "group/rounds.h"

#include <algorithm>

#include "core/text.h"

namespace troika {
namespace {

std::vector<int> ranks_of(const std::vector<bool>& has, bool value) {
  std::vector<int> ranks;
  for (size_t rank = 0; rank < has.size(); ++rank)
    if (has[rank] == value) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

}  // namespace

std::string print_ranks(const std::vector<bool>& has, bool value) {
  const std::vector<int> ranks = ranks_of(has, value);
  return text(ranks.size() == 1 ? "rank " : "ranks ", join(ranks, ", "));
}

std::vector<std::string> Rounds::add(const Key& key, int rank, const std::string& what, std::string message,
                                     int64_t milliseconds) {
  auto [found, is_new] = rounds_.try_emplace(key);
  Round& round = found->second;
  if (is_new) {
    round.what = what;
    round.messages.resize(size_);
    round.has.resize(size_);
    round.first = rank;
    round.milliseconds = milliseconds;
    round.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  }
  if (round.what != what)
    throw Failure{key.lane, text("rank ", rank, " calls ", what, " while rank ", round.first, " calls ", round.what)};
  const auto index = static_cast<size_t>(rank);
  if (!round.has[index]) ++round.count;
  round.has[index] = true;
  round.messages[index] = std::move(message);
  if (static_cast<size_t>(round.count) == size_) {
    std::vector<std::string> messages = std::move(round.messages);
    rounds_.erase(found);
    return messages;
  }
  if (const int missing = missing_forever(round); missing >= 0)
    throw Failure{key.lane, text(what, ": rank ", missing, " has left the group")};
  return {};
}

int Rounds::missing_forever(const Round& round) const {
  for (size_t rank = 0; rank < size_; ++rank)
    if (has_left_[rank] && !round.has[rank]) return static_cast<int>(rank);
  return -1;
}

std::vector<Rounds::Failure> Rounds::leave(int rank) {
  has_left_[static_cast<size_t>(rank)] = true;
  std::vector<Failure> failures;
  for (const auto& [key, round] : rounds_)
    if (missing_forever(round) >= 0)
      failures.push_back({key.lane, text(round.what, ": rank ", rank, " has left the group")});
  return failures;
}

std::vector<Rounds::Failure> Rounds::find_late(Deadline now, const std::function<std::string(int)>& describe) const {
  std::vector<Failure> failures;
  for (const auto& [key, round] : rounds_) {
    if (now < round.deadline) continue;
    std::string reason = text(round.what, ": ", print_ranks(round.has, false), " did not arrive within ",
                              round.milliseconds, " ms, ", print_ranks(round.has, true), " waited");
    for (int rank : ranks_of(round.has, false)) reason += describe(rank);
    failures.push_back({key.lane, std::move(reason)});
  }
  return failures;
}

Deadline Rounds::next_deadline() const {
  Deadline next = Deadline::max();
  for (const auto& [key, round] : rounds_) next = std::min(next, round.deadline);
  return next;
}

}  // namespace troika
