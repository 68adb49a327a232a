// A host in C++20 with owning handles and exceptions. It destroys handles in odd orders, throws in
// callbacks, and destroys handles in callbacks.
#include <troika/troika.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct Error : std::runtime_error {
  Error(troika_status s, const char* message) : std::runtime_error(message), status(s) {}
  troika_status status;
};

// Makes a call and throws its error.
template <typename Function, typename... Arguments>
troika_status call(Function function, Arguments... arguments) {
  troika_error error;
  const troika_status status = function(arguments..., &error);
  if (status < 0) throw Error(status, error.message);
  return status;
}

template <typename Handle, void (*kDestroy)(Handle)>
struct Destroy {
  using pointer = Handle;
  void operator()(Handle handle) const { kDestroy(handle); }
};
template <typename Handle, void (*kDestroy)(Handle)>
using Owned = std::unique_ptr<Handle, Destroy<Handle, kDestroy>>;
using Context = Owned<troika_context, troika_context_destroy>;
using Model = Owned<troika_model, troika_model_destroy>;
using Dataset = Owned<troika_dataset, troika_dataset_destroy>;
using Loader = Owned<troika_loader, troika_loader_destroy>;
using Trainer = Owned<troika_trainer, troika_trainer_destroy>;
using Tensor = Owned<troika_tensor, troika_tensor_destroy>;
using Batch = Owned<troika_batch, troika_batch_destroy>;

// Returns the handle that a call makes.
template <typename Result, typename Function, typename... Arguments>
Result make(Function function, Arguments... arguments) {
  typename Result::pointer handle = nullptr;
  call(function, arguments..., &handle);
  return Result(handle);
}

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

constexpr troika_device kCpus[] = {{TROIKA_DEVICE_CPU, 0}, {TROIKA_DEVICE_CPU, 1}};

struct Objects {
  Context context;
  Model model;
  Dataset dataset;
  Loader loader;
  Trainer trainer;
  Tensor tensor;
  Batch batch;
};

Objects build() {
  Objects o;
  o.context = make<Context>(troika_context_create, static_cast<const troika_context_options*>(nullptr));
  o.model = make<Model>(troika_model_create_empty, o.context.get(), "net");
  const int64_t dims[] = {5};
  troika_value x = 0;
  call(troika_model_add_input, o.model.get(), "x", dims, 1, &x);
  call(troika_model_add_linear, o.model.get(), "hidden", x, int64_t{6}, 1, &x);
  call(troika_model_add_relu, o.model.get(), "relu", x, &x);
  call(troika_model_add_linear, o.model.get(), "fc", x, int64_t{3}, 1, &x);
  call(troika_model_set_output, o.model.get(), x);
  o.dataset =
      make<Dataset>(troika_dataset_create_synthetic, o.context.get(), dims, 1, int64_t{17}, int64_t{3}, uint64_t{1});
  troika_loader_options batches = TROIKA_LOADER_OPTIONS_INIT;
  batches.batch = 4;
  o.loader = make<Loader>(troika_loader_create, o.dataset.get(), &batches);
  o.trainer =
      make<Trainer>(troika_model_attach, o.model.get(), kCpus, 2, static_cast<const troika_trainer_options*>(nullptr));
  const int64_t inputs[] = {3, 5}, labels[] = {3};
  o.tensor = make<Tensor>(troika_tensor_create, o.context.get(), kCpus[0], int32_t{TROIKA_DTYPE_F32}, inputs, 2,
                          static_cast<const void*>(nullptr));
  const Tensor targets = make<Tensor>(troika_tensor_create, o.context.get(), kCpus[0], int32_t{TROIKA_DTYPE_I32},
                                      labels, 1, static_cast<const void*>(nullptr));
  o.batch = make<Batch>(troika_batch_create, o.tensor.get(), targets.get());
  return o;
}

void train(Objects& o) {
  call(troika_trainer_train_epoch, o.trainer.get(), o.loader.get(), static_cast<troika_metrics*>(nullptr));
}

// Every object keeps alive what it needs, so any order is right.
void destroy_in_odd_orders() {
  std::array<int, 7> order;
  std::iota(order.begin(), order.end(), 0);
  for (int i = 0; i < 24; ++i) {
    Objects o = build();
    if (i % 2 == 0) train(o);
    const std::function<void()> destroy[] = {
        [&] { o.context.reset(); }, [&] { o.model.reset(); },  [&] { o.dataset.reset(); }, [&] { o.loader.reset(); },
        [&] { o.trainer.reset(); }, [&] { o.tensor.reset(); }, [&] { o.batch.reset(); }};
    for (const int place : order) destroy[place]();
    for (int skipped = 0; skipped < 197; ++skipped) std::next_permutation(order.begin(), order.end());
  }
}

// A call that fails throws what the library says; objects stay usable.
void throw_and_go_on() {
  Objects o = build();
  troika_value value = 0;
  try {
    call(troika_model_add_relu, o.model.get(), "late", value, &value);
    require(false, "a complete model takes a layer");
  } catch (const Error& error) {
    require(error.status == TROIKA_ERROR_INVALID_ARGUMENT, error.what());
  }
  train(o);
}

// The library passes no exception on: the call returns an error, and the trainer stays usable.
void throw_in_a_callback() {
  Objects o = build();
  const troika_progress_function throwing = [](const troika_progress*, void*) -> int32_t {
    throw std::runtime_error("the host's own");
  };
  call(troika_trainer_set_progress, o.trainer.get(), throwing, static_cast<void*>(nullptr),
       troika_destroy_function{nullptr});
  try {
    train(o);
    require(false, "an exception is lost");
  } catch (const Error&) {}
  call(troika_trainer_set_progress, o.trainer.get(), troika_progress_function{nullptr}, static_cast<void*>(nullptr),
       troika_destroy_function{nullptr});
  train(o);
}

// A callback may destroy what the call that it interrupts works on.
void destroy_in_a_callback() {
  Objects o = build();
  bool is_released = false;
  struct User {
    Objects& objects;
    bool& is_released;
  };
  auto* user = new User{o, is_released};
  const troika_progress_function destroying = [](const troika_progress* progress, void* data) -> int32_t {
    Objects& objects = static_cast<User*>(data)->objects;
    if (progress->batch == 1) {
      objects.loader.reset();
      objects.dataset.reset();
      objects.model.reset();
      objects.context.reset();
    }
    return 0;
  };
  const troika_destroy_function release = [](void* data) {
    static_cast<User*>(data)->is_released = true;
    delete static_cast<User*>(data);
  };
  call(troika_trainer_set_progress, o.trainer.get(), destroying, static_cast<void*>(user), release);
  train(o);
  require(!is_released, "the callback is in use");
  o.trainer.reset();
  require(is_released, "the callback's data is not released");
}

}  // namespace

int main() {
  try {
    destroy_in_odd_orders();
    throw_and_go_on();
    throw_in_a_callback();
    destroy_in_a_callback();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
  std::puts("ok");
  return EXIT_SUCCESS;
}
