// MPI of this process: set up once, and ended at the exit of the process.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

#include "core/deadline.h"

namespace troika::mpi {

// Throws COMM with MPI's text of the error.
void check(int result, const char* call);

// Returns whether MPI was set up and has not been ended, by the host or at the exit.
bool is_running();

// All processes that the launcher started, as this library sees them.
struct Processes {
  MPI_Comm communicator = MPI_COMM_NULL;  // of this library: messages of the host are not in it
  int rank = 0, size = 1;
};

// Sets MPI up unless the host has done so. The first call is collective over all processes that the
// launcher started. UNSUPPORTED if there is no launcher, or if MPI allows one thread only.
const Processes& processes(Deadline deadline);

// Returns a communicator with messages of its own, by a collective call. COMM at the deadline.
MPI_Comm duplicate(MPI_Comm communicator, Deadline deadline);

// Waits, and sleeps between two questions. Returns false at the deadline.
bool wait(MPI_Request& request, Deadline deadline);

// A communicator was left in the middle of messages: MPI is not ended at the exit, because the end
// would wait for the other processes.
void forget_end();

// Returns the name and version: "Open MPI 4.1.4".
std::string library_version();

}  // namespace troika::mpi
