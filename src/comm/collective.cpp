// Errors of ranks that start different collectives.
#include "comm/collective.h"

#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

int64_t bytes_of(const std::vector<OwnedBytes>& pieces) {
  return static_cast<int64_t>(pieces.empty() ? 0 : pieces.back().end);
}

}  // namespace

Collective Collective::all_gather(const std::vector<OwnedBytes>& pieces) {
  return {CollectiveKind::all_gather, DType::u8, bytes_of(pieces), &pieces};
}

Collective Collective::reduce_scatter(const std::vector<OwnedBytes>& pieces) {
  return {CollectiveKind::reduce_scatter, DType::f32, bytes_of(pieces) / int64_t{sizeof(float)}, &pieces};
}

void check_agreement(int slot, int rank, const Collective& started, const Collective& others) {
  if (started.kind != others.kind || started.count != others.count || started.dtype != others.dtype ||
      started.is_bf16 != others.is_bf16)
    throw Error(Status::internal, text("collective ", slot, ": rank ", rank, " starts ", name_of(started.kind), " of ",
                                       started.count, " ", name_of(started.dtype), ", others ", name_of(others.kind),
                                       " of ", others.count, " ", name_of(others.dtype)));
}

void check_dtype(int slot, int rank, const Collective& started) {
  const DType dtype = started.dtype;
  if (started.sums() && dtype != DType::f32 && dtype != DType::f64 && dtype != DType::i32 && dtype != DType::i64)
    throw Error(Status::internal, text("collective ", slot, ": rank ", rank, " starts ", name_of(started.kind), " of ",
                                       name_of(dtype), ", needs f32, f64, i32 or i64"));
}

const char* name_of(CollectiveKind kind) {
  static constexpr const char* kNames[] = {"all_reduce", "all_gather", "reduce_scatter", "all_of"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace troika
