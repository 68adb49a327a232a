// Compares every gradient rule with central finite differences of the reference forward pass, both
// in double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "conformance/cases.h"
#include "core/text.h"
#include "ops/embedding.h"
#include "ops/losses.h"

namespace troika {
namespace {

class Gradients : public ::testing::TestWithParam<size_t> {};

// Returns the function that the rule differentiates: the loss times its weight, or a random linear
// functional of output 0. The caller's loss is such a functional, whose factors are its targets.
double objective(const Case& c, const CaseGraph& g, Values values) {
  evaluate_reference(g.graph, g.graph.nodes()[0], values);
  const Array& y = values[g.outputs[0]];
  const bool is_own = c.op == "own_loss";
  if (is_loss(c.op) && !is_own) {
    double weight = c.attributes.real("scale");
    for (size_t i = 2; i < std::min<size_t>(g.inputs.size(), loss::weights); ++i)  // those are in the loss itself
      if (g.inputs[i] != kNoValue) weight *= values[g.inputs[i]][0];
    return y[0] * weight;
  }
  double sum = 0;
  for (int64_t i = 0; i < y.elements(); ++i) sum += y[i] * values[is_own ? g.inputs[1] : g.dy][i];
  return sum;
}

bool is_differentiable(const Case& c, size_t input) {
  if (!c.inputs[input] || c.inputs[input]->dtype != DType::f32) return false;
  if (c.op == "join_channels") return false;  // the gradient stays joined: channel_gather slices it
  // The rule treats the moments as independent of x.
  if (c.op == "batch_norm2d" && c.inputs.size() > 7) return false;
  if (c.op == "batch_norm2d") return input <= 2 || input == 6;  // the rest is state
  if (c.op == "embedding") return input == embedding::weight;   // tokens may be f32
  return !is_loss(c.op) || input == 0;                          // the rest is targets and weights
}

// Compares slopes with the gradients, for newly drawn numbers. Samples at a kink (a ReLU at 0, a
// change of maximum) cannot be compared. Returns the largest number of such samples of an input.
int compare_slopes(const Case& c, const CaseGraph& g, Random& random) {
  Values values = draw(c, g, random);
  Values results = values;
  evaluate_reference(g.graph, results);
  constexpr int kSamples = 12;
  constexpr double kStep = 1e-6, kTolerance = 1e-4;
  int most_kinks = 0;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!is_differentiable(c, i)) continue;
    if (g.gradients[i] == kNoValue) {
      ADD_FAILURE() << name_of(c) << ": input " << i << " has no gradient";
      continue;
    }
    const Array& gradient = results[g.gradients[i]];
    EXPECT_EQ(gradient.shape, c.inputs[i]->shape) << name_of(c) << ": input " << i;
    if (gradient.shape != c.inputs[i]->shape) continue;
    double scale = 0;
    for (double v : gradient.data) scale = std::max(scale, std::abs(v));
    double largest = 0;  // the largest number in the objective's sum, which may cancel
    for (double v : values[g.inputs[i]].data) largest = std::max(largest, std::abs(v));
    int kinks = 0;
    for (int sample = 0; sample < kSamples; ++sample) {
      const int64_t at = random.integer(gradient.elements());
      auto moved = [&](double by) {
        Values v = values;
        v[g.inputs[i]][at] += by;
        return objective(c, g, v);
      };
      const double middle = moved(0), ahead = moved(kStep), behind = moved(-kStep);
      const double magnitude = std::max({scale, std::abs(gradient[at]), 1e-3});
      // The rounding error of the objective, divided by the step.
      const double rounding = 1e-14 * (std::abs(middle) + largest + 1) / kStep;
      // The difference between the slopes of the two halves. The error of their mean is at most
      // half of it.
      const double bend = std::abs((ahead - middle) - (middle - behind)) / kStep;
      if (bend > kTolerance * magnitude + rounding) {
        ++kinks;
        continue;
      }
      EXPECT_NEAR((ahead - behind) / (2 * kStep), gradient[at], kTolerance * magnitude + rounding)
          << name_of(c) << ": input " << i << ", element " << at;
    }
    most_kinks = std::max(most_kinks, kinks);
  }
  return most_kinks;
}

TEST_P(Gradients, EqualFiniteDifferences) {
  const Case& c = all_cases()[GetParam()];
  const CaseGraph g = build(c);
  Random random(1000 + GetParam());
  const bool has_ties = !c.numbers.empty() && c.op == "max_pool2d";
  // One element near 0 bends all slopes of its channel. This almost never happens twice, so the
  // numbers are drawn again.
  int kinks = 2;
  for (int draws = 0; draws < 4 && kinks > 1 && !HasFailure(); ++draws) kinks = compare_slopes(c, g, random);
  EXPECT_TRUE(kinks <= 1 || has_ties || HasFailure()) << name_of(c) << ": " << kinks << " samples are at kinks";
}

// A rule must compute exactly the requested gradients, and each of them must be independent of the
// others.
TEST_P(Gradients, OfOneInputDoNotDependOnWhichOthersAreAsked) {
  const Case& c = all_cases()[GetParam()];
  const CaseGraph all = build(c);
  Random random(2000 + GetParam());
  Values values = draw(c, all, random);
  Values expected = values;
  evaluate_reference(all.graph, expected);
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!is_differentiable(c, i)) continue;
    std::vector<bool> needs(c.inputs.size(), false);
    needs[i] = true;
    const CaseGraph one = build(c, needs);
    Values found = values;
    evaluate_reference(one.graph, found);
    ASSERT_NE(one.gradients[i], kNoValue) << name_of(c) << ": input " << i;
    EXPECT_EQ(found[one.gradients[i]].data, expected[all.gradients[i]].data) << name_of(c) << ": input " << i;
  }
}

std::vector<size_t> differentiable_cases() {
  std::vector<size_t> cases;
  for (size_t i = 0; i < all_cases().size(); ++i) {
    const Case& c = all_cases()[i];
    const CaseGraph g = build(c);
    // Skips large cases, which are for kernels: rules do not depend on sizes, and the reference is
    // slow.
    if (op_named(c.op).gradient && cost_of(g.graph, g.graph.nodes()[0]).operations < 1e6) cases.push_back(i);
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, Gradients, ::testing::ValuesIn(differentiable_cases()), [](const auto& info) {
  size_t number = 0;
  for (size_t i = 0; i < info.param; ++i) number += all_cases()[i].op == all_cases()[info.param].op;
  return text(all_cases()[info.param].op, '_', number);
});

}  // namespace
}  // namespace troika
