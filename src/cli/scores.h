// The scores of an evaluation by class: precision, recall, F1, AUC and the confusion matrix.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/client.h"

namespace troika::cli {

struct ClassifierScores {
  troika_scores all = TROIKA_SCORES_INIT;
  int64_t classes = 0;
  std::vector<std::string> names;  // of the classes; empty: they have none
  std::vector<double> by_class;    // [classes, TROIKA_SCORES_PER_CLASS]
  std::vector<int64_t> confusion;  // [classes, classes]
};

// `outputs` are logits [labels, classes].
ClassifierScores compute_scores(const std::vector<float>& outputs, const std::vector<int32_t>& labels, int top);

// "precision 0.8812  recall 0.8801  F1 0.8804  AUC 0.9903  top-5 0.9971". "n/a" for what does not
// apply.
std::string describe(const ClassifierScores& scores);

// Writes scores.csv, confusion.csv and confusion.svg to the folder, which is created if there is
// none.
void write_scores(const ClassifierScores& scores, const std::string& folder);

}  // namespace troika::cli
