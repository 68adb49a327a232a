// Reference kernels: every op as plain loops over double-precision arrays, written only from the
// op's definition.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace troika {

// A row-major array of any dtype, its numbers held as doubles.
struct Array {
  Array() = default;
  explicit Array(const Shape& s) : shape(s), data(static_cast<size_t>(s.elements()), 0.0) {}

  double& operator[](int64_t i) { return data[static_cast<size_t>(i)]; }
  double operator[](int64_t i) const { return data[static_cast<size_t>(i)]; }
  double& at(int64_t n, int64_t c, int64_t h, int64_t w) {
    return data[static_cast<size_t>(((n * shape[1] + c) * shape[2] + h) * shape[3] + w)];
  }
  int64_t elements() const { return static_cast<int64_t>(data.size()); }

  Shape shape;
  std::vector<double> data;
};

// The axis on which an op of channels or steps works: the attribute `axis`, or 1.
inline int axis_of_case(const Node& node) {
  return node.attributes.has("axis") ? static_cast<int>(node.attributes.integer("axis")) : 1;
}

// Absent inputs are null. A kernel changes the inputs that the op mutates. Outputs have their
// shapes and are 0 at first.
using ReferenceInputs = std::vector<Array*>;
using ReferenceOutputs = std::vector<Array*>;
using ReferenceKernel = void (*)(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out);
using ReferenceTable = std::map<std::string, ReferenceKernel>;

const ReferenceTable& reference_kernels();

// Returns the number rounded to the type.
double as_held(double value, DType dtype);

// One array per value of a graph, by the value's id.
using Values = std::vector<Array>;

// Runs the nodes in their order; all_reduce is over a single rank. `rounds`: round every result to
// its dtype.
void evaluate_reference(const Graph& graph, Values& values, bool rounds = false);
void evaluate_reference(const Graph& graph, const Node& node, Values& values, bool rounds = false);

// Each family's file adds its reference kernels.
void add_convolution_references(ReferenceTable& table);
void add_linear_references(ReferenceTable& table);
void add_embedding_references(ReferenceTable& table);
void add_batch_norm_references(ReferenceTable& table);
void add_pooling_references(ReferenceTable& table);
void add_elementwise_references(ReferenceTable& table);
void add_pointwise_references(ReferenceTable& table);
void add_arithmetic_references(ReferenceTable& table);
void add_row_references(ReferenceTable& table);
void add_loss_references(ReferenceTable& table);
void add_recurrent_references(ReferenceTable& table);
void add_optimizer_references(ReferenceTable& table);

}  // namespace troika
