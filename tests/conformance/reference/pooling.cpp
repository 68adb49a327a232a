// Max, average and adaptive average pooling, and their gradients.
#include <cmath>

#include "conformance/reference/reference.h"
#include "ops/window.h"

namespace troika {
namespace {

// Calls visit(plane, y element, begin, end) for every window. The range is the rows and columns of
// the image that the window covers, without padding.
struct Covered {
  int64_t h0, h1, w0, w1;
};

template <typename Visit>
void for_each_window(const Shape& x, const Shape& y, Visit&& visit, const Window* window) {
  auto range = [&](int axis, int64_t i, int64_t& begin, int64_t& end) {
    const int64_t in = x[axis + 2], out = y[axis + 2];
    if (window) {
      begin = i * window->stride[axis] - window->padding[axis];
      end = std::min(begin + window->kernel[axis], in);
      begin = std::max<int64_t>(begin, 0);
    } else {  // adaptive
      begin = i * in / out;
      end = ((i + 1) * in + out - 1) / out;
    }
  };
  for (int64_t plane = 0; plane < y[0] * y[1]; ++plane)
    for (int64_t i = 0; i < y[2]; ++i)
      for (int64_t j = 0; j < y[3]; ++j) {
        Covered c;
        range(0, i, c.h0, c.h1);
        range(1, j, c.w0, c.w1);
        visit(plane * x[2] * x[3], (plane * y[2] + i) * y[3] + j, c);
      }
}

void max_pool2d(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array& x = *in[0];
  const Window window = Window::of(node);
  for_each_window(
      x.shape, out[0]->shape,
      [&](int64_t plane, int64_t at, Covered c) {
        // The first of equal maxima in reading order, and the last NaN, as in PyTorch.
        int64_t best = -1;
        for (int64_t h = c.h0; h < c.h1; ++h)
          for (int64_t w = c.w0; w < c.w1; ++w) {
            const double value = x[plane + h * x.shape[3] + w];
            if (best < 0 || value > x[plane + best] || std::isnan(value)) best = h * x.shape[3] + w;
          }
        (*out[0])[at] = x[plane + best];
        (*out[1])[at] = static_cast<double>(best);
      },
      &window);
}

// The gradient of the ReLU that made y, if there is one. NaN lets it pass.
void apply_relu(const Array* y, Array& dx) {
  for (int64_t i = 0; y && i < dx.elements(); ++i)
    if ((*y)[i] <= 0) dx[i] = 0;
}

void max_pool2d_gradient(const Node&, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Array &indices = *in[0], &dy = *in[1];
  Array& dx = *out[0];
  const int64_t image = dx.shape[2] * dx.shape[3], windows = dy.shape[2] * dy.shape[3];
  for (int64_t i = 0; i < dy.elements(); ++i) dx[i / windows * image + static_cast<int64_t>(indices[i])] += dy[i];
  apply_relu(in.size() > 2 ? in[2] : nullptr, dx);
}

// Returns the weight of each covered element of a window.
double weight_of(const Node& node, const Covered& c, const Window* window) {
  if (window && node.attributes.flag("count_include_pad"))
    return 1.0 / static_cast<double>(window->kernel[0] * window->kernel[1]);
  return 1.0 / static_cast<double>((c.h1 - c.h0) * (c.w1 - c.w0));
}

void average(const Node& node, const Array& x, Array& y, const Window* window) {
  for_each_window(
      x.shape, y.shape,
      [&](int64_t plane, int64_t at, Covered c) {
        for (int64_t h = c.h0; h < c.h1; ++h)
          for (int64_t w = c.w0; w < c.w1; ++w) y[at] += x[plane + h * x.shape[3] + w] * weight_of(node, c, window);
      },
      window);
}

void average_gradient(const Node& node, const Array& dy, Array& dx, const Window* window) {
  for_each_window(
      dx.shape, dy.shape,
      [&](int64_t plane, int64_t at, Covered c) {
        for (int64_t h = c.h0; h < c.h1; ++h)
          for (int64_t w = c.w0; w < c.w1; ++w) dx[plane + h * dx.shape[3] + w] += dy[at] * weight_of(node, c, window);
      },
      window);
}

void avg_pool2d(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Window window = Window::of(node);
  average(node, *in[0], *out[0], &window);
}

void avg_pool2d_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const Window window = Window::of(node);
  average_gradient(node, *in[0], *out[0], &window);
  apply_relu(in.size() > 1 ? in[1] : nullptr, *out[0]);
}

void adaptive_avg_pool2d(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  average(node, *in[0], *out[0], nullptr);
}

void adaptive_avg_pool2d_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  average_gradient(node, *in[0], *out[0], nullptr);
  apply_relu(in.size() > 1 ? in[1] : nullptr, *out[0]);
}

}  // namespace

void add_pooling_references(ReferenceTable& table) {
  table["max_pool2d"] = max_pool2d;
  table["max_pool2d_gradient"] = max_pool2d_gradient;
  table["avg_pool2d"] = avg_pool2d;
  table["avg_pool2d_gradient"] = avg_pool2d_gradient;
  table["adaptive_avg_pool2d"] = adaptive_avg_pool2d;
  table["adaptive_avg_pool2d_gradient"] = adaptive_avg_pool2d_gradient;
}

}  // namespace troika
