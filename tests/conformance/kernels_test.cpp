// Compares every kernel of the test device with the reference: each op's cases, forward and through
// the op's gradient rule, in every image layout and mixture of layouts. A CPU runs each case with
// teams of one and of two threads, a GPU runs it twice.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "conformance/cases.h"
#include "conformance/node_runner.h"
#include "core/random.h"
#include "core/text.h"
#include "ops/update.h"
#include "support/test_device.h"

namespace troika {
namespace {

// Whether the test device has a kernel for the op. One op is for GPUs alone.
bool has_kernel(const OpDef& op) {
  return !op.is_view && !op.communicates() && !(is_on_cpu() && &op == &linear_cross_entropy_op);
}

bool sums_in_f64(const Node& node) {
  return node.op == &gradient_factor_op || node.op == &gradient_norm_op || node.op == &lars_norms_op ||
         node.op == &lamb_moments_op;
}

// Returns how many products a number of the output sums up.
double reduction_length(const Graph& graph, const Node& node) {
  double outputs = 0, inputs = 0;
  for (ValueId id : node.outputs) outputs = std::max(outputs, static_cast<double>(graph.type(id).shape.elements()));
  for (ValueId id : node.inputs)
    if (id != kNoValue) inputs = std::max(inputs, static_cast<double>(graph.type(id).shape.elements()));
  if (sums_in_f64(node)) return 1;
  if (node.op->cost) return std::max(1.0, cost_of(graph, node).operations / 2 / std::max(outputs, 1.0));
  if (node.op->name.rfind("batch_norm2d", 0) == 0) {
    const Shape& x = graph.type(node.inputs[0]).shape;
    return static_cast<double>(x.elements() / x[1]);
  }
  return std::max(1.0, inputs / std::max(outputs, 1.0));
}

double largest(const Array& array) {
  double most = 0;
  for (double v : array.data) most = std::max(most, std::abs(v));
  return most;
}

// Returns the size of the terms of output `i`; -1: of the inputs that the node changes in place. If
// terms happen to cancel, as in results of a few numbers, errors are small relative to the terms
// but not relative to the result.
double term_size(const Graph& graph, const Node& node, int i, const Values& values) {
  auto size = [&](size_t input) { return node.inputs[input] == kNoValue ? 0.0 : largest(values[node.inputs[input]]); };
  if (node.op == &linear_cross_entropy_op) return 0;
  if (node.op->cost) return size(0) * size(1);
  if (node.op == &batch_norm2d_gradient_op)
    return i == 0 ? size(1) * size(3) * size(5) : size(5);  // dx = weight inv_std (dz - ...)
  if (node.op->name.find("cross_entropy") == 0 || (sums_in_f64(node) && i >= 0) ||
      (node.op == &batch_norm2d_op && i == 2))
    return 0;
  double most = 0;
  const bool is_normalized = node.op->name.find("batch_norm2d") == 0 && i == 0;
  // The terms of an update begin at its parameters: settings and norms are not terms.
  const bool is_update = node.op->as<UpdateOp>() && node.op != &average_update_op;
  for (size_t k = is_update ? size_t{update::first_parameter} : is_normalized ? 1 : 0; k < node.inputs.size(); ++k)
    if (node.inputs[k] != kNoValue && graph.type(node.inputs[k]).dtype == DType::f32) most = std::max(most, size(k));
  // The rounding of the batch's mean by 2^-24 shifts every result. For some tens of values, the
  // shift is 0.015 of the tolerance.
  if (node.op == &batch_norm2d_op && is_normalized)
    most += 0.015 * largest(values[node.outputs[1]]) * size(1) * largest(values[node.outputs[2]]);
  return most;
}

// Returns the tolerance relative to the largest number of the result or of its terms. A sum of n
// products of either sign, rounded to 2^-24 at each step, has an error of about 2^-24 n / sqrt(2),
// while the sum itself grows as sqrt(n). The relative error is 4e-8 sqrt(n). The rest of the
// tolerance is for fused steps around the sum and for numbers that happen to cancel. Winograd's
// transforms need a 30 times larger tolerance.
double tolerance_of(const Graph& graph, const Node& node, const std::string& kernel) {
  const double winograd = kernel.find("wino") != std::string::npos ? 30 : 1;
  // A unit of the last place of a 16-bit result: two nearly equal numbers may be rounded to
  // opposite sides.
  double held = 0;
  const auto hold = [&](DType dtype) {
    held = std::max(held, dtype == DType::bf16 ? 0x1p-7 : dtype == DType::f16 ? 0x1p-10 : 0);
  };
  for (ValueId id : node.outputs) hold(graph.type(id).dtype);
  // On a GPU, the fastest kernel may compute a weight's gradient in the type of its factors and
  // widen the result.
  if (node.op == &conv2d_weight_gradient_op && !is_on_cpu()) hold(graph.type(node.inputs[0]).dtype);
  return held + winograd * (1e-6 + 4e-7 * std::sqrt(reduction_length(graph, node)));
}

bool is_exact(const Graph& graph, const Node& node) {  // choices and copies, not sums
  static const std::set<std::string_view> exact = {
      "relu",         "relu_gradient",  "max_pool2d",        "add",           "fill",           "cast",
      "crop",         "slice_channels", "join_channels",     "part_channels", "split_steps",    "join_steps",
      "check_finite", "round_bf16",     "update_loss_scale", "sample_order",  "gather_samples", "cast_all",
      "fill_all",     "count_updates",  "embedding",         "abs",           "abs_gradient",   "argmax",
      "compare",      "expand",         "transpose"};
  const bool rounds_twice = node.op == &add_op && graph.type(node.outputs[0]).dtype != DType::f32;
  return exact.count(node.op->name) != 0 && !rounds_twice;
}

// Returns the first number that differs; empty if all agree.
std::string find_difference(const Array& reference, const Array& found, double tolerance, double terms,
                            bool zeros_are_exact) {
  if (reference.shape != found.shape) return text("shape ", found.shape, ", reference ", reference.shape);
  const double most = std::max(largest(reference), terms);
  for (int64_t i = 0; i < reference.elements(); ++i) {
    if (reference[i] == found[i] || (std::isnan(reference[i]) && std::isnan(found[i]))) continue;
    const double difference = std::abs(reference[i] - found[i]);
    if (!(difference <= tolerance * most) || (zeros_are_exact && (reference[i] == 0) != (found[i] == 0)))
      return text("element ", i, " of ", found.shape, " is ", found[i], ", reference ", reference[i], " (largest ",
                  most, ", tolerance ", tolerance, ")");
  }
  return "";
}

// Which inputs are stored in an image layout.
enum class Mixture { all, first, others };
constexpr const char* kMixtures[] = {"all", "first", "others"};

class Kernels : public ::testing::TestWithParam<size_t> {
 protected:
  // Returns the same runner for any number of threads on a GPU, so that engines are measured only
  // once.
  static NodeRunner& runner(int threads) {
    static NodeRunner one(1);
    if (threads == 1 || !is_on_cpu()) return one;
    static NodeRunner two(2);
    return two;
  }
};

class CaseRun {
 public:
  // `given`: the case's numbers. `reference`: the numbers of every value after the graph has run.
  CaseRun(const Case& c, const CaseGraph& g, const Values& given, const Values& reference, NodeRunner& runner)
      : case_(c), g_(g), given_(given), reference_(reference), runner_(runner) {}

  // The outputs of every node, to compare two teams or two runs.
  std::vector<Array> outputs;
  bool is_own = true;  // no kernel was from oneDNN

  void run(int layout, Mixture mixture) {
    for (const Node& node : g_.graph.nodes())
      if (has_kernel(*node.op)) run_node(node, layout, mixture);
  }

 private:
  void run_node(const Node& node, int layout, Mixture mixture) {
    std::vector<Held> inputs;
    bool is_first = true;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue) {
        inputs.emplace_back();
        continue;
      }
      const TensorType& type = g_.graph.type(id);
      const auto indices = indices_.find(id);
      if (indices != indices_.end()) {
        inputs.push_back(indices->second);
        continue;
      }
      LayoutPtr wanted;
      if (is_image(node, i)) {
        const bool takes = mixture == Mixture::all || is_first == (mixture == Mixture::first);
        if (layout >= 0 && takes) wanted = runner_.image_layouts(type)[static_cast<size_t>(layout)];
        is_first = false;
      } else if (const auto adopted = adopted_.find(id); adopted != adopted_.end()) {
        wanted = adopted->second;  // the first reader of a parameter decides its layout
      }
      inputs.push_back(runner_.hold(type, given_[id].elements() ? given_[id] : reference_[id], wanted));
    }
    const std::string what = text(node.op, " of ", name_of(case_), ", layout ", layout, " for ",
                                  kMixtures[static_cast<int>(mixture)], " images");
    try {
      const NodeRunner::Result result = runner_.run_node(g_.graph, node, inputs);
      check(node, result, text(what, ", kernel ", result.kernel));
      for (size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i] != kNoValue && !is_image(node, i) && g_.graph.type(node.inputs[i]).dtype == DType::f32)
          adopted_.emplace(node.inputs[i], result.inputs[i].layout);
      const int shares = static_cast<int>(runner_.shares(g_.graph, node, inputs));
      for (int share = 0; share < shares; ++share) {
        const NodeRunner::Result shared = runner_.run_node(g_.graph, node, inputs, share);
        for (size_t i = 0; i < result.outputs.size(); ++i)
          EXPECT_EQ(runner_.read(shared.outputs[i]).data, runner_.read(result.outputs[i]).data)
              << what << ": output " << i << " changes when memory is shared, pair " << share;
      }
    } catch (const std::exception& e) {
      ADD_FAILURE() << what << ": " << e.what();
    }
  }

  bool is_image(const Node& node, size_t i) const {
    const bool is_weight = (node.op == &conv2d_op && i == 1) || (node.op == &conv2d_input_gradient_op && i == 0);
    return !is_weight && !runner_.image_layouts(g_.graph.type(node.inputs[i])).empty();
  }

  void check(const Node& node, const NodeRunner::Result& result, const std::string& what) {
    const double tolerance = is_exact(g_.graph, node) ? 0 : tolerance_of(g_.graph, node, result.kernel);
    is_own = is_own && result.kernel.find("onednn") == std::string::npos;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      // The meaning of indices is private to the backend; the test of the gradient covers them.
      if (node.op == &max_pool2d_op && i == 1) {
        indices_[id] = result.outputs[i];
        continue;
      }
      const Array found = runner_.read(result.outputs[i]);
      outputs.push_back(found);
      // Below this, numbers in f16 are all equally far apart.
      const double least_normal = g_.graph.type(id).dtype == DType::f16 ? 0x1p-14 : 0;
      const double terms = std::max(term_size(g_.graph, node, static_cast<int>(i), reference_), least_normal);
      EXPECT_EQ(find_difference(reference_[id], found, tolerance, terms, node.op == &dropout_op), "")
          << what << ": output " << i;
      EXPECT_EQ(runner_.find_dirty_padding(result.outputs[i]), "") << what << ": output " << i;
    }
    const bool mutates = !node.op->mutates.empty();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kNoValue || indices_.count(id)) continue;
      const Array found = runner_.read(result.inputs[i]);
      if (mutates) outputs.push_back(found);
      EXPECT_EQ(find_difference(reference_[id], found, mutates ? tolerance : 0,
                                term_size(g_.graph, node, -1, reference_), false),
                "")
          << what << ": input " << i << " afterwards";
      EXPECT_EQ(runner_.find_dirty_padding(result.inputs[i]), "") << what << ": input " << i << " afterwards";
    }
  }

  const Case& case_;
  const CaseGraph& g_;
  const Values &given_, &reference_;
  NodeRunner& runner_;
  std::map<ValueId, Held> indices_;
  std::map<ValueId, LayoutPtr> adopted_;
};

TEST_P(Kernels, EqualTheReferenceInEveryLayoutAndTeam) {
  const Case& c = all_cases()[GetParam()];
  const OpDef& op = op_named(c.op);
  if (!op.is_view && !has_kernel(op)) GTEST_SKIP() << "the test device has no kernel for " << op.name;
  const CaseGraph g = build(c);
  Random random(GetParam());
  const Values given = draw(c, g, random);
  Values reference = given;
  evaluate_reference(g.graph, reference, true);
  const size_t layouts = c.inputs.empty() || !c.inputs[0] ? 0 : runner(1).image_layouts(*c.inputs[0]).size();
  // The kernels of conv2d and linear choose their layouts themselves.
  const bool has_several = c.op != "conv2d" && c.op != "linear";
  for (int layout = -1; layout < static_cast<int>(layouts); ++layout)
    for (Mixture mixture : {Mixture::all, Mixture::first, Mixture::others}) {
      if (mixture != Mixture::all && (layout < 0 || !has_several)) continue;
      std::vector<Array> of_one;
      for (int threads : {1, 2}) {
        NodeRunner& r = runner(threads);
        r.run([&] {
          CaseRun run(c, g, given, reference, r);
          run.run(layout, mixture);
          if (threads == 1) {
            of_one = run.outputs;
            return;
          }
          ASSERT_EQ(run.outputs.size(), of_one.size());
          // Results of oneDNN may differ between teams; each is close to the reference.
          if (is_on_cpu() && !run.is_own) return;
          for (size_t i = 0; i < of_one.size(); ++i)
            EXPECT_EQ(find_difference(of_one[i], run.outputs[i], 0, 0, false), "")
                << name_of(c) << (is_on_cpu() ? ": a team of two" : ": a second run") << " has a different result "
                << i;
        });
      }
      if (HasFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, Kernels, ::testing::Range(size_t{0}, all_cases().size()), [](const auto& info) {
  size_t number = 0;
  for (size_t i = 0; i < info.param; ++i) number += all_cases()[i].op == all_cases()[info.param].op;
  return text(all_cases()[info.param].op, '_', number);
});

TEST(EveryOp, HasAReferenceACaseAndAKernel) {
  NodeRunner runner(1);
  for (const OpDef* op : all_ops()) {
    if (op->communicates()) continue;
    EXPECT_TRUE(reference_kernels().count(std::string(op->name))) << op->name << " has no reference kernel";
    bool has_case = false;
    for (const Case& c : all_cases()) {
      const CaseGraph g = build(c);
      for (const Node& node : g.graph.nodes()) {
        if (node.op != op) continue;
        has_case = true;
        if (!has_kernel(*op) || node.op == &max_pool2d_gradient_op)
          continue;  // the gradient of max_pool2d needs the indices of a forward pass
        runner.run([&] {
          EXPECT_TRUE(runner.select(g.graph, node, std::vector<Held>(node.inputs.size())).kernel) << op->name;
        });
      }
      if (has_case) break;
    }
    EXPECT_TRUE(has_case) << op->name << " has no case";
  }
}

TEST(Philox, GivesThePublishedAnswers) {
  // Random123's kat_vectors for philox4x32 with 10 rounds.
  EXPECT_EQ(philox(0, 0, 0), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

}  // namespace
}  // namespace troika
