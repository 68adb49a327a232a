// The launcher's messages by MPI.
#pragma once

#include <memory>

#include "group/bootstrap.h"

namespace troika::mpi {

// Collective over all processes that the launcher started. UNSUPPORTED, COMM.
std::unique_ptr<Bootstrap> create_bootstrap(Deadline deadline);

}  // namespace troika::mpi
