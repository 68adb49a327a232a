// Tests of printing plans.
#include "plan/plan.h"

#include <gtest/gtest.h>

#include <clocale>

namespace troika {
namespace {

Plan example(const std::string& name) {
  Plan plan;
  plan.name = name;
  plan.arena_bytes = 3 << 19;
  plan.inputs = {{Role::samples, "x", {Segment::arena, 64, 8}}};
  Launch launch;
  launch.op = "conv2d";
  launch.layer = "stem";
  launch.kernel_name = "cpu:any";
  launch.layouts = "plain, A -> A";
  launch.inputs = {{Segment::arena, 64, 8}, {Segment::parameters, 0, 16}, {}};
  launch.outputs = {{Segment::gradients, 128, 32}};
  launch.scratch = {Segment::arena, 256, 100};
  launch.operations = 1.5e9;
  plan.launches.push_back(std::move(launch));
  plan.steps = {{PlanStep::launch, 0}, {PlanStep::start_all_reduce, 2}, {PlanStep::wait_all_reduce, 2}};
  plan.outputs = {{Report::value, {DType::f32, {1}}, {Segment::arena, 0, 4}}};
  return plan;
}

TEST(PrintPlan, PrintsOneLineAStep) {
  EXPECT_EQ(
      print_plan(example("net")),
      "plan net: 1 launches, 1.500 GFLOP, arena 1.5 MiB\n"
      "  feed x -> arena+64:8\n"
      "  conv2d 'stem' by cpu:any (plain, A -> A) arena+64:8 parameters+0:16 _ -> gradients+128:32 scratch arena+256:100\n"
      "  start all_reduce bucket 2\n"
      "  wait all_reduce bucket 2\n"
      "  result arena+0:4\n");
}

TEST(PrintPlan, CutsNoLongName) {
  const std::string name(300, 'n');
  EXPECT_EQ(print_plan(example(name)).find("plan " + name + ": 1 launches, 1.500 GFLOP, arena 1.5 MiB\n"), 0u);
}

TEST(PrintPlan, PrintsTheSameInEveryLocale) {
  const std::string expected = print_plan(example("net")), before = std::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"}) {
    std::setlocale(LC_ALL, locale);  // if the machine has the locale
    EXPECT_EQ(print_plan(example("net")), expected) << locale;
  }
  std::setlocale(LC_ALL, before.c_str());
}

TEST(Plan, SumsTheOperationsOfItsLaunches) { EXPECT_EQ(example("net").operations(), 1.5e9); }

}  // namespace
}  // namespace troika
