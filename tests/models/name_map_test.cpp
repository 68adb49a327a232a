// Tests of maps of names: rules, and the tables of other libraries' names.
#include "models/name_map.h"

#include <gtest/gtest.h>

#include <set>

#include "models/zoo.h"
#include "support/throws.h"

namespace troika {
namespace {

TEST(NameMap, AppliesTheFirstRuleThatFits) {
  const NameMap map("a.*=b.*,a.x=c,*.q.*=*.r.*,whole=part");
  EXPECT_EQ(map.translate("a.x").name, "b.x");
  EXPECT_EQ(map.translate("a.").name, "b.");
  EXPECT_EQ(map.translate("m.n.q.o").name, "m.n.r.o");
  EXPECT_EQ(map.translate("whole").name, "part");
  EXPECT_EQ(map.translate("wholes").name, "wholes");
  EXPECT_EQ(NameMap().translate("a.x").name, "a.x");
  EXPECT_EQ(NameMap("*.weight=*.w").translate("a.weight.weight").name, "a.weight.w");
}

TEST(NameMap, RefusesWhatIsNoRule) {
  EXPECT_THROWS(Status::invalid_argument, "'' is no rule", NameMap(""));
  EXPECT_THROWS(Status::invalid_argument, "'a=b=c' is no rule", NameMap("a=b=c"));
  EXPECT_THROWS(Status::invalid_argument, "has 2 and 1 stars", NameMap("*.*=a*"));
}

// The names of both forms of the book's ResNet-18, written as the book's code makes them.
std::vector<std::string> book_names(bool is_class) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& layer, bool is_norm) {
    for (const char* suffix : {"weight", "bias"}) names.push_back(layer + "." + suffix);
    if (is_norm)
      for (const char* suffix : {"running_mean", "running_var", "num_batches_tracked"})
        names.push_back(layer + "." + suffix);
  };
  add(is_class ? "net.0.0" : "0", false);
  add(is_class ? "net.0.1" : "1", true);
  for (int stage = 1; stage <= 4; ++stage)
    for (int block = 0; block < 2; ++block) {
      const std::string prefix =
          (is_class ? "net.b" + std::to_string(stage + 1) : "resnet_block" + std::to_string(stage)) + "." +
          std::to_string(block) + ".";
      add(prefix + "conv1", false);
      add(prefix + "conv2", false);
      if (stage > 1 && block == 0) add(prefix + "conv3", false);
      add(prefix + "bn1", true);
      add(prefix + "bn2", true);
    }
  add(is_class ? "net.last.2" : "fc.1", false);
  return names;
}

TEST(NameMap, KnowsTheNamesOfTheBook) {
  const auto model = create_model("d2l_resnet18", {});
  std::set<std::string> wanted;
  for (size_t i = 0; i < model->parameters()->size(); ++i) wanted.insert(model->parameters()->entry(i).name);
  for (bool is_class : {false, true}) {
    std::set<std::string> found;
    for (const std::string& name : book_names(is_class)) found.insert(NameMap("d2l").translate(name).name);
    EXPECT_EQ(found, wanted) << is_class;
  }
}

TEST(NameMap, KnowsTorchvisionsNames) {
  const NameMap map("torchvision");
  EXPECT_EQ(map.translate("layer2.0.downsample.1.running_var").name, "layer2.0.downsample.1.running_var");
  EXPECT_EQ(map.translate("module.fc.weight").name, "fc.weight");
}

}  // namespace
}  // namespace troika
