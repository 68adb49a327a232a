// Tests of the file of measured engines: its content, and the machine that it is valid for.
#include "backends/cuda/plan_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "support/temp_directory.h"

namespace troika::cuda {
namespace {

constexpr const char* kMachine = "NVIDIA H200, cuDNN 91900";

std::string whole_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

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

// Engines that a machine has measured itself come before those that the library brings.
TEST(PlanCache, BeginsWithWhatTheLibraryBrings) {
  const TempDirectory folder;
  const std::string own = (folder.path() / "own.json").string(), shipped = (folder.path() / "shipped.json").string();
  PlanCache(own, kMachine).store("a", "own");
  PlanCache library(shipped, kMachine);
  library.store("a", "shipped");
  library.store("b", "shipped");
  const std::string before = whole_file(shipped);
  PlanCache cache(own, kMachine, shipped);
  EXPECT_EQ(cache.find("a"), "own");
  EXPECT_EQ(cache.find("b"), "shipped");
  cache.store("c", "new");
  EXPECT_EQ(whole_file(shipped), before);
  EXPECT_EQ(PlanCache("", kMachine, shipped).find("b"), "shipped") << "also without a folder of its own";
  EXPECT_FALSE(PlanCache("", "NVIDIA H100, cuDNN 91900", shipped).find("b"));
}

// The files that come with the library.
TEST(PlanCache, FindsEnginesOfTheZooInItsFiles) {
  const std::filesystem::path folder = std::filesystem::path(TROIKA_SOURCE_DIR) / "src/backends/cuda/engines";
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto json = nlohmann::json::parse(whole_file(entry.path()));
    const PlanCache cache("", json.at("machine").get<std::string>(), entry.path().string());
    EXPECT_TRUE(cache.find("conv2d bf16 1024x64x28x28 -> 64x28x28, kernel 3x3, stride 1x1, padding 1x1, dilation 1x1, groups 1"))
        << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0u);
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
