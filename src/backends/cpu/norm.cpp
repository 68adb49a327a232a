// layer_norm, group_norm and rms_norm with their gradients: row by row (ops/norm.h).
#include "ops/norm.h"

#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/sum_run.h"
#include "backends/cpu/threads.h"

namespace troika::cpu {
namespace {

constexpr int64_t kNormGrain = 16384;  // numbers a thread at least
constexpr int64_t kNormLanes = 16;
constexpr int64_t kPartRows = 64;  // whose gradients of a weight are added up before those of others

// The sum of (x - mean)^2.
TROIKA_VECTORIZE float square_sum_of(const float* x, float mean, int64_t n) {
  float lanes[kNormLanes] = {};
  int64_t i = 0;
  for (; i + kNormLanes <= n; i += kNormLanes)
    for (int64_t lane = 0; lane < kNormLanes; ++lane) lanes[lane] += (x[i + lane] - mean) * (x[i + lane] - mean);
  float sum = 0;
  for (; i < n; ++i) sum += (x[i] - mean) * (x[i] - mean);
  for (int64_t lane = 0; lane < kNormLanes; ++lane) sum += lanes[lane];
  return sum;
}

// A run of one weight: y = (x - mean) factor + bias.
TROIKA_VECTORIZE void normalize_run(const float* x, float* y, float mean, float factor, float bias, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * factor + bias;
}

// A run of a weight per number; weight and bias may be null.
TROIKA_VECTORIZE void normalize_each(const float* x, float* y, float mean, float inv_std, const float* weight,
                                     const float* bias, int64_t n) {
  if (!weight)
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inv_std;
  else if (!bias)
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inv_std * weight[i];
  else
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * inv_std * weight[i] + bias[i];
}

struct Dots {
  float dy, dy_x;  // the sums of w dy and of w dy (x - mean)
};

TROIKA_VECTORIZE Dots dots_of_run(const float* x, const float* dy, float mean, int64_t n) {
  float first[kNormLanes] = {}, second[kNormLanes] = {};
  int64_t i = 0;
  for (; i + kNormLanes <= n; i += kNormLanes)
    for (int64_t lane = 0; lane < kNormLanes; ++lane) {
      first[lane] += dy[i + lane];
      second[lane] += dy[i + lane] * (x[i + lane] - mean);
    }
  Dots sums = {};
  for (; i < n; ++i) {
    sums.dy += dy[i];
    sums.dy_x += dy[i] * (x[i] - mean);
  }
  for (int64_t lane = 0; lane < kNormLanes; ++lane) {
    sums.dy += first[lane];
    sums.dy_x += second[lane];
  }
  return sums;
}

TROIKA_VECTORIZE Dots weighted_dots_of(const float* x, const float* dy, const float* weight, float mean, int64_t n) {
  float first[kNormLanes] = {}, second[kNormLanes] = {};
  int64_t i = 0;
  for (; i + kNormLanes <= n; i += kNormLanes)
    for (int64_t lane = 0; lane < kNormLanes; ++lane) {
      const float d = dy[i + lane] * weight[i + lane];
      first[lane] += d;
      second[lane] += d * (x[i + lane] - mean);
    }
  Dots sums = {};
  for (; i < n; ++i) {
    sums.dy += dy[i] * weight[i];
    sums.dy_x += dy[i] * weight[i] * (x[i] - mean);
  }
  for (int64_t lane = 0; lane < kNormLanes; ++lane) {
    sums.dy += first[lane];
    sums.dy_x += second[lane];
  }
  return sums;
}

// dx = a w dy - b (x - mean) - c, for a run of one weight.
TROIKA_VECTORIZE void gradient_run(const float* x, const float* dy, float* dx, float mean, float a, float b, float c,
                                   int64_t n) {
  for (int64_t i = 0; i < n; ++i) dx[i] = a * dy[i] - b * (x[i] - mean) - c;
}

TROIKA_VECTORIZE void gradient_each(const float* x, const float* dy, const float* weight, float* dx, float mean,
                                    float a, float b, float c, int64_t n) {
  if (!weight)
    for (int64_t i = 0; i < n; ++i) dx[i] = a * dy[i] - b * (x[i] - mean) - c;
  else
    for (int64_t i = 0; i < n; ++i) dx[i] = a * weight[i] * dy[i] - b * (x[i] - mean) - c;
}

// Adds a row to the gradients of a weight per number; dbias may be null.
TROIKA_VECTORIZE void add_weight_gradients(const float* x, const float* dy, float mean, float inv_std, float* dweight,
                                           float* dbias, int64_t n) {
  for (int64_t i = 0; i < n; ++i) dweight[i] += dy[i] * (x[i] - mean) * inv_std;
  if (dbias)
    for (int64_t i = 0; i < n; ++i) dbias[i] += dy[i];
}

// The three layers and their gradients share the rows, and whether the rows have a mean.
class Norm {
 public:
  Norm(const KernelRequest& request, bool has_mean)
      : rows_(request.node, request.graph.type(request.node.inputs[0]).shape),
        has_weight_(has_input(request, norm::weight)),
        has_mean_(has_mean),
        eps_(request.node.attributes.real("eps")) {}

  const NormRows& rows() const { return rows_; }
  bool has_mean() const { return has_mean_; }

  void forward(void* const* in, void* const* out) const {
    each_row([&](int64_t r) {
      const float* const x = static_cast<const float*>(in[norm::x]) + r * rows_.length;
      float* const y = static_cast<float*>(out[norm::y]) + r * rows_.length;
      const auto n = static_cast<float>(rows_.length);
      const float mean = has_mean_ ? sum_run(x, rows_.length) / n : 0;
      const double variance = square_sum_of(x, mean, rows_.length) / n;
      const auto inv_std = static_cast<float>(1 / std::sqrt(variance + eps_));
      static_cast<float*>(out[norm::inv_std])[r] = inv_std;
      if (has_mean_) static_cast<float*>(out[norm::mean])[r] = mean;
      const float* const weight = weights_of_row(in[norm::weight], r);
      const float* const bias = has_mean_ ? weights_of_row(in[norm::bias], r) : nullptr;
      if (rows_.run == 1) return normalize_each(x, y, mean, inv_std, weight, bias, rows_.length);
      for (int64_t c = 0; c < rows_.row_weights(); ++c)
        normalize_run(x + c * rows_.run, y + c * rows_.run, mean, weight ? inv_std * weight[c] : inv_std,
                      bias ? bias[c] : 0, rows_.run);
    });
  }

  //     dx = inv_std (w dy - mean of w dy - (x - mean) inv_std^2 mean of w dy (x - mean))
  //
  // without the first mean if the rows have none.
  void input_gradient(void* const* in, float* dx) const {
    each_row([&](int64_t r) {
      const Row row = row_of(in, r);
      Dots dots = {};
      if (rows_.run > 1)
        for (int64_t c = 0; c < rows_.row_weights(); ++c) {
          const Dots d = dots_of_run(row.x + c * rows_.run, row.dy + c * rows_.run, row.mean, rows_.run);
          dots.dy += row.weight_of(c) * d.dy;
          dots.dy_x += row.weight_of(c) * d.dy_x;
        }
      else
        dots = row.weight ? weighted_dots_of(row.x, row.dy, row.weight, row.mean, rows_.length)
                          : dots_of_run(row.x, row.dy, row.mean, rows_.length);
      const auto n = static_cast<float>(rows_.length);
      const float a = row.inv_std, b = a * a * a * dots.dy_x / n, c = has_mean_ ? a * dots.dy / n : 0;
      float* const to = dx + r * rows_.length;
      if (rows_.run == 1) return gradient_each(row.x, row.dy, row.weight, to, row.mean, a, b, c, rows_.length);
      for (int64_t k = 0; k < rows_.row_weights(); ++k) {
        const int64_t at = k * rows_.run;
        gradient_run(row.x + at, row.dy + at, to + at, row.mean, a * row.weight_of(k), b, c, rows_.run);
      }
    });
  }

  // Parts of the rows that are summed up by themselves: always whole samples' groups.
  int64_t part_rows() const { return (kPartRows + rows_.groups - 1) / rows_.groups * rows_.groups; }
  int64_t parts() const { return std::max<int64_t>(1, (rows_.rows + part_rows() - 1) / part_rows()); }

  // `sums`: [parts, 2, weights].
  void weight_gradients(void* const* in, float* sums, float* dweight, float* dbias) const {
    const int64_t weights = rows_.weights();
    parallel_for(parts(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t part = begin; part < end; ++part) {
        float* const to = sums + part * 2 * weights;
        std::fill_n(to, 2 * weights, 0.0f);
        for (int64_t r = part * part_rows(); r < std::min((part + 1) * part_rows(), rows_.rows); ++r)
          add_row(in, r, to, to + weights);
      }
    });
    std::fill_n(dweight, weights, 0.0f);
    if (dbias) std::fill_n(dbias, weights, 0.0f);
    for (int64_t part = 0; part < parts(); ++part)
      for (int64_t c = 0; c < weights; ++c) {
        dweight[c] += sums[part * 2 * weights + c];
        if (dbias) dbias[c] += sums[part * 2 * weights + weights + c];
      }
  }

 private:
  struct Row {
    const float *x, *dy, *weight;
    float mean, inv_std;
    float weight_of(int64_t c) const { return weight ? weight[c] : 1; }
  };

  const float* weights_of_row(const void* weights, int64_t r) const {
    return has_weight_ ? static_cast<const float*>(weights) + r % rows_.groups * rows_.row_weights() : nullptr;
  }

  // Reads the inputs of the gradient's op.
  Row row_of(void* const* in, int64_t r) const {
    return {static_cast<const float*>(in[norm_gradient::x]) + r * rows_.length,
            static_cast<const float*>(in[norm_gradient::dy]) + r * rows_.length,
            weights_of_row(in[norm_gradient::weight], r),
            has_mean_ ? static_cast<const float*>(in[norm_gradient::mean])[r] : 0,
            static_cast<const float*>(in[norm_gradient::inv_std])[r]};
  }

  void add_row(void* const* in, int64_t r, float* dweight, float* dbias) const {
    const Row row = row_of(in, r);
    const int64_t first = r % rows_.groups * rows_.row_weights();
    if (rows_.run == 1)
      return add_weight_gradients(row.x, row.dy, row.mean, row.inv_std, dweight + first, dbias + first, rows_.length);
    for (int64_t c = 0; c < rows_.row_weights(); ++c) {
      const Dots d = dots_of_run(row.x + c * rows_.run, row.dy + c * rows_.run, row.mean, rows_.run);
      dweight[first + c] += d.dy_x * row.inv_std;
      dbias[first + c] += d.dy;
    }
  }

  template <typename Body>
  void each_row(Body body) const {
    parallel_for(rows_.rows, std::max<int64_t>(1, kNormGrain / std::max<int64_t>(1, rows_.length)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t r = begin; r < end; ++r) body(r);
                 });
  }

  const NormRows rows_;
  const bool has_weight_, has_mean_;
  const double eps_;
};

KernelChoice choose_norm(const KernelRequest& request, const char* name, bool has_mean) {
  const Norm norm(request, has_mean);
  auto body = [norm](void* const* in, void* const* out, void*) { norm.forward(in, out); };
  return uniform_choice(request, nullptr, name, make_kernel(body));
}

KernelChoice choose_norm_gradient(const KernelRequest& request, const char* name, bool has_mean) {
  const Norm norm(request, has_mean);
  const bool has_weights = request.node.outputs.size() > 1;
  auto body = [=](void* const* in, void* const* out, void* scratch) {
    norm.input_gradient(in, static_cast<float*>(out[norm_gradient::dx]));
    if (has_weights)
      norm.weight_gradients(in, static_cast<float*>(scratch), static_cast<float*>(out[norm_gradient::dweight]),
                            norm.has_mean() ? static_cast<float*>(out[norm_gradient::dbias]) : nullptr);
  };
  KernelChoice choice = uniform_choice(request, nullptr, name, make_kernel(body));
  if (has_weights) choice.scratch_bytes = static_cast<size_t>(norm.parts() * 2 * norm.rows().weights()) * sizeof(float);
  return choice;
}

}  // namespace

KernelChoice select_layer_norm(const CpuDevice&, const KernelRequest& request) {
  return choose_norm(request, "cpu:layer_norm", true);
}

KernelChoice select_layer_norm_gradient(const CpuDevice&, const KernelRequest& request) {
  return choose_norm_gradient(request, "cpu:layer_norm_gradient", true);
}

KernelChoice select_group_norm(const CpuDevice&, const KernelRequest& request) {
  return choose_norm(request, "cpu:group_norm", true);
}

KernelChoice select_group_norm_gradient(const CpuDevice&, const KernelRequest& request) {
  return choose_norm_gradient(request, "cpu:group_norm_gradient", true);
}

KernelChoice select_rms_norm(const CpuDevice&, const KernelRequest& request) {
  return choose_norm(request, "cpu:rms_norm", false);
}

KernelChoice select_rms_norm_gradient(const CpuDevice&, const KernelRequest& request) {
  return choose_norm_gradient(request, "cpu:rms_norm_gradient", false);
}

}  // namespace troika::cpu
