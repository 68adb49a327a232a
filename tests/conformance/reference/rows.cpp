// softmax and argmax along an axis; layer_norm, group_norm and rms_norm; and their gradients.
#include <cmath>

#include "conformance/reference/reference.h"

namespace troika {
namespace {

// Calls visit(places) for each row along the attribute `axis`: the indices of the row's numbers.
template <typename Visit>
void each_row(const Node& node, const Shape& x, Visit visit) {
  const auto axis = static_cast<int>(node.attributes.integer("axis"));
  const int64_t inner = x.elements(axis + 1, x.rank());
  for (int64_t row = 0; row < x.elements() / x[axis]; ++row) {
    std::vector<int64_t> places;
    for (int64_t i = 0; i < x[axis]; ++i) places.push_back((row / inner * x[axis] + i) * inner + row % inner);
    visit(row, places);
  }
}

void softmax(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  each_row(node, in[0]->shape, [&](int64_t, const std::vector<int64_t>& places) {
    double most = (*in[0])[places[0]], sum = 0;
    for (int64_t i : places) most = std::max(most, (*in[0])[i]);
    for (int64_t i : places) sum += std::exp((*in[0])[i] - most);
    for (int64_t i : places) (*out[0])[i] = std::exp((*in[0])[i] - most) / sum;
  });
}

void softmax_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  each_row(node, in[0]->shape, [&](int64_t, const std::vector<int64_t>& places) {
    double dot = 0;
    for (int64_t i : places) dot += (*in[0])[i] * (*in[1])[i];
    for (int64_t i : places) (*out[0])[i] = (*in[0])[i] * ((*in[1])[i] - dot);
  });
}

void argmax(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  each_row(node, in[0]->shape, [&](int64_t row, const std::vector<int64_t>& places) {
    size_t best = 0;
    for (size_t i = 0; i < places.size(); ++i)
      if ((*in[0])[places[i]] > (*in[0])[places[best]]) best = i;
    (*out[0])[row] = static_cast<double>(best);
  });
}

// The numbers that are normalised together, each with the index of its weight.
struct NormRow {
  std::vector<int64_t> places, weights;
};

std::vector<NormRow> norm_rows(const Node& node, const Shape& x) {
  std::vector<NormRow> rows;
  if (node.attributes.has("groups")) {
    const int64_t channels = x[1] / node.attributes.integer("groups"), pixels = x.elements(2, x.rank());
    for (int64_t n = 0; n < x[0]; ++n)
      for (int64_t first = 0; first < x[1]; first += channels) {
        rows.emplace_back();
        for (int64_t c = first; c < first + channels; ++c)
          for (int64_t i = 0; i < pixels; ++i) {
            rows.back().places.push_back((n * x[1] + c) * pixels + i);
            rows.back().weights.push_back(c);
          }
      }
    return rows;
  }
  const auto axis = static_cast<int>(node.attributes.integer("axis"));
  const int64_t length = x.elements(axis, x.rank());
  for (int64_t row = 0; row < x.elements(0, axis); ++row) {
    rows.emplace_back();
    for (int64_t i = 0; i < length; ++i) {
      rows.back().places.push_back(row * length + i);
      rows.back().weights.push_back(i);
    }
  }
  return rows;
}

// Inputs x, weight, bias; outputs y, inv_std, mean. Without a third output, nothing is subtracted.
void norm(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const bool has_mean = out.size() > 2;
  int64_t r = 0;
  for (const NormRow& row : norm_rows(node, in[0]->shape)) {
    double mean = 0, variance = 0;
    const auto n = static_cast<double>(row.places.size());
    for (int64_t i : row.places) mean += has_mean ? (*in[0])[i] / n : 0;
    for (int64_t i : row.places) variance += ((*in[0])[i] - mean) * ((*in[0])[i] - mean) / n;
    const double inv_std = 1 / std::sqrt(variance + node.attributes.real("eps"));
    for (size_t i = 0; i < row.places.size(); ++i) {
      double y = ((*in[0])[row.places[i]] - mean) * inv_std;
      if (in[1]) y *= (*in[1])[row.weights[i]];
      if (has_mean && in[2]) y += (*in[2])[row.weights[i]];
      (*out[0])[row.places[i]] = y;
    }
    (*out[1])[r] = inv_std;
    if (has_mean) (*out[2])[r] = mean;
    ++r;
  }
}

// Inputs x, weight, inv_std, dy, mean; outputs dx, dweight, dbias.
void norm_gradient(const Node& node, const ReferenceInputs& in, const ReferenceOutputs& out) {
  const bool has_mean = in.size() > 4;
  int64_t r = 0;
  for (const NormRow& row : norm_rows(node, in[0]->shape)) {
    const double inv_std = (*in[2])[r], mean = has_mean ? (*in[4])[r] : 0;
    ++r;
    double sum = 0, dot = 0;
    const auto n = static_cast<double>(row.places.size());
    auto normal = [&](size_t i) { return ((*in[0])[row.places[i]] - mean) * inv_std; };
    auto weighted = [&](size_t i) { return (*in[3])[row.places[i]] * (in[1] ? (*in[1])[row.weights[i]] : 1); };
    for (size_t i = 0; i < row.places.size(); ++i) {
      sum += weighted(i);
      dot += weighted(i) * normal(i);
      if (out.size() > 1) (*out[1])[row.weights[i]] += (*in[3])[row.places[i]] * normal(i);
      if (out.size() > 2) (*out[2])[row.weights[i]] += (*in[3])[row.places[i]];
    }
    for (size_t i = 0; i < row.places.size(); ++i)
      (*out[0])[row.places[i]] = inv_std * (weighted(i) - (has_mean ? sum / n : 0) - normal(i) * dot / n);
  }
}

}  // namespace

void add_row_references(ReferenceTable& table) {
  table["softmax"] = softmax;
  table["softmax_gradient"] = softmax_gradient;
  table["argmax"] = argmax;
  table["layer_norm"] = table["group_norm"] = table["rms_norm"] = norm;
  table["layer_norm_gradient"] = table["group_norm_gradient"] = table["rms_norm_gradient"] = norm_gradient;
}

}  // namespace troika
