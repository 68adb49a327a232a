// Updates that write each parameter twice: the copy is the parameter as a cast rounds it, and
// everything else is as without copies.
#include <gtest/gtest.h>

#include "conformance/cases.h"
#include "conformance/node_runner.h"
#include "core/text.h"
#include "ops/update.h"
#include "support/test_device.h"

namespace troika {
namespace {

bool updates_parameters(const Case& c) {
  return op_named(c.op).as<UpdateOp>() && c.attributes.has("row") && !c.attributes.has("total");
}

// The case with copies of all its parameters. `places` gets the places of the copies.
Case with_copies(const Case& c, const Node& node, DType dtype, std::vector<size_t>& places) {
  const UpdateOperands operands(node);
  Case copied{c.op, {c.inputs.begin(), c.inputs.begin() + update::first_parameter}, c.attributes, {}};
  copied.attributes.set("copies", int64_t{1});
  for (size_t k = 0; k < operands.parameters(); ++k)
    for (size_t i = operands.parameter(k); i < operands.parameter(k + 1); ++i) {
      copied.inputs.push_back(c.inputs[i]);
      if (i != operands.gradient(k)) continue;
      places.push_back(copied.inputs.size());
      copied.inputs.push_back(TensorType{dtype, c.inputs[i]->shape});
    }
  return copied;
}

// Returns the case's node after a run on these numbers, of which copies have none.
std::vector<Array> run(NodeRunner& runner, const Case& c, const std::vector<Array>& numbers,
                       const std::vector<size_t>& copies) {
  const CaseGraph g = build(c);
  std::vector<Held> inputs;
  auto next = numbers.begin();
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const bool is_copy = std::count(copies.begin(), copies.end(), i) > 0;
    if (!c.inputs[i])
      inputs.emplace_back();
    else
      inputs.push_back(runner.hold(*c.inputs[i], is_copy ? Array(c.inputs[i]->shape) : *next, nullptr));
    if (!is_copy) ++next;
  }
  std::vector<Array> after;
  for (const Held& held : runner.run_node(g.graph, g.graph.nodes()[0], inputs).inputs)
    after.push_back(held.memory ? runner.read(held) : Array());
  return after;
}

TEST(Copies, AreTheParametersAsACastRoundsThem) {
  if (is_on_cpu()) GTEST_SKIP() << "updates on a CPU write no copies";
  NodeRunner runner(1);
  int found = 0;
  for (const Case& c : all_cases()) {
    if (!updates_parameters(c)) continue;
    const CaseGraph g = build(c);
    const Node& node = g.graph.nodes()[0];
    const UpdateOperands operands(node);
    Random random(7);
    const Values values = draw(c, g, random);
    std::vector<Array> numbers;
    for (ValueId id : g.inputs) numbers.push_back(id == kNoValue ? Array() : values[id]);
    const bool changes = !c.inputs[update::is_finite] || numbers[update::is_finite][0] != 0;
    for (DType dtype : {DType::bf16, DType::f16})
      runner.run([&] {
        std::vector<size_t> places;
        const Case copied = with_copies(c, node, dtype, places);
        const std::vector<Array> plain = run(runner, c, numbers, {}), both = run(runner, copied, numbers, places);
        size_t i = 0;
        for (size_t at = 0; at < both.size(); ++at) {
          if (std::count(places.begin(), places.end(), at) > 0) continue;
          EXPECT_EQ(both[at].data, plain[i++].data) << name_of(copied) << ": input " << at;
        }
        for (size_t k = 0; k < places.size(); ++k) {
          std::vector<double> expected = both[operands.parameter(k) + k].data;
          for (double& v : expected) v = changes ? as_held(v, dtype) : 0;
          EXPECT_EQ(both[places[k]].data, expected) << name_of(copied) << ": copy " << k;
        }
      });
    ++found;
  }
  EXPECT_GT(found, 30);
}

}  // namespace
}  // namespace troika
