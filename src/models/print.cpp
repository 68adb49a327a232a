// Prints a model as PyTorch's repr does: the dots in the layers' names make the tree.
#include "models/print.h"

#include <charconv>
#include <deque>
#include <unordered_map>

#include "core/text.h"

namespace troika {
namespace {

// A layer, or a group of layers whose names begin with the same prefix.
struct Branch {
  std::string part;    // "0"
  std::string prefix;  // "layer1.0"
  const Layer* layer = nullptr;
  std::deque<Branch> children = {};
  std::unordered_map<std::string, Branch*> groups = {};  // children that are groups, by part
};

// 11689512 as 11,689,512. Whole numbers of any size.
std::string grouped(double n) {
  char buffer[512];
  std::string digits(buffer, std::to_chars(buffer, buffer + sizeof buffer, n, std::chars_format::fixed, 0).ptr);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

void insert(Branch& root, const Layer& layer) {
  Branch* at = &root;
  size_t begin = 0;
  for (size_t dot; (dot = layer.name.find('.', begin)) != std::string::npos; begin = dot + 1) {
    const std::string part = layer.name.substr(begin, dot - begin);
    Branch*& group = at->groups[part];
    if (!group) group = &at->children.emplace_back(Branch{part, layer.name.substr(0, dot), nullptr});
    at = group;
  }
  at->children.push_back(Branch{layer.name.substr(begin), layer.name, &layer});
}

class Printer {
 public:
  explicit Printer(const Model& model) : model_(model) {
    for (const auto& [prefix, kind] : model.containers()) kinds_.emplace(prefix, kind);
  }

  void print_group(const Branch& group, const std::string& kind, int depth) {
    out_ << kind << '(';
    if (!group.children.empty()) out_ << '\n';
    for (const Branch& child : group.children) {
      out_ << indent(depth + 1) << '(' << child.part << "): ";
      if (child.layer)
        print_layer(*child.layer);
      else
        print_group(child, kind_of(child), depth + 1);
      out_ << '\n';
    }
    if (!group.children.empty()) out_ << indent(depth);
    out_ << ')';
  }

  std::string result() const { return out_.str(); }

 private:
  void print_layer(const Layer& layer) {
    const Shape& output = model_.graph().type(layer.output).shape;
    out_ << layer.description << " -> " << without_batch(output);
    if (layer.parameters > 0) out_ << ", " << grouped(static_cast<double>(layer.parameters)) << " parameters";
    if (layer.operations > 0) out_ << ", " << grouped(layer.operations) << " operations";
  }

  std::string kind_of(const Branch& group) const {
    const auto found = kinds_.find(group.prefix);
    return found == kinds_.end() ? "Sequential" : found->second;
  }

  // The depth is bounded: a name has at most 200 bytes.
  static std::string indent(int depth) { return std::string(static_cast<size_t>(depth) * 2, ' '); }

  const Model& model_;
  std::unordered_map<std::string, std::string> kinds_;  // of groups, by prefix
  std::ostringstream out_ = text_stream();
};

}  // namespace

std::string print_model(const Model& model) {
  const ParameterStore& store = *model.parameters();
  Branch root;
  for (const Layer& layer : model.layers())
    if (!layer.inputs.empty()) insert(root, layer);  // all except the input
  Printer printer(model);
  printer.print_group(root, model.name(), 0);
  int64_t parameters = 0, buffer_elements = 0;
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    if (!p.is_buffer)
      parameters += p.type.shape.elements();
    else if (p.type.dtype == DType::f32)
      buffer_elements += p.type.shape.elements();  // counters are not counted
  }
  return text(printer.result(), "\n# ", grouped(static_cast<double>(parameters)), " parameters, ",
              grouped(static_cast<double>(buffer_elements)), " buffer elements, ",
              grouped(model.layer_list().operations()), " operations per sample\n");
}

}  // namespace troika
