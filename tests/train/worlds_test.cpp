// Trainers that hold only some ranks of a world, as processes do. Two trainers are in one program,
// and a transport connects the halves of their groups.
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <thread>

#include "models/zoo.h"
#include "support/test_context.h"
#include "support/throws.h"
#include "train/fault_backend.h"
#include "train/state_reader.h"

namespace troika {
namespace {

// The ends that one half of a world has made and the other half has not taken yet.
template <typename End>
class Ends {
 public:
  // Returns the ends of the local members of the group; null for the others.
  template <typename Create>
  std::vector<std::unique_ptr<End>> take(const std::vector<int>& group, const std::vector<int>& local, Create create) {
    std::lock_guard lock(mutex_);
    auto [found, is_new] = left_.try_emplace(group);
    if (is_new) found->second = create();
    std::vector<std::unique_ptr<End>> taken(group.size());
    for (size_t i = 0; i < group.size(); ++i)
      if (std::find(local.begin(), local.end(), group[i]) != local.end()) taken[i] = std::move(found->second[i]);
    const auto is_taken = [](const std::unique_ptr<End>& end) { return !end; };
    if (std::all_of(found->second.begin(), found->second.end(), is_taken)) left_.erase(found);
    return taken;
  }

 private:
  std::mutex mutex_;
  std::map<std::vector<int>, std::vector<std::unique_ptr<End>>> left_;
};

class HalvesTransport : public Transport {
 public:
  explicit HalvesTransport(const World& world) : threads_(local_transport.create(world)) {
    for (const LocalMember& member : world.local) local_.push_back(member.rank);
  }
  std::vector<std::unique_ptr<Communicator>> create_communicators(const std::vector<int>& group) override {
    static Ends<Communicator> ends;
    return ends.take(group, local_, [&] { return threads_->create_communicators(group); });
  }
  std::vector<std::unique_ptr<Messenger>> create_messengers(const std::vector<int>& group) override {
    static Ends<Messenger> ends;
    return ends.take(group, local_, [&] { return threads_->create_messengers(group); });
  }

 private:
  std::unique_ptr<Transport> threads_;
  std::vector<int> local_;
};

class HalvesBackend : public FaultBackend {
 public:
  HalvesBackend() : FaultBackend(std::make_shared<FaultHooks>()) {}
  std::vector<const TransportDef*> transports() const override {
    static const TransportDef halves{
        "halves", [](const World&) { return true; },
        [](const World& world) -> std::unique_ptr<Transport> { return std::make_unique<HalvesTransport>(world); }};
    return {&halves};
  }
};

std::shared_ptr<Model> small_model() {
  ZooOptions options;
  options.classes = 4;
  options.input_channels = 1;
  options.input_height = 4;
  options.input_width = 4;
  options.hidden = 8;
  return create_model("mlp", options);
}

Batch small_batch(int64_t n, int64_t step) {
  Batch batch;
  batch.shape = {n, 1, 4, 4};
  for (int64_t i = 0; i < n * 16; ++i) batch.inputs.push_back(static_cast<float>((i * 7 + step) % 13) / 13 - 0.5f);
  for (int64_t i = 0; i < n; ++i) batch.labels.push_back(static_cast<int32_t>((i + step) % 4));
  return batch;
}

// A "process": a context of its own, and a trainer of some ranks.
struct Process {
  std::shared_ptr<Context> context;
  std::shared_ptr<Model> model = small_model();
  std::unique_ptr<Trainer> trainer;
  std::vector<double> losses;

  Process(int world, const std::vector<int>& ranks, const Mesh& mesh) {
    ContextOptions context_options = test_context_options();
    context_options.cpu_threads = 1;
    context = std::make_shared<Context>(std::move(context_options));
    const_cast<BackendRegistry&>(context->backends()).add(std::make_unique<HalvesBackend>());
    std::vector<DeviceId> devices;
    for (int rank : ranks) devices.push_back({DeviceKind::cuda, rank});
    const std::vector<DeviceKind> kinds(static_cast<size_t>(world), DeviceKind::cuda);
    TrainerOptions options;
    options.mesh = mesh;
    options.settings[Setting::momentum] = 0.9;
    options.bucket_bytes = 64;
    options.deadline_ms = 20000;
    trainer = std::make_unique<Trainer>(context, model, LocalDevices(kinds, ranks, devices), options);
  }
  void train() {
    for (int64_t step = 0; step < 4; ++step) {
      StepResult result;
      trainer->step(small_batch(7, step), result);
      losses.push_back(result.loss);
    }
  }
  std::vector<float> parameter(const std::string& name, int device) const {
    std::vector<float> values(model->parameters()->entry(model->parameters()->index_of(name)).type.bytes() / 4);
    read_parameter(*trainer, name, {DeviceKind::cuda, device}, values.data(), values.size() * 4);
    return values;
  }
};

void expect_halves_to_train_as_one(const Mesh& mesh, const std::vector<int>& first, const std::vector<int>& second) {
  const int world = static_cast<int>(first.size() + second.size());
  std::vector<int> all = first;
  all.insert(all.end(), second.begin(), second.end());
  Process one(world, all, mesh);
  one.train();
  Process halves[] = {{world, first, mesh}, {world, second, mesh}};
  std::thread other([&] { halves[1].train(); });
  halves[0].train();
  other.join();
  for (Process& half : halves) EXPECT_EQ(half.losses, one.losses);
  for (size_t i = 0; i < one.model->parameters()->size(); ++i) {
    const std::string name = one.model->parameters()->entry(i).name;
    for (const auto& [half, ranks] : {std::pair{&halves[0], first}, {&halves[1], second}}) {
      const auto& map = half->trainer->layout().ranks();
      for (int rank : ranks) {
        const auto holders = half->trainer->layout().holders_of(name);
        if (std::find(holders.begin(), holders.end(), map.part_of(rank)) == holders.end()) continue;
        EXPECT_EQ(half->parameter(name, rank), one.parameter(name, rank)) << name << " of rank " << rank;
      }
    }
  }
}

TEST(Worlds, OfSharesInTwoProcessesTrainAsOne) { expect_halves_to_train_as_one({2, 1, 1}, {0}, {1}); }

TEST(Worlds, OfUnevenProcessesTrainAsOne) { expect_halves_to_train_as_one({3, 1, 1}, {0, 2}, {1}); }

TEST(Worlds, OfChannelGroupsInTwoProcessesTrainAsOne) { expect_halves_to_train_as_one({2, 1, 2}, {0, 1}, {2, 3}); }

TEST(Worlds, OfStagesInTwoProcessesTrainAsOne) { expect_halves_to_train_as_one({1, 2, 1}, {0}, {1}); }

TEST(Worlds, RefuseToReadWhatOnlyAnotherProcessHolds) {
  Process halves[] = {{2, {0}, {1, 2, 1}}, {2, {1}, {1, 2, 1}}};
  std::thread other([&] { halves[1].train(); });
  halves[0].train();
  other.join();
  const auto last = halves[0].model->parameters()->entry(halves[0].model->parameters()->size() - 1);
  std::vector<float> values(last.type.bytes() / 4);
  EXPECT_THROWS(Status::unsupported, "rank 1: another process holds it",
                halves[0].trainer->state().read(Role::parameter, last.name, values.data()));
  EXPECT_THROWS(Status::not_on_device, "is not on cuda:0",
                read_parameter(*halves[0].trainer, last.name, {DeviceKind::cuda, 0}, values.data(), last.type.bytes()));
}

}  // namespace
}  // namespace troika
