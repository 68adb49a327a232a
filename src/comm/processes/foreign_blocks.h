// Shared memory of other processes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/shared_memory.h"

namespace troika {

// Blocks of other processes, which are mapped as long as this lives.
class ForeignBlocks {
 public:
  // Returns the address in this process. Any thread. COMM.
  std::byte* address(int process, const SharedPlace& place);

 private:
  std::mutex mutex_;
  std::map<std::pair<int, int64_t>, std::unique_ptr<ForeignMemory>> blocks_;  // by process and block
};

}  // namespace troika
