// Replaces malloc and its family, on top of glibc's functions. Wraps oneDNN's entry points to mark
// the time inside oneDNN.
#include "api/allocation_hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdlib.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

// The sanitizer's functions replace glibc's. It checks each block itself, so blocks have no header.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TROIKA_ADDRESS_SANITIZER
#endif
#endif

extern "C" {
#if defined(TROIKA_ADDRESS_SANITIZER)
void* __interceptor_malloc(size_t);
void* __interceptor_calloc(size_t, size_t);
void* __interceptor_realloc(void*, size_t);
void* __interceptor_memalign(size_t, size_t);
#endif
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace troika::test {
namespace {

std::atomic<int64_t> g_count{0}, g_live{0}, g_until_failure{0};
std::atomic<bool> g_is_armed{false}, g_fails_after{false}, g_failed{false};
thread_local int t_exempt = 0;  // above 0: inside oneDNN, or making an exception
thread_local int t_kept = 0;    // above 0: allocations are kept by glibc, for an unknown time

// Counts an allocation. Returns whether it may succeed.
bool admit() {
  if (t_exempt > 0) return true;
  g_count.fetch_add(1, std::memory_order_relaxed);
  // A thread that is here when failing stops may still set the number below.
  if (!g_is_armed.load(std::memory_order_relaxed) || g_until_failure.load(std::memory_order_relaxed) <= 0) return true;
  const int64_t left = g_until_failure.fetch_sub(1);
  if (left > 1) return true;
  if (g_fails_after) g_until_failure = 1;
  g_failed = true;
  errno = ENOMEM;  // glibc looks at it
  return false;
}

#if !defined(TROIKA_ADDRESS_SANITIZER)
// The header before each block. It stores whether the allocation was counted, so that freeing the
// block is counted, too, on any thread.
struct Header {
  void* block;  // the address from glibc
  uint64_t is_counted;
};
static_assert(sizeof(Header) == 16);

void* allocate(size_t alignment, size_t bytes) {
  if (!admit() || bytes > SIZE_MAX / 2) {
    errno = ENOMEM;
    return nullptr;
  }
  if (alignment < alignof(std::max_align_t)) alignment = alignof(std::max_align_t);
  const size_t room = alignment > sizeof(Header) ? alignment : sizeof(Header);
  char* block =
      static_cast<char*>(alignment > 16 ? __libc_memalign(alignment, bytes + room) : __libc_malloc(bytes + room));
  if (!block) return nullptr;
  const Header header{block, t_exempt == 0 && t_kept == 0};
  if (header.is_counted) g_live.fetch_add(1, std::memory_order_relaxed);
  std::memcpy(block + room - sizeof header, &header, sizeof header);
  return block + room;
}

Header header_of(void* memory) {
  Header header;
  std::memcpy(&header, static_cast<char*>(memory) - sizeof header, sizeof header);
  return header;
}

size_t usable_bytes(void* memory) {
  const Header header = header_of(memory);
  return malloc_usable_size(header.block) -
         static_cast<size_t>(static_cast<char*>(memory) - static_cast<char*>(header.block));
}

#endif

struct Exempt {
  Exempt() { ++t_exempt; }
  ~Exempt() { --t_exempt; }
};

template <typename Function>
Function* next(const char* name) {
  const Exempt exempt;
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Calls the function of that name in oneDNN.
template <typename Function, const char* kName>
struct InsideOnednn;
template <typename Result, typename... Arguments, const char* kName>
struct InsideOnednn<Result(Arguments...), kName> {
  static Result call(Arguments... arguments) {
    static auto* const function = next<Result(Arguments...)>(kName);
    const Exempt exempt;
    return function(arguments...);
  }
};

}  // namespace

int64_t allocation_count() { return g_count; }
void reset_allocation_count() { g_count = 0; }
int64_t live_allocations() { return g_live; }

void fail_allocation(int64_t n, bool and_all_after) {
  g_failed = false;
  g_fails_after = and_all_after;
  g_until_failure = n;
  g_is_armed = true;
}

void let_allocations_fail(bool may_fail) { t_exempt += may_fail ? -1 : 1; }

bool stop_failing() {
  g_is_armed = false;
  return g_failed;
}

}  // namespace troika::test

#if defined(TROIKA_ADDRESS_SANITIZER)
using troika::test::admit;

extern "C" {

void* malloc(size_t bytes) { return admit() ? __interceptor_malloc(bytes) : nullptr; }
void* calloc(size_t n, size_t bytes) { return admit() ? __interceptor_calloc(n, bytes) : nullptr; }
void* realloc(void* memory, size_t bytes) { return admit() ? __interceptor_realloc(memory, bytes) : nullptr; }
void* memalign(size_t alignment, size_t bytes) { return admit() ? __interceptor_memalign(alignment, bytes) : nullptr; }
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}

}  // extern "C"

// The sanitizer's own operators never throw.
void* operator new(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  void* memory = memalign(static_cast<size_t>(alignment), bytes > 0 ? bytes : 1);
  if (!memory) throw std::bad_alloc();
  return memory;
}
void* operator new[](size_t bytes) { return operator new(bytes); }
void* operator new[](size_t bytes, std::align_val_t alignment) { return operator new(bytes, alignment); }
void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return memalign(static_cast<size_t>(alignment), bytes > 0 ? bytes : 1);
}
void* operator new[](size_t bytes, const std::nothrow_t& nothrow) noexcept { return operator new(bytes, nothrow); }
void* operator new[](size_t bytes, std::align_val_t alignment, const std::nothrow_t& nothrow) noexcept {
  return operator new(bytes, alignment, nothrow);
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { free(memory); }
void operator delete[](void* memory) noexcept { free(memory); }
void operator delete[](void* memory, size_t) noexcept { free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { free(memory); }
#else
using troika::test::allocate;
using troika::test::header_of;
#endif

extern "C" {

#if !defined(TROIKA_ADDRESS_SANITIZER)

void* malloc(size_t bytes) { return allocate(16, bytes); }

void* calloc(size_t n, size_t bytes) {
  size_t total = 0;
  if (__builtin_mul_overflow(n, bytes, &total)) return nullptr;
  void* memory = allocate(16, total);
  return memory ? memset(memory, 0, total) : nullptr;
}

void free(void* memory) {
  if (!memory) return;
  const auto header = header_of(memory);
  if (header.is_counted) troika::test::g_live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(header.block);
}

void* realloc(void* memory, size_t bytes) {
  void* larger = allocate(16, bytes);
  if (!larger || !memory) return larger;
  const size_t before = troika::test::usable_bytes(memory);
  memcpy(larger, memory, before < bytes ? before : bytes);
  free(memory);
  return larger;
}

void* memalign(size_t alignment, size_t bytes) { return allocate(alignment, bytes); }
void* aligned_alloc(size_t alignment, size_t bytes) { return allocate(alignment, bytes); }
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  *out = allocate(alignment, bytes);
  return *out ? 0 : ENOMEM;
}

#endif

// If malloc fails, exceptions take their memory from the runtime's reserve, which is not tested
// here. So allocations for exceptions never fail.
void* __cxa_allocate_exception(size_t bytes) noexcept {
  static auto* const function = troika::test::next<void*(size_t)>("__cxa_allocate_exception");
  const troika::test::Exempt exempt;
  return function(bytes);
}

// glibc caches the stacks of ended threads, each with additional memory. Their number depends on
// how many threads happened to live at the same time. So allocations here may fail, but do not
// count as live.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* data) {
  using Function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* const function = troika::test::next<Function>("pthread_create");
  ++troika::test::t_kept;
  const int status = function(thread, attributes, body, data);
  --troika::test::t_kept;
  return status;
}

#if defined(TROIKA_ADDRESS_SANITIZER)
// The sanitizer asks for a thread's stack whenever an exception is thrown, and must get an answer.
int pthread_getattr_np(pthread_t thread, pthread_attr_t* attributes) {
  using Function = int(pthread_t, pthread_attr_t*);
  static auto* const function = troika::test::next<Function>("pthread_getattr_np");
  const troika::test::Exempt exempt;
  return function(thread, attributes);
}
#endif

// OpenMP's runtime ends the process if it has no memory, so its allocations never fail.
void omp_set_num_threads(int n) {
  static auto* const function = troika::test::next<void(int)>("omp_set_num_threads");
  const troika::test::Exempt exempt;
  if (function) function(n);
}

// Allocations of OpenMP's runtime for a team never fail either. The body of the parallel region is
// tested.
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  using Function = void(void (*)(void*), void*, unsigned, unsigned);
  static auto* const function = troika::test::next<Function>("GOMP_parallel");
  struct Work {
    void (*body)(void*);
    void* data;
    int exempt;
  } work{body, data, troika::test::t_exempt};
  const troika::test::Exempt exempt;
  function(
      [](void* given) {
        const Work& w = *static_cast<const Work*>(given);
        const int before = std::exchange(troika::test::t_exempt, w.exempt);
        w.body(w.data);
        troika::test::t_exempt = before;
      },
      &work, threads, flags);
}

}  // extern "C"

// The caller of a nothrow allocation can continue without the memory, for example without a buffer
// for sorting.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  const troika::test::Exempt exempt;
  return malloc(bytes);
}

// Defines oneDNN's function `name` in this program: a jump to the template above, which has the
// same arguments.
#if defined(__x86_64__)
#define TROIKA_JUMP(slot) "jmp *" slot "(%rip)\n"
#elif defined(__aarch64__)
#define TROIKA_JUMP(slot) "adrp x16, " slot "\nldr x16, [x16, :lo12:" slot "]\nbr x16\n"
#else
#error "write the jump for this processor"
#endif
#define TROIKA_INSIDE_ONEDNN(name)                                             \
  static constexpr char name_of_##name[] = #name;                              \
  extern "C" {                                                                 \
  __attribute__((used, visibility("hidden"))) decltype(&name) slot_of_##name = \
      troika::test::InsideOnednn<decltype(name), name_of_##name>::call;        \
  }                                                                            \
  asm(".text\n.globl " #name "\n.type " #name ", @function\n" #name            \
      ":\n" TROIKA_JUMP("slot_of_" #name) ".size " #name ", .-" #name "\n");

TROIKA_INSIDE_ONEDNN(dnnl_engine_create)
TROIKA_INSIDE_ONEDNN(dnnl_engine_destroy)
TROIKA_INSIDE_ONEDNN(dnnl_stream_create)
TROIKA_INSIDE_ONEDNN(dnnl_stream_destroy)
TROIKA_INSIDE_ONEDNN(dnnl_memory_create)
TROIKA_INSIDE_ONEDNN(dnnl_memory_destroy)
TROIKA_INSIDE_ONEDNN(dnnl_memory_desc_equal)
TROIKA_INSIDE_ONEDNN(dnnl_memory_desc_get_size)
TROIKA_INSIDE_ONEDNN(dnnl_post_ops_append_eltwise)
TROIKA_INSIDE_ONEDNN(dnnl_post_ops_create)
TROIKA_INSIDE_ONEDNN(dnnl_post_ops_destroy)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_attr_create)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_attr_destroy)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_attr_set_post_ops)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_attr_set_scratchpad_mode)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_create)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_destroy)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_execute)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_desc_destroy)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_desc_query)
TROIKA_INSIDE_ONEDNN(dnnl_sgemm)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_desc_query_md)
TROIKA_INSIDE_ONEDNN(dnnl_reorder_primitive_desc_create)
#if DNNL_VERSION_MAJOR >= 3
TROIKA_INSIDE_ONEDNN(dnnl_memory_set_data_handle)
TROIKA_INSIDE_ONEDNN(dnnl_memory_desc_create_with_strides)
TROIKA_INSIDE_ONEDNN(dnnl_memory_desc_create_with_tag)
TROIKA_INSIDE_ONEDNN(dnnl_memory_desc_clone)
TROIKA_INSIDE_ONEDNN(dnnl_memory_desc_destroy)
TROIKA_INSIDE_ONEDNN(dnnl_convolution_forward_primitive_desc_create)
TROIKA_INSIDE_ONEDNN(dnnl_convolution_backward_data_primitive_desc_create)
TROIKA_INSIDE_ONEDNN(dnnl_convolution_backward_weights_primitive_desc_create)
TROIKA_INSIDE_ONEDNN(dnnl_inner_product_forward_primitive_desc_create)
TROIKA_INSIDE_ONEDNN(dnnl_inner_product_backward_data_primitive_desc_create)
TROIKA_INSIDE_ONEDNN(dnnl_inner_product_backward_weights_primitive_desc_create)
TROIKA_INSIDE_ONEDNN(dnnl_pooling_forward_primitive_desc_create)
TROIKA_INSIDE_ONEDNN(dnnl_pooling_backward_primitive_desc_create)
#else
TROIKA_INSIDE_ONEDNN(dnnl_memory_set_data_handle_v2)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_desc_iterator_create)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_desc_iterator_destroy)
TROIKA_INSIDE_ONEDNN(dnnl_primitive_desc_iterator_fetch)
#endif
