// Times operations on tensors next to the same work as a layer of a planned step, in turn:
//
//     eager_bench [ROUNDS [THREADS [PART OF A NAME]]]
//
// A round runs each operation several times by itself, and then as the first layer of a small
// model's training step, whose trace has the times of the layer's launches. Prints a table: medians
// and, in parentheses, the fastest; the ratios of both, by itself to the layer with its reorders.
// On a busy machine only the fastest can be compared. The last line is the cost of a small call.
#include <troika/troika.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr troika_device kDevice = {TROIKA_DEVICE_CPU, 0};
constexpr const char *kLayer = "op", *kReader = "mean";  // names in the model
constexpr int kCalls = 3, kSmallCalls = 2000;            // per round

troika_error error;

void check(troika_status status) {
  if (status >= 0) return;
  std::fprintf(stderr, "eager_bench: %s\n", error.message);
  std::exit(1);
}

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Times {
  std::vector<double> ms;

  double median() { return std::sort(ms.begin(), ms.end()), ms[ms.size() / 2]; }
  double best() const { return *std::min_element(ms.begin(), ms.end()); }
  std::string text() {
    char out[64];
    std::snprintf(out, sizeof out, "%.2f (%.2f)", median(), best());
    return out;
  }
};

// Times of the forward launches of a layer, without and with the reorders of its input and output.
struct PlanTimes {
  Times layer, with_reorders;
};

struct Case {
  const char* name;
  std::vector<int64_t> x, y;  // shapes of the operation's inputs; y empty: none
  std::function<troika_tensor(troika_tensor x, troika_tensor y)> run;
  std::function<troika_value(troika_model model, troika_value x)> add;
};

troika_tensor normal(troika_context context, const std::vector<int64_t>& dims, uint64_t seed) {
  troika_tensor out;
  check(troika_tensor_normal(context, kDevice, TROIKA_DTYPE_F32, dims.data(), static_cast<int32_t>(dims.size()), 0, 1,
                             seed, &out, &error));
  return out;
}

// One case with its tensors, and with the model that has its layer.
class Measured {
 public:
  Measured(troika_context context, Case what) : what_(std::move(what)) {
    x_ = normal(context, what_.x, 1);
    if (!what_.y.empty()) y_ = normal(context, what_.y, 2);
    const std::vector<int64_t> sample(what_.x.begin() + 1, what_.x.end());
    troika_value x;
    check(troika_model_create_empty(context, "net", &model_, &error));
    check(troika_model_add_input(model_, "x", sample.data(), static_cast<int32_t>(sample.size()), &x, &error));
    x = what_.add(model_, x);
    check(troika_model_add_mean(model_, kReader, x, nullptr, 0, 1, &x, &error));
    check(troika_model_add_flatten(model_, "flatten", x, &x, &error));
    check(troika_model_add_linear(model_, "fc", x, 2, 1, &x, &error));
    check(troika_model_set_output(model_, x, &error));
    troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
    options.learning_rate = 0;
    options.collect_trace = 1;
    options.no_fusion = 1;
    check(troika_model_attach(model_, &kDevice, 1, &options, &trainer_, &error));
    const std::vector<int32_t> labels(static_cast<size_t>(what_.x[0]), 0);
    check(troika_tensor_create(context, kDevice, TROIKA_DTYPE_I32, what_.x.data(), 1, labels.data(), &labels_, &error));
    check(troika_batch_create(x_, labels_, &batch_, &error));
  }

  ~Measured() {
    troika_batch_destroy(batch_);
    troika_trainer_destroy(trainer_);
    troika_model_destroy(model_);
    for (const troika_tensor tensor : {labels_, y_, x_}) troika_tensor_destroy(tensor);
  }

  void run_alone(int calls, Times* times) {
    for (int i = 0; i < calls; ++i) {
      const double begin = now_ms();
      const troika_tensor out = what_.run(x_, y_);
      if (times) times->ms.push_back(now_ms() - begin);
      troika_tensor_destroy(out);
    }
  }

  void run_in_plan(int calls, PlanTimes* times) {
    for (int i = 0; i < calls; ++i) {
      troika_step_result result = TROIKA_STEP_RESULT_INIT;
      check(troika_trainer_step(trainer_, batch_, &result, &error));
      if (times) add_step(*times);
    }
  }

  const char* name() const { return what_.name; }

 private:
  std::string trace() {
    int64_t size = 0;
    check(troika_trainer_trace(trainer_, nullptr, 0, &size, &error));
    std::string out(static_cast<size_t>(size), '\0');
    check(troika_trainer_trace(trainer_, out.data(), size, nullptr, &error));
    return out;
  }

  // Adds the times of the launches of the layer, and of the reorders around it, in the last step.
  void add_step(PlanTimes& times) {
    double layer = 0, reorders = 0;
    std::istringstream lines(trace());
    int replica = 0;
    double begin = 0, end = 0;
    std::string op, name;
    while (lines >> replica >> begin >> end >> op >> name && !(op == "sum_axes" && name == kReader)) {
      if (op == "reorder") reorders += end - begin;
      if (op != "reorder" && name == kLayer) layer += end - begin;
    }
    times.layer.ms.push_back(layer / 1000);
    times.with_reorders.ms.push_back((layer + reorders) / 1000);
  }

  Case what_;
  troika_tensor x_ = nullptr, y_ = nullptr, labels_ = nullptr;
  troika_model model_ = nullptr;
  troika_trainer trainer_ = nullptr;
  troika_batch batch_ = nullptr;
};

Case matmul(const char* name, int64_t n) {
  return {name,
          {n, n},
          {n, n},
          [](troika_tensor x, troika_tensor y) {
            troika_tensor out;
            check(troika_tensor_matmul(x, y, 0, 1, &out, &error));
            return out;
          },
          [n](troika_model model, troika_value x) {
            check(troika_model_add_linear(model, kLayer, x, n, 0, &x, &error));
            return x;
          }};
}

troika_conv2d_options window() {
  troika_conv2d_options options = TROIKA_CONV2D_OPTIONS_INIT;
  options.out_channels = 64;
  options.kernel[0] = options.kernel[1] = 3;
  options.padding[0] = options.padding[1] = 1;
  options.no_bias = 1;
  return options;
}

std::vector<Case> cases() {
  const std::vector<int64_t> large = {64, 256, 256};  // 16 MiB
  return {matmul("matmul 1024", 1024),
          matmul("matmul 512", 512),
          {"conv2d 64x32x28x28, 64 of 3x3",
           {64, 32, 28, 28},
           {64, 32, 3, 3},
           [](troika_tensor x, troika_tensor y) {
             troika_tensor out;
             const troika_conv2d_options options = window();
             check(troika_tensor_conv2d(x, y, nullptr, &options, &out, &error));
             return out;
           },
           [](troika_model model, troika_value x) {
             const troika_conv2d_options options = window();
             check(troika_model_add_conv2d(model, kLayer, x, &options, &x, &error));
             return x;
           }},
          {"relu 16 MiB",
           large,
           {},
           [](troika_tensor x, troika_tensor) {
             troika_tensor out;
             check(troika_tensor_relu(x, &out, &error));
             return out;
           },
           [](troika_model model, troika_value x) {
             check(troika_model_add_relu(model, kLayer, x, &x, &error));
             return x;
           }},
          {"add 16 MiB", large, large,
           [](troika_tensor x, troika_tensor y) {
             troika_tensor out;
             check(troika_tensor_add(x, y, &out, &error));
             return out;
           },
           [](troika_model model, troika_value x) {
             // Both addends are read again, and other work has moved them out of the caches.
             troika_value y, other;
             check(troika_model_add_tanh(model, "y", x, &y, &error));
             check(troika_model_add_sigmoid(model, "other", x, &other, &error));
             check(troika_model_add_sum(model, kLayer, x, y, &x, &error));
             check(troika_model_add_product(model, "after", x, y, &x, &error));
             check(troika_model_add_product(model, "last", x, other, &x, &error));
             return x;
           }},
          {"mean of 16 MiB over its last axis",
           large,
           {},
           [](troika_tensor x, troika_tensor) {
             troika_tensor out;
             const int32_t axis = 2;
             check(troika_tensor_mean(x, &axis, 1, 0, &out, &error));
             return out;
           },
           [](troika_model model, troika_value x) {
             const int32_t axis = 2;
             check(troika_model_add_mean(model, kLayer, x, &axis, 1, 0, &x, &error));
             return x;
           }},
          {"softmax 4096x1000",
           {4096, 1000},
           {},
           [](troika_tensor x, troika_tensor) {
             troika_tensor out;
             check(troika_tensor_softmax(x, 1, &out, &error));
             return out;
           },
           [](troika_model model, troika_value x) {
             check(troika_model_add_softmax(model, kLayer, x, 1, &x, &error));
             return x;
           }}};
}

void measure(troika_context context, Case what, int rounds) {
  Measured measured(context, std::move(what));
  Times alone;
  PlanTimes plan;
  for (int round = -1; round < rounds; ++round) {  // the first is not counted
    measured.run_alone(kCalls, round < 0 ? nullptr : &alone);
    measured.run_in_plan(kCalls, round < 0 ? nullptr : &plan);
  }
  std::printf("| %s | %s | %s | %s | %.2f | %.2f |\n", measured.name(), alone.text().c_str(), plan.layer.text().c_str(),
              plan.with_reorders.text().c_str(), alone.median() / plan.with_reorders.median(),
              alone.best() / plan.with_reorders.best());
}

void measure_small(troika_context context, int rounds) {
  const troika_tensor x = normal(context, {4}, 1);
  Times times;
  for (int round = -1; round < rounds; ++round) {
    const double begin = now_ms();
    for (int i = 0; i < kSmallCalls; ++i) {
      troika_tensor out;
      check(troika_tensor_add(x, x, &out, &error));
      troika_tensor_destroy(out);
    }
    if (round >= 0) times.ms.push_back((now_ms() - begin) / kSmallCalls);
  }
  std::printf("add of 4 numbers: %.2f us, fastest round %.2f us\n", times.median() * 1000, times.best() * 1000);
  troika_tensor_destroy(x);
}

}  // namespace

int main(int count, char** values) {
  const int rounds = count > 1 ? std::atoi(values[1]) : 15, threads = count > 2 ? std::atoi(values[2]) : 0;
  troika_context_options options = TROIKA_CONTEXT_OPTIONS_INIT;
  if (threads > 0) options.cpu_threads = threads;
  troika_context context;
  check(troika_context_create(&options, &context, &error));
  std::puts("| operation | by itself, ms | layer of a plan, ms | with its reorders, ms | ratio | of the fastest |");
  std::puts("| --- | ---: | ---: | ---: | ---: | ---: |");
  for (Case& what : cases())
    if (count <= 3 || std::strstr(what.name, values[3])) measure(context, std::move(what), rounds);
  measure_small(context, rounds);
  troika_context_destroy(context);
  return 0;
}
