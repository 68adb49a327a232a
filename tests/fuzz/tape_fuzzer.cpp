// Fuzzes the C interface: a tape of calls of all functions, on one to four threads, with the n-th
// allocation failing. Each call must keep what the headers promise (check_status, arguments.h).
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "fuzz/calls.inc"
#include "fuzz/files.h"

namespace troika::fuzz {
namespace {

// Functions keep their place on a circle when others are added, so that old tapes stay useful.
const Function& function_at(uint16_t place) {
  static const auto circle = [] {
    std::vector<std::pair<uint16_t, const Function*>> places;
    for (const Function& function : kFunctions) {
      uint32_t hash = 2166136261;
      for (const char* c = function.name; *c; ++c) hash = (hash ^ static_cast<uint8_t>(*c)) * 16777619u;
      places.emplace_back(static_cast<uint16_t>(hash >> 16 ^ hash), &function);
    }
    std::sort(places.begin(), places.end());
    return places;
  }();
  const auto found =
      std::lower_bound(circle.begin(), circle.end(), std::pair<uint16_t, const Function*>(place, nullptr));
  return *(found == circle.end() ? circle.front() : *found).second;
}

void play(Tape tape, World& world) {
  test::let_allocations_fail(false);
  for (int calls = 0; !tape.is_at_end() && calls < 100; ++calls) {
    const Function& function = function_at(tape.two_bytes());
    Call call(tape, world, function.name);
    function.call(call);
  }
  test::let_allocations_fail(true);
}

void require(troika_status status) {
  if (status < 0) report("beginning", troika_status_name(status));
}

// ---- the handles that every tape begins with ----

struct Net {
  int64_t dims[3];
  int32_t rank;
};

Net add_layers(troika_model model, int kind, World& world) {
  troika_value x = 0;
  auto name = [n = 0]() mutable { return "l" + std::to_string(n++); };
  const auto keep = [&] { world.values.push_back(x); };
  if (kind == 0) {
    const int64_t dims[] = {4};
    require(troika_model_add_input(model, name().c_str(), dims, 1, &x, nullptr));
    keep();
    require(troika_model_add_linear(model, name().c_str(), x, 4, 1, &x, nullptr));
    keep();
    require(troika_model_add_relu(model, name().c_str(), x, &x, nullptr));
    require(troika_model_add_dropout(model, name().c_str(), x, 0.5, &x, nullptr));
  } else if (kind == 1) {
    const int64_t dims[] = {1, 4, 4};
    troika_conv2d_options conv = TROIKA_CONV2D_OPTIONS_INIT;
    conv.out_channels = 2;
    conv.kernel[0] = conv.kernel[1] = 3;
    conv.padding[0] = conv.padding[1] = 1;
    require(troika_model_add_input(model, name().c_str(), dims, 3, &x, nullptr));
    require(troika_model_add_conv2d(model, name().c_str(), x, &conv, &x, nullptr));
    keep();
    require(troika_model_add_batch_norm2d(model, name().c_str(), x, 1e-5, 0.1, &x, nullptr));
    require(troika_model_add_gelu(model, name().c_str(), x, &x, nullptr));
    require(troika_model_add_sum(model, name().c_str(), x, world.values.back(), &x, nullptr));
    require(troika_model_add_flatten(model, name().c_str(), x, &x, nullptr));
  } else {
    const int64_t dims[] = {4};
    require(troika_model_add_typed_input(model, name().c_str(), TROIKA_DTYPE_I32, dims, 1, &x, nullptr));
    require(troika_model_add_embedding(model, name().c_str(), x, 8, 4, &x, nullptr));
    keep();
    require(troika_model_add_lstm(model, name().c_str(), x, 4, 1, &x, nullptr));
    require(troika_model_add_linear_per_position(model, name().c_str(), x, 4, 1, &x, nullptr));
    keep();
    return {{4, 0, 0}, 1};
  }
  keep();
  require(troika_model_add_linear(model, "fc", x, 4, 1, &x, nullptr));
  keep();
  return kind == 0 ? Net{{4, 0, 0}, 1} : Net{{1, 4, 4}, 3};
}

void begin(uint8_t choice, World& world) {
  troika_context_options context_options = TROIKA_CONTEXT_OPTIONS_INIT;
  context_options.cpu_threads = choice & 1 ? 1 : 2;
  troika_context context = nullptr;
  require(troika_context_create(&context_options, &context, nullptr));
  world.add(context);
  if (choice >= 240) return;
  const int kind = choice >> 1 & 3;
  troika_model model = nullptr;
  require(troika_model_create_empty(context, "net", &model, nullptr));
  world.add(model);
  const Net net = add_layers(model, kind % 3, world);
  if (choice >= 224) return;
  require(troika_model_set_output(model, world.values.back(), nullptr));

  troika_dataset dataset = nullptr;
  if (kind == 2) {
    static const int32_t kTokens[7 * 4] = {0, 1, 2, 3};
    require(troika_dataset_create_tokens(context, kTokens, TROIKA_DTYPE_I32, 7, 4, kTokens, 4, TROIKA_UNSET, &dataset,
                                         nullptr));
  } else {
    require(troika_dataset_create_synthetic(context, net.dims, net.rank, 7, 4, 1, &dataset, nullptr));
  }
  world.add(dataset);
  troika_loader_options loader_options = TROIKA_LOADER_OPTIONS_INIT;
  loader_options.batch = 4;
  loader_options.prefetch = choice & 8 ? 2 : 0;
  loader_options.shuffle = 1;
  troika_loader loader = nullptr;
  require(troika_loader_create(dataset, &loader_options, &loader, nullptr));
  world.add(loader);
  const int64_t dims[] = {4, net.dims[0], net.dims[1], net.dims[2]};
  const troika_device cpu = {TROIKA_DEVICE_CPU, 0};
  troika_tensor inputs = nullptr, targets = nullptr;
  require(troika_tensor_create(context, cpu, kind == 2 ? TROIKA_DTYPE_I32 : TROIKA_DTYPE_F32, dims, net.rank + 1,
                               nullptr, &inputs, nullptr));
  require(troika_tensor_create(context, cpu, TROIKA_DTYPE_I32, dims, kind == 2 ? 2 : 1, nullptr, &targets, nullptr));
  troika_batch batch = nullptr;
  require(troika_batch_create(inputs, targets, &batch, nullptr));
  world.add(batch);
  if (world.is_alone()) {
    world.add(inputs);
    world.add(targets);
  } else {  // a tensor is written by one thread at a time
    troika_tensor_destroy(inputs);
    troika_tensor_destroy(targets);
  }
  if (!(choice & 16)) return;
  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.momentum = 0.5;
  options.collect_trace = 1;
  options.average_decay = choice & 128 ? 0.5 : 0.0;
  if (choice & 64) options.optimizer = TROIKA_OPTIMIZER_ADAMW, options.momentum = 0;
  const troika_device devices[] = {cpu, {TROIKA_DEVICE_CPU, 1}};
  troika_trainer trainer = nullptr;
  require(troika_model_attach(model, devices, choice & 32 ? 2 : 1, &options, &trainer, nullptr));
  world.add(trainer);
}

}  // namespace
}  // namespace troika::fuzz

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  using troika::fuzz::write_file;
  troika::fuzz::enter_temporary_folder();
  for (const char* part : {"train", "t10k"}) {
    const std::string images(
        "\0\0\x8\x3\0\0\0\x3\0\0\0\x2\0\0\0\x2"
        "abcdefghijkl",
        28),
        labels("\0\0\x8\x1\0\0\0\x3\0\1\2", 11);
    write_file(std::string(part) + "-images-idx3-ubyte", images);
    write_file(std::string(part) + "-labels-idx1-ubyte", labels);
  }
  return 0;
}

// The first four bytes say how the tape is played.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace troika::fuzz;
  if (size > 4096) return -1;
  Tape tape(data, size);
  const uint8_t threads = tape.byte() < 192 ? 1 : static_cast<uint8_t>(2 + size % 3);
  const uint8_t beginning = tape.byte();
  const uint16_t failure = tape.two_bytes();
  Tokens tokens;
  World shared(tokens, nullptr, threads == 1);
  begin(beginning, shared);
  // The first half of the numbers make no allocation fail.
  troika::test::let_allocations_fail(false);
  if (failure >= 32768) troika::test::fail_allocation((failure - 32768) / 8 + 1, failure % 8 == 7);
  if (threads == 1) {
    troika::test::let_allocations_fail(true);
    play(tape, shared);
    troika::test::let_allocations_fail(false);
  } else {
    std::deque<World> worlds;
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i) worlds.emplace_back(tokens, &shared, false).values = shared.values;
    for (int i = 0; i < threads; ++i)
      running.emplace_back(
          [&, i, part = tape.cut(static_cast<size_t>(threads - i))] { play(part, worlds[static_cast<size_t>(i)]); });
    for (std::thread& thread : running) thread.join();
    for (World& world : worlds) world.destroy_all(tape);
  }
  troika::test::stop_failing();
  troika::test::let_allocations_fail(true);
  shared.destroy_all(tape);
  tokens.check();
  return 0;
}
