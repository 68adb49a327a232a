// crop_unread: no layer computes rows and columns that a later layer does not read. LeNet pools a 9
// x 9 image by 2 x 2: its last row and column are not read, so 26 x 26 of the 28 x 28 input are
// enough.
#include <array>

#include "ops/window.h"
#include "passes/passes.h"

namespace troika {
namespace {

using Extent = std::array<int64_t, 2>;  // height, width

bool is_image(const TensorType& type) { return type.shape.rank() == 4; }

Reach reach_of(const Graph& graph, const Node& node) {
  const auto* const layer = node.op->as<LayerOp>();
  return layer && is_image(graph.type(node.inputs[0])) ? layer->reach.value : Reach::whole;
}

// Returns how much of each image is read, from its upper left corner.
std::vector<Extent> find_read(const Graph& graph) {
  std::vector<Extent> read(graph.values().size(), Extent{0, 0});
  auto note = [&](ValueId id, Extent e) {
    const Shape& shape = graph.type(id).shape;
    for (size_t axis = 0; axis < 2; ++axis)
      read[id][axis] = std::max(read[id][axis], std::min(e[axis], shape[static_cast<int>(axis) + 2]));
  };
  auto note_whole = [&](ValueId id) {
    if (id != kNoValue && is_image(graph.type(id))) note(id, {graph.type(id).shape[2], graph.type(id).shape[3]});
  };
  for (ValueId id : graph.outputs) note_whole(id);
  for (size_t i = graph.nodes().size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    const Reach reach = reach_of(graph, node);
    const Extent& out = read[node.outputs.empty() ? 0 : node.outputs[0]];
    if (reach == Reach::window) {
      const Window window = Window::of(node);
      note(node.inputs[0], {window.reach(0, out[0]), window.reach(1, out[1])});
    } else if (reach == Reach::pixel) {
      note(node.inputs[0], out);
    }
    for (size_t k = reach == Reach::whole ? 0 : 1; k < node.inputs.size(); ++k) note_whole(node.inputs[k]);
  }
  return read;
}

}  // namespace

// The layers after the cropped input get new shapes by their own shape rules. An output can only
// lose rows that nothing reads. With padding, some rows that nothing reads change their values.
void crop_unread(Graph& graph) {
  const std::vector<Extent> read = find_read(graph);
  std::vector<Node> nodes = std::move(graph.nodes());
  graph.nodes().clear();
  bool is_cropped = false;
  const ValueId values = static_cast<ValueId>(graph.values().size());
  for (ValueId id = 0; id < values; ++id) {
    if (graph.value(id).role != Role::samples || !is_image(graph.type(id))) continue;
    const Shape& shape = graph.type(id).shape;
    const auto [height, width] = read[id];
    if (height < 1 || width < 1 || (height == shape[2] && width == shape[3])) continue;
    const ValueId cropped =
        append_node(graph, crop_op, graph.value(id).name, {id}, {{"size", std::vector<int64_t>{height, width}}})[0];
    for (Node& node : nodes) std::replace(node.inputs.begin(), node.inputs.end(), id, cropped);
    is_cropped = true;
  }
  for (Node& node : nodes) {
    if (is_cropped) {
      const std::vector<TensorType> types = infer_types(graph, node);
      for (size_t k = 0; k < types.size(); ++k) graph.value(node.outputs[k]).type = types[k];
    }
    graph.add_node(std::move(node));
  }
}

}  // namespace troika
