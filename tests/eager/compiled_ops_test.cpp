// Compiled ops by their calls.
#include "eager/compiled_ops.h"

#include <gtest/gtest.h>

#include <set>

#include "support/test_context.h"
#include "support/test_device.h"

namespace troika {
namespace {

OpCall scale_call(double factor, int64_t n = 4) {
  return {&scale_op, {{"factor", factor}, {"offset", 0.0}}, {{DType::f32, {n}}}, {true}};
}

TEST(CompiledOps, finds_an_op_again_by_settings_and_types) {
  const auto device = BackendRegistry::create(test_backends())->open(test_device(), {});
  const BorrowedThread thread(*device);
  CompiledOps ops(10);
  CompiledOp* const first = &ops.find(*device, scale_call(2));
  EXPECT_NE(&ops.find(*device, scale_call(3)), first);
  EXPECT_NE(&ops.find(*device, scale_call(2, 5)), first);
  EXPECT_EQ(&ops.find(*device, scale_call(2)), first);
  EXPECT_EQ(ops.size(), 3u);
}

TEST(CompiledOps, forgets_those_that_were_not_used_for_longest) {
  const auto device = BackendRegistry::create(test_backends())->open(test_device(), {});
  const BorrowedThread thread(*device);
  CompiledOps ops(3);
  CompiledOp* const kept = &ops.find(*device, scale_call(1));
  for (int i = 2; i < 20; ++i) {
    ops.find(*device, scale_call(i));
    EXPECT_EQ(&ops.find(*device, scale_call(1)), kept);
  }
  EXPECT_EQ(ops.size(), 3u);
}

// Settings differ in slices and rates, types do not: buckets must not become lists.
TEST(CompiledOps, calls_that_differ_in_one_setting_have_different_hashes) {
  std::set<size_t> hashes;
  for (int i = 0; i < 1000; ++i) {
    hashes.insert(OpCallHash()(scale_call(0.001 * i)) % 1021);
    const OpCall slice{
        &slice_channels_op, {{"begin", int64_t{i}}, {"end", int64_t{i} + 1}}, {{DType::f32, {2, 1000}}}, {true}};
    hashes.insert(1021 + OpCallHash()(slice) % 1021);
  }
  EXPECT_GT(hashes.size(), 1000u);  // of 2,000 in 2,042 buckets, about 1,270 are expected to be hit
}

}  // namespace
}  // namespace troika
