// Values for parameters. Block j of 128 random bits makes elements 2 j and 2 j + 1, so nothing
// depends on order or threads.
#include "models/initializer.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <mutex>
#include <numbers>
#include <set>

#include "core/error.h"
#include "core/host_memory.h"
#include "core/random.h"
#include "core/text.h"
#include "core/utf8.h"
#include "ops/op_def.h"

namespace troika {
namespace {

// The finaliser of SplitMix64 (Steele et al. 2014): spreads a name's hash over all bits. FNV-1a
// does not do so for short names that differ in one letter.
uint64_t mixed(uint64_t h) {
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9u;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBu;
  return h ^ (h >> 31);
}

// A draw makes two numbers of a distribution from two uniform ones in (0, 1).
using Pair = std::array<double, 2>;

// Box and Muller (1958).
auto normal_draw(double deviation) {
  return [deviation](double u, double v) -> Pair {
    const double radius = deviation * std::sqrt(-2.0 * std::log(u)), angle = 2.0 * std::numbers::pi * v;
    return {radius * std::cos(angle), radius * std::sin(angle)};
  };
}

auto uniform_draw(double bound) {
  return [bound](double u, double v) -> Pair { return {bound * (2.0 * u - 1.0), bound * (2.0 * v - 1.0)}; };
}

template <typename Draw>
void fill_random(ParameterStore& store, size_t i, uint64_t seed, const Draw& draw) {
  const Parameter& p = store.entry(i);
  const uint64_t key = seed ^ mixed(hash_name(p.name));
  std::vector<float> values;
  resize_host(values, static_cast<size_t>(p.type.shape.elements()), "parameter", p.name);
  for (size_t at = 0; at < values.size(); at += 2) {
    const auto bits = philox(key, at / 2, 0);
    const Pair pair = draw(to_unit_double(bits[0], bits[1]), to_unit_double(bits[2], bits[3]));
    values[at] = static_cast<float>(pair[0]);
    if (at + 1 < values.size()) values[at + 1] = static_cast<float>(pair[1]);
  }
  store.write(i, values.data(), values.size() * sizeof(float));
}

void fill_constant(ParameterStore& store, size_t i, double value) {
  const Parameter& p = store.entry(i);
  std::vector<float> values;
  resize_host(values, static_cast<size_t>(p.type.shape.elements()), "parameter", p.name);
  std::fill(values.begin(), values.end(), static_cast<float>(value));
  store.write(i, values.data(), values.size() * sizeof(float));
}

struct Fans {
  double in, out;
};

// Returns the fans for a shape [o, i, k...], as PyTorch's _calculate_fan_in_and_fan_out.
Fans fans_of(const Shape& shape) {
  const double receptive = static_cast<double>(shape.elements()) / static_cast<double>(shape[0] * shape[1]);
  return {static_cast<double>(shape[1]) * receptive, static_cast<double>(shape[0]) * receptive};
}

bool needs_fans(Initializer initializer) { return initializer >= Initializer::kaiming_normal; }

void initialize_entry(ParameterStore& store, size_t i, Initializer initializer, double a, uint64_t seed) {
  const Fans fans = needs_fans(initializer) ? fans_of(store.entry(i).type.shape) : Fans{1, 1};
  switch (initializer) {
    case Initializer::constant: return fill_constant(store, i, a);
    case Initializer::normal: return fill_random(store, i, seed, normal_draw(a));
    case Initializer::uniform: return fill_random(store, i, seed, uniform_draw(a));
    case Initializer::kaiming_normal: return fill_random(store, i, seed, normal_draw(std::sqrt(2.0 / fans.in)));
    case Initializer::kaiming_uniform: return fill_random(store, i, seed, uniform_draw(std::sqrt(6.0 / fans.in)));
    case Initializer::xavier_normal:
      return fill_random(store, i, seed, normal_draw(std::sqrt(2.0 / (fans.in + fans.out))));
    case Initializer::xavier_uniform:
      return fill_random(store, i, seed, uniform_draw(std::sqrt(6.0 / (fans.in + fans.out))));
  }
}

// Throws if the setting cannot make numbers.
void check(Initializer initializer, double a) {
  const auto number = static_cast<int32_t>(initializer);
  if (number < 1 || number > 7)
    throw Error(Status::invalid_argument, text("initializer is ", number, ", needs 1 to 7 (TROIKA_INIT_*)"));
  if (!std::isfinite(a) || std::abs(a) > FLT_MAX)
    throw Error(Status::invalid_argument, text("initializer: a is ", a, ", needs a finite number"));
  if ((initializer == Initializer::normal || initializer == Initializer::uniform) && a < 0)
    throw Error(Status::invalid_argument, text("initializer: a is ", a, ", needs at least 0"));
}

bool ends_with(const std::string& name, const std::string& suffix) {
  return name.size() > suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// Resets running statistics; `only_missing`: only those that have no value.
void initialize_buffers(ParameterStore& store, bool only_missing) {
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    if (!p.is_buffer || (only_missing && p.is_initialized)) continue;
    if (p.type.dtype == DType::f32) {
      fill_constant(store, i, ends_with(p.name, ".running_var") ? 1 : 0);
    } else {
      const std::vector<std::byte> zeros(p.type.bytes());
      store.write(i, zeros.data(), zeros.size());
    }
  }
}

// Returns the shape of the weight of entry `i`'s layer.
const Shape& weight_shape_of(const ParameterStore& store, size_t i, const char* suffix) {
  const std::string& name = store.entry(i).name;
  const std::string layer = name.substr(0, name.rfind('.'));
  return store.entry(store.index_of(layer + suffix)).type.shape;
}

// Whether a node of one of these ops reads a parameter.
bool is_read_by(std::initializer_list<const OpDef*> ops, const Graph& graph, const std::string& name) {
  const auto id = graph.find(name);
  return id && std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
           return std::find(ops.begin(), ops.end(), node.op) != ops.end() &&
                  std::find(node.inputs.begin(), node.inputs.end(), *id) != node.inputs.end();
         });
}

bool is_of_norm(const Graph& graph, const std::string& name) {
  return is_read_by({&batch_norm2d_op, &layer_norm_op, &group_norm_op, &rms_norm_op}, graph, name);
}

void initialize_entry_default(const Model& model, ParameterStore& store, size_t i, uint64_t seed) {
  const DefaultInitializer kind = model.default_initializer();
  const std::string& name = store.entry(i).name;
  if (is_read_by({&embedding_op}, model.graph(), name)) return fill_random(store, i, seed, normal_draw(1));
  if (ends_with(name, "_l0")) {  // LSTM or GRU
    const int64_t hidden = weight_shape_of(store, i, ".weight_hh_l0")[1];
    return fill_random(store, i, seed, uniform_draw(1.0 / std::sqrt(static_cast<double>(hidden))));
  }
  const bool is_bias = ends_with(name, ".bias");
  if (is_of_norm(model.graph(), name)) return fill_constant(store, i, is_bias ? 0 : 1);
  const Shape& weight = weight_shape_of(store, i, ".weight");
  if (kind == DefaultInitializer::pytorch)
    return fill_random(store, i, seed, uniform_draw(1.0 / std::sqrt(fans_of(weight).in)));
  return is_bias ? fill_constant(store, i, 0) : fill_random(store, i, seed, normal_draw(0.01));
}

// Initialises the parameters that `is_meant` accepts. Returns whether there are any.
template <typename IsMeant>
bool initialize_if(Model& model, const IsMeant& is_meant, Initializer initializer, double a, uint64_t seed) {
  ParameterStore& store = *model.parameters();
  std::lock_guard lock(store.mutex());
  std::vector<size_t> matching, left_out;
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    if (p.is_buffer || !is_meant(i)) continue;
    const bool lacks_fans = needs_fans(initializer) && (p.type.shape.rank() < 2 || is_of_norm(model.graph(), p.name));
    (lacks_fans ? left_out : matching).push_back(i);
  }
  if (matching.empty() && !left_out.empty()) {
    const Parameter& p = store.entry(left_out.back());
    throw Error(Status::invalid_argument,
                text("parameter '", p.name, "' has shape ", p.type.shape, p.type.shape.rank() < 2 ? "" : " of a norm",
                     ", the initializer needs rank 2 or above", p.type.shape.rank() < 2 ? "" : ", of a product"));
  }
  if (matching.empty()) return false;
  for (size_t i : matching) initialize_entry(store, i, initializer, a, seed);
  for (size_t i : left_out)
    if (!store.entry(i).is_initialized) initialize_entry_default(model, store, i, seed);
  initialize_buffers(store, true);
  return true;
}

}  // namespace

void initialize(Model& model, const std::string& pattern, Initializer initializer, double a, uint64_t seed) {
  check(initializer, a);
  const ParameterStore& store = *model.parameters();
  const bool is_used = initialize_if(
      model, [&](size_t i) { return store.matches(pattern, i); }, initializer, a, seed);
  if (!is_used)
    throw Error(Status::not_found,
                text("no parameter of model '", model.name(), "' matches '", printable(pattern), "'"));
}

void initialize_layers(Model& model, const std::vector<std::string>& kinds, const std::string& parameter,
                       Initializer initializer, double a, uint64_t seed) {
  check(initializer, a);
  for (const std::string& kind : kinds)
    if (std::none_of(model.layers().begin(), model.layers().end(), [&](const Layer& l) { return l.kind == kind; }))
      throw Error(Status::not_found, text("model '", model.name(), "' has no layer of kind '", printable(kind), "'"));
  // A parameter is also of the layers that share it.
  const ParameterStore& store = *model.parameters();
  std::set<size_t> found;
  for (const Layer& layer : model.layers()) {
    if (std::find(kinds.begin(), kinds.end(), layer.kind) == kinds.end()) continue;
    const std::string pattern = text(layer.name, '.', parameter);
    for (size_t i = 0; i < store.size(); ++i)
      if (store.matches(pattern, i)) found.insert(i);
  }
  const auto is_found = [&](size_t i) { return found.contains(i); };
  if (found.empty() || !initialize_if(model, is_found, initializer, a, seed))
    throw Error(Status::not_found, text("no layer of kind ", join(kinds, ", "), " in model '", model.name(),
                                        "' has a parameter '", printable(parameter), "'"));
}

void initialize_default(Model& model, uint64_t seed, bool only_missing) {
  ParameterStore& store = *model.parameters();
  std::lock_guard lock(store.mutex());
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& p = store.entry(i);
    if (p.is_buffer || (only_missing && p.is_initialized)) continue;
    initialize_entry_default(model, store, i, seed);
  }
  initialize_buffers(store, only_missing);
}

}  // namespace troika
