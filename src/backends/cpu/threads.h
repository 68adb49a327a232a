// The CPU device's team of threads: oneDNN's own OpenMP team, so that two teams never compete for
// the same cores.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

namespace troika::cpu {

// Makes the calling thread the master of `threads` threads, pinned to `cores` if there are any.
void enter_team(int threads, const std::vector<int>& cores);

// Limits the runtime's teams of the calling thread to `threads`, for a while: kernels are bound to
// a number of threads. The thread's own team is one thread, except within a BorrowedTeam. Returns
// the limit of before, for return_team; 0: there is no runtime.
int borrow_team(int threads);
void return_team(int earlier);
bool is_borrowed();  // between these two

// Makes the team of a borrowed thread larger.
class BorrowedTeam {
 public:
  explicit BorrowedTeam(int threads);
  ~BorrowedTeam();
  BorrowedTeam(const BorrowedTeam&) = delete;
  BorrowedTeam& operator=(const BorrowedTeam&) = delete;

 private:
  const int earlier_;
};

// Threads of the calling thread's team.
int team_size();

// Calls body(user, begin, end) for pieces of [0, n), at least `grain` long, one per thread.
void run_parallel(int64_t n, int64_t grain, void (*body)(void* user, int64_t begin, int64_t end), void* user);

template <typename Body>
void parallel_for(int64_t n, int64_t grain, Body&& body) {
  using B = std::remove_reference_t<Body>;
  run_parallel(
      n, grain, [](void* user, int64_t begin, int64_t end) { (*static_cast<B*>(user))(begin, end); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

// Kernels' inner functions, compiled for several instruction sets and chosen when the library is
// loaded. The loader of Windows cannot choose.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TROIKA_VECTORIZE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
// For functions that are written anew for "arch=x86-64-v4" and "arch=x86-64-v3": widest_vectors()
// chooses among them.
#define TROIKA_TARGET(set) __attribute__((target(set), optimize("O3")))
#else
#define TROIKA_VECTORIZE
#endif

}  // namespace troika::cpu
