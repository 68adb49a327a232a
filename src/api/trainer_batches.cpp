// troika_trainer_* on batches without a step: evaluation and prediction into host memory.
#include "api/structs.h"
#include "api/trainer_call.h"
#include "train/single_batch.h"

using namespace troika;
using namespace troika::api;

namespace {

// The bytes of a sample's output.
int64_t output_bytes(const Trainer& trainer) {
  return trainer.model()->output_shape().elements() * static_cast<int64_t>(sizeof(float));
}

}  // namespace

troika_status troika_trainer_evaluate_batch(troika_trainer trainer, troika_batch batch, troika_step_result* out_result,
                                            troika_error* error) {
  constexpr const char* kName = "troika_trainer_evaluate_batch";
  return guard(error, [&] {
    result_size(out_result, kName, "out_result");
    Call call(trainer, kName);
    const auto hold = batch_of(batch, kName, "batch");
    StepResult found;
    if (!evaluate_batch(call.trainer, *hold, found)) return TROIKA_STOPPED;
    write_step_result(found, out_result, kName);
    return TROIKA_OK;
  });
}

troika_status troika_trainer_predict_loader(troika_trainer trainer, troika_loader loader, float* output,
                                            int64_t size_bytes, int64_t* out_samples, troika_error* error) {
  constexpr const char* kName = "troika_trainer_predict_loader";
  return guard(error, [&] {
    required(output, kName, "output");
    bytes_argument(size_bytes, kName);
    Call call(trainer, kName);
    BorrowedLoader borrowed(loader, kName);
    Loader& samples = borrowed.object->loader;
    const int64_t room = size_bytes / output_bytes(call.trainer);
    if (samples.samples() > room)
      throw Error(Status::invalid_argument, text(kName, ": size_bytes is ", size_bytes, ", ", samples.samples(),
                                                 " samples of ", output_bytes(call.trainer), " bytes need more"));
    int64_t done = 0;
    const bool finished = call.trainer.predict(samples, output, room, done);
    if (out_samples) *out_samples = done;
    return finished ? TROIKA_OK : TROIKA_STOPPED;
  });
}

troika_status troika_trainer_predict_batch(troika_trainer trainer, troika_batch batch, float* output,
                                           int64_t size_bytes, troika_error* error) {
  constexpr const char* kName = "troika_trainer_predict_batch";
  return guard(error, [&] {
    required(output, kName, "output");
    Call call(trainer, kName);
    const auto hold = batch_of(batch, kName, "batch");
    const int64_t need = hold->size() * output_bytes(call.trainer);
    if (size_bytes != need)
      throw Error(Status::invalid_argument, text(kName, ": size_bytes is ", size_bytes, ", ", hold->size(),
                                                 " samples of ", output_bytes(call.trainer), " bytes need ", need));
    predict_batch(call.trainer, *hold, output);
  });
}
