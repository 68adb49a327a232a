// Places values layer by layer, and inserts the collectives between placements.
#include "parallel/channel_split.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "ops/channel_axis.h"
#include "ops/channels.h"
#include "ops/embedding.h"
#include "ops/op_def.h"
#include "ops/products.h"

namespace troika {
namespace {

// A value as one rank has it: whole, or only its channels [range) of `channels`; after a
// conversion, both. Channels are on the value's own axis (ops/channel_axis.h).
struct Placed {
  ValueId whole = kNoValue, copy = kNoValue, shard = kNoValue;
  Range range;
  int64_t channels = 0;
  int64_t cut = 0;        // the channels before flattening: each became channels / cut of these
  bool is_split = false;  // made in parts
};

class Splitting {
 public:
  Splitting(const Graph& graph, int rank, int ranks, std::map<std::string, StateSlice>& slices)
      : graph_(graph), rank_(rank), ranks_(ranks), slices_(slices), split_(graph.name()) {}

  Graph run() {
    placed_.resize(graph_.values().size());
    readers_.resize(graph_.values().size());
    for (const Node& node : graph_.nodes())
      for (ValueId id : node.inputs)
        if (id != kNoValue) readers_[id].push_back(&node);
    for (ValueId id = 0; id < graph_.values().size(); ++id)
      if (is_input(graph_.value(id).role)) {
        const Value& value = graph_.value(id);
        placed_[id].whole = split_.add_value(value.name, value.type, value.role);
      }
    for (const Node& node : graph_.nodes()) append(node);
    for (const Output& output : graph_.outputs) split_.outputs.push_back({whole(output, "output"), output.report});
    for (const Value& value : graph_.values())  // read by no layer
      if (is_state(value.role)) slices_.try_emplace(value.name);
    return std::move(split_);
  }

 private:
  bool is_split(ValueId id) const { return id != kNoValue && placed_[id].is_split; }

  ChannelRule rule_of(const Node& node) const {
    const auto* const layer = node.op->as<LayerOp>();
    if (!layer || shares_state(node)) return ChannelRule::whole;
    const ChannelRule rule = layer->channels.value(node);
    const bool cuts_weight = rule == ChannelRule::product || rule == ChannelRule::lookup;
    const ValueId weight = cuts_weight ? node.inputs[product::weight] : kNoValue;
    return cuts_weight && !is_state(graph_.value(weight).role) ? ChannelRule::whole : rule;
  }

  // Whether another layer reads a parameter of the node's: layers could cut the parameter in
  // different ways.
  bool shares_state(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
      return id != kNoValue && graph_.value(id).role == Role::parameter &&
             std::any_of(readers_[id].begin(), readers_[id].end(),
                         [&](const Node* reader) { return reader->name != node.name; });
    });
  }

  // Whether the readers of a value, up to the next product, can read parts and compute on them:
  // normalise, add or pool.
  bool is_worked_on_in_parts(ValueId id) const {
    const auto& readers = readers_[id];
    return std::all_of(readers.begin(), readers.end(),
                       [&](const Node* n) { return rule_of(*n) != ChannelRule::whole; }) &&
           std::any_of(readers.begin(), readers.end(), [&](const Node* n) {
             const ChannelRule rule = rule_of(*n);
             const bool only_passes_on = rule == ChannelRule::pass_on || rule == ChannelRule::flatten;
             return only_passes_on ? is_worked_on_in_parts(n->outputs[0]) : rule != ChannelRule::product;
           });
  }

  void append(const Node& node) {
    switch (rule_of(node)) {
      case ChannelRule::whole: return append_whole(node);
      case ChannelRule::product: return is_split(node.inputs[0]) ? append_by_row(node) : append_by_column(node);
      case ChannelRule::lookup: return can_split_lookup(node) ? append_lookup(node) : append_whole(node);
      case ChannelRule::per_channel:
      case ChannelRule::pass_on: return is_split(node.inputs[0]) ? append_to_shard(node) : append_whole(node);
      case ChannelRule::flatten: return can_flatten_shard(node.inputs[0]) ? append_to_shard(node) : append_whole(node);
      case ChannelRule::add: return are_split_alike(node) ? append_to_shard(node) : append_whole(node);
    }
  }

  // Features [batch, a, b, features] are not on the axis that other layers read channels from.
  bool can_split_lookup(const Node& node) const {
    const Shape& shape = graph_.type(node.outputs[0]).shape;
    return channel_axis(shape) == shape.rank() - 1;
  }

  // In a flattened sequence each rank's features would be in many places.
  bool can_flatten_shard(ValueId id) const { return is_split(id) && channel_axis(graph_.type(id).shape) == 1; }

  bool are_split_alike(const Node& node) const {
    return is_split(node.inputs[0]) && is_split(node.inputs[1]) &&
           widths_of(placed_[node.inputs[0]]) == widths_of(placed_[node.inputs[1]]);
  }

  // Returns this rank's share of the channels that a layer makes.
  Range own_channels(const Node& node, int64_t channels) const {
    if (channels < ranks_)
      throw Error(Status::invalid_argument, text(node.op, " '", node.name, "' has ", channels,
                                                 " output channels, cannot be split over ", ranks_, " devices"));
    return balanced_split(channels, ranks_, rank_);
  }

  // Each rank looks up its share of the features. Tokens are whole and have no gradient.
  void append_lookup(const Node& node) {
    const int64_t features = graph_.type(node.inputs[embedding::weight]).shape[1];
    const Range own = own_channels(node, features);
    const std::vector<ValueId> inputs = {whole(node.inputs[embedding::tokens], node.name),
                                         slice(node.inputs[embedding::weight], 1, own)};
    const auto outputs = append_node(split_, *node.op, node.name, inputs, node.attributes);
    place_shard(node.outputs[0], outputs[0], own, features, features);
  }

  // Each rank makes its share of the output's channels.
  void append_by_column(const Node& node) {
    const int64_t channels = graph_.type(node.inputs[product::weight]).shape[0];
    const Range own = own_channels(node, channels);
    const std::vector<ValueId> inputs = {copy(node.inputs[product::x], node.name),
                                         slice(node.inputs[product::weight], 0, own),
                                         slice(node.inputs[product::bias], 0, own)};
    const auto outputs = append_node(split_, *node.op, node.name, inputs, node.attributes);
    place_shard(node.outputs[0], outputs[0], own, channels, channels);
  }

  // Each rank reads its channels of the input; the first adds the bias.
  void append_by_row(const Node& node) {
    const Placed& x = placed_[node.inputs[product::x]];
    std::vector<ValueId> inputs = {x.shard, slice(node.inputs[product::weight], 1, x.range), kNoValue};
    if (node.inputs[product::bias] != kNoValue) {
      if (rank_ == 0)
        inputs[product::bias] = slice(node.inputs[product::bias], -1, {});
      else
        slices_[graph_.value(node.inputs[product::bias]).name] = {-1, {}, false};
    }
    const auto outputs = append_node(split_, *node.op, node.name, inputs, node.attributes);
    const Shape& shape = graph_.type(node.outputs[0]).shape;
    if (shape[channel_axis(shape)] >= ranks_ && is_worked_on_in_parts(node.outputs[0]))
      scatter(node, outputs[0], shape);
    else
      placed_[node.outputs[0]].whole = append_node(split_, channel_sum_op, node.name, outputs)[0];
  }

  // Each rank takes its own channels of the sum over the ranks.
  void scatter(const Node& node, ValueId part_of_sum, const Shape& shape) {
    const int axis = channel_axis(shape);
    const int64_t channels = shape[axis];
    const Range own = balanced_split(channels, ranks_, rank_);
    const std::vector<int64_t> widths = widths_of(channels, 1);
    Shape part = shape;
    part[axis] = own.size();
    const auto packed =
        append_node(split_, part_channels_op, node.name, {part_of_sum}, on_axis({{"widths", widths}}, axis));
    const auto shard =
        append_node(split_, channel_scatter_op, node.name, packed,
                    on_axis({{"rank", int64_t{rank_}}, {"shape", part.dims()}, {"widths", widths}}, axis));
    place_shard(node.outputs[0], shard[0], own, channels, channels);
  }

  void append_to_shard(const Node& node) {
    const Placed x = placed_[node.inputs[0]];
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs)
      inputs.push_back(id == kNoValue                    ? kNoValue
                       : is_state(graph_.value(id).role) ? slice_channels(id, x)
                                                         : placed_[id].shard);
    const auto outputs = append_node(split_, *node.op, node.name, inputs, node.attributes);
    // A channel becomes h * w features if an image is flattened.
    const int64_t features =
        rule_of(node) == ChannelRule::flatten ? graph_.type(node.outputs[0]).shape[1] / x.channels : 1;
    for (size_t i = 0; i < outputs.size(); ++i)
      place_shard(node.outputs[i], outputs[i], {x.range.begin * features, x.range.end * features},
                  x.channels * features, x.cut);
  }

  void append_whole(const Node& node) {
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs)
      inputs.push_back(id == kNoValue                    ? kNoValue
                       : is_state(graph_.value(id).role) ? slice(id, -1, {})
                                                         : whole(id, node.name));
    const auto outputs = append_node(split_, *node.op, node.name, inputs, node.attributes);
    for (size_t i = 0; i < outputs.size(); ++i) placed_[node.outputs[i]].whole = outputs[i];
  }

  void place_shard(ValueId id, ValueId shard, Range range, int64_t channels, int64_t cut) {
    Placed& p = placed_[id];
    p.cut = cut;
    p.shard = shard;
    p.range = range;
    p.channels = channels;
    p.is_split = true;
  }

  // Returns the widths of all ranks for `cut` channels. If an image is flattened, a channel is
  // several features.
  std::vector<int64_t> widths_of(int64_t cut, int64_t features) const {
    std::vector<int64_t> widths;
    for (int rank = 0; rank < ranks_; ++rank) widths.push_back(balanced_split(cut, ranks_, rank).size() * features);
    return widths;
  }
  std::vector<int64_t> widths_of(const Placed& p) const { return widths_of(p.cut, p.channels / p.cut); }

  // Each rank passes its channels to the other ranks.
  ValueId whole(ValueId id, const std::string& reader) {
    Placed& p = placed_[id];
    if (p.whole == kNoValue) {
      const std::vector<int64_t> widths = widths_of(p);
      const Shape& shape = graph_.type(id).shape;
      const int axis = channel_axis(shape);
      const auto packed = append_node(split_, channel_gather_op, reader, {p.shard},
                                      on_axis({{"rank", int64_t{rank_}}, {"widths", widths}}, axis));
      p.whole = append_node(split_, join_channels_op, reader, packed,
                            on_axis({{"shape", shape.dims()}, {"widths", widths}}, axis))[0];
    }
    return p.whole;
  }

  // A whole value with split readers: the readers' gradients are added over the ranks, in one sum
  // for all readers.
  ValueId copy(ValueId id, const std::string& reader) {
    const ValueId of = whole(id, reader);
    Placed& p = placed_[id];
    if (p.copy == kNoValue) p.copy = append_node(split_, channel_copy_op, reader, {of})[0];
    return p.copy;
  }

  ValueId slice_channels(ValueId id, const Placed& x) {
    return graph_.type(id).shape.rank() == 0 ? slice(id, -1, {}) : slice(id, 0, x.range);
  }

  // Adds state of which this rank holds a part.
  ValueId slice(ValueId id, int axis, Range range) {
    if (id == kNoValue) return kNoValue;
    const Value& value = graph_.value(id);
    const StateSlice slice{axis, range, true};
    const auto [found, is_new] = slices_.try_emplace(value.name, slice);
    if (!is_new && !(found->second == slice))
      throw Error(Status::unsupported,
                  text("parameter '", value.name, "' is shared by layers that a split by channel cuts differently"));
    if (const auto same = split_.find(value.name)) return *same;
    return split_.add_value(value.name, {value.type.dtype, sliced(value.type.shape, slice)}, value.role);
  }

  const Graph& graph_;
  const int rank_, ranks_;
  std::map<std::string, StateSlice>& slices_;
  Graph split_;
  std::vector<Placed> placed_;
  std::vector<std::vector<const Node*>> readers_;  // of graph_, by value
};

}  // namespace

Shape sliced(const Shape& whole, const StateSlice& slice) {
  if (slice.axis < 0) return whole;
  std::vector<int64_t> dims = whole.dims();
  dims[static_cast<size_t>(slice.axis)] = slice.range.size();
  return Shape(dims);
}

ChannelSplit::ChannelSplit(const Graph& model, int ranks) : slices_(static_cast<size_t>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank) Splitting(model, rank, ranks, slices_[static_cast<size_t>(rank)]).run();
}

const StateSlice& ChannelSplit::slice_of(const std::string& name, int rank) const {
  static const StateSlice whole;
  const auto& slices = slices_[static_cast<size_t>(rank)];
  const auto found = slices.find(name);
  return found == slices.end() ? whole : found->second;
}

Graph ChannelSplit::apply(const Graph& graph, int rank) const {
  std::map<std::string, StateSlice> slices;
  return Splitting(graph, rank, ranks(), slices).run();
}

}  // namespace troika
