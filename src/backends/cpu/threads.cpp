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

}  // namespace

void enter_team(int threads, const std::vector<int>& cores) {
  if (!cores.empty()) pin_thread(cores);
  t_team_size = kMayFork && openmp().usable() ? std::max(threads, 1) : 1;
  if (!openmp().usable()) return;
  openmp().set_num_threads(t_team_size);
  if (t_team_size == 1) return;
  // The runtime ends the process if it cannot start a thread, so the threads start here, with room.
  require_address_space(kRoomOfLibraries + static_cast<size_t>(t_team_size) * kRoomOfThread);
  run_parallel(
      t_team_size, 1, [](void*, int64_t, int64_t) { set_up_thread_memory(); }, nullptr);
}

int limit_team(int threads) {
  if (!openmp().usable() || threads < 1) return 0;
  const int earlier = openmp().max_threads();
  if (earlier != threads) openmp().set_num_threads(threads);
  return earlier;
}

int team_size() { return t_team_size; }

void run_parallel(int64_t n, int64_t grain, void (*body)(void*, int64_t, int64_t), void* user) {
  if (n <= 0) return;
  const int pieces =
      static_cast<int>(std::min<int64_t>(t_team_size, std::max<int64_t>(1, n / std::max<int64_t>(grain, 1))));
  if (pieces <= 1) {
    body(user, 0, n);
    return;
  }
  Work work{n, pieces, body, user};
  openmp().run(run_piece, &work, pieces);
}

}  // namespace troika::cpu
