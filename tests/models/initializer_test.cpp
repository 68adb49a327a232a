// Tests of the initialisers: distributions and bounds. The numbers must depend only on seed and
// name.
#include "models/initializer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/text.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "support/throws.h"

namespace troika {
namespace {

std::vector<float> values_of(Model& model, const std::string& name) {
  ParameterStore& store = *model.parameters();
  const size_t i = store.index_of(name);
  std::vector<float> values(static_cast<size_t>(store.entry(i).type.shape.elements()));
  store.read(i, values.data(), values.size() * sizeof(float));
  return values;
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};

Moments moments_of(const std::vector<float>& values) {
  Moments m;
  const auto n = static_cast<double>(values.size());
  for (float v : values) m.mean += v / n;
  for (float v : values) m.deviation += (v - m.mean) * (v - m.mean) / n;
  m.deviation = std::sqrt(m.deviation);
  for (float v : values) m.largest = std::max(m.largest, std::abs(double{v}));
  return m;
}

// Returns a model with a convolution [60, 40, 3, 5]: fan_in 600, fan_out 900, 36,000 elements.
std::unique_ptr<Model> wide_conv() {
  auto model = std::make_unique<Model>("net");
  const ValueId x = model->add_input("x", {40, 8, 8});
  add_conv2d(*model, "conv", x, {60, {{3, 5}, {1, 1}, {0, 0}, {1, 1}}, 1, true});
  return model;
}

void expect_normal(Initializer initializer, double a, double deviation) {
  const auto model = wide_conv();
  initialize(*model, "*.weight", initializer, a, 7);
  const std::vector<float> values = values_of(*model, "conv.weight");
  const Moments m = moments_of(values);
  EXPECT_NEAR(m.mean, 0, 4 * deviation / std::sqrt(36000.0));
  EXPECT_NEAR(m.deviation / deviation, 1, 0.02);
  double within_one = 0, fourth = 0;
  for (float v : values) {
    within_one += std::abs(v) < deviation;
    fourth += std::pow(v / deviation, 4);
  }
  EXPECT_NEAR(within_one / 36000, 0.6827, 0.012);
  EXPECT_NEAR(fourth / 36000, 3, 0.2);
  EXPECT_LT(m.largest, 8.5 * deviation);
}

void expect_uniform(Initializer initializer, double a, double bound) {
  const auto model = wide_conv();
  initialize(*model, "*.weight", initializer, a, 7);
  const Moments m = moments_of(values_of(*model, "conv.weight"));
  EXPECT_NEAR(m.mean, 0, 4 * bound / std::sqrt(3 * 36000.0));
  EXPECT_NEAR(m.deviation / (bound / std::sqrt(3.0)), 1, 0.02);
  EXPECT_LE(m.largest, static_cast<double>(static_cast<float>(bound)));
  EXPECT_GT(m.largest, 0.999 * bound);
}

TEST(Initializer, ConstantGivesOneNumber) {
  const auto model = wide_conv();
  initialize(*model, "*", Initializer::constant, 0.25, 1);
  for (float v : values_of(*model, "conv.weight")) ASSERT_EQ(v, 0.25f);
  for (float v : values_of(*model, "conv.bias")) ASSERT_EQ(v, 0.25f);
}

TEST(Initializer, NormalHasItsDeviation) { expect_normal(Initializer::normal, 0.01, 0.01); }
TEST(Initializer, UniformKeepsItsBound) { expect_uniform(Initializer::uniform, 0.3, 0.3); }
TEST(Initializer, KaimingNormalFollowsFanIn) { expect_normal(Initializer::kaiming_normal, 0, std::sqrt(2.0 / 600)); }
TEST(Initializer, KaimingUniformFollowsFanIn) { expect_uniform(Initializer::kaiming_uniform, 0, std::sqrt(6.0 / 600)); }
TEST(Initializer, XavierNormalFollowsBothFans) { expect_normal(Initializer::xavier_normal, 0, std::sqrt(2.0 / 1500)); }
TEST(Initializer, XavierUniformFollowsBothFans) {
  expect_uniform(Initializer::xavier_uniform, 0, std::sqrt(6.0 / 1500));
}

TEST(Initializer, GivesTheSameNumbersForTheSameSeedAndName) {
  const auto a = wide_conv(), b = wide_conv();
  initialize(*a, "*", Initializer::normal, 1, 42);
  initialize(*b, "conv.weight", Initializer::normal, 1, 42);
  EXPECT_EQ(values_of(*a, "conv.weight"), values_of(*b, "conv.weight"));
}

// The numbers are part of the interface: a model that is made from a seed is the same in every
// version.
TEST(Initializer, GivesTheNumbersThatItAlwaysGave) {
  const auto model = wide_conv();
  initialize(*model, "conv.bias", Initializer::uniform, 1, 42);
  const std::vector<float> uniform = values_of(*model, "conv.bias");
  initialize(*model, "conv.bias", Initializer::normal, 1, 42);
  const std::vector<float> normal = values_of(*model, "conv.bias");
  const float expected_uniform[] = {-0.761641324f, 0.35625571f, 0.770822704f, 0.456263572f},
              expected_normal[] = {-0.900097251f, -1.85582232f, -0.0675758347f, -0.488711983f};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(uniform[i], expected_uniform[i]) << i;
    EXPECT_FLOAT_EQ(normal[i], expected_normal[i]) << i;
  }
}

TEST(Initializer, GivesOtherNumbersForAnotherSeedOrName) {
  const auto model = create_model("resnet18", {});
  initialize(*model, "layer1.0.conv?.weight", Initializer::uniform, 1, 1);
  const std::vector<float> first = values_of(*model, "layer1.0.conv1.weight"),
                           neighbour = values_of(*model, "layer1.0.conv2.weight");
  initialize(*model, "layer1.0.conv1.weight", Initializer::uniform, 1, 2);
  const std::vector<float> other_seed = values_of(*model, "layer1.0.conv1.weight");
  auto correlation = [&](const std::vector<float>& other) {
    double sum = 0;
    for (size_t i = 0; i < first.size(); ++i) sum += double{first[i]} * other[i];
    return sum / static_cast<double>(first.size()) * 3;  // the variance of uniform(-1, 1) is 1 / 3
  };
  EXPECT_NEAR(correlation(neighbour), 0, 0.03);
  EXPECT_NEAR(correlation(other_seed), 0, 0.03);
}

TEST(Initializer, TouchesWhatThePatternMatchesAlone) {
  const auto model = create_model("d2l_lenet", {});
  initialize(*model, "fc?.bias", Initializer::constant, 3, 0);
  for (size_t i = 0; i < model->parameters()->size(); ++i) {
    const Parameter& p = model->parameters()->entry(i);
    EXPECT_EQ(p.is_initialized, p.name == "fc1.bias" || p.name == "fc2.bias") << p.name;
  }
}

TEST(Initializer, TellsWhereNothingMatches) {
  const auto model = create_model("d2l_lenet", {});
  EXPECT_THROWS(Status::not_found, "no parameter of model 'd2l_lenet' matches 'head.*'",
                (initialize(*model, "head.*", Initializer::constant, 0, 0), 0));
}

TEST(Initializer, NeverMatchesBuffers) {
  const auto model = create_model("d2l_resnet18", {});
  EXPECT_THROWS(Status::not_found, "matches '*running*'",
                (initialize(*model, "*running*", Initializer::constant, 5, 0), 0));
  initialize(*model, "*", Initializer::constant, 5, 0);
  for (float v : values_of(*model, "bn1.running_mean")) ASSERT_EQ(v, 0);
  for (float v : values_of(*model, "bn1.running_var")) ASSERT_EQ(v, 1);
}

TEST(Initializer, LeavesVectorsOutIfFansAreNeeded) {
  for (Initializer initializer : {Initializer::kaiming_normal, Initializer::kaiming_uniform, Initializer::xavier_normal,
                                  Initializer::xavier_uniform}) {
    const auto model = create_model("d2l_lenet", {});
    EXPECT_THROWS(Status::invalid_argument, "has shape [", (initialize(*model, "*.bias", initializer, 0, 0), 0));
    for (size_t i = 0; i < model->parameters()->size(); ++i) EXPECT_FALSE(model->parameters()->entry(i).is_initialized);
    initialize(*model, "*.weight", initializer, 0, 0);
    EXPECT_FALSE(model->parameters()->entry(model->parameters()->index_of("fc1.bias")).is_initialized);
    initialize(*model, "*", initializer, 0, 0);  // vectors without a value take the default
    for (float v : values_of(*model, "fc1.bias")) ASSERT_EQ(v, 0);
    initialize(*model, "*.bias", Initializer::constant, 3, 0);
    initialize(*model, "*", initializer, 0, 1);  // and others keep their own
    for (float v : values_of(*model, "fc1.bias")) ASSERT_EQ(v, 3);
  }
}

TEST(Initializer, RefusesSettingsThatMakeNoNumbers) {
  const auto model = create_model("d2l_lenet", {});
  for (double a : {std::nan(""), HUGE_VAL, -HUGE_VAL, 1e300})
    EXPECT_THROWS(Status::invalid_argument, "needs a finite number",
                  (initialize(*model, "*", Initializer::constant, a, 0), 0));
  EXPECT_THROWS(Status::invalid_argument, "a is -1, needs at least 0",
                (initialize(*model, "*", Initializer::normal, -1, 0), 0));
  for (int32_t kind : {0, 8, -1}) {
    EXPECT_THROWS(Status::invalid_argument, text("initializer is ", kind, ", needs 1 to 7"),
                  (initialize(*model, "*", static_cast<Initializer>(kind), 0, 0), 0));
  }
}

TEST(DefaultInitializer, BoundsWeightAndBiasByFanInAsPyTorch) {
  const auto model = wide_conv();
  initialize_default(*model, 3, false);
  const double bound = 1 / std::sqrt(600.0);
  const Moments weight = moments_of(values_of(*model, "conv.weight")),
                bias = moments_of(values_of(*model, "conv.bias"));
  EXPECT_NEAR(weight.deviation / (bound / std::sqrt(3.0)), 1, 0.02);
  EXPECT_LE(weight.largest, static_cast<double>(static_cast<float>(bound)));
  EXPECT_LE(bias.largest, static_cast<double>(static_cast<float>(bound)));
  EXPECT_GT(bias.largest, 0.8 * bound);
}

TEST(DefaultInitializer, StartsBatchNormAtOneAndZero) {
  for (const char* name : {"resnet18", "d2l_resnet18"}) {
    const auto model = create_model(name, {});
    initialize_default(*model, 3, false);
    for (float v : values_of(*model, "layer1.0.bn1.weight")) ASSERT_EQ(v, 1);
    for (float v : values_of(*model, "layer1.0.bn1.bias")) ASSERT_EQ(v, 0);
    for (float v : values_of(*model, "layer1.0.bn1.running_mean")) ASSERT_EQ(v, 0);
    for (float v : values_of(*model, "layer1.0.bn1.running_var")) ASSERT_EQ(v, 1);
    int64_t batches = -1;
    ParameterStore& store = *model->parameters();
    store.read(store.index_of("layer1.0.bn1.num_batches_tracked"), &batches, sizeof batches);
    EXPECT_EQ(batches, 0);
  }
}

TEST(DefaultInitializer, FollowsTheTutorialForItsModels) {
  const auto model = create_model("d2l_resnet18", {});
  initialize_default(*model, 3, false);
  EXPECT_NEAR(moments_of(values_of(*model, "layer4.1.conv2.weight")).deviation, 0.01, 0.0002);
  for (float v : values_of(*model, "conv1.bias")) ASSERT_EQ(v, 0);
  for (float v : values_of(*model, "fc.bias")) ASSERT_EQ(v, 0);
}

TEST(DefaultInitializer, LeavesValuesAloneWhereAsked) {
  const auto model = create_model("d2l_resnet18", {});
  initialize(*model, "conv1.weight", Initializer::constant, 9, 0);
  initialize_default(*model, 3, true);
  for (float v : values_of(*model, "conv1.weight")) ASSERT_EQ(v, 9);
  for (size_t i = 0; i < model->parameters()->size(); ++i) EXPECT_TRUE(model->parameters()->entry(i).is_initialized);
  initialize_default(*model, 3, false);
  EXPECT_LT(moments_of(values_of(*model, "conv1.weight")).largest, 1);
}

}  // namespace
}  // namespace troika
