// Tests of append_sgd: one update a group, with momentum as state where there is any.
#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "passes/passes.h"
#include "support/throws.h"

namespace troika {
namespace {

constexpr const char* kGradients = R"(
graph "net" {
  %0 : f32[3] parameter "a"
  %1 : f32[2, 2] parameter "b"
  (%2 : f32[3] gradient "a") = fill() "a" {shape=[3], value=0.0}
  (%3 : f32[2, 2] gradient "b") = fill() "b" {shape=[2, 2], value=0.0}
  return
})";

Graph with_sgd(const SgdSettings& settings, const std::vector<UpdateGroup>& groups, int64_t rates) {
  Graph graph = parse_graph(kGradients);
  append_sgd(graph, settings, groups, rates);
  verify(graph);
  return graph;
}

TEST(AppendSgd, UpdatesAGroupInOneNode) {
  EXPECT_GRAPH(with_sgd({}, {{{"b", "a"}, 0, 0.5}}, 1), R"(
graph "net" {
  %0 : f32[3] parameter "a"
  %1 : f32[2, 2] parameter "b"
  %4 : f32[1] settings "learning_rates"
  (%2 : f32[3] gradient "a") = fill() "a" {shape=[3], value=0.0}
  (%3 : f32[2, 2] gradient "b") = fill() "b" {shape=[2, 2], value=0.0}
  () = sgd_update(%4, %1, %3, %0, %2) "sgd" {group=0, momentum=0.0, nesterov=0, weight_decay=0.5}
  return
})");
}

TEST(AppendSgd, KeepsMomentumNamedAsItsParameter) {
  EXPECT_GRAPH(with_sgd({0.9, true}, {{{"b"}, 0, 0}, {{"a"}, 1, 0.25}}, 2), R"(
graph "net" {
  %0 : f32[3] parameter "a"
  %1 : f32[2, 2] parameter "b"
  %4 : f32[2] settings "learning_rates"
  %5 : f32[2, 2] optimizer_state "b"
  %6 : f32[3] optimizer_state "a"
  (%2 : f32[3] gradient "a") = fill() "a" {shape=[3], value=0.0}
  (%3 : f32[2, 2] gradient "b") = fill() "b" {shape=[2, 2], value=0.0}
  () = sgd_update(%4, %1, %3, %5) "sgd" {group=0, momentum=0.9, nesterov=1, weight_decay=0.0}
  () = sgd_update(%4, %0, %2, %6) "sgd" {group=1, momentum=0.9, nesterov=1, weight_decay=0.25}
  return
})");
}

TEST(AppendSgd, ClipsByOneFactorOfAllGradientsTogether) {
  SgdSettings settings;
  settings.max_gradient_norm = 2;
  EXPECT_GRAPH(with_sgd(settings, {{{"b"}, 0, 0}, {{"a"}, 1, 0}}, 2), R"(
graph "net" {
  %0 : f32[3] parameter "a"
  %1 : f32[2, 2] parameter "b"
  %4 : f32[2] settings "learning_rates"
  (%2 : f32[3] gradient "a") = fill() "a" {shape=[3], value=0.0}
  (%3 : f32[2, 2] gradient "b") = fill() "b" {shape=[2, 2], value=0.0}
  (%5 : f32[1], %6 : f32[1]) = clip_factor(%3, %2) "sgd" {eps=1e-06, max_norm=2.0}
  () = sgd_update(%4, %1, %3, %5) "sgd" {clipped=1, group=0, momentum=0.0, nesterov=0, weight_decay=0.0}
  () = sgd_update(%4, %0, %2, %5) "sgd" {clipped=1, group=1, momentum=0.0, nesterov=0, weight_decay=0.0}
  return gradient_norm %6
})");
}

TEST(AppendSgd, AsksTheOtherPartsOfTheModelForTheirNormsAndInfinities) {
  SgdSettings settings;
  settings.max_gradient_norm = 2;
  settings.is_scaled = true;
  Graph graph = parse_graph(kGradients);
  // Another rank counts "b", which this one holds as well.
  append_sgd(graph, settings, {{{"b", "a"}, 0, 0}}, 1, {1, 3, std::vector<std::string>{"a"}});
  verify(graph);
  EXPECT_GRAPH(graph, R"text(
graph "net" {
  %0 : f32[3] parameter "a"
  %1 : f32[2, 2] parameter "b"
  %4 : f32[1] settings "learning_rates"
  %5 : f32[2] buffer "(loss scale)"
  (%2 : f32[3] gradient "a") = fill() "a" {shape=[3], value=0.0}
  (%3 : f32[2, 2] gradient "b") = fill() "b" {shape=[2, 2], value=0.0}
  (%6 : i32[1]) = check_finite(%2) "sgd"
  (%7 : i32[1]) = all_finite(%6) "sgd"
  (%8 : f32[3]) = gradient_norm(%2) "sgd" {rank=1, ranks=3}
  (%9 : f32[3]) = model_sum(%8) "sgd"
  (%10 : f32[1], %11 : f32[1]) = clip_factor(%9, %5) "sgd" {eps=1e-06, max_norm=2.0, scaled=1}
  () = sgd_update(%4, %1, %3, %0, %2, %5, %7, %10) "sgd" {clipped=1, group=0, momentum=0.0, nesterov=0, scaled=1, weight_decay=0.0}
  () = update_loss_scale(%5, %7) "sgd" {
    backoff = 0.5, growth = 2.0, interval = 2000}
  return is_finite %7, gradient_norm %11
})text");
}

TEST(AppendSgd, ClipsWhatIsScaledByItsNormWithoutTheScaleAndGivesTheNorm) {
  SgdSettings settings;
  settings.max_gradient_norm = 0.5;
  settings.is_scaled = true;
  settings.scale_interval = 7;
  Graph graph = parse_graph(R"(
graph "net" {
  %0 : f32[3] parameter "a"
  (%1 : f32[3] gradient "a") = fill() "a" {shape=[3], value=0.0}
  (%2 : f32[1]) = fill() "loss" {shape=[1], value=0.0}
  return %2
})");
  append_sgd(graph, settings, {{{"a"}, 0, 0}}, 1);
  verify(graph);
  EXPECT_GRAPH(graph, R"graph(
graph "net" {
  %0 : f32[3] parameter "a"
  %3 : f32[1] settings "learning_rates"
  %4 : f32[2] buffer "(loss scale)"
  (%1 : f32[3] gradient "a") = fill() "a" {shape=[3], value=0.0}
  (%2 : f32[1]) = fill() "loss" {shape=[1], value=0.0}
  (%5 : i32[1]) = check_finite(%1) "sgd"
  (%6 : f32[1], %7 : f32[1]) = clip_factor(%1, %4) "sgd" {eps=1e-06, max_norm=0.5, scaled=1}
  () = sgd_update(%3, %0, %1, %4, %5, %6) "sgd" {clipped=1, group=0, momentum=0.0, nesterov=0, scaled=1, weight_decay=0.0}
  () = update_loss_scale(%4, %5) "sgd" {backoff=0.5, growth=2.0, interval=7}
  return %2, is_finite %5, gradient_norm %7
})graph");
}

TEST(AppendSgd, NamesAParameterThatHasNoGradient) {
  Graph graph = parse_graph(R"(graph "net" { %0 : f32[3] parameter "a" return })");
  EXPECT_THROWS(Status::internal, "sgd: no value 'a' in graph 'net'", (append_sgd(graph, {}, {{{"a"}, 0, 0}}, 1), 0));
}

}  // namespace
}  // namespace troika
