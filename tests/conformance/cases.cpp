// Cases of the layers' ops, family by family, and the functions that name, build and fill a case.
#include "conformance/cases.h"

#include <algorithm>
#include <cmath>

#include "core/text.h"

namespace troika {
namespace {

using Pair = std::vector<int64_t>;

struct Conv {
  Shape x;
  int64_t out;
  Pair kernel;
  Pair stride = {1, 1}, padding = {0, 0}, dilation = {1, 1};
  int64_t groups = 1;
  bool bias = true, relu = false;
};

void add_conv2d(std::vector<Case>& cases) {
  for (const Conv& c : std::vector<Conv>{
           {.x = {1, 1, 28, 27}, .out = 20, .kernel = {3, 3}, .padding = {1, 1}, .relu = true},
           {.x = {3, 20, 9, 11}, .out = 50, .kernel = {3, 3}},
           {.x = {3, 3, 13, 10}, .out = 16, .kernel = {7, 7}, .stride = {2, 2}, .padding = {3, 3}, .bias = false},
           {.x = {1, 16, 7, 5}, .out = 32, .kernel = {1, 1}, .stride = {2, 2}},
           {.x = {3, 17, 8, 6}, .out = 17, .kernel = {3, 3}, .padding = {1, 1}, .bias = false, .relu = true},
           {.x = {3, 16, 10, 7}, .out = 32, .kernel = {2, 4}, .stride = {1, 2}, .padding = {1, 1}},  // even kernel
           {.x = {1, 3, 12, 15}, .out = 17, .kernel = {3, 3}, .padding = {2, 3}, .dilation = {2, 3}, .relu = true},
           {.x = {3, 50, 5, 4}, .out = 20, .kernel = {5, 4}},  // the whole image
           {.x = {2, 20, 40, 37},                              // an input gradient in several pieces
            .out = 17,
           .kernel = {5, 5},
           .stride = {1, 2},
           .padding = {3, 4},
           .dilation = {1, 2}},
           {.x = {1, 16, 9, 14}, .out = 16, .kernel = {1, 1}, .stride = {5, 5}},  // 3 columns are left over
           {.x = {3, 1, 8, 10}, .out = 3, .kernel = {3, 3}, .stride = {4, 4}},    // padding after is negative
           // For Winograd: tiles cut at both ends; more than one group of tiles, slab of channels
           // or chunk of groups.
           {.x = {3, 32, 14, 13}, .out = 32, .kernel = {3, 3}, .padding = {1, 1}, .relu = true},
           {.x = {9, 32, 11, 9}, .out = 48, .kernel = {3, 3}, .bias = false},
           {.x = {5, 32, 12, 15}, .out = 32, .kernel = {3, 3}, .padding = {2, 1}, .relu = true},
           {.x = {3, 64, 14, 10}, .out = 32, .kernel = {3, 3}, .padding = {2, 2}},
           {.x = {12, 512, 7, 12}, .out = 16, .kernel = {3, 3}, .padding = {1, 0}, .relu = true},
           {.x = {1, 16, 4, 6}, .out = 50, .kernel = {5, 5}, .padding = {2, 2}},
           {.x = {1, 3, 3, 2}, .out = 16, .kernel = {5, 5}, .padding = {2, 2}},  // larger than the image
           {.x = {3, 16, 5, 3},
           .out = 16,
           .kernel = {3, 2},
           .padding = {3, 2},
           .bias = false},  // windows with nothing but padding
           {.x = {3, 32, 6, 9}, .out = 32, .kernel = {3, 3}, .padding = {1, 1}, .groups = 32},  // depthwise
           {.x = {1, 17, 6, 5},
           .out = 34,
           .kernel = {3, 3},
           .stride = {2, 1},
           .padding = {1, 0},
           .groups = 17,
           .relu = true},
           {.x = {3, 16, 9, 8},
           .out = 32,
           .kernel = {3, 3},
           .stride = {2, 2},
           .padding = {1, 1},
           .groups = 4,
           .bias = false},
           {.x = {1, 48, 5, 7}, .out = 48, .kernel = {3, 3}, .padding = {1, 1}, .groups = 3},
           {.x = {3, 20, 4, 5}, .out = 50, .kernel = {1, 1}, .groups = 10, .relu = true},
           {.x = {1, 1, 1, 1}, .out = 1, .kernel = {1, 1}},
       })
    cases.push_back({"conv2d",
                     {f32(c.x), f32({c.out, c.x[1] / c.groups, c.kernel[0], c.kernel[1]}),
                      c.bias ? std::optional(f32({c.out})) : std::nullopt},
                     {{"kernel", c.kernel},
                      {"stride", c.stride},
                      {"padding", c.padding},
                      {"dilation", c.dilation},
                      {"groups", c.groups},
                      {"relu", int64_t{c.relu}}}});
}

void add_linear(std::vector<Case>& cases) {
  struct Linear {
    Shape x;
    int64_t out;
    bool bias = true, relu = false;
  };
  for (const Linear& l : std::vector<Linear>{{{3, 20}, 10},
                                             {{1, 50}, 17, false, true},
                                             {{3, 16, 5, 4}, 32},
                                             {{3, 20, 4, 3}, 50, true, true},
                                             {{1, 50, 5, 5}, 100, false},
                                             {{3, 4, 5}, 7},
                                             {{3, 17, 1, 1}, 10},
                                             {{3, 1, 28, 27}, 16, true, true},
                                             {{3, 2, 3, 2, 2}, 5},
                                             {{1, 1}, 1},
                                             {{17, 3}, 33, false},
                                             {{1, 32, 3, 2}, 1}}) {
    const int64_t features = l.x.elements() / l.x[0];
    cases.push_back({"linear",
                     {f32(l.x), f32({l.out, features}), l.bias ? std::optional(f32({l.out})) : std::nullopt},
                     {{"relu", int64_t{l.relu}}}});
  }
}

void add_batch_norm2d(std::vector<Case>& cases) {
  struct BatchNorm {
    Shape x;
    bool residual = false, relu = false;
    double offset = 0;
  };
  const auto positive = [](Random& r) { return 0.1 + std::abs(r.normal()); };
  for (const BatchNorm& b : std::vector<BatchNorm>{{{3, 16, 5, 4}},
                                                   {{1, 17, 3, 7}, false, true},
                                                   {{3, 3, 1, 1}},
                                                   {{3, 20, 6, 5}, true},
                                                   {{3, 32, 4, 3}, true, true},
                                                   {{1, 1, 2, 1}, true, true},
                                                   {{3, 50, 3, 2}, false, true},
                                                   {{3, 17, 9, 8}, true, true},
                                                   {{3, 3, 4, 5}, false, false, 100},
                                                   {{1, 32, 12, 11}, false, true}})
    for (const auto& [op, has_running] : std::vector<std::pair<const char*, bool>>{
             {"batch_norm2d", true}, {"batch_norm2d", false}, {"batch_norm2d_inference", true}}) {
      const TensorType channel = f32({b.x[1]});
      Case c{op,
             {f32(b.x), channel, channel, channel, channel, TensorType{DType::i64, {}},
              b.residual ? std::optional(f32(b.x)) : std::nullopt},
             {{"eps", 1e-5}, {"momentum", 0.1}, {"relu", int64_t{b.relu}}}};
      if (!has_running) c.inputs[3] = c.inputs[4] = c.inputs[5] = std::nullopt;
      c.numbers[4] = positive;  // a variance
      c.numbers[5] = [](Random& r) { return static_cast<double>(r.integer(1000)); };
      const double offset = b.offset;
      // Values alternate between the two sides of the mean, so that the few values of a channel are
      // never close together by chance. `offset` is the mean; it may be much larger than the
      // deviation.
      c.numbers[0] = [offset, side = 1.0](Random& r) mutable { return offset + (side = -side) + 0.5 * r.normal(); };
      cases.push_back(c);
      if (b.x.elements() == 2 || std::string_view(op) != "batch_norm2d") continue;
      // Statistics over three ranks: the moments of this rank, and the merged statistics.
      Case moments{"batch_norm2d_moments", {c.inputs[0]}, {{"rank", int64_t{1}}, {"ranks", int64_t{3}}}};
      moments.numbers[0] = c.numbers[0];
      cases.push_back(moments);
      const int64_t row = 2 * b.x[1] + 1;
      c.numbers[c.inputs.size()] = [row, offset, at = int64_t{0}](Random& r) mutable {
        const int64_t place = at++ % row;
        return place == 0         ? static_cast<double>(1 + r.integer(50))
               : place <= row / 2 ? offset + r.normal()
                                  : 10 * std::abs(r.normal());
      };
      c.inputs.push_back(f32({3, row}));
      cases.push_back(c);
    }
  // With the bias that x lacks as the last input: it is added to the tracked mean only.
  for (const BatchNorm& b : std::vector<BatchNorm>{{{3, 16, 5, 4}}, {{2, 33, 3, 5}, true, true}}) {
    const TensorType channel = f32({b.x[1]});
    Case c{"batch_norm2d",
           {f32(b.x), channel, channel, channel, channel, TensorType{DType::i64, {}},
            b.residual ? std::optional(f32(b.x)) : std::nullopt, std::nullopt, channel},
           {{"eps", 1e-5}, {"momentum", 0.1}, {"relu", int64_t{b.relu}}}};
    c.numbers[4] = positive;
    c.numbers[5] = [](Random& r) { return static_cast<double>(r.integer(1000)); };
    cases.push_back(c);
  }
  // With two gradients of y, which the first pass of the kernel adds up.
  for (const BatchNorm& b : std::vector<BatchNorm>{
           {{3, 16, 5, 4}}, {{1, 17, 3, 7}, false, true}, {{2, 50, 3, 5}, true, true}, {{3, 32, 12, 11}, true, true}}) {
    const TensorType channel = f32({b.x[1]});
    const std::optional<TensorType> y = b.relu ? std::optional(f32(b.x)) : std::nullopt;
    Case c{"batch_norm2d_gradient",
           {f32(b.x), channel, channel, channel, y, f32(b.x), std::nullopt, std::nullopt, f32(b.x)},
           {{"relu", int64_t{b.relu}}, {"residual", int64_t{1}}, {"has_dbias_too", int64_t{1}}}};
    c.numbers[3] = positive;
    cases.push_back(c);
  }
}

void add_pooling(std::vector<Case>& cases) {
  struct Pool {
    Shape x;
    Pair kernel, stride, padding = {0, 0};
  };
  const auto few = [](Random& r) { return static_cast<double>(r.integer(3)); };
  const std::vector<Pool> pools = {{{3, 20, 9, 7}, {2, 2}, {2, 2}}, {{3, 16, 9, 8}, {3, 3}, {2, 2}, {1, 1}},
                                   {{1, 17, 8, 7}, {3, 2}, {1, 3}}, {{3, 32, 4, 5}, {4, 5}, {1, 1}},
                                   {{1, 3, 9, 9}, {2, 2}, {5, 5}},  {{3, 50, 5, 4}, {2, 3}, {2, 1}, {1, 1}},
                                   {{1, 1, 3, 3}, {1, 1}, {1, 1}},  {{3, 17, 6, 11}, {4, 4}, {3, 3}, {2, 2}},
                                   {{3, 16, 7, 1}, {3, 1}, {2, 1}}, {{3, 32, 10, 9}, {3, 3}, {1, 1}, {1, 0}}};
  for (const Pool& p : pools) {
    const Attributes attributes = {{"kernel", p.kernel}, {"stride", p.stride}, {"padding", p.padding}};
    cases.push_back({"max_pool2d", {f32(p.x)}, attributes});
    for (int64_t includes : {0, 1}) {
      Attributes average = attributes;
      average.set("count_include_pad", includes);
      cases.push_back({"avg_pool2d", {f32(p.x)}, average});
      average.set("input_shape", p.x.dims());
      const auto size = [&](size_t i) { return (p.x[i + 2] + 2 * p.padding[i] - p.kernel[i]) / p.stride[i] + 1; };
      cases.push_back({"avg_pool2d_gradient", {f32({p.x[0], p.x[1], size(0), size(1)}), f32(p.x)}, average});
    }
  }
  // More samples than a GPU's grid has rows, for ReLUs that cut a half and for none.
  for (const bool has_relu : {true, false}) {
    Case many{
        "avg_pool2d_gradient",
        {f32({4500, 2, 1, 1})},
        {{"kernel", Pair{2, 2}}, {"stride", Pair{2, 2}}, {"padding", Pair{0, 0}}, {"count_include_pad", int64_t{0}}}};
    many.attributes.set("input_shape", Pair{4500, 2, 2, 3});
    if (has_relu) many.inputs.push_back(f32({4500, 2, 2, 3}));
    cases.push_back(many);
  }
  // With ties, such as the zeros of a ReLU: the gradient goes to the first maximum.
  cases.push_back({"max_pool2d",
                   {f32({3, 17, 9, 8})},
                   {{"kernel", Pair{3, 3}}, {"stride", Pair{2, 2}}, {"padding", Pair{1, 1}}},
                   {{0, few}}});
  cases.push_back({"max_pool2d",
                   {f32({1, 16, 6, 7})},
                   {{"kernel", Pair{2, 2}}, {"stride", Pair{1, 2}}, {"padding", Pair{0, 0}}},
                   {{0, few}}});

  struct Adaptive {
    Shape x;
    Pair size;
  };
  for (const Adaptive& a : std::vector<Adaptive>{{{3, 17, 7, 5}, {3, 2}},
                                                 {{3, 16, 6, 5}, {1, 1}},
                                                 {{1, 50, 7, 4}, {7, 4}},
                                                 {{1, 3, 2, 3}, {4, 5}},
                                                 {{3, 32, 8, 9}, {2, 4}},
                                                 {{3, 20, 5, 7}, {1, 3}},
                                                 {{3, 17, 1, 1}, {1, 1}},
                                                 {{1, 1, 9, 4}, {1, 1}}}) {
    cases.push_back({"adaptive_avg_pool2d", {f32(a.x)}, {{"size", a.size}}});
    cases.push_back({"adaptive_avg_pool2d_gradient",
                     {f32({a.x[0], a.x[1], a.size[0], a.size[1]}), f32(a.x)},
                     {{"input_shape", a.x.dims()}, {"size", a.size}}});
  }
}

void add_elementwise(std::vector<Case>& cases) {
  for (const Shape& shape :
       std::vector<Shape>{{3, 17, 5, 4}, {3, 7}, {1, 32, 3, 3}, {3, 20, 41, 40}, {1, 1}, {3, 2, 5}}) {
    cases.push_back({"relu", {f32(shape)}, {}});
    cases.push_back({"gelu", {f32(shape)}, {}});
    for (int64_t relu : {0, 1}) cases.push_back({"add", {f32(shape), f32(shape)}, {{"relu", relu}}});
  }
  const auto wide = [](Random& r) { return 5 * r.normal(); };  // also of the normal distribution's tails
  cases.push_back({"gelu", {f32({3, 17, 5, 4})}, {}, {{0, wide}}});
  cases.push_back({"reshape", {f32({3, 4, 5, 2})}, {{"shape", Pair{-1}}}});
  cases.push_back({"reshape", {f32({3, 12})}, {{"shape", Pair{2, 3, 2}}}});
  cases.push_back({"fill", {}, {{"value", 2.5}, {"shape", Pair{3, 5}}}});
  cases.push_back({"fill", {}, {{"value", 0.0}, {"shape", Pair{17, 3, 3, 3}}}});
  cases.push_back({"fill_all", {}, {{"value", 0.0}, {"sizes", Pair{64, 1, 1000, 7}}}});
  cases.push_back({"fill_all", {}, {{"value", -3.5}, {"sizes", Pair(200, 5)}}});

  struct Dropout {
    Shape x;
    double probability;
    int64_t layer, offset;
  };
  for (const Dropout& d : std::vector<Dropout>{{{3, 17, 5, 3}, 0.5, 12345, 0},
                                               {{3, 10}, 0.1, -7, 5},
                                               {{5, 7}, 0.0, 0, 0},
                                               {{1, 1}, 0.9, 99, int64_t{1} << 31},
                                               {{3, 16, 4, 4}, 0.25, INT64_MIN, 17}})
    cases.push_back({"dropout",
                     {f32(d.x), TensorType{DType::i64, {2}}},
                     {{"probability", d.probability}, {"layer", d.layer}, {"sample_offset", d.offset}},
                     {{1, [](Random& r) { return static_cast<double>(r.integer(int64_t{1} << 50)); }}}});
}

// Targets of binary_cross_entropy are probabilities. huber's delta is near the usual difference.
Case value_loss(const char* op, const Shape& shape) {
  Case c{op, {f32(shape), f32(shape)}, {{"scale", 1.0 / 5}}};
  if (&op_named(op) == &huber_op) c.attributes.set("delta", 0.8);
  if (&op_named(op) == &binary_cross_entropy_op)
    c.numbers[1] = [](Random& r) { return static_cast<double>(r.integer(5)) / 4; };
  return c;
}

void add_losses(std::vector<Case>& cases) {
  struct CrossEntropy {
    int64_t n, classes;
    std::function<double(Random&)> logits = nullptr;
  };
  for (const CrossEntropy& e :
       std::vector<CrossEntropy>{{3, 10},
                                 {1, 2},
                                 {17, 50},
                                 {3, 1},
                                 {16, 7, [](Random& r) { return 1e4 * r.normal(); }},
                                 {16, 5, [](Random& r) { return r.integer(2) ? 1e4 : -1e4; }},
                                 {17, 4, [](Random& r) { return static_cast<double>(r.integer(2)); }}}) {  // ties
    const int64_t classes = e.classes;
    Case c{"cross_entropy",
           {f32({e.n, e.classes}), TensorType{DType::i32, {e.n}}},
           {{"scale", 1.0 / 7}},
           {{1, [classes](Random& r) { return static_cast<double>(r.integer(classes)); }}}};
    if (e.logits) c.numbers[0] = e.logits;
    cases.push_back(c);
  }
  for (const Shape& shape : std::vector<Shape>{{3, 7}, {1, 1}, {17, 10}})
    for (const char* op : {"mean_squared_error", "mean_absolute_error", "huber", "binary_cross_entropy"})
      cases.push_back(value_loss(op, shape));
  for (const char* op : {"mean_squared_error", "mean_absolute_error", "huber", "binary_cross_entropy"})
    for (bool is_weighed : {false, true}) {
      Case c = value_loss(op, {13, 5, 3});
      c.inputs.push_back(std::nullopt);
      c.inputs.push_back(is_weighed ? std::optional(f32({1})) : std::nullopt);
      c.inputs.push_back(f32({13}));
      c.numbers[4] = [](Random& r) { return static_cast<double>(r.integer(5)) / 4; };
      cases.push_back(c);
    }
  for (const Shape& shape : std::vector<Shape>{{3, 7}, {2, 5, 4}})
    cases.push_back({"own_loss", {f32(shape), f32(shape)}, {}});
}

// Adds the last layers of classifiers: rows of odd lengths, more rows than blocks have at once,
// settings and weights of labels, equal and large logits.
void add_linear_cross_entropy(std::vector<Case>& cases) {
  using Number = std::function<double(Random&)>;
  struct Classifier {
    Shape x;
    int64_t classes;
    DType dtype = DType::f32;
    bool has_bias = true, has_relu = false;
    Attributes more = {};
    int64_t loss_inputs = 0;  // of the loss scale, the weight of a label, and the weights
    Number features = nullptr, weights = nullptr;
  };
  const Number bit = [](Random& r) { return static_cast<double>(r.integer(2)); };
  for (const Classifier& c : std::vector<Classifier>{
           {{5, 32}, 10},
           {{1, 3}, 1, DType::f32, false},
           {{37, 128}, 16, DType::bf16, true, true},
           {{9, 6},
            3,
            DType::f16,
            true,
            false,
            {{"ignore_index", int64_t{1}}, {"logits", int64_t{1}}, {"smoothing", 0.1}},
            3},
           {{6, 8, 2, 2}, 10, DType::bf16, true, false, {}, 1},
           {{4, 7, 12}, 5, DType::f32, true, true, {{"per_position", int64_t{1}}}, 3},
           {{4500, 4}, 2},
           {{16, 24}, 7, DType::f16, false, false, {}, 0, [](Random& r) { return r.integer(2) ? 1e4 : -1e4; }, bit},
           {{17, 20}, 4, DType::f32, false, false, {}, 2, bit, bit},
           {{70, 300}, 11, DType::bf16, false, true, {{"smoothing", 0.2}}}}) {
    const bool is_per_position = c.more.has("per_position");
    const int64_t features = c.x.elements(is_per_position ? 2 : 1, c.x.rank());
    const Shape labels = is_per_position ? Shape{c.x[0], c.x[1]} : Shape{c.x[0]};
    const auto optional = [&](int64_t i, Shape shape) {
      return c.loss_inputs > i ? std::optional(f32(std::move(shape))) : std::nullopt;
    };
    Case made{"linear_cross_entropy",
              {TensorType{c.dtype, c.x}, TensorType{c.dtype, {c.classes, features}},
               c.has_bias ? std::optional(f32({c.classes})) : std::nullopt, TensorType{DType::i32, labels},
               optional(0, {1}), optional(1, {1}), optional(2, labels)},
              c.more,
              {{3, [classes = c.classes](Random& r) { return static_cast<double>(r.integer(classes)); }}}};
    made.attributes.set("scale", 1.0 / 7);
    made.attributes.set("input_relu", int64_t{c.has_relu});
    made.numbers[1] =
        c.weights ? c.weights : [=](Random& r) { return r.normal() / std::sqrt(static_cast<double>(features)); };
    if (c.features)
      made.numbers[0] = c.features;
    else if (c.has_relu)
      made.numbers[0] = [](Random& r) { return std::max(0.0, r.normal()); };
    cases.push_back(made);
  }
}

// Adds a rank without losses, with losses only, with losses and as many counts, and with more of
// them than one launch on a GPU takes.
void add_batch_results(std::vector<Case>& cases) {
  struct Results {
    size_t losses, counts;
    int64_t first, places;
  };
  for (const Results& r :
       std::vector<Results>{{0, 0, 0, 1}, {0, 0, 3, 3}, {1, 1, 0, 2}, {3, 0, 2, 7}, {4, 4, 1, 5}, {150, 150, 9, 200}}) {
    Case c{"batch_results", {}, {{"first", r.first}, {"losses", static_cast<int64_t>(r.losses)}, {"places", r.places}}};
    c.inputs.assign(r.losses, TensorType{DType::f64, {1}});
    c.inputs.resize(r.losses + r.counts, TensorType{DType::i64, {1}});
    for (size_t i = r.losses; i < r.losses + r.counts; ++i)
      c.numbers[i] = [](Random& random) { return static_cast<double>(random.integer(int64_t{1} << 40)); };
    cases.push_back(c);
  }
}

void add_casts(std::vector<Case>& cases) {
  for (DType from : {DType::f32, DType::bf16, DType::f16})
    for (DType to : {DType::bf16, DType::f16, DType::f32})
      if (from != to && (from == DType::f32 || to == DType::f32)) {
        Case c{"cast", {TensorType{from, {3, 17, 5, 4}}}, {{"dtype", static_cast<int64_t>(to)}}};
        c.numbers[0] = [](Random& r) { return r.normal() * std::ldexp(1.0, static_cast<int>(r.integer(40)) - 20); };
        cases.push_back(c);
      }
  for (DType to : {DType::bf16, DType::f16}) {
    Case c{"cast_all", {}, {{"dtype", static_cast<int64_t>(to)}}};
    for (const Shape& shape : std::vector<Shape>{{5}, {64, 17, 3, 3}, {1}, {10, 130}, {2, 16, 1, 1}, {4}})
      c.inputs.push_back(f32(shape));
    cases.push_back(c);
    for (int i = 0; i < 200; ++i) c.inputs.push_back(f32({7}));  // more than one launch takes
    cases.push_back(c);
  }
  cases.push_back({"crop", {f32({3, 1, 28, 27})}, {{"size", Pair{26, 25}}}});
  cases.push_back({"crop", {f32({2, 3, 7, 5})}, {{"size", Pair{1, 5}}}});
}

void add_channels(std::vector<Case>& cases) {
  for (const Shape& x : {Shape{3, 17, 5, 4}, Shape{1, 20, 3, 3}, Shape{7, 50}})
    for (auto [begin, end] : {std::pair{int64_t{0}, int64_t{5}}, {3, 16}, {x[1] - 1, x[1]}, {0, x[1]}})
      cases.push_back({"slice_channels", {f32(x)}, {{"begin", begin}, {"end", end}}});
  for (const auto& [y, widths] : std::vector<std::pair<Shape, std::vector<int64_t>>>{
           {{3, 7, 5, 4}, {4, 3}}, {{1, 17, 3, 3}, {6, 6, 5}}, {{7, 11}, {11}}, {{5, 36}, {12, 12, 8, 4}}}) {
    cases.push_back({"join_channels", {f32({y.elements()})}, {{"shape", y.dims()}, {"widths", widths}}});
    cases.push_back({"part_channels", {f32(y)}, {{"widths", widths}}});
  }
}

void add_recurrent(std::vector<Case>& cases) {
  struct Recurrent {
    int64_t n, t, features, hidden;
    bool bias = true, state = true;
  };
  const auto small = [](Random& r) { return 0.4 * r.normal(); };
  const auto gate = [](Random& r) { return 1 / (1 + std::exp(-r.normal())); };
  const auto optional = [](bool there, const TensorType& type) { return there ? std::optional(type) : std::nullopt; };
  for (const Recurrent& r : std::vector<Recurrent>{{3, 5, 7, 4},
                                                   {1, 1, 1, 1},
                                                   {1, 7, 3, 17, false},
                                                   {17, 1, 20, 3, true, false},
                                                   {7, 3, 1, 5, false, false},
                                                   {2, 4, 33, 16, true, false},
                                                   {13, 2, 16, 33},
                                                   {4, 19, 2, 1}})
    for (const auto& [op, gates] : std::vector<std::pair<const char*, int64_t>>{{"lstm", 4}, {"gru", 3}}) {
      const bool is_lstm = gates == 4;
      const TensorType bias = f32({gates * r.hidden}), state = f32({r.n, r.hidden}), y = f32({r.n, r.t, r.hidden});
      const Case layer{
          op,
          {f32({r.n, r.t, r.features}), f32({gates * r.hidden, r.features}), f32({gates * r.hidden, r.hidden}),
           optional(r.bias, bias), optional(r.bias, bias), optional(r.state, state)},
          {},
          {{1, small}, {2, small}}};
      Case forward = layer;
      if (is_lstm) forward.inputs.push_back(optional(r.state, state));
      cases.push_back(forward);
      // The backward node with a gradient of y, of the last states, and of both.
      for (int given : {1, 2, 3}) {
        Case backward{text(op, "_gradient"), {layer.inputs[0], layer.inputs[1], layer.inputs[2]}, {}, layer.numbers};
        for (int k = 0; k < (is_lstm ? 2 : 1); ++k) backward.inputs.push_back(optional(r.state, state));
        backward.inputs.push_back(y);
        backward.numbers[backward.inputs.size()] = gate;
        backward.inputs.push_back(f32({r.n, r.t, 4 * r.hidden}));
        if (is_lstm) backward.inputs.push_back(y);
        backward.inputs.push_back(optional(given & 1, y));
        for (int k = 0; k < (is_lstm ? 2 : 1); ++k) backward.inputs.push_back(optional(given & 2, state));
        for (const char* made : {"input", "state", "weights"})
          backward.attributes.set(made, int64_t{given == 3 || *made != (given == 1 ? 'i' : 'w')});
        backward.attributes.set("bias", int64_t{r.bias && backward.attributes.flag("weights")});
        cases.push_back(backward);
      }
    }
  for (const Shape& x : {Shape{3, 6, 5}, Shape{1, 6, 1}, Shape{17, 6}})
    for (const auto& steps : {std::vector<int64_t>{6}, {1, 5}, {2, 2, 2}, {3, 1, 1, 1}}) {
      cases.push_back({"split_steps", {f32(x)}, {{"steps", steps}}});
      Case join{"join_steps", {}, {}};
      for (int64_t part : steps) {
        std::vector<int64_t> dims = x.dims();
        dims[1] = part;
        join.inputs.push_back(f32(Shape(dims)));
      }
      cases.push_back(join);
    }
}

// Repeats the cases of ops that compute in 16 bits, in bf16 and f16. Repeats only every third case
// of conv2d, the largest family.
void add_low_precision(std::vector<Case>& cases) {
  const size_t n = cases.size();
  for (DType low : {DType::bf16, DType::f16})
    for (size_t i = 0; i < n; ++i) {
      const OpDef& op = op_named(cases[i].op);
      if (!op.low().computes_low || op.is_view || (cases[i].op == "conv2d" && i % 3 != 0)) continue;
      Case c = cases[i];
      for (size_t k = 0; k < c.inputs.size(); ++k)
        if (c.inputs[k] && c.inputs[k]->dtype == DType::f32 &&
            !std::count(op.low().f32_inputs.begin(), op.low().f32_inputs.end(), static_cast<int>(k)))
          c.inputs[k]->dtype = low;
      cases.push_back(c);
      if (!op.low().keeps_sums) continue;
      c.attributes.set("f32_output", int64_t{1});
      cases.push_back(c);
    }
}

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> c;
    add_conv2d(c);
    add_linear(c);
    add_batch_norm2d(c);
    add_pooling(c);
    add_elementwise(c);
    add_losses(c);
    add_linear_cross_entropy(c);
    add_batch_results(c);
    add_update_cases(c);
    add_sample_cases(c);
    add_casts(c);
    add_channels(c);
    add_recurrent(c);
    add_sequence_cases(c);
    add_tensor_cases(c);
    add_low_precision(c);
    return c;
  }();
  return cases;
}

std::string name_of(const Case& c) {
  const CaseGraph g = build(c);
  Graph alone = g.graph;
  alone.nodes().resize(1);
  const std::string printed = print_graph(alone);
  std::string name = c.op;
  for (const auto& input : c.inputs)
    name += input ? text(' ', input->dtype == DType::f32 ? "" : name_of(input->dtype), input->shape) : " _";
  const size_t brace = printed.rfind(" {", printed.rfind("return")), line = printed.rfind("\n  return");
  if (brace != std::string::npos && brace < line && brace > 20) name += printed.substr(brace, line - brace);
  return name;
}

bool is_loss(const std::string& op) { return op_named(op).as<LossOp>() != nullptr; }

CaseGraph build(const Case& c, const std::vector<bool>& needs) {
  CaseGraph g;
  for (const auto& type : c.inputs) g.inputs.push_back(type ? g.graph.add_value("", *type, Role::input) : kNoValue);
  g.outputs = append_node(g.graph, op_named(c.op), "layer", g.inputs, c.attributes);
  const OpDef& op = op_named(c.op);
  if (!op.gradient) return g;
  std::vector<ValueId> output_gradients(g.outputs.size(), kNoValue);
  if (!is_loss(c.op)) output_gradients[0] = g.dy = g.graph.add_value("", g.graph.type(g.outputs[0]), Role::input);
  GradientBuilder builder(g.graph);
  std::vector<bool> needed(g.graph.values().size(), true);
  for (size_t i = 0; i < needs.size(); ++i)
    if (g.inputs[i] != kNoValue) needed[g.inputs[i]] = needs[i];
  builder.set_needs(needed);
  const Node forward = g.graph.nodes()[0];
  g.gradients = op.gradient(builder, forward, output_gradients);
  return g;
}

Values draw(const Case& c, const CaseGraph& g, Random& random) {
  Values values(g.graph.values().size());
  auto fill = [&](ValueId id, const std::function<double(Random&)>& number) {
    const TensorType& type = g.graph.type(id);
    values[id] = Array(type.shape);
    for (double& v : values[id].data) {
      v = number ? number(random) : random.normal();
      v = as_held(v, type.dtype);
    }
  };
  for (size_t i = 0; i < g.inputs.size(); ++i) {
    const auto number = c.numbers.find(i);
    if (g.inputs[i] != kNoValue) fill(g.inputs[i], number == c.numbers.end() ? nullptr : number->second);
  }
  if (g.dy != kNoValue) fill(g.dy, nullptr);
  return values;
}

}  // namespace troika
