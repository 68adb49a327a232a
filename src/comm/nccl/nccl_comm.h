// NCCL's handle of one rank, which ends with its owner.
#pragma once

#include <nccl.h>

namespace troika::nccl {

// Cannot be moved: NCCL may write the handle while the rank joins.
class NcclComm {
 public:
  NcclComm() = default;
  ~NcclComm() { abort(); }
  NcclComm(const NcclComm&) = delete;
  NcclComm& operator=(const NcclComm&) = delete;

  ncclComm_t get() const { return handle_; }
  ncclComm_t* out() { return &handle_; }  // for the call that joins

  // Ends the rank, and its kernels on the GPU. NCCL's finalize and destroy are collective, but a
  // rank that ends alone must not wait for the others.
  void abort();

 private:
  ncclComm_t handle_ = nullptr;
};

}  // namespace troika::nccl
