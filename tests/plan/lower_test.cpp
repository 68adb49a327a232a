// Tests of lowering with a device that computes nothing: reorders, sums of gradients in flight, and
// shared memory.
#include "plan/lower.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "plan/fake_device.h"
#include "support/throws.h"

namespace troika {
namespace {

StateEntry entry(const std::string& name, Shape shape, int bucket, bool is_buffer = false) {
  StateEntry result;
  result.name = name;
  result.type = {DType::f32, std::move(shape)};
  result.bucket = bucket;
  result.is_buffer = is_buffer;
  result.is_decided = is_buffer;
  return result;
}

std::string plan_text(const char* graph, std::map<std::string, FakeKernel> kernels,
                      std::vector<StateEntry> entries = {}) {
  FakeDevice device(std::move(kernels));
  StateTable state(std::move(entries), {});
  return "\n" + print_plan(lower(parse_graph(graph), device, state));
}

// ---- layouts ----

TEST(Lower, LaunchesNodesInTheirOrderWithoutReordersWhereLayoutsAgree) {
  EXPECT_EQ(plan_text(R"(
graph "net" {
  %0 : f32[16] samples "x"
  (%1 : f32[16]) = relu(%0) "a"
  (%2 : f32[16]) = relu(%1) "b"
  return %2
})",
                      {{"b", {{"plain"}, {"plain"}, 100}}}),
            R"(
plan net: 2 launches, 0.000 GFLOP, arena 0.0 MiB
  feed x -> arena+0:64
  relu 'a' by fake (plain -> plain) arena+0:64 -> arena+256:64
  relu 'b' by fake (plain -> plain) arena+256:64 -> arena+512:64 scratch arena+0:100
  result arena+512:64
)");
}

// ---- memory ----

// The places of the first input and output of the launch of "c".
std::pair<Location, Location> places_of_c(const std::string& graph, std::map<std::string, FakeKernel> kernels) {
  FakeDevice device(std::move(kernels));
  StateTable state({}, {});
  const Plan plan = lower(parse_graph(graph), device, state);
  for (const Launch& launch : plan.launches)
    if (launch.layer == "c") return {launch.inputs[0], launch.outputs[0]};
  throw std::logic_error("there is no launch of c");
}

// Else the launch of "c" would wait for the concurrent one.
TEST(Lower, SharesNoMemoryThatIsReadBeside) {
  const auto graph = [](const std::string& beside) {
    return R"(
graph "net" {
  %0 : f32[16] samples "x"
  (%1 : f32[16]) = relu(%0) "a"
  (%2 : f32[16]) = relu(%1) "b" )" +
           beside + R"(
  (%3 : f32[16]) = relu(%1) "c"
  (%4 : f32[16]) = relu(%3) "d"
  return %2, %4
})";
  };
  const FakeKernel shares{.may_share = {{0, 0}}};
  const auto [in_turn, taken] = places_of_c(graph("{beside=0}"), {{"c", shares}});
  EXPECT_EQ(taken.offset, in_turn.offset);
  const auto [beside, own] = places_of_c(graph("{beside=1}"), {{"c", shares}});
  EXPECT_NE(own.offset, beside.offset);
}

TEST(Lower, GivesNoMemoryToWhatAKernelDoesNotUse) {
  const auto [in, out] = places_of_c(R"(
graph "net" {
  %0 : f32[16] samples "x"
  (%1 : f32[16]) = relu(%0) "c"
  return
})",
                                     {{"c", {.unused_inputs = {0}, .unused_outputs = {0}}}});
  EXPECT_EQ(in.segment, Segment::none);
  EXPECT_EQ(out.segment, Segment::none);
}

TEST(Lower, RefusesAReaderOfWhatIsNotWritten) {
  FakeDevice device({{"a", {.unused_outputs = {0}}}});
  StateTable state({}, {});
  const Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[16] samples "x"
  (%1 : f32[16]) = relu(%0) "a"
  (%2 : f32[16]) = relu(%1) "b"
  return %2
})");
  EXPECT_THROWS(Status::internal, "'b' reads a value that no kernel writes, needs a stored one",
                lower(graph, device, state));
}

// A layer changes those of its inputs that its op names, an update all.
TEST(Lower, KnowsWhatALaunchChanges) {
  FakeDevice device;
  StateTable state({entry("w", {3}, 0), entry("b", {3}, 0), entry("mean", {3}, -1, true), entry("var", {3}, -1, true)},
                   {});
  const Plan plan = lower(parse_graph(R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "w"
  %2 : f32[3] parameter "b"
  %3 : f32[3] buffer "mean"
  %4 : f32[3] buffer "var"
  (%5 : f32[2, 3, 4, 4], %6 : f32[3], %7 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, _) "bn" {eps=1e-05, momentum=0.1, relu=0}
  return %5
})"),
                          device, state);
  const Launch& launch = plan.launches.back();
  ASSERT_EQ(launch.changed.size(), 3u);
  EXPECT_EQ(launch.changed[0].offset, launch.inputs[3].offset);
  EXPECT_EQ(launch.changed[1].offset, launch.inputs[4].offset);
  EXPECT_EQ(launch.changed[2].segment, Segment::none) << "there is no counter";
}

// ---- layouts ----

TEST(Lower, ReordersOnlyWhereLayoutsDisagreeAndLetsLaterReadersShareIt) {
  EXPECT_EQ(plan_text(R"(
graph "net" {
  %0 : f32[16] samples "x"
  (%1 : f32[16]) = relu(%0) "first"
  (%2 : f32[16]) = relu(%1) "wants B"
  (%3 : f32[16]) = relu(%1) "wants A"
  (%4 : f32[16]) = add(%1, %2) "wants B too"
  return %3, %4
})",
                      {{"first", {{"plain"}, {"A"}}},
                       {"wants B", {{"B"}, {"B"}}},
                       {"wants A", {{"A"}, {"plain"}}},
                       {"wants B too", {{"B", "B"}, {"plain"}}}}),
            R"(
plan net: 5 launches, 0.000 GFLOP, arena 0.0 MiB
  feed x -> arena+256:64
  relu 'first' by fake (plain -> A) arena+256:64 -> arena+0:128
  reorder 'wants B' by fake (A -> B) arena+0:128 -> arena+256:128
  relu 'wants B' by fake (B -> B) arena+256:128 -> arena+512:128
  relu 'wants A' by fake (A -> plain) arena+0:128 -> arena+768:64
  add 'wants B too' by fake (B, B -> plain) arena+256:128 arena+512:128 -> arena+0:64
  result arena+768:64
  result arena+0:64
)");
}

// "side" is the last reader of %1. Without concurrency, the output of "second" could use the memory
// of %1.
TEST(Lower, KeepsWhatALaunchBesideReadsUntilTheNextOfItsKind) {
  EXPECT_EQ(plan_text(R"(
graph "net" {
  %0 : f32[16] samples "x"
  (%1 : f32[16]) = relu(%0) "first"
  (%2 : f32[16]) = relu(%1) "row"
  (%3 : f32[16]) = relu(%1) "side" {beside=1}
  (%4 : f32[16]) = relu(%2) "second"
  (%5 : f32[16]) = relu(%4) "side" {beside=1}
  (%6 : f32[16]) = relu(%4) "third"
  return %3, %5, %6
})",
                      {}),
            R"(
plan net: 6 launches, 0.000 GFLOP, arena 0.0 MiB
  feed x -> arena+0:64
  relu 'first' by fake (plain -> plain) arena+0:64 -> arena+256:64
  relu 'row' by fake (plain -> plain) arena+256:64 -> arena+0:64
  beside relu 'side' by fake (plain -> plain) arena+256:64 -> arena+512:64
  relu 'second' by fake (plain -> plain) arena+0:64 -> arena+768:64
  beside relu 'side' by fake (plain -> plain) arena+768:64 -> arena+0:64
  relu 'third' by fake (plain -> plain) arena+768:64 -> arena+256:64
  result arena+512:64
  result arena+0:64
  result arena+256:64
)");
}

TEST(Lower, GivesResultsOutPlain) {
  EXPECT_EQ(plan_text(R"(
graph "net" {
  %0 : f32[16] samples "x"
  (%1 : f32[16]) = relu(%0) "a"
  return %1
})",
                      {{"a", {{"A"}, {"A"}}}}),
            R"(
plan net: 3 launches, 0.000 GFLOP, arena 0.0 MiB
  feed x -> arena+256:64
  reorder 'x' by fake (plain -> A) arena+256:64 -> arena+0:128
  relu 'a' by fake (A -> A) arena+0:128 -> arena+256:128
  reorder 'output' by fake (A -> plain) arena+256:128 -> arena+0:64
  result arena+0:64
)");
}

constexpr const char* kTwoReaders = R"(
graph "net" {
  %0 : f32[4, 4] samples "x"
  %1 : f32[4, 4] parameter "w"
  (%2 : f32[4, 4]) = linear(%0, %1, _) "first"
  (%3 : f32[4, 4]) = linear(%2, %1, _) "second"
  return %3
})";

TEST(Lower, LetsTheFirstReaderDecideAParametersLayout) {
  EXPECT_EQ(plan_text(kTwoReaders, {{"first", {{"plain", "A"}, {}}}, {"second", {{"plain", "B"}, {}}}},
                      {entry("w", {4, 4}, -1)}),
            R"(
plan net: 3 launches, 0.000 GFLOP, arena 0.0 MiB
  feed x -> arena+0:64
  linear 'first' by fake (plain, A -> plain) arena+0:64 parameters+0:128 _ -> arena+256:64
  reorder 'w' by fake (A -> B) parameters+0:128 -> arena+0:128
  linear 'second' by fake (plain, B -> plain) arena+256:64 arena+0:128 _ -> arena+512:64
  result arena+512:64
)");
}

TEST(Lower, KeepsTheLayoutsOfAStateTableThatIsPlaced) {
  FakeDevice device({{"first", {{"plain", "A"}, {}}}, {"second", {{"plain", "A"}, {}}}});
  StateTable state({entry("w", {4, 4}, -1)}, {});
  state.place();  // plain
  const Plan plan = lower(parse_graph(kTwoReaders), device, state);
  EXPECT_EQ(state.find("w").layout, nullptr);
  ASSERT_EQ(plan.launches.size(), 3u) << "one reorder, for both readers";
  EXPECT_EQ(plan.launches[0].op, "reorder");
}

// Notes what it is asked for.
struct FakePackedState : PackedState {
  std::vector<std::string> asked;
  Location pack(Device&, const StateEntry& entry, const LayoutPtr& layout) override {
    asked.push_back(text(entry.name, " as ", layout_name(layout)));
    return {Segment::packed, 4096 * asked.size(), layout ? layout->bytes() : entry.type.bytes()};
  }
};

TEST(Lower, KeepsParametersInTheLayoutsOfLaterPlans) {
  StateTable state({entry("w", {4, 4}, -1)}, {});
  FakePackedState packed;
  state.set_packed(&packed);
  FakeDevice with_a({{"first", {{"plain", "A"}, {}}}, {"second", {{"plain", "A"}, {}}}});
  EXPECT_EQ(lower(parse_graph(kTwoReaders), with_a, state).launches.size(), 2u);
  EXPECT_TRUE(packed.asked.empty()) << "the first plan chose the layout";
  FakeDevice with_b({{"first", {{"plain", "B"}, {}}}, {"second", {{"plain", "B"}, {}}}});
  const Plan plan = lower(parse_graph(kTwoReaders), with_b, state);
  ASSERT_EQ(plan.launches.size(), 2u) << "no reorders";
  EXPECT_EQ(packed.asked, std::vector<std::string>{"w as B"});
  for (const Launch& launch : plan.launches) {
    EXPECT_EQ(launch.inputs[1].segment, Segment::packed);
    EXPECT_EQ(launch.inputs[1].offset, 4096u);
    EXPECT_EQ(launch.inputs[1].bytes, 128u);
  }
  EXPECT_NE(print_plan(plan).find("packed:128"), std::string::npos) << print_plan(plan);
}

TEST(Lower, RefusesAKernelThatChangesStateThroughACopy) {
  constexpr const char* kStatistics = R"(
graph "net" {
  %0 : f32[2, 3, 4, 4] samples "x"
  %1 : f32[3] parameter "weight"
  %2 : f32[3] parameter "bias"
  %3 : f32[3] buffer "mean"
  %4 : f32[3] buffer "var"
  %5 : i64[] buffer "batches"
  (%6 : f32[2, 3, 4, 4], %7 : f32[3], %8 : f32[3]) = batch_norm2d(%0, %1, %2, %3, %4, %5, _) "bn" {eps=1e-05, momentum=0.1}
  return %6
})";
  EXPECT_THROWS(Status::internal, "batch_norm2d 'bn': changes state that is not stored as its kernel needs",
                plan_text(kStatistics, {{"bn", {{"plain", "plain", "plain", "A"}, {}}}},
                          {entry("weight", {3}, -1), entry("bias", {3}, -1), entry("mean", {3}, -1, true),
                           entry("var", {3}, -1, true), entry("batches", {}, -1, true)}));
}

// ---- gradients ----

constexpr const char* kStep = R"(
graph "net" {
  %0 : f32[4, 4] samples "x"
  %1 : f32[4, 4] parameter "a"
  %2 : f32[4, 4] parameter "b"
  %8 : f32[1, 4] settings "settings"
  (%3 : f32[4, 4]) = linear(%0, %1, _) "a"
  (%4 : f32[4, 4]) = linear(%3, %2, _) "b"
  (%5 : f32[4, 4] gradient "b") = linear_weight_gradient(%3, %4) "b'" {bias=0}
  () = all_reduce(%5) "bucket0" {bucket=0}
  (%6 : f32[4, 4]) = linear_input_gradient(%2, %4) "b*" {input_shape=[4, 4]}
  (%7 : f32[4, 4] gradient "a") = linear_weight_gradient(%0, %6) "a'" {bias=0}
  () = all_reduce(%7) "bucket1" {bucket=1}
  () = sgd_update(%8, _, _, _, _, %2, %5) "sgd b" {row=0, slots=0}
  () = sgd_update(%8, _, _, _, _, %1, %7) "sgd a" {row=0, slots=0}
  return
})";

// One copy transfers all numbers that the host feeds, and one copy all numbers that it reads,
// although none of these numbers live for the whole step.
TEST(Lower, PutsNumbersForAndFromTheHostTogether) {
  const std::string text = R"(
graph "net" {
  %0 : f32[3, 4] samples "x"
  %1 : i32[3] targets "target"
  %2 : i64[2] counter "dropout_counter"
  %3 : f32[3] settings "learning_rates"
  (%4 : f32[3, 4]) = dropout(%0, %2) "drop" {layer=1, probability=0.5, sample_offset=0}
  (%5 : f64[1], %6 : i64[1], %7 : f32[3, 4]) = cross_entropy(%4, %1) "loss" {scale=1.0}
  (%8 : f32[3, 4]) = add(%7, %0) "sum"
  return loss %5, correct %6, %8
})";
  FakeDevice device;
  StateTable state({}, {});
  const Plan plan = lower(parse_graph(text), device, state);
  const Location fed = plan.fed_numbers, results = plan.result_numbers;
  for (const auto& [role, name, at] : plan.inputs) {
    if (is_of_samples(role)) continue;
    EXPECT_TRUE(at.offset >= fed.offset && at.offset + at.bytes <= fed.offset + fed.bytes) << print_plan(plan);
  }
  EXPECT_EQ(fed.bytes, 16u + 12);
  for (size_t i : {0, 1}) {
    const Location& at = plan.outputs[i].location;
    EXPECT_TRUE(at.offset >= results.offset && at.offset + at.bytes <= results.offset + results.bytes);
  }
  EXPECT_EQ(results.bytes, 16u + 8);
  for (const Launch& launch : plan.launches)
    for (const auto* places : {&launch.inputs, &launch.outputs})
      for (const Location& at : *places) {
        if (at.bytes <= 16) continue;
        EXPECT_GE(at.offset, results.offset + results.bytes) << "overlaps the numbers: " << print_plan(plan);
      }
}

// b's gradient is computed in the layout of b, directly in its place. a's gradient is reordered
// into its place before its bucket starts. Each update waits only for its own bucket.
TEST(Lower, LandsGradientsInTheParametersLayoutAndWaitsBeforeTheFirstReaderOfABucket) {
  EXPECT_EQ(
      plan_text(
          kStep,
          {{"a", {{"plain", "A"}, {}}}, {"b", {{"plain", "B"}, {}}}, {"b'", {{}, {"B"}}}, {"a'", {{}, {"plain"}}}},
          {entry("b", {4, 4}, 0), entry("a", {4, 4}, 1)}),
      R"(
plan net: 8 launches, 0.000 GFLOP, arena 0.0 MiB
  feed x -> arena+256:64
  feed settings -> arena+0:16
  linear 'a' by fake (plain, A -> plain) arena+256:64 parameters+128:128 _ -> arena+512:64
  linear 'b' by fake (plain, B -> plain) arena+512:64 parameters+0:128 _ -> arena+768:64
  linear_weight_gradient 'b'' by fake (plain, plain -> B) arena+512:64 arena+768:64 -> gradients+0:128
  start all_reduce bucket 0
  linear_input_gradient 'b*' by fake (B, plain -> plain) parameters+0:128 arena+768:64 -> arena+512:64
  linear_weight_gradient 'a'' by fake (plain, plain -> plain) arena+256:64 arena+512:64 -> arena+768:64
  reorder 'a' by fake (plain -> A) arena+768:64 -> gradients+128:128
  start all_reduce bucket 1
  wait all_reduce bucket 0
  sgd_update 'sgd b' by fake (plain, B, B -> ) arena+0:16 _ _ _ _ parameters+0:128 gradients+0:128 -> 
  wait all_reduce bucket 1
  sgd_update 'sgd a' by fake (plain, A, A -> ) arena+0:16 _ _ _ _ parameters+128:128 gradients+128:128 -> 
)");
}

TEST(Lower, WaitsForABucketOnce) {
  const std::string plan = plan_text(R"(
graph "net" {
  %0 : f32[1, 4] settings "settings"
  %1 : f32[4] parameter "a"
  %2 : f32[4] parameter "b"
  (%3 : f32[4] gradient "a") = fill() "a" {shape=[4], value=0.0}
  (%4 : f32[4] gradient "b") = fill() "b" {shape=[4], value=0.0}
  () = all_reduce(%3, %4) "bucket0" {bucket=0}
  () = sgd_update(%0, _, _, _, _, %1, %3) "sgd" {row=0, slots=0}
  () = sgd_update(%0, _, _, _, _, %2, %4) "sgd" {row=0, slots=0}
  return
})",
                                     {}, {entry("a", {4}, 0), entry("b", {4}, 0)});
  const size_t first = plan.find("wait all_reduce bucket 0");
  EXPECT_NE(first, std::string::npos) << plan;
  EXPECT_EQ(plan.find("wait all_reduce", first + 1), std::string::npos) << plan;
}

// The sum of the step before is awaited before its update; that of this step is not.
TEST(Lower, WaitsForTheLateSumOfTheStepBefore) {
  EXPECT_EQ(plan_text(R"(
graph "net" {
  %0 : f32[1, 4] settings "settings"
  %1 : f32[4] parameter "a"
  () = sgd_update(%0, _, _, _, _, %1, %2) "sgd" {late=1, row=0, slots=0}
  (%2 : f32[4] gradient "a") = fill() "a" {shape=[4], value=0.0}
  () = all_reduce(%2) "bucket0" {bucket=0, late=1}
  return
})",
                      {}, {entry("a", {4}, 0)}),
            R"(
plan net: 2 launches, 0.000 GFLOP, arena 0.0 MiB
  feed settings -> arena+0:16
  late wait all_reduce bucket 0
  late sgd_update 'sgd' by fake (plain, plain, plain -> ) arena+0:16 _ _ _ _ parameters+0:16 gradients+0:16 -> 
  fill 'a' by fake ( -> plain)  -> gradients+0:16
  start all_reduce bucket 0
)");
}

// ---- memory ----

std::string chain(const char* nodes) {
  return std::string("graph \"net\" { %0 : f32[16] samples \"x\" ") + nodes + "}";
}

Plan plan_of(const std::string& graph, std::map<std::string, FakeKernel> kernels) {
  FakeDevice device(std::move(kernels));
  StateTable state({}, {});
  return lower(parse_graph(graph), device, state);
}

const FakeKernel kInPlace{{}, {}, 0, {{0, 0}}};

TEST(Lower, LetsAnOutputTakeOverTheMemoryOfAnInputThatDies) {
  const Plan plan = plan_of(
      chain(
          "(%1 : f32[16]) = relu(%0) \"a\" (%2 : f32[16]) = relu(%1) \"b\" (%3 : f32[16]) = relu(%2) \"c\" return %3"),
      {{"b", kInPlace}});
  EXPECT_EQ(plan.launches[1].outputs[0].offset, plan.launches[1].inputs[0].offset);
  EXPECT_NE(plan.launches[2].outputs[0].offset, plan.launches[2].inputs[0].offset)
      << "this kernel did not say that it can";
}

TEST(Lower, KeepsAnInputThatLivesOn) {
  const Plan plan = plan_of(
      chain("(%1 : f32[16]) = relu(%0) \"a\" (%2 : f32[16]) = relu(%1) \"b\" (%3 : f32[16]) = add(%1, %2) \"c\" "
            "(%4 : f32[16]) = relu(%3) \"d\" return %4"),
      {{"b", kInPlace}, {"c", kInPlace}});
  EXPECT_NE(plan.launches[1].outputs[0].offset, plan.launches[1].inputs[0].offset);
  EXPECT_EQ(plan.launches[2].outputs[0].offset, plan.launches[2].inputs[0].offset) << "here it dies";
}

TEST(Lower, KeepsWhatTheStepIsFedAndWhatItGivesOut) {
  const Plan plan = plan_of(chain("(%1 : f32[16]) = relu(%0) \"a\" (%2 : f32[16]) = relu(%1) \"b\" return %2, %1"),
                            {{"a", kInPlace}, {"b", kInPlace}});
  EXPECT_NE(plan.launches[0].outputs[0].offset, plan.inputs[0].location.offset);
  EXPECT_NE(plan.outputs[0].location.offset, plan.outputs[1].location.offset);
}

TEST(Lower, KeepsMemoryThatIsTooSmallForTheOutput) {
  const Plan plan = plan_of(
      chain(
          "(%1 : f32[16]) = relu(%0) \"a\" (%2 : f32[16]) = relu(%1) \"b\" (%3 : f32[16]) = relu(%2) \"c\" return %3"),
      {{"b", {{}, {"A"}, 0, {{0, 0}}}}, {"c", {{"A"}, {}}}});
  EXPECT_NE(plan.launches[1].outputs[0].offset, plan.launches[1].inputs[0].offset);
}

TEST(Lower, HandsMemoryDownAChainOfKernels) {
  const Plan plan =
      plan_of(chain("(%1 : f32[16]) = relu(%0) \"a\" (%2 : f32[16]) = relu(%1) \"b\" (%3 : f32[16]) = relu(%2) \"c\" "
                    "(%4 : f32[16]) = relu(%3) \"d\" (%5 : f32[16]) = relu(%4) \"e\" return %5"),
              {{"b", kInPlace}, {"c", kInPlace}, {"d", kInPlace}});
  for (size_t i : {1, 2, 3}) EXPECT_EQ(plan.launches[i].outputs[0].offset, plan.launches[0].outputs[0].offset);
}

// A view keeps its source's memory alive as long as the view or the source is read.
TEST(Lower, LetsViewsShareTheMemoryOfWhatTheyShow) {
  const Plan plan = plan_of(R"(
graph "net" {
  %0 : f32[2, 4] samples "x"
  (%1 : f32[2, 4]) = relu(%0) "a"
  (%2 : f32[2, 2, 2]) = reshape(%1) "view" {shape=[2, 2]}
  (%3 : f32[2, 4]) = relu(%1) "b"
  (%4 : f32[2, 2, 2]) = relu(%2) "c"
  (%5 : f32[2, 4]) = relu(%3) "d"
  return %4, %5
})",
                            {{"b", kInPlace}});
  ASSERT_EQ(plan.launches.size(), 4u) << "a view has no kernel";
  EXPECT_EQ(plan.launches[2].inputs[0].offset, plan.launches[0].outputs[0].offset);
  EXPECT_NE(plan.launches[1].outputs[0].offset, plan.launches[0].outputs[0].offset)
      << "b must not overwrite the source of the view";
}

TEST(Lower, MakesAViewOfAPlainCopyWhereItsSourceLiesOtherwise) {
  const Plan plan = plan_of(R"(
graph "net" {
  %0 : f32[2, 4] samples "x"
  (%1 : f32[2, 4]) = relu(%0) "a"
  (%2 : f32[2, 2, 2]) = reshape(%1) "view" {shape=[2, 2]}
  return %2
})",
                            {{"a", {{}, {"A"}}}});
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_EQ(plan.launches[1].op, "reorder");
  EXPECT_EQ(plan.outputs[0].location.offset, plan.launches[1].outputs[0].offset);
}

}  // namespace
}  // namespace troika
