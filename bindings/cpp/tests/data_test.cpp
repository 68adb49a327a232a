// Datasets, loaders and batches.
#include "tests.h"

#include <fstream>
#include <numeric>
#include <ranges>
#include <thread>

namespace {

// A range of C++20 that ends with its loader: a temporary one is refused.
static_assert(std::ranges::input_range<Loader&>);
static_assert(!std::ranges::borrowed_range<Loader>);
template <typename T>
concept HasBegin = requires(T&& loader) {
  std::forward<T>(loader).begin();
};
static_assert(HasBegin<Loader&> && !HasBegin<Loader>);
template <typename T>
concept Lends = requires(T&& batch) {
  std::forward<T>(batch).describe();
};
static_assert(Lends<const Batch&> && !Lends<Batch>);
static_assert(!std::is_copy_constructible_v<Loader> && std::is_nothrow_move_constructible_v<Loader>);

template <typename T>
std::vector<T> copy(Span<const T> view) {
  return {view.begin(), view.end()};
}

// The labels of all batches of the epoch.
std::vector<std::int32_t> labels_of(Loader& loader) {
  std::vector<std::int32_t> labels;
  for (Batch& batch : loader) {
    const auto view = batch.describe().labels;
    labels.insert(labels.end(), view.begin(), view.end());
  }
  return labels;
}

class Data : public ::testing::Test {
 protected:
  Dataset numbers(std::int64_t n) {
    Floats inputs(static_cast<std::size_t>(n));
    std::vector<std::int32_t> labels(inputs.size());
    std::iota(inputs.begin(), inputs.end(), 0.0f);
    std::iota(labels.begin(), labels.end(), 0);
    return Dataset::create_arrays(context_, inputs, {1}, labels);
  }
  const Context context_;
};

TEST_F(Data, OfArraysComesInBatches) {
  const Dataset dataset = Dataset::create_arrays(context_, {1, 2, 3, 4, 5, 6}, {2}, {0, 1, 1});
  const DatasetInfo info = dataset.describe();
  EXPECT_EQ(info.n, 3);
  EXPECT_EQ(info.classes, 2);
  EXPECT_EQ(info.dims, Dims{2});
  Loader loader(dataset, {.batch = 2});
  std::optional<Batch> batch = loader.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(loader.status(), Status::ok);
  const BatchInfo first = batch->describe();
  EXPECT_EQ(first.n, 2);
  EXPECT_EQ(first.dims, (Dims{2, 2}));
  EXPECT_EQ(copy(first.inputs), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(copy(first.labels), (std::vector<std::int32_t>{0, 1}));
  EXPECT_TRUE(first.tokens.empty() && first.values.empty());
  const Batch kept = batch->copy();
  batch = loader.next();
  EXPECT_EQ(copy(batch->describe().inputs), (Floats{5, 6}));
  EXPECT_FALSE(loader.next());
  EXPECT_EQ(loader.status(), Status::end_of_data);
  EXPECT_EQ(copy(kept.describe().inputs), (Floats{1, 2, 3, 4}));
}

TEST_F(Data, OfValuesHasValues) {
  Loader loader(Dataset::create_arrays(context_, {1, 2}, {1}, {3, 4, 5, 6}, 2), {.batch = 2});
  const BatchInfo info = loader.next()->describe();
  EXPECT_EQ(info.value_size, 2);
  EXPECT_EQ(copy(info.values), (Floats{3, 4, 5, 6}));
}

TEST_F(Data, OfAnyTypeIsConverted) {
  const std::uint8_t pixels[] = {0, 255, 51, 102};
  const std::vector<std::int64_t> labels = {4, 2};
  bool is_destroyed = false;
  Dataset dataset = Dataset::create_from(
      context_, pixels, labels,
      {.dims = {2}, .borrow = true, .mean = 0.5, .std = 0.5, .destroy = [&] { is_destroyed = true; }});
  EXPECT_EQ(dataset.describe().classes, 5);
  Loader loader(dataset, {.batch = 2});
  dataset.close();
  const BatchInfo info = loader.next()->describe();
  EXPECT_EQ(copy(info.inputs), (Floats{-1.0f, 1.0f, (0.2f - 0.5f) / 0.5f, (0.4f - 0.5f) / 0.5f}));
  EXPECT_EQ(copy(info.labels), (std::vector<std::int32_t>{4, 2}));
  EXPECT_FALSE(is_destroyed);
  loader.close();
  EXPECT_TRUE(is_destroyed);
}

TEST_F(Data, WithoutTargetsServesToPredict) {
  bool is_destroyed = false;
  const auto destroy = [&] {
    is_destroyed = true;
    throw HostError(1);  // dropped: no call waits for it
  };
  Loader loader(Dataset::create_from(context_, {1.0, 2.0}, {}, {.dims = {1}, .destroy = destroy}), {.batch = 2});
  EXPECT_TRUE(is_destroyed);  // the arrays were copied
  EXPECT_EQ(copy(loader.next()->describe().inputs), (Floats{1, 2}));
  EXPECT_FALSE(loader.next());
}

TEST_F(Data, OfAFailedCallIsNotDestroyed) {
  auto alive = std::make_shared<int>();
  const std::weak_ptr<int> watched = alive;
  int calls = 0;
  Arrays arrays{.dims = {1}, .std = -1.0, .destroy = [&calls, moved = std::move(alive)] { ++calls; }};
  expect_error(Status::invalid_argument, "std", [&] { Dataset::create_from(context_, {1.0f}, {}, arrays); });
  EXPECT_EQ(calls, 0);
  arrays.destroy = nullptr;
  EXPECT_TRUE(watched.expired());
}

TEST_F(Data, OfTokens) {
  Loader stream(Dataset::create_token_stream(context_, std::string_view("abcde"), 2), {.batch = 2});
  const BatchInfo text = stream.next()->describe();
  EXPECT_EQ(copy(text.tokens), (std::vector<std::int32_t>{'a', 'b', 'c', 'd'}));
  EXPECT_EQ(copy(text.labels), (std::vector<std::int32_t>{'b', 'c', 'd', 'e'}));
  Loader sequences(Dataset::create_tokens(context_, {1, 2, 3, 4}, 2, {5, -100}, 1, -100), {.batch = 2});
  const BatchInfo classes = sequences.next()->describe();
  EXPECT_EQ(copy(classes.tokens), (std::vector<std::int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(copy(classes.labels), (std::vector<std::int32_t>{5, -100}));
}

TEST_F(Data, OfFilesInTheFormatOfMnist) {
  const Folder folder;
  const auto write = [](const std::string& path, const std::string& bytes) { std::ofstream(path) << bytes; };
  const std::string images("\0\0\x8\x3\0\0\0\x2\0\0\0\1\0\0\0\2\0\xff\x33\x66", 20),
      labels("\0\0\x8\1\0\0\0\2\3\1", 10);
  write(folder / "t10k-images-idx3-ubyte", images);
  write(folder / "t10k-labels-idx1-ubyte", labels);
  const Dataset dataset = Dataset::open_directory(context_, folder / "", "test");
  EXPECT_EQ(dataset.describe().dims, (Dims{1, 1, 2}));
  EXPECT_EQ(dataset.describe().classes, 4);
  Loader loader(Dataset::open_idx(context_, folder / "t10k-images-idx3-ubyte", folder / "t10k-labels-idx1-ubyte",
                                  {.mean = 1.0, .std = 2.0}),
                {.batch = 2});
  EXPECT_EQ(copy(loader.next()->describe().inputs), (Floats{-0.5f, 0.0f, -0.4f, -0.3f}));
  expect_error(Status::not_found, "train", [&] { Dataset::open_directory(context_, folder / "", "train"); });
}

TEST_F(Data, HasWeights) {
  const std::vector<float> weights = {1, 0, 2.5f, 3};
  const Dataset weighted = numbers(4).weigh(weights);
  Loader loader(weighted.subset({2, 0}), {.batch = 8});
  EXPECT_EQ(copy(loader.next()->describe().weights), (Floats{2.5f, 1}));
  expect_error(Status::invalid_argument, "count is 4, need one weight for each of 3 samples",
               [&] { numbers(3).weigh(weights); });
  const Tensor inputs(context_, "cpu", {2, 1}, {1.0f, 2.0f}), labels(context_, "cpu", {2}, {1, 0}),
      of_samples(context_, "cpu", {2}, {0.5f, 4.0f});
  const Batch batch = Batch::create_weighted(inputs, labels, of_samples);
  EXPECT_EQ(copy(batch.describe().weights), (Floats{0.5f, 4}));
  expect_error(Status::invalid_argument, "need f32[2]", [&] { Batch::create_weighted(inputs, labels, inputs); });
  const Batch bare = Batch::create_weighted(inputs, of_samples);
  EXPECT_EQ(copy(bare.describe().weights), (Floats{0.5f, 4}));
  EXPECT_TRUE(bare.describe().labels.empty());
  expect_error(Status::invalid_argument, "need f32[2]", [&] { Batch::create_weighted(inputs, labels); });
}

TEST_F(Data, IsCombined) {
  const Dataset dataset = numbers(6), synthetic = Dataset::create_synthetic(context_, {1}, 4, 2, 7);
  EXPECT_EQ(synthetic.describe().n, 4);
  Loader subset(dataset.subset({4, 0, 4}), {.batch = 8});
  EXPECT_EQ(labels_of(subset), (std::vector<std::int32_t>{4, 0, 4}));
  const std::vector<Dataset> parts = dataset.split({4, 2});
  ASSERT_EQ(parts.size(), 2u);
  Loader last(parts[1], {.batch = 8});
  EXPECT_EQ(labels_of(last), (std::vector<std::int32_t>{4, 5}));
  Loader both(Dataset::concat({parts[1], synthetic}), {.batch = 3});
  EXPECT_EQ(labels_of(both), (std::vector<std::int32_t>{4, 5, 0, 1, 0, 1}));
  EXPECT_EQ(dataset.split({3, 3}, true, 42)[0].describe().n, 3);
}

TEST_F(Data, IsShuffledAndDrawnBySeed) {
  const auto order = [&](const LoaderOptions& options) {
    Loader loader(numbers(20), options);
    return labels_of(loader);
  };
  const auto shuffled = order({.shuffle = true, .batch = 7, .seed = 3});
  EXPECT_EQ(shuffled, order({.shuffle = true, .batch = 7, .seed = 3}));
  EXPECT_NE(shuffled, order({.shuffle = true, .batch = 7, .seed = 4}));
  EXPECT_EQ(order({.batch = 7, .drop_last = true}).size(), 14u);
  std::vector<double> weights(20);
  weights[13] = 1.0;
  EXPECT_EQ(order({.batch = 3, .weights = weights, .epoch_samples = 4}), (std::vector<std::int32_t>{13, 13, 13, 13}));
  expect_misuse<std::invalid_argument>("LoaderOptions: weights: there are 2 elements, the shape needs 20", [&] {
    order({.batch = 3, .weights = {1.0, 2.0}});
  });
}

TEST_F(Data, IsAugmentedBySeed) {
  std::vector<float> images;
  for (int i = 0; i < 64; ++i) images.insert(images.end(), {1, 2});
  const Dataset dataset = Dataset::create_arrays(context_, images, {1, 1, 2}, std::vector<std::int32_t>(64));
  const auto mirrored = [&](std::uint64_t seed) {
    Loader loader(dataset, {.batch = 64, .seed = seed, .flip = true});
    auto batch = loader.next();
    const BatchInfo info = batch->describe();
    std::vector<bool> result;
    for (std::size_t i = 0; i < 128; i += 2) {
      EXPECT_EQ(info.inputs[i] + info.inputs[i + 1], 3);
      result.push_back(info.inputs[i] == 2);
    }
    return result;
  };
  EXPECT_EQ(mirrored(3), mirrored(3));
  EXPECT_NE(mirrored(3), mirrored(4));
  expect_error(Status::invalid_argument, "crop is 1", [&] { Loader(dataset, {.batch = 1, .crop = 1}); });
}

TEST_F(Data, IsResumed) {
  Loader loader(numbers(6), {.batch = 2});
  loader.next();
  const LoaderPosition position = loader.tell();
  EXPECT_EQ(position.batch, 1);
  EXPECT_EQ(position.batches, 3);
  loader.seek({.epoch = 4, .batch = 2});
  EXPECT_EQ(labels_of(loader), (std::vector<std::int32_t>{4, 5}));
  EXPECT_EQ(loader.tell().epoch, 5);
  for (Batch& batch : loader) {  // a loop that ends early leaves the rest of the epoch
    EXPECT_EQ(batch.describe().labels[0], 0);
    break;
  }
  EXPECT_EQ(labels_of(loader), (std::vector<std::int32_t>{2, 3, 4, 5}));
}

TEST_F(Data, OfABatchIsRefusedAfterItsLoaderMovedOn) {
  Loader loader(numbers(4), {.batch = 2});
  const Batch first = std::move(*loader.next());
  Batch second = std::move(*loader.next());
  expect_error(Status::invalid_argument, "moved past", [&] { first.copy(); });
  Loader moved = std::move(loader);
  EXPECT_EQ(second.describe().labels[0], 2);
  EXPECT_TRUE(second);
  moved.close();
  EXPECT_FALSE(second);
  expect_misuse<std::logic_error>("Batch: it is closed, need an open one", [&] { second.describe(); });
  moved = Loader(numbers(2), {.batch = 1});
  second = std::move(*moved.next());
  EXPECT_EQ(second.describe().labels[0], 0);
  moved = Loader(numbers(2), {.batch = 1});
  EXPECT_FALSE(second);
}

TEST_F(Data, OfOneBatchIsMadeOfTensors) {
  const Tensor inputs(context_, "cpu", {2, 1}, {1.0f, 2.0f}), labels(context_, "cpu", {2}, {1, 0});
  const Batch batch(inputs, labels), bare(inputs);
  EXPECT_EQ(copy(batch.describe().inputs), (Floats{1, 2}));
  EXPECT_EQ(copy(batch.describe().labels), (std::vector<std::int32_t>{1, 0}));
  EXPECT_TRUE(bare.describe().labels.empty());
}

// Samples i have the input i and the label i % 3. Sample `bad` throws.
Source counting(std::int64_t n, std::int64_t bad = -1) {
  Source source{.dims = {1}, .n = n, .classes = 3};
  source.read = [bad](const ReadRequest& request) {
    for (std::size_t i = 0; i < request.indices.size(); ++i) {
      if (request.indices[i] == bad) throw HostError(static_cast<int>(bad));
      request.inputs.as<float>()[i] = static_cast<float>(request.indices[i]);
      request.labels[i] = static_cast<std::int32_t>(request.indices[i] % 3);
    }
    return request.n;
  };
  return source;
}

TEST_F(Data, OfACallbackIsRead) {
  auto alive = std::make_shared<int>();
  const std::weak_ptr<int> watched = alive;
  {
    Source source = counting(5);
    source.read = [alive = std::move(alive), read = source.read](const ReadRequest& request) { return read(request); };
    Loader loader(Dataset::create_callback(context_, source), {.batch = 2});
    source = {};
    EXPECT_EQ(labels_of(loader), (std::vector<std::int32_t>{0, 1, 2, 0, 1}));
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST_F(Data, OfACallbackWithTokensOrValues) {
  Source tokens{.dtype = Dtype::i32, .dims = {2}, .n = 1, .words = 9, .value_size = 3};
  tokens.read = [](const ReadRequest& request) {
    EXPECT_EQ(request.inputs.size(), 2u);
    EXPECT_EQ(request.values.size(), 3u);
    EXPECT_TRUE(request.labels.empty());
    request.inputs.as<std::int32_t>()[1] = 8;
    request.values[2] = 0.5f;
    return std::int64_t{1};
  };
  Loader loader(Dataset::create_callback(context_, tokens), {.batch = 1, .prefetch = 0});
  const BatchInfo info = loader.next()->describe();
  EXPECT_EQ(info.tokens[1], 8);
  EXPECT_EQ(info.values[2], 0.5f);
}

TEST_F(Data, OfAStreamEndsWithIt) {
  Source stream{.dims = {1}, .n = -1, .classes = 9};
  stream.read = [](const ReadRequest& request) {
    EXPECT_TRUE(request.indices.empty());
    const std::int64_t n = std::min(request.n, std::max<std::int64_t>(0, 5 - request.first));
    for (std::int64_t i = 0; i < n; ++i)
      request.labels[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(request.first + i);
    return n;
  };
  Loader loader(Dataset::create_callback(context_, stream), {.batch = 2});
  EXPECT_EQ(labels_of(loader), (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
}

TEST_F(Data, ThrowsTheExceptionOfItsCallback) {
  for (const std::int32_t prefetch : {0, 2}) {
    Loader loader(Dataset::create_callback(context_, counting(6, 5)), {.batch = 2, .prefetch = prefetch});
    loader.next();
    loader.next();
    for (int i = 0; i < 2; ++i) {  // the loader stays before the batch, and asks again
      const auto error = thrown_by<HostError>([&] { loader.next(); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->number, 5);
    }
    EXPECT_EQ(loader.tell().batch, 2);
  }
}

TEST_F(Data, ThrowsTheExceptionOfTheRightCallback) {
  const Dataset first = Dataset::create_callback(context_, counting(4, 1)),
                second = Dataset::create_callback(context_, counting(4, 3));
  const Dataset part = second.subset({0}), whole = std::move(first.split({4})[0]);
  const Dataset all = Dataset::concat({part, whole});
  std::vector<std::thread> threads;
  const auto expect_number = [](const Dataset& dataset, int number) {
    for (int i = 0; i < 20; ++i) {
      Loader loader(dataset, {.batch = 4});
      const auto error = thrown_by<HostError>([&] { loader.next(); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->number, number);
    }
  };
  threads.emplace_back([&] { expect_number(first, 1); });
  threads.emplace_back([&] { expect_number(second, 3); });
  expect_number(all, 1);
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Data, OfACallbackThatThrowsAnything) {
  Source source = counting(1);
  source.read = [](const ReadRequest&) -> std::int64_t { throw 42; };
  Loader loader(Dataset::create_callback(context_, source), {.batch = 1});
  EXPECT_THROW(loader.next(), int);
}

TEST_F(Data, OfACallbackThatStops) {
  Source source = counting(4);
  source.read = [](const ReadRequest&) { return stop_reading; };
  Loader loader(Dataset::create_callback(context_, source), {.batch = 2});
  EXPECT_FALSE(loader.next());
  EXPECT_EQ(loader.status(), Status::stopped);
  EXPECT_EQ(loader.tell().batch, 0);
}

TEST_F(Data, RefusesElementsThatDoNotFit) {
  expect_misuse<std::invalid_argument>("Dataset: inputs: there are 3 elements, the shape needs 4", [&] {
    Dataset::create_arrays(context_, {1, 2, 3}, {2}, {0, 1});
  });
  expect_misuse<std::invalid_argument>("Dataset: values: there are 3 elements, need a multiple of 2", [&] {
    Dataset::create_arrays(context_, {1}, {1}, {1, 2, 3}, 2);
  });
  expect_misuse<std::invalid_argument>("Dataset: labels: there are 3 elements, the shape needs 2", [&] {
    Dataset::create_tokens(context_, {1, 2, 3, 4}, 2, {1, 2, 3});
  });
  expect_misuse<std::invalid_argument>("Dataset: inputs: there are 3 elements, the shape needs 2", [&] {
    Dataset::create_from(context_, {1.0f, 2.0f, 3.0f}, {1}, {.dims = {2}});
  });
  expect_error(Status::invalid_argument, "read", [&] { Dataset::create_callback(context_, {.dims = {1}, .n = 1}); });
  expect_error(Status::invalid_argument, "batch is not set", [&] { Loader(numbers(2), {}); });
}

}  // namespace
