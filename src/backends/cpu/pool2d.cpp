// Max and average pooling by oneDNN, in the layout in which the image comes; adaptive pooling by
// own loops.
#include "backends/cpu/kernels.h"
#include "backends/cpu/low_precision.h"
#include "backends/cpu/threads.h"
#include "core/split.h"
#include "ops/window.h"

namespace troika::cpu {
namespace {

PoolSettings settings_of(const Node& node, const Desc& x, const Shape& x_shape, const TensorType& y_type,
                         dnnl::algorithm algorithm) {
  const Shape& y = y_type.shape;
  const Window w = Window::of(node);
  PoolSettings s{algorithm,
                 x,
                 Desc(y.dims(), onednn_type(y_type.dtype), dnnl::memory::format_tag::any),
                 {w.stride[0], w.stride[1]},
                 {w.kernel[0], w.kernel[1]},
                 {w.padding[0], w.padding[1]},
                 {}};
  for (int i = 0; i < 2; ++i)
    s.padding_after.push_back((y[i + 2] - 1) * w.stride[i] + w.kernel[i] - x_shape[i + 2] - w.padding[i]);
  return s;
}

dnnl::algorithm average_algorithm(const Node& node) {
  return node.attributes.flag("count_include_pad") ? dnnl::algorithm::pooling_avg_include_padding
                                                   : dnnl::algorithm::pooling_avg_exclude_padding;
}

KernelChoice forward(const CpuDevice& device, const KernelRequest& request, dnnl::algorithm algorithm) {
  const Node& node = request.node;
  const TensorType &x = request.graph.type(node.inputs[0]), &y = request.graph.type(node.outputs[0]);
  const auto pd = pool_forward(device.engine(), user_scratchpad(),
                               settings_of(node, desc_of(x, request.input_layouts[0]), x.shape, y, algorithm));
  // The workspace says where the maxima stood, in oneDNN's own form.
  return onednn_choice(device, request, pd, {DNNL_ARG_SRC}, {DNNL_ARG_DST, DNNL_ARG_WORKSPACE});
}

// dy is the last input; max pooling has its indices before it.
KernelChoice backward(const CpuDevice& device, const KernelRequest& request, dnnl::algorithm algorithm) {
  const Node& node = request.node;
  const size_t dy_index = node.inputs.size() - 1;
  const TensorType &dy = request.graph.type(node.inputs[dy_index]), &dx = request.graph.type(node.outputs[0]);
  const bool is_max = dy_index == 1;
  // The layout is the forward pass's for max pooling, whose indices are bound to it, else the one
  // in which dy comes.
  const LayoutPtr like = request.input_layouts[0];
  Desc dy_desc, dx_desc;
  if (is_max) {
    // The indices' blocking, carried over to numbers of dy's and dx's sizes.
    const Blocking b = blocking_of(static_cast<const OnednnLayout&>(*like).desc());
    dy_desc = desc_like(b, dy.shape, onednn_type(dy.dtype));
    dx_desc = desc_like(b, dx.shape, onednn_type(dx.dtype));
  } else {
    dy_desc = desc_of(dy, like);
    const auto type = onednn_type(dx.dtype);
    dx_desc = like ? desc_like(blocking_of(dy_desc), dx.shape, type) : plain_desc(dx.shape, type);
  }
  PoolSettings settings = settings_of(node, dx_desc, dx.shape, dy, algorithm);
  settings.y = dy_desc;
  const auto hint = pool_forward(device.engine(), user_scratchpad(), settings);
  const auto pd = pool_backward(device.engine(), user_scratchpad(), settings, hint);
  return onednn_choice(
      device, request, pd,
      is_max ? std::vector<int>{DNNL_ARG_WORKSPACE, DNNL_ARG_DIFF_DST} : std::vector<int>{DNNL_ARG_DIFF_DST},
      {DNNL_ARG_DIFF_SRC});
}

bool is_nan(float x) { return x != x; }
bool is_nan(uint16_t bf16) { return (bf16 & 0x7fff) > 0x7f80; }

TROIKA_VECTORIZE bool has_nan(const float* x, int64_t n) {
  int found = 0;
  for (int64_t i = 0; i < n; ++i) found |= is_nan(x[i]);
  return found != 0;
}

TROIKA_VECTORIZE bool has_nan(const uint16_t* bf16, int64_t n) {
  int found = 0;
  for (int64_t i = 0; i < n; ++i) found |= is_nan(bf16[i]);
  return found != 0;
}

// oneDNN's max pooling takes a number if the maximum so far is less, which is never true of NaN. A
// NaN in the image would be lost, and with it the sign that training has failed. After the
// primitive, windows that cover a NaN become NaN, as in PyTorch. Images without NaN, the usual
// case, are only scanned. Number: float, or the bits of bf16.
template <typename Number>
class MaxPoolKernel : public Kernel {
 public:
  MaxPoolKernel(std::unique_ptr<Kernel> pool, const Window& window, const ImageView& view, const Shape& x,
                const Shape& y)
      : pool_(std::move(pool)), window_(window), view_(view), x_shape_(x), y_shape_(y) {}
  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    pool_->bind(inputs, outputs, scratch);
    x_ = static_cast<const Number*>(inputs[0]);
    y_ = static_cast<Number*>(outputs[0]);
  }
  void run() override {
    pool_->run();
    constexpr int64_t kGrain = 16384;  // numbers per thread at least
    const int64_t numbers = view_.spatial * view_.block;
    parallel_for(view_.n * view_.c_blocks, kGrain / numbers, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane)
        if (has_nan(x_ + plane * numbers, numbers)) spread_nan(plane);
    });
  }

 private:
  // Plane [h, w][block] of x -> [out_h, out_w][block] of y.
  void spread_nan(int64_t plane) {
    const int64_t h = x_shape_[2], w = x_shape_[3], block = view_.block;
    const auto rows_of = [&](int axis, int64_t i) {
      const int64_t begin = i * window_.stride[axis] - window_.padding[axis];
      return Range{std::max<int64_t>(begin, 0), std::min(begin + window_.kernel[axis], x_shape_[axis + 2])};
    };
    Number* to = y_ + plane * y_shape_[2] * y_shape_[3] * block;
    for (int64_t i = 0; i < y_shape_[2]; ++i)
      for (int64_t j = 0; j < y_shape_[3]; ++j, to += block) {
        const Range rows = rows_of(0, i), columns = rows_of(1, j);
        for (int64_t r = rows.begin; r < rows.end; ++r)
          for (int64_t c = columns.begin; c < columns.end; ++c) {
            const Number* from = x_ + ((plane * h + r) * w + c) * block;
            for (int64_t b = 0; b < block; ++b)
              if (is_nan(from[b])) to[b] = from[b];
          }
      }
  }

  const std::unique_ptr<Kernel> pool_;
  const Window window_;
  const ImageView view_;  // of x; y has its blocks
  const Shape x_shape_, y_shape_;
  const Number* x_ = nullptr;
  Number* y_ = nullptr;
};

// The gradient of a pooling, and then that of the ReLU before it, from its output, the last input.
class CutKernel : public Kernel {
 public:
  CutKernel(std::unique_ptr<Kernel> pool, DType dtype, int64_t numbers)
      : pool_(std::move(pool)), dtype_(dtype), numbers_(numbers) {}
  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    pool_->bind(inputs.first(inputs.size() - 1), outputs, scratch);
    y_ = inputs.back();
    dx_ = outputs[0];
  }
  void run() override {
    pool_->run();
    relu_gradient(dtype_, y_, dx_, dx_, numbers_);
  }

 private:
  const std::unique_ptr<Kernel> pool_;
  const DType dtype_;
  const int64_t numbers_;
  const void* y_ = nullptr;
  void* dx_ = nullptr;
};

// Chooses the kernel of a pooling's gradient with `inputs` inputs, or one with a ReLU's gradient
// after it.
template <typename Choose>
KernelChoice choose_gradient(const KernelRequest& request, size_t inputs, Choose choose) {
  if (request.node.inputs.size() == inputs) return choose(request);
  Node node = request.node;
  node.inputs.pop_back();
  KernelChoice choice = choose({request.graph, node, {request.input_layouts.begin(), request.input_layouts.end() - 1}});
  const LayoutPtr& layout = choice.output_layouts[0];  // y is wanted in that of dx
  const TensorType& dx = request.graph.type(request.node.outputs[0]);
  const auto numbers = static_cast<int64_t>(bytes_in(dx, layout) / size_of(dx.dtype));
  choice.kernel = std::make_unique<CutKernel>(std::move(choice.kernel), dx.dtype, numbers);
  choice.input_layouts.push_back(layout);
  choice.may_share.clear();
  return choice;
}

// The gradient in f32 or bf16. oneDNN adds up what a number gets from several windows, and rounds
// to bf16 at each addition. So windows that overlap go by way of f32.
KernelChoice select_gradient(const CpuDevice& device, const KernelRequest& request, size_t inputs,
                             dnnl::algorithm algorithm, SelectKernel select) {
  const Window w = Window::of(request.node);
  const bool overlaps = w.stride[0] < w.kernel[0] || w.stride[1] < w.kernel[1];
  if (overlaps && has_low_operand(request)) return select_widened(device, request, select);
  return choose_gradient(request, inputs, [&](const KernelRequest& r) { return backward(device, r, algorithm); });
}

// Window i of `out` over `in`, as PyTorch cuts it.
struct Cut {
  int64_t begin, end;
  static Cut of(int64_t i, int64_t in, int64_t out) { return {i * in / out, ((i + 1) * in + out - 1) / out}; }
};

}  // namespace

KernelChoice select_max_pool2d(const CpuDevice& device, const KernelRequest& request) {
  const Node& node = request.node;
  const TensorType &x = request.graph.type(node.inputs[0]), &y = request.graph.type(node.outputs[0]);
  KernelRequest viewed = request;
  if (!image_view(x, in_f32(viewed.input_layouts[0]))) viewed.input_layouts[0] = nullptr;
  KernelChoice choice = forward(device, viewed, dnnl::algorithm::pooling_max);
  const ImageView view = image_view(x, in_f32(choice.input_layouts[0])).value();
  const auto spread = [&]<typename Number>() {
    choice.kernel =
        std::make_unique<MaxPoolKernel<Number>>(std::move(choice.kernel), Window::of(node), view, x.shape, y.shape);
  };
  if (x.dtype == DType::f32)
    spread.template operator()<float>();
  else
    spread.template operator()<uint16_t>();
  return choice;
}
KernelChoice select_max_pool2d_gradient(const CpuDevice& device, const KernelRequest& request) {
  return select_gradient(device, request, 2, dnnl::algorithm::pooling_max, select_max_pool2d_gradient);
}
KernelChoice select_avg_pool2d(const CpuDevice& device, const KernelRequest& request) {
  return forward(device, request, average_algorithm(request.node));
}
KernelChoice select_avg_pool2d_gradient(const CpuDevice& device, const KernelRequest& request) {
  return select_gradient(device, request, 1, average_algorithm(request.node), select_avg_pool2d_gradient);
}

// x [n][c_blocks][h, w][block] -> y with the same blocks.
KernelChoice select_adaptive_avg_pool2d(const CpuDevice&, const KernelRequest& request) {
  const TensorType &x = request.graph.type(request.node.inputs[0]), &y = request.graph.type(request.node.outputs[0]);
  LayoutPtr x_layout = request.input_layouts[0];
  if (!image_view(x, x_layout)) x_layout = nullptr;
  const ImageView view = *image_view(x, x_layout);
  const LayoutPtr y_layout = like_image(x, x_layout, y.shape);
  const int64_t h = x.shape[2], w = x.shape[3], out_h = y.shape[2], out_w = y.shape[3], block = view.block;
  auto body = [=](void* const* in, void* const* out, void*) {
    const float* source = static_cast<const float*>(in[0]);
    float* target = static_cast<float*>(out[0]);
    parallel_for(view.n * view.c_blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image)
        for (int64_t i = 0; i < out_h; ++i)
          for (int64_t j = 0; j < out_w; ++j) {
            const Cut rows = Cut::of(i, h, out_h), columns = Cut::of(j, w, out_w);
            const float scale = 1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
            float* to = target + ((image * out_h + i) * out_w + j) * block;
            std::fill(to, to + block, 0.0f);
            for (int64_t r = rows.begin; r < rows.end; ++r)
              for (int64_t c = columns.begin; c < columns.end; ++c) {
                const float* from = source + ((image * h + r) * w + c) * block;
                for (int64_t b = 0; b < block; ++b) to[b] += from[b];
              }
            for (int64_t b = 0; b < block; ++b) to[b] *= scale;
          }
    });
  };
  KernelChoice choice = uniform_choice(request, x_layout, "cpu:adaptive_avg_pool2d", make_kernel(body));
  choice.output_layouts = {y_layout};
  return choice;
}

namespace {

KernelChoice adaptive_backward(const KernelRequest& request) {
  const TensorType &dy = request.graph.type(request.node.inputs[0]), &dx = request.graph.type(request.node.outputs[0]);
  LayoutPtr dy_layout = request.input_layouts[0];
  if (!image_view(dy, dy_layout)) dy_layout = nullptr;
  const ImageView view = *image_view(dy, dy_layout);
  const LayoutPtr dx_layout = like_image(dy, dy_layout, dx.shape);
  const int64_t h = dx.shape[2], w = dx.shape[3], out_h = dy.shape[2], out_w = dy.shape[3], block = view.block;
  auto body = [=](void* const* in, void* const* out, void*) {
    const float* source = static_cast<const float*>(in[0]);
    float* target = static_cast<float*>(out[0]);
    parallel_for(view.n * view.c_blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image) {
        std::fill(target + image * h * w * block, target + (image + 1) * h * w * block, 0.0f);
        for (int64_t i = 0; i < out_h; ++i)
          for (int64_t j = 0; j < out_w; ++j) {
            const Cut rows = Cut::of(i, h, out_h), columns = Cut::of(j, w, out_w);
            const float scale = 1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
            const float* from = source + ((image * out_h + i) * out_w + j) * block;
            for (int64_t r = rows.begin; r < rows.end; ++r)
              for (int64_t c = columns.begin; c < columns.end; ++c) {
                float* to = target + ((image * h + r) * w + c) * block;
                for (int64_t b = 0; b < block; ++b) to[b] += scale * from[b];
              }
          }
      }
    });
  };
  KernelChoice choice = uniform_choice(request, dy_layout, "cpu:adaptive_avg_pool2d_gradient", make_kernel(body));
  choice.output_layouts = {dx_layout};
  return choice;
}

}  // namespace

KernelChoice select_adaptive_avg_pool2d_gradient(const CpuDevice&, const KernelRequest& request) {
  return choose_gradient(request, 1, adaptive_backward);
}

}  // namespace troika::cpu
