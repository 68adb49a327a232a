// Choosing a predictor, and keeping the weights up to date.
#include "train/device_predictors.h"

#include <algorithm>
#include <optional>

#include "ops/op_def.h"

namespace troika {
namespace {

// About 10 ms. Threads of a team wait for each other at each layer, which a shorter prediction is
// not worth.
constexpr double kOperationsPerThread = 5e8;

std::vector<std::pair<ValueId, double>> count_operations(const Graph& graph) {
  std::vector<std::pair<ValueId, double>> counts;
  double operations = 0;
  for (const Node& node : graph.nodes()) {
    if (!node.op->is_view) operations += cost_of(graph, node).operations;
    for (ValueId id : node.outputs) counts.emplace_back(id, operations);
  }
  return counts;
}

}  // namespace

// A predictor for the length of one prediction.
class DevicePredictors::Lease {
 public:
  Lease(DevicePredictors& all, int threads) : all_(all), entry_(all.take(threads)) {}
  ~Lease() { all_.give_back(entry_, is_lost_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  void predict(int64_t n, ValueId value, const void* inputs, float* output) {
    Predictor& predictor = *entry_.predictor;
    if (!predictor.has_weights()) predictor.share_weights(all_.owner_);
    predictor.prepare(n, value);
    try {
      predictor.predict(n, inputs, output);
    } catch (const Error& e) {
      is_lost_ = e.status() == Status::comm;
      throw;
    }
  }

 private:
  DevicePredictors& all_;
  Entry& entry_;
  bool is_lost_ = false;  // the prediction missed its deadline, and may still run
};

DevicePredictors::DevicePredictors(const Context& context, Model& model, DeviceId device)
    : context_(context),
      model_(model),
      device_(device),
      operations_(count_operations(model.graph())),
      entries_(1),
      owner_(*(entries_[0] = std::make_unique<Entry>(
                   Entry{std::make_unique<Predictor>(context, model, device, threads_for(1, kNoValue))}))
                  ->predictor) {}

// The first one ends last: a prediction that missed its deadline may still read the weights. The
// end of its predictor waits for the prediction.
DevicePredictors::~DevicePredictors() {
  while (!entries_.empty()) entries_.pop_back();
}

int DevicePredictors::threads_for(int64_t n, ValueId value) const {
  if (device_.kind != DeviceKind::cpu) return 1;
  if (context_.predict_threads() > 0) return context_.predict_threads();
  const auto found = std::find_if(operations_.rbegin(), operations_.rend(),
                                  [&](const auto& entry) { return value == kNoValue || entry.first == value; });
  const double operations = found == operations_.rend() ? 0 : found->second * static_cast<double>(n);
  int threads = 1;
  while (2 * threads <= context_.cpu_threads() && operations >= 2 * threads * kOperationsPerThread) threads *= 2;
  return threads;
}

void DevicePredictors::predict(int64_t n, ValueId value, const void* inputs, float* output) {
  const int threads = threads_for(n, value);
  std::optional<ThreadBudget::Share> share;
  if (threads > 1) share.emplace(context_.thread_budget(), threads);
  Lease lease(*this, threads);
  const std::shared_lock weights = hold_weights(n);
  lease.predict(n, value, inputs, output);
}

// ---- weights ----

std::shared_lock<std::shared_mutex> DevicePredictors::hold_weights(int64_t n) {
  const std::lock_guard turn(turn_);
  ParameterStore& store = *model_.parameters();
  if (!owner_.has_weights() || store.is_outdated() || !owner_.is_uploaded()) {
    const std::lock_guard alone(weights_);
    if (!owner_.has_weights()) owner_.store_weights(n);
    const std::lock_guard lock(store.mutex());
    store.refresh();
    if (!owner_.is_uploaded()) owner_.upload();
  }
  return std::shared_lock(weights_);
}

// ---- predictors ----

DevicePredictors::Entry* DevicePredictors::find_free(int threads) {
  Entry* found = nullptr;  // the one that was used last: its memory may still be in caches
  for (const auto& entry : entries_)
    if (!entry->is_in_use && entry->predictor->threads() == threads && (!found || entry->last_use > found->last_use))
      found = entry.get();
  if (found) return found;
  const auto make = [&] { return std::make_unique<Predictor>(context_, model_, device_, threads); };
  if (entries_.size() < kMost) {
    entries_.push_back(std::make_unique<Entry>(Entry{make()}));
    return entries_.back().get();
  }
  // Takes the place of the one with another number of threads that was idle for longest.
  for (const auto& entry : entries_)
    if (!entry->is_in_use && entry->predictor.get() != &owner_ && (!found || entry->last_use < found->last_use))
      found = entry.get();
  if (found) found->predictor = make();
  return found;
}

DevicePredictors::Entry& DevicePredictors::take(int threads) {
  std::unique_lock lock(mutex_);
  Entry* entry = nullptr;
  freed_.wait(lock, [&] { return (entry = find_free(threads)) != nullptr; });
  entry->is_in_use = true;
  return *entry;
}

// One that is lost stays in use.
void DevicePredictors::give_back(Entry& entry, bool is_lost) {
  const std::lock_guard lock(mutex_);
  entry.is_in_use = is_lost;
  entry.last_use = ++uses_;
  freed_.notify_all();
}

size_t DevicePredictors::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace troika
