// Cases of batches that are gathered on the device.
#include "conformance/cases.h"

namespace troika {
namespace {

struct Gather {
  TensorType samples;
  std::optional<TensorType> targets;
  int64_t batch, offset, first;
  bool is_shuffled = true;
};

void add_gathers(std::vector<Case>& cases, const std::vector<Gather>& gathers) {
  for (const Gather& g : gathers) {
    const int64_t n = g.samples.shape[0];
    const bool is_bytes = g.samples.dtype == DType::u8;
    Case c{"gather_samples",
           {TensorType{DType::i64, {1}}, std::nullopt, g.samples},
           {{"batch", g.batch}, {"offset", g.offset}}};
    if (g.is_shuffled) c.inputs[1] = TensorType{DType::i64, {n}};
    if (is_bytes || g.targets) c.inputs.push_back(is_bytes ? std::optional(f32({256})) : std::nullopt);
    if (g.targets) c.inputs.push_back(g.targets);
    c.numbers[0] = [first = g.first](Random&) { return static_cast<double>(first); };
    c.numbers[1] = [n](Random& r) { return static_cast<double>(r.integer(n)); };
    if (is_bytes) c.numbers[2] = [](Random& r) { return static_cast<double>(r.integer(256)); };
    if (g.targets && g.targets->dtype == DType::i32)
      c.numbers[4] = [](Random& r) { return static_cast<double>(r.integer(1000)); };
    cases.push_back(c);
  }
}

}  // namespace

void add_sample_cases(std::vector<Case>& cases) {
  for (int64_t samples : {1, 2, 3, 5, 64, 65, 1000})
    cases.push_back({"sample_order",
                     {TensorType{DType::i64, {1}}},
                     {{"samples", samples}},
                     {{0, [](Random& r) { return static_cast<double>(r.integer(int64_t{1} << 53)); }}}});
  const auto u8 = [](Shape shape) { return TensorType{DType::u8, std::move(shape)}; };
  const auto labels = [](int64_t n) { return TensorType{DType::i32, {n}}; };
  add_gathers(cases, {{u8({50, 1, 28, 28}), labels(50), 17, 0, 33},
                      {u8({50, 1, 28, 28}), labels(50), 17, 0, 33, false},
                      {u8({13, 3, 5, 7}), labels(13), 4, 3, 5},
                      {u8({7, 3}), std::nullopt, 7, 0, 0},
                      {u8({40000, 1}), labels(40000), 40000, 0, 0},
                      {f32({9, 2, 6, 6}), labels(9), 5, 2, 1},
                      {f32({9, 5}), f32({9, 3}), 5, 2, 2},
                      {f32({30, 7}), f32({30, 400}), 11, 1, 4, false},
                      {f32({1, 1}), labels(1), 1, 0, 0},
                      {f32({8, 3, 33, 31}), std::nullopt, 8, 0, 0}});
  Case only_targets{"gather_samples",
                    {TensorType{DType::i64, {1}}, TensorType{DType::i64, {9}}, std::nullopt, std::nullopt, labels(9)},
                    {{"batch", int64_t{4}}, {"offset", int64_t{1}}}};
  only_targets.numbers = {{0, [](Random&) { return 3.0; }},
                          {1, [](Random& r) { return static_cast<double>(r.integer(9)); }},
                          {4, [](Random& r) { return static_cast<double>(r.integer(10)); }}};
  cases.push_back(only_targets);
}

}  // namespace troika
