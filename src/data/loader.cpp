// The caller's position.
#include "data/loader.h"

#include <limits>
#include <utility>

#include "core/error.h"
#include "core/text.h"

namespace troika {

Loader::Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options)
    : prefetcher_(std::make_shared<Prefetcher>(std::move(dataset), options)) {
  position_.batches = reader().batches();
  if (!is_stream()) end_ = position_.batches;
  Prefetcher::start(prefetcher_);
}

void Loader::divide(const Division& division) {
  if (options().division == division) return;
  const auto divided = std::make_shared<Prefetcher>(BatchReader(reader(), division));
  prefetcher_->stop();
  prefetcher_ = divided;
  held_ = nullptr;
  Prefetcher::start(prefetcher_);
  prefetcher_->restart(is_at_end() ? following(position_) : position_);
}

int64_t Loader::most_batches() const {
  return is_stream() ? std::numeric_limits<int64_t>::max() / 2 / options().batch : position_.batches;
}

// Takes the next batch from the ring, unless it is held already. Returns nullptr at the epoch's
// end.
const Batch* Loader::hold(const std::atomic<bool>* stop) {
  if (is_at_end()) return nullptr;
  if (held_) return held_;
  const Batch& batch = prefetcher_->take(position_, stop);
  if (batch.origin->size > 0) return held_ = &batch;
  end_here();
  return nullptr;
}

// After a seek beyond the end of a stream, nobody knows how many batches the epoch had.
void Loader::end_here() {
  end_ = position_.batch;
  if (is_counted_) position_.batches = position_.batch;
}

void Loader::begin_next_epoch() {
  position_ = {position_.epoch + 1, 0, position_.batches};
  if (is_stream()) end_.reset();
  is_counted_ = true;
}

const Batch* Loader::next(const std::atomic<bool>* stop) {
  const Batch* const batch = hold(stop);
  if (!batch) {
    begin_next_epoch();
    return nullptr;
  }
  held_ = nullptr;
  ++position_.batch;
  is_counted_ = true;
  if (is_stream() && batch->origin->next.epoch != position_.epoch) end_here();
  return batch;
}

std::optional<BatchOrigin> Loader::peek(const std::atomic<bool>* stop) {
  if (is_at_end()) return std::nullopt;
  if (!is_stream()) return reader().origin_of(position_);
  const Batch* const batch = hold(stop);
  return batch ? batch->origin : std::nullopt;
}

void Loader::skip() {
  if (is_at_end()) return begin_next_epoch();
  ++position_.batch;
  held_ = nullptr;
  prefetcher_->rest();
}

void Loader::seek(const BatchPosition& to) {
  if (to.epoch < 0 || to.epoch > kMaxEpoch)
    throw Error(Status::invalid_argument, text("loader: epoch is ", to.epoch, ", need 0 to ", kMaxEpoch));
  if (to.batch < 0 || to.batch > most_batches())
    throw Error(Status::invalid_argument, text("loader: batch is ", to.batch, ", need 0 to ", most_batches(),
                                               is_stream() ? "" : ", the batches of an epoch"));
  if (to.epoch == position_.epoch && to.batch == position_.batch) return;  // keeps the prepared batches
  const auto [epoch, batch, batches] = std::exchange(position_, {to.epoch, to.batch, position_.batches});
  held_ = nullptr;
  if (is_stream()) {
    end_.reset();
    if (to.batches > 0) position_.batches = to.batches;
    is_counted_ = to.batch == 0 || (is_counted_ && to.epoch == epoch && to.batch <= batch);
  }
  if (!prefetcher_->is_resting()) prefetcher_->restart(is_at_end() ? following(position_) : position_);
}

}  // namespace troika
