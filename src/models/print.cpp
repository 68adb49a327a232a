// Prints a model as PyTorch's repr does: the dots in the layers' names make the tree.
#include <algorithm>
#include <deque>

#include "core/text.h"
#include "models/model.h"

namespace troika {
namespace {

// A layer, or a group of layers whose names begin with the same prefix.
struct Branch {
  std::string part;    // "0"
  std::string prefix;  // "layer1.0"
  const Layer* layer = nullptr;
  std::deque<Branch> children;
};

// 11689512 as 11,689,512.
std::string grouped(int64_t n) {
  std::string digits = std::to_string(n);
  for (size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

void insert(Branch& root, const Layer& layer) {
  Branch* at = &root;
  size_t begin = 0;
  for (size_t dot; (dot = layer.name.find('.', begin)) != std::string::npos; begin = dot + 1) {
    const std::string part = layer.name.substr(begin, dot - begin);
    auto group = std::find_if(at->children.begin(), at->children.end(),
                              [&](const Branch& b) { return !b.layer && b.part == part; });
    if (group != at->children.end())
      at = &*group;
    else
      at = &at->children.emplace_back(Branch{part, layer.name.substr(0, dot), nullptr, {}});
  }
  at->children.push_back({layer.name.substr(begin), layer.name, &layer, {}});
}

class Printer {
 public:
  explicit Printer(const std::vector<std::pair<std::string, std::string>>& containers) : containers_(containers) {}

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
    out_ << layer.description;
    if (layer.parameters > 0) out_ << "  # " << grouped(layer.parameters) << " parameters";
  }

  std::string kind_of(const Branch& group) const {
    for (const auto& [prefix, kind] : containers_)
      if (prefix == group.prefix) return kind;
    return "Sequential";
  }

  // The depth is bounded: a name has at most 200 bytes.
  static std::string indent(int depth) { return std::string(static_cast<size_t>(depth) * 2, ' '); }

  const std::vector<std::pair<std::string, std::string>>& containers_;
  std::ostringstream out_ = text_stream();
};

}  // namespace

std::string Model::print() const {
  Branch root;
  for (const Layer& layer : layers_.all()) insert(root, layer);
  Printer printer(containers_);
  printer.print_group(root, name_, 0);
  int64_t parameters = 0, buffer_elements = 0;
  for (size_t i = 0; i < parameters_->size(); ++i) {
    const Parameter& p = parameters_->entry(i);
    if (!p.is_buffer)
      parameters += p.type.shape.elements();
    else if (p.type.dtype == DType::f32)
      buffer_elements += p.type.shape.elements();  // counters are not counted
  }
  return text(printer.result(), "\n# ", grouped(parameters), " parameters, ", grouped(buffer_elements),
              " buffer elements\n");
}

}  // namespace troika
