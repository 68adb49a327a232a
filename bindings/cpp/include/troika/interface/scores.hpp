/** @file interface/scores.hpp Options and results of scores.h in C++.
 *
 * Written by bindings/generate.py from the C headers; do not edit.
 *
 * Comments are those of C. 1 is true and 0 is false for a flag, and NULL is no value.
 */
#ifndef TROIKA_INTERFACE_SCORES_HPP
#define TROIKA_INTERFACE_SCORES_HPP

#include <troika/interface/defaults.hpp>

namespace troika {
inline namespace v1 {

/** Scores over all classes. Filled by troika_scores_compute. NaN: does not apply. */
struct Scores {
  /** The argument top. */
  std::int32_t top = {};
  /** Samples. */
  std::int64_t n = {};
  /** Samples whose largest output is that of their label, of all. */
  double accuracy = {};
  /** Samples whose label is among the top largest outputs, of all. */
  double top_accuracy = {};
  /** Mean over the classes to which precision applies. */
  double precision = {};
  /** Mean over the classes to which recall applies. */
  double recall = {};
  /** Mean over the classes to which F1 applies. */
  double f1 = {};
  /** Mean over the classes to which AUC applies. */
  double auc = {};
};

namespace detail {

template <>
struct Converter<Scores> {
  using Struct = troika_scores;
  static Scores from(const troika_scores& from) {
    Scores to;
    to.top = convert<std::int32_t>(from.top);
    to.n = convert<std::int64_t>(from.n);
    to.accuracy = convert<double>(from.accuracy);
    to.top_accuracy = convert<double>(from.top_accuracy);
    to.precision = convert<double>(from.precision);
    to.recall = convert<double>(from.recall);
    to.f1 = convert<double>(from.f1);
    to.auc = convert<double>(from.auc);
    return to;
  }
};

}  // namespace detail

}  // namespace v1
}  // namespace troika

#endif
