// Augmentation: mirrored and shifted images, the same bits for any division, prefetch and resume.
#include "data/augmentation.h"

#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "data/array_dataset.h"
#include "data/callback_dataset.h"
#include "data/data_helpers.h"
#include "data/loader.h"
#include "data/token_dataset.h"
#include "support/test_seed.h"

namespace troika {
namespace {

using namespace test;

constexpr int64_t kChannels = 2, kHeight = 11, kWidth = 13, kElements = kChannels * kHeight * kWidth;
const Shape kShape{kChannels, kHeight, kWidth};

struct Change {
  bool is_mirrored;
  int64_t down, right;
  auto operator<=>(const Change&) const = default;
};

// Returns the image as numpy.pad with the mode "reflect", a crop and a flip would.
std::vector<float> changed(const std::vector<float>& image, const Change& change) {
  const auto at = [](int64_t i, int64_t n) {  // the places are 0, 1, ..., n - 1, n - 2, ..., 1, and again
    const int64_t period = 2 * (n - 1), place = (i % period + period) % period;
    return place < n ? place : period - place;
  };
  std::vector<float> shifted, out;
  for (int64_t c = 0; c < kChannels; ++c)
    for (int64_t y = 0; y < kHeight; ++y)
      for (int64_t x = 0; x < kWidth; ++x)
        shifted.push_back(image[static_cast<size_t>((c * kHeight + at(y + change.down, kHeight)) * kWidth +
                                                    at(x + change.right, kWidth))]);
  if (!change.is_mirrored) return shifted;
  for (size_t row = 0; row < shifted.size(); row += kWidth)
    out.insert(out.end(), shifted.rend() - static_cast<int64_t>(row) - kWidth,
               shifted.rend() - static_cast<int64_t>(row));
  return out;
}

// Returns the change that makes `out` of the image; a failure if none within `crop` pixels does.
Change change_of(const std::vector<float>& image, const std::vector<float>& out, int64_t crop) {
  for (const bool is_mirrored : {false, true})
    for (int64_t down = -crop; down <= crop; ++down)
      for (int64_t right = -crop; right <= crop; ++right)
        if (const Change change{is_mirrored, down, right}; changed(image, change) == out) return change;
  ADD_FAILURE() << "no change makes this image";
  return {};
}

class Augmentations : public testing::Test {
 protected:
  std::vector<float> random_image() {
    std::vector<float> image;
    for (int64_t i = 0; i < kElements; ++i) image.push_back(static_cast<float>(random_() >> 40) * 0x1p-24f);
    return image;
  }
  // Returns a dataset of n random images. Image i has label i.
  std::shared_ptr<const Dataset> dataset_of(int64_t n) {
    std::vector<float> inputs;
    std::vector<int32_t> labels;
    for (int64_t i = 0; i < n; ++i) {
      images_.push_back(random_image());
      inputs.insert(inputs.end(), images_.back().begin(), images_.back().end());
      labels.push_back(static_cast<int32_t>(i));
    }
    return std::make_shared<const ArrayDataset>(kShape, std::move(inputs), std::move(labels));
  }
  LoaderOptions options_of(bool flip, int32_t crop, bool shuffle = true) {
    LoaderOptions options;
    options.batch = 4;
    options.shuffle = shuffle;
    options.flip = flip;
    options.crop = crop;
    options.seed = seed_;
    return options;
  }

  std::mt19937_64 random_{test_seed()};
  uint64_t seed_ = random_();
  std::vector<std::vector<float>> images_;
};

// The samples and labels of the rest of an epoch.
struct Epoch {
  std::vector<float> inputs;
  std::vector<int32_t> labels;
  bool operator==(const Epoch&) const = default;
  std::vector<float> image(size_t i) const {
    return {inputs.begin() + static_cast<int64_t>(i) * kElements,
            inputs.begin() + static_cast<int64_t>(i + 1) * kElements};
  }
};

Epoch rest_of_epoch(Loader& loader) {
  Epoch epoch;
  while (const Batch* batch = loader.next()) {
    epoch.inputs.insert(epoch.inputs.end(), batch->inputs.begin(), batch->inputs.end());
    epoch.labels.insert(epoch.labels.end(), batch->labels.begin(), batch->labels.end());
  }
  return epoch;
}

// An edge is not repeated: pixel -1 is pixel 1. A crop may be as far as the image.
TEST_F(Augmentations, shift_beyond_an_edge_as_numpy_does) {
  std::vector<float> image(kElements);
  std::iota(image.begin(), image.end(), 0.0f);
  const auto row = [&](const Change& change) {
    const auto out = changed(image, change);
    return std::vector<float>(out.begin(), out.begin() + 6);
  };
  EXPECT_EQ(row({false, 0, -3}), (std::vector<float>{3, 2, 1, 0, 1, 2}));
  EXPECT_EQ(row({true, 0, 4}), (std::vector<float>{8, 9, 10, 11, 12, 11}));
  EXPECT_EQ(row({false, -2, 0}), (std::vector<float>{26, 27, 28, 29, 30, 31}));
  Augmentation augmentation({.shape = kShape}, options_of(true, kHeight - 1));
  for (int64_t position = 0; position < 100; ++position) {
    auto out = image;
    augmentation.apply(Augmentation::key_of(seed_, 0), position, out.data());
    change_of(image, out, kHeight - 1);
  }
}

TEST_F(Augmentations, are_drawn_evenly) {
  const auto image = random_image();
  for (const int32_t crop : {0, 1, 4}) {
    Augmentation augmentation({.shape = kShape}, options_of(true, crop));
    const uint64_t key = Augmentation::key_of(seed_, 3);
    std::map<Change, int> counts;
    const int kinds = 2 * (2 * crop + 1) * (2 * crop + 1), draws = 20 * kinds;
    for (int position = 0; position < draws; ++position) {
      auto out = image;
      augmentation.apply(key, position, out.data());
      ++counts[change_of(image, out, crop)];
    }
    EXPECT_EQ(static_cast<int>(counts.size()), kinds);
    // 20 draws per kind, with a deviation of 4.5; eight deviations never occur.
    for (const auto& [change, count] : counts) EXPECT_NEAR(count, 20, 8 * std::sqrt(20.0));
  }
}

// The numbers of a version are those of all versions: a run resumes with any of them.
TEST_F(Augmentations, never_change) {
  LoaderOptions options = options_of(true, 4);
  options.seed = 7;
  Augmentation augmentation({.shape = kShape}, options);
  const auto image = random_image();
  std::vector<Change> changes;
  for (const int64_t position : {0, 1, 2, 3, 1000003}) {
    auto out = image;
    augmentation.apply(Augmentation::key_of(7, 5), position, out.data());
    changes.push_back(change_of(image, out, 4));
  }
  EXPECT_EQ(changes,
            (std::vector<Change>{{true, -3, -3}, {true, 1, 3}, {false, 1, -2}, {true, 3, 4}, {false, -2, -1}}));
  EXPECT_EQ(augmentation.digest(), 0x4D060DB703F1ADD8u);
}

TEST_F(Augmentations, only_mirror_or_only_shift_if_asked) {
  const auto dataset = dataset_of(60);
  Loader mirrored(dataset, options_of(true, 0)), shifted(dataset, options_of(false, 2)),
      plain(dataset, options_of(false, 0));
  const Epoch a = rest_of_epoch(mirrored), b = rest_of_epoch(shifted), c = rest_of_epoch(plain);
  EXPECT_EQ(a.labels, c.labels);
  EXPECT_EQ(b.labels, c.labels);
  int mirrors = 0, shifts = 0;
  for (size_t i = 0; i < 60; ++i) {
    const auto& image = images_[static_cast<size_t>(c.labels[i])];
    EXPECT_EQ(c.image(i), image);
    mirrors += change_of(image, a.image(i), 0).is_mirrored;
    const Change shift = change_of(image, b.image(i), 2);
    EXPECT_FALSE(shift.is_mirrored);
    shifts += shift.down != 0 || shift.right != 0;
  }
  EXPECT_TRUE(mirrors > 0 && mirrors < 60) << mirrors;
  EXPECT_GT(shifts, 30);
}

TEST_F(Augmentations, differ_between_epochs_and_seeds) {
  const auto dataset = dataset_of(30);
  LoaderOptions options = options_of(true, 3, false);
  Loader loader(dataset, options);
  const Epoch first = rest_of_epoch(loader), second = rest_of_epoch(loader);
  EXPECT_EQ(first.labels, second.labels);
  EXPECT_NE(first.inputs, second.inputs);
  options.seed ^= 1;
  Loader other(dataset, options);
  EXPECT_NE(rest_of_epoch(other).inputs, first.inputs);
}

TEST_F(Augmentations, are_the_same_for_any_prefetch_and_after_any_seek) {
  const auto dataset = dataset_of(23);
  for (const bool shuffle : {false, true}) {
    LoaderOptions options = options_of(true, 4, shuffle);
    options.prefetch = 0;
    Loader oracle(dataset, options);
    std::vector<std::vector<float>> batches;
    for (int epoch = 0; epoch < 3; ++epoch)
      while (const Batch* batch = oracle.next()) batches.push_back(batch->inputs);
    for (const int32_t prefetch : {0, 1, 3}) {
      options.prefetch = prefetch;
      Loader loader(dataset, options);
      for (int i = 0; i < 40; ++i) {
        const auto at = static_cast<int64_t>(random_() % 18);
        loader.seek({at / 6, at % 6, 0});
        ASSERT_EQ(loader.next()->inputs, batches[static_cast<size_t>(at)]) << at;
      }
    }
  }
}

TEST_F(Augmentations, are_the_same_for_any_division) {
  const auto dataset = dataset_of(23);
  const int64_t shares = 3;
  for (const bool weighted : {false, true}) {
    LoaderOptions options = options_of(true, 2, !weighted);
    options.batch = 5;
    if (weighted) options.weights.assign(23, 1.0);
    Loader whole(dataset, options);
    std::vector<std::unique_ptr<Loader>> parts;
    for (int64_t share = 0; share < shares; ++share) {
      LoaderOptions divided = options;
      divided.division = {{shares}, share, 1};
      parts.push_back(std::make_unique<Loader>(dataset, share == 0 ? options : divided));
    }
    parts[0]->divide({{shares}, 0, 1});  // a loader that is divided later reads the same
    for (int epoch = 0; epoch < 2; ++epoch) {
      while (const Batch* batch = whole.next()) {
        std::vector<float> together;
        for (const auto& part : parts) {
          const std::vector<float>& rows = part->next()->inputs;
          together.insert(together.end(), rows.begin(), rows.end());
        }
        ASSERT_EQ(together, batch->inputs) << epoch;
      }
      for (const auto& part : parts) EXPECT_EQ(part->next(), nullptr);
    }
  }
}

TEST_F(Augmentations, of_a_stream_are_those_of_its_samples) {
  const auto dataset = dataset_of(23);
  const auto stream =
      std::make_shared<const CallbackDataset>(dataset->form(), kStream, [&](const ReadRequest& request) {
        const int64_t first = request.place.first, n = std::min(std::max<int64_t>(23 - first, 0), request.n);
        std::vector<int64_t> indices(static_cast<size_t>(n));
        std::iota(indices.begin(), indices.end(), first);
        dataset->read(indices.data(), n, request.inputs, request.labels, request.values);
        return n;
      });
  LoaderOptions options = options_of(true, 4, false);
  Loader oracle(dataset, options), whole(stream, options);
  options.division = {{2}, 1, 1};
  Loader part(stream, options), oracle_part(dataset, options);
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(rest_of_epoch(whole), rest_of_epoch(oracle));
    EXPECT_EQ(rest_of_epoch(part), rest_of_epoch(oracle_part));
  }
}

TEST_F(Augmentations, mark_batches) {
  const auto dataset = dataset_of(8);
  const auto mark = [&](bool flip, int32_t crop, uint64_t seed) {
    LoaderOptions options = options_of(flip, crop, false);
    options.seed = seed;
    Loader loader(dataset, options);
    return loader.next()->origin->order;
  };
  EXPECT_EQ(mark(false, 0, 1), SampleOrder());
  EXPECT_EQ(mark(true, 2, 1), mark(true, 2, 1));
  const SampleOrder orders[] = {mark(false, 0, 1), mark(true, 0, 1), mark(false, 2, 1),
                                mark(true, 2, 1),  mark(true, 3, 1), mark(true, 2, 2)};
  for (const SampleOrder& a : orders)
    for (const SampleOrder& b : orders) EXPECT_EQ(a == b, &a == &b);
}

TEST_F(Augmentations, refuse_samples_that_are_no_images_and_shifts_as_far_as_the_image) {
  const auto dataset = dataset_of(3);
  for (const int32_t crop : {-1, 11, 100})
    EXPECT_REFUSED(Loader(dataset, options_of(false, crop)), Status::invalid_argument,
                   "loader: crop is " + std::to_string(crop) + ", need 0 to 10");
  const auto rows = std::make_shared<const ArrayDataset>(Shape{4}, std::vector<float>(12), std::vector<int32_t>(3));
  EXPECT_REFUSED(Loader(rows, options_of(true, 0)), Status::invalid_argument,
                 "loader: flip is set, the samples are f32 [4], need f32 [c, h, w]");
  const auto tokens = std::make_shared<const TokenDataset>(Tokens(std::vector<uint8_t>(100)), 8);
  EXPECT_REFUSED(Loader(tokens, options_of(false, 1)), Status::invalid_argument,
                 "crop is set, the samples are i32 [8]");
}

}  // namespace
}  // namespace troika
