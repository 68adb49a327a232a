// Datasets that the host reads by a callback, and their loaders.
#include <cstdlib>
#include <limits>
#include <list>
#include <thread>
#include <utility>

#include "api/api_test.h"
#include "api/host_source.h"

namespace troika::test {
namespace {

// The samples and labels of a batch, or the status that came instead.
struct Got {
  troika_status status;
  std::vector<float> inputs;
  std::vector<int32_t> labels;
  bool operator==(const Got&) const = default;
};

class CallbackDatasets : public ApiTest {
 protected:
  troika_dataset create(HostSource& host) {
    const troika_source source = host.source();
    troika_dataset dataset = nullptr;
    expect_ok(troika_dataset_create_callback(context_, &source, &dataset, &error_));
    return dataset;
  }

  troika_loader load(troika_dataset dataset, int64_t batch, int32_t prefetch, int32_t shuffle = 0,
                     int32_t drop_last = 0) {
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = batch;
    options.prefetch = prefetch;
    options.shuffle = shuffle;
    options.drop_last = drop_last;
    options.seed = 7;
    troika_loader loader = nullptr;
    expect_ok(troika_loader_create(dataset, &options, &loader, &error_));
    return loader;
  }

  Got next(troika_loader loader) {
    troika_batch batch = nullptr;
    Got got{troika_loader_next(loader, &batch, &error_), {}, {}};
    if (got.status != TROIKA_OK) {
      EXPECT_EQ(batch, nullptr);
      return got;
    }
    troika_batch_info info = TROIKA_BATCH_INFO_INIT;
    EXPECT_EQ(troika_batch_describe(batch, &info, &error_), TROIKA_OK);
    got.inputs.assign(info.inputs, info.inputs + info.n * HostSource::kElements);
    got.labels.assign(info.labels, info.labels + info.n);
    return got;
  }

  troika_loader_position tell(troika_loader loader) {
    troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
    EXPECT_EQ(troika_loader_tell(loader, &position, &error_), TROIKA_OK);
    return position;
  }

  void expect_position(troika_loader loader, int64_t epoch, int64_t batch, int64_t batches) {
    const troika_loader_position found = tell(loader);
    EXPECT_EQ(found.epoch, epoch);
    EXPECT_EQ(found.batch, batch);
    EXPECT_EQ(found.batches, batches);
  }

  troika_status seek(troika_loader loader, int64_t epoch, int64_t batch, int64_t batches = 0) {
    const troika_loader_position to = {sizeof to, 0, epoch, batch, batches};
    return troika_loader_seek(loader, &to, &error_);
  }

  std::list<HostSource> hosts_;  // end after the datasets
};

TEST_F(CallbackDatasets, read_as_arrays_do_in_any_order) {
  for (const int32_t prefetch : {0, 2, 7})
    for (const int32_t shuffle : {0, 1})
      for (const int32_t drop_last : {0, 1}) {
        HostSource& host =
            hosts_.emplace_back(53, false, 10 * static_cast<uint32_t>(prefetch) + static_cast<uint32_t>(shuffle));
        troika_dataset own = create(host), arrays = host.arrays(context_);
        troika_loader a = load(own, 5, prefetch, shuffle, drop_last), b = load(arrays, 5, 0, shuffle, drop_last);
        for (int i = 0; i < 30; ++i) ASSERT_EQ(next(a), next(b)) << i << ", prefetch " << prefetch;
        troika_loader_destroy(a);
        troika_loader_destroy(b);
        troika_dataset_destroy(own);
        troika_dataset_destroy(arrays);
        EXPECT_EQ(host.ends, 1);
      }
}

TEST_F(CallbackDatasets, stream_as_arrays_in_their_order) {
  for (const int32_t prefetch : {0, 2, 7})
    for (const int32_t drop_last : {0, 1})
      for (const int64_t n : {1, 4, 20, 23}) {
        HostSource& host = hosts_.emplace_back(n, true, static_cast<uint32_t>(n));
        troika_dataset own = create(host), arrays = host.arrays(context_);
        troika_loader a = load(own, 4, prefetch, 0, drop_last), b = load(arrays, 4, 0, 0, drop_last);
        for (int i = 0; i < 25; ++i) ASSERT_EQ(next(a), next(b)) << i << ", prefetch " << prefetch << ", n " << n;
        EXPECT_EQ(tell(a).epoch, tell(b).epoch);
        EXPECT_EQ(tell(a).batch, tell(b).batch);
        troika_loader_destroy(a);
        troika_loader_destroy(b);
        troika_dataset_destroy(own);
        troika_dataset_destroy(arrays);
      }
}

TEST_F(CallbackDatasets, ask_a_stream_for_one_batch_after_another_and_begin_again) {
  using Asked = std::vector<std::pair<int64_t, int64_t>>;
  for (const auto& [n, expected] : {std::pair<int64_t, Asked>{10, {{0, 0}, {0, 4}, {0, 8}, {1, 0}, {1, 4}, {1, 8}}},
                                    std::pair<int64_t, Asked>{8, {{0, 0}, {0, 4}, {0, 8}, {1, 0}, {1, 4}, {1, 8}}}}) {
    HostSource& host = hosts_.emplace_back(n, true);
    Asked asked;
    host.look = [&](const troika_read_request& request) {
      EXPECT_EQ(request.n, 4);
      EXPECT_EQ(request.indices, nullptr);
      EXPECT_EQ(request.values, nullptr);
      EXPECT_EQ(request.struct_size, sizeof request);
      asked.emplace_back(request.epoch, request.first);
    };
    dataset_ = create(host);
    loader_ = load(dataset_, 4, 0);
    for (int epoch = 0; epoch < 2; ++epoch)
      while (next(loader_).status == TROIKA_OK) continue;
    EXPECT_EQ(asked, expected);
    troika_loader_destroy(std::exchange(loader_, nullptr));
    troika_dataset_destroy(std::exchange(dataset_, nullptr));
  }
}

TEST_F(CallbackDatasets, know_the_batches_of_a_stream_when_an_epoch_has_ended) {
  for (const int32_t prefetch : {0, 3}) {
    HostSource& host = hosts_.emplace_back(10, true);
    dataset_ = create(host);
    loader_ = load(dataset_, 4, prefetch);
    troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
    expect_ok(troika_dataset_describe(dataset_, &info, &error_));
    EXPECT_EQ(info.n, -1);
    EXPECT_EQ(info.classes, 3);
    EXPECT_EQ(info.label_size, 1);
    expect_position(loader_, 0, 0, 0);
    next(loader_);
    next(loader_);
    expect_position(loader_, 0, 2, 0);
    EXPECT_EQ(next(loader_).labels.size(), 2u);
    expect_position(loader_, 0, 3, 3);
    EXPECT_EQ(next(loader_).status, TROIKA_END_OF_DATA);
    expect_position(loader_, 1, 0, 3);
    troika_loader_destroy(std::exchange(loader_, nullptr));
    troika_dataset_destroy(std::exchange(dataset_, nullptr));
  }
}

TEST_F(CallbackDatasets, seek_in_a_stream) {
  for (const int32_t prefetch : {0, 1, 4}) {
    HostSource& host = hosts_.emplace_back(22, true);
    dataset_ = create(host);
    loader_ = load(dataset_, 4, prefetch);
    troika_dataset arrays = host.arrays(context_);
    troika_loader oracle = load(arrays, 4, 0);
    for (int64_t i = 0; i < 60; ++i) {
      const int64_t epoch = i * i % 3, batch = i * 31 % 7;  // 6 is the end of the epoch
      ASSERT_EQ(seek(loader_, epoch, batch, 6), TROIKA_OK) << error_.message;
      ASSERT_EQ(seek(oracle, epoch, std::min<int64_t>(batch, 6)), TROIKA_OK);
      for (int64_t k = 0; k < i % 5; ++k) ASSERT_EQ(next(loader_), next(oracle)) << i;
    }
    EXPECT_EQ(seek(loader_, 0, 100), TROIKA_OK) << "nobody knows where the stream ends";
    EXPECT_EQ(next(loader_).status, TROIKA_END_OF_DATA);
    expect_position(loader_, 1, 0, 6);  // the number that the position of before said
    expect_refused(seek(loader_, -1, 0), kInvalid, "position->epoch is -1");
    expect_refused(seek(loader_, 0, -1), kInvalid, "position->batch is -1");
    expect_refused(seek(loader_, 0, std::numeric_limits<int64_t>::max()), kInvalid, "position->batch is 9223");
    troika_loader_destroy(oracle);
    troika_dataset_destroy(arrays);
    troika_loader_destroy(std::exchange(loader_, nullptr));
    troika_dataset_destroy(std::exchange(dataset_, nullptr));
  }
}

// The loader returns all batches before the fault, stays before the batch with the fault, and asks
// again.
TEST_F(CallbackDatasets, fail_at_the_batch_that_failed_and_try_again) {
  const std::function<int64_t(troika_error*)> faults[] = {
      [](troika_error* e) { return fail_with(e, "the disk is gone"); },
      [](troika_error* e) { return fail_with(e, "the disk is gone", TROIKA_OK); },
      [](troika_error*) -> int64_t { throw std::runtime_error("the disk is gone"); }};
  for (const bool is_stream : {false, true})
    for (const int32_t prefetch : {0, 2, 7})
      for (const auto& fault : faults) {
        HostSource& host = hosts_.emplace_back(23, is_stream);
        host.fault = fault;
        host.at = 13;
        host.faults = 2;
        dataset_ = create(host);
        loader_ = load(dataset_, 4, prefetch);
        troika_dataset arrays = host.arrays(context_);
        troika_loader oracle = load(arrays, 4, 0);
        for (int i = 0; i < 3; ++i) ASSERT_EQ(next(loader_), next(oracle));
        for (int i = 0; i < 2; ++i) {
          const troika_status status = next(loader_).status;
          expect_refused(status, TROIKA_ERROR_CALLBACK, "the disk is gone");
          expect_position(loader_, 0, 3, is_stream ? 0 : 6);
        }
        for (int i = 0; i < 12; ++i) ASSERT_EQ(next(loader_), next(oracle)) << i;
        troika_loader_destroy(oracle);
        troika_dataset_destroy(arrays);
        troika_loader_destroy(std::exchange(loader_, nullptr));
        troika_dataset_destroy(std::exchange(dataset_, nullptr));
      }
}

TEST_F(CallbackDatasets, stop_the_call_that_waits) {
  for (const bool is_stream : {false, true})
    for (const int32_t prefetch : {0, 2}) {
      HostSource& host = hosts_.emplace_back(23, is_stream);
      host.fault = [](troika_error* e) { return fail_with(e, "enough", TROIKA_STOPPED); };
      host.at = 5;
      dataset_ = create(host);
      loader_ = load(dataset_, 4, prefetch);
      EXPECT_EQ(next(loader_).status, TROIKA_OK);
      EXPECT_EQ(next(loader_).status, TROIKA_STOPPED);
      EXPECT_EQ(error_.status, TROIKA_OK) << "no error";
      EXPECT_EQ(tell(loader_).batch, 1);
      EXPECT_EQ(next(loader_).status, TROIKA_OK);
      troika_loader_destroy(std::exchange(loader_, nullptr));
      troika_dataset_destroy(std::exchange(dataset_, nullptr));
    }
}

TEST_F(CallbackDatasets, report_what_is_wrong_with_a_callbacks_answer) {
  const auto refuse = [&](bool is_stream, const std::function<int64_t(troika_error*)>& fault, const char* message) {
    for (const int32_t prefetch : {0, 1}) {
      HostSource& host = hosts_.emplace_back(8, is_stream);
      host.fault = fault;
      host.at = 2;
      dataset_ = create(host);
      loader_ = load(dataset_, 4, prefetch);
      const troika_status status = next(loader_).status;
      expect_refused(status, TROIKA_ERROR_CALLBACK, message);
      EXPECT_EQ(next(loader_).status, TROIKA_OK);
      troika_loader_destroy(std::exchange(loader_, nullptr));
      troika_dataset_destroy(std::exchange(dataset_, nullptr));
    }
  };
  refuse(
      false, [](troika_error*) { return 3; }, "dataset: the callback returned 3 samples, was asked for 4");
  refuse(
      false, [](troika_error*) { return 5; }, "dataset: the callback returned 5 samples, was asked for 4");
  refuse(
      true, [](troika_error*) { return 5; }, "the callback returned 5 samples, was asked for at most 4");
  refuse(
      true, [](troika_error*) { return -7; }, "dataset: the callback returned -7 and left no message");
  refuse(
      true, [](troika_error*) -> int64_t { throw 5; }, "threw an exception of unknown type");
  refuse(
      true, [](troika_error*) -> int64_t { throw std::runtime_error(""); }, "an exception without a message");
  refuse(
      true,
      [](troika_error* e) {
        std::memset(e->message, 'x', sizeof e->message);  // no NUL
        return -1;
      },
      "xxxxxxxxxxxx");
}

TEST_F(CallbackDatasets, check_labels_and_tokens) {
  struct Host {
    int32_t token = 0, label = 0;
    static int64_t TROIKA_CALL read(const troika_read_request* request, troika_error*, void* user) {
      const Host& host = *static_cast<Host*>(user);
      for (int64_t i = 0; i < 3 * request->n; ++i) static_cast<int32_t*>(request->inputs)[i] = i == 4 ? host.token : 1;
      for (int64_t i = 0; i < 2 * request->n; ++i) request->labels[i] = i == 3 ? host.label : 1;
      return request->n;
    }
  } host;
  const int64_t dims[] = {3};
  troika_source source = TROIKA_SOURCE_INIT;
  source.dtype = TROIKA_DTYPE_I32;
  source.dims = dims;
  source.rank = 1;
  source.n = 5;
  source.classes = 4;
  source.label_size = 2;
  source.words = 9;
  source.ignore_index = -100;
  source.read = Host::read;
  source.user = &host;
  expect_ok(troika_dataset_create_callback(context_, &source, &dataset_, &error_));
  troika_dataset_info info = TROIKA_DATASET_INFO_INIT;
  expect_ok(troika_dataset_describe(dataset_, &info, &error_));
  EXPECT_EQ(info.words, 9);
  EXPECT_EQ(info.dtype, TROIKA_DTYPE_I32);
  EXPECT_EQ(info.label_size, 2);
  loader_ = load(dataset_, 5, 0);
  const auto read = [&](int32_t token, int32_t label) {
    host.token = token;
    host.label = label;
    troika_batch batch = nullptr;
    const troika_status status = troika_loader_next(loader_, &batch, &error_);
    if (status == TROIKA_OK) {
      EXPECT_EQ(seek(loader_, 0, 0), TROIKA_OK);
    }
    return status;
  };
  for (const int32_t token : {-1, 9, INT32_MAX, INT32_MIN})
    expect_refused(read(token, 1), TROIKA_ERROR_CALLBACK,
                   "the callback wrote the token " + std::to_string(token) + " in sample 1, need 0 to 8");
  for (const int32_t label : {-1, 4, INT32_MAX, INT32_MIN})
    expect_refused(
        read(1, label), TROIKA_ERROR_CALLBACK,
        "the callback wrote the label " + std::to_string(label) + " for sample 1, need 0 to 3, or -100 to be ignored");
  EXPECT_EQ(read(8, 3), TROIKA_OK);
  EXPECT_EQ(read(0, -100), TROIKA_OK);
}

TEST_F(CallbackDatasets, have_values_or_no_targets) {
  struct Host {
    static int64_t TROIKA_CALL read(const troika_read_request* request, troika_error*, void* user) {
      EXPECT_EQ(request->labels, nullptr);
      EXPECT_EQ(request->values != nullptr, user != nullptr);
      for (int64_t i = 0; i < request->n; ++i) {
        static_cast<float*>(request->inputs)[i] = static_cast<float>(request->indices[i]);
        if (request->values) request->values[2 * i] = 1, request->values[2 * i + 1] = 2;
      }
      return request->n;
    }
  } host;
  for (const bool has_values : {false, true}) {
    troika_source source = TROIKA_SOURCE_INIT;  // samples of rank 0: single numbers
    source.n = 3;
    source.value_size = has_values ? 2 : 0;
    source.read = Host::read;
    source.user = has_values ? &host : nullptr;
    expect_ok(troika_dataset_create_callback(context_, &source, &dataset_, &error_));
    loader_ = load(dataset_, 2, 1);
    troika_batch batch = nullptr;
    EXPECT_EQ(troika_loader_next(loader_, &batch, &error_), TROIKA_OK) << error_.message;
    troika_batch_info info = TROIKA_BATCH_INFO_INIT;
    expect_ok(troika_batch_describe(batch, &info, &error_));
    EXPECT_EQ(info.rank, 1);
    EXPECT_EQ(info.inputs[1], 1.0f);
    EXPECT_EQ(info.labels, nullptr);
    EXPECT_EQ(info.values != nullptr, has_values);
    EXPECT_EQ(has_values ? info.values[3] : 2.0f, 2.0f);
    troika_loader_destroy(std::exchange(loader_, nullptr));
    troika_dataset_destroy(std::exchange(dataset_, nullptr));
  }
}

TEST_F(CallbackDatasets, refuse_fields_and_leave_the_users_data_to_the_caller) {
  HostSource& host = hosts_.emplace_back(5, false);
  const auto refuse = [&](const std::function<void(troika_source&)>& change, const std::string& message) {
    troika_source source = host.source();
    change(source);
    troika_dataset dataset = garbage<troika_dataset>();
    expect_refused(troika_dataset_create_callback(context_, &source, &dataset, &error_), kInvalid, message);
    EXPECT_EQ(dataset, nullptr);
  };
  const int64_t zero[] = {0}, huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  refuse([](auto& s) { s.struct_size = 0; }, "troika_source: struct_size is 0");
  refuse([](auto& s) { s.reserved = 1; }, "source.reserved is 1");
  refuse([](auto& s) { s.dtype = TROIKA_DTYPE_U8; }, "source.dtype is 5");
  refuse([](auto& s) { s.dims = nullptr; }, "argument 'dims' is NULL");
  refuse([](auto& s) { s.rank = 8; }, "rank is 8, need 0 to 7");
  refuse([](auto& s) { s.rank = -1; }, "rank is -1, need 0 to 7");
  refuse([&](auto& s) { s.dims = zero, s.rank = 1; }, "dims[0] is 0");
  refuse([&](auto& s) { s.dims = huge, s.rank = 2; }, "samples");
  refuse([](auto& s) { s.n = -2; }, "source.n is -2");
  refuse([](auto& s) { s.n = INT64_MAX; }, "samples");
  refuse([](auto& s) { s.classes = -1; }, "source.classes is -1");
  refuse([](auto& s) { s.classes = INT64_MAX; }, "source.classes is 9223");
  refuse([](auto& s) { s.words = 1; }, "source.words is 1, need 0 to 0");
  refuse([](auto& s) { s.dtype = TROIKA_DTYPE_I32; }, "source.words is 0, need 1 to");
  refuse([](auto& s) { s.label_size = 0; }, "source.label_size is 0");
  refuse([](auto& s) { s.value_size = -1; }, "source.value_size is -1");
  refuse([](auto& s) { s.value_size = 2; }, "source.classes is 3 and source.value_size is 2");
  refuse([](auto& s) { s.ignore_index = int64_t{1} << 40; }, "ignore_index is 1099511627776");
  refuse([](auto& s) { s.read = nullptr; }, "argument 'source.read' is NULL");
  expect_refused(troika_dataset_create_callback(context_, nullptr, &dataset_, &error_), kInvalid, "'source' is NULL");
  const troika_source source = host.source();
  expect_refused(troika_dataset_create_callback(nullptr, &source, &dataset_, &error_), kInvalid, "'context' is NULL");
  expect_refused(troika_dataset_create_callback(context_, &source, nullptr, &error_), kInvalid,
                 "'out_dataset' is NULL");
  EXPECT_EQ(host.ends, 0);
}

TEST_F(CallbackDatasets, are_refused_if_a_stream_cannot_do_it) {
  HostSource& host = hosts_.emplace_back(5, true);
  dataset_ = create(host);
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = 2;
  options.shuffle = 1;
  expect_refused(troika_loader_create(dataset_, &options, &loader_, &error_), kInvalid, "the dataset is a stream");
  options.shuffle = 0;
  const double weights[] = {1, 2, 3, 4, 5};
  options.weights = weights;
  expect_refused(troika_loader_create(dataset_, &options, &loader_, &error_), kInvalid, "is a stream");
  const int64_t indices[] = {0};
  troika_dataset out = nullptr;
  expect_refused(troika_dataset_subset(dataset_, indices, 1, &out, &error_), kInvalid, "is a stream");
  expect_refused(troika_dataset_subset(dataset_, indices, 0, &out, &error_), kInvalid, "is a stream");
  expect_refused(troika_dataset_split(dataset_, indices, 1, 0, 0, &out, &error_), kInvalid, "is a stream");
  expect_refused(troika_dataset_concat(&dataset_, 1, &out, &error_), kInvalid, "is a stream");
}

TEST_F(CallbackDatasets, end_with_the_last_hold) {
  HostSource& host = hosts_.emplace_back(9, false);
  troika_dataset dataset = create(host);
  troika_loader loader = load(dataset, 2, 2);
  const int64_t indices[] = {8, 1};
  troika_dataset part = nullptr;
  expect_ok(troika_dataset_subset(dataset, indices, 2, &part, &error_));
  troika_dataset_destroy(dataset);
  EXPECT_EQ(next(loader).status, TROIKA_OK);
  troika_loader_destroy(loader);
  EXPECT_EQ(host.ends, 0);
  loader = load(part, 2, 0);
  troika_dataset_destroy(part);
  EXPECT_EQ(next(loader).labels, (std::vector<int32_t>{host.labels[8], host.labels[1]}));
  troika_loader_destroy(loader);
  EXPECT_EQ(host.ends, 1);
}

TEST_F(CallbackDatasets, may_destroy_the_handles_of_their_call) {
  for (const int32_t prefetch : {0, 2}) {
    HostSource& host = hosts_.emplace_back(100, true);
    troika_context context = nullptr;
    expect_ok(troika_context_create(nullptr, &context, &error_));
    const troika_source source = host.source();
    troika_dataset dataset = nullptr;
    expect_ok(troika_dataset_create_callback(context, &source, &dataset, &error_));
    std::atomic<troika_loader> loader{nullptr};
    host.at = 12;
    host.fault = [&](troika_error* e) {
      troika_loader_destroy(loader.exchange(nullptr));
      troika_dataset_destroy(dataset);
      troika_context_destroy(context);
      return fail_with(e, "everything is gone");
    };
    if (prefetch == 0) {
      loader = load(dataset, 4, 0);
      for (int i = 0; i < 3; ++i) EXPECT_EQ(next(loader).status, TROIKA_OK);
      expect_refused(next(loader.load()).status, TROIKA_ERROR_CALLBACK, "everything is gone");
      EXPECT_EQ(host.ends, 1);
      continue;
    }
    // on the loader's own thread, while nobody waits for it
    host.at = 4;
    std::atomic<bool> may_go{false};
    host.look = [&](const troika_read_request& request) {
      while (request.first > 0 && !may_go) std::this_thread::yield();
    };
    loader = load(dataset, 4, prefetch);
    may_go = true;
    while (host.ends == 0) std::this_thread::yield();
    EXPECT_EQ(loader.load(), nullptr);
  }
}

TEST_F(CallbackDatasets, may_destroy_their_loader_and_go_on) {
  HostSource& host = hosts_.emplace_back(8, false);
  dataset_ = create(host);
  troika_loader loader = load(dataset_, 4, 0);
  host.look = [&](const troika_read_request&) { troika_loader_destroy(loader); };
  troika_batch batch = garbage<troika_batch>();
  EXPECT_EQ(troika_loader_next(loader, &batch, &error_), TROIKA_STOPPED);
  EXPECT_EQ(batch, nullptr);
}

TEST_F(CallbackDatasets, cannot_wait_for_their_own_loader) {
  for (const int32_t prefetch : {0, 1}) {
    HostSource& host = hosts_.emplace_back(8, true);
    dataset_ = create(host);
    std::atomic<troika_loader> loader{nullptr};
    std::atomic<troika_status> status{TROIKA_OK};
    host.look = [&](const troika_read_request&) {
      while (!loader) std::this_thread::yield();
      troika_batch batch = nullptr;
      status = troika_loader_next(loader, &batch, nullptr);
    };
    if (prefetch == 0) {
      loader = load(dataset_, 4, 0);
      next(loader);
    } else {
      loader = load(dataset_, 4, prefetch);
      while (status == TROIKA_OK) std::this_thread::yield();
    }
    EXPECT_EQ(status, TROIKA_ERROR_BUSY);
    troika_loader_destroy(loader);
    troika_dataset_destroy(std::exchange(dataset_, nullptr));
  }
}

TEST_F(CallbackDatasets, serve_several_loaders_and_threads) {
  HostSource& host = hosts_.emplace_back(101, false);
  dataset_ = create(host);
  troika_dataset arrays = host.arrays(context_);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    troika_loader a = load(dataset_, 3 + t, t % 3, t % 2), b = load(arrays, 3 + t, 0, t % 2);
    threads.emplace_back([&wrong, a, b] {
      for (int i = 0; i < 100; ++i) {
        troika_batch x = nullptr, y = nullptr;
        const troika_status s = troika_loader_next(a, &x, nullptr), expected = troika_loader_next(b, &y, nullptr);
        if (s != expected) ++wrong;
        if (s != TROIKA_OK || expected != TROIKA_OK) continue;
        troika_batch_info p = TROIKA_BATCH_INFO_INIT, q = TROIKA_BATCH_INFO_INIT;
        troika_batch_describe(x, &p, nullptr);
        troika_batch_describe(y, &q, nullptr);
        if (p.n != q.n || !std::equal(p.inputs, p.inputs + p.n * HostSource::kElements, q.inputs)) ++wrong;
      }
      troika_loader_destroy(a);
      troika_loader_destroy(b);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  troika_dataset_destroy(arrays);
}

}  // namespace
}  // namespace troika::test
