// Runs a flow of calls while each allocation of each call fails in turn, and compares the flow's
// results.
#pragma once

#include <gtest/gtest.h>
#include <troika/troika.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/allocation_hooks.h"

namespace troika::test {

enum class Failing { nothing, one, all_from_there };

// Runs calls with one way of failing.
class Calls {
 public:
  explicit Calls(Failing failing) : failing_(failing) {}

  // From now on a call may also succeed without the memory: it frees kept memory and tries again,
  // or keeps nothing for later calls.
  void let_calls_recover() { may_recover_ = true; }

  // Repeats `call(error)` while its allocation 1, 2, 3 ... fails, until no allocation fails. After
  // the first 200, skips more and more allocations.
  template <typename Call>
  troika_status operator()(const char* what, Call&& call) {
    troika_error error{};
    for (int64_t n = 1; failing_ != Failing::nothing; n += 1 + n / 200) {
      fail_allocation(n, failing_ == Failing::all_from_there);
      const troika_status status = call(&error);
      if (!stop_failing()) {
        EXPECT_GE(status, 0) << what << ": " << error.message;
        return status;
      }
      ++failures_;
      if (may_recover_ && status >= 0) return status;
      EXPECT_EQ(status, TROIKA_ERROR_OUT_OF_MEMORY)
          << what << " without allocation " << n << ": " << troika_status_name(status) << ": " << error.message;
      EXPECT_NE(error.message[0], '\0') << what;
      if (status != TROIKA_ERROR_OUT_OF_MEMORY) return status;
    }
    const troika_status status = call(&error);
    EXPECT_GE(status, 0) << what << ": " << error.message;
    return status;
  }

  // Does the same for a call that creates a handle, which must be NULL after a failure.
  template <typename Handle, typename Call>
  Handle make(const char* what, Call&& call) {
    Handle handle = nullptr;
    (*this)(what, [&](troika_error* error) {
      handle = reinterpret_cast<Handle>(&error);
      const troika_status status = call(&handle, error);
      if (status < 0) {
        EXPECT_EQ(handle, nullptr) << what;
      }
      return status;
    });
    return handle;
  }

  int64_t failures() const { return failures_; }

 private:
  const Failing failing_;
  bool may_recover_ = false;
  int64_t failures_ = 0;
};

// The results of a flow, to be compared: bytes of parameters, losses, texts.
using Result = std::vector<std::string>;

template <typename Value>
void keep(Result& result, const Value& value) {
  result.emplace_back(reinterpret_cast<const char*>(&value), sizeof value);
}

// Runs the flow without failures, then with both ways of failing, and compares results and live
// allocations.
template <typename Flow>
void run_flow(Flow&& flow) {
  Calls untouched(Failing::nothing);
  flow(untouched);  // allocates everything that is allocated once per process
  const int64_t before = live_allocations();
  {
    const Result expected = flow(untouched);
    for (const Failing failing : {Failing::one, Failing::all_from_there}) {
      const int64_t live = live_allocations();
      Calls calls(failing);
      {
        const Result found = flow(calls);
        EXPECT_EQ(found.size(), expected.size());
        for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
          EXPECT_EQ(found[i], expected[i]) << "result " << i;
      }
      EXPECT_GT(calls.failures(), 10);
      EXPECT_EQ(live_allocations(), live) << "allocations were leaked";
      if (testing::Test::HasFailure()) return;
    }
  }
  // Less or equal: a library may free memory that it allocates once per process, if memory runs
  // out.
  EXPECT_LE(live_allocations(), before);
}

}  // namespace troika::test
