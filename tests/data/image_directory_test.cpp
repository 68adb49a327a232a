// Directories of known sets: MNIST's names, the real Fashion-MNIST, and CIFAR's records, labels and
// folders.
#include "data/image_directory.h"

#include <cmath>
#include <random>

#include "data/cifar.h"
#include "data/data_helpers.h"
#include "support/temp_directory.h"
#include "support/test_seed.h"

namespace troika {
namespace {

using namespace test;

constexpr const char* kFashionMnist = "/usr/share/datasets/fashion-mnist";
constexpr size_t kPixels = 3 * 32 * 32;

TEST(ImageDirectory, has_idx_files_plain_or_gzipped) {
  TempDirectory directory;
  write_plain(directory.path() / "train-images-idx3-ubyte", idx_bytes({3, 2, 2}));
  write_gzipped(directory.path() / "train-labels-idx1-ubyte.gz", idx_bytes({3}));
  EXPECT_EQ(open_image_directory(directory.path().string(), "train", {})->size(), 3);
}

TEST(ImageDirectory, names_missing_idx_files) {
  TempDirectory directory;
  const auto open = [&] { open_image_directory(directory.path().string(), "test", {}); };
  write_plain(directory.path() / "train-images-idx3-ubyte", idx_bytes({3, 2, 2}));
  EXPECT_REFUSED(open(), Status::not_found, (directory.path() / "t10k-images-idx3-ubyte'").string());
  EXPECT_REFUSED(open(), Status::not_found, (directory.path() / "t10k-images-idx3-ubyte.gz'").string());
  write_plain(directory.path() / "t10k-images-idx3-ubyte", idx_bytes({3, 2, 2}));
  EXPECT_REFUSED(open(), Status::not_found, (directory.path() / "t10k-labels-idx1-ubyte.gz'").string());
  EXPECT_REFUSED(open_image_directory("/", "validation", {}), Status::invalid_argument, "'validation'");
}

// The files are from Debian's dataset-fashion-mnist. The figures are the well-known ones of the
// training set.
TEST(ImageDirectory, reads_fashion_mnist) {
  if (!std::filesystem::exists(kFashionMnist)) GTEST_SKIP() << kFashionMnist << " is not installed";
  const auto train = open_image_directory(kFashionMnist, "train", {});
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

  const auto test = open_image_directory(kFashionMnist, "test", {0.2860, 0.3530, 96, 96});
  EXPECT_EQ(test->size(), 10000);
  EXPECT_EQ(test->sample_shape(), (Shape{1, 96, 96}));
  EXPECT_EQ(read_samples(*test, {9999}).labels[0], 5);
}

// Records of random pixels and labels, and the labels that a dataset has of them.
struct Records {
  std::string bytes;
  std::vector<int32_t> labels;

  size_t size() const { return labels.size(); }
  size_t record_bytes() const { return bytes.size() / size(); }
  // Byte `p` of the pixels of a record.
  int pixel(size_t record, size_t p) const {
    return static_cast<unsigned char>(bytes[(record + 1) * record_bytes() - kPixels + p]);
  }
};

Records records_of(size_t n, const CifarFormat& format, std::mt19937_64& random) {
  Records records;
  for (size_t i = 0; i < n; ++i) {
    for (int l = 1; l < format.labels; ++l) records.bytes += static_cast<char>(random() % 20);
    records.labels.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(format.classes)));
    records.bytes += static_cast<char>(records.labels.back());
    for (size_t p = 0; p < kPixels; ++p) records.bytes += static_cast<char>(random());
  }
  return records;
}

std::string in_batches(int batch) { return "data_batch_" + std::to_string(batch) + ".bin"; }

class CifarDirectory : public testing::Test {
 protected:
  std::shared_ptr<const Dataset> open(const std::string& split, const ImageTransform& transform = {}) const {
    return open_image_directory(directory_.path().string(), split, transform);
  }
  // Writes the five files of CIFAR-10's training set, with `n` records each.
  std::vector<Records> write_batches(const std::filesystem::path& folder, size_t n) {
    std::vector<Records> batches;
    for (int i = 1; i <= 5; ++i) {
      batches.push_back(records_of(n, kCifar10, random_));
      if (i % 2 == 0)
        write_gzipped(folder / (in_batches(i) + ".gz"), batches.back().bytes);
      else
        write_plain(folder / in_batches(i), batches.back().bytes);
    }
    return batches;
  }
  void expect_samples(const Dataset& dataset, const std::vector<Records>& files, const ImageTransform& transform) {
    const Samples samples = read_all(dataset);
    size_t sample = 0;
    for (const Records& file : files)
      for (size_t i = 0; i < file.size(); ++i, ++sample) {
        ASSERT_EQ(samples.labels.at(sample), file.labels[i]) << "sample " << sample;
        for (size_t p = 0; p < kPixels; ++p) {
          const float expected = (static_cast<float>(file.pixel(i, p)) / 255.0f - static_cast<float>(transform.mean)) /
                                 static_cast<float>(transform.std);
          ASSERT_EQ(samples.inputs[sample * kPixels + p], expected) << "sample " << sample << ", pixel " << p;
        }
      }
    EXPECT_EQ(dataset.size(), static_cast<int64_t>(sample));
    EXPECT_EQ(dataset.classes(), *std::max_element(samples.labels.begin(), samples.labels.end()) + 1);
  }

  std::mt19937_64 random_{test_seed()};
  TempDirectory directory_;
};

TEST_F(CifarDirectory, has_the_samples_of_all_files_in_order) {
  const auto batches = write_batches(directory_.path(), 7);
  const Records test = records_of(301, kCifar10, random_);  // more than the reader takes at a time
  write_plain(directory_.path() / "test_batch.bin", test.bytes);
  const ImageTransform transform{0.4734, 0.2516};
  const auto train = open("train", transform);
  EXPECT_EQ(train->sample_shape(), (Shape{3, 32, 32}));
  expect_samples(*train, batches, transform);
  expect_samples(*open("test"), {test}, {});
}

TEST_F(CifarDirectory, has_the_fine_labels_of_cifar_100) {
  const Records train = records_of(23, kCifar100, random_), test = records_of(300, kCifar100, random_);
  write_gzipped(directory_.path() / "train.bin.gz", train.bytes);
  write_plain(directory_.path() / "test.bin", test.bytes);
  expect_samples(*open("train"), {train}, {});
  expect_samples(*open("test"), {test}, {});
}

TEST_F(CifarDirectory, may_have_the_folder_of_the_archive) {
  const auto folder = directory_.path() / "cifar-10-batches-bin";
  std::filesystem::create_directory(folder);
  const auto batches = write_batches(folder, 2);
  expect_samples(*open("train"), batches, {});
  expect_samples(*open_image_directory(folder.string(), "train", {}), batches, {});

  TempDirectory other;
  std::filesystem::create_directory(other.path() / "cifar-100-binary");
  const Records test = records_of(3, kCifar100, random_);
  write_plain(other.path() / "cifar-100-binary" / "test.bin", test.bytes);
  expect_samples(*open_image_directory(other.path().string(), "test", {}), {test}, {});
}

TEST_F(CifarDirectory, is_resized_by_channel) {
  const Records test = records_of(2, kCifar10, random_);
  write_plain(directory_.path() / "test_batch.bin", test.bytes);
  const auto dataset = open("test", {0.25, 0.5, 17, 41});
  EXPECT_EQ(dataset->sample_shape(), (Shape{3, 17, 41}));
  const auto inputs = read_samples(*dataset, {1}).inputs;
  std::array<float, 256> values;
  for (size_t p = 0; p < 256; ++p) values[p] = (static_cast<float>(p) / 255.0f - 0.25f) / 0.5f;
  const auto* const pixels = reinterpret_cast<const uint8_t*>(test.bytes.data()) + test.record_bytes() + 1;
  for (size_t c = 0; c < 3; ++c) {
    std::vector<float> expected(17 * 41);
    BilinearResize(32, 32, 17, 41).resize(pixels + c * 32 * 32, values.data(), expected.data());
    EXPECT_EQ(std::vector<float>(inputs.begin() + c * 697, inputs.begin() + c * 697 + 697), expected) << c;
  }
}

TEST_F(CifarDirectory, names_a_missing_file) {
  write_batches(directory_.path(), 1);
  EXPECT_REFUSED(open("test"), Status::not_found, (directory_.path() / "test_batch.bin'").string());
  std::filesystem::remove(directory_.path() / in_batches(3));
  EXPECT_REFUSED(open("train"), Status::not_found,
                 "neither '" + (directory_.path() / "data_batch_3.bin").string() + "' nor '" +
                     (directory_.path() / "data_batch_3.bin.gz'").string());
}

TEST_F(CifarDirectory, without_any_file_names_both_kinds) {
  for (const std::string& part : {std::string("t10k-images-idx3-ubyte"), std::string("test_batch.bin"),
                                  std::string("test.bin"), directory_.path().string()})
    EXPECT_REFUSED(open("test"), Status::not_found, "'" + part + "'");
  for (const std::string part : {"train-images-idx3-ubyte", "data_batch_1.bin", "train.bin"})
    EXPECT_REFUSED(open("train"), Status::not_found, "'" + part + "'");
  EXPECT_REFUSED(open("tests"), Status::invalid_argument, "split is 'tests'");
}

TEST_F(CifarDirectory, of_two_sets_is_refused_unless_it_has_idx_files) {
  write_batches(directory_.path(), 1);
  const auto folder = directory_.path() / "cifar-100-binary";
  std::filesystem::create_directory(folder);
  const Records fine = records_of(2, kCifar100, random_);
  write_plain(folder / "train.bin", fine.bytes);
  EXPECT_REFUSED(open("train"), Status::invalid_argument, "has files of CIFAR-10 and of CIFAR-100");
  expect_samples(*open_image_directory(folder.string(), "train", {}), {fine}, {});
  write_plain(directory_.path() / "train-images-idx3-ubyte", idx_bytes({3, 2, 2}));
  write_plain(directory_.path() / "train-labels-idx1-ubyte", idx_bytes({3}));
  EXPECT_EQ(open("train")->sample_shape(), (Shape{1, 2, 2}));
}

TEST_F(CifarDirectory, refuses_a_part_of_a_record) {
  const Records test = records_of(3, kCifar10, random_);
  const size_t record = test.record_bytes();
  std::vector<size_t> sizes = {0, 1, record - 1, record + 1, 3 * record - 1};
  for (int i = 0; i < 8; ++i) sizes.push_back(record + 1 + random_() % (record - 1));
  for (size_t n : sizes) {
    const std::string found = "has " + std::to_string(n) + " bytes, need a multiple of 3073 above 0";
    const std::string path = write_plain(directory_.path() / "test_batch.bin", test.bytes.substr(0, n));
    EXPECT_REFUSED(open("test"), Status::corrupt, "'" + path + "': " + found);
    std::filesystem::remove(path);
    write_gzipped(directory_.path() / "test_batch.bin.gz", test.bytes.substr(0, n));
    EXPECT_REFUSED(open("test"), Status::corrupt, found);
    std::filesystem::remove(directory_.path() / "test_batch.bin.gz");
  }
  write_plain(directory_.path() / "test_batch.bin", test.bytes + '\0');
  EXPECT_REFUSED(open("test"), Status::corrupt, "has 9220 bytes");
}

TEST_F(CifarDirectory, refuses_a_gzipped_file_wherever_it_is_cut_and_whatever_byte_is_changed) {
  const Records test = records_of(2, kCifar100, random_);
  const auto path = directory_.path() / "test.bin.gz";
  const std::string whole = whole_file(write_gzipped(path, test.bytes));
  for (int i = 0; i < 60; ++i) {
    const size_t at = 2 + random_() % (whole.size() - 2);
    write_plain(path, whole.substr(0, at));
    EXPECT_REFUSED(open("test"), Status::corrupt, "truncated inside its gzip stream");
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ (1 + random_() % 255));
    write_plain(path, bad);
    const auto error = thrown_by([&] { EXPECT_EQ(open("test")->size(), 2) << at; });
    EXPECT_TRUE(!error || error->status() == Status::corrupt) << error->what();
  }
  write_plain(path, whole + "more");
  EXPECT_REFUSED(open("test"), Status::corrupt, "trailing bytes after its gzip stream");
}

TEST_F(CifarDirectory, refuses_a_label_of_no_class) {
  Records ten = records_of(270, kCifar10, random_), hundred = records_of(4, kCifar100, random_);
  ten.bytes[269 * ten.record_bytes()] = 10;
  write_plain(directory_.path() / "test_batch.bin", ten.bytes);
  EXPECT_REFUSED(open("test"), Status::corrupt, "test_batch.bin': record 269 has label 10, need 0 to 9");
  TempDirectory other;
  hundred.bytes[2 * hundred.record_bytes() + 1] = 100;
  write_plain(other.path() / "train.bin", hundred.bytes);
  EXPECT_REFUSED(open_image_directory(other.path().string(), "train", {}), Status::corrupt,
                 "record 2 has label 100, need 0 to 99");
}

TEST_F(CifarDirectory, survives_any_bytes) {
  for (int i = 0; i < 40; ++i) {
    std::string bytes(random_() % 4 * 3073 + random_() % 3 * (random_() % 5000), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_() % 10);
    write_plain(directory_.path() / "test_batch.bin", bytes);
    const bool fits = !bytes.empty() && bytes.size() % 3073 == 0;
    const auto error = thrown_by([&] { EXPECT_EQ(read_all(*open("test")).labels.size() * 3073, bytes.size()); });
    EXPECT_TRUE(fits || (error && error->status() == Status::corrupt)) << bytes.size();
  }
}

TEST_F(CifarDirectory, reports_a_wrong_transform_before_files_are_read) {
  write_plain(directory_.path() / "test_batch.bin", "no record");
  EXPECT_REFUSED(open("test", {0, 0}), Status::invalid_argument, "std");
}

}  // namespace
}  // namespace troika
