// Scores of classifiers, compared with sums over all pairs.
#include <cmath>
#include <limits>
#include <random>

#include "api/api_test.h"

namespace troika::test {
namespace {

class ScoresApi : public ApiTest {
 protected:
  troika_status compute(int64_t classes, int32_t top = 1, int32_t are_logits = 1) {
    rows_.assign(static_cast<size_t>(classes * TROIKA_SCORES_PER_CLASS), -1);
    confusion_.assign(static_cast<size_t>(classes * classes), -1);
    return troika_scores_compute(outputs_.data(), labels_.data(), static_cast<int64_t>(labels_.size()), classes, top,
                                 are_logits, &scores_, rows_.data(), confusion_.data(), &error_);
  }
  const double* row(int c) const { return rows_.data() + c * TROIKA_SCORES_PER_CLASS; }

  std::vector<float> outputs_;
  std::vector<int32_t> labels_;
  troika_scores scores_ = TROIKA_SCORES_INIT;
  std::vector<double> rows_;
  std::vector<int64_t> confusion_;
};

// Four samples of three classes, computed by hand. No sample is of class 2.
TEST_F(ScoresApi, are_those_of_their_definitions) {
  outputs_ = {0.7f, 0.2f, 0.1f, 0.1f, 0.6f, 0.3f, 0.5f, 0.4f, 0.1f, 0.2f, 0.3f, 0.5f};
  labels_ = {0, 1, 1, 0};
  expect_ok(compute(3, 2, 0));
  EXPECT_EQ(scores_.n, 4);
  EXPECT_EQ(scores_.top, 2);
  EXPECT_DOUBLE_EQ(scores_.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(scores_.top_accuracy, 0.75);
  EXPECT_EQ(confusion_, (std::vector<int64_t>{1, 0, 1, 1, 1, 0, 0, 0, 0}));
  const double none = std::numeric_limits<double>::quiet_NaN();
  // AUC of class 0: the pairs (0.7, 0.1), (0.7, 0.5), (0.2, 0.1) of 4; of class 1: all but none.
  const double expected[3][TROIKA_SCORES_PER_CLASS] = {
      {2, 2, 1, 0.5, 0.5, 0.5, 0.75}, {2, 1, 1, 1, 0.5, 2.0 / 3, 1}, {0, 1, 0, 0, none, 0, none}};
  for (int c = 0; c < 3; ++c)
    for (int i = 0; i < TROIKA_SCORES_PER_CLASS; ++i)
      if (std::isnan(expected[c][i]))
        EXPECT_TRUE(std::isnan(row(c)[i])) << c << ", " << i;
      else
        EXPECT_DOUBLE_EQ(row(c)[i], expected[c][i]) << c << ", " << i;
  EXPECT_DOUBLE_EQ(scores_.precision, 0.5);
  EXPECT_DOUBLE_EQ(scores_.recall, 0.5);
  EXPECT_DOUBLE_EQ(scores_.f1, (0.5 + 2.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(scores_.auc, 0.875);
  expect_ok(troika_scores_compute(outputs_.data(), labels_.data(), 4, 3, 3, 0, &scores_, nullptr, nullptr, &error_));
  EXPECT_DOUBLE_EQ(scores_.top_accuracy, 1);
}

// AUC by its definition: over all pairs of a sample of the class and another. Probabilities are
// often equal. Those of logits never are.
TEST_F(ScoresApi, auc_is_the_share_of_pairs_in_order) {
  constexpr int64_t kSamples = 300, kClasses = 4;
  for (bool are_logits : {false, true}) {
    std::mt19937 engine(7);
    std::normal_distribution<float> normal;
    labels_.clear();
    outputs_.clear();
    for (int64_t i = 0; i < kSamples; ++i) {
      labels_.push_back(static_cast<int32_t>(engine() % kClasses));
      for (int64_t c = 0; c < kClasses; ++c) {
        const float hint = labels_.back() == c ? 1.0f : 0.0f;
        outputs_.push_back(hint + (are_logits ? normal(engine) : static_cast<float>(engine() % 3)));
      }
    }
    expect_ok(compute(kClasses, 1, are_logits));
    for (int64_t c = 0; c < kClasses; ++c) {
      const auto probability = [&](int64_t i) {
        const float* const output = outputs_.data() + i * kClasses;
        if (!are_logits) return static_cast<double>(output[c]);
        double sum = 0;
        for (int64_t k = 0; k < kClasses; ++k) sum += std::exp(static_cast<double>(output[k]));
        return std::exp(static_cast<double>(output[c])) / sum;
      };
      double in_order = 0, pairs = 0;
      for (int64_t i = 0; i < kSamples; ++i)
        for (int64_t k = 0; k < kSamples; ++k)
          if (labels_[static_cast<size_t>(i)] == c && labels_[static_cast<size_t>(k)] != c) {
            const double d = probability(i) - probability(k);
            in_order += d == 0 ? 0.5 : d > 0;
            ++pairs;
          }
      EXPECT_NEAR(row(static_cast<int>(c))[6], in_order / pairs, 1e-12) << c << ", " << are_logits;
    }
  }
}

TEST_F(ScoresApi, the_first_of_equal_outputs_is_the_largest) {
  outputs_ = {1, 1, 1, 1};
  labels_ = {0, 1};
  expect_ok(compute(2));
  EXPECT_DOUBLE_EQ(scores_.accuracy, 0.5);
  EXPECT_DOUBLE_EQ(scores_.top_accuracy, 0.5);
  EXPECT_DOUBLE_EQ(scores_.auc, 0.5);
}

TEST_F(ScoresApi, refuse_what_has_no_scores) {
  outputs_ = {1, 2, 3, 4};
  labels_ = {0, 2};
  expect_refused(compute(2), kInvalid, "troika_scores_compute: label of sample 1 is 2, needs 0 to 1");
  labels_ = {0, -1};
  expect_refused(compute(2), kInvalid, "label of sample 1 is -1");
  labels_ = {0, 1};
  outputs_[3] = std::numeric_limits<float>::quiet_NaN();
  expect_refused(compute(2), kInvalid, "output 1 of sample 1 is NaN");
  outputs_[3] = std::numeric_limits<float>::infinity();
  expect_ok(compute(2, 1, 0));
  for (int32_t top : {0, 3}) expect_refused(compute(2, top), kInvalid, "'top' is " + std::to_string(top));
  expect_refused(compute(2, 1, 2), kInvalid, "'are_logits' is 2");
  expect_refused(compute(1), kInvalid, "'classes' is 1");
  const auto call = [&](const float* outputs, const int32_t* labels, int64_t n, troika_scores* scores) {
    return troika_scores_compute(outputs, labels, n, 2, 1, 1, scores, nullptr, nullptr, &error_);
  };
  expect_refused(call(nullptr, labels_.data(), 2, &scores_), kInvalid, "'outputs' is NULL");
  expect_refused(call(outputs_.data(), nullptr, 2, &scores_), kInvalid, "'labels' is NULL");
  expect_refused(call(outputs_.data(), labels_.data(), 0, &scores_), kInvalid, "'n' is 0");
  expect_refused(call(outputs_.data(), labels_.data(), INT64_MAX, &scores_), kInvalid, "too many samples");
  expect_refused(call(outputs_.data(), labels_.data(), 2, nullptr), kInvalid, "'out_scores' is NULL");
  scores_.struct_size = 3;
  expect_refused(call(outputs_.data(), labels_.data(), 2, &scores_), kInvalid, "struct_size is 3");
}

}  // namespace
}  // namespace troika::test
