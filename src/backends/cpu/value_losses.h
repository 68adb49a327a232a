// The losses against a value per output (ops/value_losses.cpp). `value` is the loss of one output.
// `slope`, times kFactor, is the loss's derivative by the output.
#pragma once

#include <algorithm>
#include <cmath>

#include "graph/graph.h"

namespace troika::cpu {

struct SquaredError {
  static constexpr double kFactor = 2;
  explicit SquaredError(const Node&) {}
  double value(double x, double t) const { return (x - t) * (x - t); }
  float slope(float x, float t) const { return x - t; }
};

struct AbsoluteError {
  static constexpr double kFactor = 1;
  explicit AbsoluteError(const Node&) {}
  double value(double x, double t) const { return std::abs(x - t); }
  // NaN stays NaN.
  float slope(float x, float t) const { return x > t ? 1.0f : x < t ? -1.0f : (x - t) * 0.0f; }
};

struct HuberLoss {
  static constexpr double kFactor = 1;
  explicit HuberLoss(const Node& node) : delta(node.attributes.real("delta")) {}
  double value(double x, double t) const {
    const double d = std::abs(x - t);
    return d <= delta ? d * d / 2 : delta * (d - delta / 2);
  }
  float slope(float x, float t) const {
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
  double value(double x, double t) const { return std::max(x, 0.0) - x * t + std::log1p(std::exp(-std::abs(x))); }
  float slope(float x, float t) const { return 1.0f / (1.0f + std::exp(-x)) - t; }
};

}  // namespace troika::cpu
