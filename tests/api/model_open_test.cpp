// Opening models from files and memory: the same model in every respect, or a refusal.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/api_test.h"
#include "core/random.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

using Bytes = std::string;

class ModelOpenApi : public ApiTest {
 protected:
  void TearDown() override {
    troika_model_destroy(copy_);
    ApiTest::TearDown();
  }
  Bytes save(troika_model model) {
    int64_t size = 0, written = 0;
    expect_ok(troika_model_save_memory(model, nullptr, 0, &size, &error_));
    Bytes bytes(static_cast<size_t>(size), '?');
    expect_ok(troika_model_save_memory(model, bytes.data(), size, &written, &error_));
    EXPECT_EQ(written, size);
    return bytes;
  }
  troika_status open(const Bytes& bytes) {
    troika_model_destroy(copy_);
    return troika_model_open_memory(context_, bytes.data(), static_cast<int64_t>(bytes.size()), &copy_, &error_);
  }
  std::string text_of(troika_model model,
                      troika_status (*write)(troika_model, char*, int64_t, int64_t*, troika_error*)) {
    int64_t size = 0;
    expect_ok(write(model, nullptr, 0, &size, &error_));
    std::string text(static_cast<size_t>(size), '\0');
    expect_ok(write(model, text.data(), size, nullptr, &error_));
    return text;
  }
  std::vector<float> predict(troika_model model, const void* input, int32_t dtype, const std::vector<int64_t>& dims) {
    troika_tensor x = make_tensor(dtype, dims, input), y = nullptr;
    expect_ok(troika_model_predict(model, kCpu0, x, &y, &error_));
    troika_tensor_info info = TROIKA_TENSOR_INFO_INIT;
    expect_ok(troika_tensor_describe(y, &info, &error_));
    int64_t n = 1;
    for (int i = 0; i < info.rank; ++i) n *= info.dims[i];
    std::vector<float> values(static_cast<size_t>(n));
    expect_ok(troika_tensor_to_host(y, values.data(), n * 4, &error_));
    troika_tensor_destroy(x);
    troika_tensor_destroy(y);
    return values;
  }
  // Trains a few steps and returns the bytes of the trained model.
  Bytes train(troika_model model) {
    const troika_device devices[] = {kCpu0, kCpu1};
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    options.learning_rate = 0.01;
    options.momentum = 0.9;
    options.seed = 5;
    troika_trainer trainer = nullptr;
    expect_ok(troika_model_attach(model, devices, 2, &options, &trainer, &error_));
    troika_loader_position start = TROIKA_LOADER_POSITION_INIT;
    expect_ok(troika_loader_seek(loader_, &start, &error_));
    for (int i = 0; i < 2; ++i) {
      troika_batch batch = nullptr;
      EXPECT_EQ(troika_loader_next(loader_, &batch, &error_), TROIKA_OK) << error_.message;
      EXPECT_EQ(troika_trainer_step(trainer, batch, nullptr, &error_), TROIKA_OK) << error_.message;
    }
    const Bytes bytes = save(model);
    troika_trainer_destroy(trainer);
    return bytes;
  }
  // Expects that the model which the bytes of `model_` open is the same.
  void expect_same_when_opened() {
    const Bytes bytes = save(model_);
    ASSERT_EQ(open(bytes), TROIKA_OK) << error_.message;
    EXPECT_EQ(text_of(copy_, troika_model_print), text_of(model_, troika_model_print));
    EXPECT_EQ(text_of(copy_, troika_model_to_json), text_of(model_, troika_model_to_json));
    EXPECT_TRUE(save(copy_) == bytes) << "the bytes differ";
    int32_t entries = 0;
    expect_ok(troika_model_count_parameters(model_, &entries, nullptr, &error_));
    for (int32_t i = 0; i < entries; ++i) {
      troika_parameter_info info = TROIKA_PARAMETER_INFO_INIT;
      expect_ok(troika_model_describe_parameter(copy_, i, &info, &error_));
      int64_t n = info.dtype == TROIKA_DTYPE_I64 ? 8 : 4;
      for (int axis = 0; axis < info.rank; ++axis) n *= info.dims[axis];
      Bytes a(static_cast<size_t>(n), 'a'), b(static_cast<size_t>(n), 'b');
      expect_ok(troika_model_get_parameter(model_, info.name, a.data(), n, &error_));
      expect_ok(troika_model_get_parameter(copy_, info.name, b.data(), n, &error_));
      EXPECT_TRUE(a == b) << info.name;
    }
  }

  // A net of images [4, 6, 5] with most kinds of layers, and random values also in buffers.
  void make_image_net() {
    expect_ok(troika_model_create_empty(context_, "images \xc3\xa4 \"1\"", &model_, &error_));
    const int64_t image[] = {4, 6, 5};
    troika_value x = 0, shortcut = 0;
    troika_conv2d_options conv = TROIKA_CONV2D_OPTIONS_INIT;
    conv.out_channels = 6;
    conv.kernel[0] = 3;
    conv.kernel[1] = 1;
    conv.padding[0] = 1;
    conv.groups = 2;
    conv.no_bias = 1;
    troika_pool2d_options pool = TROIKA_POOL2D_OPTIONS_INIT;
    pool.kernel[0] = pool.kernel[1] = 2;
    pool.padding[1] = 1;
    pool.exclude_padding = 1;
    expect_ok(troika_model_add_input(model_, "image", image, 3, &x, &error_));
    expect_ok(troika_model_add_conv2d(model_, "block.conv", x, &conv, &x, &error_));
    expect_ok(troika_model_add_batch_norm2d(model_, "block.bn", x, 1e-3, 0.3, &shortcut, &error_));
    expect_ok(troika_model_add_relu(model_, "block.relu", shortcut, &x, &error_));
    expect_ok(troika_model_add_sum(model_, "block.add", x, shortcut, &x, &error_));
    expect_ok(troika_model_add_avg_pool2d(model_, "avg", x, &pool, &x, &error_));
    pool.exclude_padding = 0;
    expect_ok(troika_model_add_max_pool2d(model_, "max", x, &pool, &x, &error_));
    expect_ok(troika_model_add_gelu(model_, "gelu", x, &x, &error_));
    expect_ok(troika_model_add_dropout(model_, "drop", x, 0.25, &x, &error_));
    expect_ok(troika_model_add_adaptive_avg_pool2d(model_, "adaptive", x, 1, 2, &x, &error_));
    expect_ok(troika_model_add_flatten(model_, "flatten", x, &x, &error_));
    expect_ok(troika_model_add_linear(model_, "fc \xe2\x82\xac", x, 3, 1, &x, &error_));
    expect_ok(troika_model_set_output(model_, x, &error_));
    expect_ok(troika_model_initialize(model_, nullptr, TROIKA_INIT_NORMAL, 0.2, 3, &error_));
    const float mean[] = {0.5f, -0.25f, 0.125f, 1, 2, -3};
    expect_ok(troika_model_set_parameter(model_, "block.bn.running_mean", mean, sizeof mean, &error_));
  }
  // A net of 9 tokens of 11 words with the other kinds of layers.
  void make_token_net() {
    expect_ok(troika_model_create_empty(context_, "tokens", &model_, &error_));
    const int64_t tokens[] = {9};
    troika_value x = 0;
    expect_ok(troika_model_add_typed_input(model_, "x", TROIKA_DTYPE_I32, tokens, 1, &x, &error_));
    expect_ok(troika_model_add_embedding(model_, "embedding", x, 11, 4, &x, &error_));
    expect_ok(troika_model_add_lstm(model_, "lstm", x, 5, 0, &x, &error_));
    expect_ok(troika_model_add_gru(model_, "gru", x, 6, 1, &x, &error_));
    expect_ok(troika_model_add_linear_per_position(model_, "per", x, 4, 0, &x, &error_));
    expect_ok(troika_model_add_select_step(model_, "last", x, -2, &x, &error_));
    expect_ok(troika_model_set_output(model_, x, &error_));
    expect_ok(troika_model_initialize_default(model_, 4, &error_));
  }
  void make_image_loader(int64_t classes) {
    const int64_t image[] = {4, 6, 5};
    expect_ok(troika_dataset_create_synthetic(context_, image, 3, 14, classes, 1, &dataset_, &error_));
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = 7;
    expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
  }

  troika_model copy_ = nullptr;
};

TEST_F(ModelOpenApi, opens_the_same_model_of_every_kind_of_layer) {
  make_image_net();
  expect_same_when_opened();
  std::vector<float> images(2 * 4 * 6 * 5);
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  const std::vector<int64_t> dims = {2, 4, 6, 5};
  EXPECT_EQ(predict(copy_, images.data(), TROIKA_DTYPE_F32, dims),
            predict(model_, images.data(), TROIKA_DTYPE_F32, dims));
  make_image_loader(3);
  EXPECT_TRUE(train(copy_) == train(model_)) << "with dropout, on two devices";
  troika_model_destroy(model_);
  model_ = nullptr;
  make_token_net();
  expect_same_when_opened();
  const int32_t tokens[] = {0, 10, 3, 3, 1, 9, 7, 2, 5};
  EXPECT_EQ(predict(copy_, tokens, TROIKA_DTYPE_I32, {1, 9}), predict(model_, tokens, TROIKA_DTYPE_I32, {1, 9}));
}

TEST_F(ModelOpenApi, opens_the_same_model_of_the_zoo) {
  for (int32_t i = 0; troika_zoo_name(i); ++i) {
    SCOPED_TRACE(troika_zoo_name(i));
    troika_model_destroy(model_);
    expect_ok(troika_model_create(context_, troika_zoo_name(i), nullptr, &model_, &error_));
    expect_ok(troika_model_initialize_default(model_, 7, &error_));
    expect_same_when_opened();
  }
}

// A parameter without a value takes the model's own default initialisation.
TEST_F(ModelOpenApi, keeps_the_default_initialiser) {
  for (const char* name : {"d2l_lenet", "mlp"}) {
    troika_model_destroy(model_);
    expect_ok(troika_model_create(context_, name, nullptr, &model_, &error_));
    expect_ok(troika_model_initialize_default(model_, 7, &error_));
    ASSERT_EQ(open(save(model_)), TROIKA_OK) << error_.message;
    for (troika_model model : {model_, copy_}) expect_ok(troika_model_initialize_default(model, 8, &error_));
    EXPECT_TRUE(save(copy_) == save(model_));
  }
}

TEST_F(ModelOpenApi, files_and_memory_hold_the_same_bytes) {
  const TempDirectory folder;
  const std::string path = (folder.path() / "model.safetensors").string();
  make_image_net();
  const Bytes bytes = save(model_);
  expect_ok(troika_model_save(model_, path.c_str(), &error_));
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(bytes == Bytes(std::istreambuf_iterator<char>(file), {}));
  expect_ok(troika_model_open(context_, path.c_str(), &copy_, &error_));
  EXPECT_TRUE(save(copy_) == bytes);
  expect_ok(troika_model_initialize(copy_, nullptr, TROIKA_INIT_CONSTANT, 1, 3, &error_));
  expect_ok(
      troika_model_load_memory(copy_, bytes.data(), static_cast<int64_t>(bytes.size()), nullptr, nullptr, &error_));
  EXPECT_TRUE(save(copy_) == bytes);
  // a buffer may be larger, but not smaller
  Bytes large(bytes.size() + 3, '?');
  int64_t size = 0;
  expect_ok(troika_model_save_memory(model_, large.data(), static_cast<int64_t>(large.size()), &size, &error_));
  EXPECT_EQ(large, bytes + "???");
  large.assign(large.size(), '?');
  expect_refused(troika_model_save_memory(model_, large.data(), static_cast<int64_t>(bytes.size()) - 1, &size, &error_),
                 kInvalid, "the model needs " + std::to_string(bytes.size()));
  EXPECT_EQ(size, static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(large, Bytes(large.size(), '?'));
}

TEST_F(ModelOpenApi, refuses_arguments) {
  make_model();
  int64_t size = 77;
  expect_refused(troika_model_save_memory(model_, nullptr, 0, &size, &error_), TROIKA_ERROR_NOT_INITIALIZED,
                 "parameter 'fc.weight' has no value yet");
  expect_refused(troika_model_save_memory(model_, nullptr, 5, &size, &error_), kInvalid, "buffer of 5 bytes");
  expect_refused(troika_model_save_memory(model_, &size, -1, &size, &error_), kInvalid, "buffer of -1 bytes");
  expect_refused(troika_model_save_memory(nullptr, nullptr, 0, &size, &error_), kInvalid, "'model' is NULL");
  EXPECT_EQ(size, 77);
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  const Bytes bytes = save(model_);
  const auto n = static_cast<int64_t>(bytes.size());
  expect_refused(troika_model_open_memory(context_, nullptr, n, &copy_, &error_), kInvalid, "'data' is NULL");
  expect_refused(troika_model_open_memory(context_, bytes.data(), -1, &copy_, &error_), kInvalid, "'size_bytes' is -1");
  expect_refused(troika_model_open_memory(context_, bytes.data(), 0, &copy_, &error_), TROIKA_ERROR_CORRUPT,
                 "model in memory: is 0 bytes");
  expect_refused(troika_model_open_memory(context_, bytes.data(), n, nullptr, &error_), kInvalid,
                 "'out_model' is NULL");
  copy_ = garbage<troika_model>();
  expect_refused(troika_model_open_memory(nullptr, bytes.data(), n, &copy_, &error_), kInvalid, "'context' is NULL");
  EXPECT_EQ(copy_, nullptr);
  expect_refused(troika_model_open(context_, nullptr, &copy_, &error_), kInvalid, "'path' is NULL");
  expect_refused(troika_model_open(context_, "/no/such/file", &copy_, &error_), TROIKA_ERROR_NOT_FOUND,
                 "model file '/no/such/file': cannot open");
  expect_refused(troika_model_open(context_, "/tmp", &copy_, &error_), TROIKA_ERROR_IO, "is a directory");
  expect_refused(troika_model_load_memory(model_, nullptr, n, nullptr, nullptr, &error_), kInvalid, "'data' is NULL");
  expect_refused(troika_model_load_memory(model_, bytes.data(), n - 1, nullptr, nullptr, &error_), TROIKA_ERROR_CORRUPT,
                 "model in memory: holds");
}

TEST_F(ModelOpenApi, opens_training_states_and_averages) {
  const TempDirectory folder;
  const std::string state = (folder.path() / "state").string(), average = (folder.path() / "average").string();
  make_model();
  make_loader();
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.average_decay = 0.5;
  options.momentum = 0.9;
  expect_ok(troika_model_attach(model_, &kCpu0, 1, &options, &trainer_, &error_));
  expect_ok(step());
  expect_ok(troika_trainer_save(trainer_, state.c_str(), &error_));
  expect_ok(troika_trainer_save_average(trainer_, average.c_str(), &error_));
  expect_ok(troika_model_open(context_, state.c_str(), &copy_, &error_));
  EXPECT_TRUE(save(copy_) == save(model_));
  troika_model_destroy(copy_);
  expect_ok(troika_model_open(context_, average.c_str(), &copy_, &error_));
  EXPECT_EQ(text_of(copy_, troika_model_print), text_of(model_, troika_model_print));
  EXPECT_FALSE(save(copy_) == save(model_));
}

// ---- files that nobody has saved ----

// The parts of a file: its header, which can be changed, and the data.
struct Parts {
  nlohmann::ordered_json header;
  Bytes data;

  // Without the header's sum: who changes a header may also leave that out.
  explicit Parts(const Bytes& bytes) {
    uint64_t size = 0;
    std::memcpy(&size, bytes.data(), 8);
    header = nlohmann::ordered_json::parse(bytes.substr(8, size));
    data = bytes.substr(8 + size);
    if (header.contains("__metadata__")) header["__metadata__"].erase("header_crc32");
  }
  Bytes joined() const {
    const Bytes json = header.dump();
    const uint64_t size = json.size();
    Bytes bytes(8, '\0');
    std::memcpy(bytes.data(), &size, 8);
    return bytes + json + data;
  }
  std::string layers() const { return header["__metadata__"]["troika.model"]; }
  void set_layers(const std::string& layers) { header["__metadata__"]["troika.model"] = layers; }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST_F(ModelOpenApi, names_what_is_wrong_with_a_file) {
  make_image_net();
  const Bytes bytes = save(model_);
  const auto refuse = [&](troika_status status, const std::string& message, auto&& change) {
    Parts parts(bytes);
    change(parts);
    expect_refused(open(parts.joined()), status, message);
    EXPECT_EQ(copy_, nullptr);
  };
  const auto corrupt = TROIKA_ERROR_CORRUPT, mismatch = TROIKA_ERROR_MISMATCH, unsupported = TROIKA_ERROR_UNSUPPORTED;
  refuse(mismatch, "has weights alone", [](Parts& p) { p.header["__metadata__"].erase("troika.model"); });
  refuse(mismatch, "has weights alone", [](Parts& p) { p.header.erase("__metadata__"); });
  refuse(corrupt, "need a string", [](Parts& p) { p.header["__metadata__"]["troika.model"] = 3; });
  refuse(corrupt, "layers: found ''", [](Parts& p) { p.set_layers(""); });
  const auto replace = [&](troika_status status, const std::string& message, const char* from, const char* to) {
    refuse(status, message, [&](Parts& p) { p.set_layers(replaced(p.layers(), from, to)); });
  };
  replace(unsupported, "version 2", "model 1", "model 2");
  replace(unsupported, "layers of kind 'attention' are unknown", "gelu(", "attention(");
  replace(mismatch, "does not fit model", "bias=0", "bias=1");
}

TEST_F(ModelOpenApi, refuses_layers_and_weights_that_differ) {
  make_model();
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  const Parts whole(save(model_));
  const auto refuse = [&](const std::string& message, const std::string& from, const std::string& to) {
    Parts parts = whole;
    parts.set_layers(replaced(parts.layers(), from, to));
    expect_refused(open(parts.joined()), TROIKA_ERROR_MISMATCH, message);
  };
  refuse("2 missing ('fd.weight', 'fd.bias'), 2 unexpected", "\"fc\"", "\"fd\"");
  refuse("1 unexpected ('fc.bias')", "bias=1", "bias=0");
  Parts huge = whole;  // 2^52 elements, of which nothing is there
  huge.set_layers(replaced(replaced(huge.layers(), "f32[3] = linear", "f32[281474976710656] = linear"),
                           "out_features=3", "out_features=281474976710656"));
  expect_refused(open(huge.joined()), TROIKA_ERROR_MISMATCH, "2 mismatching");
  Parts other = whole;
  other.header["fc.bias"]["dtype"] = "I32";
  expect_refused(open(other.joined()), TROIKA_ERROR_MISMATCH, "fc.bias: file I32 [3], model F32 [3]");
}

TEST_F(ModelOpenApi, refuses_recurrent_layers_whose_sizes_cannot_be_counted) {
  const int64_t dims[] = {3, 2};
  troika_value x = 0;
  expect_ok(troika_model_create_empty(context_, "net", &model_, &error_));
  expect_ok(troika_model_add_input(model_, "x", dims, 2, &x, &error_));
  expect_ok(troika_model_add_lstm(model_, "lstm", x, 5, 1, &x, &error_));
  expect_ok(troika_model_set_output(model_, x, &error_));
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  const Bytes bytes = save(model_);
  for (const char* hidden : {"9223372036854775807", "4611686018427387904", "0", "-1"}) {
    Parts parts(bytes);
    parts.set_layers(replaced(parts.layers(), "hidden=5", std::string("hidden=") + hidden));
    expect_refused(open(parts.joined()), TROIKA_ERROR_CORRUPT, (std::string("hidden is ") + hidden).c_str());
  }
}

TEST_F(ModelOpenApi, weights_alone_still_load) {
  make_model();
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  Parts parts(save(model_));
  parts.header.erase("__metadata__");
  const Bytes weights = parts.joined();
  expect_refused(open(weights), TROIKA_ERROR_MISMATCH, "has weights alone, no metadata 'troika.model'");
  expect_ok(troika_model_load_memory(model_, weights.data(), static_cast<int64_t>(weights.size()), nullptr, nullptr,
                                     &error_));
  // layers that are no model do not keep the weights from being loaded
  Parts damaged(save(model_));
  damaged.set_layers("model 2");
  const Bytes bytes = damaged.joined();
  expect_ok(
      troika_model_load_memory(model_, bytes.data(), static_cast<int64_t>(bytes.size()), nullptr, nullptr, &error_));
}

class HostileFiles : public ModelOpenApi {
 protected:
  // Opens bytes. If they are a model, all of it must work.
  troika_status read(const Bytes& bytes) {
    // exactly as large as the data, so that a sanitiser sees a read beyond the end
    std::vector<char> exact;
    exact.reserve(std::max<size_t>(bytes.size(), 1));
    exact.assign(bytes.begin(), bytes.end());
    troika_model_destroy(copy_);
    const troika_status status =
        troika_model_open_memory(context_, exact.data(), static_cast<int64_t>(exact.size()), &copy_, &error_);
    if (status == TROIKA_OK) {
      EXPECT_FALSE(text_of(copy_, troika_model_print).empty());
      EXPECT_TRUE(nlohmann::json::accept(std::string(text_of(copy_, troika_model_to_json).c_str())));
      const Bytes again = save(copy_);
      EXPECT_EQ(open(again), TROIKA_OK) << error_.message;
    } else {
      EXPECT_EQ(copy_, nullptr);
      EXPECT_EQ(std::string(error_.message).find('\n'), std::string::npos);
      EXPECT_TRUE(status == TROIKA_ERROR_CORRUPT || status == TROIKA_ERROR_MISMATCH ||
                  status == TROIKA_ERROR_UNSUPPORTED)
          << troika_status_name(status) << ": " << error_.message;
    }
    return status;
  }
};

TEST_F(HostileFiles, end_anywhere) {
  make_image_net();
  const Bytes bytes = save(model_);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(read(bytes.substr(0, size)), TROIKA_ERROR_CORRUPT) << size;
  EXPECT_EQ(read(bytes + '\0'), TROIKA_ERROR_CORRUPT);
}

TEST_F(HostileFiles, have_any_byte_in_any_place) {
  for (const bool has_tokens : {false, true}) {
    troika_model_destroy(model_);
    model_ = nullptr;
    has_tokens ? make_token_net() : make_image_net();
    const Bytes bytes = Parts(save(model_)).joined();
    uint64_t header = 0;
    std::memcpy(&header, bytes.data(), 8);
    for (size_t at = 0; at < bytes.size(); ++at) {
      Bytes changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 + hash_name(std::to_string(at)) % 255));
      const troika_status status = read(changed);
      EXPECT_TRUE(at < 8 + header || status == TROIKA_ERROR_CORRUPT) << "data at " << at;
    }
  }
}

// The sums cover all that means something: a damaged file is refused, or is the same model.
TEST_F(HostileFiles, have_one_bit_that_is_wrong) {
  make_image_net();
  const Bytes bytes = save(model_);
  int opened = 0;
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      Bytes changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      if (open(changed) != TROIKA_OK) continue;
      ++opened;
      ASSERT_TRUE(save(copy_) == bytes) << "bit " << bit << " of byte " << at;
    }
  EXPECT_LT(opened, 200) << "such as the name of the key of the header's sum";
}

TEST_F(HostileFiles, are_large_or_deep) {
  make_model();
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  Parts parts(save(model_));
  parts.set_layers(std::string(95'000'000, '('));
  EXPECT_EQ(read(parts.joined()), TROIKA_ERROR_UNSUPPORTED);
  parts.set_layers(
      "model 1 \"n\" { initializer pytorch %0 : f32[1] = input() \"x\" {shape=" + std::string(1'000'000, '[') + "}}");
  EXPECT_EQ(read(parts.joined()), TROIKA_ERROR_CORRUPT);
  const Bytes deep = std::string(1'000'000, '[');
  const uint64_t size = deep.size();
  Bytes bytes(8, '\0');
  std::memcpy(bytes.data(), &size, 8);
  EXPECT_EQ(read(bytes + deep), TROIKA_ERROR_CORRUPT);
}

}  // namespace
}  // namespace troika::test
