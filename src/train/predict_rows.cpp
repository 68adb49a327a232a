// A prediction, and the exchange of its rows between processes.
#include "train/predict_rows.h"

#include <algorithm>

#include "train/agreement.h"
#include "train/row_exchange.h"

namespace troika {
namespace {

// Gathers the output for a batch of n, which the last layers make.
void gather_output(const Trainer& trainer, int64_t n, std::vector<float>& output) {
  gather_rows(trainer.attached(), trainer.layout().ranks().positions() - 1, n,
              trainer.model()->output_shape().elements(), output);
}

}  // namespace

void make_room(const Trainer& trainer, BatchView& view, std::vector<float>& output) {
  const bool is_elsewhere = are_rows_elsewhere(trainer.attached());
  const int64_t rows = is_elsewhere ? view.n : view.rows;
  output.resize(static_cast<size_t>(rows * trainer.model()->output_shape().elements()));
  view.first_output = is_elsewhere ? 0 : view.first;
}

void gather_own_rows(const Trainer& trainer, const BatchView& view, std::vector<float>& output) {
  if (!are_rows_elsewhere(trainer.attached())) return;
  gather_output(trainer, view.n, output);
  keep_own_rows(view, trainer.model()->output_shape().elements(), output);
}

void predict_rows(Trainer& trainer, const BatchView& view, Rows wants) {
  trainer.sync().prepare_evaluation(trainer.options().evaluates_average);
  const auto run = [&](const BatchView& batch) {
    trainer.runner().run(Mode::predict, trainer.ranks().all(), batch, StepNumbers());
  };
  if (!trainer.peers().exist()) return run(view);
  const int64_t elements = trainer.model()->output_shape().elements();
  std::vector<float> whole(static_cast<size_t>(view.n * elements));
  BatchView all_rows = view;
  all_rows.output = whole.data();
  run(all_rows);
  gather_output(trainer, view.n, whole);
  const Range rows = wants == Rows::all ? Range{0, view.n} : Range{view.first, view.first + view.rows};
  std::copy(whole.begin() + rows.begin * elements, whole.begin() + rows.end * elements, view.output);
}

Shape predict_inputs(Trainer& trainer, const TensorType& type, const void* inputs, std::vector<float>& output) {
  trainer.check_usable();
  BatchView view;
  const auto check = [&] {
    trainer.checks().check_inputs(type.dtype, type.shape, inputs);
    view.n = view.rows = type.shape[0];
    view.inputs = inputs;
  };
  agree_on_batch(trainer, "a prediction", nullptr, view, [] { return false; }, check);
  trainer.prepare(Mode::predict, view.n, trainer.ranks().all(), {}, false);
  const ParametersAfterwards afterwards(trainer.sync());
  const Shape shape = trainer.model()->output_shape().times(view.rows);
  output.resize(static_cast<size_t>(shape.elements()));
  view.output = output.data();
  predict_rows(trainer, view);
  return shape;
}

}  // namespace troika
