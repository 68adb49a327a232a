// Runs a flow of calls while every allocation of each call fails in its turn, and compares what the flow gives.
#pragma once

#include <gtest/gtest.h>
#include <troika/troika.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/allocation_hooks.h"

namespace troika::test {

enum class Failing { nothing, one, all_from_there };

// Runs calls under one way of failing.
class Calls {
 public:
  explicit Calls(Failing failing) : failing_(failing) {}

  // Makes `call(error)` again and again, while allocation 1, 2, 3 ... of it fails, until none does. Beyond the first few
  // hundred some are left out, more and more.
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
      EXPECT_EQ(status, TROIKA_ERROR_OUT_OF_MEMORY)
          << what << " without allocation " << n << ": " << troika_status_name(status) << ": " << error.message;
      EXPECT_NE(error.message[0], '\0') << what;
      if (status != TROIKA_ERROR_OUT_OF_MEMORY) return status;
    }
    const troika_status status = call(&error);
    EXPECT_GE(status, 0) << what << ": " << error.message;
    return status;
  }

  // The same for a call that gives a handle, which is NULL after a failure.
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
  int64_t failures_ = 0;
};

// What a flow leaves behind, to be compared: bytes of parameters, losses, texts.
using Result = std::vector<std::string>;

template <typename Value>
void keep(Result& result, const Value& value) {
  result.emplace_back(reinterpret_cast<const char*>(&value), sizeof value);
}

// Runs the flow untouched, then under both ways of failing, and compares results and live allocations.
template <typename Flow>
void run_flow(Flow&& flow) {
  Calls untouched(Failing::nothing);
  flow(untouched);  // what is made once a process is made here
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
  EXPECT_LE(live_allocations(), before);  // a library may give up what it had made once, when memory fails under it
}

}  // namespace troika::test
