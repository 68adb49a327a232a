// One batch, as a pass over an epoch runs it.
#include "train/single_batch.h"

#include "core/stopwatch.h"

namespace troika {

bool evaluate_batch(Trainer& trainer, const Batch& batch, StepResult& result) {
  trainer.check_usable();
  const Stopwatch stopwatch;
  BatchView view;
  if (!trainer.take("an evaluation", batch.origin ? &*batch.origin : nullptr, view,
                    [&] { view = trainer.checks().check(batch); }))
    return false;
  const ActiveRanks& all = trainer.ranks().all();
  trainer.prepare(Mode::evaluate, view.n, all);
  const ParametersAfterwards afterwards(trainer.sync());
  const RunResults& found = trainer.evaluate(view, all);
  const bool is_mean = trainer.options().reduction == Reduction::mean;
  result.loss = is_mean ? mean_loss(found.loss, view.counted) : found.loss;
  result.samples = view.n;
  result.labels = view.counted;
  result.correct = found.correct;
  result.seconds = stopwatch.seconds();
  return true;
}

void predict_batch(Trainer& trainer, const Batch& batch, float* output) {
  trainer.check_usable();
  BatchView view;
  trainer.take("a prediction", batch.origin ? &*batch.origin : nullptr, view,
               [&] { view = trainer.checks().check_samples(batch); }, false);
  view.output = output;
  trainer.prepare(Mode::predict, view.n, trainer.ranks().all(), {}, false);
  const ParametersAfterwards afterwards(trainer.sync());
  trainer.predict(view);
}

}  // namespace troika
