// One batch, as a pass over an epoch runs it.
#include "train/single_batch.h"

#include "core/stopwatch.h"
#include "train/agreement.h"
#include "train/predict_rows.h"

namespace troika {

bool evaluate_batch(Trainer& trainer, const Batch& batch, StepResult& result) {
  trainer.check_usable();
  const Stopwatch stopwatch;
  BatchView view;
  const bool goes_on = agree_on_batch(trainer, "an evaluation", origin_of(batch), view,
                                            [&] { return trainer.take_stop_request(); },
                                            [&] { view = trainer.checks().check(batch); });
  if (!goes_on) return false;
  const ActiveRanks& all = trainer.ranks().all();
  trainer.prepare(Mode::evaluate, view.n, all);
  const ParametersAfterwards afterwards(trainer.sync());
  const RunResults& found = trainer.evaluate(view, all);
  const bool is_mean = trainer.options().reduction == Reduction::mean;
  result.loss = is_mean ? mean_loss(found.loss, view.weight) : found.loss;
  result.samples = view.n;
  result.labels = view.counted;
  result.weight = view.weight;
  result.correct = found.correct;
  result.seconds = stopwatch.seconds();
  return true;
}

void predict_batch(Trainer& trainer, const Batch& batch, float* output) {
  trainer.check_usable();
  BatchView view;
  agree_on_batch(trainer, "a prediction", origin_of(batch), view, [] { return false; },
                       [&] { view = trainer.checks().check_samples(batch); });
  view.output = output;
  trainer.prepare(Mode::predict, view.n, trainer.ranks().all(), {}, false);
  const ParametersAfterwards afterwards(trainer.sync());
  predict_rows(trainer, view);
}

}  // namespace troika
