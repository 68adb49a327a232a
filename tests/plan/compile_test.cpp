// Tests of the sequence of passes: the graph that is lowered, per mode and per rank, and a real
// plan on a CPU device.
#include "plan/compile.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>

#include "models/layers.h"
#include "models/zoo.h"
#include "passes/graph_text.h"
#include "plan/fake_device.h"

namespace troika {
namespace {

// d2l_lenet with all parameters trained by plain SGD.
struct Lenet {
  std::unique_ptr<Model> model = create_model("d2l_lenet", {});
  CompileRequest request{model->graph()};

  Lenet(Mode mode, int64_t local_batch, int64_t global_batch, int ranks, size_t bucket_bytes = size_t{1} << 20) {
    request.mode = mode;
    request.local_batch = local_batch;
    if (local_batch > 0) request.micro_batches = {{{0, local_batch}}};
    request.global_batch = global_batch;
    request.ranks = ranks;
    std::vector<NamedBytes> sizes;
    for (const Value& value : model->graph().values())
      if (value.role == Role::parameter) {
        request.trainable.push_back(value.name);
        request.own_trainable.push_back(value.name);
        sizes.push_back({value.name, value.type.bytes()});
      }
    request.buckets = make_buckets(sizes, bucket_bytes);
    for (const Bucket& bucket : request.buckets) request.groups.push_back({bucket.parameters});
  }

  Graph graph(const Log& log = Log()) const { return build_graph(request, log); }
};

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const Node& node : graph.nodes()) ops.push_back(std::string(node.op->name));
  return ops;
}

int count(const Graph& graph, const std::string& op) {
  const auto ops = ops_of(graph);
  return static_cast<int>(std::count(ops.begin(), ops.end(), op));
}

TEST(BuildGraph, TrainsLenetOnOneOfTwoRanks) {
  EXPECT_GRAPH(Lenet(Mode::train, 2, 4, 2, 100000).graph(), R"(
graph "d2l_lenet" {
  %0 : f32[2, 1, 28, 28] samples "x"
  %1 : f32[20, 1, 3, 3] parameter "conv1.weight"
  %2 : f32[20] parameter "conv1.bias"
  %6 : f32[50, 20, 5, 5] parameter "conv2.weight"
  %7 : f32[50] parameter "conv2.bias"
  %12 : f32[128, 800] parameter "fc1.weight"
  %13 : f32[128] parameter "fc1.bias"
  %16 : f32[10, 128] parameter "fc2.weight"
  %17 : f32[10] parameter "fc2.bias"
  %19 : i32[2] targets "target"
  %41 : f32[1, 4] settings "settings"
  (%23 : f32[2, 1, 26, 26]) = crop(%0) "x" {size=[26, 26]}
  (%4 : f32[2, 20, 24, 24]) = conv2d(%23, %1, %2) "conv1" {dilation=[1, 1], groups=1, kernel=[3, 3], padding=[0, 0], relu=1, stride=[1, 1]}
  (%5 : f32[2, 20, 12, 12]) = avg_pool2d(%4) "pool1" {count_include_pad=1, kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%9 : f32[2, 50, 8, 8]) = conv2d(%5, %6, %7) "conv2" {dilation=[1, 1], groups=1, kernel=[5, 5], padding=[0, 0], relu=1, stride=[1, 1]}
  (%10 : f32[2, 50, 4, 4]) = avg_pool2d(%9) "pool2" {count_include_pad=1, kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%15 : f32[2, 128]) = linear(%10, %12, %13) "fc1" {relu=1}
  (%18 : f32[2, 10]) = linear(%15, %16, %17) "fc2"
  (%20 : f64[1], %21 : i64[1], %22 : f32[2, 10]) = cross_entropy(%18, %19) "loss" {scale=0.25}
  (%24 : f32[2, 10]) = cross_entropy_gradient(%22, %19) "loss" {scale=0.25}
  (%25 : f32[10, 128] gradient "fc2.weight", %26 : f32[10] gradient "fc2.bias") = linear_weight_gradient(%15, %24) "fc2" {bias=1}
  (%27 : f32[2, 128]) = linear_input_gradient(%16, %24) "fc2" {input_shape=[2, 128]}
  (%28 : f32[2, 128]) = relu_gradient(%15, %27) "fc1"
  (%29 : f32[128, 800] gradient "fc1.weight", %30 : f32[128] gradient "fc1.bias") = linear_weight_gradient(%10, %28) "fc1" {bias=1}
  () = all_reduce(%26, %25, %30, %29) "bucket0" {bucket=0}
  (%31 : f32[2, 50, 4, 4]) = linear_input_gradient(%12, %28) "fc1" {input_shape=[2, 50, 4, 4]}
  (%33 : f32[2, 50, 8, 8]) = avg_pool2d_gradient(%31, %9) "pool2" {count_include_pad=1, input_shape=[2, 50, 8, 8], kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%34 : f32[50, 20, 5, 5] gradient "conv2.weight", %35 : f32[50] gradient "conv2.bias") = conv2d_weight_gradient(%5, %33) "conv2" {bias=1, dilation=[1, 1], groups=1, kernel=[5, 5], padding=[0, 0], relu=0, stride=[1, 1], weight_shape=[50, 20, 5, 5]}
  () = all_reduce(%35, %34) "bucket1" {bucket=1}
  (%36 : f32[2, 20, 12, 12]) = conv2d_input_gradient(%6, %33) "conv2" {dilation=[1, 1], groups=1, input_shape=[2, 20, 12, 12], kernel=[5, 5], padding=[0, 0], relu=0, stride=[1, 1]}
  (%38 : f32[2, 20, 24, 24]) = avg_pool2d_gradient(%36, %4) "pool1" {count_include_pad=1, input_shape=[2, 20, 24, 24], kernel=[2, 2], padding=[0, 0], stride=[2, 2]}
  (%39 : f32[20, 1, 3, 3] gradient "conv1.weight", %40 : f32[20] gradient "conv1.bias") = conv2d_weight_gradient(%23, %38) "conv1" {bias=1, dilation=[1, 1], groups=1, kernel=[3, 3], padding=[0, 0], relu=0, stride=[1, 1], weight_shape=[20, 1, 3, 3]}
  () = all_reduce(%40, %39) "bucket2" {bucket=2}
  () = sgd_update(%41, _, _, _, _, %17, %26, %16, %25, %13, %30, %12, %29) "sgd" {row=0, slots=0}
  () = sgd_update(%41, _, _, _, _, %7, %35, %6, %34) "sgd" {row=0, slots=0}
  () = sgd_update(%41, _, _, _, _, %2, %40, %1, %39) "sgd" {row=0, slots=0}
  return loss %20, correct %21
}
)");
}

TEST(BuildGraph, ReducesNothingOnOneRank) { EXPECT_EQ(count(Lenet(Mode::train, 4, 4, 1).graph(), "all_reduce"), 0); }

TEST(BuildGraph, StartsEveryBucketOnce) {
  for (size_t cap : {size_t{0}, size_t{1} << 10, size_t{1} << 20, size_t{1} << 30}) {
    const Lenet lenet(Mode::train, 2, 4, 2, cap);
    EXPECT_EQ(count(lenet.graph(), "all_reduce"), static_cast<int>(lenet.request.buckets.size()));
  }
}

TEST(BuildGraph, UpdatesOnARankWithoutSamples) {
  EXPECT_EQ(ops_of(Lenet(Mode::train, 0, 1, 2, size_t{1} << 30).graph()),
            (std::vector<std::string>{"fill", "fill", "fill", "fill", "fill", "fill", "fill", "fill", "all_reduce",
                                      "sgd_update"}));
}

TEST(BuildGraph, WeighsASampleByTheWholeBatchWhereTheLossIsAMean) {
  for (bool is_mean : {true, false}) {
    Lenet lenet(Mode::train, 2, 8, 4);
    lenet.request.spec.reduction = is_mean ? Reduction::mean : Reduction::sum;
    const Graph graph = lenet.graph();
    const auto node = std::find_if(graph.nodes().begin(), graph.nodes().end(),
                                   [](const Node& n) { return n.op == &cross_entropy_gradient_op; });
    ASSERT_NE(node, graph.nodes().end());
    EXPECT_EQ(node->attributes.real("scale"), is_mean ? 0.125 : 1.0);
  }
}

TEST(BuildGraph, EvaluatesWithTheLossAndPredictsWithout) {
  const std::vector<std::string> forward = {"crop", "conv2d", "avg_pool2d", "conv2d", "avg_pool2d", "linear", "linear"};
  EXPECT_EQ(ops_of(Lenet(Mode::predict, 3, 0, 1).graph()), forward);
  auto with_loss = forward;
  with_loss.push_back("cross_entropy");
  EXPECT_EQ(ops_of(Lenet(Mode::evaluate, 3, 0, 1).graph()), with_loss);
}

TEST(BuildGraph, KeepsEveryNodeWhereItDoesNotFuse) {
  Lenet lenet(Mode::predict, 3, 0, 1);
  lenet.request.spec.fuse = false;
  EXPECT_EQ(ops_of(lenet.graph()), (std::vector<std::string>{"conv2d", "relu", "avg_pool2d", "conv2d", "relu",
                                                             "avg_pool2d", "reshape", "linear", "relu", "linear"}));
}

TEST(BuildGraph, LeavesTheModelsGraphAlone) {
  const Lenet lenet(Mode::train, 2, 4, 2);
  const std::string before = print_graph(lenet.model->graph());
  lenet.graph();
  EXPECT_EQ(print_graph(lenet.model->graph()), before);
}

TEST(BuildGraph, TellsTheLogOfEveryPass) {
  std::vector<std::string> lines;
  Lenet(Mode::train, 2, 4, 2)
      .graph(Log([&](LogLevel, const char*, const char* line) { lines.push_back(line); }, all_topics(LogLevel::debug)));
  ASSERT_EQ(lines.size(), 14u);
  const char* passes[] = {"rebatch",     "loss",       "fuse",          "crop_unread", "autodiff",
                          "fuse_relus",  "unroll",     "data_parallel", "optimizer",   "fuse_adds",
                          "zero_biases", "share_sums", "absorb_biases", "dead_code"};
  for (size_t i = 0; i < lines.size(); ++i)
    EXPECT_EQ(lines[i].find("pass " + std::string(passes[i]) + ": "), 0u) << lines[i];
}

TEST(BuildGraph, ComputesAgainWhatSegmentsDropBeforeTheGraphIsSplitByData) {
  Lenet lenet(Mode::train, 2, 4, 2);
  const Graph whole = lenet.graph();
  lenet.request.spec.recompute.segments = 2;
  std::vector<std::string> lines;
  const Graph graph = lenet.graph(
      Log([&](LogLevel, const char*, const char* line) { lines.push_back(line); }, all_topics(LogLevel::debug)));
  ASSERT_EQ(lines.size(), 14u);
  EXPECT_EQ(lines[6].find("pass recompute: "), 0u) << lines[6];
  EXPECT_EQ(count(graph, "conv2d"), count(whole, "conv2d") + 1);
  EXPECT_EQ(count(graph, "all_reduce"), count(whole, "all_reduce"));
  EXPECT_EQ(count(graph, "cross_entropy"), 1);
}

TEST(BuildGraph, TellsCopiesOfDropoutTheRanksPlaceInTheBatch) {
  Model model("net");
  ValueId x = add_linear(model, "fc1", add_flatten(model, "flatten", model.add_input("x", {1, 2, 2})), 3, true);
  model.set_output(add_linear(model, "fc2", add_dropout(model, "drop", x, 0.5), 2, true));
  CompileRequest request(model.graph());
  request.local_batch = 2;
  request.global_batch = 5;
  request.micro_batches = {{{3, 5}}};
  request.trainable = {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"};
  request.groups = {{request.trainable}};
  request.spec.recompute.layers = {"drop"};
  const Graph graph = build_graph(request, Log());
  EXPECT_EQ(count(graph, "dropout"), 3) << "forward, again, and backward";
  for (const Node& node : graph.nodes())
    if (node.op == &dropout_op) {
      EXPECT_EQ(node.attributes.integer("sample_offset"), 3);
    }
}

TEST(BuildGraph, ComputesNothingAgainWhereItDoesNotTrain) {
  Lenet lenet(Mode::evaluate, 2, 0, 1);
  const std::string whole = print_graph(lenet.graph());
  lenet.request.spec.recompute.budget_bytes = 1;
  EXPECT_EQ(print_graph(lenet.graph()), whole);
}

TEST(BuildGraph, DumpsTheGraphBehindThePassThatIsAskedFor) {
  std::string dumped;
  const Graph graph =
      Lenet(Mode::evaluate, 2, 0, 1)
          .graph(Log([&](LogLevel, const char*, const char* line) { dumped += std::string(line) + "\n"; },
                     all_topics(LogLevel::error), "crop_unread"));
  EXPECT_EQ(dumped, print_graph(graph)) << "nothing follows that changes the graph";
}

StateTable state_of(const Lenet& lenet) {
  std::vector<StateEntry> entries;
  for (size_t b = 0; b < lenet.request.buckets.size(); ++b)
    for (const std::string& name : lenet.request.buckets[b].parameters) {
      StateEntry entry;
      entry.name = name;
      entry.type = lenet.model->graph().type(*lenet.model->graph().find(name));
      entry.bucket = static_cast<int>(b);
      entries.push_back(entry);
    }
  return StateTable(std::move(entries), {});
}

TEST(Compile, MakesAPlanForACpuDevice) {
  const auto device = BackendRegistry::create()->open({DeviceKind::cpu, 0}, {});
  device->enter_thread();
  const Lenet lenet(Mode::train, 2, 4, 2);
  StateTable state = state_of(lenet);
  const Plan plan = compile(lenet.request, *device, state, Log());
  EXPECT_EQ(plan.name, "train batch 2 of 4 on cpu:0");
  EXPECT_TRUE(state.is_placed());
  ASSERT_EQ(plan.inputs.size(), 3u);
  EXPECT_EQ(plan.inputs[0].role, Role::samples);
  EXPECT_EQ(plan.inputs.at(0).location.bytes, 2u * 28 * 28 * 4);
  EXPECT_EQ(plan.outputs.size(), 2u);
  for (const Launch& launch : plan.launches)
    for (const auto* locations : {&launch.inputs, &launch.outputs})
      for (const Location& l : *locations) {
        EXPECT_LE(l.offset + l.bytes, l.segment == Segment::arena ? plan.arena_bytes : state.segment_bytes(l.segment));
      }
}

// A device whose kernels pool, or do not.
class PoolingDevice : public FakeDevice {
 public:
  explicit PoolingDevice(bool pools) : pools_(pools) {}
  bool fuses_pool(const Graph&, const Node&, const Node&) const override { return pools_; }

 private:
  const bool pools_;
};

TEST(Compile, PoolsInConvolutionsOnADeviceThatCan) {
  const auto launches = [](Mode mode, bool pools, bool fuses) {
    Lenet lenet(mode, 2, 2, 1);
    lenet.request.spec.fuse = fuses;
    PoolingDevice device(pools);
    StateTable state = state_of(lenet);
    return compile(lenet.request, device, state, Log()).launches.size();
  };
  EXPECT_EQ(launches(Mode::train, true, true) + 4, launches(Mode::train, false, true)) << "two layers";
  EXPECT_EQ(launches(Mode::train, true, false), launches(Mode::train, false, false));
  EXPECT_EQ(launches(Mode::evaluate, true, true), launches(Mode::evaluate, false, true));
}

}  // namespace
}  // namespace troika
