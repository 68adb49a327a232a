// Collectives: operations that the ranks of a group compute together, and the check that the ranks
// agree.
#pragma once

#include <cstdint>
#include <vector>

#include "core/dtype.h"
#include "core/split.h"

namespace troika {

enum class CollectiveKind {
  all_reduce,      // every rank gets the sum over all ranks
  all_gather,      // every rank gets the pieces of the data that each of the others owns
  reduce_scatter,  // each rank gets the sum of the piece that it owns
  all_of,          // every rank gets 1 if the flag is not 0 on every rank, else 0
};

// One operation on data that every rank has; in place.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  DType dtype = DType::f32;  // of the elements: sums are of f32, f64, i32 or i64
  int64_t count = 0;         // elements
  // Of all_gather and reduce_scatter: who owns which bytes, the same on all ranks. Borrowed until
  // the wait.
  const std::vector<OwnedBytes>* pieces = nullptr;
  // For an all_reduce of f32: the elements are values of bf16, and the caller rounds the sums to
  // bf16. So either may travel in 16 bits.
  bool is_bf16 = false;

  static Collective all_reduce(DType dtype, int64_t count, bool is_bf16 = false) {
    return {CollectiveKind::all_reduce, dtype, count, nullptr, is_bf16};
  }
  static Collective all_of() { return {CollectiveKind::all_of, DType::i32, 1}; }
  static Collective all_gather(const std::vector<OwnedBytes>& pieces);      // of bytes, whatever the elements are
  static Collective reduce_scatter(const std::vector<OwnedBytes>& pieces);  // of f32

  bool sums() const { return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce_scatter; }
};

// INTERNAL if rank `rank` starts another collective in the slot than the `others`, or a sum of a
// type that has no sums.
void check_agreement(int slot, int rank, const Collective& started, const Collective& others);
void check_dtype(int slot, int rank, const Collective& started);

// Calls f with a zero of the sum's element type.
template <typename F>
void with_sum_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64: return f(double{});
    case DType::i32: return f(int32_t{});
    case DType::i64: return f(int64_t{});
    default: return f(float{});
  }
}

const char* name_of(CollectiveKind kind);

}  // namespace troika
