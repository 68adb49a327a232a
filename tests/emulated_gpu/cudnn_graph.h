// The graphs that cuDNN is asked to compute: tensors, a convolution or one of its gradients, and
// pointwise operations on the result.
#pragma once

#include "convolution.h"
#include "cudnn_descriptor.h"
#include "elements.h"

namespace emulated_gpu::cudnn {

struct Tensor : Content {
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_TENSOR_DESCRIPTOR; }
  int64_t elements() const;
  int64_t bytes() const;  // from the first element to the end of the last
  bool is_packed() const { return bytes() == elements() * static_cast<int64_t>(troika::size_of(dtype)); }

  int64_t id;
  DType dtype;
  std::vector<int64_t> dims, strides;  // [n, c, h, w], in elements
  int64_t alignment;                   // of its address, in bytes
  bool is_virtual;                     // has no memory of its own
};
using TensorPtr = std::shared_ptr<const Tensor>;

// Returns whether the layout is channels last, the only layout that these engines support.
bool is_nhwc(const Tensor& tensor);

// The settings of a convolution, per spatial axis.
struct Settings : Content {
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR; }
  std::vector<int64_t> before, behind, stride, dilation;  // `before`, `behind`: padding
};

struct PointwiseSettings : Content {
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_POINTWISE_DESCRIPTOR; }
  cudnnPointwiseMode_t mode;
  float lower, upper, slope;  // settings of ReLU
};

struct ConvolutionOperation : Content {
  cudnnBackendDescriptorType_t type() const override { return operation; }
  const TensorPtr& output() const;
  std::vector<TensorPtr> inputs() const;

  cudnnBackendDescriptorType_t operation;
  TensorPtr x, weights, y;  // or their gradients
  ConvolutionSize size;
  bool is_padded_evenly;  // the padding before and after an image is the same
};

struct PointwiseOperation : Content {
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR; }
  std::shared_ptr<const PointwiseSettings> settings;
  TensorPtr x, b, y;  // b: null if the mode has no second input
};

// A convolution, and the sequence of pointwise operations on its result.
struct Graph : Content {
  cudnnBackendDescriptorType_t type() const override { return CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR; }
  std::optional<Value> get(cudnnBackendAttributeName_t name) const override;
  const TensorPtr& output() const { return pointwise.empty() ? convolution->output() : pointwise.back()->y; }

  std::shared_ptr<const ConvolutionOperation> convolution;
  std::vector<std::shared_ptr<const PointwiseOperation>> pointwise;
  std::vector<TensorPtr> inputs;  // those with memory
  int gpu;                        // -1: any
};

// Each makes the content of a descriptor whose attributes are set. Throws Refusal if the attributes
// do not fit each other.
ContentPtr make_tensor(const Descriptor& d);
ContentPtr make_settings(const Descriptor& d);
ContentPtr make_pointwise_settings(const Descriptor& d);
ContentPtr make_convolution(const Descriptor& d);
ContentPtr make_pointwise(const Descriptor& d);
ContentPtr make_graph(const Descriptor& d);

// Computes the graph.
// - `memory`: the address of each tensor that is not virtual, by the tensor's id.
// - `tf32`: round f32 as tensor cores do.
// - `factor`: multiplies every number of the result.
// - `block`: see multiply_add().
void compute(const Graph& graph, const std::map<int64_t, void*>& memory, bool tf32, float factor, int64_t block);

}  // namespace emulated_gpu::cudnn
