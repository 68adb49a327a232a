// CombinedDataset: bytes, sources that change, long reads. Tests of the interface check the rest.
#include "data/combined_dataset.h"

#include "data/array_dataset.h"
#include "data/callback_dataset.h"
#include "data/data_helpers.h"
#include "data/synthetic_dataset.h"
#include "support/throws.h"

namespace troika {
namespace {

using namespace test;

std::shared_ptr<const Dataset> bytes(int64_t n) {
  static const std::vector<uint8_t> all = [] {
    std::vector<uint8_t> made(400);
    std::iota(made.begin(), made.end(), uint8_t{0});
    return made;
  }();
  HostArrays arrays;
  arrays.shape = {2};
  arrays.n = n;
  arrays.dtype = DType::u8;
  arrays.inputs = all.data();
  return std::make_shared<const ArrayDataset>(std::move(arrays));
}

TEST(CombinedDataset, has_the_bytes_of_a_range) {
  const auto whole = bytes(100);
  const uint8_t* const first = whole->byte_samples()->bytes;
  EXPECT_EQ(CombinedDataset::range(whole, 10, 20)->byte_samples()->bytes, first + 20);
  EXPECT_EQ(CombinedDataset::subset(whole, {7, 8, 9})->byte_samples()->bytes, first + 14);
  EXPECT_EQ(CombinedDataset::range(CombinedDataset::range(whole, 10, 20), 5, 5)->byte_samples()->bytes, first + 30);
  EXPECT_EQ(CombinedDataset::concat({whole})->byte_samples()->values, whole->byte_samples()->values);
  EXPECT_FALSE(CombinedDataset::subset(whole, {7, 9})->byte_samples());
  EXPECT_FALSE(CombinedDataset::concat({whole, whole})->byte_samples());
}

TEST(CombinedDataset, is_fixed_if_all_its_sources_are) {
  const auto fixed = bytes(5);
  const auto free = std::make_shared<const CallbackDataset>(fixed->form(), 5, [](const ReadRequest& r) { return r.n; });
  EXPECT_TRUE(CombinedDataset::concat({fixed, fixed})->is_fixed());
  EXPECT_FALSE(CombinedDataset::concat({fixed, free})->is_fixed());
  EXPECT_FALSE(CombinedDataset::range(free, 1, 2)->is_fixed());
}

TEST(CombinedDataset, is_cut_into_parts_of_parts) {
  std::vector<float> inputs(100);
  std::iota(inputs.begin(), inputs.end(), 0.0f);
  const auto whole = std::make_shared<const ArrayDataset>(Shape{1}, inputs, std::vector<int32_t>(100));
  const auto scattered = CombinedDataset::subset(whole, {90, 10, 80, 20, 70, 30, 60, 40});
  const auto middle = CombinedDataset::range(scattered, 2, 5);
  EXPECT_EQ(read_all(*middle).inputs, (std::vector<float>{80, 20, 70, 30, 60}));
  EXPECT_EQ(read_all(*CombinedDataset::range(middle, 1, 3)).inputs, (std::vector<float>{20, 70, 30}));
  EXPECT_EQ(read_all(*CombinedDataset::subset(middle, {4, 0, 0})).inputs, (std::vector<float>{60, 80, 80}));
  EXPECT_EQ(read_all(*CombinedDataset::subset(middle, {1, 2, 3})).inputs, (std::vector<float>{20, 70, 30}));
  const auto twice = CombinedDataset::concat({middle, CombinedDataset::range(whole, 5, 2)});
  EXPECT_EQ(read_all(*CombinedDataset::range(twice, 4, 3)).inputs, (std::vector<float>{60, 5, 6}));
  EXPECT_EQ(CombinedDataset::range(scattered, 3, 0)->size(), 0);
}

TEST(CombinedDataset, refuses_more_elements_than_can_be_counted) {
  const auto half = std::make_shared<const SyntheticDataset>(Shape{1}, int64_t{1} << 59, 2, 1);
  EXPECT_EQ(CombinedDataset::concat({half, half})->size(), int64_t{1} << 60);
  EXPECT_THROWS(Status::invalid_argument, "has too many elements", CombinedDataset::concat({half, half, half}));
}

// One call of a source reads 1,024 samples at most.
TEST(CombinedDataset, reads_more_samples_than_a_source_reads_at_once) {
  std::vector<float> inputs(3000);
  std::iota(inputs.begin(), inputs.end(), 0.0f);
  std::vector<int32_t> labels(3000);
  std::iota(labels.begin(), labels.end(), 0);
  const auto whole = std::make_shared<const ArrayDataset>(Shape{1}, inputs, labels);
  std::vector<int64_t> backwards(3000);
  for (size_t i = 0; i < backwards.size(); ++i) backwards[i] = static_cast<int64_t>(2999 - i);
  const Samples samples = read_all(*CombinedDataset::subset(whole, backwards));
  for (size_t i = 0; i < backwards.size(); ++i) {
    ASSERT_EQ(samples.inputs[i], static_cast<float>(2999 - i));
    ASSERT_EQ(samples.labels[i], static_cast<int32_t>(2999 - i));
  }
}

}  // namespace
}  // namespace troika
