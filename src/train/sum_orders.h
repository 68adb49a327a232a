// The orders in which sums of buckets travel if updates are late: one per size of a batch, chosen
// after the first steps with that size.
#pragma once

#include <map>
#include <vector>

#include "core/log.h"
#include "train/local_ranks.h"

namespace troika {

class SumOrders {
 public:
  // All must outlive it.
  SumOrders(const StepLayout& layout, const LocalRanks& ranks, const Log& log);

  // Whether updates can be late: sums travel between processes.
  bool are_possible() const { return is_possible_; }
  // Returns the order for steps on `n` samples, 0 for no step; empty: their updates are not late.
  const std::vector<size_t>& find(int64_t n) const;
  // Counts a step that begins, and returns whether it is to be measured.
  bool measures_next(int64_t n);
  // Chooses the order, after the step that was measured. Collective. COMM.
  void choose(int64_t n);

 private:
  struct Order {
    int steps = 0;
    std::vector<size_t> buckets;
  };

  const LocalRanks& ranks_;
  const Log& log_;
  bool is_possible_ = false;
  std::map<int64_t, Order> orders_;  // by n
};

}  // namespace troika
