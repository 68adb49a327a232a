// Tests of the layers of a model as text. Text that was changed at random must be refused, or be
// a model that is consistent.
#include "models/model_text.h"

#include <gtest/gtest.h>

#include <set>

#include "core/random.h"
#include "core/text.h"
#include "models/every_layer.h"
#include "models/layer_kinds.h"
#include "models/layers.h"
#include "models/print.h"
#include "models/zoo.h"
#include "ops/op_def.h"
#include "support/throws.h"

namespace troika {
namespace {

// Everything that two models of the same layers have in common.
std::string state_of(const Model& model) {
  std::string state = text(print_graph(model.graph()), print_model(model), print_model_text(model),
                           static_cast<int>(model.default_initializer()));
  for (size_t i = 0; i < model.parameters()->size(); ++i) {
    const Parameter& p = model.parameters()->entry(i);
    state += text(p.name, ' ', name_of(p.type.dtype), p.type.shape, p.is_buffer, '\n');
  }
  return state;
}

void expect_same_when_read(const Model& model) {
  EXPECT_EQ(state_of(*read_model_text(print_model_text(model), "file")), state_of(model));
}

TEST(ModelText, OfEveryZooModelReadsBack) {
  for (const std::string& name : model_names()) expect_same_when_read(*create_model(name, {}));
}

// A kind that is missing here, or that no call adds, is missing in model files.
TEST(ModelText, OfEveryKindOfLayerReadsBack) {
  std::set<std::string_view> kinds, tested;
  for (const LayerKind& kind : all_layer_kinds()) EXPECT_TRUE(kinds.insert(kind.name).second) << kind.name;
  for (const auto& model : {every_image_layer(), every_signal_layer(), every_token_layer()}) {
    expect_same_when_read(*model);
    for (const Layer& layer : model->layers()) tested.insert(find_layer_kind(layer.kind)->name);
  }
  EXPECT_EQ(tested, kinds) << "each kind of layer_kinds.cpp needs a layer in tests/models/every_layer.h";
}

TEST(ModelText, OfAModelThatIsNotCompleteReadsBack) {
  Model model("net");
  expect_same_when_read(model);
  const ValueId x = model.add_input("x", {3, 4});
  expect_same_when_read(model);
  add_select_step(model, "first", x, 0);
  expect_same_when_read(model);
}

TEST(ModelText, IsOneLinePerLayer) {
  Model model("net");
  const ValueId x = model.add_input("x", {784});
  model.name_container("layer1", "BasicBlock");
  model.set_output(add_linear(model, "layer1.fc", x, 10, true));
  EXPECT_EQ(print_model_text(model), R"(model 1 "net" {
  initializer pytorch
  container "layer1" "BasicBlock"
  %0 : f32[784] = input() "x" {dtype="f32", shape=[784]}
  %1 : f32[10] = linear(%0) "layer1.fc" {bias=1, out_features=10}
  return %1
}
)");
}

std::string of_layers(const std::string& layers) {
  return "model 1 \"net\" {\n  initializer pytorch\n  %0 : f32[2, 4, 4] = input() \"x\" {dtype=\"f32\", shape=[2, 4, 4]}\n" +
         layers + "}\n";
}

std::string input_of(const std::string& type, const std::string& settings) {
  return "model 1 \"net\" {\n  initializer pytorch\n  %0 : " + type + " = input() \"x\" {" + settings + "}\n}\n";
}

TEST(ModelText, RefusesWhatCannotBe) {
  const auto refuse = [](Status status, const std::string& message, const std::string& source) {
    EXPECT_THROWS(status, message, read_model_text(source, "file 'f'"));
  };
  const auto corrupt = [&](const std::string& message, const std::string& layers) {
    refuse(Status::corrupt, message, of_layers(layers));
  };
  refuse(Status::corrupt, "file 'f': layers: found '' at character 0, need 'model'", "");
  refuse(Status::corrupt, "need an integer", "model \"net\" {}");
  refuse(Status::unsupported, "its layers are text of version 2, this library reads 1", "model 2 \"net\" { new }");
  refuse(Status::corrupt, "the model's name has 0 bytes, needs 1 to 200", "model 1 \"\" { initializer pytorch }");
  refuse(Status::corrupt, "the model's name has a control character", "model 1 \"a\nb\" { initializer pytorch }");
  refuse(Status::corrupt, "need the end", of_layers("") + "x");
  refuse(Status::unsupported, "initializer kaiming", "model 1 \"net\" { initializer kaiming }");
  refuse(Status::corrupt, "container: name is empty", "model 1 \"n\" { initializer pytorch container \"\" \"B\" }");
  corrupt("need %1, the number of the next layer", "%2 : f32[2, 4, 4] = relu(%0) \"a\"");
  corrupt("need %1, the number of the next layer", "%0 : f32[2, 4, 4] = relu(%0) \"a\"");
  corrupt("need the number of a layer before this one", "%1 : f32[2, 4, 4] = relu(%1) \"a\"");
  for (const char* id : {"%5", "%-1", "%16777216", "%4294967295", "%9223372036854775807"})
    corrupt("need the number of a layer before this one", text("%1 : f32[2, 4, 4] = relu(", id, ") \"a\""));
  corrupt("need an integer", "%1 : f32[2, 4, 4] = relu(%92233720368547758070) \"a\"");
  corrupt("need the number of a layer before this one", "return %1");
  corrupt("the input cannot be the output", "return %0");
  corrupt("has an input already", "%1 : f32[3] = input() \"y\" {dtype=\"f32\", shape=[3]}");
  corrupt("the name is taken", "%1 : f32[2, 4, 4] = relu(%0) \"x\"");
  corrupt("relu 'a': has 2 inputs, needs 1", "%1 : f32[2, 4, 4] = relu(%0, %0) \"a\"");
  corrupt("sum 'a': has 1 inputs, needs 2", "%1 : f32[2, 4, 4] = sum(%0) \"a\"");
  corrupt("has a '/'", "%1 : f32[2, 4, 4] = relu(%0) \"a/b\"");
  corrupt("relu 'a': its output is f32[2, 4, 4], the file says f32[2, 4]", "%1 : f32[2, 4] = relu(%0) \"a\"");
  corrupt("the file says i32[2, 4, 4]", "%1 : i32[2, 4, 4] = relu(%0) \"a\"");
  corrupt("found 'f31", "%1 : f31[2, 4, 4] = relu(%0) \"a\"");
  refuse(Status::unsupported, "layers of kind 'attention' are unknown",
         of_layers("%1 : f32[2, 4, 4] = attention(%0) \"a\""));
  // ops that are no layers
  for (const char* op : {"all_reduce", "sgd", "relu_gradient", "sum_axes", "add", "slice_channels", "cast"})
    refuse(Status::unsupported, "unknown to this library", of_layers(text("%1 : f32[1] = ", op, "(%0) \"a\"")));
  refuse(Status::unsupported, "setting leak is unknown", of_layers("%1 : f32[2, 4, 4] = relu(%0) \"a\" {leak=0.1}"));

  const auto flat = [&](const std::string& message, const std::string& layer) {
    corrupt(message, "%1 : f32[32] = flatten(%0) \"f\"\n" + layer);
  };
  flat("attribute 'out_features' is absent", "%2 : f32[3] = linear(%1) \"a\" {bias=1}");
  flat("attribute 'out_features' has another type", "%2 : f32[3] = linear(%1) \"a\" {out_features=3.0, bias=1}");
  flat("attribute 'bias' has another type", "%2 : f32[3] = linear(%1) \"a\" {out_features=3, bias=\"yes\"}");
  flat("bias cannot have the value in the file", "%2 : f32[3] = linear(%1) \"a\" {out_features=3, bias=2}");
  flat("out_features is 0", "%2 : f32[3] = linear(%1) \"a\" {out_features=0, bias=1}");
  flat("out_features is -9223372036854775808", "%2 : f32[3] = linear(%1) \"a\" {out_features=-9223372036854775808}");
  flat("linear 'a'", "%2 : f32[3] = linear(%1) \"a\" {out_features=9223372036854775807, bias=1}");
  flat("need an attribute that the braces do not have", "%2 : f32[3] = linear(%1) \"a\" {bias=1, bias=1}");
  flat("dropout 'a': probability is nan", "%2 : f32[32] = dropout(%1) \"a\" {probability=nan}");
  flat("dropout 'a': probability is inf", "%2 : f32[32] = dropout(%1) \"a\" {probability=inf}");
  flat("attribute 'probability' has another type", "%2 : f32[32] = dropout(%1) \"a\" {probability=[1, 2]}");
  corrupt("eps is nan", "%1 : f32[2, 4, 4] = batch_norm2d(%0) \"a\" {eps=nan, momentum=0.1}");
  corrupt("momentum is -1", "%1 : f32[2, 4, 4] = batch_norm2d(%0) \"a\" {eps=0.1, momentum=-1.0}");
  corrupt("need an integer", "%1 : f32[[[[[[[[[2]]]]]]]]] = relu(%0) \"a\"");
  corrupt("need an integer", "%1 : f32[2] = relu(%0) \"a\" {a=" + std::string(100000, '[') + "}");
  for (const char* size : {"[]", "[1]", "[1, 1, 1]"})
    corrupt("sizes, needs 2", text("%1 : f32[2, 1, 1] = adaptive_avg_pool2d(%0) \"a\" {size=", size, "}"));
  for (const char* size : {"[0, 1]", "[-1, 1]", "[9223372036854775807, 9223372036854775807]"})
    corrupt("adaptive_avg_pool2d 'a'", text("%1 : f32[2, 1, 1] = adaptive_avg_pool2d(%0) \"a\" {size=", size, "}"));

  refuse(Status::corrupt, "needs f32, or i32", input_of("f64[2]", "dtype=\"f64\", shape=[2]"));
  refuse(Status::corrupt, "dtype: found 'f33'", input_of("f32[2]", "dtype=\"f33\", shape=[2]"));
  refuse(Status::corrupt, "rank 0", input_of("f32[]", "dtype=\"f32\", shape=[]"));
  refuse(Status::corrupt, "rank 9", input_of("f32[1]", "dtype=\"f32\", shape=[1, 1, 1, 1, 1, 1, 1, 1, 1]"));
  refuse(Status::corrupt, "sizes of at least 1", input_of("f32[0]", "dtype=\"f32\", shape=[0]"));
  refuse(Status::corrupt, "input 'x'", input_of("f32[1]", "dtype=\"f32\", shape=[4294967296, 4294967296]"));
}

TEST(ModelText, IsRefusedBeforeItTakesMuchMemory) {
  EXPECT_THROWS(Status::unsupported, "its layers are 100000000 bytes of text, the largest is 16777216",
                read_model_text(std::string(100000000, '['), "file"));
  // an LSTM is up to 1000 nodes
  std::string layers =
      "model 1 \"n\" { initializer pytorch %0 : f32[1000000, 1] = input() \"x\" {dtype=\"f32\", "
      "shape=[1000000, 1]}\n";
  for (int i = 1; i <= 100; ++i)
    layers += text("%", i, " : f32[1000000, 1] = lstm(%", i - 1, ") \"l", i, "\" {hidden=1, bias=0}\n");
  EXPECT_THROWS(Status::unsupported, "nodes", read_model_text(layers + "}", "file"));
}

// Layers are added in linear time, also those with dropout, and so is a model printed.
TEST(ModelText, OfManyLayersReadsBack) {
  std::string source = of_layers("");
  source.resize(source.size() - 2);
  int n = 0;
  for (; n < 20000; n += 2) {
    source += text("  %", n + 1, " : f32[2, 4, 4] = relu(%", n, ") \"g", n, ".relu\"\n");
    source += text("  %", n + 2, " : f32[2, 4, 4] = dropout(%", n + 1, ") \"g", n, ".drop\" {probability=0.5}\n");
  }
  source += text("  return %", n, "\n}\n");
  const auto model = read_model_text(source, "file");
  EXPECT_EQ(model->layers().size(), 20001u);
  EXPECT_EQ(print_model_text(*model), source);
  EXPECT_NE(print_model(*model).find("(g19998): Sequential("), std::string::npos);
}

// Reads a text that nobody wrote. If it is a model, everything about the model must work. Returns
// whether it is.
bool read_hostile(const std::string& source) {
  try {
    const auto model = read_model_text(source, "file");
    verify(model->graph());
    const std::string again = print_model_text(*model);
    EXPECT_EQ(print_model_text(*read_model_text(again, "file")), again);
    EXPECT_FALSE(print_model(*model).empty());
    return true;
  } catch (const Error& error) {
    EXPECT_TRUE(error.status() == Status::corrupt || error.status() == Status::unsupported) << error.what() << '\n'
                                                                                            << source;
    return false;
  }
}

TEST(ModelText, EndsAnywhere) {
  for (const auto& model : {every_image_layer(), every_signal_layer(), every_token_layer()}) {
    const std::string whole = print_model_text(*model);
    for (size_t size = 0; size + 1 < whole.size(); ++size) EXPECT_FALSE(read_hostile(whole.substr(0, size))) << size;
  }
}

TEST(ModelText, MayHaveAnyByteInAnyPlace) {
  uint64_t draw = 0;
  const auto random = [&draw](uint64_t below) { return hash_name(std::to_string(draw++)) % below; };
  for (const auto& model : {every_image_layer(), every_signal_layer(), every_token_layer()}) {
    const std::string whole = print_model_text(*model);
    for (size_t at = 0; at < whole.size(); ++at) {
      std::string changed = whole;
      changed[at] = static_cast<char>(random(256));
      read_hostile(changed);
    }
  }
}

// Words, numbers and lines change places, or become numbers at the ends of their ranges.
TEST(ModelText, MayHaveAnyWordInAnyPlace) {
  uint64_t draw = 0;
  const auto random = [&draw](size_t below) { return static_cast<size_t>(hash_name(std::to_string(draw++)) % below); };
  const char* const odd[] = {"",
                             "0",
                             "-1",
                             "1",
                             "9223372036854775807",
                             "-9223372036854775808",
                             "nan",
                             "inf",
                             "1e400",
                             "2147483648",
                             "4294967296",
                             "{",
                             "}",
                             "[",
                             "]",
                             "%",
                             "\"",
                             "1000000",
                             "lstm",
                             "gru",
                             "sum",
                             "i32",
                             "[0]",
                             "[1, 1]",
                             "%0",
                             "\"x\"",
                             "1.0",
                             "input()",
                             "\xff\xfe",
                             "1152921504606846976"};
  for (const auto& model : {every_image_layer(), every_signal_layer(), every_token_layer()}) {
    std::vector<std::string> words;
    std::string word;
    for (char c : print_model_text(*model)) {
      const bool joins = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
      if (!joins && !word.empty()) words.push_back(std::exchange(word, ""));
      if (joins)
        word += c;
      else
        words.push_back(std::string(1, c));
    }
    for (int i = 0; i < 3000; ++i) {
      std::vector<std::string> changed = words;
      for (size_t n = 1 + random(3); n > 0; --n) {
        const size_t at = random(changed.size()), other = random(changed.size());
        switch (random(4)) {
          case 0: changed[at] = odd[random(std::size(odd))]; break;
          case 1: changed[at] = changed[other]; break;
          case 2: std::swap(changed[at], changed[other]); break;
          default: changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), changed[other]); break;
        }
      }
      read_hostile(join(changed, ""));
    }
  }
}

}  // namespace
}  // namespace troika
