// The C functions of data.h: errors that name the argument, the flow of an epoch, handles in any
// order.
#include <gtest/gtest.h>
#include <troika/context.h>
#include <troika/data.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "data/data_helpers.h"
#include "support/temp_directory.h"

namespace troika {
namespace {

class DataApi : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(troika_context_create(nullptr, &context_, &error_), TROIKA_OK); }
  void TearDown() override {
    troika_loader_destroy(loader_);
    troika_dataset_destroy(dataset_);
    troika_context_destroy(context_);
  }

  // Creates a dataset of n samples [2]; sample i has the label i mod 3.
  void create_dataset(int64_t n) {
    std::vector<float> inputs(static_cast<size_t>(2 * n));
    std::vector<int32_t> labels(static_cast<size_t>(n));
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i % 3);
    const int64_t dims[] = {2};
    ASSERT_EQ(troika_dataset_create_arrays(context_, inputs.data(), dims, 1, n, labels.data(), nullptr, 0, &dataset_,
                                           &error_),
              TROIKA_OK)
        << error_.message;
  }

  void create_loader(int32_t batch) {
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = batch;
    ASSERT_EQ(troika_loader_create(dataset_, &options, &loader_, &error_), TROIKA_OK) << error_.message;
  }

  void expect_error(troika_status status, troika_status expected, const std::string& message) {
    EXPECT_EQ(status, expected);
    EXPECT_EQ(error_.status, expected);
    EXPECT_EQ(error_.message, message);
  }

  troika_context context_ = nullptr;
  troika_dataset dataset_ = nullptr;
  troika_loader loader_ = nullptr;
  troika_error error_ = {};
};

constexpr troika_status kInvalid = TROIKA_ERROR_INVALID_ARGUMENT;

TEST_F(DataApi, gives_batches_until_the_end_of_the_epoch) {
  create_dataset(5);
  create_loader(2);
  for (int epoch = 0; epoch < 2; ++epoch) {
    troika_batch batch = nullptr;
    int64_t samples = 0;
    while (troika_loader_next(loader_, &batch, &error_) == TROIKA_OK) {
      troika_batch_info info = TROIKA_BATCH_INFO_INIT;
      ASSERT_EQ(troika_batch_describe(batch, &info, &error_), TROIKA_OK);
      EXPECT_EQ(info.struct_size, sizeof info);
      EXPECT_EQ(info.rank, 2);
      EXPECT_EQ(info.dims[0], info.n);
      EXPECT_EQ(info.dims[1], 2);
      EXPECT_EQ(info.dims[2], 0);
      EXPECT_EQ(info.labels[0], samples % 3);
      EXPECT_NE(info.inputs, nullptr);
      EXPECT_EQ(info.values, nullptr);
      EXPECT_EQ(info.value_size, 0);
      samples += info.n;
    }
    EXPECT_EQ(error_.status, TROIKA_OK) << "the end of data is no error";
    EXPECT_EQ(batch, nullptr);
    EXPECT_EQ(samples, 5);
  }
}

TEST_F(DataApi, describes_a_dataset_in_a_struct_of_the_headers_size) {
  create_dataset(5);
  troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
  ASSERT_EQ(troika_dataset_describe(dataset_, &info, &error_), TROIKA_OK);
  EXPECT_EQ(info.n, 5);
  EXPECT_EQ(info.rank, 1);
  EXPECT_EQ(info.dims[0], 2);
  EXPECT_EQ(info.classes, 3);
  info.struct_size = offsetof(troika_dataset_info, classes);
  info.classes = 99;
  EXPECT_EQ(troika_dataset_describe(dataset_, &info, &error_), kInvalid);
  EXPECT_NE(std::string(error_.message).find("out_info->struct_size is "), std::string::npos) << error_.message;
  EXPECT_EQ(info.classes, 99);
}

TEST_F(DataApi, resumes_at_a_position) {
  create_dataset(10);
  create_loader(4);
  const troika_loader_position to = {sizeof to, 0, 3, 2, 0};
  ASSERT_EQ(troika_loader_seek(loader_, &to, &error_), TROIKA_OK);
  troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
  ASSERT_EQ(troika_loader_tell(loader_, &position, &error_), TROIKA_OK);
  EXPECT_EQ(position.epoch, 3);
  EXPECT_EQ(position.batch, 2);
  EXPECT_EQ(position.batches, 3);
  troika_batch batch = nullptr;
  EXPECT_EQ(troika_loader_next(loader_, &batch, &error_), TROIKA_OK);
  EXPECT_EQ(troika_loader_next(loader_, &batch, &error_), TROIKA_END_OF_DATA);
  const troika_loader_position beyond = {sizeof beyond, 0, 0, 4, 0};
  expect_error(troika_loader_seek(loader_, &beyond, &error_), kInvalid,
               "troika_loader_seek: position->batch is 4, need 0 to 3, the batches of an epoch");
  const troika_loader_position reserved = {sizeof reserved, 1, 0, 0, 0}, sizeless = {0, 0, 0, 0, 0};
  expect_error(troika_loader_seek(loader_, &reserved, &error_), kInvalid,
               "troika_loader_seek: position->reserved is 1, need 0");
  EXPECT_EQ(troika_loader_seek(loader_, &sizeless, &error_), kInvalid);
  EXPECT_NE(std::string(error_.message).find("troika_loader_position: struct_size is 0"), std::string::npos);
}

TEST_F(DataApi, keeps_parents_alive) {
  create_dataset(5);
  create_loader(2);
  troika_dataset_destroy(dataset_);
  troika_context_destroy(context_);
  dataset_ = nullptr;
  context_ = nullptr;
  troika_batch batch = nullptr;
  EXPECT_EQ(troika_loader_next(loader_, &batch, &error_), TROIKA_OK);
}

TEST_F(DataApi, refuses_a_batch_that_its_loader_moved_past) {
  create_dataset(2);
  create_loader(2);
  troika_batch batch = nullptr, none = nullptr;
  ASSERT_EQ(troika_loader_next(loader_, &batch, &error_), TROIKA_OK);
  ASSERT_EQ(troika_loader_next(loader_, &none, &error_), TROIKA_END_OF_DATA);
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  EXPECT_EQ(troika_batch_describe(batch, &info, &error_), kInvalid);
  troika_batch_destroy(batch);  // forbidden; must have no effect
  EXPECT_EQ(troika_loader_next(loader_, &batch, &error_), TROIKA_OK);
}

TEST_F(DataApi, refuses_options_and_names_the_field) {
  create_dataset(5);
  const auto create = [&](auto&& change) {
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = 1;
    change(options);
    troika_loader loader = reinterpret_cast<troika_loader>(this);
    const troika_status status = troika_loader_create(dataset_, &options, &loader, &error_);
    EXPECT_EQ(loader, nullptr);
    return status;
  };
  expect_error(create([](auto& o) { o.batch = 0; }), kInvalid,
               "troika_loader_create: options.batch is 0, need at least 1");
  expect_error(create([](auto& o) { o.batch = TROIKA_UNSET; }), kInvalid,
               "troika_loader_create: options.batch is not set, need at least 1");
  expect_error(create([](auto& o) { o.shuffle = 2; }), kInvalid,
               "troika_loader_create: options.shuffle is 2, need 0 or 1");
  expect_error(create([](auto& o) { o.drop_last = -1; }), kInvalid,
               "troika_loader_create: options.drop_last is -1, need 0 or 1");
  expect_error(create([](auto& o) { o.prefetch = -1; }), kInvalid,
               "troika_loader_create: options.prefetch is -1, need 0 to 1024");
  expect_error(create([](auto& o) { o.flip = 2; }), kInvalid, "troika_loader_create: options.flip is 2, need 0 or 1");
  expect_error(create([](auto& o) { o.flip = 1; }), kInvalid,
               "troika_loader_create: options.flip is set, the samples are f32 [2], need f32 [c, h, w]");
  expect_error(create([](auto& o) { o.crop = 3; }), kInvalid,
               "troika_loader_create: options.crop is set, the samples are f32 [2], need f32 [c, h, w]");
  EXPECT_EQ(create([](auto& o) { o.struct_size = 0; }), kInvalid);
  expect_error(troika_loader_create(dataset_, nullptr, &loader_, &error_), kInvalid,
               "troika_loader_create: options.batch is not set, need at least 1");
}

TEST_F(DataApi, refuses_transforms_and_names_the_field) {
  const auto open = [&](auto&& change) {
    troika_dataset_options options = TROIKA_DATASET_OPTIONS_INIT;
    change(options);
    return troika_dataset_open_idx(context_, "images", "labels", &options, &dataset_, &error_);
  };
  const std::string prefix = "troika_dataset_open_idx: options.";
  expect_error(open([](auto& o) { o.resize_height = 0; }), kInvalid, prefix + "resize_height is 0, need 1 to 65535");
  expect_error(open([](auto& o) { o.resize_width = 96; }), kInvalid,
               prefix + "resize_width is set and options.resize_height is not; set both or none");
  expect_error(open([](auto& o) { o.mean = NAN; }), kInvalid, prefix + "mean is nan, need a finite number");
  expect_error(open([](auto& o) { o.std = 0; }), kInvalid, prefix + "std is 0, need a finite number above 0");
  expect_error(open([](auto& o) { o.std = INFINITY; }), kInvalid, prefix + "std is inf, need a finite number above 0");
  EXPECT_EQ(open([](auto& o) { o.std = 1e-300; }), kInvalid) << "no f32 holds the pixels";
  expect_error(open([](auto&) {}), TROIKA_ERROR_NOT_FOUND, "idx file 'images': there is no such file");
}

TEST_F(DataApi, refuses_arrays_and_names_the_argument) {
  const float inputs[4] = {}, values[4] = {};
  const int32_t labels[2] = {0, 1}, below[2] = {0, -7};
  const int64_t dims[] = {2}, none[] = {0}, large[] = {int64_t{1} << 62};
  const auto create = [&](const float* x, const int64_t* d, int32_t rank, int64_t n, const int32_t* l, const float* v,
                          int64_t value_size) {
    return troika_dataset_create_arrays(context_, x, d, rank, n, l, v, value_size, &dataset_, &error_);
  };
  const std::string prefix = "troika_dataset_create_arrays: ";
  expect_error(create(nullptr, dims, 1, 2, labels, nullptr, 0), kInvalid, prefix + "argument 'inputs' is NULL");
  expect_error(create(inputs, nullptr, 1, 2, labels, nullptr, 0), kInvalid, prefix + "argument 'dims' is NULL");
  expect_error(create(inputs, none, 1, 2, labels, nullptr, 0), kInvalid, prefix + "dims[0] is 0, need at least 1");
  expect_error(create(inputs, dims, 0, 2, labels, nullptr, 0), kInvalid,
               prefix + "rank is 0, need 1 to 7 for a sample");
  expect_error(create(inputs, dims, 8, 2, labels, nullptr, 0), kInvalid,
               prefix + "rank is 8, need 1 to 7 for a sample");
  expect_error(create(inputs, dims, 1, -1, labels, nullptr, 0), kInvalid, prefix + "n is -1, need at least 0");
  expect_error(create(inputs, dims, 1, 2, nullptr, nullptr, 0), kInvalid,
               prefix + "labels and values are both NULL, need one of them");
  expect_error(create(inputs, dims, 1, 2, labels, values, 2), kInvalid,
               prefix + "labels and values are both set, need one of them");
  expect_error(create(inputs, dims, 1, 2, nullptr, values, 0), kInvalid,
               prefix + "value_size is 0, need at least 1 with values");
  expect_error(create(inputs, dims, 1, 2, below, nullptr, 0), kInvalid, prefix + "labels[1] is -7, need at least 0");
  EXPECT_EQ(create(inputs, large, 1, 2, labels, nullptr, 0), kInvalid);
  EXPECT_EQ(create(inputs, dims, 1, 2, nullptr, values, INT64_MAX), kInvalid);
  EXPECT_EQ(dataset_, nullptr);
  EXPECT_EQ(create(nullptr, dims, 1, 0, labels, nullptr, 0), TROIKA_OK) << "an empty dataset needs no inputs";
}

TEST_F(DataApi, refuses_missing_arguments_everywhere) {
  const int64_t dims[] = {2};
  EXPECT_EQ(troika_dataset_open_idx(context_, nullptr, "l", nullptr, &dataset_, &error_), kInvalid);
  EXPECT_EQ(troika_dataset_open_idx(context_, nullptr, nullptr, nullptr, &dataset_, &error_), kInvalid);
  EXPECT_EQ(troika_dataset_open_idx(nullptr, "i", "l", nullptr, &dataset_, &error_), kInvalid);
  EXPECT_EQ(troika_dataset_open_idx(context_, "i", "l", nullptr, nullptr, &error_), kInvalid);
  EXPECT_EQ(troika_dataset_open_directory(context_, nullptr, "train", nullptr, &dataset_, &error_), kInvalid);
  EXPECT_EQ(troika_dataset_open_directory(context_, "d", nullptr, nullptr, &dataset_, &error_), kInvalid);
  EXPECT_EQ(troika_dataset_open_directory(context_, "d", "all", nullptr, &dataset_, &error_), kInvalid);
  EXPECT_EQ(troika_dataset_create_synthetic(context_, dims, 1, 2, 0, 0, &dataset_, &error_), kInvalid);
  EXPECT_EQ(troika_dataset_create_synthetic(nullptr, dims, 1, 2, 2, 0, &dataset_, &error_), kInvalid);
  EXPECT_EQ(troika_dataset_describe(nullptr, nullptr, &error_), kInvalid);
  EXPECT_EQ(troika_loader_create(nullptr, nullptr, &loader_, &error_), kInvalid);
  EXPECT_EQ(troika_loader_next(nullptr, nullptr, &error_), kInvalid);
  EXPECT_EQ(troika_loader_tell(nullptr, nullptr, &error_), kInvalid);
  EXPECT_EQ(troika_loader_seek(nullptr, nullptr, &error_), kInvalid);
  EXPECT_EQ(troika_batch_describe(nullptr, nullptr, &error_), kInvalid);
  create_dataset(2);
  create_loader(1);
  EXPECT_EQ(troika_dataset_describe(dataset_, nullptr, &error_), kInvalid);
  EXPECT_EQ(troika_loader_next(loader_, nullptr, nullptr), kInvalid) << "an error struct is optional";
  EXPECT_EQ(troika_loader_tell(loader_, nullptr, &error_), kInvalid);
  EXPECT_EQ(troika_loader_seek(loader_, nullptr, &error_), kInvalid);
  EXPECT_EQ(troika_dataset_describe(reinterpret_cast<troika_dataset>(loader_), nullptr, &error_), kInvalid);
  troika_dataset_destroy(nullptr);
  troika_loader_destroy(nullptr);
  troika_batch_destroy(nullptr);
}

TEST_F(DataApi, makes_a_synthetic_set) {
  const int64_t dims[] = {1, 28, 28};
  ASSERT_EQ(troika_dataset_create_synthetic(context_, dims, 3, 100, 10, 7, &dataset_, &error_), TROIKA_OK);
  troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
  ASSERT_EQ(troika_dataset_describe(dataset_, &info, &error_), TROIKA_OK);
  EXPECT_EQ(info.classes, 10);
  EXPECT_EQ(info.rank, 3);
}

TEST_F(DataApi, opens_a_directory_and_says_where_it_looked) {
  TempDirectory directory;
  const std::string path = directory.path().string();
  EXPECT_EQ(troika_dataset_open_directory(context_, path.c_str(), "train", nullptr, &dataset_, &error_),
            TROIKA_ERROR_NOT_FOUND);
  const std::string kinds =
      "IDX files ('train-images-idx3-ubyte') nor files of CIFAR ('data_batch_1.bin' or 'train.bin')";
  EXPECT_EQ(std::string(error_.message), "split 'train': '" + path + "' has neither " + kinds + ", plain or with .gz");
  test::write_gzipped(directory.path() / "train-images-idx3-ubyte.gz", test::idx_bytes({3, 4, 4}));
  test::write_plain(directory.path() / "train-labels-idx1-ubyte", test::idx_bytes({3}));
  EXPECT_EQ(troika_dataset_open_directory(context_, path.c_str(), "train", nullptr, &dataset_, &error_), TROIKA_OK);
}

TEST_F(DataApi, opens_a_directory_of_cifar) {
  TempDirectory directory;
  std::string records;
  for (const char label : {'\3', '\5'}) records.append(1, label).append(3 * 32 * 32, '\xFF');
  test::write_gzipped(directory.path() / "test_batch.bin.gz", records);
  const std::string path = directory.path().string();
  troika_dataset_options options = TROIKA_DATASET_OPTIONS_INIT;
  options.mean = 0.5;
  options.std = 0.25;
  ASSERT_EQ(troika_dataset_open_directory(context_, path.c_str(), "test", &options, &dataset_, &error_), TROIKA_OK)
      << error_.message;
  troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
  ASSERT_EQ(troika_dataset_describe(dataset_, &info, &error_), TROIKA_OK);
  EXPECT_EQ(info.n, 2);
  EXPECT_EQ(std::vector<int64_t>(info.dims, info.dims + info.rank), (std::vector<int64_t>{3, 32, 32}));
  create_loader(2);
  troika_batch batch = nullptr;
  ASSERT_EQ(troika_loader_next(loader_, &batch, &error_), TROIKA_OK);
  troika_batch_info read = TROIKA_BATCH_INFO_INIT;
  ASSERT_EQ(troika_batch_describe(batch, &read, &error_), TROIKA_OK);
  EXPECT_EQ(std::vector<int32_t>(read.labels, read.labels + 2), (std::vector<int32_t>{3, 5}));
  EXPECT_EQ(std::vector<float>(read.inputs, read.inputs + 6144), std::vector<float>(6144, 2.0f));
}

TEST_F(DataApi, augments_images_and_refuses_shifts_as_far_as_an_image) {
  const int64_t dims[] = {1, 4, 3};
  ASSERT_EQ(troika_dataset_create_synthetic(context_, dims, 3, 40, 2, 9, &dataset_, &error_), TROIKA_OK);
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = 40;
  const auto read = [&] {
    troika_loader loader = nullptr;
    EXPECT_EQ(troika_loader_create(dataset_, &options, &loader, &error_), TROIKA_OK) << error_.message;
    troika_batch batch = nullptr;
    EXPECT_EQ(troika_loader_next(loader, &batch, &error_), TROIKA_OK);
    troika_batch_info info = TROIKA_BATCH_INFO_INIT;
    EXPECT_EQ(troika_batch_describe(batch, &info, &error_), TROIKA_OK);
    std::vector<float> inputs(info.inputs, info.inputs + 40 * 12);
    troika_loader_destroy(loader);
    return inputs;
  };
  const std::vector<float> plain = read();
  options.flip = TROIKA_UNSET;
  options.crop = TROIKA_UNSET;
  EXPECT_EQ(read(), plain);
  options.flip = 1;
  const std::vector<float> mirrored = read();
  int mirrors = 0;
  for (size_t i = 0; i < 40; ++i) {
    std::vector<float> before(plain.begin() + i * 12, plain.begin() + i * 12 + 12), after = before;
    for (size_t row = 0; row < 12; row += 3) std::swap(after[row], after[row + 2]);
    const std::vector<float> found(mirrored.begin() + i * 12, mirrored.begin() + i * 12 + 12);
    EXPECT_TRUE(found == before || found == after) << i;
    mirrors += found == after;
  }
  EXPECT_TRUE(mirrors > 0 && mirrors < 40) << mirrors;
  options.crop = 2;
  EXPECT_NE(read(), mirrored);
  for (const int32_t crop : {-1, 3}) {
    options.crop = crop;
    expect_error(troika_loader_create(dataset_, &options, &loader_, &error_), kInvalid,
                 "troika_loader_create: options.crop is " + std::to_string(crop) +
                     ", need 0 to 2, below the sides of samples [1, 4, 3]");
  }
}

// Several threads use one loader: each call either runs alone or returns BUSY.
TEST_F(DataApi, tells_a_second_thread_that_the_loader_is_busy) {
  create_dataset(1000);
  create_loader(1);
  std::atomic<int> done{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        troika_batch batch = nullptr;
        const troika_status status = troika_loader_next(loader_, &batch, nullptr);
        done += status >= 0;
        wrong += status < 0 && status != TROIKA_ERROR_BUSY;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
  ASSERT_EQ(troika_loader_tell(loader_, &position, &error_), TROIKA_OK);
  EXPECT_EQ(position.epoch * 1001 + position.batch, done);
}

}  // namespace
}  // namespace troika
