// What the ranks of a group compute together, and that they agree on it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/split.h"

namespace troika {

enum class CollectiveKind { all_reduce, all_gather, reduce_scatter, all_of };

struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  int64_t count = 0;  // f32 elements, or flags
  bool operator==(const Collective&) const = default;
};

// Elements of 4 bytes that the pieces cover.
int64_t count_of(const std::vector<OwnedBytes>& pieces);

// INTERNAL where rank `rank` starts another collective in the slot than the `others` have.
void check_agreement(int slot, int rank, const Collective& started, const Collective& others);

const char* name_of(CollectiveKind kind);

}  // namespace troika
