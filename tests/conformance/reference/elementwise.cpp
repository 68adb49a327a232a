// relu, gelu, reshape, cast, crop, dropout, fill, sample_order and gather_samples.
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "conformance/reference/reference.h"

namespace troika {
namespace {

void relu(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  for (int64_t i = 0; i < in[0]->elements(); ++i) (*out[0])[i] = (*in[0])[i] > 0 ? (*in[0])[i] : 0;
}

void relu_gradient(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  for (int64_t i = 0; i < in[0]->elements(); ++i) (*out[0])[i] = (*in[0])[i] > 0 ? (*in[1])[i] : 0;
}

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

void gelu(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  for (int64_t i = 0; i < in[0]->elements(); ++i) (*out[0])[i] = (*in[0])[i] * normal_distribution((*in[0])[i]);
}

void gelu_gradient(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  for (int64_t i = 0; i < in[0]->elements(); ++i) {
    const double x = (*in[0])[i], density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    (*out[0])[i] = (*in[1])[i] * (normal_distribution(x) + x * density);
  }
}

void reshape(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) { out[0]->data = in[0]->data; }

// The caller rounds the result to the type of the output.
void cast(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  for (size_t i = 0; i < out.size(); ++i) out[i]->data = in[i]->data;
}

void crop(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Shape& y = out[0]->shape;
  for (int64_t n = 0; n < y[0]; ++n)
    for (int64_t c = 0; c < y[1]; ++c)
      for (int64_t h = 0; h < y[2]; ++h)
        for (int64_t w = 0; w < y[3]; ++w) out[0]->at(n, c, h, w) = in[0]->at(n, c, h, w);
}

void slice_channels(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array& x = *in[0];
  Array& y = *out[0];
  const int axis = axis_of_case(node);
  const int64_t from = x.shape[axis], to = y.shape[axis], spatial = x.shape.elements(axis + 1, x.shape.rank());
  for (int64_t n = 0; n < x.shape.elements(0, axis); ++n)
    for (int64_t c = 0; c < to; ++c)
      for (int64_t i = 0; i < spatial; ++i)
        y[(n * to + c) * spatial + i] = x[(n * from + node.attributes.integer("begin") + c) * spatial + i];
}

// Calls visit(packed, at) for each element. `packed`: its index in the sequence of the ranks'
// slices, each sample by sample. `at`: its index in `whole`.
template <typename Visit>
void visit_packed(const Node& node, const Shape& whole, Visit visit) {
  const int axis = axis_of_case(node);
  const int64_t samples = whole.elements(0, axis), spatial = whole.elements(axis + 1, whole.rank());
  int64_t next = 0, first = 0;
  for (int64_t width : node.attributes.list("widths")) {
    for (int64_t n = 0; n < samples; ++n)
      for (int64_t i = 0; i < width * spatial; ++i) visit(next++, (n * whole[axis] + first) * spatial + i);
    first += width;
  }
}

void join_channels(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  visit_packed(node, out[0]->shape, [&](int64_t packed, int64_t at) { (*out[0])[at] = (*in[0])[packed]; });
}

void part_channels(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  visit_packed(node, in[0]->shape, [&](int64_t packed, int64_t at) { (*out[0])[packed] = (*in[0])[at]; });
}

void fill(const Node& node, const ReferenceInputs&, const ReferenceOutputs& out) {
  for (Array* row : out) std::fill(row->data.begin(), row->data.end(), node.attributes.real("value"));
}

// Philox4x32-10 from the paper's figures, with one function per round.
struct Philox {
  std::array<uint32_t, 4> counter;
  std::array<uint32_t, 2> key;

  void round() {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0], b = uint64_t{0xCD9E8D57} * counter[2];
    const auto high = [](uint64_t v) { return static_cast<uint32_t>(v >> 32); };
    const auto low = [](uint64_t v) { return static_cast<uint32_t>(v & 0xFFFFFFFF); };
    counter = {high(b) ^ counter[1] ^ key[0], low(b), high(a) ^ counter[3] ^ key[1], low(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
};

// Returns the coin of element `i` of a sample: word i mod 4 of the block {i div 4, place of the
// sample, step}, with the key seed xor layer.
uint32_t coin(uint64_t key, uint64_t step, uint64_t sample, uint64_t i) {
  Philox p{{static_cast<uint32_t>(i / 4), static_cast<uint32_t>(sample), static_cast<uint32_t>(step),
            static_cast<uint32_t>(step >> 32)},
           {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}};
  for (int round = 0; round < 10; ++round) p.round();
  return p.counter[i % 4];
}

void dropout(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array& x = *in[0];
  const double p = node.attributes.real("probability");
  const uint64_t key = static_cast<uint64_t>((*in[1])[0]) ^ static_cast<uint64_t>(node.attributes.integer("layer"));
  const auto step = static_cast<uint64_t>((*in[1])[1]),
             offset = static_cast<uint64_t>(node.attributes.integer("sample_offset"));
  const int64_t features = x.elements() / x.shape[0];
  for (int64_t i = 0; i < x.elements(); ++i) {
    const uint32_t bits =
        coin(key, step, offset + static_cast<uint64_t>(i / features), static_cast<uint64_t>(i % features));
    (*out[0])[i] = bits < static_cast<uint64_t>(p * 4294967296.0) ? 0 : x[i] / (1 - p);
  }
}

// A Feistel network of six double rounds on the smallest power of two that holds all samples. It is
// applied repeatedly until the result is below the number of samples. If the number of bits is odd,
// the lower half has one bit more.
void sample_order(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const auto key = static_cast<uint64_t>((*in[0])[0]), samples = static_cast<uint64_t>(out[0]->elements());
  int bits = 0;
  while ((uint64_t{1} << bits) < samples) ++bits;
  const int low_bits = bits - bits / 2, high_bits = bits / 2;
  const auto random = [&](uint64_t round, uint64_t half, int wanted) {
    Philox p{{static_cast<uint32_t>(half), static_cast<uint32_t>(half >> 32), static_cast<uint32_t>(round), 0},
             {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}};
    for (int i = 0; i < 10; ++i) p.round();
    return (uint64_t{p.counter[1]} << 32 | p.counter[0]) % (uint64_t{1} << wanted);
  };
  for (uint64_t i = 0; i < samples; ++i) {
    uint64_t x = i;
    do {
      uint64_t low = x % (uint64_t{1} << low_bits), high = x / (uint64_t{1} << low_bits);
      for (uint64_t round = 0; round < 12; round += 2) {
        low ^= random(round, high, low_bits);
        high ^= random(round + 1, low, high_bits);
      }
      x = high * (uint64_t{1} << low_bits) + low;
    } while (x >= samples);
    (*out[0])[static_cast<int64_t>(i)] = static_cast<double>(x);
  }
}

void gather_samples(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array* const order = in[1];
  size_t output = 0;
  for (size_t k : {size_t{2}, size_t{4}}) {
    if (k >= in.size() || !in[k]) continue;
    Array& to = *out[output++];
    const int64_t row = in[k]->elements() / in[k]->shape[0];
    for (int64_t i = 0; i < to.elements(); ++i) {
      const auto place = static_cast<int64_t>((*in[0])[0]) + node.attributes.integer("offset") + i / row;
      const auto sample = order ? static_cast<int64_t>((*order)[place]) : place;
      const double v = (*in[k])[sample * row + i % row];
      to[i] = k == 2 && in.size() > 3 && in[3] ? (*in[3])[static_cast<int64_t>(v)] : v;
    }
  }
}

}  // namespace

void add_elementwise_references(ReferenceTable& table) {
  table["relu"] = relu;
  table["relu_gradient"] = relu_gradient;
  table["gelu"] = gelu;
  table["gelu_gradient"] = gelu_gradient;
  table["reshape"] = reshape;
  table["cast"] = table["cast_all"] = cast;
  table["crop"] = crop;
  table["slice_channels"] = slice_channels;
  table["join_channels"] = join_channels;
  table["part_channels"] = part_channels;
  table["fill"] = table["fill_all"] = fill;
  table["dropout"] = dropout;
  table["sample_order"] = sample_order;
  table["gather_samples"] = gather_samples;
}

}  // namespace troika
