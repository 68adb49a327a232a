// The losses against a value per output (ops/value_losses.cpp). `value` is the loss of one output.
// `slope`, times kFactor, is the loss's derivative by the output.
#pragma once

#include "graph/graph.h"

namespace troika::cuda {

struct SquaredError {
  static constexpr double kFactor = 2;
  explicit SquaredError(const Node&) {}
  __device__ double value(double x, double t) const { return (x - t) * (x - t); }
  __device__ float slope(float x, float t) const { return x - t; }
};

struct AbsoluteError {
  static constexpr double kFactor = 1;
  explicit AbsoluteError(const Node&) {}
  __device__ double value(double x, double t) const { return fabs(x - t); }
  // NaN stays NaN.
  __device__ float slope(float x, float t) const { return x > t ? 1.0f : x < t ? -1.0f : (x - t) * 0.0f; }
};

struct HuberLoss {
  static constexpr double kFactor = 1;
  explicit HuberLoss(const Node& node) : delta(node.attributes.real("delta")) {}
  __device__ double value(double x, double t) const {
    const double d = fabs(x - t);
    return d <= delta ? d * d / 2 : delta * (d - delta / 2);
  }
  __device__ float slope(float x, float t) const {
    const auto most = static_cast<float>(delta);
    const float d = x - t;
    return d > most ? most : d < -most ? -most : d;
  }
  double delta;
};

struct BinaryCrossEntropy {
  static constexpr double kFactor = 1;
  explicit BinaryCrossEntropy(const Node&) {}
  // log(1 + e^-|x|) does not overflow.
  __device__ double value(double x, double t) const { return fmax(x, 0.0) - x * t + log1p(exp(-fabs(x))); }
  __device__ float slope(float x, float t) const { return 1.0f / (1.0f + expf(-x)) - t; }
};

}  // namespace troika::cuda
