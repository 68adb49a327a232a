// softmax, its gradient and argmax, along one axis of x as [outer, length, inner]. If other axes
// follow, a run of neighbouring rows is worked on at once.
#include <cmath>

#include "backends/cpu/activations.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"
#include "ops/axis_rows.h"

namespace troika::cpu {
namespace {

constexpr int64_t kRowsGrain = 16384;  // numbers a thread at least
constexpr int64_t kRowLanes = 16;

TROIKA_VECTORIZE float largest_of(const float* x, int64_t n) {
  float most = x[0];
  for (int64_t i = 1; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

// y = e^(x - most); returns the sum.
TROIKA_VECTORIZE float exp_and_sum(const float* x, float* y, float most, int64_t n) {
  float lanes[kRowLanes] = {};
  int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes)
    for (int64_t lane = 0; lane < kRowLanes; ++lane) {
      const float e = exp_of_any_lane(x[i + lane] - most);
      y[i + lane] = e;
      lanes[lane] += e;
    }
  float sum = 0;
  for (; i < n; ++i) {
    y[i] = exp_of_any_lane(x[i] - most);
    sum += y[i];
  }
  for (int64_t lane = 0; lane < kRowLanes; ++lane) sum += lanes[lane];
  return sum;
}

TROIKA_VECTORIZE void scale_row(float* y, float factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] *= factor;
}

TROIKA_VECTORIZE float dot_of(const float* y, const float* dy, int64_t n) {
  float lanes[kRowLanes] = {};
  int64_t i = 0;
  for (; i + kRowLanes <= n; i += kRowLanes)
    for (int64_t lane = 0; lane < kRowLanes; ++lane) lanes[lane] += y[i + lane] * dy[i + lane];
  float sum = 0;
  for (; i < n; ++i) sum += y[i] * dy[i];
  for (int64_t lane = 0; lane < kRowLanes; ++lane) sum += lanes[lane];
  return sum;
}

TROIKA_VECTORIZE void softmax_gradient_row(const float* y, const float* dy, float* dx, float dot, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot);
}

// The next functions take one number of each of n neighbouring rows.
TROIKA_VECTORIZE void keep_largest(const float* x, float* most, int64_t n) {
  for (int64_t j = 0; j < n; ++j) most[j] = x[j] > most[j] ? x[j] : most[j];
}

TROIKA_VECTORIZE void exp_and_add(const float* x, const float* most, float* y, float* sums, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    const float e = exp_of_any_lane(x[j] - most[j]);
    y[j] = e;
    sums[j] += e;
  }
}

TROIKA_VECTORIZE void divide_run(float* y, const float* sums, int64_t n) {
  for (int64_t j = 0; j < n; ++j) y[j] /= sums[j];
}

TROIKA_VECTORIZE void add_products(const float* y, const float* dy, float* dots, int64_t n) {
  for (int64_t j = 0; j < n; ++j) dots[j] += y[j] * dy[j];
}

TROIKA_VECTORIZE void softmax_gradient_run(const float* y, const float* dy, const float* dots, float* dx, int64_t n) {
  for (int64_t j = 0; j < n; ++j) dx[j] = y[j] * (dy[j] - dots[j]);
}

constexpr int64_t kRunRows = 256;  // neighbouring rows that are worked on at once, at most

// Calls body(first, rows) for each run: its first number, and how many rows it has.
template <typename Body>
void each_run(const AxisRows& rows, Body body) {
  const int64_t runs = (rows.inner + kRunRows - 1) / kRunRows;
  parallel_for(rows.outer * runs, std::max<int64_t>(1, kRowsGrain / std::max<int64_t>(1, rows.length * kRunRows)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t k = begin; k < end; ++k) {
                   const int64_t j = k % runs * kRunRows;
                   body(k / runs * rows.length * rows.inner + j, std::min(kRunRows, rows.inner - j));
                 }
               });
}

void softmax_runs(const AxisRows& rows, const float* x, float* y) {
  each_run(rows, [&](int64_t first, int64_t n) {
    float most[kRunRows], sums[kRunRows] = {};
    std::copy_n(x + first, n, most);
    for (int64_t i = 1; i < rows.length; ++i) keep_largest(x + first + i * rows.inner, most, n);
    for (int64_t i = 0; i < rows.length; ++i)
      exp_and_add(x + first + i * rows.inner, most, y + first + i * rows.inner, sums, n);
    for (int64_t i = 0; i < rows.length; ++i) divide_run(y + first + i * rows.inner, sums, n);
  });
}

void softmax_gradient_runs(const AxisRows& rows, const float* y, const float* dy, float* dx) {
  each_run(rows, [&](int64_t first, int64_t n) {
    float dots[kRunRows] = {};
    for (int64_t i = 0; i < rows.length; ++i)
      add_products(y + first + i * rows.inner, dy + first + i * rows.inner, dots, n);
    for (int64_t i = 0; i < rows.length; ++i) {
      const int64_t at = first + i * rows.inner;
      softmax_gradient_run(y + at, dy + at, dots, dx + at, n);
    }
  });
}

// Calls body(number of the row) for each row, in parallel.
template <typename Body>
void each_row(const AxisRows& rows, Body body) {
  parallel_for(rows.rows(), std::max<int64_t>(1, kRowsGrain / std::max<int64_t>(1, rows.length)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) body(row);
               });
}

}  // namespace

KernelChoice select_softmax(const CpuDevice&, const KernelRequest& request) {
  const AxisRows rows(request.node, request.graph.type(request.node.inputs[0]).shape);
  auto body = [rows](void* const* in, void* const* out, void*) {
    const auto* x = static_cast<const float*>(in[0]);
    auto* y = static_cast<float*>(out[0]);
    if (rows.length == 0) return;
    if (rows.inner > 1) return softmax_runs(rows, x, y);
    each_row(rows, [&](int64_t row) {
      const int64_t at = row * rows.length;
      const float sum = exp_and_sum(x + at, y + at, largest_of(x + at, rows.length), rows.length);
      scale_row(y + at, 1 / sum, rows.length);
    });
  };
  KernelChoice choice = uniform_choice(request, nullptr, "cpu:softmax", make_kernel(body));
  choice.may_share = {{0, 0}};
  return choice;
}

KernelChoice select_softmax_gradient(const CpuDevice&, const KernelRequest& request) {
  const AxisRows rows(request.node, request.graph.type(request.node.inputs[0]).shape);
  auto body = [rows](void* const* in, void* const* out, void*) {
    const auto *y = static_cast<const float*>(in[0]), *dy = static_cast<const float*>(in[1]);
    auto* dx = static_cast<float*>(out[0]);
    if (rows.inner > 1) return softmax_gradient_runs(rows, y, dy, dx);
    each_row(rows, [&](int64_t row) {
      const int64_t at = row * rows.length;
      softmax_gradient_row(y + at, dy + at, dx + at, dot_of(y + at, dy + at, rows.length), rows.length);
    });
  };
  KernelChoice choice = uniform_choice(request, nullptr, "cpu:softmax_gradient", make_kernel(body));
  choice.may_share = {{0, 1}, {0, 0}};
  return choice;
}

KernelChoice select_argmax(const CpuDevice&, const KernelRequest& request) {
  const AxisRows rows(request.node, request.graph.type(request.node.inputs[0]).shape);
  auto body = [rows](void* const* in, void* const* out, void*) {
    const auto* x = static_cast<const float*>(in[0]);
    auto* places = static_cast<int64_t*>(out[0]);
    each_row(rows, [&](int64_t row) {
      const float* const first = x + row / rows.inner * rows.length * rows.inner + row % rows.inner;
      int64_t best = 0;
      for (int64_t i = 1; i < rows.length && !std::isnan(first[best * rows.inner]); ++i) {
        const float v = first[i * rows.inner];
        if (v > first[best * rows.inner] || std::isnan(v)) best = i;
      }
      places[row] = best;
    });
  };
  return uniform_choice(request, nullptr, "cpu:argmax", make_kernel(body));
}

}  // namespace troika::cpu
