// subtract, multiply, divide, compare, expand, and add of operands of different shapes: loops over
// the result in which an operand steps on or stays (ops/broadcast.h).
#include "backends/cpu/arithmetic.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/threads.h"
#include "ops/broadcast.h"
#include "ops/compare.h"

namespace troika::cpu {
namespace {

constexpr int64_t kArithmeticGrain = 16384;  // numbers a thread at least

// The innermost loop: y[i] from a and b, each a run of numbers, or one number for all (step 0).
template <typename Result>
using PairRange = void (*)(const float* a, const float* b, Result* y, int64_t n);

enum class Steps { both, a, b };  // which operands are runs

#define TROIKA_PAIR_RANGES(name, Result, expression)                                          \
  TROIKA_VECTORIZE void name##_both(const float* a, const float* b, Result* out, int64_t n) { \
    for (int64_t i = 0; i < n; ++i) {                                                         \
      [[maybe_unused]] const float x = a[i], y = b[i];                                        \
      out[i] = expression;                                                                    \
    }                                                                                         \
  }                                                                                           \
  TROIKA_VECTORIZE void name##_a(const float* a, const float* b, Result* out, int64_t n) {    \
    [[maybe_unused]] const float y = *b;                                                      \
    for (int64_t i = 0; i < n; ++i) {                                                         \
      const float x = a[i];                                                                   \
      out[i] = expression;                                                                    \
    }                                                                                         \
  }                                                                                           \
  TROIKA_VECTORIZE void name##_b(const float* a, const float* b, Result* out, int64_t n) {    \
    const float x = *a;                                                                       \
    for (int64_t i = 0; i < n; ++i) {                                                         \
      [[maybe_unused]] const float y = b[i];                                                  \
      out[i] = expression;                                                                    \
    }                                                                                         \
  }                                                                                           \
  PairRange<Result> name##_range(Steps steps) {                                               \
    return steps == Steps::both ? name##_both : steps == Steps::a ? name##_a : name##_b;      \
  }

TROIKA_PAIR_RANGES(first, float, x)
TROIKA_PAIR_RANGES(add, float, x + y)
TROIKA_PAIR_RANGES(subtract, float, x - y)
TROIKA_PAIR_RANGES(multiply, float, x* y)
TROIKA_PAIR_RANGES(divide, float, x / y)
TROIKA_PAIR_RANGES(equal, uint8_t, x == y)
TROIKA_PAIR_RANGES(not_equal, uint8_t, x != y)
TROIKA_PAIR_RANGES(less, uint8_t, x < y)
TROIKA_PAIR_RANGES(less_or_equal, uint8_t, x <= y)
TROIKA_PAIR_RANGES(greater, uint8_t, x > y)
TROIKA_PAIR_RANGES(greater_or_equal, uint8_t, x >= y)
#undef TROIKA_PAIR_RANGES

template <typename Result>
using PairRangeOf = PairRange<Result> (*)(Steps);

// Runs the loops. The innermost is cut for the threads if it is alone.
template <typename Result>
class PairLoops {
 public:
  // `second` is the place of operand b among the inputs.
  PairLoops(const KernelRequest& request, size_t second, PairRangeOf<Result> range_of) {
    const Shape &a = request.graph.type(request.node.inputs[0]).shape,
                &b = request.graph.type(request.node.inputs[second]).shape,
                &y = request.graph.type(request.node.outputs[0]).shape;
    loops_ = broadcast_loops(aligned_shape(request.node, a, y.rank()), aligned_shape(request.node, b, y.rank()), y);
    const int inner = loops_.count - 1;
    length_ = loops_.size[inner];
    step_a_ = loops_.a[inner];
    step_b_ = loops_.b[inner];
    range_ = range_of(step_a_ == 0 ? Steps::b : step_b_ == 0 ? Steps::a : Steps::both);
    for (int i = 0; i < inner; ++i) runs_ *= loops_.size[i];
  }

  void run(const float* a, const float* b, Result* y) const {
    if (runs_ == 1)
      return parallel_for(length_, kArithmeticGrain, [&](int64_t begin, int64_t end) {
        range_(a + begin * step_a_, b + begin * step_b_, y + begin, end - begin);
      });
    parallel_for(runs_, std::max<int64_t>(1, kArithmeticGrain / std::max<int64_t>(1, length_)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t run = begin; run < end; ++run) {
                     int64_t rest = run, at_a = 0, at_b = 0;
                     for (int i = loops_.count - 2; i >= 0; --i) {
                       const int64_t k = rest % loops_.size[i];
                       rest /= loops_.size[i];
                       at_a += k * loops_.a[i];
                       at_b += k * loops_.b[i];
                     }
                     range_(a + at_a, b + at_b, y + run * length_, length_);
                   }
                 });
  }

 private:
  BroadcastLoops loops_;
  PairRange<Result> range_;
  int64_t length_, step_a_, step_b_, runs_ = 1;
};

template <typename Result>
KernelChoice choose_pair(const KernelRequest& request, const char* name, PairRangeOf<Result> range_of,
                         size_t second = 1) {
  const PairLoops<Result> loops(request, second, range_of);
  auto body = [loops, second](void* const* in, void* const* out, void*) {
    loops.run(static_cast<const float*>(in[0]), static_cast<const float*>(in[second]), static_cast<Result*>(out[0]));
  };
  return uniform_choice(request, nullptr, name, make_kernel(body));
}

// Operands of one shape, in whatever layout they share.
KernelChoice choose_flat_pair(const KernelRequest& request, const LayoutPtr& layout, const char* name,
                              PairRangeOf<float> range_of) {
  const int64_t n = static_cast<int64_t>(bytes_in(request.graph.type(request.node.outputs[0]), layout) / sizeof(float));
  const PairRange<float> range = range_of(Steps::both);
  auto body = [n, range](void* const* in, void* const* out, void*) {
    const auto *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
    auto* y = static_cast<float*>(out[0]);
    parallel_for(n, kArithmeticGrain,
                 [&](int64_t begin, int64_t end) { range(a + begin, b + begin, y + begin, end - begin); });
  };
  KernelChoice choice = uniform_choice(request, layout, name, make_kernel(body));
  choice.may_share = {{0, 0}, {0, 1}};
  return choice;
}

// A blocked side wins: the plain one is reordered to it. If f(0, 0) is not 0, padding would not
// stay 0.
KernelChoice choose_arithmetic(const KernelRequest& request, const char* name, PairRangeOf<float> range_of,
                               bool keeps_zero) {
  const Shape &a = request.graph.type(request.node.inputs[0]).shape,
              &b = request.graph.type(request.node.inputs[1]).shape;
  if (a != b) return choose_pair<float>(request, name, range_of);
  const LayoutPtr layout = request.input_layouts[0] ? request.input_layouts[0] : request.input_layouts[1];
  return choose_flat_pair(request, keeps_zero ? layout : nullptr, name, range_of);
}

PairRangeOf<uint8_t> range_of_relation(Relation relation) {
  switch (relation) {
    case Relation::equal: return equal_range;
    case Relation::not_equal: return not_equal_range;
    case Relation::less: return less_range;
    case Relation::less_or_equal: return less_or_equal_range;
    case Relation::greater: return greater_range;
    case Relation::greater_or_equal: return greater_or_equal_range;
  }
  return equal_range;
}

}  // namespace

KernelChoice select_broadcast_add(const KernelRequest& request) {
  return choose_pair<float>(request, "cpu:add", add_range);
}

KernelChoice select_subtract(const CpuDevice&, const KernelRequest& request) {
  return choose_arithmetic(request, "cpu:subtract", subtract_range, true);
}

KernelChoice select_multiply(const CpuDevice&, const KernelRequest& request) {
  return choose_arithmetic(request, "cpu:multiply", multiply_range, true);
}

KernelChoice select_divide(const CpuDevice&, const KernelRequest& request) {
  return choose_arithmetic(request, "cpu:divide", divide_range, false);
}

KernelChoice select_compare(const CpuDevice&, const KernelRequest& request) {
  return choose_pair<uint8_t>(request, "cpu:compare",
                              range_of_relation(relation_named(request.node.attributes.word("relation"))));
}

// A pair of x and x, of which the second is not used.
KernelChoice select_expand(const CpuDevice&, const KernelRequest& request) {
  return choose_pair<float>(request, "cpu:expand", first_range, 0);
}

}  // namespace troika::cpu
