// Tests of append_optimizer: one update per group, after conditioning and before averages. The
// optimizer's slots are state.
#include "passes/optimizer.h"

#include <gtest/gtest.h>

#include "passes/graph_text.h"
#include "support/throws.h"

namespace troika {
namespace {

const std::string kParameters = R"(
graph "net" {
  %0 : f32[3] parameter "a"
  %1 : f32[2, 2] parameter "b"
)",
                  kGradients = R"(
  (%2 : f32[3] gradient "a") = fill() "a" {shape=[3], value=0.0}
  (%3 : f32[2, 2] gradient "b") = fill() "b" {shape=[2, 2], value=0.0}
)";

OptimizerStep step_of(std::vector<UpdateGroup> groups) {
  OptimizerStep step;
  step.groups = std::move(groups);
  step.counted.names = {"b", "a"};
  for (const UpdateGroup& group : step.groups) step.rows = std::max(step.rows, group.row + 1);
  return step;
}

// Expects a graph of the parameters, `state`, the gradients and `nodes`.
void expect_step(const OptimizerStep& step, const std::string& state, const std::string& nodes) {
  Graph graph = parse_graph(kParameters + kGradients + "return }");
  append_optimizer(graph, step);
  verify(graph);
  EXPECT_GRAPH(graph, kParameters + state + kGradients + nodes + "}");
}

TEST(AppendOptimizer, UpdatesAGroupInOneNode) {
  expect_step(step_of({{{"b", "a"}}}), R"(%4 : f32[1, 4] settings "settings")",
              R"(() = sgd_update(%4, _, _, _, _, %1, %3, %0, %2) "sgd" {row=0, slots=0} return)");
}

TEST(AppendOptimizer, KeepsSlotsNamedAfterTheirParameters) {
  OptimizerStep step = step_of({{{"b"}}, {{"a"}, 1, true}});
  step.slots = {"momentum"};
  expect_step(step, R"(
  %4 : f32[2, 4] settings "settings"
  %5 : f32[2, 2] optimizer_state "momentum/b"
  %6 : f32[3] optimizer_state "momentum/a"
)",
              R"(
  () = sgd_update(%4, _, _, _, _, %1, %3, %5) "sgd" {row=0, slots=1}
  () = sgd_update(%4, _, _, _, _, %0, %2, %6) "sgd" {row=1, skips_decay=1, slots=1}
  return
)");
}

TEST(AppendOptimizer, CountsUpdatesAndAveragesWhatTheyLeave) {
  OptimizerStep step = step_of({{{"b"}}});
  step.optimizer = &adam_optimizer;
  step.slots = {"mean", "square"};
  step.average_decay = 0.99;
  expect_step(step, R"graph(
  %4 : f32[1, 5] settings "settings"
  %5 : i64[1] buffer "(updates)"
  %6 : f32[2, 2] optimizer_state "mean/b"
  %7 : f32[2, 2] optimizer_state "square/b"
  %8 : f32[2, 2] optimizer_state "average/b"
)graph",
              R"(
  () = count_updates(%5, _) "adam"
  () = adam_update(%4, _, _, %5, _, %1, %3, %6, %7) "adam" {row=0, slots=2}
  () = average_update(_, %8, %1) "adam" {decay=0.99}
  return
)");
}

TEST(AppendOptimizer, FindsNormsOfEachGroupThatNeedsThem) {
  OptimizerStep step = step_of({{{"b"}, 0, false, true}, {{"a"}, 0, true}});
  step.optimizer = &lars_optimizer;
  step.slots = {"momentum"};
  expect_step(step, R"(
  %4 : f32[1, 5] settings "settings"
  %5 : f32[2, 2] optimizer_state "momentum/b"
  %6 : f32[3] optimizer_state "momentum/a"
)",
              R"(
  (%7 : f32[2]) = lars_norms(%4, _, _, _, _, %1, %3) "lars" {places=[0], row=0, slots=0, total=1}
  () = lars_update(%4, _, _, _, %7, %1, %3, %5) "lars" {places=[0], row=0, slots=1}
  () = lars_update(%4, _, _, _, _, %0, %2, %6) "lars" {row=0, skips_decay=1, slots=1}
  return
)");
}

// This rank also holds "b", but another rank of the channel group adds its norm. This rank holds no
// part of "c".
TEST(AppendOptimizer, SumsTheNormsOfParametersThatAreCutByChannel) {
  OptimizerStep step = step_of({{{"b"}, 0, false, true}, {{"a"}, 1, false, true}});
  step.optimizer = &lamb_optimizer;
  step.slots = {"mean", "square"};
  step.counted = {1, 2, {"a"}};
  step.split_norms = {"a", "b", "c"};
  expect_step(step, R"graph(
  %4 : f32[2, 5] settings "settings"
  %5 : i64[2] buffer "(updates)"
  %6 : f32[2, 2] optimizer_state "mean/b"
  %7 : f32[2, 2] optimizer_state "square/b"
  %8 : f32[3] optimizer_state "mean/a"
  %9 : f32[3] optimizer_state "square/a"
)graph",
              R"(
  () = count_updates(%5, _) "lamb"
  (%10 : f32[8]) = lamb_moments(%4, _, _, %5, _, %1, %3, %6, %7) "lamb" {places=[3], row=0, slots=2, total=4}
  (%11 : f32[8]) = lamb_moments(%4, _, _, %5, %10, %0, %2, %8, %9) "lamb" {places=[0], row=1, slots=2, total=4}
  (%12 : f32[8]) = channel_sum(%11) "lamb"
  () = lamb_update(%4, _, _, %5, %12, %1, %3, %6, %7) "lamb" {places=[1], row=0, slots=2}
  () = lamb_update(%4, _, _, %5, %12, %0, %2, %8, %9) "lamb" {places=[0], row=1, slots=2}
  return
)");
}

TEST(AppendOptimizer, ClipsByOneFactorOfAllGradientsTogether) {
  OptimizerStep step = step_of({{{"b"}}, {{"a"}, 1}});
  step.conditioning.max_norm = 2;
  expect_step(step, R"(%4 : f32[2, 4] settings "settings")", R"(
  (%5 : f32[1], %6 : f32[1]) = gradient_factor(_, %3, %2) "sgd" {eps=1e-06, max_norm=2.0}
  () = sgd_update(%4, %5, _, _, _, %1, %3) "sgd" {row=0, slots=0}
  () = sgd_update(%4, %5, _, _, _, %0, %2) "sgd" {row=1, slots=0}
  return gradient_norm %6
)");
}

TEST(AppendOptimizer, TakesTheLossScaleOutOfGradients) {
  OptimizerStep step = step_of({{{"b", "a"}}});
  step.conditioning.is_scaled = true;
  step.conditioning.scale_interval = 7;
  expect_step(step, R"graph(%4 : f32[1, 4] settings "settings" %5 : f32[2] buffer "(loss scale)")graph", R"(
  (%6 : i32[1]) = check_finite(%3, %2) "sgd"
  (%7 : f32[1]) = gradient_factor(%5) "sgd" {eps=1e-06, max_norm=0.0}
  () = sgd_update(%4, %7, %6, _, _, %1, %3, %0, %2) "sgd" {row=0, slots=0}
  (%8 : f32[2]) = update_loss_scale(%5, %6) "sgd" {backoff=0.5, growth=2.0, interval=7}
  return is_finite %6, loss_scale %8
)");
}

TEST(AppendOptimizer, AsksTheOtherPartsOfTheModelForTheirNormsAndInfinities) {
  OptimizerStep step = step_of({{{"b", "a"}}});
  step.conditioning.max_norm = 2;
  step.conditioning.is_scaled = true;
  step.counted = {1, 3, {"a"}};  // this rank also holds "b", but another rank adds its norm
  expect_step(step, R"graph(%4 : f32[1, 4] settings "settings" %5 : f32[2] buffer "(loss scale)")graph", R"(
  (%6 : i32[1]) = check_finite(%2) "sgd"
  (%7 : i32[1]) = all_finite(%6) "sgd"
  (%8 : f32[3]) = gradient_norm(%2) "sgd" {rank=1, ranks=3}
  (%9 : f32[3]) = model_sum(%8) "sgd"
  (%10 : f32[1], %11 : f32[1]) = gradient_factor(%5, %9) "sgd" {eps=1e-06, max_norm=2.0}
  () = sgd_update(%4, %10, %7, _, _, %1, %3, %0, %2) "sgd" {row=0, slots=0}
  (%12 : f32[2]) = update_loss_scale(%5, %7) "sgd" {backoff=0.5, growth=2.0, interval=2000}
  return is_finite %7, gradient_norm %11, loss_scale %12
)");
}

TEST(AppendOptimizer, NamesAParameterThatHasNoGradient) {
  Graph graph = parse_graph(R"(graph "net" { %0 : f32[3] parameter "a" return })");
  OptimizerStep step;
  step.groups = {{{"a"}}};
  EXPECT_THROWS(Status::internal, "sgd: no value 'a' in graph 'net'", (append_optimizer(graph, step), 0));
}

}  // namespace
}  // namespace troika
