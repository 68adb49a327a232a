// The C functions of troika/scores.h.
#include <troika/scores.h>

#include "api/model_call.h"
#include "api/structs.h"
#include "core/class_scores.h"

using namespace troika;
using namespace troika::api;

troika_status troika_scores_compute(const float* outputs, const int32_t* labels, int64_t n, int64_t classes,
                                    int32_t top, int32_t are_logits, troika_scores* out_scores, double* class_scores,
                                    int64_t* confusion, troika_error* error) {
  constexpr const char* kName = "troika_scores_compute";
  return guard(error, [&] {
    required(outputs, kName, "outputs");
    required(labels, kName, "labels");
    result_size(out_scores, kName, "out_scores");
    constexpr int64_t kMostClasses = 1 << 20;
    if (n < 1) refuse(kName, text("argument 'n' is ", n, ", needs at least 1"));
    if (classes < 2 || classes > kMostClasses)
      refuse(kName, text("argument 'classes' is ", classes, ", needs 2 to ", kMostClasses));
    if (n > INT64_MAX / 16 / classes) refuse(kName, text("argument 'n' is ", n, ", which is too many samples"));
    if (top < 1 || top > classes) refuse(kName, text("argument 'top' is ", top, ", needs 1 to ", classes));
    if (are_logits != 0 && are_logits != 1)
      refuse(kName, text("argument 'are_logits' is ", are_logits, ", needs 0 or 1"));
    Scores found;
    try {
      found = compute_scores(outputs, labels, n, classes, top, are_logits == 1);
    } catch (const Error& e) {
      throw Error(e.status(), text(kName, ": ", e.what()));
    }
    troika_scores scores = TROIKA_SCORES_INIT;
    scores.top = top;
    scores.n = n;
    scores.accuracy = found.accuracy;
    scores.top_accuracy = found.top_accuracy;
    scores.precision = found.precision;
    scores.recall = found.recall;
    scores.f1 = found.f1;
    scores.auc = found.auc;
    write_result(out_scores, scores, kName, "out_scores");
    for (int64_t c = 0; class_scores && c < classes; ++c) {
      const ClassScores& of = found.classes[static_cast<size_t>(c)];
      const double row[TROIKA_SCORES_PER_CLASS] = {static_cast<double>(of.labels),
                                                   static_cast<double>(of.predicted),
                                                   static_cast<double>(of.correct),
                                                   of.precision,
                                                   of.recall,
                                                   of.f1,
                                                   of.auc};
      std::copy(std::begin(row), std::end(row), class_scores + c * TROIKA_SCORES_PER_CLASS);
    }
    if (confusion) std::copy(found.confusion.begin(), found.confusion.end(), confusion);
  });
}
