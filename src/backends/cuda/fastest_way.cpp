// Measuring ways and engines against each other, in recordings, as a step runs them.
#include "backends/cuda/fastest_way.h"

#include <algorithm>
#include <array>
#include <limits>

#include "backends/cuda/check.h"
#include "backends/cuda/difference.h"
#include "backends/cuda/event.h"
#include "backends/cuda/graph_recording.h"
#include "backends/cuda/plan_cache.h"
#include "core/text.h"

namespace troika::cuda {
namespace {

constexpr size_t kAligned = 256;

size_t aligned(size_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }

// Returns the text that the plan cache stores: the name of the way, if it has one, then the
// engine's name.
std::string text_of(const Way& way, const std::string& engine) {
  if (!way.describe) return way.name;
  return way.name.empty() ? engine : text(way.name, ':', engine);
}

// Returns the problem's place among the remembered. It names the own kernels, so that an answer
// from before they existed, or changed, does not count.
std::string remembered_as(const Problem& problem, const std::vector<Way>& ways) {
  std::string place = problem.text;
  for (const Way& way : ways)
    if (way.must_prove) place += text(", or ", way.name);
  return place;
}

// Returns the place of the best way without own kernels, which may come or change.
const std::string& plain_place(const Problem& problem) { return problem.plain.empty() ? problem.text : problem.plain; }

// A pair of events that take the time on a stream.
class StopWatch {
 public:
  explicit StopWatch(const CudaDevice& device)
      : stream_(device.stream()),
        start_(create_timed_event(device.context(), "a CUDA event")),
        stop_(create_timed_event(device.context(), "a CUDA event")) {}

  template <typename Work>
  double milliseconds(Work&& work) {
    check_launch(cudaEventRecord(start_.get(), stream_));
    work();
    check_launch(cudaEventRecord(stop_.get(), stream_));
    check_launch(cudaEventSynchronize(stop_.get()));
    float elapsed = 0;
    check_launch(cudaEventElapsedTime(&elapsed, start_.get(), stop_.get()));
    return elapsed;
  }

 private:
  const cudaStream_t stream_;
  const Event start_, stop_;
};

// The comparison of a way's results with those that are trusted.
struct Proof {
  std::string fault;  // empty: they agree
  double error = 0;   // the norm of the difference, as a part of the norm
};

// Memory of the size of a problem's tensors, the time that work on it takes, and the comparison of
// results.
class Bench {
 public:
  Bench(CudaDevice& device, const Problem& problem) : device_(device), problem_(problem), watch_(device) {
    for (const TensorType& tensor : problem.tensors) tensors_.push_back(filled(tensor.bytes()));
  }

  std::vector<void*> tensors() const {
    std::vector<void*> addresses;
    for (const Buffer& tensor : tensors_) addresses.push_back(tensor.get());
    return addresses;
  }

  void* scratch(size_t bytes) {
    if (bytes > scratch_bytes_) {
      scratch_.reset();
      scratch_bytes_ = 0;  // also if there is no memory
      scratch_ = filled(bytes);
      scratch_bytes_ = bytes;
    }
    return scratch_.get();
  }

  // Returns the time of one run. Infinite if the work is hopeless compared with `best`.
  template <typename Work>
  double milliseconds(double best, Work&& work) {
    constexpr double kHopeless = 4, kHostMilliseconds = 0.1;
    constexpr int kRuns = 4;
    work();  // loads the engine's code, which a recording may not
    if (watch_.milliseconds(work) > kHopeless * best + kHostMilliseconds) return kNever;
    const auto repeat = [&](size_t) {
      for (int i = 0; i < kRuns; ++i) work();
    };
    const auto recording =
        record_graph(device_.context(), device_.stream(), {{}}, repeat, false, problem_.what + ": measuring a kernel");
    recording->run();
    std::array<double, 5> times;
    for (double& time : times) time = watch_.milliseconds([&] { recording->run(); });
    std::nth_element(times.begin(), times.begin() + 2, times.end());
    return times[2] / kRuns;
  }

  // Fills the inputs with noise, except whole numbers. Noise takes more power than equal bytes, and
  // so more time, as the numbers of a training do.
  void fill_inputs_with_noise() {
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (const DType dtype = problem_.tensors[i].dtype;
          !is_output(i) && (is_compute_dtype(dtype) || dtype == DType::u8))
        fill_with_noise(problem_.tensors[i], tensors_[i].get(), i, device_.stream());
    if (problem_.prepare) problem_.prepare(tensors().data(), device_.stream());
  }

  // Runs a way that is trusted, and then twice one that is not, and compares their results.
  template <typename Trusted, typename Doubtful>
  Proof prove(Trusted&& trusted, Doubtful&& doubtful) {
    const std::vector<Buffer> expected = results_of(trusted), first = results_of(doubtful),
                              second = results_of(doubtful);
    const Buffer scratch = filled(difference_scratch_bytes());
    Proof proof;
    for (size_t i = 0; i < problem_.outputs.size() && proof.fault.empty(); ++i) {
      const Output& output = problem_.outputs[i];
      // Numbers that norms do not judge are bytes.
      TensorType type = problem_.tensors[output.place];
      if (output.compare) type = {DType::u8, {static_cast<int64_t>(type.bytes())}};
      const auto compared = [&](const Buffer& found, const Buffer& with) {
        return difference_of(type, found.get(), with.get(), scratch.get(), device_.stream());
      };
      if (output.compare) {
        proof.fault = output.compare(read(first[i], output.place), read(expected[i], output.place));
      } else {
        const Difference d = compared(first[i], expected[i]);
        proof.error = std::max(proof.error, d.relative());
        if (!d.is_rounding(output.unit)) proof.fault = text("its result differs by ", proof.error, " of the norm");
      }
      if (proof.fault.empty() && compared(second[i], first[i]).largest > 0)
        proof.fault = "its second result differs from the first";
    }
    return proof;
  }

  static constexpr double kNever = std::numeric_limits<double>::infinity();

 private:
  bool is_output(size_t place) const {
    return std::any_of(problem_.outputs.begin(), problem_.outputs.end(),
                       [&](const Output& output) { return output.place == place; });
  }

  // Returns copies of the outputs that `work` writes over poison. Scratch has no results of others.
  template <typename Work>
  std::vector<Buffer> results_of(Work& work) {
    constexpr int kPoison = 0xff;  // NaN in each type
    const cudaStream_t stream = device_.stream();
    for (const Output& output : problem_.outputs)
      check_launch(
          cudaMemsetAsync(tensors_[output.place].get(), kPoison, problem_.tensors[output.place].bytes(), stream));
    if (scratch_bytes_) check_launch(cudaMemsetAsync(scratch_.get(), kPoison, scratch_bytes_, stream));
    work();
    std::vector<Buffer> results;
    for (const Output& output : problem_.outputs) {
      const size_t bytes = problem_.tensors[output.place].bytes();
      results.push_back(filled(bytes));
      check_launch(
          cudaMemcpyAsync(results.back().get(), tensors_[output.place].get(), bytes, cudaMemcpyDeviceToDevice, stream));
    }
    return results;
  }

  std::vector<float> read(const Buffer& from, size_t place) const {
    const DType dtype = problem_.tensors[place].dtype;
    return dtype == DType::u8    ? read_as<uint8_t>(from, place)
           : dtype == DType::f64 ? read_as<double>(from, place)
           : dtype == DType::i64 ? read_as<int64_t>(from, place)
                                 : read_as<float>(from, place);
  }
  template <typename T>
  std::vector<float> read_as(const Buffer& from, size_t place) const {
    std::vector<T> numbers(static_cast<size_t>(problem_.tensors[place].shape.elements()));
    check_launch(cudaMemcpyAsync(numbers.data(), from.get(), numbers.size() * sizeof(T), cudaMemcpyDeviceToHost,
                                 device_.stream()));
    check_launch(cudaStreamSynchronize(device_.stream()));
    return {numbers.begin(), numbers.end()};
  }

  // Bytes that are small numbers in each of the types: multiplying zeros takes less power, and so
  // less time.
  Buffer filled(size_t bytes) {
    constexpr int kByte = 0x3c;
    Buffer buffer = device_.allocate(bytes, "measuring kernels");
    check_launch(cudaMemsetAsync(buffer.get(), kByte, bytes, device_.stream()));
    return buffer;
  }

  CudaDevice& device_;
  const Problem& problem_;
  StopWatch watch_;
  std::vector<Buffer> tensors_;
  Buffer scratch_ = no_buffer();
  size_t scratch_bytes_ = 0;
};

constexpr size_t kLarge = 256 << 20;    // bytes of workspace that are given freely
constexpr double kLargeHandicap = 1.2;  // of engines that want more: they must be clearly faster

// Engines that change layouts or pad channels want copies of the tensors. Where they cannot be
// measured memory is short.
EngineLimits limits_of(const Problem& problem, bool is_measured = true) {
  if (!is_measured) return {problem.tensor_cores, kLarge};
  size_t tensors = 0;
  for (const TensorType& tensor : problem.tensors) tensors += tensor.bytes();
  return {problem.tensor_cores, std::max(kLarge, 3 * tensors)};
}

// Whether the first way is taken without a measurement: only last resorts follow.
bool has_no_choice(const std::vector<Way>& ways) {
  return !ways.empty() && !ways[0].describe && !ways[0].must_prove &&
         std::all_of(ways.begin() + 1, ways.end(), [](const Way& way) { return way.is_last_resort; });
}

// If the host wants no such kernels.
void leave_out_unproven(const CudaDevice& device, std::vector<Way>& ways) {
  if (!device.has_own_kernels()) std::erase_if(ways, [](const Way& way) { return way.must_prove; });
}

}  // namespace

bool FastestWay::is_large() const { return plan_ && plan_->workspace_bytes() > kLarge; }

FastestWay::FastestWay(CudaDevice& device, const Problem& problem, std::vector<Way> ways) {
  leave_out_unproven(device, ways);
  if (device.is_plan_only()) {
    if (!ways.empty()) way_ = ways[0];
    way_.describe = {};
    way_.launch = {};
    return;
  }
  if (has_no_choice(ways)) {
    way_ = ways[0];
    return;
  }
  std::lock_guard lock(device.plans()->measuring());
  if (recall(device, problem, ways, remembered_as(problem, ways))) return;
  measure(device, problem, ways);
}

std::optional<std::string> FastestWay::remembered(const CudaDevice& device, const Problem& problem,
                                                  std::vector<Way> ways) {
  leave_out_unproven(device, ways);
  return device.plans()->find(remembered_as(problem, ways));
}

bool FastestWay::recall(CudaDevice& device, const Problem& problem, const std::vector<Way>& ways,
                        const std::string& place) {
  const auto known = device.plans()->find(place);
  if (!known) return false;
  for (const Way& way : ways) {
    const std::string prefix = text_of(way, "");
    if (!way.describe) {
      if (*known != prefix) continue;
    } else {
      if (!known->starts_with(text(prefix, "eng"))) continue;
      plan_ = CudnnPlan::build(device, way.describe, limits_of(problem), known->substr(prefix.size()));
      if (!plan_) continue;
    }
    way_ = way;
    return true;
  }
  return false;
}

void FastestWay::measure(CudaDevice& device, const Problem& problem, const std::vector<Way>& ways) {
  std::optional<Bench> bench;
  try {
    bench.emplace(device, problem);
  } catch (const Error& error) {  // no room to measure in: then the first that cuDNN names
    if (error.status() != Status::out_of_memory) throw;
  }
  if (bench) bench->fill_inputs_with_noise();
  FastestWay best;
  std::optional<FastestWay> first;  // if it is not the best, and others are compared with it
  double best_time = Bench::kNever;
  std::string trusted;  // the best way that need not prove itself
  double trusted_time = Bench::kNever;
  std::string reason;  // of the last that failed
  Status status = Status::unsupported;
  const auto unused = [&](const Way& way, std::string_view why) {
    return text(problem.what, ": the kernel ", way.name, " is not used: ", why, "; ", problem.text);
  };
  auto consider = [&](const Way& way, std::optional<CudnnPlan> plan) {
    FastestWay candidate;
    candidate.way_ = way;
    candidate.plan_ = std::move(plan);
    double time = 0;     // with the handicap
    std::string result;  // of the measurement
    if (!bench && way.must_prove) return;
    if (bench) try {
        candidate.tensors_ = bench->tensors();
        FastestWay& expected = way.must_prove || !first ? best : *first;
        void* const scratch = bench->scratch(std::max(expected.scratch_bytes(), candidate.scratch_bytes()));
        Proof proof{"there is nothing to compare it with"};
        if ((way.must_prove || device.compares_ways()) && best_time < Bench::kNever) try {
            expected.tensors_ = candidate.tensors_;
            proof = bench->prove([&] { expected.launch(scratch, device.stream()); },
                                 [&] { candidate.launch(scratch, device.stream()); });
            result = text(", differs by ", proof.error, " of the norm", proof.fault.empty() ? "" : ": ", proof.fault);
          } catch (const Error&) {  // no memory for copies of the results
            if (way.must_prove) throw;
          }
        if (way.must_prove && !proof.fault.empty()) {
          notes_.push_back({LogLevel::warning, unused(way, proof.fault)});
          return;
        }
        const double handicap = way.handicap * (candidate.is_large() ? kLargeHandicap : 1);
        time = handicap * bench->milliseconds(best_time / handicap, [&] {
          candidate.launch(scratch, device.stream());
          check_launch(cudaGetLastError());
        });
        result = text(time / handicap * 1e3, " us", result);
      } catch (const Error& error) {
        reason = text(": ", error.what());
        if (error.status() == Status::out_of_memory) status = error.status();
        if (way.must_prove) notes_.push_back({LogLevel::warning, unused(way, error.what())});
        return;
      }
    if (bench)
      notes_.push_back(
          {LogLevel::debug, text("measured ", problem.text, ": ",
                                 text_of(way, candidate.plan_ ? candidate.plan_->engine() : ""), ": ", result)});
    if (!way.must_prove && time < trusted_time) {
      trusted = text_of(way, candidate.plan_ ? candidate.plan_->engine() : "");
      trusted_time = time;
    }
    if (time >= best_time) return;
    if (device.compares_ways() && best_time < Bench::kNever && !first) first = std::move(best);
    best = std::move(candidate);
    best_time = time;
  };
  FastestWay known;
  if (known.recall(device, problem, ways, plain_place(problem))) consider(known.way_, std::move(known.plan_));
  const bool is_known = best_time < Bench::kNever;
  for (const Way& way : ways) {
    if (is_known && !way.must_prove) continue;
    if (way.is_last_resort && best_time < Bench::kNever) continue;
    if (!bench && best_time < Bench::kNever) break;
    if (!way.describe)
      consider(way, std::nullopt);
    else
      for (CudnnPlan& plan : CudnnPlan::candidates(device, way.describe, limits_of(problem, bench.has_value())))
        consider(way, std::move(plan));
  }
  if (best_time == Bench::kNever)
    throw Error(status,
                text(problem.what, ": neither a library nor a kernel of our own computes ", problem.text, reason));
  way_ = best.way_;
  plan_ = std::move(best.plan_);
  if (!bench) return;
  const std::string chosen = text_of(way_, plan_ ? plan_->engine() : "");
  notes_.push_back({LogLevel::debug, text("chosen ", problem.text, ": ", chosen)});
  const std::string place = remembered_as(problem, ways);
  if (place != plain_place(problem) && !trusted.empty()) device.plans()->store(plain_place(problem), trusted);
  device.plans()->store(place, chosen);
  // The same engine alone: the measured one keeps all others of its graph.
  if (plan_)
    if (auto alone = CudnnPlan::build(device, way_.describe, limits_of(problem), plan_->engine()))
      plan_ = std::move(alone);
}

std::string FastestWay::kernel_name() const {
  if (plan_) return text("cuda:cudnn:", plan_->engine());
  return way_.name.empty() ? "cuda:cudnn:any" : text("cuda:", way_.maker, ':', way_.name);
}

size_t FastestWay::scratch_bytes() const {
  return (plan_ ? aligned(plan_->workspace_bytes()) : 0) + aligned(way_.scratch_bytes) +
         (way_.stand_in ? aligned(way_.stand_in->bytes) : 0);
}

void FastestWay::run(std::span<void* const> tensors, void* scratch, cudaStream_t stream) {
  if (!plan_ && !way_.launch) throw Error(Status::internal, "a kernel that was only planned cannot run");
  tensors_.assign(tensors.begin(), tensors.end());
  launch(scratch, stream);
}

// Scratch has the graph's workspace, the way's own and the image.
void FastestWay::launch(void* scratch, cudaStream_t stream) {
  const size_t own = tensors_.size();
  auto* next = static_cast<std::byte*>(scratch) + (plan_ ? aligned(plan_->workspace_bytes()) : 0);
  if (way_.scratch_bytes) tensors_.push_back(next);
  void* image = next + aligned(way_.scratch_bytes);
  if (way_.stand_in) {
    if (way_.stand_in->before) way_.stand_in->before(tensors_.data(), image, stream);
    std::swap(tensors_[way_.stand_in->place], image);
  }
  if (plan_) plan_->run(tensors_, scratch);
  if (way_.launch) way_.launch(tensors_.data(), stream);
  if (way_.stand_in) {
    std::swap(tensors_[way_.stand_in->place], image);
    if (way_.stand_in->after) way_.stand_in->after(tensors_.data(), image, stream);
  }
  tensors_.resize(own);
}

}  // namespace troika::cuda
