// Tests of meshes: the possible meshes, and the number of devices that a mesh needs.
#include "parallel/mesh.h"

#include <gtest/gtest.h>

#include "support/throws.h"

namespace troika {
namespace {

TEST(MeshesOf, AreAllProductsWithMoreDataFirst) {
  std::vector<std::string> names;
  for (const Mesh& mesh : meshes_of(6)) names.push_back(name_of(mesh));
  EXPECT_EQ(names, (std::vector<std::string>{"6x1x1", "3x2x1", "3x1x2", "2x3x1", "2x1x3", "1x6x1", "1x3x2", "1x2x3",
                                             "1x1x6"}));
  EXPECT_EQ(meshes_of(1), (std::vector<Mesh>{{1, 1, 1}}));
  EXPECT_EQ(meshes_of(64).size(), 28u);  // 6 factors of 2, distributed over three axes
}

TEST(Spread, FillsInTheData) {
  EXPECT_EQ(spread({0, 2, 1}, 6), (Mesh{3, 2, 1}));
  EXPECT_EQ(spread({3, 1, 2}, 6), (Mesh{3, 1, 2}));
}

TEST(Spread, RefusesAnotherNumberOfDevices) {
  EXPECT_THROWS(Status::invalid_argument, "mesh: data is 2, layer is 2 and channel is 1, needs 4 devices; found 3",
                spread({2, 2, 1}, 3));
  EXPECT_THROWS(Status::invalid_argument,
                "mesh: data is 0, layer is 2 and channel is 2, needs a multiple of 4 devices; found 6",
                spread({0, 2, 2}, 6));
  EXPECT_THROWS(Status::invalid_argument, "needs 4294967296 devices; found 1", spread({1, 65536, 65536}, 1));
}

TEST(RefusalOf, NamesWhatASplitCannotDo) {
  EXPECT_EQ(refusal_of({4, 1, 1}, true), "");
  EXPECT_EQ(refusal_of({1, 2, 1}, false), "");
  EXPECT_EQ(refusal_of({1, 1, 2}, false), "");
  EXPECT_EQ(refusal_of({1, 2, 2}, true), "mesh.layer is 2, which does not go together with logical_shards yet");
  EXPECT_EQ(refusal_of({2, 1, 3}, true), "mesh.channel is 3, which does not go together with logical_shards yet");
}

}  // namespace
}  // namespace troika
