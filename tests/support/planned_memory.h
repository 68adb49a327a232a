// What a plan's arena holds at its fullest moment: the network's values alone, or everything.
//
// Kernels' scratch, copies in other layouts and gradients on their way to the state depend on the
// CPU or the GPU. Tests of what a plan keeps count values alone, so that they hold on any machine.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "plan/plan.h"

namespace troika {

// Follows a plan step by step. A value lives from the step that makes it to the last one that reads
// it or a copy of it.
class PlannedMemory {
 public:
  explicit PlannedMemory(const Plan& plan) {
    for (const InputPort& input : plan.inputs) make(input.location, -1);
    for (size_t i = 0; i < plan.steps.size(); ++i) follow(plan, plan.steps[i], static_cast<int>(i));
    steps_ = static_cast<int>(plan.steps.size());
    for (const OutputPort& output : plan.outputs) read(output.location, steps_);
  }

  // Counts as activation_bytes does: an output and the input whose memory it takes over count both.
  // Each value takes a multiple of `alignment`.
  size_t value_bytes(size_t alignment = 1) const {
    size_t most = 0;
    for (int step = 0; step <= steps_; ++step) {
      size_t bytes = 0;
      for (const Block& block : blocks_)
        if (block.is_value && block.first <= step && step <= block.last_of_copies)
          bytes += (block.bytes + alignment - 1) / alignment * alignment;
      most = std::max(most, bytes);
    }
    return most;
  }

  // The least that any arena with these lifetimes takes.
  size_t all_bytes() const {
    size_t most = 0;
    for (int step = 0; step <= steps_; ++step) {
      std::map<size_t, size_t> ends;  // by offset
      for (const Block& block : blocks_)
        if (block.first <= step && step <= block.last)
          ends[block.offset] = std::max(ends[block.offset], block.offset + block.bytes);
      size_t bytes = 0, counted = 0;
      for (const auto& [begin, end] : ends) {
        if (end > counted) bytes += end - std::max(begin, counted);
        counted = std::max(counted, end);
      }
      most = std::max(most, bytes);
    }
    return most;
  }

 private:
  struct Block {
    size_t offset, bytes;
    int first, last;
    int last_of_copies;  // its own last reader, or a copy's
    bool is_value;
    size_t original;  // the block that it is a copy of; else itself
  };

  void follow(const Plan& plan, const PlanStep& step, int now) {
    const auto pass = [&](const Location& from, const Location& to) {
      read(from, now);
      make(to, now);
    };
    switch (step.kind) {
      case PlanStep::launch: return follow(plan.launches[step.index], now);
      case PlanStep::send: return read(plan.messages[step.index].location, now);
      case PlanStep::receive: return make(plan.messages[step.index].location, now);
      case PlanStep::start_group_sum: return pass(plan.sums[step.index].from, plan.sums[step.index].to);
      case PlanStep::wait_group_sum: return read(plan.sums[step.index].to, now);
      case PlanStep::channel_gather:
      case PlanStep::channel_scatter: return pass(plan.exchanges[step.index].from, plan.exchanges[step.index].to);
      default: return;  // of the state
    }
  }

  void follow(const Launch& launch, int now) {
    for (const Location& location : launch.inputs) read(location, now);
    if (launch.scratch.segment == Segment::arena)
      blocks_.push_back({launch.scratch.offset, launch.scratch.bytes, now, now, now, false, blocks_.size()});
    if (launch.op == "reorder") return copy(launch.inputs[0], launch.outputs[0], now);
    for (const Location& location : launch.outputs) make(location, now);
  }

  void make(const Location& location, int now) {
    if (location.segment != Segment::arena) return;
    latest_[location.offset] = blocks_.size();
    blocks_.push_back({location.offset, location.bytes, now, now, now, true, blocks_.size()});
  }

  void read(const Location& location, int now) {
    if (location.segment != Segment::arena) return;
    Block& block = blocks_[latest_.at(location.offset)];
    block.last = now;
    blocks_[block.original].last_of_copies = now;
  }

  void copy(const Location& from, const Location& to, int now) {
    if (to.segment != Segment::arena) {  // a gradient, made in another layout than the state's
      if (from.segment == Segment::arena) blocks_[latest_.at(from.offset)].is_value = false;
      return;
    }
    make(to, now);
    blocks_.back().is_value = false;
    if (from.segment == Segment::arena) blocks_.back().original = blocks_[latest_.at(from.offset)].original;
  }

  std::vector<Block> blocks_;
  std::map<size_t, size_t> latest_;  // that begins at an offset
  int steps_ = 0;
};

}  // namespace troika
