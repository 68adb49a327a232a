// Cases of functions of one number, arithmetic, sums, matrices, rows and norms.
#include <cmath>

#include "conformance/cases.h"

namespace troika {
namespace {

using List = std::vector<int64_t>;

double positive(Random& r) { return std::exp(r.normal()); }
double not_zero(Random& r) { return (r.integer(2) ? 1 : -1) * (0.5 + std::abs(r.normal())); }
double wide(Random& r) { return 5 * r.normal(); }
double few(Random& r) { return static_cast<double>(r.integer(3)) - 1; }  // with many equal numbers

void add_pointwise(std::vector<Case>& cases) {
  for (const Shape& shape : std::vector<Shape>{{3, 17, 5, 4}, {3, 7}, {1, 32, 3, 3}, {1}, {}, {3, 20, 41, 40}}) {
    for (const char* op : {"sigmoid", "tanh", "silu", "abs", "exp"}) cases.push_back({op, {f32(shape)}, {}});
    for (const char* op : {"log", "sqrt"}) cases.push_back({op, {f32(shape)}, {}, {{0, positive}}});
    for (const double slope : {0.01, -0.5}) cases.push_back({"leaky_relu", {f32(shape)}, {{"slope", slope}}});
    for (const double offset : {0.0, 1.5})
      cases.push_back({"scale", {f32(shape)}, {{"factor", -0.75}, {"offset", offset}}});
  }
  for (const char* op : {"sigmoid", "tanh", "silu", "exp"})
    cases.push_back({op, {f32({3, 17, 5, 4})}, {}, {{0, wide}}});
}

void add_pairs(std::vector<Case>& cases) {
  struct Pair {
    Shape a, b;
    int64_t axis = -1;
  };
  for (const Pair& p : std::vector<Pair>{{{3, 17, 5, 4}, {3, 17, 5, 4}},
                                         {{3, 7}, {3, 7}},
                                         {{1}, {1}},
                                         {{3, 7}, {7}},     // a bias per column
                                         {{3, 7}, {3, 1}},  // a number per row
                                         {{7}, {3, 7}},
                                         {{3, 1, 5}, {1, 4, 1}},    // both are repeated
                                         {{2, 17, 3, 5}, {17}, 1},  // a bias per channel
                                         {{2, 3, 4, 5}, {3, 1, 5}},
                                         {{5, 6}, {}},  // one number for all
                                         {{2, 1, 3, 1, 2}, {4, 1, 5, 1}},
                                         {{130, 140}, {140}}}) {
    Attributes attributes;
    if (p.a != p.b) attributes.set("broadcast", int64_t{1});
    if (p.axis >= 0) attributes.set("axis", p.axis);
    for (const char* op : {"add", "subtract", "multiply"}) cases.push_back({op, {f32(p.a), f32(p.b)}, attributes});
    cases.push_back({"divide", {f32(p.a), f32(p.b)}, attributes, {{1, not_zero}}});
    for (const char* relation : {"equal", "not_equal", "less", "less_or_equal", "greater", "greater_or_equal"}) {
      Case c{"compare", {f32(p.a), f32(p.b)}, attributes, {{0, few}, {1, few}}};
      c.attributes.set("relation", std::string(relation));
      cases.push_back(c);
    }
  }
}

void add_shapes(std::vector<Case>& cases) {
  for (const auto& [x, y] : std::vector<std::pair<Shape, List>>{{{3, 1, 5}, {3, 4, 5}},
                                                                {{1}, {7}},
                                                                {{5}, {2, 3, 5}},
                                                                {{}, {4, 3}},
                                                                {{2, 1, 3, 1}, {2, 4, 3, 5}},
                                                                {{3}, {3}}})
    cases.push_back({"expand", {f32(x)}, {{"shape", y}}});
  for (const auto& [x, order] : std::vector<std::pair<Shape, List>>{{{3, 7}, {1, 0}},
                                                                    {{2, 3, 5}, {0, 2, 1}},
                                                                    {{2, 3, 5}, {2, 1, 0}},
                                                                    {{2, 3, 5}, {0, 1, 2}},
                                                                    {{2, 3, 4, 5}, {0, 2, 1, 3}},
                                                                    {{2, 3, 4, 5}, {0, 2, 3, 1}},
                                                                    {{70, 1, 65}, {2, 1, 0}},
                                                                    {{1, 1}, {1, 0}},
                                                                    {{2, 33, 2, 40}, {3, 0, 1, 2}}})
    cases.push_back({"transpose", {f32(x)}, {{"order", order}}});
  cases.push_back({"reshape", {f32({3, 4, 5})}, {{"shape", List{6, 10}}, {"whole", int64_t{1}}}});
  cases.push_back({"reshape", {f32({1, 1})}, {{"shape", List{}}, {"whole", int64_t{1}}}});
}

void add_sums(std::vector<Case>& cases) {
  struct Sum {
    Shape x;
    int64_t begin, end;
    bool keep = false, mean = false;
    double factor = 1;
  };
  for (const Sum& s : std::vector<Sum>{{{3, 7}, 0, 1},
                                       {{3, 7}, 1, 2, true},
                                       {{3, 7}, 0, 2, false, true},
                                       {{2, 3, 4, 5}, 1, 3, true, true, -2},
                                       {{2, 3, 4, 5}, 2, 4, false, true},
                                       {{1}, 0, 1},
                                       {{5, 1, 3}, 1, 2},
                                       {{40000}, 0, 1, false, false, 0.5},
                                       {{3, 9000, 4}, 1, 2},
                                       {{2, 300, 130}, 1, 2, true},
                                       {{700, 1}, 0, 1}})
    cases.push_back({"sum_axes",
                     {f32(s.x)},
                     {{"begin", s.begin},
                      {"end", s.end},
                      {"keep", int64_t{s.keep}},
                      {"mean", int64_t{s.mean}},
                      {"factor", s.factor}}});
}

void add_matmul(std::vector<Case>& cases) {
  struct Product {
    List batch;
    int64_t m, n, k;
    bool shares_b = false;
  };
  for (const Product& p : std::vector<Product>{{{}, 3, 5, 7},
                                               {{}, 1, 1, 1},
                                               {{}, 64, 48, 33},
                                               {{4}, 3, 5, 7},
                                               {{2, 3}, 5, 4, 6},
                                               {{3}, 4, 5, 6, true},
                                               {{}, 1, 17, 130},
                                               {{2}, 16, 16, 16}})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) {
        if (p.shares_b && transpose_a) continue;
        List a = p.batch, b = p.shares_b ? List{} : p.batch;
        a.insert(a.end(), {transpose_a ? p.k : p.m, transpose_a ? p.m : p.k});
        b.insert(b.end(), {transpose_b ? p.n : p.k, transpose_b ? p.k : p.n});
        cases.push_back({"matmul",
                         {f32(Shape(a)), f32(Shape(b))},
                         {{"transpose_a", int64_t{transpose_a}}, {"transpose_b", int64_t{transpose_b}}}});
      }
}

void add_rows(std::vector<Case>& cases) {
  struct Rows {
    Shape x;
    int64_t axis;
  };
  for (const Rows& r : std::vector<Rows>{{{3, 7}, 1},
                                         {{3, 7}, 0},
                                         {{1}, 0},
                                         {{2, 5, 3, 4}, 1},
                                         {{2, 5, 3, 4}, 3},
                                         {{4, 100}, 1},
                                         {{2, 3, 300}, 1},
                                         {{5, 1}, 1}}) {
    cases.push_back({"softmax", {f32(r.x)}, {{"axis", r.axis}}});
    cases.push_back({"argmax", {f32(r.x)}, {{"axis", r.axis}}});
    cases.push_back({"argmax", {f32(r.x)}, {{"axis", r.axis}}, {{0, few}}});
  }
  const auto large = [](Random& r) { return 1e4 * r.normal(); };
  cases.push_back({"softmax", {f32({5, 9})}, {{"axis", int64_t{1}}}, {{0, large}}});
}

void add_norms(std::vector<Case>& cases) {
  struct Norm {
    Shape x;
    int64_t axis;
    bool has_weight = true;
  };
  for (const Norm& n : std::vector<Norm>{{{3, 7}, 1},
                                         {{3, 4, 17}, 2},
                                         {{3, 4, 17}, 1},
                                         {{2, 3, 5, 4}, 1, false},
                                         {{130, 20}, 1},
                                         {{1, 300}, 1},
                                         {{5, 2}, 1, false}}) {
    const auto weight =
        n.has_weight ? std::optional(f32(Shape(List(n.x.dims().begin() + n.axis, n.x.dims().end())))) : std::nullopt;
    const Attributes attributes = {{"axis", n.axis}, {"eps", 1e-5}};
    cases.push_back({"layer_norm", {f32(n.x), weight, weight}, attributes});
    cases.push_back({"rms_norm", {f32(n.x), weight}, attributes});
  }
  struct Groups {
    Shape x;
    int64_t groups;
    bool has_weight = true;
  };
  for (const Groups& g : std::vector<Groups>{{{3, 6, 5, 4}, 2},
                                             {{2, 6, 5, 4}, 6},
                                             {{2, 6, 5, 4}, 1},
                                             {{3, 8}, 2},
                                             {{2, 4, 9}, 4, false},
                                             {{70, 4, 3, 1}, 2},
                                             {{1, 32, 17, 19}, 8}}) {
    const auto weight = g.has_weight ? std::optional(f32({g.x[1]})) : std::nullopt;
    cases.push_back({"group_norm", {f32(g.x), weight, weight}, {{"groups", g.groups}, {"eps", 1e-5}}});
  }
}

void add_label_losses(std::vector<Case>& cases) {
  struct Labels {
    Shape x, labels;
    int64_t classes;
    double smoothing = 0;
    int64_t ignored = -1;
  };
  for (const Labels& l : std::vector<Labels>{{{3, 10}, {3}, 10},
                                             {{70, 3}, {70}, 3, 0.1},
                                             {{2, 5, 7}, {2, 5}, 7, 0, 2},
                                             {{2, 4, 3, 5}, {2, 3, 5}, 4, 0.2, 1},
                                             {{5, 100}, {5}, 100}}) {
    Attributes attributes;
    if (l.smoothing > 0) attributes.set("smoothing", l.smoothing);
    if (l.ignored >= 0) attributes.set("ignore_index", l.ignored);
    cases.push_back({"label_losses",
                     {f32(l.x), TensorType{DType::i32, l.labels}},
                     attributes,
                     {{1, [classes = l.classes](Random& r) { return static_cast<double>(r.integer(classes)); }}}});
  }
}

void add_conv_transpose2d(std::vector<Case>& cases) {
  struct Conv {
    Shape x;
    int64_t out;
    List kernel, stride = {1, 1}, padding = {0, 0}, dilation = {1, 1}, more = {0, 0};
    int64_t groups = 1;
  };
  for (const Conv& c :
       std::vector<Conv>{{.x = {2, 3, 5, 4}, .out = 4, .kernel = {3, 3}},
                         {.x = {1, 16, 7, 6}, .out = 32, .kernel = {4, 4}, .stride = {2, 2}, .padding = {1, 1}},
                         {.x = {2, 6, 5, 7},
                         .out = 9,
                         .kernel = {3, 2},
                         .stride = {2, 3},
                         .padding = {1, 0},
                         .more = {1, 2},
                         .groups = 3},
                         {.x = {1, 1, 3, 3}, .out = 1, .kernel = {1, 1}, .stride = {2, 2}},
                         {.x = {2, 17, 4, 5}, .out = 5, .kernel = {3, 3}, .padding = {2, 2}, .dilation = {2, 2}}})
    cases.push_back({"conv_transpose2d",
                     {f32({c.x[1], c.out / c.groups, c.kernel[0], c.kernel[1]}), f32(c.x)},
                     {{"kernel", c.kernel},
                      {"stride", c.stride},
                      {"padding", c.padding},
                      {"dilation", c.dilation},
                      {"output_padding", c.more},
                      {"groups", c.groups}}});
}

}  // namespace

void add_tensor_cases(std::vector<Case>& cases) {
  add_pointwise(cases);
  add_pairs(cases);
  add_shapes(cases);
  add_sums(cases);
  add_matmul(cases);
  add_rows(cases);
  add_norms(cases);
  add_label_losses(cases);
  add_conv_transpose2d(cases);
}

}  // namespace troika
