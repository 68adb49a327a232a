// Cases of the ops after the backward pass: loss scaling, clipping, norms, rounding, updates.
#include <algorithm>
#include <cmath>

#include "conformance/cases.h"
#include "ops/update.h"

namespace troika {
namespace {

// The update of an optimizer: `own` are its settings after learning rate and weight decay, `slots`
// the number of its slots.
struct Optimizer {
  std::string op;
  std::vector<double> own;
  int64_t slots;
  bool counts = false;
  std::vector<size_t> squares = {};  // slots that are never below 0
};

const std::vector<Optimizer> kOptimizers = {
    {"sgd_update", {0, 0}, 0},
    {"sgd_update", {0.9, 0}, 1},
    {"sgd_update", {0.9, 1}, 1},
    {"adam_update", {0.9, 0.99, 1e-3}, 2, true, {1}},
    {"adamw_update", {0.9, 0.99, 1e-3}, 2, true, {1}},
    {"rmsprop_update", {0.9, 1e-3, 0}, 1, false, {0}},
    {"rmsprop_update", {0.9, 1e-3, 0.9}, 2, false, {0}},
    {"lars_norms", {0.9, 0.02, 1e-3}, 0},
    {"lars_update", {0.9, 0.02, 1e-3}, 1},
    {"lamb_moments", {0.9, 0.99, 1e-3}, 2, true, {1}},
    {"lamb_update", {0.9, 0.99, 1e-3}, 2, true, {1}},
    {"adagrad_update", {1e-3}, 1, false, {0}},
};

bool finds_norms(const Optimizer& optimizer) { return optimizer.op == "lars_norms" || optimizer.op == "lamb_moments"; }

// Returns a function that repeats the numbers.
std::function<double(Random&)> repeat(std::vector<double> numbers) {
  return [numbers, i = size_t{0}](Random&) mutable { return numbers[i++ % numbers.size()]; };
}

// The inputs and settings of an update in addition to its parameters.
struct Extras {
  double decay = 0.01;
  bool has_factor = false, has_norms = false, skips_decay = false;
  std::optional<bool> is_finite = std::nullopt;
  DType gradient = DType::f32;
};

Case update_case(const Optimizer& optimizer, const Extras& extras) {
  std::vector<double> row = {0.05, extras.decay}, other = {7, 3};  // only the second row counts
  row.insert(row.end(), optimizer.own.begin(), optimizer.own.end());
  other.insert(other.end(), optimizer.own.size(), 0.5);
  std::vector<double> settings = other;
  settings.insert(settings.end(), row.begin(), row.end());
  const std::vector<Shape> shapes = {{5}, {17, 3, 3, 2}, {300, 130}, {1}};

  Case c{optimizer.op, {}, {{"row", int64_t{1}}, {"slots", optimizer.slots}}};
  c.inputs.resize(update::first_parameter);
  c.inputs[update::settings] = f32({2, static_cast<int64_t>(row.size())});
  c.numbers[update::settings] = repeat(settings);
  if (extras.has_factor) {
    c.inputs[update::factor] = f32({1});
    c.numbers[update::factor] = [](Random& r) { return 1.0 / static_cast<double>(1 + r.integer(9)); };
  }
  if (extras.is_finite) {
    c.inputs[update::is_finite] = TensorType{DType::i32, {1}};
    c.numbers[update::is_finite] = [finite = *extras.is_finite](Random&) { return finite ? 1.0 : 0.0; };
  }
  if (optimizer.counts) {
    c.inputs[update::count] = TensorType{DType::i64, {2}};
    c.numbers[update::count] = repeat({900, 3});
  }
  if (extras.has_norms) {
    c.inputs[update::norms] = f32({10});
    c.numbers[update::norms] = repeat({4, 9, 0, 1, 2, 0, 25, 16, 3, 7});  // two of them have a norm of 0
  }
  if (extras.has_norms || finds_norms(optimizer)) c.attributes.set("places", std::vector<int64_t>{3, 1, 0, 2});
  if (finds_norms(optimizer)) c.attributes.set("total", int64_t{5});
  if (extras.skips_decay) c.attributes.set("skips_decay", int64_t{1});
  for (const Shape& shape : shapes) {
    c.inputs.push_back(f32(shape));
    c.inputs.push_back(TensorType{extras.gradient, shape});
    for (int64_t slot = 0; slot < optimizer.slots; ++slot) {
      if (std::count(optimizer.squares.begin(), optimizer.squares.end(), static_cast<size_t>(slot)))
        c.numbers[c.inputs.size()] = [](Random& r) { return std::pow(r.normal(), 2) + 0.01; };
      c.inputs.push_back(f32(shape));
    }
  }
  return c;
}

void add_updates(std::vector<Case>& cases) {
  for (const Optimizer& optimizer : kOptimizers) {
    auto add = [&](Extras extras) { cases.push_back(update_case(optimizer, extras)); };
    add({});
    add({.decay = 0, .has_factor = true});
    add({.skips_decay = true});
    for (bool finite : {false, true})
      // A skipped step does not write the norms, and nothing reads them.
      if (finite || !finds_norms(optimizer)) add({.has_factor = true, .is_finite = finite});
    for (DType low : {DType::bf16, DType::f16}) add({.has_factor = true, .gradient = low});
    if (optimizer.op.starts_with("lars") || optimizer.op.starts_with("lamb")) add({.has_norms = true});
  }
  const TensorType flag{DType::i32, {1}};
  for (std::optional<double> finite : std::vector<std::optional<double>>{std::nullopt, 0.0, 1.0}) {
    Case counts{"count_updates", {TensorType{DType::i64, {3}}, {}}, {}};
    counts.numbers[0] = [](Random& r) { return static_cast<double>(r.integer(1000)); };
    Case averages{"average_update", {{}, f32({5}), f32({5}), f32({300, 130}), f32({300, 130})}, {{"decay", 0.99}}};
    if (finite)
      for (Case* c : {&counts, &averages}) {
        const size_t i = c == &counts ? 1 : 0;
        c->inputs[i] = flag;
        c->numbers[i] = [finite](Random&) { return *finite; };
      }
    cases.push_back(counts);
    cases.push_back(averages);
  }
}

// Draws the numbers {scale, good steps}.
double draw_scale(Random& r) { return std::ldexp(1.0, static_cast<int>(r.integer(12))); }

void add_loss_scaling(std::vector<Case>& cases) {
  const TensorType scale{DType::f32, {2}}, flag{DType::i32, {1}};
  Case loss{"cross_entropy", {f32({5, 4}), TensorType{DType::i32, {5}}, scale}, {{"scale", 0.2}}};
  loss.numbers[1] = [](Random& r) { return static_cast<double>(r.integer(4)); };
  loss.numbers[2] = draw_scale;
  cases.push_back(loss);
  for (const char* op : {"mean_squared_error", "mean_absolute_error", "huber", "binary_cross_entropy"}) {
    Case values{op, {f32({5, 4}), f32({5, 4}), scale}, {{"scale", 0.2}, {"delta", 0.5}}};
    values.numbers[2] = draw_scale;
    cases.push_back(values);
  }
  for (double bad : {0.0, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    Case c{"check_finite", {f32({300, 130}), f32({7}), f32({3, 2, 5, 5})}, {}};
    if (bad != 0) c.numbers[1] = [bad](Random& r) { return r.integer(3) ? bad : r.normal(); };
    cases.push_back(c);
  }
  for (double finite : {0.0, 1.0}) {
    for (int64_t interval : {1, 1000}) {
      Case c{"update_loss_scale", {scale, flag}, {{"backoff", 0.5}, {"growth", 2.0}, {"interval", interval}}};
      c.numbers = {{0, draw_scale}, {1, [finite](Random&) { return finite; }}};
      cases.push_back(c);
    }
  }
}

void add_gradient_factors(std::vector<Case>& cases) {
  const TensorType scale = f32({2});
  for (bool scaled : {false, true}) {
    // Norms above and below the largest, and infinite ones.
    for (double max_norm : {0.5, 1e6})
      for (double bad : {0.0, HUGE_VAL}) {
        Case c{"gradient_factor",
               {{}, f32({3, 2, 5, 5}), f32({7}), f32({300, 130})},
               {{"eps", 1e-6}, {"max_norm", max_norm}}};
        if (bad != 0) c.numbers[2] = [bad](Random& r) { return r.integer(3) ? bad : r.normal(); };
        if (scaled) {
          c.inputs[0] = scale;
          c.numbers[0] = draw_scale;
        }
        cases.push_back(c);
      }
  }
  Case alone{"gradient_factor", {scale}, {{"eps", 1e-6}, {"max_norm", 0.0}}};
  alone.numbers[0] = draw_scale;
  cases.push_back(alone);
}

void add_gradient_passes(std::vector<Case>& cases) {
  cases.push_back(
      {"gradient_norm", {f32({3, 2, 5, 5}), f32({7}), f32({300, 130})}, {{"rank", int64_t{1}}, {"ranks", int64_t{4}}}});
  cases.push_back({"gradient_norm", {}, {{"rank", int64_t{0}}, {"ranks", int64_t{2}}}});  // no gradients
  Case rounded{"round_bf16", {f32({17, 3, 3, 2}), f32({5}), f32({4000})}, {}};
  rounded.numbers[0] = [](Random& r) { return r.normal() * std::ldexp(1.0, static_cast<int>(r.integer(260)) - 140); };
  rounded.numbers[1] = [](Random& r) { return r.integer(2) ? HUGE_VAL : std::nan(""); };
  // Halfway between two bf16 numbers.
  rounded.numbers[2] = [](Random& r) { return static_cast<double>(257 + 2 * r.integer(100)); };
  cases.push_back(rounded);
}

}  // namespace

void add_update_cases(std::vector<Case>& cases) {
  add_updates(cases);
  add_loss_scaling(cases);
  add_gradient_factors(cases);
  add_gradient_passes(cases);
}

}  // namespace troika
