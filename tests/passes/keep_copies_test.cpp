// Tests of keep_copies: 16-bit copies of parameters that updates write.
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/passes.h"

namespace troika {
namespace {

const std::string kBegin = R"(
graph "net" {
  %0 : f32[2, 4] samples "x"
  %1 : f32[3, 4] parameter "fc.weight"
  %2 : f32[3] parameter "fc.bias"
  %3 : f32[5, 3] parameter "frozen.weight"
  %4 : f32[1, 4] settings "settings"
  %5 : f32[3, 4] optimizer_state "momentum/fc.weight"
  %6 : f32[3] optimizer_state "momentum/fc.bias"
)";
const std::string kGradients = R"(
  (%9 : f32[3, 4] gradient "fc.weight") = fill() "a" {shape=[3, 4], value=0.0}
  (%10 : f32[3] gradient "fc.bias") = fill() "b" {shape=[3], value=0.0}
)";

Graph kept(const std::string& text) {
  Graph graph = parse_graph(text);
  keep_copies(graph);
  verify(graph);
  return graph;
}

TEST(KeepCopies, AreStateThatTheUpdateWritesAndAreMadeFirst) {
  EXPECT_GRAPH(kept(kBegin + R"(
  (%12 : f32[2, 4]) = relu(%0) "first"
  (%7 : bf16[3, 4], %8 : bf16[5, 3]) = cast_all(%1, %3) "parameters" {dtype=6}
)" + kGradients + R"(
  () = sgd_update(%4, _, _, _, _, %1, %9, %5, %2, %10, %6) "sgd" {row=0, slots=1}
  return %7, %8, %12
})"),
               kBegin + R"(
  %13 : bf16[3] copy "copy/fc.bias"
  (%7 : bf16[3, 4] copy "copy/fc.weight", %8 : bf16[5, 3] copy "copy/frozen.weight") = cast_all(%1, %3) "parameters" {dtype=6}
  (%12 : f32[2, 4]) = relu(%0) "first"
)" + kGradients + R"(
  () = sgd_update(%4, _, _, _, _, %1, %9, %7, %5, %2, %10, %13, %6) "sgd" {copies=1, row=0, slots=1}
  return %7, %8, %12
})");
}

TEST(KeepCopies, LeavesAStepWithoutCasts) {
  const std::string text = kBegin + kGradients + R"(
  () = sgd_update(%4, _, _, _, _, %1, %9, %5, %2, %10, %6) "sgd" {row=0, slots=1}
  return
})";
  EXPECT_GRAPH(kept(text), text);
}

TEST(KeepCopies, LeavesCastsOfGradients) {
  const std::string text = kBegin + R"(
  %7 : bf16[3, 4] input "dw"
  (%9 : f32[3, 4] gradient "fc.weight") = cast_all(%7) "gradients" {dtype=1}
  return
})";
  EXPECT_GRAPH(kept(text), text);
}

TEST(KeepCopies, LeavesNormsAndAverages) {
  const std::string begin = kBegin + R"(
  %12 : f32[3, 4] optimizer_state "average/fc.weight"
)",
                    cast = R"(  (%7 : bf16[3, 4]CAST) = cast_all(%1) "parameters" {dtype=6}
)",
                    norms = R"(
  (%13 : f32[2]) = lars_norms(%8, _, _, _, _, %1, %9) "lars" {places=[0], row=0, slots=0, total=1}
)",
                    average = R"(
  () = average_update(_, %12, %1) "average" {decay=0.99}
  return %7
})",
                    settings = "  %8 : f32[1, 5] settings \"settings\"\n";
  const auto with = [&](const std::string& role, const std::string& update) {
    std::string made = cast;
    return begin + settings + made.replace(made.find("CAST"), 4, role) + kGradients + norms + update + average;
  };
  EXPECT_GRAPH(
      kept(with("", "  () = lars_update(%8, _, _, _, %13, %1, %9, %5) \"lars\" {places=[0], row=0, slots=1}\n")),
      with(" copy \"copy/fc.weight\"",
           "  () = lars_update(%8, _, _, _, %13, %1, %9, %7, %5) \"lars\" {copies=1, places=[0], row=0, slots=1}\n"));
}

}  // namespace
}  // namespace troika
