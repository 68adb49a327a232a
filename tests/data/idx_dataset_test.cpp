// Datasets of IDX files: conversion of pixels, images without matching labels, and files that
// disagree.
#include "data/idx_dataset.h"

#include <cmath>
#include <limits>

#include "data/data_helpers.h"
#include "support/temp_directory.h"

namespace troika {
namespace {

using namespace test;

IdxArray array_of(Shape shape) {
  IdxArray array{shape, std::vector<uint8_t>(static_cast<size_t>(shape.elements()))};
  for (size_t i = 0; i < array.elements.size(); ++i) array.elements[i] = static_cast<uint8_t>(7 * i);
  return array;
}

TEST(IdxDataset, turns_pixels_into_numbers) {
  ImageTransform transform;
  transform.mean = 0.25;
  transform.std = 0.5;
  const auto dataset = create_idx({{2, 1, 2}, {0, 255, 51, 102}}, {{2}, {9, 3}}, transform);
  EXPECT_EQ(dataset->sample_shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(dataset->classes(), 10);
  const Samples samples = read_samples(*dataset, {1, 0});
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
  const auto dataset = create_idx(images, array_of({2}), transform);
  EXPECT_EQ(dataset->sample_shape(), (Shape{3, 5, 9}));
  const auto inputs = read_all(*dataset).inputs;
  std::array<float, 256> values;
  for (size_t p = 0; p < 256; ++p) values[p] = static_cast<float>(p) / 255.0f;
  for (size_t plane = 0; plane < 6; ++plane) {
    std::vector<float> expected(45);
    BilinearResize(4, 6, 5, 9).resize(images.elements.data() + plane * 24, values.data(), expected.data());
    EXPECT_EQ(std::vector<float>(inputs.begin() + plane * 45, inputs.begin() + plane * 45 + 45), expected);
  }
}

TEST(IdxDataset, has_no_targets_without_a_file_of_labels) {
  const TempDirectory directory;
  const std::string images = (directory.path() / "images").string(), labels = (directory.path() / "labels").string();
  write_plain(images, idx_bytes({3, 2, 2}));
  write_plain(labels, idx_bytes({3}));
  const auto dataset = open_idx(images, "", {}), labeled = open_idx(images, labels, {});
  EXPECT_FALSE(dataset->has_targets());
  EXPECT_TRUE(labeled->has_labels());
  EXPECT_EQ(dataset->classes(), 0);
  EXPECT_EQ(dataset->size(), 3);
  EXPECT_EQ(read_all(*dataset).inputs, read_all(*labeled).inputs);
}

TEST(IdxDataset, refuses_images_and_labels_that_do_not_belong_together) {
  EXPECT_REFUSED(create_idx(array_of({3, 2, 2}), array_of({4}), {}), Status::corrupt, "3 images but 4 labels");
  EXPECT_REFUSED(create_idx(array_of({3}), array_of({3}), {}), Status::corrupt, "need [n, h, w] or [n, c, h, w]");
  EXPECT_REFUSED(create_idx(array_of({3, 2, 2}), array_of({3, 1}), {}), Status::corrupt, "idx labels: shape is [3, 1]");
  EXPECT_REFUSED(create_idx(array_of({3, 0, 2}), array_of({3}), {}), Status::corrupt, "[3, 0, 2]");
}

TEST(IdxDataset, refuses_transforms_that_cannot_be) {
  const auto open = [](ImageTransform transform) { create_idx(array_of({1, 2, 2}), array_of({1}), transform); };
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

}  // namespace
}  // namespace troika
