// Joining a job.
#include "cli/job.h"

#include <cstdlib>

namespace troika::cli {

Job::Job() : context_(create_context(1)) {
  call(troika_group_create, context_.get(), static_cast<const troika_group_options*>(nullptr), group_.out());
  call(troika_group_describe, group_.get(), &info_);
}

bool Job::decide(bool own) const {
  if (is_alone()) return own;
  const int64_t one = 1;
  const int32_t mine = own ? 1 : 0;
  Tensor tensor;
  call(troika_tensor_create, context_.get(), troika_device{TROIKA_DEVICE_CPU, 0}, int32_t{TROIKA_DTYPE_I32}, &one, 1,
       static_cast<const void*>(&mine), tensor.out());
  call(troika_group_broadcast, group_.get(), tensor.get(), 0);
  int32_t leaders = 0;
  call(troika_tensor_to_host, tensor.get(), static_cast<void*>(&leaders), int64_t{sizeof leaders});
  return leaders != 0;
}

int threads_of_process(int threads) {
  const char* const wish = std::getenv("TROIKA_THREADS");
  return threads == 0 && wish ? std::atoi(wish) : threads;
}

}  // namespace troika::cli
