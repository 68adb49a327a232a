// A link by MPI: messages between all processes that a launcher started.
#pragma once

#include "comm/link.h"

namespace troika::mpi {

extern const LinkDef mpi_link;

}  // namespace troika::mpi
