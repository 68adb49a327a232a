// The examples of docs/data.md, word for word.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "api/api_test.h"
#include "support/page_examples.h"

namespace troika::test {
namespace {

constexpr int64_t RECORD_BYTES = 784 + 1;

// Stands for the decoder of a host's files.
bool decode(const char** paths, int64_t i, float* sample, int32_t* label) {
  if (!paths[i]) return false;
  for (int k = 0; k < 784; ++k) sample[k] = static_cast<float>(i);
  *label = std::atoi(paths[i]);
  return true;
}

bool read_record(FILE* file, float* sample, int32_t* label) {
  unsigned char record[RECORD_BYTES];
  if (std::fread(record, 1, sizeof record, file) != sizeof record) return false;
  for (int k = 0; k < 784; ++k) sample[k] = record[k];
  *label = record[784];
  return true;
}

// clang-format off
static int64_t TROIKA_CALL read_samples(const troika_read_request *request, troika_error *error,
                                        void *user) {
  for (int64_t i = 0; i < request->n; ++i) {
    float *sample = (float *)request->inputs + i * 784;
    if (!decode((const char **)user, request->indices[i], sample, &request->labels[i])) {
      snprintf(error->message, sizeof error->message, "image %lld: cannot be decoded",
               (long long)request->indices[i]);
      return -1;
    }
  }
  return request->n;
}

static int64_t TROIKA_CALL read_stream(const troika_read_request *request, troika_error *error,
                                       void *user) {
  FILE *file = (FILE *)user;
  int64_t n = 0;
  if (fseek(file, (long)(request->first * RECORD_BYTES), SEEK_SET) != 0) {
    snprintf(error->message, sizeof error->message, "the records cannot be read");
    return -1;
  }
  while (n < request->n && read_record(file, (float *)request->inputs + n * 784, &request->labels[n]))
    ++n;
  return n;
}

troika_dataset from_arrays(troika_context context, const uint8_t *pixels, const int64_t *labels,
                           const int64_t *dims, int64_t n) {
  troika_dataset dataset = NULL;
  troika_error error;
  troika_arrays arrays = TROIKA_ARRAYS_INIT;
  arrays.dtype = TROIKA_DTYPE_U8;
  arrays.inputs = pixels;            /* [n, 1, 28, 28] */
  arrays.dims = dims;
  arrays.rank = 3;
  arrays.n = n;
  arrays.targets = labels;           /* [n] */
  arrays.target_dtype = TROIKA_DTYPE_I64;
  arrays.mean = 0.2860;
  arrays.std = 0.3530;
  arrays.borrow = 1;
  troika_dataset_create_from(context, &arrays, &dataset, &error);
  return dataset;
}

troika_dataset from_callback(troika_context context, const char **paths, const int64_t *dims, int64_t n) {
  troika_dataset dataset = NULL;
  troika_error error;
  troika_source source = TROIKA_SOURCE_INIT;
  source.dims = dims;
  source.rank = 3;
  source.n = n;
  source.classes = 10;
  source.read = read_samples;
  source.user = paths;
  troika_dataset_create_callback(context, &source, &dataset, &error);
  return dataset;
}

troika_loader draw_from_a_part(troika_dataset dataset, int64_t n, const double *weights, troika_dataset *out_parts) {
  troika_loader loader = NULL;
  troika_error error;
  const int64_t sizes[] = {n - n / 10, n / 10};
  troika_dataset parts[2];
  troika_dataset_split(dataset, sizes, 2, 1, 42, parts, &error);
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = 64;
  options.weights = weights;
  options.epoch_samples = 10000;
  troika_loader_create(parts[0], &options, &loader, &error);
  out_parts[0] = parts[0];
  out_parts[1] = parts[1];
  return loader;
}

troika_dataset weigh(troika_dataset dataset, const float *weights_of_samples, int64_t n) {
  troika_dataset weighted = NULL;
  troika_error error;
  troika_dataset_weigh(dataset, weights_of_samples, n, &weighted, &error);
  return weighted;
}

troika_loader augment(troika_dataset dataset) {
  troika_loader loader = NULL;
  troika_error error;
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = 128;
  options.shuffle = 1;
  options.seed = 7;
  options.flip = 1;
  options.crop = 4;                  /* as usual for CIFAR */
  troika_loader_create(dataset, &options, &loader, &error);
  return loader;
}

int64_t predict_all(troika_trainer trainer, troika_loader loader, float *outputs, int64_t n) {
  int64_t done = 0;
  troika_error error;
  troika_trainer_predict_loader(trainer, loader, outputs, n * 10 * (int64_t)sizeof(float), &done,
                                &error);
  return done;
}
// clang-format on

TEST(DataPageExamples, are_those_of_the_page) {
  EXPECT_EQ(expect_examples("/docs/data.md", "/tests/api/data_page_test.cpp"), 9);
}

class DataPage : public ApiTest {
 protected:
  // The samples of an epoch.
  int64_t count(troika_loader loader) {
    int64_t samples = 0;
    troika_batch batch = nullptr;
    troika_status status = TROIKA_OK;
    while ((status = troika_loader_next(loader, &batch, &error_)) == TROIKA_OK) {
      troika_batch_info info = TROIKA_BATCH_INFO_INIT;
      EXPECT_EQ(troika_batch_describe(batch, &info, &error_), TROIKA_OK);
      samples += info.n;
    }
    EXPECT_EQ(status, TROIKA_END_OF_DATA) << error_.message;
    return samples;
  }
  int64_t count(troika_dataset dataset) {
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = 64;
    expect_ok(troika_loader_create(dataset, &options, &loader_, &error_));
    const int64_t samples = count(loader_);
    troika_loader_destroy(std::exchange(loader_, nullptr));
    return samples;
  }

  // Ends what reads the arrays of a test.
  void drop() {
    troika_loader_destroy(std::exchange(loader_, nullptr));
    troika_dataset_destroy(std::exchange(dataset_, nullptr));
  }

  const int64_t dims_[3] = {1, 28, 28};
};

TEST_F(DataPage, feeds_arrays_parts_and_weights) {
  const std::vector<uint8_t> pixels(784 * 200, 7);
  const std::vector<int64_t> labels(200, 3);
  dataset_ = from_arrays(context_, pixels.data(), labels.data(), dims_, 200);
  EXPECT_EQ(count(dataset_), 200);
  const std::vector<double> weights(180, 0.5);
  troika_dataset parts[2] = {};
  loader_ = draw_from_a_part(dataset_, 200, weights.data(), parts);
  EXPECT_EQ(count(loader_), 10000);
  troika_loader_destroy(std::exchange(loader_, nullptr));
  EXPECT_EQ(count(parts[0]), 180);
  EXPECT_EQ(count(parts[1]), 20);
  const std::vector<float> of_samples(20, 0.5f);
  troika_dataset weighted = weigh(parts[1], of_samples.data(), 20);
  EXPECT_EQ(count(weighted), 20);
  troika_dataset_destroy(weighted);
  for (troika_dataset part : parts) troika_dataset_destroy(part);
  drop();
}

TEST_F(DataPage, augments_images) {
  std::vector<uint8_t> pixels(784 * 200);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * 31 % 253);
  const std::vector<int64_t> labels(200, 3);
  dataset_ = from_arrays(context_, pixels.data(), labels.data(), dims_, 200);
  loader_ = augment(dataset_);
  troika_batch batch = nullptr;
  expect_ok(troika_loader_next(loader_, &batch, &error_));
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  expect_ok(troika_batch_describe(batch, &info, &error_));
  EXPECT_EQ(info.n, 128);
  EXPECT_EQ(count(loader_), 72);
  drop();
}

TEST_F(DataPage, predicts_a_dataset) {
  const std::vector<uint8_t> pixels(784 * 50, 7);
  const std::vector<int64_t> labels(50, 3);
  dataset_ = from_arrays(context_, pixels.data(), labels.data(), dims_, 50);
  expect_ok(troika_model_create(context_, "mlp", nullptr, &model_, &error_));
  expect_ok(troika_model_attach(model_, &kCpu0, 1, nullptr, &trainer_, &error_));
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = 16;
  expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
  std::vector<float> outputs(500, NAN);
  EXPECT_EQ(predict_all(trainer_, loader_, outputs.data(), 50), 50);
  for (const float output : outputs) EXPECT_FALSE(std::isnan(output));
  drop();
}

TEST_F(DataPage, feeds_a_callback) {
  std::vector<const char*> paths(100, "7");
  dataset_ = from_callback(context_, paths.data(), dims_, 100);
  EXPECT_EQ(count(dataset_), 100);
  paths[70] = nullptr;
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = 64;
  expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
  troika_batch batch = nullptr;
  EXPECT_EQ(troika_loader_next(loader_, &batch, &error_), TROIKA_OK);
  expect_refused(troika_loader_next(loader_, &batch, &error_), TROIKA_ERROR_CALLBACK, "image 70: cannot be decoded");
  drop();
}

TEST_F(DataPage, feeds_a_stream) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::tmpfile(), std::fclose);
  ASSERT_TRUE(file);
  const std::vector<unsigned char> records(150 * RECORD_BYTES, 5);
  ASSERT_EQ(std::fwrite(records.data(), 1, records.size(), file.get()), records.size());
  troika_source source = TROIKA_SOURCE_INIT;
  source.dims = dims_;
  source.rank = 3;
  source.n = -1;
  source.classes = 10;
  source.read = read_stream;
  source.user = file.get();
  expect_ok(troika_dataset_create_callback(context_, &source, &dataset_, &error_));
  EXPECT_EQ(count(dataset_), 150);
  drop();
}

}  // namespace
}  // namespace troika::test
