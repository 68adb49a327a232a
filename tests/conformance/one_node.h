// A graph of one node, for tests of what GPUs alone compute, which compare two nodes with each
// other.
#pragma once

#include <gtest/gtest.h>

#include "conformance/node_runner.h"
#include "conformance/random.h"
#include "support/test_device.h"

namespace troika {

// A graph of one node whose values are added one by one.
class OneNode {
 public:
  OneNode(const OpDef& op, Attributes attributes) {
    node_.op = &op;
    node_.name = "node";
    node_.attributes = std::move(attributes);
  }
  void add_input(NodeRunner& runner, const TensorType& type, const Array& array) {
    node_.inputs.push_back(graph_.add_value("", type));
    held_.push_back(runner.hold(type, array, nullptr));
  }
  void add_no_input() {
    node_.inputs.push_back(kNoValue);
    held_.emplace_back();
  }
  void add_output(const TensorType& type) { node_.outputs.push_back(graph_.add_value("", type)); }
  std::vector<Array> run(NodeRunner& runner) {
    graph_.add_node(node_);
    const NodeRunner::Result result = runner.run_node(graph_, graph_.nodes()[0], held_);
    std::vector<Array> outputs;
    for (const Held& output : result.outputs) outputs.push_back(runner.read(output));
    return outputs;
  }

 private:
  Graph graph_;
  Node node_;
  std::vector<Held> held_;
};

inline Array random_array(const Shape& shape, Random& random, double offset = 0, double size = 1) {
  Array array(shape);
  for (double& v : array.data) v = offset + size * random.normal();
  return array;
}

// Tests of batch_norm2d's image and channels. C has a dtype and the image's shape.
template <typename C>
class OneNodeTest : public testing::TestWithParam<C> {
 protected:
  void SetUp() override {
    if (is_on_cpu()) GTEST_SKIP() << "CPUs have no such kernels";
  }
  TensorType image() const { return {this->GetParam().dtype, this->GetParam().shape}; }
  TensorType channel() const { return {DType::f32, {this->GetParam().shape[1]}}; }
  TensorType mask() const { return {DType::u8, {this->GetParam().shape.elements() / 8}}; }

  NodeRunner runner_{1};
  Random random_;
};

}  // namespace troika
