// Teams through the OpenMP runtime that oneDNN brought along, found at run time: linking one
// ourselves could bring a second.
#include "backends/cpu/threads.h"

#include <algorithm>

#include "core/address_space.h"
#include "core/cpu_cores.h"
#include "core/dynamic_library.h"
#include "core/named_thread.h"
#include "core/split.h"

namespace troika::cpu {
namespace {

template <typename Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(find_loaded_function(name));
}

// The runtime's entry points.
struct OpenMP {
  void (*set_num_threads)(int) = nullptr;
  int (*thread_num)() = nullptr;
  int (*num_threads)() = nullptr;
  int (*max_threads)() = nullptr;
  // libgomp's, which LLVM's and Intel's runtimes have as well.
  void (*parallel)(void (*)(void*), void*, unsigned threads, unsigned flags) = nullptr;
  // Microsoft's: the number of threads of the next team, and its start.
  void (*set_next_threads)(int) = nullptr;
  void (*fork)(int is_parallel, int arguments, void (*)(void*), ...) = nullptr;

  OpenMP() {
    find(set_num_threads, "omp_set_num_threads");
    find(thread_num, "omp_get_thread_num");
    find(max_threads, "omp_get_max_threads");
    find(num_threads, "omp_get_num_threads");
    find(parallel, "GOMP_parallel");
    find(set_next_threads, "_vcomp_set_num_threads");
    find(fork, "_vcomp_fork");
  }
  bool usable() const {
    return set_num_threads && thread_num && num_threads && max_threads && (parallel || (set_next_threads && fork));
  }
  void run(void (*body)(void*), void* data, int threads) const {
    if (parallel) return parallel(body, data, static_cast<unsigned>(threads), 0);
    set_next_threads(threads);
    fork(1, 1, body, data);
  }
};

// Under the thread sanitizer every device computes on one thread: it cannot see the runtime's
// barriers.
#if defined(__SANITIZE_THREAD__)
constexpr bool kMayFork = false;
#else
constexpr bool kMayFork = true;
#endif

const OpenMP& openmp() {
  static const OpenMP instance;
  return instance;
}

thread_local int t_team_size = 1;
thread_local int t_own_team_size = 1;  // of the team whose master the thread is
thread_local bool t_is_borrowed = false;
thread_local int t_started = 1;  // threads that have memory, with this one

struct Work {
  int64_t n;
  int pieces;
  void (*body)(void*, int64_t, int64_t);
  void* user;
};

void run_piece(void* data) {
  const Work& work = *static_cast<const Work*>(data);
  // If the host limits threads, the runtime may start fewer threads than pieces.
  const int threads = openmp().num_threads();
  for (int piece = openmp().thread_num(); piece < work.pieces; piece += threads) {
    const Range range = balanced_split(work.n, work.pieces, piece);
    work.body(work.user, range.begin, range.end);
  }
}

// The runtime ends the process if it cannot start a thread, so the threads start here, with room.
void start_team() {
  if (t_started >= t_team_size) return;
  require_address_space(kRoomOfLibraries + static_cast<size_t>(t_team_size) * kRoomOfThread);
  Work work{t_team_size, t_team_size, [](void*, int64_t, int64_t) { set_up_thread_memory(); }, nullptr};
  openmp().run(run_piece, &work, t_team_size);
  t_started = t_team_size;
}

}  // namespace

void enter_team(int threads, const std::vector<int>& cores) {
  if (!cores.empty()) pin_thread(cores);
  t_own_team_size = t_team_size = kMayFork && openmp().usable() ? std::max(threads, 1) : 1;
  if (!openmp().usable()) return;
  openmp().set_num_threads(t_team_size);
  start_team();
}

int borrow_team(int threads) {
  if (!openmp().usable()) return 0;
  t_is_borrowed = true;
  t_team_size = 1;
  const int earlier = openmp().max_threads();
  if (earlier != threads) openmp().set_num_threads(threads);
  return earlier;
}

void return_team(int earlier) {
  t_is_borrowed = false;
  t_team_size = t_own_team_size;
  if (openmp().usable() && earlier != openmp().max_threads()) openmp().set_num_threads(earlier);
}

bool is_borrowed() { return t_is_borrowed; }

BorrowedTeam::BorrowedTeam(int threads) : earlier_(t_team_size) {
  t_team_size = kMayFork && openmp().usable() ? threads : 1;
}
BorrowedTeam::~BorrowedTeam() { t_team_size = earlier_; }

int team_size() { return t_team_size; }

void run_parallel(int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t), void* user) {
  if (n <= 0) return;
  const int pieces =
      static_cast<int>(std::min<int64_t>(t_team_size, std::max<int64_t>(1, n / std::max<int64_t>(grain, 1))));
  if (pieces <= 1) {
    body(user, 0, n);
    return;
  }
  start_team();  // a borrowed one starts when it is needed
  Work work{n, pieces, body, user};
  openmp().run(run_piece, &work, pieces);
}

}  // namespace troika::cpu
