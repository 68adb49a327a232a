// Writes results in an order that a crash cannot spoil.
#include "cli/run_results.h"

#include <utility>

#include "cli/device_list.h"
#include "cli/files.h"
#include "cli/model_file.h"
#include "cli/text.h"
#include "core/path.h"

namespace troika::cli {

void RunResults::start() {
  is_first_ = folder_.trace().empty();
  if (job_.leads()) remove_stale_temporaries(folder_.path, folder_.names());
}

// After the first epoch the checkpoint comes first: whatever a crash or a full disk leaves, the run
// can go on from it. Later the checkpoint comes last: metrics and weights are as new as it is, or
// newer.
void RunResults::write(const std::vector<EpochMetrics>& rows) {
  const bool is_first = std::exchange(is_first_, false);
  if (is_first) save_checkpoint();
  if (job_.leads()) {
    write_metrics(folder_.metrics(), rows, setup_.train.is_text());
    if (options_.end.target_accuracy > 0) write_dawnbench(folder_.dawnbench(), rows);
    write_charts(folder_.path, titles(), rows);
  }
  save_parameters(folder_.weights());
  // Processes that share no folder may not know the epochs of earlier processes.
  if (job_.decide(best_epoch(rows, setup_.train.is_text()) == &rows.back())) save_weights(folder_.best_weights());
  if (options_.optimizer.average_decay > 0)
    call(troika_trainer_save_average, setup_.trainer.get(), text_of(folder_.average()).c_str());
  if (!is_first) save_checkpoint();
}

// The weights that the evaluation used.
void RunResults::save_weights(const std::filesystem::path& file) const {
  if (options_.optimizer.average_decay > 0) {
    call(troika_trainer_save_average, setup_.trainer.get(), text_of(file).c_str());
  } else {
    save_parameters(file);
  }
}

void RunResults::save_parameters(const std::filesystem::path& file) const {
  if (job_.leads()) {
    call(troika_model_save, setup_.model.get(), text_of(file).c_str());
  } else {
    int64_t size = 0;  // takes part in reading values that only some processes hold
    call(troika_model_save_memory, setup_.model.get(), static_cast<void*>(nullptr), int64_t{0}, &size);
  }
}

std::vector<std::string> RunResults::titles() const {
  const size_t count = setup_.devices.size() * static_cast<size_t>(job_.size());
  std::string mesh = !options_.mesh.mesh.empty() ? " as " + options_.mesh.mesh
                     : count > 1                 ? formatted(" as %zux1x1", count)
                                                 : "";
  mesh += options_.mesh.shares_text();
  const std::string others = job_.is_alone() ? "" : formatted(" of each of %d processes", job_.size());
  const auto title = [&](const std::string& devices) {
    return shown_model(options_.model) + " on " + devices + others + mesh;
  };
  return {title(format_devices(setup_.devices)), title(short_devices(setup_.devices)),
          title(formatted("%zu devices", setup_.devices.size()))};
}

void RunResults::save_checkpoint() const {
  call(troika_trainer_save, setup_.trainer.get(), text_of(folder_.checkpoint()).c_str());
}

troika_loader_position RunResults::load_checkpoint() const {
  const std::string file = text_of(folder_.checkpoint());
  troika_loader_position position = TROIKA_LOADER_POSITION_INIT;
  try {
    call(troika_trainer_load, setup_.trainer.get(), file.c_str(), &position);
  } catch (const Failure& failure) {
    throw Failure(std::string(failure.what()) + "; put back this run's checkpoint, or begin a new run with --out");
  }
  if (position.batches != 0 && position.batches != setup_.steps_per_epoch)
    throw Failure("'" + file + "' is of another run: its epochs have " + std::to_string(position.batches) +
                  " steps, this run's " + std::to_string(setup_.steps_per_epoch) +
                  "; put back this run's checkpoint, or begin a new run with --out");
  if (position.batch >= setup_.steps_per_epoch) ++position.epoch, position.batch = 0;
  call(troika_loader_seek, setup_.train_loader.get(), &position);
  return position;
}

}  // namespace troika::cli
