// The first use of a block maps it.
#include "comm/processes/foreign_blocks.h"

#include "core/error.h"
#include "core/text.h"

namespace troika {

std::byte* ForeignBlocks::address(int process, const SharedPlace& place) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<ForeignMemory>& block = blocks_[{process, place.block}];
  try {
    if (!block) block = std::make_unique<ForeignMemory>(place);
  } catch (const Error& e) {
    throw Error(Status::comm, text("process ", process, " does not share its memory any more: ", e.what()));
  }
  return block->data() + place.offset;
}

}  // namespace troika
