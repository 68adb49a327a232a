// Counts in one pass over the samples, then the order of the probabilities, class by class.
#include "core/class_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double ratio(double count, double whole) { return whole > 0 ? count / whole : kNone; }

// Replaces logits by softmax. The largest counts as 0, so no exponential is too large.
void make_probabilities(std::vector<double>& values, int64_t n, int64_t classes) {
  for (int64_t i = 0; i < n; ++i) {
    double* const row = values.data() + i * classes;
    const double largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += row[c] = std::exp(row[c] - largest);
    for (int64_t c = 0; c < classes; ++c) row[c] /= sum;
  }
}

// The area under the ROC curve of class `c`, from the places of its samples' probabilities in
// the order of all. Equal probabilities share the mean of their places.
double auc_of(const std::vector<double>& probabilities, const int32_t* labels, int64_t n, int64_t classes, int64_t c,
              std::vector<int64_t>& order) {
  const auto probability = [&](int64_t i) { return probabilities[static_cast<size_t>(i * classes + c)]; };
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return probability(a) < probability(b); });
  double places = 0, positive = 0;
  for (int64_t begin = 0, end; begin < n; begin = end) {
    end = begin + 1;
    while (end < n && probability(order[static_cast<size_t>(end)]) == probability(order[static_cast<size_t>(begin)]))
      ++end;
    const double place = (static_cast<double>(begin) + 1 + static_cast<double>(end)) / 2;
    for (int64_t i = begin; i < end; ++i)
      if (labels[order[static_cast<size_t>(i)]] == c) {
        places += place;
        ++positive;
      }
  }
  const double negative = static_cast<double>(n) - positive;
  return ratio(places - positive * (positive + 1) / 2, positive * negative);
}

double mean_of(const std::vector<ClassScores>& classes, double ClassScores::*score) {
  double sum = 0, count = 0;
  for (const ClassScores& c : classes)
    if (!std::isnan(c.*score)) {
      sum += c.*score;
      ++count;
    }
  return ratio(sum, count);
}

}  // namespace

Scores compute_scores(const float* outputs, const int32_t* labels, int64_t n, int64_t classes, int64_t top,
                      bool are_logits) {
  Scores scores;
  scores.classes.resize(static_cast<size_t>(classes));
  scores.confusion.resize(static_cast<size_t>(classes * classes));
  int64_t correct = 0, among_top = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float* const row = outputs + i * classes;
    const int32_t label = labels[i];
    if (label < 0 || label >= classes)
      throw Error(Status::invalid_argument, text("label of sample ", i, " is ", label, ", needs 0 to ", classes - 1));
    if (const float* nan = std::find_if(row, row + classes, [](float x) { return std::isnan(x); });
        nan != row + classes)
      throw Error(Status::invalid_argument, text("output ", nan - row, " of sample ", i, " is NaN, needs a number"));
    const int64_t found = std::max_element(row, row + classes) - row;
    // Equal outputs before the label's come first.
    const int64_t before = std::count_if(row, row + label, [&](float x) { return x >= row[label]; }) +
                           std::count_if(row + label + 1, row + classes, [&](float x) { return x > row[label]; });
    among_top += before < top;
    correct += found == label;
    ++scores.confusion[static_cast<size_t>(label * classes + found)];
    ++scores.classes[static_cast<size_t>(label)].labels;
    ++scores.classes[static_cast<size_t>(found)].predicted;
    if (found == label) ++scores.classes[static_cast<size_t>(label)].correct;
  }
  std::vector<double> probabilities(outputs, outputs + n * classes);
  if (are_logits) make_probabilities(probabilities, n, classes);
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t c = 0; c < classes; ++c) {
    ClassScores& of = scores.classes[static_cast<size_t>(c)];
    const auto hits = static_cast<double>(of.correct), has = static_cast<double>(of.labels),
               found = static_cast<double>(of.predicted);
    of.precision = ratio(hits, found);
    of.recall = ratio(hits, has);
    of.f1 = ratio(2 * hits, has + found);
    of.auc = auc_of(probabilities, labels, n, classes, c, order);
  }
  scores.accuracy = static_cast<double>(correct) / static_cast<double>(n);
  scores.top_accuracy = static_cast<double>(among_top) / static_cast<double>(n);
  scores.precision = mean_of(scores.classes, &ClassScores::precision);
  scores.recall = mean_of(scores.classes, &ClassScores::recall);
  scores.f1 = mean_of(scores.classes, &ClassScores::f1);
  scores.auc = mean_of(scores.classes, &ClassScores::auc);
  return scores;
}

}  // namespace troika
