// Steps of new models.
#include "cli/measured_shares.h"

#include <algorithm>
#include <chrono>

#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr int kFirstSteps = 2;     // compile, and warm up
constexpr int kMeasuredSteps = 5;  // of which the fastest counts
constexpr double kNoise = 0.03;    // speeds that differ by less are the same

// Returns the seconds of a step of `batch` samples on the device.
double seconds_of_step(const Model& model, troika_device device, const Samples& samples, int batch,
                       const troika_trainer_options& options) {
  Trainer trainer;
  call(troika_model_attach, model.get(), &device, 1, &options, trainer.out());
  const Loader loader = create_loader(samples, {.batch = batch, .drops_last = true});
  double least = 0;
  for (int step = 0; step < kFirstSteps + kMeasuredSteps; ++step) {
    troika_batch lent = nullptr;
    if (call(troika_loader_next, loader.get(), &lent) == TROIKA_END_OF_DATA)
      call(troika_loader_next, loader.get(), &lent);
    troika_step_result result = TROIKA_STEP_RESULT_INIT;
    const auto began = std::chrono::steady_clock::now();
    call(troika_trainer_step, trainer.get(), lent, &result);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    if (step == kFirstSteps || (step > kFirstSteps && seconds.count() < least)) least = seconds.count();
  }
  return least;
}

bool is_same(troika_device a, troika_device b) { return a.kind == b.kind && a.index == b.index; }

}  // namespace

void check_measured_shares(const MeshOptions& options, const Job& job) {
  if (!options.measures_shares()) return;
  if (!job.is_alone())
    throw Failure("--shares is auto, which knows the devices of one process; give numbers for those of all processes");
  if (options.logical_shards > 0)
    throw Failure(formatted("--shares is auto, --logical-shards %d divides batches evenly; leave out one of them",
                            options.logical_shards));
  troika_trainer_options of_mesh = TROIKA_TRAINER_OPTIONS_INIT;
  set_mesh(options, of_mesh);
  if (options.is_auto() || of_mesh.mesh.layer > 1 || of_mesh.mesh.channel > 1)
    throw Failure("--shares is auto, --mesh is " + options.mesh +
                  "; give numbers, or a mesh that splits by data alone");
}

void settle_shares(MeshOptions& options, const std::function<Model()>& create,
                   const std::vector<troika_device>& devices, const Samples& samples, int batch,
                   const troika_trainer_options& trainer_options) {
  if (!options.measures_shares()) return;
  troika_trainer_options alone = trainer_options;
  alone.mesh = {1, 1, 1, 0};
  alone.collect_trace = 0;
  const auto part = static_cast<int>(
      std::clamp<int64_t>(batch / static_cast<int>(devices.size()), 1, std::max<int64_t>(1, samples.info.n)));
  std::vector<double> speeds;
  for (size_t i = 0; i < devices.size(); ++i) {
    const auto earlier = std::find_if(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i),
                                      [&](troika_device other) { return is_same(other, devices[i]); });
    const auto at = static_cast<size_t>(earlier - devices.begin());
    speeds.push_back(at < i ? speeds[at] : 1 / seconds_of_step(create(), devices[i], samples, part, alone));
  }
  const double most = *std::max_element(speeds.begin(), speeds.end());
  options.shares.clear();
  for (const double speed : speeds) {
    const double share = speed > most * (1 - kNoise) ? 1 : speed / most;
    options.shares += formatted(options.shares.empty() ? "%.3g" : ",%.3g", share);
  }
}

}  // namespace troika::cli
