// Tests of the state table: the places of parameters, gradients and momentum, and each bucket as
// one run of memory.
#include "plan/state_table.h"

#include <gtest/gtest.h>

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
  return result;
}

StateTable placed(std::vector<std::string> slots) {
  StateTable table({entry("c", {5}, 0), entry("b", {16}, 0), entry("a", {17}, 1), entry("frozen", {3}, -1),
                    entry("mean", {2}, -1, true)},
                   std::move(slots));
  table.place();
  return table;
}

TEST(StateTable, PlacesEntriesOneBehindTheOtherAtWholeLines) {
  const StateTable table = placed({"mean", "square"});
  const std::vector<size_t> offsets = {0, 64, 128, 256, 320}, bytes = {20, 64, 68, 12, 8};
  for (size_t i = 0; i < offsets.size(); ++i) {
    EXPECT_EQ(table.entries()[i].offset, offsets[i]) << table.entries()[i].name;
    EXPECT_EQ(table.entries()[i].bytes, bytes[i]) << table.entries()[i].name;
  }
  EXPECT_TRUE(table.is_placed());
}

TEST(StateTable, GivesEachBucketOneRunOfTheGradients) {
  const StateTable table = placed({"mean", "square"});
  ASSERT_EQ(table.buckets().size(), 2u);
  EXPECT_EQ(table.buckets()[0].offset, 0u);
  EXPECT_EQ(table.buckets()[0].bytes, 128u);
  EXPECT_EQ(table.buckets()[1].offset, 128u);
  EXPECT_EQ(table.buckets()[1].bytes, 128u);
}

TEST(StateTable, HasNoGradientsOrMomentumOfWhatIsNotTrained) {
  EXPECT_EQ(placed({"mean", "square"}).segment_bytes(Segment::parameters), 384u);
  EXPECT_EQ(placed({"mean", "square"}).segment_bytes(Segment::gradients), 256u);
  EXPECT_EQ(placed({"mean", "square"}).segment_bytes(Segment::optimizer), 2 * 256u);
  EXPECT_EQ(placed({}).segment_bytes(Segment::optimizer), 0u);
  EXPECT_EQ(placed({}).segment_bytes(Segment::arena), 0u);
}

TEST(StateTable, LocatesAParameterItsGradientAndItsSlots) {
  const StateTable table = placed({"mean", "square"});
  for (auto [role, segment] : {std::pair{Role::parameter, Segment::parameters}, {Role::gradient, Segment::gradients}}) {
    const Location location = table.locate(role, "a");
    EXPECT_EQ(location.segment, segment);
    EXPECT_EQ(location.offset, 128u);
    EXPECT_EQ(location.bytes, 68u);
  }
  for (auto [slot, offset] : {std::pair{"mean/a", 128u}, {"square/a", 256u + 128u}}) {
    const Location location = table.locate(Role::optimizer_state, slot);
    EXPECT_EQ(location.segment, Segment::optimizer);
    EXPECT_EQ(location.offset, offset);
    EXPECT_EQ(location.bytes, 68u);
  }
  EXPECT_THROWS(Status::internal, "no slot for 'momentum/a'", table.locate(Role::optimizer_state, "momentum/a"));
  EXPECT_EQ(table.locate(Role::buffer, "mean").segment, Segment::parameters);
}

TEST(StateTable, TakesTheLayoutsBytes) {
  StateTable table({entry("w", {16}, 0), entry("v", {16}, 0)}, {});
  table.find("w").layout = std::make_shared<FakeLayout>("A", 130);
  table.place();
  EXPECT_EQ(table.find("w").bytes, 130u);
  EXPECT_EQ(table.find("v").offset, 192u);
  EXPECT_EQ(table.buckets()[0].bytes, 256u);
}

TEST(StateTable, DecidesForPlainWhereNothingElseDid) {
  const StateTable table = placed({});
  for (const StateEntry& e : table.entries()) {
    EXPECT_TRUE(e.is_decided);
    EXPECT_EQ(e.layout, nullptr);
  }
}

TEST(StateTable, NamesAnEntryThatItDoesNotHave) {
  EXPECT_THROWS(Status::internal, "state table: no entry 'nobody'", placed({}).find("nobody"));
}

TEST(StateTable, KeepsSlotsThatAreOwnedWithTheirOwnersAlone) {
  std::vector<StateEntry> entries = {entry("c", {5}, 0), entry("b", {16}, 0), entry("a", {17}, 1),
                                     entry("mean", {2}, -1, true)};
  entries[0].owner = 1;
  entries[1].owner = 0;
  entries[2].owner = 1;
  StateTable table(entries, {"mean", "square"});
  table.place();
  EXPECT_EQ(table.segment_bytes(Segment::optimizer, 0), 2 * 64u);
  EXPECT_EQ(table.segment_bytes(Segment::optimizer, 1), 2 * (64u + 128u));
  EXPECT_EQ(table.segment_bytes(Segment::optimizer, 2), 0u);  // this rank owns no parameter
  EXPECT_EQ(table.locate(Role::optimizer_state, "mean/b").offset, 0u);
  EXPECT_EQ(table.locate(Role::optimizer_state, "square/b").offset, 64u);
  EXPECT_EQ(table.locate(Role::optimizer_state, "square/a").offset, 64u + 128u + 64u);
  EXPECT_EQ(table.locate(Role::gradient, "a").offset, 128u);
  const std::vector<OwnedBytes>& pieces = table.buckets()[0].pieces;
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].owner, 1);
  EXPECT_EQ(pieces[1].owner, 0);
  EXPECT_EQ(pieces[1].begin, 64u);
  EXPECT_EQ(pieces[1].end, 128u);
}

}  // namespace
}  // namespace troika
