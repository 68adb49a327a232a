// The cases of the conformance suite: awkward settings, shapes and numbers for each op.
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
  // Functions that draw the numbers of an input; inputs without a function are standard normal.
  std::map<size_t, std::function<double(Random&)>> numbers = {};
};

inline TensorType f32(Shape shape) { return {DType::f32, std::move(shape)}; }

void add_update_cases(std::vector<Case>& cases);  // all_cases() includes these cases
void add_sample_cases(std::vector<Case>& cases);
void add_sequence_cases(std::vector<Case>& cases);
void add_tensor_cases(std::vector<Case>& cases);
const std::vector<Case>& all_cases();
std::string name_of(const Case& c);  // "conv2d f32[1, 1, 28, 28] ... {kernel=[3, 3] ...}"

// A graph of the case's node. If the op has a gradient, the nodes that its gradient rule appends
// follow.
struct CaseGraph {
  Graph graph;
  // The gradient of output 0; kNoValue for losses, which begin the backward pass themselves.
  ValueId dy = kNoValue;
  std::vector<ValueId> inputs;  // the case's inputs; kNoValue: absent
  std::vector<ValueId> outputs;
  std::vector<ValueId> gradients;  // per input; kNoValue: no gradient
};

// `needs`: whether the gradient of input i is requested. Empty: all gradients are.
CaseGraph build(const Case& c, const std::vector<bool>& needs = {});

// Draws numbers for the case's inputs and dy, rounded to their dtypes.
Values draw(const Case& c, const CaseGraph& g, Random& random);

bool is_loss(const std::string& op);

}  // namespace troika
