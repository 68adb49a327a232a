// Printing the layers of a model, and adding them again.
#include "models/model_text.h"

#include <array>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"
#include "graph/text_reader.h"
#include "models/addition.h"
#include "models/layer_kinds.h"

namespace troika {
namespace {

constexpr int64_t kVersion = 1;
constexpr std::array<const char*, 2> kInitializers{"pytorch", "tutorial"};

// A short line may stand for a layer of many nodes, which must not take much more memory than the
// text.
size_t most_nodes(size_t text_bytes) { return (size_t{1} << 15) + text_bytes / 16; }

TensorType sample_type(const Model& model, const Layer& layer) {
  const TensorType& type = model.graph().type(layer.output);
  return {type.dtype, without_batch(type.shape)};
}

[[noreturn]] void refuse(Status status, const std::string& message) { throw Error(status, message); }

class ModelParser : TextReader {
 public:
  explicit ModelParser(std::string_view source)
      : TextReader(source, "layers"), most_nodes_(most_nodes(source.size())) {}

  std::unique_ptr<Model> parse() {
    expect_word("model");
    if (const int64_t version = integer(); version != kVersion)
      refuse(Status::unsupported, text("its layers are text of version ", version, ", this library reads ", kVersion));
    std::string name = quoted();
    if (const std::string refusal = refusal_of_model_name(name); !refusal.empty())
      refuse(Status::corrupt, "the model's name " + refusal);
    model_ = std::make_unique<Model>(std::move(name));
    expect('{');
    expect_word("initializer");
    read_initializer();
    while (peek_word("container")) read_container();
    while (peek('%')) read_layer();
    if (peek_word("return")) {
      expect_word("return");
      model_->set_output(read_value());
    }
    expect('}');
    expect_end();
    return std::move(model_);
  }

 private:
  void read_initializer() {
    const std::string name = word();
    for (size_t i = 0; i < kInitializers.size(); ++i)
      if (name == kInitializers[i]) return model_->set_default_initializer(static_cast<DefaultInitializer>(i));
    refuse(Status::unsupported, text("initializer ", printable_name(name), " is unknown to this library"));
  }

  void read_container() {
    expect_word("container");
    const std::string prefix = quoted(), kind = quoted();
    check_layer_name("container", prefix);
    check_layer_name("container", kind);
    model_->name_container(prefix, kind);
  }

  // %1 : f32[10] = linear(%0) "fc" {bias=1, out_features=10}
  void read_layer() {
    const size_t begin = next(), index = model_->layers().size();
    expect('%');
    if (integer() != static_cast<int64_t>(index)) fail_at(begin, text('%', index, ", the number of the next layer"));
    expect(':');
    const DType dtype = this->dtype();
    const TensorType type{dtype, Shape(int_list())};
    expect('=');
    const std::string kind_name = word();
    const LayerKind* kind = find_layer_kind(kind_name);
    if (!kind)
      refuse(Status::unsupported, text("layers of kind '", printable_name(kind_name), "' are unknown to this library"));
    LayerCall call;
    expect('(');
    while (!peek(')')) {
      call.inputs.push_back(read_value());
      if (peek(',')) expect(',');
    }
    expect(')');
    call.name = quoted();
    call.settings = attributes();
    if (call.inputs.size() != kind->inputs && (kind->inputs != kAnyInputs || call.inputs.empty()))
      fail_layer(kind_name, call.name,
                 text("has ", call.inputs.size(), " inputs, needs ", kind->inputs == kAnyInputs ? 1 : kind->inputs));
    add(*kind, call);
    check(model_->layers().back(), type, call.settings);
    if (model_->graph().nodes().size() > most_nodes_)
      refuse(Status::unsupported, text("its layers make more than ", most_nodes_, " nodes"));
  }

  void add(const LayerKind& kind, const LayerCall& call) {
    for (const auto& [name, value] : call.settings.items())
      if (name.starts_with(kSharedSetting))
        model_->share_parameter(text(call.name, '.', name.substr(kSharedSetting.size())), call.settings.word(name));
    try {
      kind.add(*model_, call);
    } catch (const Error& e) {
      if (e.status() != Status::internal) throw;
      fail_layer(std::string(kind.name), call.name, e.what());  // a setting that is absent, or of another type
    }
  }

  void check(const Layer& layer, const TensorType& type, const Attributes& settings) const {
    if (const TensorType made = sample_type(*model_, layer); made != type)
      fail_layer(layer.kind, layer.name,
                 text("its output is ", print_type(made), ", the file says ", print_type(type)));
    for (const auto& [name, value] : settings.items()) {
      const auto used = layer.settings.items().find(name);
      if (used == layer.settings.items().end())
        refuse(Status::unsupported,
               text(layer.kind, " '", layer.name, "': setting ", printable_name(name), " is unknown to this library"));
      if (used->second != value) fail_layer(layer.kind, layer.name, text(name, " cannot have the value in the file"));
    }
  }

  // %3, the output of layer 3
  ValueId read_value() {
    const size_t begin = next();
    expect('%');
    const int64_t index = integer();
    if (index < 0 || index >= std::ssize(model_->layers())) fail_at(begin, "the number of a layer before this one");
    return model_->layers()[static_cast<size_t>(index)].output;
  }

  const size_t most_nodes_;
  std::unique_ptr<Model> model_;
};

}  // namespace

std::string print_model_text(const Model& model) {
  std::ostringstream out = text_stream();
  out << "model " << kVersion << ' ' << quoted_text(model.name()) << " {\n  initializer "
      << kInitializers.at(static_cast<size_t>(model.default_initializer())) << '\n';
  for (const auto& [prefix, kind] : model.containers())
    out << "  container " << quoted_text(prefix) << ' ' << quoted_text(kind) << '\n';
  const auto number_of = [&](ValueId id) { return model.layer_list().find_output(id).value(); };
  for (const Layer& layer : model.layers()) {
    std::vector<std::string> inputs;
    for (ValueId id : layer.inputs) inputs.push_back(text('%', number_of(id)));
    out << "  %" << number_of(layer.output) << " : " << print_type(sample_type(model, layer)) << " = " << layer.kind
        << '(' << join(inputs, ", ") << ") " << quoted_text(layer.name) << print_attributes(layer.settings) << '\n';
  }
  if (model.is_complete()) out << "  return %" << number_of(model.graph().outputs[0]) << '\n';
  out << "}\n";
  return out.str();
}

std::unique_ptr<Model> read_model_text(std::string_view source, const std::string& label) {
  if (source.size() > kMaxModelTextBytes)
    throw Error(Status::unsupported,
                text(label, ": its layers are ", source.size(), " bytes of text, the largest is ", kMaxModelTextBytes));
  try {
    return ModelParser(source).parse();
  } catch (const Error& e) {
    // Every other status means that the text is not one that this library has written.
    const bool is_known = e.status() == Status::unsupported || e.status() == Status::out_of_memory;
    throw Error(is_known ? e.status() : Status::corrupt, text(label, ": ", e.what()));
  }
}

}  // namespace troika
