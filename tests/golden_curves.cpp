// Checks golden training curves: golden_curves FILE... [--devices LIST] [--precision P]. Trains
// each file's network by its recipe through the public interface. Compares losses, gradient norms,
// final parameters and running statistics. Processes of a launcher share the devices of a file.
#include <troika/troika.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "golden/numbers.h"

namespace {

using Json = nlohmann::json;

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

troika_error error;

void check(troika_status status, const char* what) {
  if (status != TROIKA_OK) throw Failure(std::string(what) + ": " + troika_status_name(status) + ": " + error.message);
}

// The numbers of a file, which differ by its salt.
struct Numbers {
  uint32_t salt;
  uint32_t hash(uint32_t t, uint32_t i) const { return troika::golden::hash32(t + salt, i); }
  double unit(uint32_t t, uint32_t i) const { return troika::golden::unit(t + salt, i); }
};

std::vector<float> initial_value(const Numbers& numbers, uint32_t t, const std::string& name,
                                 const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  std::vector<float> value(static_cast<size_t>(n));
  // A parameter of rank 1 named weight belongs to BatchNorm. A bias belongs to BatchNorm if its
  // layer has such a weight.
  for (int64_t i = 0; i < n; ++i) {
    const double u = numbers.unit(t, static_cast<uint32_t>(i));
    double v = 0.1 * u;
    if (shape.size() > 1)
      v = u * 2 * std::sqrt(3.0) * std::sqrt(2.0 / static_cast<double>(n / shape[0]));
    else if (name == "batch_norm.weight")
      v = 1 + 0.2 * u;
    else if (name == "batch_norm.bias")
      v = 0.2 * u;
    value[static_cast<size_t>(i)] = static_cast<float>(v);
  }
  return value;
}

constexpr const char* kPrecisions[] = {"f32", "tf32", "bf16", "f16"};  // in the order of TROIKA_PRECISION_*

// Tolerances in 16 bits: multiples of the deviations of PyTorch's autocast on the same curve, which
// golden/autocast.py writes into the file. They are 0 in f32.
struct LowTolerances {
  std::vector<double> losses;              // of each step
  double gradient = 0, last_gradient = 0;  // relative; 0: not compared
  double bias = 0, norm = 0;               // of final values, relative
  double logit = 0;                        // as a part of the largest; not compared if autocast loses it

  static LowTolerances of(const Json& golden, bool is_low) {
    LowTolerances low;
    low.losses.assign(golden.at("steps"), 0.0);
    if (!is_low) return low;
    if (!golden.contains("autocast"))
      throw Failure("the file has no deviations of autocast, 16 bits need them; run tests/golden/autocast.py on it");
    const Json& autocast = golden.at("autocast");
    constexpr double kFactor = 2, kLeast = 1.0 / 512;  // kLeast: half a unit of the last place of bf16
    const auto tolerance = [&](const Json& deviation) { return std::max(kFactor * deviation.get<double>(), kLeast); };
    for (size_t s = 0; s < low.losses.size(); ++s) low.losses[s] = tolerance(autocast.at("losses").at(s));
    if (autocast.contains("gradient_norms")) {
      low.gradient = tolerance(autocast.at("gradient_norms").at("others"));
      low.last_gradient = tolerance(autocast.at("gradient_norms").at("last"));
    }
    low.bias = tolerance(autocast.at("norms").at("biases"));
    low.norm = tolerance(autocast.at("norms").at("others"));
    low.logit = tolerance(autocast.at("logits"));
    return low;
  }
};

// Counts comparisons and prints failed comparisons.
class Comparison {
 public:
  explicit Comparison(std::string name) : name_(std::move(name)) {}
  void near(const std::string& what, double found, double expected, double relative, double absolute = 0) {
    ++count_;
    const double difference = std::fabs(found - expected), allowed = relative * std::fabs(expected) + absolute;
    if (allowed > 0 && difference / allowed > worst_) worst_ = difference / allowed, worst_name_ = what;
    if (difference <= allowed) return;
    ++failures_;
    if (failures_ <= 20)
      std::printf("  %s: %s is %.9g, expected %.9g within %.3g\n", name_.c_str(), what.c_str(), found, expected,
                  allowed);
  }
  int count() const { return count_; }
  int failures() const { return failures_; }
  double worst() const { return worst_; }
  const std::string& worst_name() const { return worst_name_; }

 private:
  std::string name_, worst_name_;
  int count_ = 0, failures_ = 0;
  double worst_ = 0;
};

double norm(const std::vector<float>& v) {
  double sum = 0;
  for (float x : v) sum += static_cast<double>(x) * x;
  return std::sqrt(sum);
}

struct Run {
  troika_context context = nullptr;
  troika_group group = nullptr;
  troika_model model = nullptr;
  troika_trainer trainer = nullptr;
  ~Run() {
    troika_trainer_destroy(trainer);
    troika_model_destroy(model);
    troika_group_destroy(group);
    troika_context_destroy(context);
  }
};

// The part of a run that this process computes.
struct Share {
  std::vector<troika_device> devices;
  int64_t first_row = 0, rows = 0;
};

troika_batch make_batch(const Run& run, const Json& golden, const Numbers& numbers, uint32_t b, int64_t first,
                        int64_t n) {
  const int64_t classes = golden.at("classes");
  std::vector<int64_t> dims = {n};
  int64_t elements = n;
  for (int64_t d : golden.at("input")) dims.push_back(d), elements *= d;
  std::vector<float> x(static_cast<size_t>(elements));
  const int64_t first_element = first * (elements / n);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] =
        static_cast<float>(2 * numbers.unit(1000 + b, static_cast<uint32_t>(first_element) + static_cast<uint32_t>(i)));
  std::vector<int32_t> labels(static_cast<size_t>(n));
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<int32_t>(numbers.hash(2000 + b, static_cast<uint32_t>(first) + static_cast<uint32_t>(i)) %
                                     static_cast<uint32_t>(classes));
  const troika_device cpu = {TROIKA_DEVICE_CPU, 0};
  troika_tensor inputs = nullptr, targets = nullptr;
  troika_batch batch = nullptr;
  check(troika_tensor_create(run.context, cpu, TROIKA_DTYPE_F32, dims.data(), static_cast<int32_t>(dims.size()),
                             x.data(), &inputs, &error),
        "inputs");
  check(troika_tensor_create(run.context, cpu, TROIKA_DTYPE_I32, &n, 1, labels.data(), &targets, &error), "labels");
  const troika_status status = troika_batch_create(inputs, targets, &batch, &error);
  troika_tensor_destroy(inputs);
  troika_tensor_destroy(targets);
  check(status, "batch");
  return batch;
}

std::vector<float> read_parameter(const Run& run, const std::string& name, int64_t elements) {
  std::vector<float> value(static_cast<size_t>(elements));
  check(troika_model_get_parameter(run.model, name.c_str(), value.data(), elements * 4, &error), name.c_str());
  return value;
}

int64_t elements_of(const Json& shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

// Compares the norms of the first step's gradients. In float32, a pre-activation within rounding of
// zero may fall on the other side of a ReLU, which changes norms abruptly. golden/README.md
// explains these tolerances.
void compare_gradients(const Run& run, const Json& golden, const LowTolerances& low, Comparison& compare) {
  const Json& parameters = golden.at("parameters");
  const size_t batch_norms = golden.at("buffer_norms_end").size() / 2;
  const bool is_low = low.gradient > 0;
  const double each = is_low              ? low.gradient
                      : batch_norms == 0  ? 1e-4
                      : batch_norms <= 20 ? 1.5e-2
                                          : 5e-2,
               median = is_low              ? low.gradient
                        : batch_norms <= 20 ? 1e-3
                                            : 1e-2,
               last = is_low ? low.last_gradient : 1e-5;
  std::vector<double> deviations;
  for (size_t t = 0; t < parameters.size(); ++t) {
    const std::string name = parameters[t].at("name");
    if (!golden.at("grad_norms_step0").contains(name)) continue;  // frozen
    const double expected = golden.at("grad_norms_step0").at(name);
    std::vector<float> gradient(static_cast<size_t>(elements_of(parameters[t].at("shape"))));
    check(troika_trainer_get_gradient(run.trainer, name.c_str(), gradient.data(),
                                      static_cast<int64_t>(gradient.size() * 4), &error),
          name.c_str());
    const double found = norm(gradient);
    // There is no ReLU after the last layer. The gradient of a bias before BatchNorm is zero,
    // except for rounding.
    compare.near("gradient norm of " + name, found, expected, t + 2 >= parameters.size() ? last : each, 1e-5);
    if (expected > 1e-3) deviations.push_back(std::fabs(found - expected) / expected);
  }
  std::nth_element(deviations.begin(), deviations.begin() + static_cast<std::ptrdiff_t>(deviations.size() / 2),
                   deviations.end());
  compare.near("median deviation of the gradient norms", deviations[deviations.size() / 2], 0, 0, median);
}

int64_t elements_in(const Run& run, const std::string& name) {
  troika_parameter_info info = TROIKA_PARAMETER_INFO_INIT;
  for (int32_t i = 0;; ++i) {
    info.struct_size = sizeof info;
    check(troika_model_describe_parameter(run.model, i, &info, &error), name.c_str());
    if (name != info.name) continue;
    int64_t n = 1;
    for (int32_t k = 0; k < info.rank; ++k) n *= info.dims[k];
    return n;
  }
}

// Returns the network's output for this process's rows of batch 500, [rows, classes].
std::vector<float> predict(const Run& run, const Json& golden, const Numbers& numbers, const Share& share) {
  troika_batch batch = make_batch(run, golden, numbers, 500, share.first_row, share.rows);
  troika_batch_info info = TROIKA_BATCH_INFO_INIT;
  check(troika_batch_describe(batch, &info, &error), "batch");
  troika_tensor input = nullptr, output = nullptr;
  check(troika_tensor_create(run.context, {TROIKA_DEVICE_CPU, 0}, TROIKA_DTYPE_F32, info.dims, info.rank, info.inputs,
                             &input, &error),
        "input");
  troika_batch_destroy(batch);
  const troika_status status = troika_trainer_predict(run.trainer, input, &output, &error);
  troika_tensor_destroy(input);
  check(status, "predict");
  std::vector<float> logits(static_cast<size_t>(share.rows * golden.at("classes").get<int64_t>()));
  const troika_status copied =
      troika_tensor_to_host(output, logits.data(), static_cast<int64_t>(logits.size() * 4), &error);
  troika_tensor_destroy(output);
  check(copied, "output");
  return logits;
}

int64_t sum_over_processes(const Run& run, int64_t number) {
  const int64_t one = 1;
  troika_tensor tensor = nullptr;
  check(troika_tensor_create(run.context, {TROIKA_DEVICE_CPU, 0}, TROIKA_DTYPE_I64, &one, 1, &number, &tensor, &error),
        "sum");
  troika_status status = troika_group_all_reduce(run.group, tensor, &error);
  if (status == TROIKA_OK) status = troika_tensor_to_host(tensor, &number, sizeof number, &error);
  troika_tensor_destroy(tensor);
  check(status, "sum");
  return number;
}

// Returns this process's devices and rows. There are as many devices as the file has shards, or one
// per process if that is more, and no layer couples samples. Fails if the shards are not a balanced
// split, because the library has no other.
Share share_of(const Json& golden, const std::vector<troika_device>& given, const troika_group_info& place) {
  const auto shards = golden.at("shards").get<std::vector<int64_t>>();
  const int64_t n = golden.at("batch"), processes = place.processes;
  int64_t count = static_cast<int64_t>(shards.size());
  const auto piece = [&](int64_t i) { return n / count + (i < n % count ? 1 : 0); };
  for (int64_t i = 0; i < count; ++i)
    if (shards[static_cast<size_t>(i)] != piece(i)) throw Failure("shards are not the balanced split of the batch");
  if (count < processes && !golden.at("buffer_norms_end").empty())
    throw Failure("BatchNorm has " + std::to_string(count) + " devices, and there are more processes");
  count = std::max(count, processes);
  Share share;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t process = i * processes / count;
    if (process < place.rank) share.first_row += piece(i);
    if (process != place.rank) continue;
    share.rows += piece(i);
    share.devices.push_back(given.empty() ? troika_device{TROIKA_DEVICE_CPU, static_cast<int32_t>(i)}
                                          : given[static_cast<size_t>(i) % given.size()]);
  }
  return share;
}

// Reads the optimizer and its settings. Settings that the file does not contain keep their
// defaults.
void read_optimizer(const Json& golden, troika_trainer_options& options) {
  const std::string name = golden.value("optimizer", "sgd");
  // In the order of TROIKA_OPTIMIZER_*.
  const char* const names[] = {"sgd", "adam", "adamw", "rmsprop", "lars", "lamb", "adagrad"};
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw Failure("there is no optimizer '" + name + "'");
  options.optimizer = static_cast<int32_t>(found - std::begin(names)) + 1;
  options.learning_rate = golden.at("lr");
  options.weight_decay = golden.at("weight_decay");
  options.momentum = golden.value("momentum", 0.0);
  options.nesterov = golden.value("nesterov", false) ? 1 : 0;
  options.eps = golden.value("eps", options.eps);
  options.alpha = golden.value("alpha", options.alpha);
  options.trust = golden.value("trust", options.trust);
  if (golden.contains("betas")) {
    options.beta1 = golden.at("betas")[0];
    options.beta2 = golden.at("betas")[1];
  }
}

Comparison follow(const std::string& path, const std::vector<troika_device>& given, int32_t precision) {
  std::ifstream file(path);
  if (!file) throw Failure("cannot open " + path);
  const Json golden = Json::parse(file);
  Comparison compare(golden.at("name"));
  const Numbers numbers{golden.at("salt").get<uint32_t>()};

  Run run;
  troika_context_options context_options = TROIKA_CONTEXT_OPTIONS_INIT;
  context_options.use_environment = 1;
  check(troika_context_create(&context_options, &run.context, &error), "context");
  check(troika_group_create(run.context, nullptr, &run.group, &error), "group");
  troika_group_info place = TROIKA_GROUP_INFO_INIT;
  check(troika_group_describe(run.group, &place, &error), "group");
  const Share share = share_of(golden, given, place);
  troika_model_options model_options = TROIKA_MODEL_OPTIONS_INIT;
  model_options.classes = golden.at("classes");
  model_options.input_channels = golden.at("input")[0];
  model_options.input_height = golden.at("input")[1];
  model_options.input_width = golden.at("input")[2];
  check(troika_model_create(run.context, golden.at("model").get<std::string>().c_str(), &model_options, &run.model,
                            &error),
        "model");

  // Layers with running statistics are BatchNorm.
  const Json& parameters = golden.at("parameters");
  int32_t entries = 0;
  check(troika_model_count_parameters(run.model, &entries, nullptr, &error), "count");
  std::vector<std::string> names;
  for (int32_t i = 0; i < entries; ++i) {
    troika_parameter_info info = TROIKA_PARAMETER_INFO_INIT;
    check(troika_model_describe_parameter(run.model, i, &info, &error), "describe");
    names.push_back(info.name);
  }
  auto is_batch_norm = [&](const std::string& layer) {
    return std::find(names.begin(), names.end(), layer + ".running_mean") != names.end();
  };
  for (uint32_t t = 0; t < parameters.size(); ++t) {
    const std::string name = parameters[t].at("name");
    const auto shape = parameters[t].at("shape").get<std::vector<int64_t>>();
    const size_t dot = name.rfind('.');
    const auto value =
        initial_value(numbers, t, is_batch_norm(name.substr(0, dot)) ? "batch_norm" + name.substr(dot) : name, shape);
    check(troika_model_set_parameter(run.model, name.c_str(), value.data(), static_cast<int64_t>(value.size() * 4),
                                     &error),
          name.c_str());
  }

  troika_trainer_options options = TROIKA_TRAINER_OPTIONS_INIT;
  options.group = run.group;
  options.precision = precision;
  if (precision == TROIKA_PRECISION_F16) options.loss_scale = 1024;  // small enough that no step is skipped
  read_optimizer(golden, options);
  // Freezes all parameters whose name does not begin with `train_only`: the first matching group
  // applies.
  troika_parameter_group groups[2] = {TROIKA_PARAMETER_GROUP_INIT, TROIKA_PARAMETER_GROUP_INIT};
  const std::string trained = golden.value("train_only", "") + "*";
  groups[0].pattern = trained.c_str();
  groups[1].pattern = "*";
  groups[1].frozen = 1;
  options.groups = groups;
  options.group_count = golden.contains("train_only") ? 2 : 0;
  check(troika_model_attach(run.model, share.devices.data(), static_cast<int32_t>(share.devices.size()), &options,
                            &run.trainer, &error),
        "attach");

  // The drift by rounding alone determines the tolerances for a float32 run.
  const auto losses = golden.at("losses").get<std::vector<double>>(),
             drifted = golden.at("losses_float32").get<std::vector<double>>();
  // After the first update, a ReLU that fell on the other side also changes the loss.
  const bool has_masks = !golden.at("buffer_norms_end").empty();
  const double least_loss = has_masks ? 1e-4 : 1e-5, least = has_masks ? 3e-5 : 1e-5,
               least_logit = has_masks ? 1e-3 : 1e-4;
  const bool is_low = precision == TROIKA_PRECISION_BF16 || precision == TROIKA_PRECISION_F16;
  const LowTolerances low = LowTolerances::of(golden, is_low);
  double drift = 0;
  for (int step = 0; step < golden.at("steps").get<int>(); ++step) {
    troika_batch batch = make_batch(run, golden, numbers, static_cast<uint32_t>(step % 2), share.first_row, share.rows);
    troika_step_result result = TROIKA_STEP_RESULT_INIT;
    const troika_status status = troika_trainer_step(run.trainer, batch, &result, &error);
    troika_batch_destroy(batch);
    check(status, "step");
    if (status == TROIKA_STEP_SKIPPED) throw Failure("step " + std::to_string(step) + " was skipped");
    const size_t s = static_cast<size_t>(step);
    drift = std::max(drift, std::fabs(drifted[s] - losses[s]) / std::fabs(losses[s]));
    compare.near("loss of step " + std::to_string(step), result.loss, losses[s],
                 std::max({step > 0 ? least_loss : 1e-5, 10 * drift, low.losses[s]}));
    // In 16 bits the gradient of a bias before BatchNorm consists only of rounding errors.
    if (step == 0 && (!is_low || low.gradient > 0)) compare_gradients(run, golden, low, compare);
  }
  check(troika_trainer_check_replicas(run.trainer, &error), "replicas");
  // The final evaluation: the logits of the first sample, and the number of right samples of the
  // batch.
  const auto logits = predict(run, golden, numbers, share);
  const auto row = golden.at("eval_logits_row0").get<std::vector<double>>();
  double scale = 0;
  for (double v : row) scale = std::max(scale, std::fabs(v));
  constexpr double kLost = 0.5;  // then even zeros are near enough
  for (size_t i = 0; i < row.size() && share.first_row == 0 && low.logit < kLost; ++i)
    compare.near("logit " + std::to_string(i) + " of the evaluation", logits[i], row[i], 0,
                 std::max({least_logit, 20 * drift, low.logit}) * scale);
  const int64_t classes = golden.at("classes");
  int64_t correct = 0;
  for (int64_t i = 0; i < share.rows; ++i) {
    const float* sample = logits.data() + i * classes;
    correct += std::max_element(sample, sample + classes) - sample ==
               numbers.hash(2500, static_cast<uint32_t>(share.first_row + i)) % static_cast<uint32_t>(classes);
  }
  correct = sum_over_processes(run, correct);
  if (!is_low)
    compare.near("samples right in the evaluation", static_cast<double>(correct), golden.at("eval_correct"), 0);

  // An evaluation shares the running statistics of the first device with all processes.
  const double end_tolerance = std::max(least, 10 * drift);
  for (const Json& p : parameters) {
    const std::string name = p.at("name");
    const double low_norm = name.ends_with(".bias") ? low.bias : low.norm;
    compare.near("final norm of " + name, norm(read_parameter(run, name, elements_of(p.at("shape")))),
                 golden.at("param_norms_end").at(name), std::max(end_tolerance, low_norm), 1e-7);
  }
  for (const auto& [name, expected] : golden.at("buffer_norms_end").items())
    compare.near("final norm of " + name, norm(read_parameter(run, name, elements_in(run, name))), expected,
                 std::max(end_tolerance, low.norm), 1e-7);
  return compare;
}

constexpr const char* kUsage =
    "usage: golden_curves FILE... [--devices cpu:0,cpu:1] [--precision f32|tf32|bf16|f16]\n"
    "Trains each file's network by its recipe and compares every figure with the file's (golden/README.md).\n";

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> files;
  std::vector<troika_device> devices;
  int32_t precision = TROIKA_PRECISION_F32;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--help") return std::fputs(kUsage, stdout), 0;
    if (std::string(argv[i]) == "--devices") {
      std::istringstream list(i + 1 < argc ? argv[++i] : "");
      for (std::string text; std::getline(list, text, ',');) {
        troika_device device;
        if (troika_device_parse(text.c_str(), &device, &error) != TROIKA_OK)
          return std::fprintf(stderr, "golden_curves: %s\n", error.message), 1;
        devices.push_back(device);
      }
      if (devices.empty())
        return std::fprintf(stderr, "golden_curves: --devices has no value; give a list such as cpu:0,cpu:1\n"), 1;
    } else if (std::string(argv[i]) == "--precision") {
      const std::string name = i + 1 < argc ? argv[++i] : "";
      const auto found = std::find(std::begin(kPrecisions), std::end(kPrecisions), name);
      if (found == std::end(kPrecisions))
        return std::fprintf(stderr, "golden_curves: --precision is '%s'; give f32, tf32, bf16 or f16\n", name.c_str()),
               1;
      precision = TROIKA_PRECISION_F32 + static_cast<int32_t>(found - std::begin(kPrecisions));
    } else if (argv[i][0] == '-') {
      return std::fprintf(stderr, "golden_curves: there is no option '%s'; see --help\n", argv[i]), 1;
    } else {
      files.push_back(argv[i]);
    }
  }
  if (files.empty()) return std::fputs(kUsage, stderr), 1;
  int failed = 0;
  for (const std::string& path : files) {
    const std::string name = path.substr(path.rfind('/') + 1);
    try {
      const Comparison c = follow(path, devices, precision);
      std::printf("%s %s (%d comparisons, %d outside; %s at %.2f of its tolerance)\n", c.failures() ? "not ok" : "ok",
                  name.c_str(), c.count(), c.failures(), c.worst_name().c_str(), c.worst());
      failed += c.failures() != 0;
    } catch (const std::exception& e) {
      std::printf("not ok %s %s\n", name.c_str(), e.what());
      ++failed;
    }
    std::fflush(stdout);
  }
  return failed != 0;
}
