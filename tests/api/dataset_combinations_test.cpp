// Subsets, parts and concatenations of datasets, and loaders that draw by weights.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "api/api_test.h"
#include "support/test_seed.h"

namespace troika::test {
namespace {

class Combinations : public ApiTest {
 protected:
  void TearDown() override {
    for (troika_dataset dataset : owned_) troika_dataset_destroy(dataset);
    ApiTest::TearDown();
  }

  // Creates `n` samples [2] of which the first number is first + i, with labels i mod 5.
  troika_dataset number(int64_t first, int64_t n) {
    std::vector<float> inputs;
    std::vector<int32_t> labels;
    labels.reserve(1);  // not NULL
    for (int64_t i = 0; i < n; ++i) {
      inputs.insert(inputs.end(), {static_cast<float>(first + i), 0.5f});
      labels.push_back(static_cast<int32_t>((first + i) % 5));
    }
    const int64_t dims[] = {2};
    troika_dataset dataset = nullptr;
    expect_ok(troika_dataset_create_arrays(context_, inputs.data(), dims, 1, n, labels.data(), nullptr, 0, &dataset,
                                           &error_));
    return keep(dataset);
  }

  troika_dataset keep(troika_dataset dataset) {
    owned_.push_back(dataset);
    return dataset;
  }

  troika_dataset subset(troika_dataset dataset, const std::vector<int64_t>& indices) {
    troika_dataset out = nullptr;
    expect_ok(troika_dataset_subset(dataset, indices.data(), static_cast<int64_t>(indices.size()), &out, &error_));
    return keep(out);
  }

  troika_dataset concat(const std::vector<troika_dataset>& datasets) {
    troika_dataset out = nullptr;
    expect_ok(troika_dataset_concat(datasets.data(), static_cast<int32_t>(datasets.size()), &out, &error_));
    return keep(out);
  }

  std::vector<troika_dataset> split(troika_dataset dataset, const std::vector<int64_t>& sizes, int32_t shuffle,
                                    uint64_t seed) {
    std::vector<troika_dataset> parts(sizes.size());
    expect_ok(troika_dataset_split(dataset, sizes.data(), static_cast<int32_t>(sizes.size()), shuffle, seed,
                                   parts.data(), &error_));
    for (troika_dataset part : parts) keep(part);
    return parts;
  }

  troika_loader_options options_of(int64_t batch) {
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = batch;
    return options;
  }

  // Reads the numbers of the rest of an epoch, and checks the labels.
  std::vector<int64_t> rest_of_epoch(troika_loader loader) {
    std::vector<int64_t> numbers;
    troika_batch batch = nullptr;
    while (troika_loader_next(loader, &batch, &error_) == TROIKA_OK) {
      troika_batch_info info = TROIKA_BATCH_INFO_INIT;
      EXPECT_EQ(troika_batch_describe(batch, &info, &error_), TROIKA_OK);
      for (int64_t i = 0; i < info.n; ++i) {
        numbers.push_back(static_cast<int64_t>(info.inputs[2 * i]));
        EXPECT_EQ(info.inputs[2 * i + 1], 0.5f);
        EXPECT_EQ(info.labels[i], numbers.back() % 5);
      }
    }
    EXPECT_EQ(error_.status, TROIKA_OK) << error_.message;
    return numbers;
  }

  std::vector<int64_t> numbers_of(troika_dataset dataset, int64_t batch = 3) {
    const troika_loader_options options = options_of(batch);
    troika_loader loader = nullptr;
    expect_ok(troika_loader_create(dataset, &options, &loader, &error_));
    const std::vector<int64_t> numbers = rest_of_epoch(loader);
    troika_loader_destroy(loader);
    return numbers;
  }

  std::vector<troika_dataset> owned_;
};

using Numbers = std::vector<int64_t>;

Numbers counted(int64_t first, int64_t n) {
  Numbers numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

TEST_F(Combinations, of_indices_in_any_order) {
  troika_dataset whole = number(0, 20);
  EXPECT_EQ(numbers_of(subset(whole, {19, 0, 0, 7, 8, 9, 7})), (Numbers{19, 0, 0, 7, 8, 9, 7}));
  EXPECT_EQ(numbers_of(subset(whole, {5, 6, 7})), (Numbers{5, 6, 7}));
  EXPECT_EQ(numbers_of(subset(whole, {})), Numbers{});
  troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
  expect_ok(troika_dataset_describe(subset(whole, {1, 1}), &info, &error_));
  EXPECT_EQ(info.n, 2);
  EXPECT_EQ(info.classes, 5) << "those of the whole dataset";
  EXPECT_EQ(info.dims[0], 2);
}

TEST_F(Combinations, of_parts_that_share_no_sample) {
  troika_dataset whole = number(100, 23);
  auto parts = split(whole, {10, 0, 8}, 0, 0);
  EXPECT_EQ(numbers_of(parts[0]), counted(100, 10));
  EXPECT_EQ(numbers_of(parts[1]), Numbers{});
  EXPECT_EQ(numbers_of(parts[2]), counted(110, 8));

  const auto shuffled = [&](uint64_t seed) {
    Numbers all;
    for (troika_dataset part : split(whole, {11, 12}, 1, seed))
      for (int64_t number : numbers_of(part)) all.push_back(number);
    return all;
  };
  const Numbers first = shuffled(42);
  EXPECT_EQ(first, shuffled(42));
  EXPECT_NE(first, shuffled(43));
  Numbers sorted = first;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, counted(100, 23));
  EXPECT_NE(first, sorted);
}

TEST_F(Combinations, of_one_dataset_after_another) {
  troika_dataset a = number(0, 7), b = number(100, 1), none = number(500, 0), c = number(200, 9);
  Numbers expected = counted(0, 7);
  expected.push_back(100);
  for (int64_t number : counted(200, 9)) expected.push_back(number);
  EXPECT_EQ(numbers_of(concat({a, b, none, c})), expected);
  EXPECT_EQ(numbers_of(concat({a})), counted(0, 7));
  EXPECT_EQ(numbers_of(concat({b, b, b})), (Numbers{100, 100, 100}));
  EXPECT_EQ(numbers_of(concat({none, none})), Numbers{});
  EXPECT_EQ(numbers_of(concat({none, subset(a, {3, 2})})), (Numbers{3, 2}));
}

// Random combinations of combinations, next to the same on vectors of numbers.
TEST_F(Combinations, of_combinations) {
  std::mt19937 random(static_cast<uint32_t>(test_seed()));
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  std::vector<std::pair<troika_dataset, Numbers>> all;
  for (int64_t i = 0; i < 4; ++i) all.emplace_back(number(1000 * i, 3 + i), counted(1000 * i, 3 + i));
  for (int round = 0; round < 60; ++round) {
    const auto& [dataset, numbers] = all[below(all.size())];
    const size_t n = numbers.size();
    if (round % 3 == 0) {
      Numbers indices, expected;
      for (size_t i = n == 0 ? 0 : below(2 * n); i > 0; --i) {
        indices.push_back(static_cast<int64_t>(below(n)));
        expected.push_back(numbers[static_cast<size_t>(indices.back())]);
      }
      all.emplace_back(subset(dataset, indices), expected);
    } else if (round % 3 == 1) {
      const size_t cut = below(n + 1);
      const auto parts = split(dataset, {static_cast<int64_t>(cut), static_cast<int64_t>(n - cut)}, 0, 0);
      const Numbers head(numbers.begin(), numbers.begin() + static_cast<int64_t>(cut));
      const Numbers tail(numbers.begin() + static_cast<int64_t>(cut), numbers.end());
      all.emplace_back(parts[0], head);
      all.emplace_back(parts[1], tail);
    } else if (n < 300) {
      const auto [other, others] = all[below(all.size())];
      Numbers expected = numbers;
      expected.insert(expected.end(), others.begin(), others.end());
      all.emplace_back(concat({dataset, other}), expected);
    }
    ASSERT_EQ(numbers_of(all.back().first, 1 + round % 7), all.back().second) << round;
  }
}

TEST_F(Combinations, nest_to_any_depth) {
  troika_dataset dataset = number(0, 5), last = number(9, 1);
  for (int i = 0; i < 3000; ++i) {
    dataset = subset(dataset, {4, 3, 2, 1, 0});
    if (i % 100 == 0) dataset = subset(concat({dataset, last}), {0, 1, 2, 3, 4});
  }
  EXPECT_EQ(numbers_of(dataset), counted(0, 5));
}

TEST_F(Combinations, are_refused_if_they_cannot_be) {
  troika_dataset whole = number(0, 5), out = garbage<troika_dataset>();
  const auto refuse = [&](troika_status status, const std::string& message) {
    expect_refused(status, kInvalid, message);
    EXPECT_EQ(out, nullptr);
    out = garbage<troika_dataset>();
  };
  const int64_t low[] = {0, -1}, high[] = {5}, huge[] = {INT64_MAX}, pair[] = {3, 3};
  refuse(troika_dataset_subset(whole, low, 2, &out, &error_), "indices[1] is -1, there are 5 samples");
  refuse(troika_dataset_subset(whole, high, 1, &out, &error_), "indices[0] is 5, there are 5 samples");
  refuse(troika_dataset_subset(whole, low, -1, &out, &error_), "count is -1");
  refuse(troika_dataset_subset(whole, nullptr, 1, &out, &error_), "'indices' is NULL");
  refuse(troika_dataset_subset(nullptr, low, 1, &out, &error_), "'dataset' is NULL");
  expect_refused(troika_dataset_subset(whole, low, 1, nullptr, &error_), kInvalid, "'out_dataset' is NULL");

  refuse(troika_dataset_split(whole, low + 1, 1, 0, 0, &out, &error_), "sizes[0] is -1, need 0 to 5");
  refuse(troika_dataset_split(whole, huge, 1, 0, 0, &out, &error_), "sizes[0] is 9223372036854775807, need 0 to 5");
  refuse(troika_dataset_split(whole, high, 1, 2, 0, &out, &error_), "shuffle is 2");
  refuse(troika_dataset_split(whole, nullptr, 1, 0, 0, &out, &error_), "'sizes' is NULL");
  expect_refused(troika_dataset_split(whole, high, 0, 0, 0, &out, &error_), kInvalid, "parts is 0");
  expect_refused(troika_dataset_split(whole, high, 1, 0, 0, nullptr, &error_), kInvalid, "'out_datasets' is NULL");
  troika_dataset two[] = {garbage<troika_dataset>(), garbage<troika_dataset>()};
  expect_refused(troika_dataset_split(whole, pair, 2, 0, 0, two, &error_), kInvalid, "sizes[1] is 3, need 0 to 2");
  EXPECT_EQ(two[0], nullptr);
  EXPECT_EQ(two[1], nullptr);

  const float numbers[4] = {};
  const int32_t labels[2] = {};
  const int64_t dims[] = {1}, same[] = {2};
  troika_dataset other = nullptr, values = nullptr, none = nullptr;
  expect_ok(troika_dataset_create_arrays(context_, numbers, dims, 1, 2, labels, nullptr, 0, &other, &error_));
  expect_ok(troika_dataset_create_arrays(context_, numbers, same, 1, 2, nullptr, numbers, 2, &values, &error_));
  troika_arrays arrays = TROIKA_ARRAYS_INIT;
  arrays.inputs = numbers;
  arrays.dims = same;
  arrays.rank = 1;
  arrays.n = 2;
  expect_ok(troika_dataset_create_from(context_, &arrays, &none, &error_));
  for (troika_dataset different : {other, values, none}) {
    const troika_dataset both[] = {whole, keep(different)};
    refuse(troika_dataset_concat(both, 2, &out, &error_), "samples of datasets[1] are f32[");
  }
  const troika_dataset missing[] = {whole, nullptr}, wrong[] = {cast<troika_dataset>(context_)};
  refuse(troika_dataset_concat(missing, 2, &out, &error_), "'datasets[1]' is NULL");
  refuse(troika_dataset_concat(wrong, 1, &out, &error_), "'datasets[0]' is not a live handle");
  refuse(troika_dataset_concat(missing, 0, &out, &error_), "count is 0");
  refuse(troika_dataset_concat(nullptr, 1, &out, &error_), "'datasets' is NULL");
  const int64_t image[] = {1};
  troika_dataset big = nullptr;
  expect_ok(troika_dataset_create_synthetic(context_, image, 1, int64_t{1} << 59, 2, 0, &big, &error_));
  const std::vector<troika_dataset> bigs(16, keep(big));
  refuse(troika_dataset_concat(bigs.data(), 16, &out, &error_), "more than 2^63 - 1 samples");
}

// ---- loaders that draw by weights ----

TEST_F(Combinations, are_drawn_by_weights) {
  troika_dataset whole = number(0, 6);
  const double weights[] = {0, 1, 0, 3, 0, 6};
  troika_loader_options options = options_of(7);
  options.weights = weights;
  options.epoch_samples = 10001;
  options.seed = 5;
  expect_ok(troika_loader_create(whole, &options, &loader_, &error_));
  troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
  expect_ok(troika_loader_tell(loader_, &position, &error_));
  EXPECT_EQ(position.batches, 1429);
  const Numbers first = rest_of_epoch(loader_), second = rest_of_epoch(loader_);
  ASSERT_EQ(first.size(), 10001u);
  EXPECT_NE(first, second);
  std::map<int64_t, double> counts;
  for (int64_t number : first) ++counts[number];
  ASSERT_EQ(counts.size(), 3u) << "samples of weight 0";
  double chi_square = 0;
  for (const auto& [number, share] : {std::pair<int64_t, double>{1, 0.1}, {3, 0.3}, {5, 0.6}})
    chi_square += (counts[number] - share * 10001) * (counts[number] - share * 10001) / (share * 10001);
  EXPECT_LT(chi_square, 13.8) << "once in 1,000 times with 2 degrees of freedom";

  for (const int32_t prefetch : {0, 1, 7}) {
    options.prefetch = prefetch;
    troika_loader other = nullptr;
    expect_ok(troika_loader_create(whole, &options, &other, &error_));
    EXPECT_EQ(rest_of_epoch(other), first);
    const troika_loader_position to = {sizeof to, 0, 1, 1000, 1429};
    expect_ok(troika_loader_seek(other, &to, &error_));
    EXPECT_EQ(rest_of_epoch(other), Numbers(second.begin() + 7000, second.end()));
    troika_loader_destroy(other);
  }
}

TEST_F(Combinations, have_as_many_draws_as_samples_by_default) {
  troika_dataset whole = number(0, 10);
  const std::vector<double> weights(10, 0.1);
  troika_loader_options options = options_of(4);
  options.weights = weights.data();
  options.drop_last = 1;
  expect_ok(troika_loader_create(whole, &options, &loader_, &error_));
  EXPECT_EQ(rest_of_epoch(loader_).size(), 8u);
}

TEST_F(Combinations, keep_the_weights_of_their_samples) {
  const float numbers[] = {1, 0.25f, 3, 0}, others[] = {5, 6};
  troika_dataset weighted = nullptr, again = nullptr;
  expect_ok(troika_dataset_weigh(number(0, 4), numbers, 4, &weighted, &error_));
  keep(weighted);
  const troika_dataset part = subset(weighted, {2, 1, 2}), all = concat({number(10, 1), part});
  expect_ok(troika_dataset_weigh(subset(weighted, {0, 1}), others, 2, &again, &error_));
  keep(again);
  const auto weights_in = [&](troika_dataset dataset) {
    troika_loader_options options = options_of(3);
    troika_loader loader = nullptr;
    expect_ok(troika_loader_create(dataset, &options, &loader, &error_));
    std::vector<float> weights;
    troika_batch batch = nullptr;
    while (troika_loader_next(loader, &batch, &error_) == TROIKA_OK) {
      troika_batch_info info = TROIKA_BATCH_INFO_INIT;
      expect_ok(troika_batch_describe(batch, &info, &error_));
      if (info.weights) weights.insert(weights.end(), info.weights, info.weights + info.n);
    }
    troika_loader_destroy(loader);
    return weights;
  };
  EXPECT_EQ(weights_in(weighted), (std::vector<float>{1, 0.25f, 3, 0}));
  EXPECT_EQ(weights_in(all), (std::vector<float>{1, 3, 0.25f, 3}));
  EXPECT_EQ(weights_in(again), (std::vector<float>{5, 6}));
  EXPECT_EQ(weights_in(number(0, 4)), std::vector<float>());

  const auto refuse = [&](const std::vector<float>& weights, int64_t count, const std::string& message) {
    troika_dataset out = garbage<troika_dataset>();
    expect_refused(troika_dataset_weigh(part, weights.empty() ? nullptr : weights.data(), count, &out, &error_),
                   kInvalid, message);
    EXPECT_EQ(out, nullptr);
  };
  refuse({1, 1}, 2, "count is 2, need one weight for each of 3 samples");
  refuse({1, -0.5f, 1}, 3, "weights[1] is -0.5, need 0, or 1e-15 to 1e+15");
  refuse({1, 1, NAN}, 3, "weights[2] is nan");
  refuse({}, 3, "argument 'weights' is NULL");
  refuse({1}, -1, "count is -1, need one weight for each of 3 samples");
}

TEST_F(Combinations, refuse_weights_that_are_none) {
  troika_dataset whole = number(0, 3);
  const auto refuse = [&](const std::vector<double>& weights, const std::function<void(troika_loader_options&)>& change,
                          const std::string& message) {
    troika_loader_options options = options_of(2);
    options.weights = weights.empty() ? nullptr : weights.data();
    change(options);
    troika_loader loader = garbage<troika_loader>();
    expect_refused(troika_loader_create(whole, &options, &loader, &error_), kInvalid, message);
    EXPECT_EQ(loader, nullptr);
  };
  const auto as_is = [](troika_loader_options&) {};
  refuse({1, -1, 0}, as_is, "weights[1] is -1");
  refuse({1, 0, NAN}, as_is, "weights[2] is nan");
  refuse({INFINITY, 0, 1}, as_is, "weights[0] is inf");
  refuse({0, 0, 0}, as_is, "its 3 weights are all 0");
  refuse(
      {1, 1, 1}, [](auto& o) { o.shuffle = 1; }, "options.weights is set and options.shuffle is 1");
  refuse(
      {1, 1, 1}, [](auto& o) { o.epoch_samples = -1; }, "options.epoch_samples is -1");
  refuse(
      {}, [](auto& o) { o.epoch_samples = 4; }, "options.epoch_samples is 4, need 0 without options.weights");
  whole = number(0, 0);
  refuse({1}, as_is, "the dataset has no samples");
}

}  // namespace
}  // namespace troika::test
