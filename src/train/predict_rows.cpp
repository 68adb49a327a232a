// A prediction, and the exchange of its rows between processes.
#include "train/predict_rows.h"

#include <algorithm>

namespace troika {

void gather_output(const Trainer& trainer, int64_t n, std::vector<float>& output) {
  const RankMap& map = trainer.layout().ranks();
  const int64_t bytes = trainer.model()->output_shape().elements() * static_cast<int64_t>(sizeof(float));
  std::vector<OwnedBytes> pieces;
  for (int share = 0; share < map.shares(); ++share) {
    const Range rows = balanced_split(n, map.shares(), share);
    const int last = map.rank_of(share, map.part_at(map.positions() - 1, 0));
    pieces.push_back({static_cast<size_t>(rows.begin * bytes), static_cast<size_t>(rows.end * bytes),
                      trainer.ranks().process_of(last)});
  }
  trainer.ranks().all_gather(pieces, output.data());
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
  trainer.take("a prediction", nullptr, view, [] { return false; }, check);
  trainer.prepare(Mode::predict, view.n, trainer.ranks().all(), {}, false);
  const ParametersAfterwards afterwards(trainer.sync());
  const Shape shape = trainer.model()->output_shape().times(view.rows);
  output.resize(static_cast<size_t>(shape.elements()));
  view.output = output.data();
  predict_rows(trainer, view);
  return shape;
}

}  // namespace troika
