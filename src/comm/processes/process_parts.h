// How the ranks of a group are divided over processes, and the parts of sums that each computes.
#pragma once

#include <vector>

#include "comm/collective.h"
#include "comm/pairwise_sum.h"

namespace troika {

constexpr size_t kMostWhole = 32 * 1024;  // bytes of a bucket that more than two processes send whole

// A node of the tree of a sum (comm/pairwise_sum.h).
struct SumNode {
  size_t first, width;
};

// A process with ranks of the group.
struct ProcessPart {
  int process;
  std::vector<size_t> positions;  // of its ranks within the group
  std::vector<SumNode> nodes;     // the largest that its ranks sum alone

  bool owns(const OwnedBytes& piece) const;
};

class ProcessParts {
 public:
  // `owners`: the process of each world rank.
  ProcessParts(const std::vector<int>& group, const std::vector<int>& owners, int own_process);

  size_t ranks() const { return ranks_; }
  size_t size() const { return parts_.size(); }
  const ProcessPart& operator[](size_t part) const { return parts_[part]; }
  const ProcessPart& own() const { return parts_[own_]; }
  size_t own_index() const { return own_; }
  // Calls f(part) for the other processes.
  template <typename F>
  void for_each_other(F f) const {
    for (size_t part = 0; part < parts_.size(); ++part)
      if (part != own_) f(part);
  }

  // Whether each process sums all elements, instead of a slice.
  bool is_whole(const Collective& collective) const;
  Range slice_of(const Collective& collective, size_t part) const;
  // Bytes of the pieces that a process's ranks own.
  size_t bytes_owned(const std::vector<OwnedBytes>& pieces, size_t part) const;

  // Writes the sums of this process's nodes, one node after another. `data`: of each local rank.
  template <typename T>
  void sum_nodes(const std::vector<void*>& data, Range elements, std::byte* to) const {
    std::vector<const void*> summands(ranks_, nullptr);
    for (size_t local = 0; local < data.size(); ++local) summands[own().positions[local]] = data[local];
    for (const SumNode& node : own().nodes) {
      T* const sums = reinterpret_cast<T*>(to);
      sum_node<T>({summands.data(), nullptr, ranks_}, node.first, node.width, elements.begin, elements.end,
                  [&](const T* sum, int64_t at, int64_t m) { std::copy(sum, sum + m, sums + (at - elements.begin)); });
      to += static_cast<size_t>(elements.size()) * sizeof(T);
    }
  }

  // Sums the elements over all ranks, into all local ranks or into `owner`. `parts`: the sums of
  // the other processes' nodes, one node after another.
  template <typename T>
  void sum_elements(const std::vector<void*>& data, Range elements, const std::vector<const std::byte*>& parts,
                    int owner) const {
    std::vector<const void*> summands(ranks_, nullptr);
    std::vector<size_t> widths(ranks_, 1);
    for (size_t local = 0; local < data.size(); ++local)
      summands[own().positions[local]] = static_cast<const T*>(data[local]) + elements.begin;
    for_each_other([&](size_t part) {
      const std::byte* sums = parts[part];
      for (const SumNode& node : parts_[part].nodes) {
        summands[node.first] = sums;
        widths[node.first] = node.width;
        sums += static_cast<size_t>(elements.size()) * sizeof(T);
      }
    });
    sum_all<T>({summands.data(), widths.data(), ranks_}, 0, elements.size(), [&](const T* sum, int64_t at, int64_t m) {
      for (size_t local = 0; local < data.size(); ++local)
        if (owner < 0 || own().positions[local] == static_cast<size_t>(owner))
          std::copy(sum, sum + m, static_cast<T*>(data[local]) + elements.begin + at);
    });
  }

 private:
  const size_t ranks_;
  std::vector<ProcessPart> parts_;  // in the order of their first ranks
  size_t own_ = 0;
};

}  // namespace troika
