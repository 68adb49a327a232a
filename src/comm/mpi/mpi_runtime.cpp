// The begin and the end of MPI.
#include "comm/mpi/mpi_runtime.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <mutex>
#include <thread>

#include "core/environment.h"
#include "core/error.h"
#include "core/named_thread.h"
#include "core/text.h"

namespace troika::mpi {
namespace {

constexpr std::chrono::microseconds kAnswerPause{100};  // between two questions
constexpr std::chrono::seconds kTimeToEnd{10};

std::atomic<bool> ends_at_exit = false;

// Called at the exit of a process whose MPI this library has set up. mpirun takes a process that
// does not end MPI for one that has failed. The end waits for all processes: not for ever.
void end() {
  if (!ends_at_exit || !is_running()) return;
  try {
    std::promise<void> promise;
    std::future<void> ended = promise.get_future();
    named_thread("troika mpi", [promise = std::move(promise)]() mutable {
      MPI_Finalize();
      promise.set_value();
    }).detach();
    ended.wait_for(kTimeToEnd);
  } catch (const std::exception&) {  // there are no more threads
  }
}

bool has_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (launcher_variable(name)) return true;
  return false;
}

void begin() {
  int is_initialized = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&is_initialized);
  if (is_initialized && !is_running())
    throw Error(Status::unsupported, "group: transport 'mpi': MPI has been finalized");
  if (is_initialized) {
    MPI_Query_thread(&level);
  } else {
    if (!has_launcher())
      throw Error(Status::unsupported,
                  "group: transport 'mpi': the process was not started by mpirun or srun, and the"
                  " host has not initialized MPI");
    // Open MPI opens parts of itself, which need its symbols.
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &info) && info.dli_fname)
      dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
    ends_at_exit = true;
    std::atexit(end);
  }
  if (level < MPI_THREAD_MULTIPLE)
    throw Error(Status::unsupported, text("group: transport 'mpi': MPI has thread level ", level,
                                          ", need MPI_THREAD_MULTIPLE (", MPI_THREAD_MULTIPLE, ')'));
}

}  // namespace

void check(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  char reason[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(result, reason, &length);
  std::string line(reason, static_cast<size_t>(length));
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  throw Error(Status::comm, text(call, ": ", line));
}

bool is_running() {
  int is_initialized = 0, is_finalized = 0;
  MPI_Initialized(&is_initialized);
  MPI_Finalized(&is_finalized);
  return is_initialized && !is_finalized;
}

const Processes& processes(Deadline deadline) {
  static std::mutex mutex;
  static Processes all;
  std::lock_guard lock(mutex);
  if (all.communicator != MPI_COMM_NULL && is_running()) return all;
  begin();
  all.communicator = duplicate(MPI_COMM_WORLD, deadline);
  check(MPI_Comm_rank(all.communicator, &all.rank), "MPI_Comm_rank");
  check(MPI_Comm_size(all.communicator, &all.size), "MPI_Comm_size");
  return all;
}

MPI_Comm duplicate(MPI_Comm communicator, Deadline deadline) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Comm_idup(communicator, &copy, &request), "MPI_Comm_idup");
  if (!wait(request, deadline)) {
    forget_end();
    throw Error(Status::comm,
                "group: transport 'mpi': another process of MPI_COMM_WORLD did not create its group"
                " before the deadline");
  }
  check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

bool wait(MPI_Request& request, Deadline deadline) {
  while (true) {
    int is_done = 0;
    check(MPI_Test(&request, &is_done, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_done) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kAnswerPause);
  }
}

void forget_end() { ends_at_exit = false; }

std::string library_version() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::string name(version, static_cast<size_t>(length));
  name = name.substr(0, name.find_first_of(",\n"));  // "Open MPI v4.1.4, package: ..."
  if (const size_t v = name.find(" v"); v != std::string::npos) name.erase(v + 1, 1);
  return name;
}

}  // namespace troika::mpi
