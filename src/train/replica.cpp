// Compiling, feeding and running one replica's plans.
#include "train/replica.h"

#include <cstring>
#include <thread>
#include <utility>

#include "core/text.h"

namespace troika {
namespace {

constexpr size_t kMostPlans = 16;  // of one replica; the one unused for longest goes first
constexpr size_t kMostStores = 4;  // likewise

}  // namespace

Replica::Replica(int rank, std::shared_ptr<Device> device, bool collect_trace)
    : rank_(rank),
      device_(std::move(device)),
      arena_(no_buffer()),
      parameters_(no_buffer()),
      gradients_(no_buffer()),
      optimizer_(no_buffer()),
      collects_trace_(collect_trace),
      job_([this] { run(); }),
      collect_job_([this] {
        guarded([&] {
          if (posted_[turn_].plan) read_results(posted_[turn_]);
        });
      }),
      keep_job_([this] {
        auto store = std::make_unique<SampleStore>(*device_, std::exchange(dataset_to_keep_, nullptr), parts_read());
        stores_.push_back({std::move(store), ++uses_});
        store_ = stores_.back().store.get();
      }),
      worker_(device_) {}

bool Replica::use(Mode mode, int64_t local_batch, int64_t global_batch) {
  is_idle_ = mode != Mode::train && local_batch == 0;
  if (is_idle_) return true;
  for (Entry& entry : plans_)
    if (entry.mode == mode && entry.local_batch == local_batch && entry.global_batch == global_batch) {
      entry.last_use = ++uses_;
      current_ = &entry;
      return true;
    }
  return false;
}

void Replica::prepare(const CompileRequest& request, StateTable& state, const Log& log) {
  std::unique_ptr<Plan> plan;
  worker_.run([&] {
    plan = std::make_unique<Plan>(compile(request, *device_, state, log));
    if (!has_state()) allocate_state(state);
    grow_arena(plan->arena_bytes);
    bind(*plan, bases_);
    if (posted_[0].plan || posted_[1].plan)
      throw Error(Status::internal, text("replica ", rank_, ": a plan is compiled before results have been read"));
    if (plan->result_numbers.bytes > posted_bytes_ || !posted_[0].readback) {
      auto first = device_->create_readback(plan->result_numbers.bytes);
      posted_[1].readback = device_->create_readback(plan->result_numbers.bytes);
      posted_[0].readback = std::move(first);
      posted_bytes_ = plan->result_numbers.bytes;
    }
    fed_numbers_.resize(std::max(fed_numbers_.size(), plan->fed_numbers.bytes));
    for (const PlanStep& step : plan->steps)
      if (step.kind == PlanStep::receive) {
        const Message& message = plan->messages[step.index];
        pipeline_->reserve(message.peer, message.slot, message.location.bytes);
      }
  });
  if (plans_.size() >= kMostPlans)
    plans_.erase(std::min_element(plans_.begin(), plans_.end(),
                                  [](const Entry& a, const Entry& b) { return a.last_use < b.last_use; }));
  traced_plan_ = nullptr;
  trace_.reserve(plan->steps.size());
  plans_.push_back({request.mode, request.local_batch, request.global_batch, std::move(plan), ++uses_});
  current_ = &plans_.back();
}

void Replica::allocate_state(const StateTable& state) {
  Buffer parameters = device_->allocate(state.segment_bytes(Segment::parameters), "memory for parameters");
  Buffer gradients = device_->allocate(state.segment_bytes(Segment::gradients), "memory for gradients");
  const int share = communicator_ ? communicator_->rank() : 0;
  Buffer optimizer = device_->allocate(state.segment_bytes(Segment::optimizer, share), "memory for optimizer state");
  parameters_ = std::move(parameters);
  gradients_ = std::move(gradients);
  optimizer_ = std::move(optimizer);
  bases_.parameters = parameters_.get();
  bases_.gradients = gradients_.get();
  bases_.optimizer = optimizer_.get();
  buckets_ = &state.buckets();
}

void Replica::grow_arena(size_t bytes) {
  if (bytes <= arena_bytes_ && bases_.arena) return;
  arena_ = no_buffer();  // first, so that old and new need not fit together
  bases_.arena = nullptr;
  try {
    arena_ = device_->allocate(bytes, "the plan's arena");
    bases_.arena = arena_.get();
    for (Entry& entry : plans_) {
      bind(*entry.plan, bases_);
      entry.runs = 0;
      entry.gathers.clear();
      entry.gathers_from = nullptr;
    }
    arena_bytes_ = bytes;
  } catch (...) {
    // Plans that point into the old arena are compiled again when they are needed.
    plans_.clear();
    current_ = nullptr;
    traced_plan_ = nullptr;
    arena_ = no_buffer();
    bases_.arena = nullptr;
    arena_bytes_ = 0;
    throw;
  }
}

SampleStore::Parts Replica::parts_read() const {
  SampleStore::Parts parts{false, false};
  for (const auto& [name, location] : current_->plan->inputs) {
    parts.inputs = parts.inputs || is_of_samples(name, "x");
    parts.targets = parts.targets || is_of_samples(name, "target");
  }
  return parts;
}

bool Replica::use_samples(const std::shared_ptr<const Dataset>& dataset) {
  const SampleStore::Parts parts = parts_read();
  store_ = nullptr;
  if (!parts.inputs && !parts.targets) return true;
  for (Kept& kept : stores_) {
    if (!kept.store->is_of(*dataset) || kept.store->parts() != parts) continue;
    kept.last_use = ++uses_;
    store_ = kept.store.get();
    return true;
  }
  return false;
}

size_t Replica::bytes_of_samples(const Dataset& dataset) const { return SampleStore::bytes_of(dataset, parts_read()); }

void Replica::start_keeping(std::shared_ptr<const Dataset> dataset) {
  if (stores_.size() >= kMostStores) {
    const auto oldest = std::min_element(stores_.begin(), stores_.end(),
                                         [](const Kept& a, const Kept& b) { return a.last_use < b.last_use; });
    drop_stores([&](const SampleStore& store) { return &store == oldest->store.get(); });
  }
  stores_.reserve(stores_.size() + 1);
  dataset_to_keep_ = std::move(dataset);
  worker_.start(keep_job_);
}

void Replica::wait_for_keeping() { worker_.wait(); }

template <typename Which>
void Replica::drop_stores(Which which) {
  if (std::none_of(stores_.begin(), stores_.end(), [&](const Kept& kept) { return which(*kept.store); })) return;
  for (Entry& entry : plans_) {
    entry.gathers.clear();
    entry.gathers_from = nullptr;
  }
  store_ = nullptr;
  std::erase_if(stores_, [&](const Kept& kept) { return which(*kept.store); });
}

void Replica::drop_samples(const Dataset* dataset) {
  drop_stores([&](const SampleStore& store) { return !dataset || store.is_of(*dataset); });
}

void Replica::drop_abandoned_samples() {
  drop_stores([](const SampleStore& store) { return store.is_abandoned(); });
}

size_t Replica::sample_bytes() const {
  size_t bytes = 0;
  for (const Kept& kept : stores_) bytes += kept.store->bytes();
  return bytes;
}

void Replica::start(RunArguments arguments) {
  arguments_ = arguments;
  worker_.start(job_);
}

void Replica::collect(RunArguments arguments) {
  arguments_ = arguments;
  worker_.start(collect_job_);
}

void Replica::wait() {
  // The plan's own waits end at the deadline; the rest is the time to get there.
  worker_.wait(arguments_.deadline + std::chrono::seconds(60));
}

// A rank that fails ends its groups, so that nobody waits for it.
template <typename Work>
void Replica::guarded(Work work) {
  try {
    work();
  } catch (const std::exception& e) {
    abort(e.what());
    throw;
  }
}

void Replica::run() {
  guarded([&] {
    Plan& plan = *current_->plan;
    if (++current_->runs == 2 && records()) record(plan, *device_);
    if (arguments_.samples && store_) gather(*current_);
    feed(plan);

    trace_.clear();
    execute(plan, *device_, bases_, *buckets_,
            {communicator_.get(), pipeline_.get(), channel_group_.get(), model_group_.get()}, arguments_.deadline,
            collects_trace_ ? &trace_ : nullptr);
    if (collects_trace_) traced_plan_ = &plan;

    Posted& earlier = posted_[turn_];
    if (arguments_.wants != Results::earlier) earlier.plan = nullptr;
    if (arguments_.wants == Results::none) return;
    turn_ = 1 - turn_;
    Posted& own = posted_[turn_];
    post_results(plan, own);
    if (arguments_.wants == Results::earlier) {
      if (earlier.plan) read_results(earlier);
    } else if (arguments_.output && !plan.outputs.empty()) {
      await(own);
      own.plan = nullptr;
      device_->copy_to_host(arguments_.output, bases_.address(plan.outputs[0]), plan.output_types[0].bytes());
    } else {
      read_results(own);
    }
  });
}

void Replica::feed(const Plan& plan) {
  auto feed = [&](const std::string& name, const void* data, size_t bytes) {
    auto input = plan.inputs.find(name);
    if (input == plan.inputs.end() || !data) return size_t{0};
    const size_t copied = std::min(bytes, input->second.bytes);
    device_->copy_from_host(bases_.address(input->second), data, copied);
    return copied;
  };
  auto feed_samples = [&](const std::string& name, const void* data, size_t bytes) {  // whole, or by micro-batches
    size_t begin = feed(name, data, bytes);
    for (int i = 0; begin < bytes; ++i) {
      const size_t copied =
          feed(name + '/' + std::to_string(i), static_cast<const std::byte*>(data) + begin, bytes - begin);
      if (copied == 0) break;
      begin += copied;
    }
  };
  feed_samples("x", arguments_.x, arguments_.x_bytes);
  feed_samples("target", arguments_.target, arguments_.target_bytes);
  auto put = [&](const std::string& name, const void* data, size_t bytes) {
    const auto input = plan.inputs.find(name);
    if (input != plan.inputs.end())
      std::memcpy(fed_numbers_.data() + (input->second.offset - plan.fed_numbers.offset), data,
                  std::min(bytes, input->second.bytes));
  };
  if (arguments_.learning_rates)
    put("learning_rates", arguments_.learning_rates->data(), arguments_.learning_rates->size() * sizeof(float));
  put("dropout_counter", arguments_.dropout_counter, sizeof arguments_.dropout_counter);
  if (plan.fed_numbers.bytes > 0)
    device_->copy_from_host(bases_.address(plan.fed_numbers), fed_numbers_.data(), plan.fed_numbers.bytes);
}

// What feed copies from the host, from the store: the batch whole, or by micro-batches.
void Replica::gather(Entry& entry) {
  const bool is_shuffled = arguments_.samples->key.has_value();
  if (entry.gathers_from != store_ || entry.gathers_shuffled != is_shuffled) {
    entry.gathers.clear();
    int64_t offset = 0;
    auto add = [&](const std::string& suffix) {
      auto place_of = [&](const std::string& name, size_t row_bytes, int64_t& samples) -> void* {
        const auto input = entry.plan->inputs.find(name + suffix);
        if (input == entry.plan->inputs.end()) return nullptr;
        samples = static_cast<int64_t>(input->second.bytes / row_bytes);
        return bases_.address(input->second);
      };
      int64_t samples = 0;
      void* const x = place_of("x", store_->input_bytes(), samples);
      void* const target = place_of("target", store_->target_bytes(), samples);
      if (samples > 0) entry.gathers.push_back(store_->create_gather(is_shuffled, offset, samples, x, target));
      offset += samples;
      return x || target;
    };
    if (!add(""))
      for (int i = 0; add('/' + std::to_string(i)); ++i) {}
    entry.gathers_from = store_;
    entry.gathers_shuffled = is_shuffled;
  }
  store_->set_place(*arguments_.samples);
  for (const auto& kernel : entry.gathers) kernel->run();
}

void Replica::post_results(const Plan& plan, Posted& posted) {
  posted.plan = &plan;
  posted.readback->post(bases_.address(plan.result_numbers), plan.result_numbers.bytes);
}

// Outputs are told apart by their types: losses f64, counts i64, i32 whether gradients were finite, and their norm f32.
void Replica::read_results(Posted& posted) {
  await(posted);
  const Plan& plan = *std::exchange(posted.plan, nullptr);
  arguments_.correct = 0;
  size_t losses = 0;
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    if (plan.output_types[i].shape.elements() != 1) continue;  // the network's output, which another rank hands out
    auto read = [&](auto& value) {
      std::memcpy(&value, posted.readback->data() + (plan.outputs[i].offset - plan.result_numbers.offset),
                  sizeof value);
    };
    int64_t count = 0;
    int32_t is_finite = 1;
    switch (plan.output_types[i].dtype) {
      case DType::f64: read(arguments_.losses[losses++]); break;
      case DType::i64: read(count), arguments_.correct += count; break;
      case DType::i32: read(is_finite), arguments_.is_finite = is_finite != 0; break;
      default: read(arguments_.gradient_norm);
    }
  }
}

void Replica::await(Posted& posted) {
  constexpr int kSpins = 2000;  // a step takes from tens of microseconds to seconds: look often first, then sleep
  for (int looks = 0; !posted.readback->is_there(); ++looks) {
    if (communicator_) communicator_->progress();  // throws where another rank is lost
    if (std::chrono::steady_clock::now() >= arguments_.deadline)
      throw Error(Status::comm, text("device ", device_->id(), ": its work did not end before the deadline"));
    if (looks < kSpins)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Replica::abort(const std::string& reason) {
  if (communicator_) communicator_->abort(reason);
  if (pipeline_) pipeline_->abort(reason);
  if (channel_group_) channel_group_->abort(reason);
  if (model_group_) model_group_->abort(reason);
}

void Replica::upload(const StateTable& state, Role role, const std::string& name, const void* data) {
  const StateEntry& entry = state.find(name);
  std::byte* target = bases_.address(state.locate(role, name));
  if (!entry.layout) {
    device_->copy_from_host(target, data, entry.type.bytes());
    return;
  }
  worker_.run([&] {
    Buffer plain = device_->allocate(entry.type.bytes(), "a parameter");
    device_->copy_from_host(plain.get(), data, entry.type.bytes());
    KernelChoice reorder = device_->select_reorder(entry.type, nullptr, entry.layout);
    Buffer scratch = device_->allocate(reorder.scratch_bytes, "scratch");
    void *in[] = {plain.get()}, *out[] = {target};
    reorder.kernel->bind(in, out, scratch.get());
    reorder.kernel->run();
  });
}

void Replica::download(const StateTable& state, Role role, const std::string& name, void* data) {
  const StateEntry& entry = state.find(name);
  std::byte* source = bases_.address(state.locate(role, name));
  if (!entry.layout) {
    device_->copy_to_host(data, source, entry.type.bytes());
    return;
  }
  worker_.run([&] {
    Buffer plain = device_->allocate(entry.type.bytes(), "a parameter");
    KernelChoice reorder = device_->select_reorder(entry.type, entry.layout, nullptr);
    Buffer scratch = device_->allocate(reorder.scratch_bytes, "scratch");
    void *in[] = {source}, *out[] = {plain.get()};
    reorder.kernel->bind(in, out, scratch.get());
    reorder.kernel->run();
    device_->copy_to_host(data, plain.get(), entry.type.bytes());
  });
}

void Replica::read_segment(Segment segment, size_t offset, void* data, size_t bytes) {
  device_->copy_to_host(data, bases_.address({segment, offset, bytes}), bytes);
}

}  // namespace troika
