// ArrayDataset: reads return the given arrays, and inconsistent arrays are refused.
#include "data/array_dataset.h"

#include "data/data_helpers.h"

namespace troika {
namespace {

using namespace test;

TEST(ArrayDataset, gives_samples_and_labels_in_the_order_of_the_indices) {
  const ArrayDataset dataset({2}, {0, 1, 10, 11, 20, 21}, std::vector<int32_t>{4, 0, 2});
  EXPECT_EQ(dataset.size(), 3);
  EXPECT_EQ(dataset.classes(), 5);
  EXPECT_EQ(dataset.value_size(), 0);
  EXPECT_EQ(read_samples(dataset, {2, 0, 2}), (Samples{{20, 21, 0, 1, 20, 21}, {2, 4, 2}, {}}));
}

TEST(ArrayDataset, gives_values_where_targets_are_values) {
  const ArrayDataset dataset({1, 1}, {5, 6}, {1, 2, 3, 4}, 2);
  EXPECT_EQ(dataset.size(), 2);
  EXPECT_EQ(dataset.classes(), 0);
  EXPECT_EQ(dataset.value_size(), 2);
  EXPECT_EQ(read_samples(dataset, {1, 0}), (Samples{{6, 5}, {}, {3, 4, 1, 2}}));
}

TEST(ArrayDataset, may_be_empty) {
  const ArrayDataset dataset({3}, {}, std::vector<int32_t>{});
  EXPECT_EQ(dataset.size(), 0);
  EXPECT_EQ(dataset.classes(), 0);
}

TEST(ArrayDataset, refuses_a_label_below_0) {
  EXPECT_REFUSED(ArrayDataset({1}, {1, 2}, std::vector<int32_t>{0, -1}), Status::invalid_argument, "label 1 is -1");
}

TEST(ArrayDataset, refuses_inputs_that_do_not_fit_the_targets) {
  EXPECT_REFUSED(ArrayDataset({2}, {1, 2, 3}, std::vector<int32_t>{0, 1}), Status::invalid_argument, "need 4");
  EXPECT_REFUSED(ArrayDataset({2}, {1, 2}, {1, 2, 3}, 0), Status::invalid_argument, "value_size is 0");
}

}  // namespace
}  // namespace troika
