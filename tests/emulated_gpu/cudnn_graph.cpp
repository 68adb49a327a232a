// Checks of the graphs, and their computation.
#include "cudnn_graph.h"

#include <algorithm>
#include <limits>

#include "core/text.h"
#include "cudnn_engine.h"

namespace emulated_gpu::cudnn {
namespace {

using troika::text;

constexpr int64_t kDims = 4, kSpatial = 2;  // only images

DType dtype_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_FLOAT: return DType::f32;
    case CUDNN_DATA_BFLOAT16: return DType::bf16;
    case CUDNN_DATA_HALF: return DType::f16;
    default: throw Refusal{CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, text("data type ", type)};
  }
}

void require_f32(const Descriptor& d, cudnnBackendAttributeName_t name) {
  require(d.one<cudnnDataType_t>(name) == CUDNN_DATA_FLOAT, CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE,
          "only f32 is computed in");
}

void require_factor(const Descriptor& d, cudnnBackendAttributeName_t name, double factor) {
  require(!d.has(name) || d.number(name) == factor, CUDNN_STATUS_NOT_SUPPORTED,
          text("attribute ", name, " is not ", factor));
}

// Calls work(place in the tensor, place in a dense tensor [n, h, w, c], c) for each run of
// channels.
template <typename Work>
void for_each_pixel(const Tensor& t, Work&& work) {
  const int64_t c = t.dims[1], h = t.dims[2], w = t.dims[3];
  if (t.is_packed()) return work(0, 0, t.elements());
  for (int64_t image = 0; image < t.dims[0]; ++image)
    for (int64_t i = 0; i < h; ++i)
      for (int64_t j = 0; j < w; ++j)
        work(image * t.strides[0] + i * t.strides[2] + j * t.strides[3], ((image * h + i) * w + j) * c, c);
}

std::vector<float> read(const Tensor& t, const std::map<int64_t, void*>& memory) {
  std::vector<float> values(static_cast<size_t>(t.elements()));
  const auto* from = static_cast<const std::byte*>(memory.at(t.id));
  for_each_pixel(t, [&](int64_t place, int64_t dense, int64_t count) {
    load(t.dtype, from + place * static_cast<int64_t>(size_of(t.dtype)), count, &values[static_cast<size_t>(dense)]);
  });
  return values;
}

void write(const Tensor& t, const std::vector<float>& values, const std::map<int64_t, void*>& memory) {
  auto* to = static_cast<std::byte*>(memory.at(t.id));
  for_each_pixel(t, [&](int64_t place, int64_t dense, int64_t count) {
    store(t.dtype, &values[static_cast<size_t>(dense)], count, to + place * static_cast<int64_t>(size_of(t.dtype)));
  });
}

// Replaces the values [n, h, w, c] of the operation's x by those of its y.
void apply(const PointwiseOperation& op, const std::map<int64_t, void*>& memory, std::vector<float>& values) {
  const PointwiseSettings& s = *op.settings;
  if (s.mode == CUDNN_POINTWISE_ADD) {
    const std::vector<float> b = read(*op.b, memory);
    const std::vector<int64_t>&y = op.y->dims, &of = op.b->dims;
    size_t next = 0;
    const auto at = [&](int axis, int64_t i) { return of[axis] == 1 ? 0 : i; };
    for (int64_t n = 0; n < y[0]; ++n)
      for (int64_t h = 0; h < y[2]; ++h)
        for (int64_t w = 0; w < y[3]; ++w)
          for (int64_t c = 0; c < y[1]; ++c)
            values[next++] +=
                b[static_cast<size_t>(((at(0, n) * of[2] + at(2, h)) * of[3] + at(3, w)) * of[1] + at(1, c))];
  } else if (s.mode == CUDNN_POINTWISE_RELU_FWD) {
    for (float& v : values) v = v > s.upper ? s.upper : v < s.lower ? s.lower + s.slope * (v - s.lower) : v;
  }
}

}  // namespace

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

int64_t Tensor::bytes() const {
  int64_t last = 0;
  for (size_t i = 0; i < dims.size(); ++i) last += (dims[i] - 1) * strides[i];
  return (last + 1) * static_cast<int64_t>(size_of(dtype));
}

bool is_nhwc(const Tensor& t) {
  if (t.dims.size() != kDims) return false;
  // The stride of an axis of size 1 has no meaning.
  int64_t least = 1;
  for (int axis : {1, 3, 2, 0}) {
    if (t.dims[axis] == 1) continue;
    if (axis == 1 ? t.strides[axis] != 1 : t.strides[axis] < least) return false;
    least = t.strides[axis] * t.dims[axis];
  }
  return true;
}

ContentPtr make_tensor(const Descriptor& d) {
  auto t = std::make_shared<Tensor>();
  t->id = d.one<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
  t->dtype = dtype_of(d.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE));
  t->dims = d.all<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  t->strides = d.all<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  t->alignment = d.one<int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  t->is_virtual = d.one_or(CUDNN_ATTR_TENSOR_IS_VIRTUAL, false);
  require(t->dims.size() == t->strides.size(), CUDNN_STATUS_BAD_PARAM,
          text("tensor ", t->id, ": as many strides as dims"));
  for (size_t i = 0; i < t->dims.size(); ++i)
    require(t->dims[i] > 0 && t->strides[i] > 0, CUDNN_STATUS_BAD_PARAM,
            text("tensor ", t->id, ": dim ", t->dims[i], " of stride ", t->strides[i]));
  const int64_t a = t->alignment;
  require(a > 0 && (a & (a - 1)) == 0 && a % static_cast<int64_t>(size_of(t->dtype)) == 0, CUDNN_STATUS_BAD_PARAM,
          text("tensor ", t->id, ": an alignment of ", a));
  require(!d.one_or(CUDNN_ATTR_TENSOR_IS_BY_VALUE, false), CUDNN_STATUS_NOT_SUPPORTED, "tensors by value");
  return t;
}

ContentPtr make_settings(const Descriptor& d) {
  require_f32(d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
  require(d.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) == CUDNN_CROSS_CORRELATION,
          CUDNN_STATUS_NOT_SUPPORTED, "convolutions that flip their weights");
  const int64_t spatial = d.one<int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  require(spatial == kSpatial, CUDNN_STATUS_NOT_SUPPORTED, text("convolutions of ", spatial, " dimensions"));
  auto s = std::make_shared<Settings>();
  const auto take = [&](cudnnBackendAttributeName_t name, int64_t least) {
    auto values = d.all<int64_t>(name);
    require(static_cast<int64_t>(values.size()) == spatial, CUDNN_STATUS_BAD_PARAM,
            text("attribute ", name, " has ", values.size(), " elements for ", spatial, " axes"));
    for (int64_t v : values) require(v >= least, CUDNN_STATUS_BAD_PARAM, text("attribute ", name, " is ", v));
    return values;
  };
  s->before = take(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0);
  s->behind = take(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0);
  s->stride = take(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1);
  s->dilation = take(CUDNN_ATTR_CONVOLUTION_DILATIONS, 1);
  return s;
}

ContentPtr make_pointwise_settings(const Descriptor& d) {
  require_f32(d, CUDNN_ATTR_POINTWISE_MATH_PREC);
  auto s = std::make_shared<PointwiseSettings>();
  s->mode = d.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  require(s->mode == CUDNN_POINTWISE_ADD || s->mode == CUDNN_POINTWISE_IDENTITY || s->mode == CUDNN_POINTWISE_RELU_FWD,
          CUDNN_STATUS_NOT_SUPPORTED, text("pointwise mode ", s->mode));
  s->lower = static_cast<float>(d.one_or(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0.0));
  s->upper = static_cast<float>(
      d.one_or(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, static_cast<double>(std::numeric_limits<float>::max())));
  s->slope = static_cast<float>(d.one_or(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, 0.0));
  return s;
}

const TensorPtr& ConvolutionOperation::output() const {
  switch (operation) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR: return y;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR: return x;
    default: return weights;
  }
}

std::vector<TensorPtr> ConvolutionOperation::inputs() const {
  std::vector<TensorPtr> tensors;
  for (const TensorPtr& t : {x, weights, y})
    if (t != output()) tensors.push_back(t);
  return tensors;
}

ContentPtr make_convolution(const Descriptor& d) {
  struct Names {
    cudnnBackendAttributeName_t x, weights, y, settings, alpha, beta;
  };
  const Names names =
      d.type() == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
          ? Names{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,     CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA}
      : d.type() == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
          ? Names{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA}
          : Names{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                  CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  auto op = std::make_shared<ConvolutionOperation>();
  op->operation = d.type();
  op->x = d.content_of<Tensor>(names.x);
  op->weights = d.content_of<Tensor>(names.weights);
  op->y = d.content_of<Tensor>(names.y);
  const auto settings = d.content_of<Settings>(names.settings);
  require_factor(d, names.alpha, 1);
  require_factor(d, names.beta, 0);
  for (const TensorPtr& t : {op->x, op->weights, op->y})
    require(t->dims.size() == kDims, CUDNN_STATUS_BAD_PARAM, text("tensor ", t->id, ": not of 4 dimensions"));
  const std::vector<int64_t>&x = op->x->dims, &w = op->weights->dims, &y = op->y->dims;
  const auto fits = [](bool fact, const std::string& what) {
    require(fact, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a convolution's tensors: " + what);
  };
  fits(x[0] == y[0], text("batches of ", x[0], " and ", y[0]));
  fits(w[0] == y[1], text(w[0], " filters for ", y[1], " channels"));
  fits(x[1] % w[1] == 0 && w[0] % (x[1] / w[1]) == 0, text(x[1], " channels, weights [", w[0], ", ", w[1], "]"));
  op->size = {.n = x[0],
              .c = x[1],
              .k = w[0],
              .groups = x[1] / w[1],
              .x = {},
              .y = {},
              .kernel = {},
              .stride = {},
              .padding = {},
              .dilation = {}};
  op->is_padded_evenly = settings->before == settings->behind;
  for (size_t i = 0; i < kSpatial; ++i) {
    op->size.x[i] = x[i + 2];
    op->size.y[i] = y[i + 2];
    op->size.kernel[i] = w[i + 2];
    op->size.stride[i] = settings->stride[i];
    op->size.padding[i] = settings->before[i];
    op->size.dilation[i] = settings->dilation[i];
    const int64_t room =
        x[i + 2] + settings->before[i] + settings->behind[i] - settings->dilation[i] * (w[i + 2] - 1) - 1;
    fits(room >= 0 && room / settings->stride[i] + 1 == y[i + 2],
         text("axis ", i, ": ", x[i + 2], " padded by ", settings->before[i], " and ", settings->behind[i],
              " do not make ", y[i + 2]));
  }
  for (const TensorPtr& t : op->inputs())
    require(!t->is_virtual, CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, text("tensor ", t->id, " is virtual"));
  return op;
}

ContentPtr make_pointwise(const Descriptor& d) {
  auto op = std::make_shared<PointwiseOperation>();
  op->settings = d.content_of<PointwiseSettings>(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  op->x = d.content_of<Tensor>(CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  op->y = d.content_of<Tensor>(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  require_factor(d, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1);
  require_factor(d, CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, 1);
  const bool takes_b = op->settings->mode == CUDNN_POINTWISE_ADD;
  require(takes_b == d.has(CUDNN_ATTR_OPERATION_POINTWISE_BDESC), CUDNN_STATUS_BAD_PARAM,
          "a pointwise operation with too many inputs, or too few");
  require(op->x->dims == op->y->dims, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH,
          "a pointwise operation between other shapes");
  if (!takes_b) return op;
  op->b = d.content_of<Tensor>(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  bool fits = op->b->dims.size() == op->y->dims.size();
  for (size_t i = 0; fits && i < op->y->dims.size(); ++i)
    fits = op->b->dims[i] == 1 || op->b->dims[i] == op->y->dims[i];
  require(fits, CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "the shapes of the operands do not fit");
  return op;
}

ContentPtr make_graph(const Descriptor& d) {
  auto g = std::make_shared<Graph>();
  g->gpu = d.has(CUDNN_ATTR_OPERATIONGRAPH_HANDLE) ? d.one<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE)->gpu : -1;
  const auto operations = d.contents<Content>(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  const auto refuse_pattern = [](const std::string& why) {
    throw Refusal{CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN, "a graph " + why};
  };
  g->convolution = std::dynamic_pointer_cast<const ConvolutionOperation>(operations[0]);
  if (!g->convolution) refuse_pattern("that does not begin with a convolution");
  g->inputs = g->convolution->inputs();
  for (size_t i = 1; i < operations.size(); ++i) {
    const auto op = std::dynamic_pointer_cast<const PointwiseOperation>(operations[i]);
    if (!op) refuse_pattern("whose convolution is followed by an operation that is not pointwise");
    if (op->x != g->output() || !op->x->is_virtual) refuse_pattern("whose operations do not hand on a virtual tensor");
    g->pointwise.push_back(op);
    if (!op->b) continue;
    if (op->b->is_virtual) refuse_pattern("with an input that is virtual");
    g->inputs.push_back(op->b);
  }
  if (g->output()->is_virtual) refuse_pattern("whose result is virtual");
  std::map<int64_t, TensorPtr> tensors{{g->output()->id, g->output()}};
  for (const TensorPtr& t : g->inputs)
    require(tensors.emplace(t->id, t).first->second == t, CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES,
            text("two tensors of the id ", t->id));
  return g;
}

std::optional<Value> Graph::get(cudnnBackendAttributeName_t name) const {
  if (name != CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT) return std::nullopt;
  return Value::of(CUDNN_TYPE_INT64, std::vector<int64_t>{engine_count()});
}

void compute(const Graph& graph, const std::map<int64_t, void*>& memory, bool tf32, float factor, int64_t block) {
  const ConvolutionOperation& op = *graph.convolution;
  const auto take = [&](const Tensor& t) {
    std::vector<float> values = read(t, memory);
    if (tf32 && t.dtype == DType::f32) round_to_tf32(values.data(), static_cast<int64_t>(values.size()));
    return values;
  };
  std::vector<float> result;
  switch (op.operation) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      result = convolve(op.size, take(*op.x), take(*op.weights), block);
      break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      result = input_gradient(op.size, take(*op.weights), take(*op.y), block);
      break;
    default: result = weight_gradient(op.size, take(*op.x), take(*op.y), block);
  }
  for (float& v : result) v = rounded(op.output()->dtype, v * factor);
  for (const auto& next : graph.pointwise) {
    apply(*next, memory, result);
    for (float& v : result) v = rounded(next->y->dtype, v);
  }
  write(*graph.output(), result, memory);
}

}  // namespace emulated_gpu::cudnn
