// Lifetimes, shared memory, and addresses.
#include "plan/plan_draft.h"

#include <algorithm>
#include <utility>

#include "core/text.h"

namespace troika {
namespace {

constexpr size_t kNumberAlignment = 16;  // of numbers that the host feeds and reads
constexpr size_t kMostPrinted = 8;       // layouts of a launch's inputs

}  // namespace

Place PlanDraft::add_block(size_t bytes) {
  return {arena_.add(bytes, static_cast<int>(plan_.launches.size())), Role::activation, "", {}};
}

void PlanDraft::keep_until(const Place& place, size_t launch) {
  if (place.block != Place::kNone) arena_.keep_until(place.block, static_cast<int>(launch));
}

void PlanDraft::add_launch(const std::string& op, const std::string& layer, KernelChoice choice,
                           std::vector<Place> inputs, std::vector<Place> outputs, std::vector<size_t> changed_inputs,
                           double operations, bool is_beside) {
  for (const std::vector<Place>* places : {&inputs, &outputs})
    for (const Place& p : *places) keep(p);
  Place scratch;
  if (choice.scratch_bytes) scratch = add_block(choice.scratch_bytes);

  std::vector<std::string> in_names, out_names;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].is_absent()) in_names.push_back(layout_name(choice.input_layouts[i]));
  for (const LayoutPtr& layout : choice.output_layouts) out_names.push_back(layout_name(layout));
  Launch launch;
  launch.op = op;
  launch.layer = layer;
  launch.kernel_name = std::move(choice.name);
  launch.layouts = in_names.size() > kMostPrinted ? text(in_names.size(), " tensors")
                                                  : text(join(in_names, ", "), " -> ", join(out_names, ", "));
  launch.kernel = std::move(choice.kernel);
  launch.operations = operations;
  launch.is_beside = is_beside;
  add_step({PlanStep::launch, plan_.launches.size()});
  plan_.launches.push_back(std::move(launch));
  arguments_.push_back(
      {std::move(inputs), std::move(outputs), std::move(changed_inputs), scratch, std::move(choice.may_share)});
}

void PlanDraft::add_message(PlanStep::Kind kind, Message message, const Place& place) {
  add_step({kind, plan_.messages.size()});
  plan_.messages.push_back(std::move(message));
  message_places_.push_back(place);
  keep(place);
}

namespace {

// A slot names the same collective on every rank of a group. So slots follow from the numbers of
// buckets, which all ranks share. Small collectives share one slot, because each ends before the
// next begins. One more collective may run in the background.
constexpr int kSmallSlot = 0, kBackgroundSlot = 1;
constexpr BucketSlots slots_of(size_t bucket) {
  return {static_cast<int>(2 * bucket) + 2, static_cast<int>(2 * bucket) + 3};
}

}  // namespace

void PlanDraft::need_slot(RankGroup group, int slot) {
  int& slots = plan_.slots[static_cast<size_t>(group)];
  slots = std::max(slots, slot + 1);
}

void PlanDraft::add_bucket(size_t bucket) {
  while (plan_.bucket_slots.size() <= bucket) plan_.bucket_slots.push_back(slots_of(plan_.bucket_slots.size()));
  need_slot(RankGroup::data, plan_.bucket_slots.back().gather);
}

size_t PlanDraft::add_sum(GroupSum sum, const Place& from, const Place& to, bool in_background) {
  const size_t index = plan_.sums.size();
  add_step({PlanStep::start_group_sum, index});
  sum.slot = in_background ? kBackgroundSlot : kSmallSlot;
  need_slot(sum.group, sum.slot);
  plan_.sums.push_back(sum);
  sum_places_.push_back({from, to});
  keep(from);
  keep(to);
  if (!in_background) add_wait(index);
  return index;
}

void PlanDraft::add_wait(size_t sum) {
  add_step({PlanStep::wait_group_sum, sum});
  keep(sum_places_[sum].second);
}

void PlanDraft::add_exchange(PlanStep::Kind kind, ChannelExchange exchange, const Place& from, const Place& to) {
  add_step({kind, plan_.exchanges.size()});
  exchange.slot = kSmallSlot;
  need_slot(RankGroup::channel, exchange.slot);
  plan_.exchanges.push_back(std::move(exchange));
  exchange_places_.push_back({from, to});
  keep(from);
  keep(to);
}

void PlanDraft::add_input(const Value& value, const Place& place) {
  plan_.inputs.push_back({value.role, value.name, {}});
  input_places_.push_back(place);
}

void PlanDraft::add_output(Report report, const TensorType& type, const Place& place) {
  plan_.outputs.push_back({report, type, {}});
  output_places_.push_back(place);
}

// A concurrent launch's memory is not reused until the next concurrent launch, which waits for it.
void PlanDraft::keep_beside() {
  size_t next = plan_.launches.size();
  for (size_t i = plan_.launches.size(); i-- > 0;) {
    if (!plan_.launches[i].is_beside) continue;
    const Arguments& a = arguments_[i];
    for (const std::vector<Place>* places : {&a.inputs, &a.outputs})
      for (const Place& p : *places) keep_until(p, next - 1);
    keep_until(a.scratch, next - 1);
    next = i;
  }
}

// Lets an output take over the memory of an input that dies in its launch. If the last concurrent
// launch reads that input, too, the output has memory of its own, and does not wait.
void PlanDraft::share_memory() {
  for (const Place& p : output_places_) {
    keep(p);
    if (p.block != Place::kNone) arena_.pin(p.block);
  }
  for (const Place& p : input_places_) {
    arena_.keep_from(p.block, -1);
    arena_.pin(p.block);
  }
  std::vector<Place> read_beside;  // by the last concurrent launch
  const auto is_read_beside = [&](size_t block) {
    return std::any_of(read_beside.begin(), read_beside.end(), [=](const Place& p) { return p.block == block; });
  };
  for (size_t now = 0; now < arguments_.size(); ++now) {
    const Arguments& a = arguments_[now];
    if (plan_.launches[now].is_beside) read_beside = a.inputs;
    for (const auto& [out, in] : a.may_share) {
      const size_t output = a.outputs[static_cast<size_t>(out)].block, input = a.inputs[static_cast<size_t>(in)].block;
      if (output != Place::kNone && input != Place::kNone && !is_read_beside(input) &&
          arena_.take_over(output, input, static_cast<int>(now)))
        break;
    }
  }
}

// Places numbers that the host feeds, then numbers that it reads, at the arena's beginning for the
// whole step.
void PlanDraft::place_arena() {
  auto place = [&](const Place& p) {
    if (p.block != Place::kNone) arena_.place_first(p.block, kNumberAlignment);
  };
  for (size_t i = 0; i < input_places_.size(); ++i)
    if (!is_of_samples(plan_.inputs[i].role)) place(input_places_[i]);
  plan_.fed_numbers = {Segment::arena, 0, arena_.bytes()};
  const size_t begin = arena_.align(kArenaAlignment);
  for (size_t i = 0; i < output_places_.size(); ++i)
    if (is_number(plan_.outputs[i].report)) place(output_places_[i]);
  plan_.result_numbers = {Segment::arena, begin, arena_.bytes() - begin};
  arena_.place_rest();
  plan_.arena_bytes = arena_.bytes();
}

Location PlanDraft::locate(const Place& place, const StateTable& state) const {
  if (place.block != Place::kNone) return {Segment::arena, arena_.offset_of(place.block), arena_.bytes_of(place.block)};
  if (place.packed.segment == Segment::packed) return place.packed;
  return is_state(place.role) ? state.locate(place.role, place.name) : Location{};
}

Plan PlanDraft::finish(const StateTable& state) {
  keep_beside();
  share_memory();
  place_arena();
  for (size_t i = 0; i < plan_.launches.size(); ++i) {
    for (const Place& p : arguments_[i].inputs) plan_.launches[i].inputs.push_back(locate(p, state));
    for (const Place& p : arguments_[i].outputs) plan_.launches[i].outputs.push_back(locate(p, state));
    for (const size_t k : arguments_[i].changed_inputs)
      plan_.launches[i].changed.push_back(plan_.launches[i].inputs[k]);
    plan_.launches[i].scratch = locate(arguments_[i].scratch, state);
  }
  for (size_t i = 0; i < plan_.messages.size(); ++i) plan_.messages[i].location = locate(message_places_[i], state);
  for (size_t i = 0; i < plan_.sums.size(); ++i) {
    plan_.sums[i].from = locate(sum_places_[i].first, state);
    plan_.sums[i].to = locate(sum_places_[i].second, state);
  }
  for (size_t i = 0; i < plan_.exchanges.size(); ++i) {
    plan_.exchanges[i].from = locate(exchange_places_[i].first, state);
    plan_.exchanges[i].to = locate(exchange_places_[i].second, state);
  }
  for (size_t i = 0; i < plan_.inputs.size(); ++i) plan_.inputs[i].location = locate(input_places_[i], state);
  for (size_t i = 0; i < plan_.outputs.size(); ++i) plan_.outputs[i].location = locate(output_places_[i], state);
  return std::move(plan_);
}

}  // namespace troika
