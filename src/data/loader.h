// Batches of a dataset, one epoch after another, prepared ahead on a thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "data/batch.h"
#include "data/dataset.h"
#include "data/prefetcher.h"

namespace troika {

// Used by one thread at a time. Batches depend only on dataset, options and position, never on
// `prefetch` or on earlier calls. A stream knows the end of an epoch when it has read its last
// batch.
class Loader {
 public:
  Loader(std::shared_ptr<const Dataset> dataset, const LoaderOptions& options);
  ~Loader() { prefetcher_->stop(); }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Returns the next batch, valid until the next call, or nullptr once at the epoch's end: then the
  // next epoch begins. Throws what reading the dataset threw; the loader then still stands before
  // that batch. Throws Stopped, too, if `stop` is set while the loader's thread reads the batch.
  const Batch* next(const std::atomic<bool>* stop = nullptr);
  // The samples of the batch that next returns next; none at the epoch's end. A stream reads the
  // batch, so what holds for `next` holds for `peek` too.
  std::optional<BatchOrigin> peek(const std::atomic<bool>* stop = nullptr);
  // Goes on as next does, but reads nothing. Prepared batches are dropped, and none is prepared
  // until the next call of next. In a stream only at the epoch's end.
  void skip();
  // Whether the epoch is known to end here.
  bool is_at_end() const { return end_ == position_.batch; }

  // The batch that `next` returns next; batch == batches if it ends the epoch.
  BatchPosition tell() const { return position_; }
  // A stream takes the host's word for `to.batches`, unless it is 0. Otherwise it is not looked at.
  void seek(const BatchPosition& to);
  // Goes to batch 0 of the epoch, at which every evaluation begins.
  void rewind() { seek({position_.epoch, 0, position_.batches}); }

  // Reads only these rows of each batch from now on. A loader that is divided otherwise drops the
  // batches that it has prepared.
  void divide(const Division& division);

  const std::shared_ptr<const Dataset>& dataset() const { return reader().dataset(); }
  const LoaderOptions& options() const { return reader().options(); }
  int64_t batches() const { return position_.batches; }   // in an epoch
  int64_t samples() const { return reader().samples(); }  // of the batches in an epoch; 0 of a stream
  int64_t most_batches() const;                           // that seek takes

 private:
  const BatchReader& reader() const { return prefetcher_->reader(); }
  bool is_stream() const { return dataset()->is_stream(); }
  const Batch* hold(const std::atomic<bool>* stop);
  void end_here();
  void begin_next_epoch();

  std::shared_ptr<Prefetcher> prefetcher_;
  BatchPosition position_;       // the caller's position, not the thread's
  std::optional<int64_t> end_;   // batches of this epoch, if they are known
  const Batch* held_ = nullptr;  // the batch that comes next, if it has been taken from the ring
  bool is_counted_ = true;       // whether the epoch had all batches before this position, as far as is known
};

}  // namespace troika
