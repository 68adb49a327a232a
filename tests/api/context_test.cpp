// The C functions of context.h, status.h, export.h and file.h.
#include <algorithm>
#include <atomic>
#include <fstream>

#include "api/api_test.h"
#include "core/text.h"
#include "core/utf8.h"
#include "support/environment_guard.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

class ContextApi : public ApiTest {};

TEST_F(ContextApi, is_created_without_options_and_without_an_error_struct) {
  troika_context context = nullptr;
  EXPECT_EQ(troika_context_create(nullptr, &context, nullptr), TROIKA_OK);
  EXPECT_NE(context, nullptr);
  troika_context_destroy(context);
  EXPECT_EQ(troika_context_create(nullptr, nullptr, nullptr), kInvalid);
}

TEST_F(ContextApi, refuses_options_and_names_the_field) {
  const auto create = [&](auto&& change) {
    troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
    change(options);
    troika_context context = garbage<troika_context>();
    const troika_status status = troika_context_create(&options, &context, &error_);
    EXPECT_EQ(context, nullptr);
    return status;
  };
  for (int32_t threads : {0, -1})
    expect_refused(create([&](auto& o) { o.cpu_threads = threads; }), kInvalid,
                   "options.cpu_threads is " + std::to_string(threads) + ", need at least 1");
  expect_refused(create([](auto& o) { o.cpu_threads = 100000; }), kInvalid, "cpu_threads is 100000, with ");
  expect_refused(create([](auto& o) { o.backends = "cpu,gpu"; }), kInvalid,
                 "there is no 'gpu', there are cpu and cuda");
  expect_refused(create([](auto& o) { o.backends = "cpu,"; }), kInvalid, "backends is 'cpu,'");
  for (int32_t level : {0, -3, 5})
    expect_refused(create([&](auto& o) { o.log_level = level; }), kInvalid,
                   "options.log_level is " + std::to_string(level));
  expect_refused(create([](auto& o) { o.use_environment = 2; }), kInvalid, "options.use_environment is 2, need 0 or 1");
  for (uint32_t size : {0u, 3u, 70000u})
    expect_refused(create([&](auto& o) { o.struct_size = size; }), kInvalid,
                   "troika_context_options: struct_size is " + std::to_string(size));
  expect_refused(troika_context_create(nullptr, nullptr, &error_), kInvalid,
                 "troika_context_create: argument 'out_context' is NULL");
  troika_context_destroy(context_);
  expect_ok(troika_context_create(nullptr, &context_, &error_));
}

TEST_F(ContextApi, refuses_topics_and_folders_that_are_none) {
  const auto refused = [&](auto&& change, const std::string& message) {
    troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
    change(options);
    troika_context context = garbage<troika_context>();
    expect_refused(troika_context_create(&options, &context, &error_), kInvalid, message);
    EXPECT_EQ(context, nullptr);
  };
  refused([](auto& o) { o.log_topics = "plan"; }, "options.log_topics: 'plan' needs a topic and a level");
  refused([](auto& o) { o.log_topics = "plan=all"; }, "options.log_topics: there is no level 'all', there are error");
  refused([](auto& o) { o.log_topics = "plan=debug,net=info"; },
          "options.log_topics: there is no topic 'net', there are backend, comm, plan, memory, train");
  refused([](auto& o) { o.log_topics = ""; }, "log_topics is ''");
  refused([](auto& o) { o.backend_folder = "plug-ins"; }, "options.backend_folder is 'plug-ins', needs an absolute");
  refused([](auto& o) { o.cache_folder = "."; }, "options.cache_folder is '.', needs an absolute path");
}

TEST_F(ContextApi, reads_its_environment_only_if_it_is_asked_to) {
  const EnvironmentGuard folder("TROIKA_BACKEND_DIR"), levels("TROIKA_LOG"), dump("TROIKA_DUMP"),
      own_kernels("TROIKA_OWN_KERNELS"), left_out("TROIKA_LEAVE_OUT");
  set_variable("TROIKA_BACKEND_DIR", "nowhere");
  set_variable("TROIKA_LOG", "nothing");
  set_variable("TROIKA_DUMP", "fuse");
  std::vector<std::string> lines;
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  options.log = [](int32_t, const char* topic, const char* line, void* user) {
    static_cast<std::vector<std::string>*>(user)->push_back(std::string(topic) + ": " + line);
  };
  options.log_user = &lines;
  const auto lines_of = [&](const troika_context_options& given) {
    lines.clear();
    troika_context context = nullptr;
    troika_model model = nullptr;
    troika_trainer trainer = nullptr;
    expect_ok(troika_context_create(&given, &context, &error_));
    expect_ok(troika_model_create(context, "mlp", nullptr, &model, &error_));
    expect_ok(troika_model_attach(model, &kCpu0, 1, nullptr, &trainer, &error_));
    expect_ok(troika_trainer_explain(trainer, 2, nullptr, 0, nullptr, &error_));
    troika_trainer_destroy(trainer);
    troika_model_destroy(model);
    troika_context_destroy(context);
    return lines;
  };
  EXPECT_TRUE(lines_of(options).empty()) << lines[0];
  options.log_topics = "plan=info,train=debug";
  ASSERT_EQ(lines_of(options).size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("plan: compiled plan train batch 2")) << lines[0];

  options.log_topics = nullptr;
  options.use_environment = 1;
  troika_context context = nullptr;
  expect_refused(troika_context_create(&options, &context, &error_), kInvalid,
                 "TROIKA_LOG: there is no level 'nothing'");
  set_variable("TROIKA_LOG", "comm=debug,plan=debug");
  expect_refused(troika_context_create(&options, &context, &error_), kInvalid,
                 "TROIKA_BACKEND_DIR is 'nowhere', needs an absolute path");
  set_variable("TROIKA_BACKEND_DIR", "/nowhere");
  set_variable("TROIKA_OWN_KERNELS", "none");
  expect_refused(troika_context_create(&options, &context, &error_), kInvalid,
                 "TROIKA_OWN_KERNELS is 'none', needs 0 or 1");
  set_variable("TROIKA_OWN_KERNELS", "0");
  set_variable("TROIKA_LEAVE_OUT", "zero_biases,rebatch");
  expect_refused(troika_context_create(&options, &context, &error_), kInvalid,
                 "TROIKA_LEAVE_OUT: there is no pass 'rebatch' to leave out, there are crop_unread, ");
  set_variable("TROIKA_LEAVE_OUT", "zero_biases,share_sums");
  const auto all = lines_of(options);
  const auto has = [&](const char* pass) {
    return std::any_of(all.begin(), all.end(), [&](auto& line) { return line.starts_with(text("plan: pass ", pass)); });
  };
  EXPECT_TRUE(has("rebatch"));
  EXPECT_TRUE(has("absorb_biases"));
  EXPECT_FALSE(has("zero_biases"));
  EXPECT_FALSE(has("share_sums"));
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](auto& line) { return line == "plan: graph \"mlp\" {"; }));
}

TEST_F(ContextApi, loses_a_line_whose_callback_throws) {
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  std::atomic<int> lines{0};
  options.log_level = TROIKA_LOG_DEBUG;
  options.log_user = &lines;
  options.log = [](int32_t, const char*, const char*, void* user) {
    ++*static_cast<std::atomic<int>*>(user);
    throw 3;
  };
  troika_context context = nullptr;
  expect_ok(troika_context_create(&options, &context, &error_));
  std::swap(context, context_);
  make_trainer();
  expect_ok(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_));
  EXPECT_GT(lines, 0);
  troika_context_destroy(context);
}

TEST_F(ContextApi, describes_its_backends) {
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  options.backend_folder = "/nowhere";
  options.backends = "cpu";
  troika_context context = nullptr;
  expect_ok(troika_context_create(&options, &context, &error_));
  int64_t size = 0;
  expect_ok(troika_context_describe_backends(context, nullptr, 0, &size, &error_));
  std::string text(static_cast<size_t>(size) - 1, '?');
  expect_ok(troika_context_describe_backends(context, text.data(), size, &size, &error_));
  troika_context_destroy(context);
  EXPECT_TRUE(text.starts_with("cpu 1.1.0, commit ")) << text;
  EXPECT_NE(text.find(", oneDNN "), std::string::npos) << text;
  EXPECT_NE(text.find("\ncuda, not usable: the context's backends are cpu"), std::string::npos) << text;
  EXPECT_NE(text.find("\ngloo"), std::string::npos) << text;
  options.backend_folder = TROIKA_PLUGIN_FOLDER;
  expect_ok(troika_context_create(&options, &context, &error_));
  text.resize(4096);
  expect_ok(troika_context_describe_backends(context, text.data(), 4096, nullptr, &error_));
  troika_context_destroy(context);
#ifndef _WIN32
  EXPECT_NE(text.find(", Gloo "), std::string::npos) << text;
#endif
  expect_refused(troika_context_describe_backends(context_, nullptr, -1, nullptr, &error_), kInvalid, "buffer of -1");
}

TEST_F(ContextApi, ignores_null_where_it_says_so) {
  troika_context_destroy(nullptr);
  troika_model_destroy(nullptr);
  troika_tensor_destroy(nullptr);
  troika_trainer_destroy(nullptr);
  troika_dataset_destroy(nullptr);
  troika_loader_destroy(nullptr);
  troika_batch_destroy(nullptr);
  troika_context_options_init(nullptr, 64);
  troika_model_options_init(nullptr, 64);
  troika_conv2d_options_init(nullptr, 64);
  troika_pool2d_options_init(nullptr, 64);
  troika_load_options_init(nullptr, 64);
  troika_trainer_options_init(nullptr, 64);
  troika_parameter_group_init(nullptr, 64);
  troika_dataset_options_init(nullptr, 64);
  troika_loader_options_init(nullptr, 64);
}

// Every function that destroys ignores a handle of another kind.
TEST_F(ContextApi, does_not_destroy_a_handle_of_another_kind) {
  make_trainer();
  tensor_ = make_tensor(TROIKA_DTYPE_F32, {2});
  troika_context_destroy(cast<troika_context>(model_));
  troika_model_destroy(cast<troika_model>(context_));
  troika_tensor_destroy(cast<troika_tensor>(model_));
  troika_trainer_destroy(cast<troika_trainer>(dataset_));
  troika_dataset_destroy(cast<troika_dataset>(loader_));
  troika_loader_destroy(cast<troika_loader>(trainer_));
  troika_batch_destroy(cast<troika_batch>(tensor_));
  expect_ok(step());
  float values[2];
  expect_ok(troika_tensor_to_host(tensor_, values, sizeof values, &error_));
}

TEST_F(ContextApi, names_every_status) {
  for (troika_status status = TROIKA_ERROR_CALLBACK; status <= TROIKA_STOPPED; ++status) {
    const std::string name = troika_status_name(status);
    EXPECT_EQ(name.substr(0, status < 0 ? 13 : 7), status < 0 ? "TROIKA_ERROR_" : "TROIKA_") << status;
  }
  for (troika_status status : {TROIKA_ERROR_CALLBACK - 1, TROIKA_STOPPED + 1, INT32_MIN, INT32_MAX})
    EXPECT_STREQ(troika_status_name(status), "unknown status");
}

TEST_F(ContextApi, tells_its_version) {
  EXPECT_EQ(troika_version(), TROIKA_VERSION_MAJOR * 10000 + TROIKA_VERSION_MINOR * 100 + TROIKA_VERSION_PATCH);
  const std::string info = troika_build_info();
  for (const char* part : {"troika 1.1.0", "oneDNN ", "zlib ", "compiler "})
    EXPECT_NE(info.find(part), std::string::npos) << info;
  EXPECT_EQ(info.find('\n'), std::string::npos);
}

TEST_F(ContextApi, leaves_out_the_middle_of_a_long_message) {
  std::string path = "/";
  while (path.size() < 3000) path += "\xC3\xA4\xE2\x82\xAC/";  // characters of two and three bytes
  char buffer[8];
  expect_refused(troika_file_inspect(path.c_str(), buffer, sizeof buffer, nullptr, &error_), TROIKA_ERROR_NOT_FOUND,
                 "file '/");
  troika_file_inspect(path.c_str(), buffer, sizeof buffer, nullptr, &error_);
  const std::string message = error_.message;
  EXPECT_LT(message.size(), static_cast<size_t>(TROIKA_ERROR_MESSAGE_BYTES));
  EXPECT_GT(message.size(), static_cast<size_t>(TROIKA_ERROR_MESSAGE_BYTES) - 8);
  EXPECT_NE(message.find(" ... "), std::string::npos);
  EXPECT_NE(message.find("/'"), std::string::npos) << "the reason follows the path";
  EXPECT_EQ(find_invalid_utf8(message), std::string::npos);
}

// Arguments that are not UTF-8, or have control characters, never reach a message as they are.
TEST_F(ContextApi, writes_messages_in_utf8) {
  const auto expect_text = [&](troika_status status) {
    EXPECT_LT(status, 0);
    EXPECT_EQ(find_invalid_utf8(error_.message), std::string::npos);
    EXPECT_EQ(std::string(error_.message).find('\x1b'), std::string::npos);
    EXPECT_NE(std::string(error_.message).find("\\xff\\x1b"), std::string::npos) << error_.message;
  };
  constexpr char kBad[] = "\xff\x1b";
  troika_device device;
  expect_text(troika_device_parse(kBad, &device, &error_));
  make_model();
  expect_text(troika_model_initialize(model_, kBad, TROIKA_INIT_CONSTANT, 0, 0, &error_));
  expect_text(troika_dataset_open_directory(context_, "/", kBad, nullptr, &dataset_, &error_));
  expect_text(troika_model_load(model_, kBad, nullptr, nullptr, &error_));
}

class FileApi : public ApiTest {};

TEST_F(FileApi, refuses_what_cannot_be_inspected) {
  const TempDirectory folder;
  char buffer[64] = "before";
  int64_t size = 77;
  expect_refused(troika_file_inspect(nullptr, buffer, 64, &size, &error_), kInvalid,
                 "troika_file_inspect: argument 'path' is NULL");
  expect_refused(troika_file_inspect("", buffer, 64, &size, &error_), TROIKA_ERROR_NOT_FOUND, "file ''");
  expect_refused(troika_file_inspect((folder.path() / "none\nnone").string().c_str(), buffer, 64, &size, &error_),
                 TROIKA_ERROR_NOT_FOUND, "none");
  expect_refused(troika_file_inspect(folder.path().string().c_str(), buffer, 64, &size, &error_), TROIKA_ERROR_IO,
                 "is a directory");
  expect_refused(troika_file_inspect("/dev/null", buffer, 64, &size, &error_), TROIKA_ERROR_IO,
                 "is not a regular file");
  std::ofstream(folder.path() / "text") << "some text that is not a header";
  expect_refused(troika_file_inspect((folder.path() / "text").string().c_str(), buffer, 64, &size, &error_),
                 TROIKA_ERROR_CORRUPT, "text");
  EXPECT_STREQ(buffer, "before");
  EXPECT_EQ(size, 77);
}

TEST_F(FileApi, gives_the_text_in_two_calls) {
  const TempDirectory folder;
  const std::string path = (folder.path() / "weights").string();
  make_model();
  expect_ok(troika_model_initialize_default(model_, 1, &error_));
  expect_ok(troika_model_save(model_, path.c_str(), &error_));
  int64_t size = 0;
  expect_ok(troika_file_inspect(path.c_str(), nullptr, 0, &size, &error_));
  std::string text(static_cast<size_t>(size), 'x');
  expect_ok(troika_file_inspect(path.c_str(), text.data(), size, nullptr, &error_));
  EXPECT_EQ(text.back(), '\0');
  EXPECT_NE(text.find("fc.weight F32 [3, 16]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("metadata model = net\n"), std::string::npos) << text;
  char small[5] = "....";
  expect_ok(troika_file_inspect(path.c_str(), small, sizeof small, &size, &error_));
  EXPECT_EQ(std::string(small), text.substr(0, 4));
  expect_refused(troika_file_inspect(path.c_str(), small, -1, &size, &error_), kInvalid, "buffer of -1 bytes");
  expect_refused(troika_file_inspect(path.c_str(), nullptr, 5, &size, &error_), kInvalid, "buffer of 5 bytes");
}

}  // namespace
}  // namespace troika::test
