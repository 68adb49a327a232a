/** @file scores.h Scores of a classifier: how well its outputs fit the labels, class by class.
 *
 * The outputs are those of `troika_trainer_predict_loader`, of `troika_model_predict_into`, or of
 * any other program. A metric of a program's own reads the same array.
 *
 * Threads: any thread, at any time.
 */
#ifndef TROIKA_SCORES_H
#define TROIKA_SCORES_H

#include <troika/status.h>

TROIKA_BEGIN_DECLS

/** Numbers per class of `troika_scores_compute`. */
#define TROIKA_SCORES_PER_CLASS 7

/** Scores over all classes. Filled by `troika_scores_compute`. NaN: does not apply. */
typedef struct troika_scores {
  uint32_t struct_size;  /**< Set by the caller to sizeof(troika_scores). */
  int32_t top;           /**< The argument `top`. */
  int64_t n;             /**< Samples. */
  double accuracy;       /**< Samples whose largest output is that of their label, of all. */
  double top_accuracy;   /**< Samples whose label is among the `top` largest outputs, of all. */
  double precision;      /**< Mean over the classes to which precision applies. */
  double recall;         /**< Mean over the classes to which recall applies. */
  double f1;             /**< Mean over the classes to which F1 applies. */
  double auc;            /**< Mean over the classes to which AUC applies. */
} troika_scores;

/** All zero except `struct_size`. */
#define TROIKA_SCORES_INIT \
  { sizeof(troika_scores), 0, 0, 0, 0, 0, 0, 0, 0 }

/** Fills `scores` as TROIKA_SCORES_INIT does. Any thread. */
TROIKA_API(void) troika_scores_init(troika_scores *scores, uint32_t struct_size);

/**
 * Computes scores of `n` samples. `outputs` is f32 [n, classes], `labels` i32 [n]: logits if
 * `are_logits` is 1, else probabilities. Among equal outputs of a sample the first counts as the
 * largest. `top` is 1 to `classes`.
 *
 * `class_scores`, if not NULL, receives [classes, TROIKA_SCORES_PER_CLASS] numbers. A row has, in
 * this order, with NaN for a score that does not apply because nothing is there to divide by:
 * - labels: the samples of the class.
 * - predicted: the samples whose largest output is that of the class.
 * - correct: those of both.
 * - precision: correct / predicted.
 * - recall: correct / labels, the accuracy of the class.
 * - F1: 2 correct / (labels + predicted).
 * - AUC: the area under the ROC curve of the class against all others (Mann and Whitney 1947). It
 *   is the share of pairs of a sample of the class and another sample in which the first has the
 *   larger probability of the class. Equal ones count half.
 *
 * `confusion`, if not NULL, receives [classes, classes] counts: row i, column j has the samples of
 * label i whose largest output is that of class j.
 *
 * Errors: INVALID_ARGUMENT (`n` below 1, `classes` outside 2 to 2^20, `top`, `are_logits`, a label
 * that is no class, an output that is NaN, `struct_size`), OUT_OF_MEMORY. Any thread.
 *
 *     troika_scores_compute(outputs, labels, n, 10, 5, 1, &scores, NULL, NULL, &error);
 */
TROIKA_API(troika_status) troika_scores_compute(const float *outputs, const int32_t *labels,
                                                int64_t n, int64_t classes, int32_t top,
                                                int32_t are_logits, troika_scores *out_scores,
                                                double *class_scores, int64_t *confusion,
                                                troika_error *error);

TROIKA_END_DECLS

#endif
