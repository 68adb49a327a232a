// The rounds of messages that are not complete yet.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/deadline.h"

namespace troika {

// In a round every rank passes one message. Rounds of different lanes are independent.
class Rounds {
 public:
  explicit Rounds(int size) : size_(static_cast<size_t>(size)), has_left_(size_, false) {}

  struct Key {
    int64_t lane, round;
    auto operator<=>(const Key&) const = default;
  };
  struct Failure {
    int64_t lane;
    std::string reason;
  };

  // Returns the messages of all ranks if this is the last one, else none. Throws Failure if the
  // rank calls something else than the others, or if a rank that has left is missing.
  std::vector<std::string> add(const Key& key, int rank, const std::string& what, std::string message,
                               int64_t milliseconds);
  // Rounds without its message fail.
  std::vector<Failure> leave(int rank);
  // Rounds that fail at this moment. `describe(rank)` says more about a rank that is missing.
  std::vector<Failure> find_late(Deadline now, const std::function<std::string(int rank)>& describe) const;
  void drop_lane(int64_t lane) {
    std::erase_if(rounds_, [lane](const auto& entry) { return entry.first.lane == lane; });
  }
  void drop_all() { rounds_.clear(); }
  // The earliest moment at which a round is late.
  Deadline next_deadline() const;

 private:
  struct Round {
    std::string what;
    std::vector<std::string> messages;
    std::vector<bool> has;
    int count = 0, first = 0;  // ranks that have passed theirs, and the first of them
    int64_t milliseconds = 0;
    Deadline deadline;
  };
  // Returns a rank that has left and is missing; -1: none.
  int missing_forever(const Round& round) const;

  const size_t size_;
  std::vector<bool> has_left_;  // by rank
  std::map<Key, Round> rounds_;
};

// "rank 1", "ranks 0, 2": the ranks for which `has` is `value`.
std::string print_ranks(const std::vector<bool>& has, bool value);

}  // namespace troika
