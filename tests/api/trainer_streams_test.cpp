// Trainers on datasets that the host reads: streams, faults in the middle, resuming.
#include <functional>
#include <list>
#include <utility>

#include "api/api_test.h"
#include "api/host_source.h"
#include "support/temp_directory.h"

namespace troika::test {
namespace {

class TrainerStreams : public ApiTest {
 protected:
  // Makes a model and its trainer on the first `devices` devices, with the same weights each time.
  void attach(int32_t devices) {
    drop();
    make_model();
    expect_ok(troika_model_initialize(model_, nullptr, TROIKA_INIT_UNIFORM, 0.3, 5, &error_));
    const troika_device all[] = {kCpu0, kCpu1, kCpu2};
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    options.momentum = 0.9;
    expect_ok(troika_model_attach(model_, all, devices, &options, &trainer_, &error_));
  }

  void drop() {
    troika_trainer_destroy(std::exchange(trainer_, nullptr));
    troika_loader_destroy(std::exchange(loader_, nullptr));
    troika_dataset_destroy(std::exchange(dataset_, nullptr));
    troika_model_destroy(std::exchange(model_, nullptr));
  }

  void read_arrays(const HostSource& host, int64_t batch, int32_t drop_last = 0) {
    dataset_ = host.arrays(context_);
    load(batch, 2, drop_last);
  }

  void read_host(HostSource& host, int64_t batch, int32_t prefetch, int32_t drop_last = 0) {
    const troika_source source = host.source();
    expect_ok(troika_dataset_create_callback(context_, &source, &dataset_, &error_));
    load(batch, prefetch, drop_last);
  }

  void load(int64_t batch, int32_t prefetch, int32_t drop_last) {
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = batch;
    options.prefetch = prefetch;
    options.drop_last = drop_last;
    expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
  }

  troika_loader_position tell() {
    troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
    EXPECT_EQ(troika_loader_tell(loader_, &position, &error_), TROIKA_OK);
    return position;
  }

  std::list<HostSource> hosts_;  // end after the datasets
  troika_metrics metrics_ = TROIKA_METRICS_INIT;
};

TEST_F(TrainerStreams, train_and_evaluate_as_arrays_do) {
  for (const int32_t devices : {1, 2, 3})
    for (const int32_t prefetch : {0, 2})
      for (const bool is_stream : {false, true})
        for (const int64_t n : {12, 23}) {
          HostSource& host = hosts_.emplace_back(n, is_stream, static_cast<uint32_t>(n));
          attach(devices);
          read_arrays(host, 4);
          troika_metrics trained = TROIKA_METRICS_INIT, evaluated = TROIKA_METRICS_INIT;
          for (int i = 0; i < 3; ++i) expect_ok(troika_trainer_train_epoch(trainer_, loader_, &trained, &error_));
          expect_ok(troika_trainer_evaluate(trainer_, loader_, &evaluated, &error_));
          const std::vector<float> expected = weights();

          attach(devices);
          read_host(host, 4, prefetch);
          for (int i = 0; i < 3; ++i) expect_ok(troika_trainer_train_epoch(trainer_, loader_, &metrics_, &error_));
          EXPECT_EQ(metrics_.loss, trained.loss);
          EXPECT_EQ(metrics_.samples, n);
          EXPECT_EQ(tell().epoch, 3);
          EXPECT_EQ(tell().batch, 0);
          expect_ok(troika_trainer_evaluate(trainer_, loader_, &metrics_, &error_));
          EXPECT_EQ(metrics_.loss, evaluated.loss);
          EXPECT_EQ(metrics_.correct, evaluated.correct);
          EXPECT_EQ(metrics_.samples, n);
          EXPECT_EQ(tell().epoch, 4);
          EXPECT_EQ(weights(), expected);
        }
}

TEST_F(TrainerStreams, train_some_batches_at_a_time) {
  for (const auto& [n, calls] :
       {std::pair<int64_t, std::vector<troika_status>>{10, {TROIKA_OK, TROIKA_END_OF_DATA, TROIKA_OK}},
        // the last batch is full, so only the next call learns that nothing comes after it
        std::pair<int64_t, std::vector<troika_status>>{16, {TROIKA_OK, TROIKA_OK, TROIKA_END_OF_DATA, TROIKA_OK}}}) {
    HostSource& host = hosts_.emplace_back(n, true);
    attach(2);
    read_host(host, 4, 1);
    for (const troika_status expected : calls)
      EXPECT_EQ(troika_trainer_train_batches(trainer_, loader_, 2, &metrics_, &error_), expected) << error_.message;
    EXPECT_EQ(tell().epoch, 1);
    EXPECT_EQ(tell().batch, 2);
  }
}

// The loader's thread reads a batch for long.
TEST_F(TrainerStreams, stop_while_they_wait_for_the_host) {
  for (const bool is_stream : {false, true})
    for (const int call : {0, 1, 2}) {
      HostSource& host = hosts_.emplace_back(23, is_stream);
      std::atomic<int> reads{0};
      std::atomic<bool> may_go{false};
      host.look = [&](const troika_read_request&) {
        if (++reads == 3)
          while (!may_go) std::this_thread::yield();
      };
      attach(2);
      read_host(host, 4, 1);
      troika_status status = TROIKA_OK;
      std::vector<float> output(23 * 3);
      std::thread waiting([&] {
        if (call == 0) status = troika_trainer_train_epoch(trainer_, loader_, &metrics_, nullptr);
        if (call == 1) status = troika_trainer_evaluate(trainer_, loader_, &metrics_, nullptr);
        if (call == 2)
          status = troika_trainer_predict_loader(trainer_, loader_, output.data(),
                                                 static_cast<int64_t>(output.size() * sizeof(float)), nullptr, nullptr);
      });
      while (reads < 3) std::this_thread::yield();
      expect_ok(troika_trainer_request_stop(trainer_, &error_));
      waiting.join();  // although the callback has not returned
      EXPECT_EQ(status, TROIKA_STOPPED);
      may_go = true;
      if (call == 0) {
        EXPECT_EQ(metrics_.samples, 4 * tell().batch);
        expect_ok(troika_trainer_train_epoch(trainer_, loader_, &metrics_, &error_));
        EXPECT_EQ(tell().epoch, 1);
      } else {
        expect_ok(troika_trainer_evaluate(trainer_, loader_, &metrics_, &error_));
        EXPECT_EQ(metrics_.samples, 23);
      }
      drop();  // the callback uses variables of the loop
    }
}

TEST_F(TrainerStreams, stop_in_the_middle_with_the_metrics_so_far) {
  for (const bool is_stream : {false, true})
    for (const int32_t prefetch : {0, 2}) {
      HostSource& host = hosts_.emplace_back(23, is_stream);
      host.at = 10;
      host.faults = 3;
      host.fault = [](troika_error* e) { return fail_with(e, "enough", TROIKA_STOPPED); };
      attach(2);
      read_host(host, 4, prefetch);
      EXPECT_EQ(troika_trainer_train_epoch(trainer_, loader_, &metrics_, &error_), TROIKA_STOPPED);
      EXPECT_EQ(metrics_.samples, 8);
      EXPECT_GT(metrics_.loss, 0);
      EXPECT_EQ(tell().batch, 2);
      EXPECT_EQ(troika_trainer_evaluate(trainer_, loader_, &metrics_, &error_), TROIKA_STOPPED);
      EXPECT_EQ(metrics_.samples, 8);
      std::vector<float> output(23 * 3);
      int64_t samples = -1;
      EXPECT_EQ(troika_trainer_predict_loader(trainer_, loader_, output.data(), 23 * 12, &samples, &error_),
                TROIKA_STOPPED);
      EXPECT_EQ(samples, 8);
      expect_ok(troika_trainer_train_epoch(trainer_, loader_, &metrics_, &error_));
      EXPECT_EQ(metrics_.samples, 15);
    }
}

// After an error the rest of the epoch trains as if there had been none.
TEST_F(TrainerStreams, go_on_after_an_error_of_the_host) {
  const std::function<int64_t(troika_error*)> faults[] = {
      [](troika_error* e) { return fail_with(e, "the disk is gone"); },
      [](troika_error*) -> int64_t { throw std::runtime_error("the disk is gone"); }};
  for (const bool is_stream : {false, true})
    for (const int32_t prefetch : {0, 2, 7})
      for (const auto& fault : faults) {
        HostSource& host = hosts_.emplace_back(23, is_stream);
        attach(3);
        read_arrays(host, 4);
        expect_ok(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_));
        const std::vector<float> expected = weights();
        host.at = 17;
        host.fault = fault;
        attach(3);
        read_host(host, 4, prefetch);
        expect_refused(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_), TROIKA_ERROR_CALLBACK,
                       "the disk is gone");
        EXPECT_EQ(tell().batch, 4);
        expect_ok(troika_trainer_train_epoch(trainer_, loader_, &metrics_, &error_));
        EXPECT_EQ(metrics_.samples, 7);
        EXPECT_EQ(weights(), expected);
        if (prefetch > 0) continue;  // the thread may have read that batch by now
        host.faults = 1;
        expect_refused(troika_trainer_evaluate(trainer_, loader_, nullptr, &error_), TROIKA_ERROR_CALLBACK,
                       "the disk is gone");
        expect_ok(troika_trainer_evaluate(trainer_, loader_, &metrics_, &error_));
        EXPECT_EQ(metrics_.samples, 23);
      }
}

TEST_F(TrainerStreams, do_not_know_their_batches_in_the_first_epoch) {
  HostSource& host = hosts_.emplace_back(10, true);
  attach(1);
  read_host(host, 4, 2);
  std::vector<std::pair<int64_t, int64_t>> told;
  expect_ok(troika_trainer_set_progress(
      trainer_,
      [](const troika_progress* progress, void* user) {
        static_cast<std::vector<std::pair<int64_t, int64_t>>*>(user)->emplace_back(progress->batch, progress->batches);
        return 0;
      },
      &told, nullptr, &error_));
  for (int i = 0; i < 2; ++i) expect_ok(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_));
  const std::vector<std::pair<int64_t, int64_t>> expected = {{1, 0}, {2, 0}, {3, 3}, {1, 3}, {2, 3}, {3, 3}};
  EXPECT_EQ(told, expected);
}

TEST_F(TrainerStreams, without_any_batch_are_refused) {
  for (const int32_t drop_last : {0, 1}) {
    HostSource& host = hosts_.emplace_back(drop_last == 1 ? 3 : 0, true);
    attach(1);
    read_host(host, 4, 2, drop_last);
    expect_refused(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_), kInvalid,
                   "loader: its stream had no batch in epoch 0, need at least one");
    expect_refused(troika_trainer_evaluate(trainer_, loader_, nullptr, &error_), kInvalid,
                   "loader: its stream had no batch in epoch 1");
  }
}

// A training state that is saved after any batch resumes with the same bits.
TEST_F(TrainerStreams, resume_in_the_middle_of_a_stream) {
  const TempDirectory directory;
  const std::string path = (directory.path() / "state.safetensors").string();
  for (const int64_t n : {12, 14}) {  // with a full last batch, and without
    for (int64_t saved_after = 1; saved_after <= 5; ++saved_after) {
      HostSource& host = hosts_.emplace_back(n, true);
      attach(2);
      read_host(host, 4, 2);
      const auto train = [&](int64_t batches) {
        for (int64_t done = 0; done < batches;) {
          const troika_status status = troika_trainer_train_batches(trainer_, loader_, 1, &metrics_, &error_);
          ASSERT_GE(status, 0) << error_.message;
          done += metrics_.samples > 0 ? 1 : 0;
        }
      };
      train(saved_after);
      expect_ok(troika_trainer_save(trainer_, path.c_str(), &error_));
      train(6);
      const std::vector<float> expected = weights();

      drop();
      std::vector<std::pair<int64_t, int64_t>> asked;
      host.look = [&](const troika_read_request& request) { asked.emplace_back(request.epoch, request.first); };
      attach(2);
      read_host(host, 4, 0);
      troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
      expect_ok(troika_trainer_load(trainer_, path.c_str(), &position, &error_));
      expect_ok(troika_loader_seek(loader_, &position, &error_));
      train(6);
      EXPECT_EQ(weights(), expected) << "n " << n << ", saved after " << saved_after;
      EXPECT_EQ(asked[0].first, position.epoch);
      EXPECT_EQ(asked[0].second, 4 * position.batch);
    }
  }
}

TEST_F(TrainerStreams, save_the_next_epoch_after_the_end_of_one) {
  const TempDirectory directory;
  const std::string path = (directory.path() / "state.safetensors").string();
  HostSource& host = hosts_.emplace_back(8, true);
  attach(1);
  read_host(host, 4, 2);
  expect_ok(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_));
  expect_ok(troika_trainer_save(trainer_, path.c_str(), &error_));
  troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
  expect_ok(troika_trainer_load(trainer_, path.c_str(), &position, &error_));
  EXPECT_EQ(position.epoch, 1);
  EXPECT_EQ(position.batch, 0);
}

TEST_F(TrainerStreams, keep_their_place_while_another_stream_ends) {
  const TempDirectory directory;
  const std::string path = (directory.path() / "state.safetensors").string();
  HostSource& host = hosts_.emplace_back(40, true);
  HostSource& other = hosts_.emplace_back(12, true);
  attach(1);
  read_host(host, 4, 2);
  EXPECT_EQ(troika_trainer_train_batches(trainer_, loader_, 3, nullptr, &error_), TROIKA_OK);
  troika_loader_destroy(std::exchange(loader_, nullptr));
  troika_dataset_destroy(std::exchange(dataset_, nullptr));
  read_host(other, 4, 2);
  expect_ok(troika_trainer_evaluate(trainer_, loader_, nullptr, &error_));
  expect_ok(troika_trainer_save(trainer_, path.c_str(), &error_));
  troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
  expect_ok(troika_trainer_load(trainer_, path.c_str(), &position, &error_));
  EXPECT_EQ(position.epoch, 0);
  EXPECT_EQ(position.batch, 3);
}

TEST_F(TrainerStreams, resume_draws_by_weights_and_refuse_other_weights) {
  const TempDirectory directory;
  const std::string path = (directory.path() / "state.safetensors").string();
  HostSource& host = hosts_.emplace_back(11, false);
  std::vector<double> weights_of_samples = {1, 2, 3, 0, 5, 6, 7, 8, 9, 0, 1};
  const auto load_weighted = [&](uint64_t seed, bool is_weighted = true) {
    attach(2);
    dataset_ = host.arrays(context_);
    troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
    options.batch = 4;
    options.seed = seed;
    options.weights = is_weighted ? weights_of_samples.data() : nullptr;
    options.shuffle = is_weighted ? 0 : 1;
    expect_ok(troika_loader_create(dataset_, &options, &loader_, &error_));
  };
  load_weighted(3);
  EXPECT_EQ(troika_trainer_train_batches(trainer_, loader_, 2, nullptr, &error_), TROIKA_OK);
  expect_ok(troika_trainer_save(trainer_, path.c_str(), &error_));
  expect_ok(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_));
  expect_ok(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_));
  const std::vector<float> expected = weights();

  const auto resume = [&] {
    troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
    expect_ok(troika_trainer_load(trainer_, path.c_str(), &position, &error_));
    expect_ok(troika_loader_seek(loader_, &position, &error_));
    return troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_);
  };
  load_weighted(3);
  expect_ok(resume());
  expect_ok(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_));
  EXPECT_EQ(weights(), expected);
  load_weighted(4);
  expect_refused(resume(), kInvalid, "with the same shuffle, seed, weights, flip and crop");
  load_weighted(3, false);
  expect_refused(resume(), kInvalid, "shuffled with seed 3, those of the training state drawn by weights");
  weights_of_samples[0] = 1.5;
  load_weighted(3);
  expect_refused(resume(), kInvalid, "with the same shuffle, seed, weights, flip and crop");
}

// ---- exceptions of progress callbacks ----

TEST_F(TrainerStreams, report_exceptions_of_progress_callbacks) {
  HostSource& host = hosts_.emplace_back(23, false);
  attach(2);
  read_arrays(host, 4);
  int calls = 0;
  expect_ok(troika_trainer_set_progress(
      trainer_,
      [](const troika_progress*, void* user) -> int32_t {
        if (++*static_cast<int*>(user) == 2) throw std::runtime_error("the window was closed");
        if (*static_cast<int*>(user) == 3) throw 3;
        return 0;
      },
      &calls, nullptr, &error_));
  expect_refused(troika_trainer_train_epoch(trainer_, loader_, nullptr, &error_), TROIKA_ERROR_CALLBACK,
                 "the window was closed");
  EXPECT_EQ(tell().batch, 2) << "the batch was trained on";
  expect_refused(troika_trainer_evaluate(trainer_, loader_, nullptr, &error_), TROIKA_ERROR_CALLBACK,
                 "the progress callback: threw an exception of unknown type");
  expect_ok(troika_trainer_evaluate(trainer_, loader_, &metrics_, &error_));
  EXPECT_EQ(metrics_.samples, 23);
}

}  // namespace
}  // namespace troika::test
