// Models: layers, parameters, descriptions, files, prediction and planning.
#include "tests.h"

namespace {

class Models : public ::testing::Test {
 protected:
  const Context context_;
  const Folder folder_;
};

TEST_F(Models, OfTheZooHaveNames) {
  const std::vector<std::string> names = zoo_names();
  EXPECT_NE(std::find(names.begin(), names.end(), "d2l_lenet"), names.end());
  EXPECT_EQ(names[0], zoo_name(0));
  EXPECT_EQ(zoo_name(1000), nullptr);
  const Model model(context_, "mlp", {.classes = 3, .input_height = 2, .hidden = 5});
  const ModelInfo info = model.describe();
  EXPECT_TRUE(info.is_complete);
  EXPECT_EQ(info.input_dims, (Dims{1, 2, 2}));
  EXPECT_EQ(info.output_dims, Dims{3});
  EXPECT_EQ(info.output_dtype, Dtype::f32);
  EXPECT_EQ(info.name, "mlp");
  EXPECT_EQ(model.count_parameters().elements, 5 * 4 + 5 + 3 * 5 + 3);
  expect_error(Status::not_found, "d2l_lenet", [&] { Model(context_, "d2l_lennet"); });
  expect_error(Status::invalid_argument, "options.classes", [&] { Model(context_, "mlp", {.classes = 0}); });
}

// Adds the input [2, 4, 4] and one layer, and returns the shape of its output.
template <typename Add>
Dims shape_of(const Context& context, const Add& add, Dims input = {2, 4, 4}) {
  Model model = Model::create_empty(context, "net");
  return model.describe_value(add(model, model.add_input("x", input))).dims;
}

TEST_F(Models, AreBuiltOfLayers) {
  const auto shape = [&](const auto& add, Dims input = {2, 4, 4}) { return shape_of(context_, add, input); };
  EXPECT_EQ(shape([](Model& m, Value x) {
              return m.add_conv2d("c", x, {.no_bias = true, .out_channels = 6, .kernel = {3, 2}, .padding = {1, 0}});
            }),
            (Dims{6, 4, 3}));
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_batch_norm2d("b", x); }), (Dims{2, 4, 4}));
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_relu("r", x); }), (Dims{2, 4, 4}));
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_gelu("g", x); }), (Dims{2, 4, 4}));
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_max_pool2d("p", x, {.kernel = {2, 2}}); }), (Dims{2, 2, 2}));
  EXPECT_EQ(shape([](Model& m, Value x) {
              return m.add_avg_pool2d("p", x, {.kernel = {3, 3}, .stride = {1, 1}});
            }),
            (Dims{2, 2, 2}));
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_adaptive_avg_pool2d("p", x, 1, 2); }), (Dims{2, 1, 2}));
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_flatten("f", x); }), Dims{32});
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_sum("s", x, m.add_relu("r", x)); }), (Dims{2, 4, 4}));
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_dropout("d", x, 0.5); }), (Dims{2, 4, 4}));
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_linear("l", x, 7); }, {3}), Dims{7});
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_linear_per_position("l", x, 7); }, {5, 3}), (Dims{5, 7}));
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_lstm("l", x, 7, false); }, {5, 3}), (Dims{5, 7}));
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_gru("l", x, 7); }, {5, 3}), (Dims{5, 7}));
  EXPECT_EQ(shape([](Model& m, Value x) { return m.add_select_step("l", x, -1); }, {5, 3}), Dims{3});

  Model model = Model::create_empty(context_, "tokens");
  const Value embedded = model.add_embedding("e", model.add_typed_input("x", Dtype::i32, {5}), 10, 4);
  EXPECT_EQ(model.describe_value(embedded).dims, (Dims{5, 4}));
  EXPECT_FALSE(model.describe().is_complete);
  expect_error(Status::invalid_argument, "'e'", [&] { model.add_relu("e", embedded); });
  model.set_output(embedded);
  EXPECT_EQ(model.describe().input_dtype, Dtype::i32);
}

TEST_F(Models, AreBuiltOfLayersForSignals) {
  Model model = Model::create_empty(context_, "signals");
  const auto expect = [&](Value value, const Dims& dims) {
    EXPECT_EQ(model.describe_value(value).dims, dims);
    return value;
  };
  Value x =
      expect(model.add_conv1d("conv", model.add_input("x", Dims{4, 16}), {.out_channels = 6, .kernel = 3}), {6, 14});
  x = expect(model.add_layer_norm("layer", model.add_batch_norm1d("bn", x), 1), {6, 14});
  x = expect(model.add_slice("slice", x, 2, 0, 12), {6, 12});
  x = expect(model.add_product("product", model.add_sigmoid("sigmoid", x), model.add_tanh("tanh", x)), {6, 12});
  x = expect(model.add_group_norm("group", model.add_reshape("image", x, Dims{6, 4, -1}), 2), {6, 4, 3});
  x = expect(model.add_conv_transpose2d("up", x, {.out_channels = 4, .kernel = {2, 2}, .stride = {2, 2}}), {4, 8, 6});
  x = expect(model.add_softmax("softmax", model.add_leaky_relu("leaky", model.add_silu("silu", x))), {4, 8, 6});
  x = expect(model.add_concat("concat", std::vector<Value>{x, x}, 1), {8, 8, 6});
  x = expect(model.add_mean("mean", x, std::vector<std::int32_t>{2, 3}), {8});
  x = model.add_linear("a", model.add_rms_norm("rms", x, 1), 8);
  model.share_parameter("b.weight", "a.weight");
  model.set_output(model.add_linear("b", x, 8));
  model.initialize_default(1);
  model.initialize_layers("linear", "weight", Initializer::constant, 0.5);
  EXPECT_EQ(model.get_parameter("b.weight"), std::vector<float>(64, 0.5F));
  expect_error(Status::not_found, "no layer of kind 'gru'",
               [&] { model.initialize_layers("gru", "*", Initializer::constant); });
}

TEST_F(Models, LoadWhatFits) {
  Model source = Model::create_empty(context_, "source"), model = Model::create_empty(context_, "model");
  source.set_output(source.add_linear("head", source.add_linear("body", source.add_input("x", Dims{3}), 4), 9));
  model.set_output(model.add_linear("fc", model.add_linear("body", model.add_input("x", Dims{3}), 4), 2));
  source.initialize_default(1);
  model.initialize_default(2);
  const auto file = source.save_memory();
  LoadOptions options;
  options.skip_mismatching = true;
  options.name_map = "head.*=fc.*";
  options.skip = "body.bias";
  const LoadReport report = model.load_memory(file, options);
  EXPECT_EQ(report.loaded, 1);
  EXPECT_EQ(report.mismatching, 2);
  EXPECT_EQ(report.kept, 1);
  EXPECT_EQ(model.get_parameter("body.weight"), source.get_parameter("body.weight"));
}

TEST(Scores, AreComputed) {
  const std::vector<float> outputs = {3, 1, 0, 2, 5, 1};
  const ScoreReport report = compute_scores(outputs, std::vector<std::int32_t>{0, 1, 1});
  EXPECT_DOUBLE_EQ(report.all.accuracy, 2.0 / 3);
  EXPECT_EQ(report.confusion, (std::vector<std::int64_t>{1, 0, 1, 1}));
  EXPECT_EQ(report.classes[1].labels, 2);
  EXPECT_DOUBLE_EQ(report.classes[0].precision, 0.5);
  EXPECT_THROW(compute_scores(outputs, std::vector<std::int32_t>{0, 1, 1, 0}), std::invalid_argument);
  expect_error(Status::invalid_argument, "label of sample 0 is 7", [&] {
    compute_scores(outputs, std::vector<std::int32_t>{7, 1, 1});
  });
}

TEST_F(Models, AreDescribed) {
  const Model model = doubling_model(context_);
  const LayerInfo layer = model.describe_layer(model.find_layer("fc"));
  EXPECT_EQ(layer.kind, "linear");
  EXPECT_EQ(layer.name, "fc");
  ASSERT_EQ(layer.inputs.size(), 1u);
  EXPECT_EQ(model.describe_value(layer.inputs[0]).layer, 0);
  EXPECT_EQ(model.describe_value(layer.output).layer, 1);
  expect_error(Status::not_found, "fc", [&] { model.find_layer("fd"); });
  expect_error(Status::not_found, "", [&] { model.describe_layer(2); });
  const std::vector<LayerInfo> layers = model.layers();
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].kind, "input");
  EXPECT_EQ(layers[1].output, layer.output);
  EXPECT_TRUE(Model::create_empty(context_, "empty").layers().empty());
  EXPECT_NE(model.print().find("fc"), std::string::npos);
  EXPECT_EQ(model.to_json().front(), '{');
  EXPECT_EQ(model.to_json().back(), '}');
  EXPECT_GT(Model(context_, "resnet50").to_json().size(), 10'000u);  // longer than the first buffer
}

TEST_F(Models, HaveParameters) {
  Model model(context_, "mlp", {.classes = 2, .input_height = 1, .hidden = 3});
  const ParameterInfo first = model.describe_parameter(0);
  EXPECT_EQ(model.find_parameter(first.name), 0);
  expect_error(Status::not_found, first.name.c_str(), [&] { model.find_parameter(first.name + "s"); });
  EXPECT_EQ(first.dims, (Dims{3, 1}));
  EXPECT_FALSE(first.is_initialized);
  expect_error(Status::not_initialized, first.name, [&] { model.get_parameter(first.name); });
  model.initialize("*", Initializer::constant, 0.25);
  EXPECT_EQ(model.get_parameter(first.name), (Floats{0.25f, 0.25f, 0.25f}));
  model.initialize_default(1);
  const Floats drawn = model.get_parameter(first.name);
  model.initialize_default(2);
  EXPECT_NE(model.get_parameter(first.name), drawn);
  model.initialize_default(1);
  EXPECT_EQ(model.get_parameter(first.name), drawn);
  model.set_parameter(first.name, {1.0f, 2.0f, 3.0f});
  Floats read(3);
  model.get_parameter(first.name, read);
  EXPECT_EQ(read, (Floats{1, 2, 3}));
  expect_error(Status::not_found, "nothing", [&] { model.get_parameter("nothing"); });
  expect_error(Status::not_found, "nothing", [&] { model.initialize("nothing", Initializer::xavier_normal); });
  expect_error(Status::invalid_argument, "8", [&] { model.set_parameter(first.name, {1.0f, 2.0f}); });
  expect_misuse<std::invalid_argument>("parameter " + first.name + ": the elements are i32, need f32",
                                       [&] { model.get_parameter<std::int32_t>(first.name); });
}

TEST_F(Models, ListTheirParameters) {
  const Model model(context_, "mlp", {.classes = 2, .input_height = 1, .hidden = 3});
  std::int64_t elements = 0;
  for (const ParameterInfo& parameter : model.parameters()) elements += detail::elements_of(parameter.dims);
  EXPECT_EQ(elements, model.count_parameters().elements);
  ASSERT_EQ(model.parameters().size(), 4u);
  EXPECT_EQ(model.find_parameter(model.parameters()[3].name), 3);
  EXPECT_TRUE(Model::create_empty(context_, "empty").parameters().empty());
}

TEST_F(Models, NormalizeBatchesByPyTorchsDefaults) {
  const auto norm = [&](const auto&... numbers) {
    Model model = Model::create_empty(context_, "net");
    model.set_output(model.add_batch_norm2d("bn", model.add_input("x", {1, 2, 2}), numbers...));
    return model.to_json();
  };
  EXPECT_EQ(norm(), norm(1e-5, 0.1));
  EXPECT_EQ(norm(1e-5), norm(1e-5, 0.1));
  EXPECT_NE(norm(), norm(1e-5, 0.2));
}

TEST_F(Models, HaveBuffers) {
  Model model = Model::create_empty(context_, "net");
  model.set_output(model.add_batch_norm2d("bn", model.add_input("x", {1, 2, 2})));
  model.initialize_default();
  EXPECT_EQ(model.get_parameter("bn.running_var"), Floats{1.0f});
  EXPECT_EQ(model.get_parameter<std::int64_t>("bn.num_batches_tracked"), std::vector<std::int64_t>{0});
}

TEST_F(Models, AreSavedAndLoaded) {
  const Model model = doubling_model(context_);
  model.save(folder_ / "weights.safetensors");
  EXPECT_EQ(Model::open(context_, folder_ / "weights.safetensors").get_parameter("fc.weight"), Floats{2.0f});
  const std::vector<std::byte> bytes = model.save_memory();
  EXPECT_EQ(static_cast<std::uintmax_t>(bytes.size()), std::filesystem::file_size(folder_ / "weights.safetensors"));
  EXPECT_EQ(Model::open_memory(context_, bytes).describe().name, "doubling");
  Model other = doubling_model(context_);
  other.set_parameter("fc.weight", {5.0f});
  EXPECT_EQ(other.load(folder_ / "weights.safetensors").loaded, 1);
  EXPECT_EQ(other.get_parameter("fc.weight"), Floats{2.0f});
  other.set_parameter("fc.weight", {5.0f});
  EXPECT_EQ(other.load_memory(bytes).loaded, 1);
  EXPECT_EQ(other.get_parameter("fc.weight"), Floats{2.0f});
  expect_error(Status::mismatch, "'module.'", [&] { other.load_memory(bytes, {.strip_prefix = "module."}); });
  expect_error(Status::not_found, "", [&] { Model::open(context_, folder_ / "nothing"); });
  expect_error(Status::corrupt, "", [&] { Model::open_memory(context_, {1.0f, 2.0f}); });
}

TEST_F(Models, ReportWhatDiffers) {
  const std::vector<std::byte> bytes = doubling_model(context_).save_memory();
  Model model = Model::create_empty(context_, "other");
  model.set_output(model.add_linear("fc", model.add_linear("first", model.add_input("x", {1}), 1, false), 1, false));
  const auto error = thrown_by<LoadError>([&] { model.load_memory(bytes); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status(), Status::mismatch);
  EXPECT_EQ(error->report().missing, 1);
  EXPECT_EQ(error->report().names, "missing first.weight\n");
  EXPECT_EQ(model.load_memory(bytes, {.allow_partial = true}).loaded, 1);
}

TEST_F(Models, Predict) {
  Model model = doubling_model(context_);
  const Tensor output = model.predict("cpu:1", Tensor(context_, "cpu", {3, 1}, {1.0f, 2.0f, -3.0f}));
  EXPECT_EQ(output.describe().device, Device("cpu:1"));
  EXPECT_EQ(output.to_host<float>(), (Floats{2, 4, -6}));
  Floats into(2);
  model.predict_into("cpu", {4.0f, 5.0f}, into);
  EXPECT_EQ(into, (Floats{8, 10}));
  model.predict_into("cpu", {7.0f, 8.0f}, into, "fc");
  EXPECT_EQ(into, (Floats{14, 16}));
  expect_error(Status::not_found, "fd", [&] { model.predict_into("cpu", {7.0f, 8.0f}, into, "fd"); });
  expect_error(Status::invalid_argument, "size_bytes", [&] { model.predict_into("cpu", {7.0f}, into); });
  expect_misuse<std::invalid_argument>("Model::predict_into: the elements are i32, need f32", [&] {
    model.predict_into("cpu", {7, 8}, into);
  });
  const Model pairs(context_, "mlp", {.classes = 2, .input_height = 2});
  expect_misuse<std::invalid_argument>("Model::predict_into: there are 3 elements, need a multiple of 4", [&] {
    pairs.predict_into("cpu", {1.0f, 2.0f, 3.0f}, into);
  });
  const Model empty = Model::create_empty(context_, "net");
  expect_error(Status::invalid_argument, "output", [&] { empty.predict_into("cpu", {7.0f, 8.0f}, into); });
}

TEST_F(Models, ShareParametersWithTheirClones) {
  Model model = doubling_model(context_);
  const Model clone = model.clone();
  model.set_parameter("fc.weight", {3.0f});
  EXPECT_EQ(clone.get_parameter("fc.weight"), Floats{3.0f});
}

TEST_F(Models, ArePlanned) {
  const Model model(context_, "d2l_lenet");
  const PlanResult one = model.plan_estimate();
  EXPECT_TRUE(one.fits);
  const std::int64_t bytes = 4 * model.count_parameters().elements;
  EXPECT_GE(one.parameter_bytes, bytes);
  EXPECT_LT(one.parameter_bytes, bytes + 64 * model.count_parameters().entries);  // each begins at 64 bytes
  const PlanOptions options{.devices = 4, .batch = 64};
  EXPECT_EQ(model.plan_estimate(options, Mesh{.data = 2, .layer = 2}).mesh.layer, 2);
  const Mesh chosen = model.plan_choose(options).mesh;
  EXPECT_EQ(chosen.data * chosen.layer * chosen.channel, 4);
  expect_error(Status::not_found, "1 bytes", [&] { model.plan_choose({.memory_bytes = 1}); });
  const PlanResult as_trainer = model.plan_estimate({.trainer = TrainerOptions{.momentum = 0.9}});
  EXPECT_EQ(as_trainer.optimizer_bytes, as_trainer.parameter_bytes);
}

}  // namespace
