// Cases of tokens, of layers and losses per position, and of channels on the last axis.
#include <cmath>

#include "conformance/cases.h"

namespace troika {
namespace {

TensorType i32(Shape shape) { return {DType::i32, std::move(shape)}; }

void add_embeddings(std::vector<Case>& cases) {
  struct Embedding {
    Shape tokens;
    int64_t words, features, drawn;  // tokens are below `drawn`
  };
  for (const Embedding& e : std::vector<Embedding>{{{3, 7}, 11, 5, 11},
                                                   {{1, 1}, 1, 1, 1},
                                                   {{4, 64}, 256, 64, 256},
                                                   {{5, 300}, 9, 130, 3},  // each token occurs many times
                                                   {{2, 3, 4}, 20, 17, 20},
                                                   {{6}, 4, 8, 4},
                                                   {{7, 5}, 3, 4, 6}})  // some tokens are out of range
    for (const TensorType& tokens : {i32(e.tokens), f32(e.tokens)})
      cases.push_back({"embedding",
                       {tokens, f32({e.words, e.features})},
                       {},
                       {{0, [drawn = e.drawn](Random& r) { return static_cast<double>(r.integer(drawn)); }}}});
  // Exact in 16 bits too, and out of range on both sides.
  cases.push_back({"embedding", {f32({9, 4}), f32({3000, 3})}, {}, {{0, [](Random& r) {
                                                                       return static_cast<double>(r.integer(4000)) -
                                                                              500;
                                                                     }}}});
}

void add_linear_per_position(std::vector<Case>& cases) {
  struct Linear {
    Shape x;
    int64_t out;
    bool bias = true, relu = false;
  };
  for (const Linear& l : std::vector<Linear>{{{3, 5, 20}, 10},
                                             {{1, 1, 1}, 1},
                                             {{1, 9, 17}, 33, false, true},
                                             {{7, 1, 16}, 5, true, true},
                                             {{2, 33, 64}, 130}})
    cases.push_back({"linear",
                     {f32(l.x), f32({l.out, l.x[2]}), l.bias ? std::optional(f32({l.out})) : std::nullopt},
                     {{"relu", int64_t{l.relu}}, {"per_position", int64_t{1}}}});
}

void add_losses_per_position(std::vector<Case>& cases) {
  struct CrossEntropy {
    Shape x, labels;
    int64_t classes;
    double smoothing = 0;
    std::optional<int64_t> ignored = {};
    bool is_scaled = false, is_weighed = false, has_weights = false;
  };
  for (const CrossEntropy& e : std::vector<CrossEntropy>{{{3, 5, 10}, {3, 5}, 10},
                                                         {{2, 70, 100}, {2, 70}, 100, 0.1},
                                                         {{4, 7, 3}, {4, 7}, 3, 0.2, -100},
                                                         {{4, 7, 6}, {4, 7}, 6, 0, 2, false, true},
                                                         {{17, 9}, {17}, 9, 0.3, 4, true, true},
                                                         {{5, 70}, {5}, 70, 0, -1, true},
                                                         {{2, 4, 3, 5}, {2, 3, 5}, 4},
                                                         {{3, 90, 2, 3}, {3, 2, 3}, 90, 0.1, 7, false, true},
                                                         {{2, 1, 3}, {2, 1}, 3, 0, 0, false, true},
                                                         {{19, 10}, {19}, 10, 0, {}, false, true, true},
                                                         {{130, 5}, {130}, 5, 0.1, {}, false, false, true},
                                                         {{2, 70, 100}, {2, 70}, 100, 0.2, 3, true, true, true},
                                                         {{3, 6, 5, 2}, {3, 5, 2}, 6, 0, 1, false, true, true}}) {
    Case c{"cross_entropy", {f32(e.x), i32(e.labels)}, {{"scale", 1.0 / 7}}};
    if (e.is_scaled || e.is_weighed || e.has_weights)
      c.inputs.push_back(e.is_scaled ? std::optional(f32({2})) : std::nullopt);
    if (e.is_weighed || e.has_weights) c.inputs.push_back(e.is_weighed ? std::optional(f32({1})) : std::nullopt);
    if (e.has_weights) c.inputs.push_back(f32(e.labels));
    if (e.smoothing > 0) c.attributes.set("smoothing", e.smoothing);
    if (e.ignored) c.attributes.set("ignore_index", *e.ignored);
    c.numbers[1] = [classes = e.classes, ignored = e.ignored](Random& r) {
      return static_cast<double>(ignored && r.integer(3) == 0 ? *ignored : r.integer(classes));
    };
    c.numbers[2] = c.numbers[3] = [](Random& r) { return 0.5 + std::abs(r.normal()); };
    c.numbers[4] = [](Random& r) { return static_cast<double>(r.integer(5)) / 4; };  // some weigh nothing
    cases.push_back(c);
  }
  for (const Shape& shape : std::vector<Shape>{{3, 4, 5}, {2, 3, 2, 2}})
    cases.push_back({"mean_squared_error", {f32(shape), f32(shape)}, {{"scale", 1.0 / 5}}});
}

// Adds cases of sequences, whose channels are on axis 2.
void add_last_axis_channels(std::vector<Case>& cases) {
  const Attribute axis = int64_t{2};
  for (auto [begin, end] : {std::pair{int64_t{0}, int64_t{5}}, {3, 17}, {16, 17}, {0, 17}})
    cases.push_back({"slice_channels", {f32({3, 5, 17})}, {{"axis", axis}, {"begin", begin}, {"end", end}}});
  for (const auto& [y, widths] : std::vector<std::pair<Shape, std::vector<int64_t>>>{
           {{3, 5, 7}, {4, 3}}, {{1, 3, 17}, {6, 6, 5}}, {{7, 2, 11}, {11}}, {{5, 1, 36}, {12, 12, 8, 4}}}) {
    cases.push_back(
        {"join_channels", {f32({y.elements()})}, {{"axis", axis}, {"shape", y.dims()}, {"widths", widths}}});
    cases.push_back({"part_channels", {f32(y)}, {{"axis", axis}, {"widths", widths}}});
  }
  cases.push_back({"split_steps", {f32({3, 4, 9})}, {{"axis", axis}, {"steps", std::vector<int64_t>{2, 6, 1}}}});
}

// Adds gathers of tokens, which are stored as i32 or as bytes.
void add_token_gathers(std::vector<Case>& cases) {
  const auto token = [](Random& r) { return static_cast<double>(r.integer(1000)); };
  for (bool is_bytes : {false, true}) {
    Case c{"gather_samples",
           {TensorType{DType::i64, {1}}, TensorType{DType::i64, {9}},
            TensorType{is_bytes ? DType::u8 : DType::i32, {9, 12}}, is_bytes ? std::optional(i32({256})) : std::nullopt,
            i32({9, 12})},
           {{"batch", int64_t{4}}, {"offset", int64_t{1}}}};
    c.numbers = {{0, [](Random&) { return 3.0; }},
                 {1, [](Random& r) { return static_cast<double>(r.integer(9)); }},
                 {2, [](Random& r) { return static_cast<double>(r.integer(256)); }},
                 {3, token},
                 {4, token}};
    cases.push_back(c);
  }
}

}  // namespace

void add_sequence_cases(std::vector<Case>& cases) {
  add_embeddings(cases);
  add_linear_per_position(cases);
  add_losses_per_position(cases);
  add_last_axis_channels(cases);
  add_token_gathers(cases);
}

}  // namespace troika
