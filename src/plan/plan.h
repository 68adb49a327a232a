// A plan: the work of one rank in a step, in order. All addresses are known, relative to a few
// bases.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "comm/collective.h"
#include "device/backend.h"
#include "ops/op_traits.h"
#include "plan/state_table.h"

namespace troika {

struct Launch {
  std::string op;           // "conv2d", or "reorder"
  std::string layer;        // "layer1.0.conv1"
  std::string kernel_name;  // "cpu:onednn:jit:avx512_core"
  std::string layouts;      // "plain, aBcd16b -> aBcd16b"
  std::unique_ptr<Kernel> kernel;
  std::vector<Location> inputs, outputs;  // Segment::none if absent
  std::vector<Location> changed;          // inputs that the kernel changes in place
  Location scratch;
  double operations = 0;
  bool is_beside = false;  // may run concurrently with later launches, until they need its memory (launch_order.h)
};

struct PlanStep {
  enum Kind {
    launch,
    start_all_reduce,
    wait_all_reduce,
    start_all_gather,
    wait_all_gather,
    send,
    receive,
    start_group_sum,
    wait_group_sum,
    channel_gather,
    channel_scatter,
    pause  // the run ends here, and another run goes on from here
  } kind;
  size_t index;               // into launches, messages, sums or exchanges, or the bucket
  bool is_late = false;       // belongs to the update by the gradients of the step before
  bool makes_copies = false;  // of parameters; left out if the update of an earlier run has made them
};

const char* name_of(PlanStep::Kind kind);  // "start_all_reduce"

// Data that are sent to a rank of the same pipeline, or received from it.
struct Message {
  int peer;
  int slot;
  Location location;
};

// A small collective on a copy of `from`. Its wait follows at once, except in the background.
struct GroupSum {
  RankGroup group;
  int slot;
  Collective collective;
  Location from, to;
};

// Between the ranks of a channel group. Gather: each rank contributes `from`; afterwards `to` holds
// all pieces on every rank. Scatter: ranks sum `from` in place; each rank copies its own piece of
// the sum to `to`.
struct ChannelExchange {
  int slot;
  int rank;
  std::vector<OwnedBytes> pieces;  // one per rank
  Location from, to;
};

// The data group's slots for a bucket.
struct BucketSlots {
  int reduce, gather;
};

// Steps [first, last), all of them launches, which the device repeats with one call.
struct RecordedRun {
  size_t first, last;
  std::unique_ptr<Recording> recording;
};

// An input of the step.
struct InputPort {
  Role role;
  std::string name;  // for printing
  Location location;
};

// A result of the step.
struct OutputPort {
  Report report;
  TensorType type;
  Location location;
};

struct Plan {
  std::string name;  // "train batch 128 of 256"
  std::vector<Launch> launches;
  std::vector<Message> messages;
  std::vector<GroupSum> sums;
  std::vector<ChannelExchange> exchanges;
  std::vector<BucketSlots> bucket_slots;    // by bucket
  bool compresses_gradients = false;        // before and after their sum they are rounded to bf16
  bool is_late = false;                     // updates by the gradients of the step before (parallel/late_updates.h)
  bool keeps_copies = false;                // of parameters: its update leaves them as the next run needs them
  std::array<int, kSummingGroups> slots{};  // number that each group needs, by RankGroup
  std::vector<PlanStep> steps;
  std::vector<RecordedRun> recorded;  // in order; empty: launches run one by one
  size_t arena_bytes = 0;
  std::vector<InputPort> inputs;  // inputs of one role are in the order of micro-batches
  std::vector<OutputPort> outputs;
  // All inputs except samples and targets are stored together, and so are all results that are
  // numbers: one copy takes each.
  Location fed_numbers, result_numbers;

  // Returns the operations of all launches. For traces, the launches up to the loss are the forward
  // pass, the rest is backward pass and update.
  double operations() const;
  bool uses(Segment segment) const;  // whether a launch reads or writes there
};

// Returns one line per step, with addresses as offsets in the arena.
std::string print_plan(const Plan& plan);

}  // namespace troika
