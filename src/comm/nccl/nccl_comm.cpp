// How a rank ends.
#include "comm/nccl/nccl_comm.h"

#include "comm/nccl/nccl_library.h"

namespace troika::nccl {

void NcclComm::abort() {
  if (handle_) Library::get().abort(handle_);
  handle_ = nullptr;
}

}  // namespace troika::nccl
