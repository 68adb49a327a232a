// Computes scores with the library, and writes them as text, CSV and SVG.
#include "cli/scores.h"

#include <cmath>

#include "cli/class_names.h"
#include "cli/files.h"
#include "cli/heat_map.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {
namespace {

std::string number(double value, const char* none) { return std::isnan(value) ? none : formatted("%.4f", value); }

std::string scores_csv(const ClassifierScores& scores) {
  std::string text = "class,labels,predicted,correct,precision,recall,f1,auc\n";
  for (int64_t c = 0; c < scores.classes; ++c) {
    const double* const row = scores.by_class.data() + c * TROIKA_SCORES_PER_CLASS;
    text += csv_cell(name_of_class(scores.names, c)) + formatted(",%.0f,%.0f,%.0f", row[0], row[1], row[2]);
    for (int i = 3; i < TROIKA_SCORES_PER_CLASS; ++i) text += "," + number(row[i], "");
    text += "\n";
  }
  return text;
}

std::string confusion_csv(const ClassifierScores& scores) {
  std::string text = "label";
  for (int64_t c = 0; c < scores.classes; ++c) text += "," + csv_cell(name_of_class(scores.names, c));
  text += "\n";
  for (int64_t row = 0; row < scores.classes; ++row) {
    text += csv_cell(name_of_class(scores.names, row));
    for (int64_t c = 0; c < scores.classes; ++c)
      text += "," + std::to_string(scores.confusion[static_cast<size_t>(row * scores.classes + c)]);
    text += "\n";
  }
  return text;
}

}  // namespace

ClassifierScores compute_scores(const std::vector<float>& outputs, const std::vector<int32_t>& labels, int top) {
  ClassifierScores scores;
  const auto n = static_cast<int64_t>(labels.size());
  scores.classes = static_cast<int64_t>(outputs.size()) / n;
  scores.by_class.resize(static_cast<size_t>(scores.classes * TROIKA_SCORES_PER_CLASS));
  scores.confusion.resize(static_cast<size_t>(scores.classes * scores.classes));
  call(troika_scores_compute, outputs.data(), labels.data(), n, scores.classes, top, 1, &scores.all,
       scores.by_class.data(), scores.confusion.data());
  return scores;
}

std::string describe(const ClassifierScores& scores) {
  const troika_scores& all = scores.all;
  return formatted("precision %s  recall %s  F1 %s  AUC %s  top-%d %s", number(all.precision, "n/a").c_str(),
                   number(all.recall, "n/a").c_str(), number(all.f1, "n/a").c_str(), number(all.auc, "n/a").c_str(),
                   all.top, number(all.top_accuracy, "n/a").c_str());
}

void write_scores(const ClassifierScores& scores, const std::string& folder) {
  const std::filesystem::path path = path_of(folder);
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw Failure("cannot create folder '" + folder + "': " + failed.message());
  write_file(path / "scores.csv", scores_csv(scores));
  write_file(path / "confusion.csv", confusion_csv(scores));
  HeatMap map;
  map.title = formatted("accuracy %.4f of %s samples", scores.all.accuracy, with_commas(scores.all.n).c_str());
  map.row_label = "label";
  map.column_label = "class with the largest output";
  map.size = scores.classes;
  map.counts = scores.confusion;
  for (int64_t c = 0; c < scores.classes; ++c) map.names.push_back(name_of_class(scores.names, c));
  write_file(path / "confusion.svg", render_svg(map));
}

}  // namespace troika::cli
