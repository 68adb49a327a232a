// Tensors and operations of convolutions for cuDNN.
#include "backends/cuda/convolution_graph.h"

#define CUDNN_FRONTEND_SKIP_JSON_LIB
#include <cudnn_frontend.h>

#include "core/error.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;
using Dims = std::vector<int64_t>;

constexpr int64_t kAlignment = 16;  // of addresses, in bytes; allocations have 64

fe::DataType_t dnn_type_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return fe::DataType_t::FLOAT;
    case DType::bf16: return fe::DataType_t::BFLOAT16;
    case DType::f16: return fe::DataType_t::HALF;
    default: throw Error(Status::internal, text("cuDNN was asked for a convolution of ", name_of(dtype)));
  }
}

// Dimensions as cuDNN counts them, [n, c, h, w], of memory stored as [n, h, w, c].
struct Image {
  Dims dims, strides;
};

Image dense(int64_t n, int64_t c, int64_t h, int64_t w) { return {{n, c, h, w}, {h * w * c, 1, w * c, c}}; }

Image y_of(const Convolution& v) { return dense(v.n, v.k, v.y_size[0], v.y_size[1]); }
Image weights_of(const Convolution& v) { return dense(v.k, v.c / v.groups, v.kernel[0], v.kernel[1]); }

// Returns the part of x that y covers, within the whole of x.
Image x_of(const Convolution& v) {
  Image x = dense(v.n, v.c, v.x_size[0], v.x_size[1]);
  x.dims[2] = reach_of(v, 0)->size;
  x.dims[3] = reach_of(v, 1)->size;
  return x;
}

std::shared_ptr<Tensor_attributes> add_tensor(Graph& graph, int64_t id, DType dtype, const Image& image) {
  return graph.tensor(Tensor_attributes()
                          .set_uid(id)
                          .set_data_type(dnn_type_of(dtype))
                          .set_alignment(kAlignment)
                          .set_dim(image.dims)
                          .set_stride(image.strides));
}

void make_output(const std::shared_ptr<Tensor_attributes>& tensor, int64_t id, DType dtype, const Image& image) {
  tensor->set_output(true)
      .set_uid(id)
      .set_data_type(dnn_type_of(dtype))
      .set_alignment(kAlignment)
      .set_dim(image.dims)
      .set_stride(image.strides);
}

template <typename Operation>
Operation operation_of(const Convolution& v) {
  return Operation()
      .set_pre_padding({v.padding[0], v.padding[1]})
      .set_post_padding({reach_of(v, 0)->padding, reach_of(v, 1)->padding})
      .set_stride({v.stride[0], v.stride[1]})
      .set_dilation({v.dilation[0], v.dilation[1]});
}

void compute_in_f32(Graph& graph) {
  graph.set_compute_data_type(fe::DataType_t::FLOAT).set_intermediate_data_type(fe::DataType_t::FLOAT);
}

}  // namespace

DescribeGraph forward_graph(const Convolution& v, DType dtype, bool bias) {
  return [=](Graph& graph) {
    compute_in_f32(graph);
    const auto x = add_tensor(graph, 1, dtype, x_of(v)), weights = add_tensor(graph, 2, dtype, weights_of(v));
    auto y = graph.conv_fprop(x, weights, operation_of<fe::graph::Conv_fprop_attributes>(v));
    if (bias) {
      y->set_data_type(fe::DataType_t::FLOAT).set_dim(y_of(v).dims).set_stride(y_of(v).strides);
      const auto b = add_tensor(graph, 4, DType::f32, dense(1, v.k, 1, 1));
      y = graph.pointwise(y, b, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
    }
    make_output(y, 3, dtype, y_of(v));
  };
}

DescribeGraph input_gradient_graph(const Convolution& v, DType dtype) {
  return [=](Graph& graph) {
    compute_in_f32(graph);
    const auto weights = add_tensor(graph, 1, dtype, weights_of(v)), dy = add_tensor(graph, 2, dtype, y_of(v));
    const auto dx = graph.conv_dgrad(dy, weights, operation_of<fe::graph::Conv_dgrad_attributes>(v));
    make_output(dx, 3, dtype, x_of(v));
  };
}

DescribeGraph weight_gradient_graph(const Convolution& v, DType dtype, DType gradient, int64_t id) {
  return [=](Graph& graph) {
    compute_in_f32(graph);
    const auto x = add_tensor(graph, 1, dtype, x_of(v)), dy = add_tensor(graph, 2, dtype, y_of(v));
    const auto dw = graph.conv_wgrad(dy, x, operation_of<fe::graph::Conv_wgrad_attributes>(v));
    make_output(dw, id, gradient, weights_of(v));
  };
}

}  // namespace troika::cuda
