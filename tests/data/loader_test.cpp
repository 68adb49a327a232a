// Loader: every sample once per epoch, exact resume, and a prefetch thread without visible effects.
#include "data/loader.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>

#include "core/sampler.h"
#include "data/array_dataset.h"
#include "data/data_helpers.h"
#include "data/synthetic_dataset.h"

namespace troika {
namespace {

using namespace test;

LoaderOptions options_of(int64_t batch, bool shuffle = true, int32_t prefetch = 2, bool drop_last = false) {
  LoaderOptions options;
  options.batch = batch;
  options.shuffle = shuffle;
  options.prefetch = prefetch;
  options.drop_last = drop_last;
  options.seed = 11;
  return options;
}

// Returns a dataset of n samples [2]. Sample i is {i, -i} with label i.
std::shared_ptr<const Dataset> counting_dataset(int64_t n) {
  std::vector<float> inputs;
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < n; ++i) {
    inputs.push_back(static_cast<float>(i));
    inputs.push_back(static_cast<float>(-i));
    labels.push_back(static_cast<int32_t>(i));
  }
  return std::make_shared<const ArrayDataset>(Shape{2}, std::move(inputs), std::move(labels));
}

// Returns the labels of every batch up to the epoch's end.
std::vector<std::vector<int32_t>> rest_of_epoch(Loader& loader) {
  std::vector<std::vector<int32_t>> batches;
  while (const Batch* batch = loader.next()) batches.push_back(batch->labels);
  return batches;
}

std::vector<int32_t> sorted_together(const std::vector<std::vector<int32_t>>& batches) {
  std::vector<int32_t> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<int32_t> up_to(int32_t n) {
  std::vector<int32_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// For any number of samples and any batch size, an epoch is the whole dataset without padding. So
// sums over batches are exact for the dataset.
TEST(Loader, gives_every_sample_exactly_once_in_a_shuffled_epoch) {
  for (int32_t n : {1, 2, 7, 8, 9, 100})
    for (int64_t batch : {1, 2, 3, 8, 1000})
      for (int32_t prefetch : {0, 1, 3}) {
        SCOPED_TRACE(testing::Message() << n << " samples, batch " << batch << ", prefetch " << prefetch);
        Loader loader(counting_dataset(n), options_of(batch, true, prefetch));
        for (int epoch = 0; epoch < 3; ++epoch) {
          const auto batches = rest_of_epoch(loader);
          EXPECT_EQ(sorted_together(batches), up_to(n));
          EXPECT_EQ(static_cast<int64_t>(batches.size()), (n + batch - 1) / batch);
        }
      }
}

TEST(Loader, gives_inputs_with_their_own_labels) {
  Loader loader(counting_dataset(10), options_of(4));
  while (const Batch* batch = loader.next()) {
    EXPECT_EQ(batch->shape, (Shape{static_cast<int64_t>(batch->labels.size()), 2}));
    EXPECT_EQ(batch->inputs.size(), 2 * batch->labels.size());
    for (size_t i = 0; i < batch->labels.size(); ++i) {
      EXPECT_EQ(batch->inputs[2 * i], static_cast<float>(batch->labels[i]));
      EXPECT_EQ(batch->inputs[2 * i + 1], static_cast<float>(-batch->labels[i]));
    }
  }
}

TEST(Loader, gives_the_datasets_own_order_without_shuffle) {
  Loader loader(counting_dataset(5), options_of(2, false));
  for (int epoch = 0; epoch < 2; ++epoch)
    EXPECT_EQ(rest_of_epoch(loader), (std::vector<std::vector<int32_t>>{{0, 1}, {2, 3}, {4}}));
}

TEST(Loader, leaves_the_last_smaller_batch_out_where_asked) {
  Loader loader(counting_dataset(5), options_of(2, false, 2, true));
  EXPECT_EQ(loader.batches(), 2);
  EXPECT_EQ(rest_of_epoch(loader), (std::vector<std::vector<int32_t>>{{0, 1}, {2, 3}}));
  Loader whole(counting_dataset(4), options_of(2, false, 2, true));
  EXPECT_EQ(rest_of_epoch(whole).size(), 2u);
}

TEST(Loader, shuffles_another_way_in_every_epoch_by_itself) {
  Loader loader(counting_dataset(100), options_of(100));
  const auto first = rest_of_epoch(loader), second = rest_of_epoch(loader);
  EXPECT_NE(first, second);
  EXPECT_EQ(sorted_together(first), sorted_together(second));
}

TEST(Loader, shuffles_another_way_with_another_seed) {
  LoaderOptions options = options_of(100);
  Loader one(counting_dataset(100), options);
  options.seed = 12;
  Loader other(counting_dataset(100), options);
  EXPECT_NE(rest_of_epoch(one), rest_of_epoch(other));
}

TEST(Loader, gives_values_where_targets_are_values) {
  const auto dataset = std::make_shared<const ArrayDataset>(Shape{1}, std::vector<float>{1, 2, 3},
                                                            std::vector<float>{1, 10, 2, 20, 3, 30}, 2);
  Loader loader(dataset, options_of(2, false));
  const Batch* batch = loader.next();
  EXPECT_TRUE(batch->labels.empty());
  EXPECT_EQ(batch->value_size, 2);
  EXPECT_EQ(batch->values, (std::vector<float>{1, 10, 2, 20}));
  EXPECT_EQ(loader.next()->values, (std::vector<float>{3, 30}));
}

TEST(Loader, tells_the_batch_that_comes_next) {
  Loader loader(counting_dataset(5), options_of(2));
  EXPECT_EQ(loader.tell(), (BatchPosition{0, 0, 3}));
  EXPECT_EQ(loader.next()->origin->next, (BatchPosition{0, 1, 3}));
  EXPECT_EQ(loader.tell(), (BatchPosition{0, 1, 3}));
  loader.next();
  EXPECT_EQ(loader.next()->origin->next, (BatchPosition{1, 0, 3})) << "after the last batch stands the next epoch";
  EXPECT_EQ(loader.tell(), (BatchPosition{0, 3, 3})) << "the end of the epoch is still to be told";
  EXPECT_EQ(loader.next(), nullptr);
  EXPECT_EQ(loader.tell(), (BatchPosition{1, 0, 3}));
}

TEST(Loader, marks_its_batches_with_the_seed_of_the_shuffle) {
  Loader loader(counting_dataset(5), options_of(2));
  const Batch* batch = loader.next();
  ASSERT_TRUE(batch->origin);
  EXPECT_EQ(batch->origin->order.seed, 11u);
  EXPECT_EQ(batch->origin->at, (BatchPosition{0, 0, 3}));
  EXPECT_EQ(loader.next()->origin->at, (BatchPosition{0, 1, 3}));
  Loader in_order(counting_dataset(5), options_of(2, false));
  EXPECT_EQ(in_order.next()->origin->order.seed, std::nullopt) << "a seed that nothing is shuffled with";
}

// Resume in the middle of an epoch: a new loader that seeks returns the same batches as the old
// loader would have returned.
TEST(Loader, continues_after_a_seek_as_if_it_had_never_stopped) {
  for (int32_t prefetch : {0, 2})
    for (int64_t epoch : {0, 1, 2})
      for (int64_t at : {0, 1, 3, 4}) {
        SCOPED_TRACE(testing::Message() << "epoch " << epoch << ", batch " << at << ", prefetch " << prefetch);
        Loader whole(counting_dataset(14), options_of(4, true, prefetch));
        for (int64_t e = 0; e < epoch; ++e) rest_of_epoch(whole);
        for (int64_t b = 0; b < at; ++b) whole.next();
        Loader resumed(counting_dataset(14), options_of(4, true, prefetch));
        resumed.seek({epoch, at, 0});
        EXPECT_EQ(resumed.tell(), whole.tell());
        for (int i = 0; i < 3; ++i) EXPECT_EQ(rest_of_epoch(resumed), rest_of_epoch(whole));
      }
}

TEST(Loader, resumes_from_the_position_that_a_batch_carries) {
  Loader whole(counting_dataset(14), options_of(4));
  whole.next();
  const BatchPosition after = whole.next()->origin->next;
  Loader resumed(counting_dataset(14), options_of(4));
  resumed.seek(after);
  EXPECT_EQ(rest_of_epoch(resumed), rest_of_epoch(whole));
}

TEST(Loader, gives_the_same_with_and_without_prefetch) {
  Loader plain(counting_dataset(103), options_of(5, true, 0));
  for (int32_t prefetch : {1, 2, 7, 50}) {
    plain.seek({0, 0, 0});
    Loader ahead(counting_dataset(103), options_of(5, true, prefetch));
    for (int epoch = 0; epoch < 3; ++epoch) EXPECT_EQ(rest_of_epoch(ahead), rest_of_epoch(plain)) << prefetch;
  }
}

TEST(Loader, tells_the_samples_of_a_batch_that_it_skips_and_goes_on_behind_it) {
  for (int32_t prefetch : {0, 1, 3}) {
    Loader loader(counting_dataset(103), options_of(5, true, prefetch));
    Loader oracle(counting_dataset(103), options_of(5, true, 0));
    for (int64_t i = 0; i < 200; ++i) {
      const Batch* const expected = oracle.next();
      if (i * i % 7 < 3) {
        const std::optional<BatchOrigin> skipped = loader.peek();
        loader.skip();
        ASSERT_EQ(skipped.has_value(), expected != nullptr) << i;
        if (!expected) continue;
        EXPECT_EQ(skipped->at, expected->origin->at);
        EXPECT_EQ(skipped->next, expected->origin->next);
        EXPECT_EQ(skipped->order.seed, 11u);
        EXPECT_EQ(skipped->size, expected->size());
        const Sampler sampler(103, 11, skipped->at.epoch);
        for (int64_t k = 0; k < skipped->size; ++k)
          EXPECT_EQ(expected->inputs[static_cast<size_t>(k * loader.dataset()->sample_elements())],
                    static_cast<float>(sampler.index_of(skipped->first + k)));
      } else {
        const Batch* const batch = loader.next();
        ASSERT_EQ(batch == nullptr, expected == nullptr) << i;
        ASSERT_TRUE(!batch || batch->inputs == expected->inputs) << i;
      }
      EXPECT_EQ(loader.tell(), oracle.tell());
    }
  }
}

TEST(Loader, seeks_and_rewinds_after_a_skip) {
  Loader loader(counting_dataset(23), options_of(5, true, 2));
  Loader oracle(counting_dataset(23), options_of(5, true, 0));
  loader.skip();
  loader.seek({2, 3, 0});
  oracle.seek({2, 3, 0});
  EXPECT_EQ(loader.tell(), oracle.tell());
  EXPECT_EQ(loader.next()->inputs, oracle.next()->inputs);
  loader.skip();
  loader.rewind();
  oracle.rewind();
  EXPECT_EQ(rest_of_epoch(loader), rest_of_epoch(oracle));
}

TEST(Loader, rewinds_to_the_start_of_the_epoch) {
  Loader loader(counting_dataset(10), options_of(3));
  rest_of_epoch(loader);
  const auto epoch_1 = rest_of_epoch(loader);
  loader.seek({1, 0, 0});
  loader.next();
  loader.next();
  loader.rewind();
  EXPECT_EQ(loader.tell(), (BatchPosition{1, 0, 4}));
  EXPECT_EQ(rest_of_epoch(loader), epoch_1);
}

TEST(Loader, survives_seeks_at_any_moment) {
  Loader loader(std::make_shared<const SyntheticDataset>(Shape{64}, 300, 10, 1), options_of(7, true, 3));
  Loader oracle(std::make_shared<const SyntheticDataset>(Shape{64}, 300, 10, 1), options_of(7, true, 0));
  for (int64_t i = 0; i < 300; ++i) {
    const BatchPosition to = {i % 5, i * 31 % 43, 0};
    loader.seek(to);
    oracle.seek(to);
    for (int64_t j = 0; j < i % 4; ++j) {
      const Batch* const batch = loader.next();
      const Batch* const expected = oracle.next();
      ASSERT_EQ(batch == nullptr, expected == nullptr);
      ASSERT_TRUE(!batch || batch->inputs == expected->inputs) << i;
    }
  }
}

TEST(Loader, refuses_positions_beyond_the_epoch) {
  Loader loader(counting_dataset(10), options_of(3));
  EXPECT_REFUSED(loader.seek({0, 5, 0}), Status::invalid_argument, "batch is 5, need 0 to 4");
  EXPECT_REFUSED(loader.seek({0, -1, 0}), Status::invalid_argument, "batch is -1");
  EXPECT_REFUSED(loader.seek({-1, 0, 0}), Status::invalid_argument, "epoch is -1");
  EXPECT_REFUSED(loader.seek({INT64_MAX, 0, 0}), Status::invalid_argument, "epoch is 9223372036854775807");
  EXPECT_EQ(loader.tell(), (BatchPosition{0, 0, 4}));
}

TEST(Loader, refuses_options_that_cannot_be) {
  EXPECT_REFUSED(Loader(counting_dataset(1), options_of(0)), Status::invalid_argument, "batch is 0");
  EXPECT_REFUSED(Loader(counting_dataset(1), options_of(1, true, -1)), Status::invalid_argument, "prefetch is -1");
  EXPECT_REFUSED(Loader(counting_dataset(1), options_of(1, true, 1025)), Status::invalid_argument, "prefetch is 1025");
}

TEST(Loader, ends_an_epoch_without_batches_at_once) {
  for (int32_t prefetch : {0, 2}) {
    Loader empty(counting_dataset(0), options_of(4, true, prefetch));
    for (int64_t epoch = 0; epoch < 3; ++epoch) {
      EXPECT_EQ(empty.tell(), (BatchPosition{epoch, 0, 0}));
      EXPECT_EQ(empty.next(), nullptr);
    }
    Loader dropped(counting_dataset(3), options_of(4, true, prefetch, true));
    EXPECT_EQ(dropped.next(), nullptr);
  }
}

TEST(Loader, refills_the_same_memory) {
  Loader loader(counting_dataset(10), options_of(4, true, 2));
  std::vector<const float*> seen;
  for (int i = 0; i < 40; ++i)
    if (const Batch* batch = loader.next()) seen.push_back(batch->inputs.data());
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen.size(), 3u);
}

TEST(Loader, keeps_a_batch_until_the_next_call) {
  Loader loader(std::make_shared<const SyntheticDataset>(Shape{1000}, 64, 2, 0), options_of(8, true, 1));
  for (int i = 0; i < 20; ++i) {
    const Batch* const batch = loader.next();
    if (!batch) continue;
    const std::vector<float> before = batch->inputs;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(batch->inputs, before);
  }
}

TEST(Loader, may_be_destroyed_at_any_moment) {
  for (int taken = 0; taken < 50; ++taken) {
    Loader loader(counting_dataset(1000), options_of(10, true, 4));
    for (int i = 0; i < taken % 7; ++i) loader.next();
  }
}

// Whether the calling thread blocks the signals of the host. Windows has none.
bool blocks_signals() {
#ifdef _WIN32
  return true;
#else
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, SIGINT) == 1 && sigismember(&blocked, SIGALRM) == 1;
#endif
}

// A dataset whose reads fail while a switch is on. It records whether its reading thread blocks
// signals.
class WatchedDataset final : public Dataset {
 public:
  explicit WatchedDataset(int64_t n) : Dataset({1}, n, 2, 0) {}
  void read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float*) const override {
    blocks_signals_ = blocks_signals();
    if (fails_) throw Error(Status::io, "the disk is gone");
    for (int64_t i = 0; i < n; ++i) static_cast<float*>(inputs)[i] = static_cast<float>(indices[i]), labels[i] = 0;
  }
  mutable std::atomic<bool> fails_{false}, blocks_signals_{false};
};

TEST(Loader, hands_on_what_reading_threw_and_stays_where_it_is) {
  for (int32_t prefetch : {0, 1, 3}) {
    const auto dataset = std::make_shared<WatchedDataset>(1000);
    dataset->fails_ = true;
    Loader loader(dataset, options_of(1, false, prefetch));
    for (int i = 0; i < 3; ++i) EXPECT_REFUSED(loader.next(), Status::io, "the disk is gone");
    EXPECT_EQ(loader.tell(), (BatchPosition{0, 0, 1000}));
    dataset->fails_ = false;
    while (thrown_by([&] { loader.next(); })) {  // the thread may have had one more failure before
    }
    EXPECT_EQ(loader.next()->inputs, std::vector<float>{1});
    dataset->fails_ = true;
    int given = 1;
    while (!thrown_by([&] { loader.next(); })) ++given;
    EXPECT_LE(given, 3 + prefetch) << "batches that were ready are still given";
    dataset->fails_ = false;
    loader.seek({0, 500, 0});
    EXPECT_EQ(loader.next()->inputs, std::vector<float>{500}) << "a seek forgets the failure";
  }
}

#ifndef _WIN32
TEST(Loader, blocks_signals_in_its_thread_and_nowhere_else) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  const auto dataset = std::make_shared<WatchedDataset>(10);
  Loader loader(dataset, options_of(5));
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  loader.next();
  EXPECT_TRUE(dataset->blocks_signals_);
  for (int signal : {SIGINT, SIGALRM, SIGTERM}) EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
}
#endif

TEST(Loader, refuses_a_batch_that_cannot_be_counted) {
  const auto dataset = std::make_shared<const SyntheticDataset>(Shape{int64_t{1} << 40}, int64_t{1} << 40, 2, 0);
  EXPECT_REFUSED(Loader(dataset, options_of(int64_t{1} << 40)), Status::invalid_argument, "too many elements");
}

// If memory runs out, sanitizers end the process instead of throwing bad_alloc.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Loader, says_that_memory_ran_out_where_a_batch_cannot_be_held) {
  const auto dataset = std::make_shared<const SyntheticDataset>(Shape{int64_t{1} << 50}, 8, 2, 0);
  EXPECT_THROW(Loader(dataset, options_of(8)), std::bad_alloc);
}
#endif

TEST(Loader, shares_a_dataset_with_other_loaders_in_other_threads) {
  const auto dataset = counting_dataset(500);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Loader loader(dataset, options_of(7));
      for (int epoch = 0; epoch < 3; ++epoch) right += sorted_together(rest_of_epoch(loader)) == up_to(500);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 12);
}

// A share may have more rows of the last batch than of the others: 3 of 11, and 4 of 10.
TEST(Loader, ReadsUnequalSharesOfTheLastBatch) {
  std::vector<std::vector<int32_t>> shares[3];
  for (int64_t share = 0; share < 3; ++share) {
    LoaderOptions options = options_of(11, false);
    options.division = {{3, {1, 1, 1}}, share, 1};
    Loader loader(counting_dataset(21), options);
    shares[share] = rest_of_epoch(loader);
    ASSERT_EQ(shares[share].size(), 2u);
  }
  EXPECT_EQ(shares[1][0].size(), 3u);
  EXPECT_EQ(shares[1][1].size(), 4u);
  int32_t next = 0;
  for (size_t batch = 0; batch < 2; ++batch)
    for (const auto& share : shares)
      for (const int32_t label : share[batch]) EXPECT_EQ(label, next++);
  EXPECT_EQ(next, 21);
}

}  // namespace
}  // namespace troika
