// Compares the limit with what the process has. A trial allocation would take the room from other
// threads.
#include "core/address_space.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

// Returns the bytes of address space that the process has; 0 if the system does not say.
size_t used_address_space() {
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char line[64] = "";
  const ssize_t size = read(file, line, sizeof line - 1);
  close(file);
  return size > 0 ? std::strtoull(line, nullptr, 10) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

void require_address_space(size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const size_t used = used_address_space();
  if (used + bytes > limit.rlim_cur)
    throw Error(Status::out_of_memory,
                text("host memory: the process has ", used, " of the ", limit.rlim_cur,
                     " bytes of address space that it may have (RLIMIT_AS), need ", bytes,
                     " more; raise the limit or use a smaller batch"));
}

}  // namespace troika
