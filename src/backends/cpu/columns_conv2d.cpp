// Threads take samples; of each, rows of dy in pieces whose columns stay in the second cache.
// Nothing depends on the number of threads.
#include "backends/cpu/columns_conv2d.h"

#include <algorithm>
#include <atomic>

#include "backends/cpu/threads.h"
#include "core/split.h"
#include "ops/window.h"

namespace troika::cpu {
namespace {

TROIKA_VECTORIZE void add(const float* source, int64_t n, float* target) {
  for (int64_t i = 0; i < n; ++i) target[i] += source[i];
}

struct ColumnsGradient {
  Window window;
  int64_t samples, channels, height, width;  // of dx
  int64_t out_channels, rows, columns;       // of dy
  int64_t pieces = team_size();

  int64_t row_floats() const { return window.kernel[0] * window.kernel[1] * channels; }  // that one pixel of dy adds
  // Rows of dy in a piece: 256 KiB of columns, or one.
  int64_t piece_rows() const {
    constexpr int64_t kPieceFloats = 1 << 16;
    return std::clamp<int64_t>(kPieceFloats / (columns * row_floats()), 1, rows);
  }
  int64_t piece_floats() const { return piece_rows() * columns * row_floats(); }
  int64_t scratch_floats() const { return pieces * piece_floats(); }

  // Scratch: columns of a piece [rows of dy][columns of dy][kh][kw][c] for each thread.
  void run(const float* weight, const float* dy, float* dx, float* scratch) const {
    std::atomic<dnnl_status_t> status =
        dnnl_success;  // of the first product that failed: nothing is thrown through a team
    parallel_for(pieces, 1, [&](int64_t begin, int64_t end) {
      for (int64_t piece = begin; piece < end; ++piece) {
        const Range own = balanced_split(samples, pieces, piece);
        for (int64_t n = own.begin; n < own.end && status == dnnl_success; ++n) {
          const dnnl_status_t done = run_sample(weight, dy + n * rows * columns * out_channels,
                                                dx + n * height * width * channels, scratch + piece * piece_floats());
          if (done != dnnl_success) status = done;
        }
      }
    });
    check_onednn(status);
  }

 private:
  dnnl_status_t run_sample(const float* weight, const float* dy, float* dx, float* products) const {
    std::fill_n(dx, height * width * channels, 0.0f);
    for (int64_t first = 0; first < rows; first += piece_rows()) {
      const int64_t count = std::min(piece_rows(), rows - first);
      const dnnl_status_t status =
          dnnl_sgemm('N', 'N', count * columns, row_floats(), out_channels, 1, dy + first * columns * out_channels,
                     out_channels, weight, row_floats(), 0, products, row_floats());
      if (status != dnnl_success) return status;
      for (int64_t row = 0; row < count; ++row)
        for (int64_t column = 0; column < columns; ++column)
          add_window(products + (row * columns + column) * row_floats(), first + row, column, dx);
    }
    return dnnl_success;
  }

  // Adds the gradients [kh][kw][c] of pixel (row, column) of dy to the pixels that its window
  // reads.
  void add_window(const float* gradients, int64_t row, int64_t column, float* dx) const {
    const int64_t top = row * window.stride[0] - window.padding[0],
                  left = column * window.stride[1] - window.padding[1];
    const int64_t step = window.dilation[1];
    const int64_t first = left < 0 ? (-left + step - 1) / step : 0;  // first and last tap of a row inside the image
    const int64_t last = std::min(window.kernel[1], (width - left + step - 1) / step);
    for (int64_t i = 0; i < window.kernel[0]; ++i) {
      const int64_t y = top + i * window.dilation[0];
      if (y < 0 || y >= height || first >= last) continue;
      const float* const taps = gradients + i * window.kernel[1] * channels;
      float* const pixels = dx + (y * width + left) * channels;
      if (step == 1)
        add(taps + first * channels, (last - first) * channels, pixels + first * channels);
      else
        for (int64_t j = first; j < last; ++j) add(taps + j * channels, channels, pixels + j * step * channels);
    }
  }
};

}  // namespace

KernelChoice columns_conv2d_input_gradient(const KernelRequest& request) {
  using Tag = dnnl::memory::format_tag;
  const Node& node = request.node;
  const Shape &weight = request.graph.type(node.inputs[0]).shape, &dy = request.graph.type(node.inputs[1]).shape;
  const Shape& dx = request.graph.type(node.outputs[0]).shape;
  const auto layout = [](const Shape& shape, Tag tag) {
    return layout_of(Desc(shape.dims(), dnnl::memory::data_type::f32, tag), shape);
  };
  const ColumnsGradient gradient{Window::of(node), dx[0], dx[1], dx[2], dx[3], dy[1], dy[2], dy[3]};
  KernelChoice choice;
  choice.kernel = make_kernel([gradient](void* const* in, void* const* out, void* scratch) {
    gradient.run(static_cast<const float*>(in[0]), static_cast<const float*>(in[1]), static_cast<float*>(out[0]),
                 static_cast<float*>(scratch));
  });
  choice.name = "cpu:columns:gemm";
  choice.input_layouts = {layout(weight, Tag::ohwi), layout(dy, Tag::nhwc)};
  choice.output_layouts = {layout(dx, Tag::nhwc)};
  choice.scratch_bytes = static_cast<size_t>(gradient.scratch_floats()) * sizeof(float);
  return choice;
}

}  // namespace troika::cpu
