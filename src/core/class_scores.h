// Scores of a classifier: precision, recall, F1, the area under the ROC curve, and counts.
#pragma once

#include <cstdint>
#include <vector>

namespace troika {

// NaN: the score does not apply.
struct ClassScores {
  int64_t labels = 0, predicted = 0, correct = 0;
  double precision, recall, f1, auc;
};

struct Scores {
  double accuracy, top_accuracy;
  double precision, recall, f1, auc;  // means over the classes to which they apply
  std::vector<ClassScores> classes;
  std::vector<int64_t> confusion;  // [label, class with the largest output]
};

// `outputs` is [n, classes]. Throws INVALID_ARGUMENT for a label that is no class, and for NaN.
Scores compute_scores(const float* outputs, const int32_t* labels, int64_t n, int64_t classes, int64_t top,
                      bool are_logits);

}  // namespace troika
