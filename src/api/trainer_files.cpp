// Training states of a trainer, and the averages of its parameters, in files.
#include "api/data_handles.h"
#include "api/field_check.h"
#include "api/structs.h"
#include "api/trainer_call.h"
#include "core/utf8.h"
#include "state/kept_files.h"
#include "train/checkpoint.h"
#include "train/state_reader.h"

using namespace troika;
using namespace troika::api;

namespace {

// Waits for a file that is written in the background. All processes of a group learn whether it
// worked.
void wait_save(Call& call) {
  std::exception_ptr error;
  try {
    call.object->saver.wait();
  } catch (...) {
    error = std::current_exception();
  }
  call.trainer.peers().share_error("waiting for a training state", error);
}

}  // namespace

troika_status troika_trainer_save(troika_trainer trainer, const char* path, troika_error* error) {
  return guard(error, [&] {
    Call call(trainer, "troika_trainer_save");
    save_checkpoint(call.trainer, required(path, "troika_trainer_save", "path"));
  });
}

troika_status troika_trainer_save_with(troika_trainer trainer, const char* path, const troika_save_options* options,
                                       troika_error* error) {
  constexpr const char* kName = "troika_trainer_save_with";
  return guard(error, [&] {
    Call call(trainer, kName);
    const std::string named = required(path, kName, "path");
    const auto o = read_options(options);
    const FieldCheck check(text(kName, ": options."));
    check.integer("keep", o.keep, 0, 65536);
    check.integer("in_background", o.in_background, 0, 1);
    check.integer("reserved", o.reserved, 0, 0);
    if (named.empty() || named.ends_with('/'))
      throw Error(Status::invalid_argument,
                  text(kName, ": path is '", printable(named), "', needs the name of a file"));
    wait_save(call);
    const int64_t step = call.trainer.training_state().position.step;
    const std::string file = o.keep > 0 ? kept_file(named, step) : named;
    const bool writes = call.trainer.peers().is_first();
    const auto finish = [named, step, keep = writes ? o.keep : 0] {
      if (keep > 0) remove_older_files(named, step, keep);
    };
    if (o.in_background == 0) {
      save_checkpoint(call.trainer, file);
      finish();
    } else {
      const auto copy = std::make_shared<StateCopy>(call.trainer);
      if (!writes) return;
      call.object->saver.start([copy, file, finish] {
        copy->write(file);
        finish();
      });
    }
  });
}

troika_status troika_trainer_wait_save(troika_trainer trainer, troika_error* error) {
  return guard(error, [&] {
    Call call(trainer, "troika_trainer_wait_save");
    wait_save(call);
  });
}

troika_status troika_trainer_save_average(troika_trainer trainer, const char* path, troika_error* error) {
  constexpr const char* kName = "troika_trainer_save_average";
  return guard(error, [&] {
    Call call(trainer, kName);
    save_average(call.trainer, required(path, kName, "path"));
  });
}

troika_status troika_trainer_load(troika_trainer trainer, const char* path, troika_loader_position* out_position,
                                  troika_error* error) {
  constexpr const char* kName = "troika_trainer_load";
  return guard(error, [&] {
    if (out_position) result_size(out_position, kName, "out_position");
    Call call(trainer, kName);
    load_checkpoint(call.trainer, required(path, kName, "path"));
    const BatchPosition at = call.trainer.training_state().position.batch;
    if (!out_position) return;
    write_result(out_position, position_of(at), kName, "out_position");
    call.trainer.stepper().expect_order();
  });
}
