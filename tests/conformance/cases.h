// The cases of the conformance suite: for each op settings, shapes and numbers that are awkward.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "conformance/random.h"
#include "conformance/reference/reference.h"
#include "ops/op_def.h"

namespace troika {

struct Case {
  std::string op;
  std::vector<std::optional<TensorType>> inputs;  // empty: absent
  Attributes attributes;
  // Numbers of an input; standard normal where there is none.
  std::map<size_t, std::function<double(Random&)>> numbers = {};
};

inline TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

void add_update_cases(std::vector<Case>& cases);  // which all_cases has, too
void add_sample_cases(std::vector<Case>& cases);
void add_sequence_cases(std::vector<Case>& cases);
const std::vector<Case>& all_cases();
std::string name_of(const Case& c);  // "conv2d f32[1, 1, 28, 28] ... {kernel=[3, 3] ...}"

// A graph of the case's node, and behind it, where the op has a gradient, of the nodes that its gradient rule appends.
struct CaseGraph {
  Graph graph;
  ValueId dy = kNoValue;        // gradient of output 0; none for losses, which begin the backward pass themselves
  std::vector<ValueId> inputs;  // of the case, kNoValue where absent
  std::vector<ValueId> outputs;
  std::vector<ValueId> gradients;  // by input; kNoValue: none
};

// `needs`: whether the gradient of input i is asked for; all where empty.
CaseGraph build(const Case& c, const std::vector<bool>& needs = {});

// Numbers for the case's inputs and dy, as their dtypes hold them.
Values draw(const Case& c, const CaseGraph& g, Random& random);

bool is_loss(const std::string& op);

}  // namespace troika
