// What ranks that do not agree are told.
#include "comm/collective.h"

#include "core/error.h"
#include "core/text.h"

namespace troika {

int64_t count_of(const std::vector<OwnedBytes>& pieces) {
  return static_cast<int64_t>((pieces.empty() ? 0 : pieces.back().end) / sizeof(float));
}

void check_agreement(int slot, int rank, const Collective& started, const Collective& others) {
  if (started != others)
    throw Error(Status::internal,
                text("collective ", slot, ": rank ", rank, " starts ", name_of(started.kind), " of ", started.count,
                     " elements, others ", name_of(others.kind), " of ", others.count));
}

const char* name_of(CollectiveKind kind) {
  static constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter", "all_of"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace troika
