// IdxDataset: conversion of pixels, images without matching labels, MNIST's names, and the real
// Fashion-MNIST.
#include "data/idx_dataset.h"

#include <cmath>
#include <limits>

#include "data/data_helpers.h"
#include "support/temp_directory.h"

namespace troika {
namespace {

using namespace test;

constexpr const char* kFashionMnist = "/usr/share/datasets/fashion-mnist";

IdxArray array_of(Shape shape) {
  IdxArray array{shape, std::vector<uint8_t>(static_cast<size_t>(shape.elements()))};
  for (size_t i = 0; i < array.elements.size(); ++i) array.elements[i] = static_cast<uint8_t>(7 * i);
  return array;
}

TEST(IdxDataset, turns_pixels_into_numbers) {
  ImageTransform transform;
  transform.mean = 0.25;
  transform.std = 0.5;
  const IdxDataset dataset({{2, 1, 2}, {0, 255, 51, 102}}, {{2}, {9, 3}}, transform);
  EXPECT_EQ(dataset.sample_shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(dataset.classes(), 10);
  const Samples samples = read_samples(dataset, {1, 0});
  EXPECT_EQ(samples.labels, (std::vector<int32_t>{3, 9}));
  EXPECT_FLOAT_EQ(samples.inputs[0], (0.2f - 0.25f) / 0.5f);
  EXPECT_FLOAT_EQ(samples.inputs[1], (0.4f - 0.25f) / 0.5f);
  EXPECT_FLOAT_EQ(samples.inputs[2], -0.5f);
  EXPECT_FLOAT_EQ(samples.inputs[3], 1.5f);
}

TEST(IdxDataset, resizes_every_channel_by_itself) {
  ImageTransform transform;
  transform.resize_height = 5;
  transform.resize_width = 9;
  const IdxArray images = array_of({2, 3, 4, 6});
  const IdxDataset dataset(images, array_of({2}), transform);
  EXPECT_EQ(dataset.sample_shape(), (Shape{3, 5, 9}));
  const auto inputs = read_all(dataset).inputs;
  std::array<float, 256> values;
  for (size_t p = 0; p < 256; ++p) values[p] = static_cast<float>(p) / 255.0f;
  for (size_t plane = 0; plane < 6; ++plane) {
    std::vector<float> expected(45);
    BilinearResize(4, 6, 5, 9).resize(images.elements.data() + plane * 24, values.data(), expected.data());
    EXPECT_EQ(std::vector<float>(inputs.begin() + plane * 45, inputs.begin() + plane * 45 + 45), expected);
  }
}

TEST(IdxDataset, refuses_images_and_labels_that_do_not_belong_together) {
  EXPECT_REFUSED(IdxDataset(array_of({3, 2, 2}), array_of({4}), {}), Status::corrupt, "3 images but 4 labels");
  EXPECT_REFUSED(IdxDataset(array_of({3}), array_of({3}), {}), Status::corrupt, "need [n, h, w] or [n, c, h, w]");
  EXPECT_REFUSED(IdxDataset(array_of({3, 2, 2}), array_of({3, 1}), {}), Status::corrupt, "idx labels: shape is [3, 1]");
  EXPECT_REFUSED(IdxDataset(array_of({3, 0, 2}), array_of({3}), {}), Status::corrupt, "[3, 0, 2]");
}

TEST(IdxDataset, refuses_transforms_that_cannot_be) {
  const auto open = [](ImageTransform transform) { IdxDataset(array_of({1, 2, 2}), array_of({1}), transform); };
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (double mean : {nan, infinity, -infinity}) EXPECT_REFUSED(open({mean, 1}), Status::invalid_argument, "mean");
  for (double std : {nan, infinity, 0.0, -1.0, 1e-300}) EXPECT_REFUSED(open({0, std}), Status::invalid_argument, "std");
  EXPECT_REFUSED(open({0, 1, 0, 5}), Status::invalid_argument, "resize_height is 0");
  EXPECT_REFUSED(open({0, 1, 5, -5}), Status::invalid_argument, "resize_width is -5");
  EXPECT_REFUSED(open({0, 1, 70000, 5}), Status::invalid_argument, "resize_height is 70000");
}

TEST(IdxDataset, names_both_files_where_they_disagree) {
  TempDirectory directory;
  const std::string images = write_plain(directory.path() / "images", idx_bytes({3, 2, 2}));
  const std::string labels = write_plain(directory.path() / "labels", idx_bytes({2}));
  EXPECT_REFUSED(open_idx(images, labels, {}), Status::corrupt, images);
  EXPECT_REFUSED(open_idx(images, labels, {}), Status::corrupt, labels);
}

TEST(IdxDataset, finds_the_files_of_a_directory_plain_or_gzipped) {
  TempDirectory directory;
  write_plain(directory.path() / "train-images-idx3-ubyte", idx_bytes({3, 2, 2}));
  write_gzipped(directory.path() / "train-labels-idx1-ubyte.gz", idx_bytes({3}));
  EXPECT_EQ(open_idx_directory(directory.path().string(), "train", {})->size(), 3);
}

TEST(IdxDataset, tells_where_it_looked_for_missing_files) {
  TempDirectory directory;
  const auto open = [&] { open_idx_directory(directory.path().string(), "test", {}); };
  EXPECT_REFUSED(open(), Status::not_found, (directory.path() / "t10k-images-idx3-ubyte'").string());
  EXPECT_REFUSED(open(), Status::not_found, (directory.path() / "t10k-images-idx3-ubyte.gz'").string());
  write_plain(directory.path() / "t10k-images-idx3-ubyte", idx_bytes({3, 2, 2}));
  EXPECT_REFUSED(open(), Status::not_found, (directory.path() / "t10k-labels-idx1-ubyte.gz'").string());
  EXPECT_REFUSED(open_idx_directory("/", "validation", {}), Status::invalid_argument, "'validation'");
}

// The files are from Debian's dataset-fashion-mnist. The figures are the well-known ones of the
// training set.
TEST(IdxDataset, reads_fashion_mnist) {
  if (!std::filesystem::exists(kFashionMnist)) GTEST_SKIP() << kFashionMnist << " is not installed";
  const auto train = open_idx_directory(kFashionMnist, "train", {});
  EXPECT_EQ(train->size(), 60000);
  EXPECT_EQ(train->classes(), 10);
  EXPECT_EQ(train->sample_shape(), (Shape{1, 28, 28}));
  const Samples samples = read_all(*train);
  double sum = 0, squares = 0;
  for (float x : samples.inputs) sum += x, squares += double{x} * x;
  const double mean = sum / static_cast<double>(samples.inputs.size());
  EXPECT_NEAR(mean, 0.2860, 5e-5);
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(samples.inputs.size()) - mean * mean), 0.3530, 5e-5);
  std::vector<int> counts(10);
  for (int32_t label : samples.labels) ++counts[static_cast<size_t>(label)];
  EXPECT_EQ(counts, std::vector<int>(10, 6000));
  EXPECT_EQ(samples.labels[0], 9);

  const auto test = open_idx_directory(kFashionMnist, "test", {0.2860, 0.3530, 96, 96});
  EXPECT_EQ(test->size(), 10000);
  EXPECT_EQ(test->sample_shape(), (Shape{1, 96, 96}));
  EXPECT_EQ(read_samples(*test, {9999}).labels[0], 5);
}

}  // namespace
}  // namespace troika
