// From nodes to launches: kernel choice, reorders, lifetimes, addresses.
#include "plan/lower.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "ops/op_def.h"
#include "plan/arena.h"

namespace troika {
namespace {

constexpr size_t kNone = SIZE_MAX;
constexpr size_t kNumberAlignment = 16;  // of what the host feeds and reads

// Where a launch's argument lives: a block of the arena, or state.
struct Place {
  size_t block = kNone;
  Role role = Role::activation;  // of state
  std::string name;              // of state
  bool is_absent() const { return block == kNone && !is_state(role); }
};

// A value as it lies after the launches so far.
struct Lying {
  Place place;
  LayoutPtr layout;
};

class Lowering {
 public:
  Lowering(const Graph& graph, Device& device, StateTable& state) : graph_(graph), device_(device), state_(state) {}

  Plan run() {
    lying_.resize(graph_.values().size());
    for (ValueId id = 0; id < graph_.values().size(); ++id) {
      const Value& value = graph_.value(id);
      if (is_state(value.role))
        lying_[id] = {state_place(value), nullptr};
      else if (value.role == Role::input)
        lying_[id] = {new_block(value.type, nullptr), nullptr};
    }
    for (const Node& node : graph_.nodes()) lower_node(node);
    for (ValueId id : graph_.outputs) outputs_.push_back(lies_as(id, nullptr, "output").place);
    wait_for_rest();
    if (!state_.is_placed()) state_.place();
    keep_beside();
    share_memory();
    place_arena();
    return finish();
  }

 private:
  static Place state_place(const Value& value) { return {kNone, value.role, value.name}; }

  Place new_block(const TensorType& type, const LayoutPtr& layout) {
    return {add_block(layout ? layout->bytes() : type.bytes()), Role::activation, ""};
  }

  size_t add_block(size_t bytes) { return arena_.add(bytes, static_cast<int>(plan_.launches.size())); }

  LayoutPtr layout_of(ValueId id) {
    const Value& value = graph_.value(id);
    return is_state(value.role) ? state_.find(value.name).layout : lying_[id].layout;
  }

  void lower_node(const Node& node) {
    if (const auto* collective = node.op->as<CollectiveOp>(); collective && !node.op->is_view)
      return lower_collective(node, *collective);
    if (node.op->is_view) {  // the same memory under another shape
      lying_[node.outputs[0]] = lies_as(node.inputs[0], nullptr, node.name);
      return;
    }
    KernelRequest request{graph_, node, {}};
    for (ValueId id : node.inputs) request.input_layouts.push_back(id == kNoValue ? nullptr : layout_of(id));
    KernelChoice choice = device_.select(request);

    std::vector<Place> inputs, outputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue) {
        inputs.emplace_back();
        continue;
      }
      wait_for(id);
      inputs.push_back(lies_as(id, choice.input_layouts[i], node.name).place);
    }
    for (int i : node.op->mutates)
      if (node.inputs[static_cast<size_t>(i)] != kNoValue &&
          is_state(graph_.value(node.inputs[static_cast<size_t>(i)]).role) &&
          !is_state(inputs[static_cast<size_t>(i)].role))
        throw Error(Status::internal,
                    text(node.op, " '", node.name, "': changes state that does not lie as its kernel needs"));

    // A gradient goes straight to its state where the kernel makes it in the parameter's layout, else by a reorder.
    struct Landing {
      ValueId id;
      LayoutPtr made;
    };
    std::vector<Landing> landings;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      const Value& value = graph_.value(id);
      const LayoutPtr& made = choice.output_layouts[i];
      if (is_state(value.role) && same_layout(made, layout_of(id))) {
        outputs.push_back(state_place(value));
        continue;
      }
      lying_[id] = {new_block(value.type, made), made};
      outputs.push_back(lying_[id].place);
      if (is_state(value.role)) landings.push_back({id, made});
    }

    add_launch(std::string(node.op->name), node.name, std::move(choice), inputs, outputs,
               cost_of(graph_, node).operations);
    plan_.launches.back().is_beside = node.attributes.flag("beside");
    for (const Landing& landing : landings) {
      const Value& value = graph_.value(landing.id);
      const Place from = lying_[landing.id].place;
      lying_[landing.id] = {state_place(value), nullptr};
      add_launch("reorder", value.name, device_.select_reorder(value.type, landing.made, layout_of(landing.id)), {from},
                 {state_place(value)}, 0);
    }
  }

  void lower_collective(const Node& node, const CollectiveOp& collective) {
    switch (collective.kind.value) {
      case CollectiveOp::reduce_bucket: {
        const auto bucket = static_cast<size_t>(node.attributes.integer("bucket"));
        plan_.steps.push_back({PlanStep::start_all_reduce, bucket});
        for (ValueId id : node.inputs) in_flight_[graph_.value(id).name] = bucket;
        return;
      }
      case CollectiveOp::gather_bucket: {
        const auto bucket = static_cast<size_t>(node.attributes.integer("bucket"));
        plan_.steps.push_back({PlanStep::start_all_gather, bucket});
        gathers_.push_back(bucket);
        return;
      }
      case CollectiveOp::sum: return lower_sum(node, collective.group);
      case CollectiveOp::gather: return lower_exchange(node, PlanStep::channel_gather, node.outputs[0]);
      case CollectiveOp::scatter: return lower_exchange(node, PlanStep::channel_scatter, node.inputs[0]);
      case CollectiveOp::send:
      case CollectiveOp::receive: return lower_message(node, collective.kind == CollectiveOp::send);
      case CollectiveOp::copy: return;  // a view
    }
  }

  // Messages are plain: ranks may choose layouts of their own.
  void lower_message(const Node& node, bool is_send) {
    Place place;
    if (is_send) {
      place = lies_as(node.inputs[0], nullptr, node.name).place;
    } else {
      const ValueId id = node.outputs[0];
      place = new_block(graph_.type(id), nullptr);
      lying_[id] = {place, nullptr};
    }
    plan_.steps.push_back({is_send ? PlanStep::send : PlanStep::receive, plan_.messages.size()});
    plan_.messages.push_back(
        {static_cast<int>(node.attributes.integer("peer")), static_cast<int>(node.attributes.integer("message")), {}});
    message_places_.push_back(place);
    keep(place);
  }

  void lower_sum(const Node& node, RankGroup group) {
    const ValueId id = node.outputs[0];
    const Place from = lies_as(node.inputs[0], nullptr, node.name).place, to = new_block(graph_.type(id), nullptr);
    lying_[id] = {to, nullptr};
    plan_.steps.push_back({PlanStep::group_sum, plan_.sums.size()});
    plan_.sums.push_back({group, graph_.type(id).dtype, {}, {}});
    sum_places_.push_back({from, to});
    keep(from);
    keep(to);
  }

  // `packed` has the channels of all ranks.
  void lower_exchange(const Node& node, PlanStep::Kind kind, ValueId packed) {
    const ValueId id = node.outputs[0];
    const Place from = lies_as(node.inputs[0], nullptr, node.name).place, to = new_block(graph_.type(id), nullptr);
    lying_[id] = {to, nullptr};
    ChannelExchange exchange{static_cast<int>(node.attributes.integer("rank")), {}, {}, {}};
    const std::vector<int64_t>& widths = node.attributes.list("widths");
    const size_t bytes = graph_.type(packed).bytes(),
                 channels = static_cast<size_t>(std::accumulate(widths.begin(), widths.end(), int64_t{0}));
    size_t begin = 0;
    for (size_t rank = 0; rank < widths.size(); ++rank) {
      const size_t end = begin + bytes / channels * static_cast<size_t>(widths[rank]);
      exchange.pieces.push_back({begin, end, static_cast<int>(rank)});
      begin = end;
    }
    plan_.steps.push_back({kind, plan_.exchanges.size()});
    plan_.exchanges.push_back(std::move(exchange));
    exchange_places_.push_back({from, to});
    keep(from);
    keep(to);
  }

  // What is not a launch reads and writes before the next one.
  void keep(const Place& place) { keep_until(place, plan_.launches.size()); }

  void keep_until(const Place& place, size_t launch) {
    if (place.block != kNone) arena_.keep_until(place.block, static_cast<int>(launch));
  }

  // The sum of a bucket is awaited before the first launch that reads one of its gradients.
  void wait_for(ValueId id) {
    const Value& value = graph_.value(id);
    if (value.role != Role::gradient) return;
    auto bucket = in_flight_.find(value.name);
    if (bucket == in_flight_.end()) return;
    const size_t index = bucket->second;
    plan_.steps.push_back({PlanStep::wait_all_reduce, index});
    std::erase_if(in_flight_, [&](const auto& item) { return item.second == index; });
  }

  // What no launch reads.
  void wait_for_rest() {
    std::set<size_t> buckets;
    for (const auto& [gradient, bucket] : in_flight_) buckets.insert(bucket);
    for (size_t bucket : buckets) plan_.steps.push_back({PlanStep::wait_all_reduce, bucket});
    for (size_t bucket : gathers_) plan_.steps.push_back({PlanStep::wait_all_gather, bucket});
  }

  // The value in the layout that is asked for: as it lies, or through a reorder that later readers share.
  Lying lies_as(ValueId id, const LayoutPtr& wanted, const std::string& reader) {
    const Value& value = graph_.value(id);
    if (is_state(value.role) && value.role != Role::gradient) {
      StateEntry& entry = state_.find(value.name);
      if (!entry.is_decided) {
        entry.layout = wanted;
        entry.is_decided = true;
      }
    }
    const LayoutPtr current = layout_of(id);
    if (same_layout(current, wanted)) return {lying_[id].place, current};
    for (const auto& [layout, place] : reordered_[id])
      if (same_layout(layout, wanted)) return {place, layout};
    const Place to = new_block(value.type, wanted);
    add_launch("reorder", value.name.empty() ? reader : value.name, device_.select_reorder(value.type, current, wanted),
               {lying_[id].place}, {to}, 0);
    reordered_[id].push_back({wanted, to});
    return {to, wanted};
  }

  void add_launch(const std::string& op, const std::string& layer, KernelChoice choice, std::vector<Place> inputs,
                  std::vector<Place> outputs, double operations) {
    for (const std::vector<Place>* places : {&inputs, &outputs})
      for (const Place& p : *places) keep(p);
    Place scratch;
    if (choice.scratch_bytes) scratch.block = add_block(choice.scratch_bytes);

    std::vector<std::string> in_names, out_names;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i].is_absent()) in_names.push_back(layout_name(choice.input_layouts[i]));
    for (const LayoutPtr& layout : choice.output_layouts) out_names.push_back(layout_name(layout));
    Launch launch;
    launch.op = op;
    launch.layer = layer;
    launch.kernel_name = std::move(choice.name);
    launch.layouts = in_names.size() > 8 ? text(in_names.size(), " tensors")
                                         : text(join(in_names, ", "), " -> ", join(out_names, ", "));
    launch.kernel = std::move(choice.kernel);
    launch.operations = operations;
    plan_.steps.push_back({PlanStep::launch, plan_.launches.size()});
    plan_.launches.push_back(std::move(launch));
    arguments_.push_back({std::move(inputs), std::move(outputs), scratch, std::move(choice.may_share)});
  }

  // What a launch beside the others touches is left alone until the next one of its kind, which waits for it.
  void keep_beside() {
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

  // Lets an output take over the memory of an input that dies in its launch.
  void share_memory() {
    for (const Place& p : outputs_) {
      keep(p);
      if (p.block != kNone) arena_.pin(p.block);
    }
    for (ValueId id = 0; id < graph_.values().size(); ++id)
      if (graph_.value(id).role == Role::input) {
        arena_.keep_from(lying_[id].place.block, -1);
        arena_.pin(lying_[id].place.block);
      }
    for (size_t now = 0; now < arguments_.size(); ++now) {
      const Arguments& a = arguments_[now];
      for (const auto& [out, in] : a.may_share) {
        const size_t output = a.outputs[static_cast<size_t>(out)].block,
                     input = a.inputs[static_cast<size_t>(in)].block;
        if (output != kNone && input != kNone && arena_.take_over(output, input, static_cast<int>(now))) break;
      }
    }
  }

  // Numbers that the host feeds, then those that it reads, at the arena's begin for the whole step.
  void place_arena() {
    auto place = [&](const Place& p) {
      if (p.block != kNone) arena_.place_first(p.block, kNumberAlignment);
    };
    for (ValueId id = 0; id < graph_.values().size(); ++id)
      if (graph_.value(id).role == Role::input && !is_of_samples(graph_.value(id).name)) place(lying_[id].place);
    plan_.fed_numbers = {Segment::arena, 0, arena_.bytes()};
    const size_t begin = arena_.align(kArenaAlignment);
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (graph_.type(graph_.outputs[i]).shape.elements() == 1) place(outputs_[i]);
    plan_.result_numbers = {Segment::arena, begin, arena_.bytes() - begin};
    arena_.place_rest();
    plan_.arena_bytes = arena_.bytes();
  }

  Location locate(const Place& place) const {
    if (place.block != kNone) return {Segment::arena, arena_.offset_of(place.block), arena_.bytes_of(place.block)};
    return is_state(place.role) ? state_.locate(place.role, place.name) : Location{};
  }

  Plan finish() {
    for (size_t i = 0; i < plan_.launches.size(); ++i) {
      for (const Place& p : arguments_[i].inputs) plan_.launches[i].inputs.push_back(locate(p));
      for (const Place& p : arguments_[i].outputs) plan_.launches[i].outputs.push_back(locate(p));
      plan_.launches[i].scratch = locate(arguments_[i].scratch);
    }
    for (size_t i = 0; i < plan_.messages.size(); ++i) plan_.messages[i].location = locate(message_places_[i]);
    for (size_t i = 0; i < plan_.sums.size(); ++i) {
      plan_.sums[i].from = locate(sum_places_[i].first);
      plan_.sums[i].to = locate(sum_places_[i].second);
    }
    for (size_t i = 0; i < plan_.exchanges.size(); ++i) {
      plan_.exchanges[i].from = locate(exchange_places_[i].first);
      plan_.exchanges[i].to = locate(exchange_places_[i].second);
    }
    for (ValueId id = 0; id < graph_.values().size(); ++id)
      if (graph_.value(id).role == Role::input) plan_.inputs[graph_.value(id).name] = locate(lying_[id].place);
    for (size_t i = 0; i < outputs_.size(); ++i) {
      plan_.outputs.push_back(locate(outputs_[i]));
      plan_.output_types.push_back(graph_.type(graph_.outputs[i]));
    }
    plan_.name = graph_.name();
    return std::move(plan_);
  }

  struct Arguments {
    std::vector<Place> inputs, outputs;
    Place scratch;
    std::vector<std::pair<int, int>> may_share;
  };

  const Graph& graph_;
  Device& device_;
  StateTable& state_;
  Plan plan_;
  std::vector<Arguments> arguments_;   // one a launch
  std::vector<Place> message_places_;  // one a message
  std::vector<std::pair<Place, Place>> sum_places_, exchange_places_;
  Arena arena_;
  std::vector<Lying> lying_;  // one a value
  std::map<ValueId, std::vector<std::pair<LayoutPtr, Place>>> reordered_;
  std::map<std::string, size_t> in_flight_;  // gradients on their way, by bucket
  std::vector<size_t> gathers_;              // buckets of parameters on their way
  std::vector<Place> outputs_;
};

}  // namespace

Plan lower(const Graph& graph, Device& device, StateTable& state) { return Lowering(graph, device, state).run(); }

}  // namespace troika
