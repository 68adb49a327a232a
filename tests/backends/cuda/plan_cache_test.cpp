// Tests of the file of measured engines: its content, and the machine that it is valid for.
#include "backends/cuda/plan_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_directory.h"

namespace troika::cuda {
namespace {

constexpr const char* kMachine = "NVIDIA H200, cuDNN 91900";

TEST(PlanCache, RemembersAcrossProcessesByItsFile) {
  const TempDirectory folder;
  const std::string path = (folder.path() / "engines.json").string();
  {
    PlanCache cache(path, kMachine);
    EXPECT_FALSE(cache.find("conv2d bf16"));
    cache.store("conv2d bf16", "eng52_k2=3");
    EXPECT_EQ(cache.find("conv2d bf16"), "eng52_k2=3");
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "no temporary file is left";
  EXPECT_EQ(PlanCache(path, kMachine).find("conv2d bf16"), "eng52_k2=3");
  EXPECT_FALSE(PlanCache(path, "NVIDIA H100, cuDNN 91900").find("conv2d bf16")) << "another GPU measures for itself";
}

TEST(PlanCache, CountsABrokenFileAsEmptyAndWritesItAnew) {
  const TempDirectory folder;
  const std::string path = (folder.path() / "engines.json").string();
  for (const char* content : {"", "{", "[]", "{\"machine\": 3}", "{\"machine\": \"NVIDIA H200, cuDNN 91900\"}",
                              "{\"machine\": \"NVIDIA H200, cuDNN 91900\", \"engines\": {\"a\": 1}}"}) {
    std::ofstream(path) << content;
    PlanCache cache(path, kMachine);
    EXPECT_FALSE(cache.find("a")) << content;
    cache.store("b", "eng1");
    EXPECT_EQ(PlanCache(path, kMachine).find("b"), "eng1") << content;
  }
}

TEST(PlanCache, WithoutAPlaceToWriteKeepsWhatItKnowsInMemory) {
  PlanCache cache("/nowhere/at/all/engines.json", kMachine);
  cache.store("a", "eng1");
  EXPECT_EQ(cache.find("a"), "eng1");
}

}  // namespace
}  // namespace troika::cuda
