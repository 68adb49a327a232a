// Tests of the numbering of world ranks, and of the groups of ranks.
#include "parallel/rank_map.h"

#include <gtest/gtest.h>

#include <set>

namespace troika {
namespace {

const Mesh kMeshes[] = {{1, 1, 1}, {4, 1, 1}, {1, 3, 1}, {1, 1, 2}, {2, 3, 1}, {2, 1, 3}, {1, 2, 2}, {3, 2, 4}};

TEST(RankMap, NumbersEveryPlaceOnceWithChannelsOfTheSameLayersNextToEachOther) {
  for (const Mesh& mesh : kMeshes) {
    const RankMap map(mesh);
    int rank = 0;
    for (int share = 0; share < mesh.data; ++share)
      for (int position = 0; position < mesh.layer; ++position)
        for (int channel = 0; channel < mesh.channel; ++channel, ++rank) {
          EXPECT_EQ(map.rank_of(share, map.part_at(position, channel)), rank);
          EXPECT_EQ(map.share_of(rank), share);
          EXPECT_EQ(map.position_of(rank), position);
          EXPECT_EQ(map.channel_of(rank), channel);
        }
    EXPECT_EQ(map.size(), rank);
    EXPECT_EQ(map.all().size(), static_cast<size_t>(rank));
  }
}

TEST(RankMap, PutsEveryRankIntoOneGroupOfEachKind) {
  for (const Mesh& mesh : kMeshes) {
    const RankMap map(mesh);
    for (RankGroup kind : {RankGroup::data, RankGroup::channel, RankGroup::model, RankGroup::pipeline}) {
      std::set<int> seen;
      for (const std::vector<int>& group : map.groups(kind))
        for (int rank : group) EXPECT_TRUE(seen.insert(rank).second);
      EXPECT_EQ(seen.size(), static_cast<size_t>(map.size()));
    }
  }
}

TEST(RankMap, GroupsRanksByWhatTheyShare) {
  const RankMap map({2, 2, 3});
  const auto data = map.groups(RankGroup::data), channel = map.groups(RankGroup::channel),
             model = map.groups(RankGroup::model), pipeline = map.groups(RankGroup::pipeline);
  EXPECT_EQ(data[4], (std::vector<int>{4, 10}));
  EXPECT_EQ(channel[1], (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(channel[2], (std::vector<int>{6, 7, 8}));
  EXPECT_EQ(model[1], (std::vector<int>{6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(pipeline[1], (std::vector<int>{1, 4}));
  EXPECT_EQ(pipeline[3], (std::vector<int>{6, 9}));
}

TEST(RankMap, PlacesStagesInTurn) {
  const RankMap map({1, 3, 1});
  for (int chunk = 0; chunk < 2; ++chunk)
    for (int position = 0; position < 3; ++position)
      EXPECT_EQ(map.position_of_stage(stage_at(position, chunk, 3)), position);
  EXPECT_EQ(stage_at(2, 1, 3), 5);
  EXPECT_EQ(chunks_of(6, 3), 2);
}

}  // namespace
}  // namespace troika
