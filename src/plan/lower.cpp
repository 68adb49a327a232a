// Turns nodes into launches: choice of kernels, reorders, lifetimes, addresses.
#include "plan/lower.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "ops/op_def.h"
#include "plan/plan_draft.h"

namespace troika {
namespace {

// Where a value is stored after the launches so far, and in which layout.
struct Stored {
  Place place;
  LayoutPtr layout;
};

bool has(const std::vector<size_t>& places, size_t i) {
  return std::find(places.begin(), places.end(), i) != places.end();
}

// Returns the inputs that a node changes in place. Only a layer's op names all of them: an update
// has any number of parameters.
std::vector<size_t> changed_inputs(const Node& node) {
  std::vector<size_t> changed;
  for (size_t i = 0; i < node.inputs.size() && !node.op->mutates.empty(); ++i) {
    const std::vector<int>& named = node.op->mutates;
    if (!node.op->as<LayerOp>() || std::find(named.begin(), named.end(), static_cast<int>(i)) != named.end())
      changed.push_back(i);
  }
  return changed;
}

class Lowering {
 public:
  Lowering(const Graph& graph, Device& device, StateTable& state, const Interruption& interruption, const Log& log)
      : graph_(graph), device_(device), state_(state), interruption_(interruption), log_(log) {}

  Plan run() {
    stored_.resize(graph_.values().size());
    for (ValueId id = 0; id < graph_.values().size(); ++id) {
      const Value& value = graph_.value(id);
      if (is_state(value.role)) stored_[id] = {state_place(value), nullptr};
      if (!is_input(value.role)) continue;
      stored_[id] = {new_block(value.type, nullptr), nullptr};
      draft_.add_input(value, stored_[id].place);
    }
    for (const Node& node : graph_.nodes())
      if (is_late_sum(node)) add_in_flight(node);  // since the step before
    for (const Node& node : graph_.nodes()) {
      interruption_.check("compiling a plan");
      draft_.set_late(node.attributes.flag("late") && !is_late_sum(node));
      lower_node(node);
      if (node.attributes.flag("late"))
        for (ValueId id : node.inputs) reordered_.erase(id);  // the value has changed, and a first run skips late nodes
    }
    draft_.set_late(false);
    for (const auto& [id, report] : graph_.outputs)
      draft_.add_output(report, graph_.type(id), stored_as(id, nullptr, "output").place);
    wait_for_rest();
    if (!state_.is_placed()) state_.place();
    Plan plan = draft_.finish(state_);
    plan.name = graph_.name();
    return plan;
  }

 private:
  // Whether a launch makes copies in the order in which parameters are stored, as updates do.
  bool makes_copies(const Node& node, const std::vector<Place>& inputs) const {
    return !node.outputs.empty() && graph_.value(node.outputs[0]).role == Role::copy &&
           std::all_of(inputs.begin(), inputs.end(), [](const Place& place) { return is_state(place.role); });
  }

  static Place state_place(const Value& value) { return {Place::kNone, value.role, value.name, {}}; }

  Place new_block(const TensorType& type, const LayoutPtr& layout) {
    return draft_.add_block(layout ? layout->bytes() : type.bytes());
  }

  LayoutPtr layout_of(ValueId id) {
    const Value& value = graph_.value(id);
    const bool has_entry = is_state(value.role) && value.role != Role::copy;
    return has_entry ? state_.find(value.role, value.name).layout : stored_[id].layout;
  }

  void lower_node(const Node& node) {
    if (const auto* collective = node.op->as<CollectiveOp>(); collective && !node.op->is_view)
      return lower_collective(node, *collective);
    if (node.op->is_view) return lower_view(node);
    KernelRequest request{graph_, node, {}};
    for (ValueId id : node.inputs) request.input_layouts.push_back(id == kNoValue ? nullptr : layout_of(id));
    KernelChoice choice = device_.select(request);
    for (const LogLine& note : choice.notes) log_.write(LogTopic::plan, note.level, note.text);

    std::vector<Place> inputs, outputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue || has(choice.unused_inputs, i)) {
        inputs.emplace_back();
        continue;
      }
      wait_for(id);
      inputs.push_back(stored_as(id, choice.input_layouts[i], node.name).place);
    }
    for (int i : node.op->mutates)
      if (node.inputs[static_cast<size_t>(i)] != kNoValue &&
          is_state(graph_.value(node.inputs[static_cast<size_t>(i)]).role) &&
          !is_state(inputs[static_cast<size_t>(i)].role))
        throw Error(Status::internal,
                    text(node.op, " '", node.name, "': changes state that is not stored as its kernel needs"));

    // If the kernel makes a gradient in the parameter's layout, it writes the gradient to the
    // state; otherwise a reorder does.
    struct Landing {
      ValueId id;
      LayoutPtr made;
    };
    std::vector<Landing> landings;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      const Value& value = graph_.value(id);
      const LayoutPtr& made = choice.output_layouts[i];
      if (has(choice.unused_outputs, i)) {
        unused_.insert(id);
        outputs.emplace_back();
        continue;
      }
      if (value.role == Role::copy) stored_[id].layout = made;
      if (is_state(value.role) && same_layout(made, layout_of(id))) {
        outputs.push_back(state_place(value));
        continue;
      }
      stored_[id] = {new_block(value.type, made), made};
      outputs.push_back(stored_[id].place);
      if (is_state(value.role)) landings.push_back({id, made});
    }

    draft_.set_makes_copies(makes_copies(node, inputs));
    draft_.add_launch(std::string(node.op->name), node.name, std::move(choice), inputs, outputs, changed_inputs(node),
                      cost_of(graph_, node).operations, node.attributes.flag("beside"));
    draft_.set_makes_copies(false);
    for (const Landing& landing : landings) {
      const Value& value = graph_.value(landing.id);
      const Place from = stored_[landing.id].place;
      stored_[landing.id] = {state_place(value), nullptr};
      add_reorder(value.name, value.type, landing.made, layout_of(landing.id), from, state_place(value));
    }
  }

  // A view is the same memory under another shape. The gradient of a parameter has its own memory,
  // into which the view is copied.
  void lower_view(const Node& node) {
    const ValueId id = node.outputs[0];
    const Stored from = stored_as(node.inputs[0], nullptr, node.name);
    const Value& value = graph_.value(id);
    if (!is_state(value.role)) {
      stored_[id] = from;
      return;
    }
    stored_[id] = {state_place(value), nullptr};
    add_reorder(value.name, value.type, nullptr, layout_of(id), from.place, state_place(value));
  }

  void lower_collective(const Node& node, const CollectiveOp& collective) {
    switch (collective.kind.value) {
      case CollectiveOp::reduce_bucket: {
        const auto bucket = static_cast<size_t>(node.attributes.integer("bucket"));
        draft_.add_bucket(bucket);
        draft_.add_step({PlanStep::start_all_reduce, bucket});
        if (!is_late_sum(node)) add_in_flight(node);
        return;
      }
      case CollectiveOp::gather_bucket: {
        const auto bucket = static_cast<size_t>(node.attributes.integer("bucket"));
        draft_.add_bucket(bucket);
        draft_.add_step({PlanStep::start_all_gather, bucket});
        gathers_.push_back(bucket);
        return;
      }
      case CollectiveOp::sum:
      case CollectiveOp::all_of: return lower_sum(node, collective);
      case CollectiveOp::gather: return lower_exchange(node, PlanStep::channel_gather, node.outputs[0]);
      case CollectiveOp::scatter: return lower_exchange(node, PlanStep::channel_scatter, node.inputs[0]);
      case CollectiveOp::send:
      case CollectiveOp::receive: return lower_message(node, collective.kind == CollectiveOp::send);
      case CollectiveOp::copy: return;  // a view
      case CollectiveOp::pause: return lower_pause();
    }
  }

  static bool is_late_sum(const Node& node) { return node.op == &all_reduce_op && node.attributes.flag("late"); }

  void add_in_flight(const Node& sum) {
    for (ValueId id : sum.inputs)
      in_flight_[graph_.value(id).name] = static_cast<size_t>(sum.attributes.integer("bucket"));
  }

  // Before the pause, everything arrives, and the outputs that are there become plain for the host.
  void lower_pause() {
    for (const auto& [id, report] : graph_.outputs)
      if (stored_[id].place.block != Place::kNone) stored_as(id, nullptr, "output");
    wait_for_rest();
    in_flight_.clear();
    gathers_.clear();
    sums_in_flight_.clear();
    draft_.add_step({PlanStep::pause, 0});
  }

  // Messages have plain layouts: ranks may choose layouts of their own.
  void lower_message(const Node& node, bool is_send) {
    Place place;
    if (is_send) {
      place = stored_as(node.inputs[0], nullptr, node.name).place;
    } else {
      const ValueId id = node.outputs[0];
      place = new_block(graph_.type(id), nullptr);
      stored_[id] = {place, nullptr};
    }
    draft_.add_message(
        is_send ? PlanStep::send : PlanStep::receive,
        {static_cast<int>(node.attributes.integer("peer")), static_cast<int>(node.attributes.integer("message")), {}},
        place);
  }

  void lower_sum(const Node& node, const CollectiveOp& op) {
    const ValueId id = node.outputs[0];
    wait_for(node.inputs[0]);
    const Place from = stored_as(node.inputs[0], nullptr, node.name).place, to = new_block(graph_.type(id), nullptr);
    stored_[id] = {to, nullptr};
    const TensorType& type = graph_.type(id);
    const bool in_background = node.attributes.flag("background");
    const size_t sum =
        draft_.add_sum({op.group,
                        0,
                        op.kind == CollectiveOp::all_of ? Collective::all_of()
                                                        : Collective::all_reduce(type.dtype, type.shape.elements()),
                        {},
                        {}},
                       from, to, in_background);
    if (in_background) sums_in_flight_[id] = sum;
  }

  // `packed` has the channels of all ranks.
  void lower_exchange(const Node& node, PlanStep::Kind kind, ValueId packed) {
    const ValueId id = node.outputs[0];
    const Place from = stored_as(node.inputs[0], nullptr, node.name).place, to = new_block(graph_.type(id), nullptr);
    stored_[id] = {to, nullptr};
    ChannelExchange exchange{0, static_cast<int>(node.attributes.integer("rank")), {}, {}, {}};
    const std::vector<int64_t>& widths = node.attributes.list("widths");
    const size_t bytes = graph_.type(packed).bytes(),
                 all_widths = static_cast<size_t>(std::accumulate(widths.begin(), widths.end(), int64_t{0}));
    size_t begin = 0;
    for (size_t rank = 0; rank < widths.size(); ++rank) {
      const size_t end = begin + bytes / all_widths * static_cast<size_t>(widths[rank]);
      exchange.pieces.push_back({begin, end, static_cast<int>(rank)});
      begin = end;
    }
    draft_.add_exchange(kind, std::move(exchange), from, to);
  }

  void add_reorder(const std::string& name, const TensorType& type, const LayoutPtr& from_layout,
                   const LayoutPtr& to_layout, const Place& from, const Place& to) {
    draft_.add_launch("reorder", name, device_.select_reorder(type, from_layout, to_layout), {from}, {to}, {}, 0,
                      false);
  }

  // Waits for a value that is on its way before its first reader: a sum in the background, or the
  // bucket of a gradient.
  void wait_for(ValueId id) {
    if (const auto sum = sums_in_flight_.find(id); sum != sums_in_flight_.end()) {
      draft_.add_wait(sum->second);
      sums_in_flight_.erase(sum);
    }
    const Value& value = graph_.value(id);
    if (value.role != Role::gradient) return;
    auto bucket = in_flight_.find(value.name);
    if (bucket == in_flight_.end()) return;
    const size_t index = bucket->second;
    draft_.add_step({PlanStep::wait_all_reduce, index});
    std::erase_if(in_flight_, [&](const auto& item) { return item.second == index; });
  }

  // Waits for everything that no launch reads.
  void wait_for_rest() {
    std::set<size_t> buckets;
    for (const auto& [gradient, bucket] : in_flight_) buckets.insert(bucket);
    for (size_t bucket : buckets) draft_.add_step({PlanStep::wait_all_reduce, bucket});
    for (size_t bucket : gathers_) draft_.add_step({PlanStep::wait_all_gather, bucket});
    for (const auto& [id, sum] : sums_in_flight_) draft_.add_wait(sum);
  }

  // Returns the value in the layout `wanted`: as it is stored, or through a reorder that later
  // readers share.
  Stored stored_as(ValueId id, const LayoutPtr& wanted, const std::string& reader) {
    const Value& value = graph_.value(id);
    if (unused_.count(id))
      throw Error(Status::internal, text("'", reader, "' reads a value that no kernel writes, needs a stored one"));
    if (is_state(value.role) && value.role != Role::gradient && value.role != Role::copy) {
      StateEntry& entry = state_.find(value.role, value.name);
      if (!entry.is_decided) {
        entry.layout = wanted;
        entry.is_decided = true;
      }
    }
    const LayoutPtr current = layout_of(id);
    if (same_layout(current, wanted)) return {stored_[id].place, current};
    for (const auto& [layout, place] : reordered_[id])
      if (same_layout(layout, wanted)) return {place, layout};
    if (value.role == Role::parameter && state_.is_placed() && state_.packed()) {
      Place packed = state_place(value);
      packed.packed = state_.packed()->pack(device_, state_.find(value.name), wanted);
      reordered_[id].push_back({wanted, packed});
      return {packed, wanted};
    }
    const Place to = new_block(value.type, wanted);
    add_reorder(value.name.empty() ? reader : value.name, value.type, current, wanted, stored_[id].place, to);
    reordered_[id].push_back({wanted, to});
    return {to, wanted};
  }

  const Graph& graph_;
  Device& device_;
  StateTable& state_;
  const Interruption& interruption_;
  const Log& log_;
  PlanDraft draft_;
  std::vector<Stored> stored_;  // by value
  std::map<ValueId, std::vector<std::pair<LayoutPtr, Place>>> reordered_;
  std::set<ValueId> unused_;                  // outputs without memory
  std::map<std::string, size_t> in_flight_;   // gradients on their way, by bucket
  std::vector<size_t> gathers_;               // buckets of parameters on their way
  std::map<ValueId, size_t> sums_in_flight_;  // in the background, by their values
};

}  // namespace

Plan lower(const Graph& graph, Device& device, StateTable& state, const Interruption& interruption, const Log& log) {
  return Lowering(graph, device, state, interruption, log).run();
}

}  // namespace troika
