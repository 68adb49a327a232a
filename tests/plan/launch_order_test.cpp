// Tests of order_launches: the launches that a concurrent launch waits for, and the launches that
// wait for it.
#include "plan/launch_order.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

Location arena(size_t offset, size_t bytes = 64) { return {Segment::arena, offset, bytes}; }
Location gradients(size_t offset) { return {Segment::gradients, offset, 64}; }

struct Steps {
  Plan plan;

  Steps& add(std::vector<Location> inputs, std::vector<Location> outputs, bool is_beside = false,
             Location scratch = {}) {
    Launch launch;
    launch.inputs = std::move(inputs);
    launch.outputs = std::move(outputs);
    launch.scratch = scratch;
    launch.is_beside = is_beside;
    plan.steps.push_back({PlanStep::launch, plan.launches.size()});
    plan.launches.push_back(std::move(launch));
    return *this;
  }
  Steps& beside(std::vector<Location> inputs, std::vector<Location> outputs, Location scratch = {}) {
    return add(std::move(inputs), std::move(outputs), true, scratch);
  }
  LaunchOrder order(size_t first = 0) const { return order_launches(plan, first, plan.steps.size()); }
};

TEST(LaunchOrder, IsARowWhereNothingIsBesideIt) {
  Steps steps;
  steps.add({arena(0)}, {arena(64)}).add({arena(128)}, {arena(192)}).add({}, {});
  EXPECT_EQ(steps.order(), (LaunchOrder{{}, {0}, {1}}));
  EXPECT_EQ(steps.order(1), (LaunchOrder{{}, {0}}));
  EXPECT_EQ(Steps().order(), LaunchOrder());
}

TEST(LaunchOrder, LetsTheRowGoOnUntilItReadsWhatIsMadeBeside) {
  Steps steps;
  steps
      .add({arena(0)}, {arena(64)})         // dy
      .beside({arena(64)}, {gradients(0)})  // the weight's gradient
      .add({arena(64)}, {arena(128)})       // dx: also reads dy
      .add({arena(128)}, {arena(192)})
      .add({gradients(0)}, {})  // the update
      .add({gradients(0)}, {});
  EXPECT_EQ(steps.order(), (LaunchOrder{{}, {0}, {0}, {2}, {3, 1}, {4}}));
}

TEST(LaunchOrder, KeepsMemoryThatIsReadOrUsedBesideFromBeingOverwritten) {
  Steps read;
  read.add({}, {arena(64)}).beside({arena(64)}, {gradients(0)}).add({}, {arena(100, 4)}).add({}, {arena(64)});
  EXPECT_EQ(read.order(), (LaunchOrder{{}, {0}, {0, 1}, {2}}));
  Steps scratch;
  scratch.add({}, {arena(64)}).beside({arena(64)}, {gradients(0)}, arena(256)).add({arena(300)}, {}).add({}, {});
  EXPECT_EQ(scratch.order(), (LaunchOrder{{}, {0}, {0, 1}, {2}}));
  Steps neighbours;  // the memory is adjacent, but does not overlap
  neighbours.add({}, {arena(64)}).beside({arena(64)}, {gradients(0)}).add({}, {arena(0)}).add({}, {arena(128)});
  EXPECT_EQ(neighbours.order(), (LaunchOrder{{}, {0}, {0}, {2}}));
}

TEST(LaunchOrder, LetsLaunchesReadTheSameStateIfNeitherChangesIt) {
  const Location weight = {Segment::parameters, 0, 64};
  for (const bool changes : {false, true}) {
    Steps steps;
    steps.add({}, {arena(0)}).beside({arena(0), weight}, {gradients(0)}).add({weight}, {arena(64)});
    if (changes) steps.plan.launches[2].changed = {weight};
    EXPECT_EQ(steps.order()[2], changes ? (std::vector<size_t>{0, 1}) : std::vector<size_t>{0});
  }
}

TEST(LaunchOrder, LetsALaunchBesideBeginBehindWhatTouchesItsMemoryLast) {
  Steps steps;
  steps.add({}, {arena(0)}).add({arena(64)}, {}).add({}, {arena(128)}).beside({arena(0)}, {gradients(0)}, arena(64));
  EXPECT_EQ(steps.order()[3], std::vector<size_t>{1});  // launch 1 reads the memory of the scratch
}

TEST(LaunchOrder, PutsLaunchesBesideBehindEachOtherAndWaitsForTheLastThatMatters) {
  Steps steps;
  steps.add({}, {arena(0)})
      .beside({arena(0)}, {gradients(0)})
      .beside({arena(0)}, {gradients(64)})
      .beside({arena(0)}, {gradients(128)})
      .add({gradients(64)}, {})  // waits for the second and thereby for the first
      .add({gradients(0)}, {})
      .add({gradients(128)}, {});
  EXPECT_EQ(steps.order(), (LaunchOrder{{}, {0}, {1, 0}, {2, 0}, {0, 2}, {4}, {5, 3}}));
}

TEST(LaunchOrder, TakesWhatIsChangedInPlaceForWritten) {
  Steps steps;
  steps.add({}, {arena(0)})
      .beside({arena(0)}, {gradients(0)})
      .add({gradients(0)}, {})
      .beside({gradients(0)}, {arena(512)});
  steps.plan.launches[2].changed = {gradients(0)};
  EXPECT_EQ(steps.order()[3], (std::vector<size_t>{1, 2}));
}

}  // namespace
}  // namespace troika
