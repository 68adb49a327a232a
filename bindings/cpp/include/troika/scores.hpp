/** @file scores.hpp Scores of a classifier. Any thread. */
#ifndef TROIKA_SCORES_HPP
#define TROIKA_SCORES_HPP

#include <troika/elements.hpp>
#include <troika/interface.hpp>

namespace troika {
inline namespace v1 {

/** Scores of a class. NaN: does not apply. */
struct ClassScores {
  std::int64_t labels = 0;     // samples of the class
  std::int64_t predicted = 0;  // samples whose largest output is that of the class
  std::int64_t correct = 0;    // those of both
  double precision = 0;
  double recall = 0;
  double f1 = 0;
  double auc = 0;
};

/** Scores over all classes, of each class, and the counts of [label, class that was found]. */
struct ScoreReport {
  Scores all;
  std::vector<ClassScores> classes;
  std::vector<std::int64_t> confusion;
};

/**
 * Computes scores of `outputs` [n, classes] for `labels` [n]: logits, or probabilities. `top` is
 * that of `Scores::top_accuracy`. Throws std::invalid_argument if the outputs are no rows, and
 * Error with invalid_argument for a label that is no class, and for NaN.
 */
inline ScoreReport compute_scores(Span<const float> outputs, Span<const std::int32_t> labels, std::int32_t top = 1,
                                  bool are_logits = true) {
  const auto n = static_cast<std::int64_t>(labels.size()), numbers = static_cast<std::int64_t>(outputs.size());
  if (n == 0 || numbers % n != 0)
    throw std::invalid_argument("compute_scores: " + std::to_string(numbers) + " outputs for " + std::to_string(n) +
                                " labels, need as many for each");
  const std::int64_t classes = numbers / n;
  std::vector<double> rows;
  rows.resize(static_cast<std::size_t>(classes) * TROIKA_SCORES_PER_CLASS);
  ScoreReport report;
  report.confusion.resize(static_cast<std::size_t>(classes * classes));
  auto all = detail::defaults<troika_scores>();
  detail::call(troika_scores_compute, outputs.data(), labels.data(), n, classes, top, are_logits ? 1 : 0, &all,
               rows.data(), report.confusion.data());
  report.all = detail::convert<Scores>(all);
  for (const double* row = rows.data(); row != rows.data() + rows.size(); row += TROIKA_SCORES_PER_CLASS)
    report.classes.push_back({static_cast<std::int64_t>(row[0]), static_cast<std::int64_t>(row[1]),
                              static_cast<std::int64_t>(row[2]), row[3], row[4], row[5], row[6]});
  return report;
}

}  // namespace v1
}  // namespace troika

#endif
