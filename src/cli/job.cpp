// Joining a job.
#include "cli/job.h"

#include <cstdlib>

namespace troika::cli {

Job::Job() : context_(create_context(1)) {
  call(troika_group_create, context_.get(), static_cast<const troika_group_options*>(nullptr), group_.out());
  call(troika_group_describe, group_.get(), &info_);
}

int threads_of_process(int threads) {
  const char* const wish = std::getenv("TROIKA_THREADS");
  return threads == 0 && wish ? std::atoi(wish) : threads;
}

}  // namespace troika::cli
