// The team copies the windows of a piece of the samples, unless the image has them, and multiplies.
#include "backends/cpu/windows_conv2d.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/image_windows.h"
#include "backends/cpu/threads.h"
#include "core/float16.h"
#include "device/scratch.h"
#include "ops/op_def.h"

namespace troika::cpu {
namespace {

constexpr auto kBf16 = dnnl::memory::data_type::bf16;

Desc row_major(int64_t rows, int64_t columns, dnnl::memory::data_type type = kBf16) {
  return Desc({rows, columns}, type, Dims{columns, 1});
}
Desc column_major(int64_t rows, int64_t columns) { return Desc({rows, columns}, kBf16, Dims{1, rows}); }

// Steps, one after the other, which share the scratch of their windows and of their products.
class WindowsKernel : public Kernel {
 public:
  size_t scratch_bytes() const { return scratch_.bytes(); }

  void run() override {
    begin();
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      if (!step.windows.is_image()) step.windows.copy(image_, step.samples, scratch_at<Bf16Bits>(windows_));
      if (step.product) step.product->run();
      end(i);
    }
  }

 protected:
  // Inputs of a product are its matrices and the bias; a product may be absent.
  struct Step {
    ImageWindows windows;
    Range samples;
    std::unique_ptr<OnednnKernel> product;
  };

  virtual void begin() {}
  virtual void end(size_t /*step*/) {}

  // y = a b + bias, or adds a b to y.
  std::unique_ptr<OnednnKernel> product(const CpuDevice& device, const Desc& a, const Desc& b, const Desc& y,
                                        const Desc& bias = {}, bool adds = false) {
    dnnl::primitive_attr attr = user_scratchpad();
    if (adds) {
      dnnl::post_ops sum;
      sum.append_sum(1.0f);
      attr.set_post_ops(sum);
    }
    const auto pd = matmul_forward(device.engine(), attr, a, b, y, bias);
    product_bytes_ = std::max(product_bytes_, pd.scratchpad_desc().get_size());
    using Argument = OnednnKernel::Argument;
    std::vector<Argument> arguments = {{DNNL_ARG_SRC, a, Argument::input, 0},
                                       {DNNL_ARG_WEIGHTS, b, Argument::input, 1},
                                       {DNNL_ARG_DST, y, Argument::output, 0}};
    if (!is_empty(bias)) arguments.push_back({DNNL_ARG_BIAS, bias, Argument::input, 2});
    return std::make_unique<OnednnKernel>(device, dnnl::primitive(pd), pd.scratchpad_desc(), arguments);
  }
  void append(Step step) {
    const ImageWindows& w = step.windows;
    if (!w.is_image()) window_elements_ = std::max(window_elements_, step.samples.size() * w.pixels() * w.length());
    steps_.push_back(std::move(step));
  }
  // Follows the last step. A kernel may take more scratch afterwards.
  void take_scratch_of_steps() {
    windows_ = take_bf16(window_elements_);
    products_ = scratch_.take(product_bytes_);
  }
  size_t take_bf16(int64_t elements) { return scratch_.take(static_cast<size_t>(elements) * sizeof(Bf16Bits)); }
  template <typename T>
  T* scratch_at(size_t offset) const {
    return reinterpret_cast<T*>(memory_ + offset);
  }

  void bind_image(void* image, void* scratch) {
    image_ = static_cast<Bf16Bits*>(image);
    memory_ = static_cast<std::byte*>(scratch);
  }
  Bf16Bits* windows_of(const Step& step) const {
    const ImageWindows& w = step.windows;
    return w.is_image() ? image_ + step.samples.begin * w.height * w.width * w.channels
                        : scratch_at<Bf16Bits>(windows_);
  }
  void* product_scratch() const { return memory_ + products_; }

  std::vector<Step> steps_;
  ScratchLedger scratch_{kScratchAlignment};

 private:
  int64_t window_elements_ = 0;  // of the largest step
  size_t product_bytes_ = 0, windows_ = 0, products_ = 0;
  Bf16Bits* image_ = nullptr;
  std::byte* memory_ = nullptr;
};

class WindowsForward : public WindowsKernel {
 public:
  WindowsForward(const CpuDevice& device, const ImageWindows& windows, const Shape& y, bool bias, bool relu)
      : sample_(y[1] * y[2] * y[3]) {
    const int64_t k = y[1];
    for (const Range& samples : windows.pieces(y[0])) {
      const Desc result = row_major(samples.size() * windows.pixels(), k);
      auto kernel = product(device, row_major(samples.size() * windows.pixels(), windows.length()),
                            column_major(windows.length(), k), result, bias ? plain_desc({1, k}) : Desc());
      if (relu) kernel->append_relu(result.get_size(), DType::bf16);
      append({windows, samples, std::move(kernel)});
    }
    take_scratch_of_steps();
  }

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    bind_image(inputs[0], scratch);
    auto* const y = static_cast<Bf16Bits*>(outputs[0]);
    for (const Step& step : steps_)
      step.product->bind(std::array<void*, 3>{windows_of(step), inputs[1], inputs.size() > 2 ? inputs[2] : nullptr},
                         std::array<void*, 1>{y + step.samples.begin * sample_}, product_scratch());
  }

 private:
  const int64_t sample_;  // elements of y
};

// Adds the rows of an image [pixels, k] to sums [k].
TROIKA_VECTORIZE void add_pixels(const Bf16Bits* image, int64_t pixels, int64_t k, float* sums) {
  for (int64_t pixel = 0; pixel < pixels; ++pixel)
    for (int64_t c = 0; c < k; ++c) sums[c] += float_of_bf16(image[pixel * k + c]);
}

class WindowsWeightGradient : public WindowsKernel {
 public:
  WindowsWeightGradient(const CpuDevice& device, const ImageWindows& windows, const Shape& dy, bool bias)
      : samples_(dy[0]), pixels_(dy[2] * dy[3]), k_(dy[1]) {
    for (const Range& samples : windows.pieces(samples_)) {
      const int64_t pixels = samples.size() * pixels_;
      append({windows, samples,
              product(device, column_major(k_, pixels), row_major(pixels, windows.length()),
                      row_major(k_, windows.length(), dnnl::memory::data_type::f32), Desc(), samples.begin > 0)});
    }
    take_scratch_of_steps();
    if (bias) sums_ = scratch_.take_floats(samples_ * k_);
  }

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    bind_image(inputs[0], scratch);
    dy_ = static_cast<Bf16Bits*>(inputs[1]);
    for (const Step& step : steps_)
      step.product->bind(std::array<void*, 2>{dy_ + step.samples.begin * pixels_ * k_, windows_of(step)}, outputs,
                         product_scratch());
    if (outputs.size() > 1) dbias_ = static_cast<float*>(outputs[1]);
  }

 private:
  // The bias's gradient: sums of each sample, then over all samples.
  void begin() override {
    if (!dbias_) return;
    auto* const sums = scratch_at<float>(sums_);
    parallel_for(samples_, 1, [&](int64_t begin, int64_t end) {
      std::fill(sums + begin * k_, sums + end * k_, 0.0f);
      for (int64_t n = begin; n < end; ++n) add_pixels(dy_ + n * pixels_ * k_, pixels_, k_, sums + n * k_);
    });
    for (int64_t c = 0; c < k_; ++c) {
      double sum = 0;
      for (int64_t n = 0; n < samples_; ++n) sum += static_cast<double>(sums[n * k_ + c]);
      dbias_[c] = static_cast<float>(sum);
    }
  }

  const int64_t samples_, pixels_, k_;  // of dy
  size_t sums_ = 0;                     // in scratch: [samples, k]
  Bf16Bits* dy_ = nullptr;
  float* dbias_ = nullptr;  // or none
};

// With a stride, weights [taps of a part, k][c] and results [pixels of a step, c] are in scratch.
class WindowsInputGradient : public WindowsKernel {
 public:
  WindowsInputGradient(const CpuDevice& device, const Window& window, const Shape& dx, const Shape& dy)
      : parts_(parts_of_dx(window, dx, dy)),
        stride_{window.stride[0], window.stride[1]},
        shape_(dx),
        tap_(dy[1] * dx[1]) {
    int64_t most_results = 0;
    for (const GradientPart& part : parts_) {
      const ImageWindows& windows = part.windows;
      for (const Range& samples : windows.pieces(dx[0])) {
        const int64_t pixels = samples.size() * windows.pixels(), length = windows.length();
        std::unique_ptr<OnednnKernel> kernel;
        if (length > 0)
          kernel = product(device, row_major(pixels, length), row_major(length, dx[1]), row_major(pixels, dx[1]));
        append({windows, samples, std::move(kernel)});
        places_.push_back({&part, static_cast<int64_t>(taps_.size())});
        most_results = std::max(most_results, pixels * dx[1]);
      }
      taps_.insert(taps_.end(), part.taps.begin(), part.taps.end());
    }
    take_scratch_of_steps();
    if (is_whole()) return;
    part_weights_ = take_bf16(static_cast<int64_t>(taps_.size()) * tap_);
    results_ = take_bf16(most_results);
  }

  void bind(std::span<void* const> inputs, std::span<void* const> outputs, void* scratch) override {
    bind_image(inputs[1], scratch);
    weight_ = static_cast<Bf16Bits*>(inputs[0]);
    dx_ = static_cast<Bf16Bits*>(outputs[0]);
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      if (!step.product) continue;
      Bf16Bits *weights = weight_, *result = dx_ + step.samples.begin * sample_elements();
      if (!is_whole()) {
        weights = scratch_at<Bf16Bits>(part_weights_) + places_[i].first_tap * tap_;
        result = scratch_at<Bf16Bits>(results_);
      }
      step.product->bind(std::array<void*, 2>{windows_of(step), weights}, std::array<void*, 1>{result},
                         product_scratch());
    }
  }

 private:
  struct Place {  // of a step
    const GradientPart* part;
    int64_t first_tap;  // of the part, among the taps of all parts
  };

  bool is_whole() const { return stride_[0] * stride_[1] == 1; }
  int64_t sample_elements() const { return shape_[1] * shape_[2] * shape_[3]; }

  // Sorts the weights' taps by parts.
  void begin() override {
    if (is_whole()) return;
    auto* const sorted = scratch_at<Bf16Bits>(part_weights_);
    parallel_for(static_cast<int64_t>(taps_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        std::copy_n(weight_ + taps_[static_cast<size_t>(i)] * tap_, tap_, sorted + i * tap_);
    });
  }
  void end(size_t i) override {
    if (is_whole()) return;
    const Step& step = steps_[i];
    const GradientPart& part = *places_[i].part;
    const auto* const results = step.product ? scratch_at<Bf16Bits>(results_) : nullptr;
    const int64_t rows = part.windows.rows.pixels, row_elements = part.windows.columns.pixels * shape_[1];
    parallel_for(step.samples.size() * rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        store_row(part, step.samples.begin + row / rows, row % rows, results ? results + row * row_elements : nullptr);
    });
  }
  // Stores a row of a part's pixels in dx, or zeros if `results` is null.
  void store_row(const GradientPart& part, int64_t sample, int64_t row, const Bf16Bits* results) const {
    const int64_t c = shape_[1];
    Bf16Bits* pixel =
        dx_ + sample * sample_elements() + ((part.first[0] + row * stride_[0]) * shape_[3] + part.first[1]) * c;
    for (int64_t column = 0; column < part.windows.columns.pixels; ++column, pixel += stride_[1] * c)
      if (results)
        std::copy_n(results + column * c, c, pixel);
      else
        std::fill_n(pixel, c, Bf16Bits{0});
  }

  const std::vector<GradientPart> parts_;
  const std::array<int64_t, 2> stride_;
  const Shape shape_;          // of dx
  const int64_t tap_;          // elements of a tap of the weights: k * c
  std::vector<int64_t> taps_;  // of all parts
  std::vector<Place> places_;  // by step
  size_t part_weights_ = 0, results_ = 0;
  Bf16Bits *weight_ = nullptr, *dx_ = nullptr;
};

LayoutPtr channels_last(const TensorType& type) {
  return layout_of(Desc(type.shape.dims(), onednn_type(type.dtype), dnnl::memory::format_tag::nhwc), type);
}

// [taps][k][c]
LayoutPtr taps_first(const TensorType& weight) {
  const Shape& s = weight.shape;
  const int64_t tap = s[0] * s[1];
  return layout_of(Desc(s.dims(), onednn_type(weight.dtype), Dims{s[1], 1, s[3] * tap, tap}), weight);
}

template <typename WindowsProduct>
KernelChoice windows_choice(std::unique_ptr<WindowsProduct> kernel, std::vector<LayoutPtr> inputs, LayoutPtr output) {
  KernelChoice choice;
  choice.scratch_bytes = kernel->scratch_bytes();
  choice.kernel = std::move(kernel);
  choice.name = "cpu:windows:matmul";
  choice.input_layouts = std::move(inputs);
  choice.output_layouts = {std::move(output)};
  return choice;
}

}  // namespace

bool takes_windows(const KernelRequest& request, bool has_amx) {
  const Node& node = request.node;
  const bool is_forward = node.op == &conv2d_op, is_weight_gradient = node.op == &conv2d_weight_gradient_op;
  const TensorType& result = request.graph.type(node.outputs[0]);
  const TensorType &x = is_forward || is_weight_gradient ? request.graph.type(node.inputs[0]) : result,
                   &y = is_forward ? result : request.graph.type(node.inputs[1]);
  if (!has_amx || x.dtype != DType::bf16 || (is_weight_gradient && result.dtype != DType::f32)) return false;
  const int64_t pixels = y.shape[2] * y.shape[3];  // of a sample
  // With fewer products, packing the weights takes longer than multiplying.
  constexpr int64_t kLeastPixels = 128;
  if (x.shape[0] * pixels < kLeastPixels || node.attributes.integer("groups") != 1) return false;
  const Window window = Window::of(node);
  const int64_t taps = window.kernel[0] * window.kernel[1];
  // For a network's own images oneDNN has no kernels with AMX.
  constexpr int64_t kFewChannels = 4, kLongWindow = 128;
  if (x.shape[1] <= kFewChannels)
    return (is_forward || is_weight_gradient) && taps * x.shape[1] >= kLongWindow && y.shape[1] >= 32;
  if (std::min(x.shape[1], y.shape[1]) < (is_weight_gradient ? 16 : 64)) return false;
  const bool has_stride = window.stride[0] * window.stride[1] > 1;
  const bool copies = has_stride || taps > 1 || window.padding[0] + window.padding[1] > 0;  // else x has the windows
  if (is_forward && !copies) return false;
  // The fewer pixels, the worse oneDNN's kernels fill their tiles. With more, copies of windows are
  // slower. Above 64 pixels oneDNN's weight gradient is about as fast, but with more than 64
  // channels its threads wait for each other in loops. If other programs use the cores, oneDNN's
  // kernel takes a hundred times as long.
  if (is_weight_gradient) return pixels <= (std::max(x.shape[1], y.shape[1]) > 64 ? 256 : 64);
  return pixels <= (is_forward || (copies && !has_stride) ? 16 : 64);
}

KernelChoice windows_conv2d(const CpuDevice& device, const KernelRequest& request) {
  const Node& node = request.node;
  const TensorType &x = request.graph.type(node.inputs[0]), &weight = request.graph.type(node.inputs[1]),
                   &y = request.graph.type(node.outputs[0]);
  const bool bias = has_input(request, 2);
  return windows_choice(std::make_unique<WindowsForward>(device, windows_of_x(Window::of(node), x.shape, y.shape),
                                                         y.shape, bias, node.attributes.flag("relu")),
                        {channels_last(x), channels_last(weight), nullptr}, channels_last(y));
}

KernelChoice windows_conv2d_input_gradient(const CpuDevice& device, const KernelRequest& request) {
  const Node& node = request.node;
  const TensorType &weight = request.graph.type(node.inputs[0]), &dy = request.graph.type(node.inputs[1]),
                   &dx = request.graph.type(node.outputs[0]);
  return windows_choice(std::make_unique<WindowsInputGradient>(device, Window::of(node), dx.shape, dy.shape),
                        {taps_first(weight), channels_last(dy)}, channels_last(dx));
}

KernelChoice windows_conv2d_weight_gradient(const CpuDevice& device, const KernelRequest& request) {
  const Node& node = request.node;
  const TensorType &x = request.graph.type(node.inputs[0]), &dy = request.graph.type(node.inputs[1]),
                   &weight = request.graph.type(node.outputs[0]);
  const bool bias = node.outputs.size() > 1;
  KernelChoice choice = windows_choice(std::make_unique<WindowsWeightGradient>(
                                           device, windows_of_x(Window::of(node), x.shape, dy.shape), dy.shape, bias),
                                       {channels_last(x), channels_last(dy)}, channels_last(weight));
  if (bias) choice.output_layouts.push_back(nullptr);
  return choice;
}

}  // namespace troika::cpu
