// A plan in the making: launches and collectives name blocks of an arena, which get addresses when
// all blocks are known.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "plan/arena.h"
#include "plan/plan.h"

namespace troika {

// Where an argument is stored: in a block of the arena, or in state.
struct Place {
  static constexpr size_t kNone = SIZE_MAX;
  size_t block = kNone;
  Role role = Role::activation;  // of state
  std::string name;              // of state
  Location packed = {};          // of a parameter in a further layout
  bool is_absent() const { return block == kNone && !is_state(role); }
};

class PlanDraft {
 public:
  // Adds a block that lives from the next launch until its last use.
  Place add_block(size_t bytes);

  void add_launch(const std::string& op, const std::string& layer, KernelChoice choice, std::vector<Place> inputs,
                  std::vector<Place> outputs, std::vector<size_t> changed_inputs, double operations, bool is_beside);
  // Steps that are not launches read and write before the next launch.
  void add_step(PlanStep step) {
    step.is_late = is_late_;
    step.makes_copies = makes_copies_;
    plan_.keeps_copies |= makes_copies_;
    plan_.steps.push_back(step);
  }
  // Whether the steps that follow belong to a late update.
  void set_late(bool is_late) { is_late_ = is_late; }
  // Whether the steps that follow make copies of parameters.
  void set_makes_copies(bool makes_copies) { makes_copies_ = makes_copies; }
  void add_message(PlanStep::Kind kind, Message message, const Place& place);
  // Starts the sum, and returns its index. Unless the sum runs in the background, its wait follows
  // at once.
  size_t add_sum(GroupSum sum, const Place& from, const Place& to, bool in_background);
  void add_wait(size_t sum);
  void add_bucket(size_t bucket);  // unless the bucket is there already
  void add_exchange(PlanStep::Kind kind, ChannelExchange exchange, const Place& from, const Place& to);
  // In the order of values.
  void add_input(const Value& value, const Place& place);
  void add_output(Report report, const TensorType& type, const Place& place);

  // Assigns every block its place in the arena. The state table is placed.
  Plan finish(const StateTable& state);

 private:
  struct Arguments {
    std::vector<Place> inputs, outputs;
    std::vector<size_t> changed_inputs;
    Place scratch;
    std::vector<std::pair<int, int>> may_share;
  };

  void keep(const Place& place) { keep_until(place, plan_.launches.size()); }
  void keep_until(const Place& place, size_t launch);
  void need_slot(RankGroup group, int slot);
  void keep_beside();
  void share_memory();
  void place_arena();
  Location locate(const Place& place, const StateTable& state) const;

  Plan plan_;
  bool is_late_ = false, makes_copies_ = false;
  Arena arena_;
  std::vector<Arguments> arguments_;  // one per launch
  std::vector<Place> message_places_, input_places_, output_places_;
  std::vector<std::pair<Place, Place>> sum_places_, exchange_places_;
};

}  // namespace troika
