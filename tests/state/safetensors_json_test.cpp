// The JSON of a safetensors header: JSON that the format does not allow is refused, and so is JSON
// on which parsers disagree.
#include "state/header_helpers.h"

namespace troika {
namespace {

using namespace test;

TEST(SafetensorsJson, RefusesOtherThanTwoOffsets) {
  const std::string front = R"("dtype":"U8","shape":[16],"data_offsets":)";
  expect_header_refused(tensor(front + "[]"), "data_offsets holds 0 numbers, need 2");
  expect_header_refused(tensor(front + "[0]"), "data_offsets holds 1 numbers, need 2");
  expect_header_refused(tensor(front + "[0,16,16]"), "data_offsets holds more than 2 numbers");
}

TEST(SafetensorsJson, RefusesNumbersThatAreNotWholeAndPositive) {
  for (const char* number :
       {"16.0", "1.6e1", "16E0", "-16", "-0", "1e400", "18446744073709551616", "-9223372036854775809"}) {
    expect_header_refused(tensor(R"("dtype":"U8","shape":[16],"data_offsets":[0,)" + std::string(number) + "]"), "");
    expect_header_refused(tensor(R"("dtype":"U8","shape":[)" + std::string(number) + R"(],"data_offsets":[0,16])"), "");
  }
  expect_header_refused(tensor(R"("dtype":"U8","shape":[16.0],"data_offsets":[0,16])"),
                        "shape holds the number 16.0, need whole numbers from 0 on");
  expect_header_refused(tensor(R"("dtype":"U8","shape":[-16],"data_offsets":[0,16])"), "shape holds a number below 0");
}

TEST(SafetensorsJson, RefusesNumbersThatJsonDoesNotKnow) {
  for (const char* number : {"016", "0x10", "+16", "NaN", "Infinity", "16,", "1 6", "/*16*/16", "\"16\""})
    expect_header_refused(tensor(R"("dtype":"U8","shape":[)" + std::string(number) + R"(],"data_offsets":[0,16])"), "");
}

TEST(SafetensorsJson, RefusesOffsetsAbove48Bits) {
  expect_header_refused(tensor(R"("dtype":"U8","shape":[16],"data_offsets":[0,281474976710656])"),
                        "data_offsets holds 281474976710656, the largest is 2^48 - 1");
}

TEST(SafetensorsJson, RefusesATensorNamedTwice) {
  const std::string entry = R"("t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expect_header_refused("{" + entry + "," + entry + "}", "tensor 't': occurs twice", 0);
  expect_header_refused("{" + entry + R"(,"\u0074":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", "occurs twice",
                        0);
}

TEST(SafetensorsJson, RefusesMetadataAndItsKeysTwice) {
  expect_header_refused(R"({"__metadata__":{},"__metadata__":{}})", "__metadata__: occurs twice", 0);
  expect_header_refused(R"({"__metadata__":{"k":"1","k":"2"}})", "__metadata__: key 'k' occurs twice", 0);
}

TEST(SafetensorsJson, RefusesAFieldTwice) {
  expect_header_refused(tensor(R"("dtype":"U8","dtype":"U8","shape":[16],"data_offsets":[0,16])"),
                        "tensor 't': dtype occurs twice");
  expect_header_refused(tensor(R"("dtype":"U8","shape":[16],"shape":[16],"data_offsets":[0,16])"),
                        "shape occurs twice");
}

TEST(SafetensorsJson, RefusesAFieldThatIsMissingOrUnknown) {
  expect_header_refused("{\"t\":{}}", "tensor 't': has no dtype");
  expect_header_refused(tensor(R"("dtype":"U8","data_offsets":[0,16])"), "tensor 't': has no shape");
  expect_header_refused(tensor(R"("dtype":"U8","shape":[16])"), "tensor 't': has no data_offsets");
  expect_header_refused(tensor(R"("dtype":"U8","shape":[16],"data_offsets":[0,16],"strides":[1])"),
                        "field 'strides' is not dtype, shape or data_offsets");
}

TEST(SafetensorsJson, RefusesAnUnknownDTypeByName) {
  for (const char* dtype : {"F31", "f32", "", "F32 ", "float32", "BF16\\n"})
    expect_header_refused(tensor("\"dtype\":\"" + std::string(dtype) + R"(","shape":[4],"data_offsets":[0,16])"),
                          "is none of the safetensors format");
}

TEST(SafetensorsJson, RefusesValuesOfOtherTypes) {
  for (const char* value : {"null", "true", "1", "1.5", "\"x\"", "[]", "[{}]"}) {
    expect_header_refused("{\"t\":" + std::string(value) + "}", "tensor 't': is ", 0);
    expect_header_refused("{\"__metadata__\":" + std::string(value) + "}", "__metadata__: is ", 0);
  }
  for (const char* value : {"null", "true", "1", "1.5", "[]", "{}"}) {
    expect_header_refused(R"({"__metadata__":{"k":)" + std::string(value) + "}}", "__metadata__: key 'k' is ", 0);
    expect_header_refused(tensor("\"dtype\":" + std::string(value) + R"(,"shape":[0],"data_offsets":[0,0])"),
                          "dtype is ", 0);
  }
  for (const char* value : {"null", "true", "1", "1.5", "\"x\"", "{}"})
    expect_header_refused(tensor("\"dtype\":\"U8\",\"shape\":" + std::string(value) + R"(,"data_offsets":[0,0])"),
                          "shape is ", 0);
  for (const char* value : {"null", "true", "\"1\"", "[1]", "{}"})
    expect_header_refused(tensor("\"dtype\":\"U8\",\"shape\":[" + std::string(value) + R"(],"data_offsets":[0,0])"),
                          "shape holds ", 0);
  for (const char* value : {"null", "1", "\"x\"", "[]", "true"})
    expect_header_refused(value, "does not begin with '{'", 0);
}

TEST(SafetensorsJson, RefusesDeepNestingAtOnce) {
  expect_header_refused("{\"t\":" + std::string(1'000'000, '['), "tensor 't': is an array", 0);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"dtype\":";
  expect_header_refused("{\"t\":" + objects, "dtype is an object", 0);
}

TEST(SafetensorsJson, RefusesNamesThatAreEmptyLongOrHoldANul) {
  const std::string fields = R"(:{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  expect_header_refused("{\"\"" + fields, "a tensor has an empty name", 0);
  expect_header_refused("{\"a\\u0000b\"" + fields, "tensor 'a\\x00b': name holds a NUL", 0);
  expect_header_refused("{\"" + std::string(1025, 'x') + "\"" + fields, "name is 1025 bytes, the largest is 1024", 0);
  EXPECT_EQ(parse(safetensors_file("{\"" + std::string(1024, 'x') + "\"" + fields, "")).entries[0].name.size(), 1024u);
}

TEST(SafetensorsJson, RefusesLoneSurrogates) {
  const std::string fields = R"(:{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  expect_header_refused("{\"\\ud800\"" + fields, "not valid JSON", 0);
  expect_header_refused("{\"\\udc00\"" + fields, "not valid JSON", 0);
  EXPECT_EQ(parse(safetensors_file("{\"\\ud83d\\udc0e\"" + fields, "")).entries[0].name, "\U0001F40E");
}

TEST(SafetensorsJson, RefusesRawControlCharactersInNames) {
  expect_header_refused("{\"a\nb\":{}}", "not valid JSON", 0);
}

TEST(SafetensorsJson, RefusesMoreThan32Dimensions) {
  std::string ones = "1";
  for (int i = 1; i < 32; ++i) ones += ",1";
  EXPECT_EQ(parse(safetensors_file(tensor("\"dtype\":\"U8\",\"shape\":[" + ones + R"(],"data_offsets":[0,1])"), "x"))
                .entries[0]
                .shape.rank(),
            32);
  expect_header_refused(tensor("\"dtype\":\"U8\",\"shape\":[" + ones + R"(,1],"data_offsets":[0,1])"),
                        "has more than 32 dimensions", 1);
}

TEST(SafetensorsJson, RefusesBytesBehindTheJson) {
  expect_header_refused(kSound + "{}", "not valid JSON");
  expect_header_refused(kSound + "x", "not valid JSON");
  expect_header_refused(kSound + ",", "not valid JSON");
}

TEST(SafetensorsJson, RefusesANulAfterTheJsonWhichParsersTakeForItsEnd) {
  expect_header_refused(kSound + std::string(1, '\0'), "not valid JSON at byte " + std::to_string(kSound.size() + 1));
  expect_header_refused(kSound + std::string("\0polyglot", 9), "not valid JSON");
}

TEST(SafetensorsJson, RefusesAByteOrderMark) {
  expect_header_refused("\xef\xbb\xbf" + kSound, "does not begin with '{'");
}

TEST(SafetensorsJson, RefusesCommentsAndTrailingCommas) {
  expect_header_refused("/**/" + kSound, "does not begin with '{'");
  expect_header_refused("{/**/" + kSound.substr(1), "not valid JSON");
  expect_header_refused("{\"__metadata__\":{},}", "not valid JSON", 0);
}

TEST(SafetensorsJson, RefusesMoreThanAMillionTensors) {
  std::string header = "{";
  for (size_t i = 0; i <= kMaxTensors; ++i)
    header += (i ? ",\"" : "\"") + std::to_string(i) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  expect_header_refused(header + "}", "holds more than 1000000 tensors", 0);
}

}  // namespace
}  // namespace troika
