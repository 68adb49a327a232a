// The rules of a safetensors header: every test of an error in the reference implementation, the
// contents of valid headers, and damage.
#include <cstring>
#include <locale>

#include "state/header_helpers.h"

namespace troika {
namespace {

using namespace test;

// ---- the tests of the reference implementation ----

TEST(SafetensorsHeader, RefusesManyTensorsOnTheSameBytes) {  // json_attack
  std::string header = "{";
  for (int i = 0; i < 10; ++i)
    header +=
        (i ? "," : "") + ("\"weight_" + std::to_string(i)) + R"(":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})";
  expect_header_refused(header + "}", "tensor 'weight_1': data begins at 0, need 16");
}

TEST(SafetensorsHeader, RefusesExtraAndMissingBytes) {  // metadata_incomplete_buffer
  expect_header_refused(kSound, "holds 32 bytes of data, its tensors need 16; the file has bytes of no tensor", 32);
  expect_header_refused(kSound, "holds 17 bytes of data, its tensors need 16", 17);
  expect_header_refused(kSound, "holds 15 bytes of data, its tensors need 16; the file is cut short", 15);
}

TEST(SafetensorsHeader, RefusesAHeaderThatIsTooLarge) {  // header_too_large
  expect_refused(std::string("\x3c\0\0\0\0\xff\xff\xff{}", 10), "the largest is 100000000");
  expect_refused(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10), "header says it is 100000001 bytes");
}

TEST(SafetensorsHeader, RefusesAFileBelowEightBytes) {  // header_too_small
  expect_refused("", "is 0 bytes, a safetensors file has at least 8");
  expect_refused("1234567", "is 7 bytes");
}

TEST(SafetensorsHeader, RefusesAHeaderThatIsLongerThanTheFile) {  // invalid_header_length
  expect_refused(std::string("\x3c\0\0\0\0\0\0\0", 8), "header says it is 60 bytes, the file holds 0");
  expect_refused(std::string("\x03\0\0\0\0\0\0\0{}", 10), "header says it is 3 bytes, the file holds 2");
}

TEST(SafetensorsHeader, RefusesAHeaderThatIsNotUtf8) {  // invalid_header_non_utf8
  expect_header_refused("\xff", "header is not UTF-8 at byte 0");
  expect_header_refused("{\"\xc3\x28\":{}}", "header is not UTF-8 at byte 2");
}

TEST(SafetensorsHeader, RefusesAHeaderThatIsNotJson) {  // invalid_header_not_json
  expect_header_refused("{", "header is not valid JSON at byte ");
  expect_header_refused("<html>", "does not begin with '{'");
  expect_header_refused("", "does not begin with '{'", 0);
  expect_header_refused(R"({"t":})", "header is not valid JSON at byte 6");
}

TEST(SafetensorsHeader,
     AcceptsJsonWhitespaceOnBothSides) {  // whitespace_padded_header, ..._leading_..., ..._trailing_...
  for (const char* space : {" ", "\t", "\n", "\r", " \r\n\t   "}) {
    EXPECT_EQ(parse(safetensors_file(space + kSound, std::string(16, 'x'))).entries.size(), 1u);
    EXPECT_EQ(parse(safetensors_file(kSound + space, std::string(16, 'x'))).entries.size(), 1u);
    EXPECT_EQ(parse(safetensors_file(space + kSound + space, std::string(16, 'x'))).entries.size(), 1u);
  }
}

TEST(SafetensorsHeader, AcceptsTensorsWithoutElements) {  // zero_sized_tensor
  const auto header = parse(safetensors_file(R"({"t":{"dtype":"I32","shape":[2,0],"data_offsets":[0,0]}})", ""));
  ASSERT_EQ(header.entries.size(), 1u);
  EXPECT_EQ(header.entries[0].shape, (Shape{2, 0}));
  EXPECT_EQ(header.entries[0].bytes(), 0u);
}

TEST(SafetensorsHeader, RefusesDataThatIsSmallerThanTheShape) {  // invalid_info
  expect_refused(
      safetensors_file(R"({"conv1.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,12]}})", std::string(12, 'x')),
      "tensor 'conv1.weight': data is 12 bytes, shape [2, 2] of F32 needs 16");
  expect_header_refused(tensor(R"("dtype":"F32","shape":[2,2],"data_offsets":[0,4])"), "needs 16", 4);
}

TEST(SafetensorsHeader, RefusesShapesWhoseProductOverflows) {  // validation_overflow, both multiplications
  const std::string large = "281474976710655";                 // 2^48 - 1
  expect_header_refused(tensor("\"dtype\":\"I32\",\"shape\":[2," + large + "," + large + R"(],"data_offsets":[0,16])"),
                        "has too many elements");
  // 2^62 elements fit into 64 bits, but the number of their bytes does not.
  expect_header_refused(tensor(R"("dtype":"I32","shape":[2147483648,2147483648],"data_offsets":[0,16])"),
                        "has too many elements");
  // 2^61 elements of 8 bytes wrap to 0 bytes, which must not be accepted as an empty tensor.
  expect_header_refused(tensor(R"("dtype":"F64","shape":[1073741824,2147483648],"data_offsets":[0,0])"),
                        "has too many elements", 0);
  // The numbers of the reference's test are above 2^48 - 1.
  expect_header_refused(tensor(R"("dtype":"I32","shape":[2,18446744073709551614],"data_offsets":[0,16])"),
                        "shape holds 18446744073709551614, the largest is 2^48 - 1");
  expect_header_refused(tensor(R"("dtype":"I32","shape":[2,9223372036854775807],"data_offsets":[0,16])"),
                        "shape holds 9223372036854775807");
}

TEST(SafetensorsHeader, RefusesAnOverflowBeforeADimensionOfZero) {
  expect_header_refused(tensor(R"("dtype":"F32","shape":[281474976710655,281474976710655,0],"data_offsets":[0,0])"),
                        "has too many elements", 0);
  const auto header = parse(safetensors_file(
      tensor(R"("dtype":"F32","shape":[0,281474976710655,281474976710655],"data_offsets":[0,0])"), ""));
  EXPECT_EQ(header.entries[0].shape.elements(), 0);
}

TEST(SafetensorsHeader, RefusesSubByteTensorsThatEndWithinAByte) {  // MisalignedSlice
  expect_header_refused(tensor(R"("dtype":"F4","shape":[3],"data_offsets":[0,2])"),
                        "shape [3] of F4 is 12 bits, need a multiple of 8", 2);
  EXPECT_EQ(
      parse(safetensors_file(tensor(R"("dtype":"F4","shape":[4],"data_offsets":[0,2])"), "xx")).entries[0].bytes(), 2u);
  EXPECT_EQ(
      parse(safetensors_file(tensor(R"("dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3])"), "xxx")).entries.size(),
      1u);
}

TEST(SafetensorsHeader, RefusesGapsOverlapsAndReversedOffsets) {  // InvalidOffset
  expect_header_refused(tensor(R"("dtype":"U8","shape":[8],"data_offsets":[8,16])"), "data begins at 8, need 0");
  expect_header_refused(tensor(R"("dtype":"U8","shape":[8],"data_offsets":[16,8])"),
                        "data ends at 8, before its begin at 16");
  const std::string first = R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":)";
  expect_header_refused(first + R"([7],"data_offsets":[9,16]}})", "tensor 'b': data begins at 9, need 8");
  expect_header_refused(first + R"([9],"data_offsets":[7,16]}})", "tensor 'b': data begins at 7, need 8");
  expect_header_refused(first + R"([8],"data_offsets":[8,16]}})", "", 15);
}

TEST(SafetensorsHeader, RefusesOffsetsOutsideTheFile) {
  expect_header_refused(tensor(R"("dtype":"U8","shape":[281474976710655],"data_offsets":[0,281474976710655])"),
                        "its tensors need 281474976710655; the file is cut short");
}

TEST(SafetensorsHeader, KeepsMessagesShortForLongNamesAndShapes) {
  std::string name(1000, 'n');
  const auto error = error_of([&] {
    (void)parse(safetensors_file("{\"" + name + R"(":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}})", "x"));
  });
  ASSERT_TRUE(error);
  EXPECT_LT(std::strlen(error->what()), 300u);
  EXPECT_NE(std::string(error->what()).find("...': data is 1 bytes, shape [2] of U8 needs 2"), std::string::npos);
}

// ---- valid headers ----

TEST(SafetensorsHeader, KnowsAll22DTypesAndTheirSizes) {
  const std::vector<std::pair<std::string, int>> bits = {
      {"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
      {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
      {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
      {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}};
  ASSERT_EQ(bits.size(), 22u);
  int order = 0;
  for (const auto& [name, size] : bits) {
    EXPECT_EQ(safetensors_bits(name), size) << name;
    EXPECT_EQ(safetensors_dtype_order(name), order++) << name;
    const std::string file = safetensors_file(
        tensor("\"dtype\":\"" + name + R"(","shape":[8],"data_offsets":[0,)" + std::to_string(size) + "]"),
        std::string(static_cast<size_t>(size), 'x'));
    EXPECT_EQ(parse(file).entries[0].dtype, name);
  }
  EXPECT_EQ(safetensors_bits("F128"), 0);
}

TEST(SafetensorsHeader, MapsFiveDTypesToOurs) {
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8}) {
    EXPECT_EQ(dtype_from_safetensors(safetensors_dtype(dtype)), dtype);
    EXPECT_EQ(safetensors_bits(safetensors_dtype(dtype)), static_cast<int>(8 * size_of(dtype)));
  }
  EXPECT_FALSE(dtype_from_safetensors("BF16"));
  EXPECT_FALSE(dtype_from_safetensors("f32"));
}

TEST(SafetensorsHeader, GivesEntriesInTheOrderOfTheirData) {
  const auto header = parse(safetensors_file(
      R"({"z":{"dtype":"U8","shape":[],"data_offsets":[8,9]},"m":{"dtype":"U8","shape":[0],"data_offsets":[8,8]},)"
      R"("a":{"data_offsets":[0,8],"shape":[1],"dtype":"I64"},"__metadata__":{"format":"pt"}})",
      std::string(9, 'x')));
  ASSERT_EQ(header.entries.size(), 3u);
  EXPECT_EQ(header.entries[0].name, "a");
  EXPECT_EQ(header.entries[1].name, "m");
  EXPECT_EQ(header.entries[2].name, "z");
  EXPECT_EQ(header.entries[2].shape.rank(), 0);
  EXPECT_EQ(header.metadata.at("format"), "pt");
}

TEST(SafetensorsHeader, PrintsWhatItReads) {
  SafetensorsHeader header;
  header.metadata = {{"b", "2"}, {"a", "quote\" back\\ tab\t bell\x07 \u00e9 \x7f"}};
  header.entries = {{"x\n", "F32", Shape{2}, 0, 8}, {"y", "U8", Shape{}, 8, 9}};
  const std::string head = print_safetensors_header(header);
  EXPECT_EQ(head.substr(8),
            "{\"__metadata__\":{\"a\":\"quote\\\" back\\\\ tab\\t bell\\u0007 \u00e9 \x7f\",\"b\":\"2\"},"
            R"("x\n":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
            R"("y":{"dtype":"U8","shape":[],"data_offsets":[8,9]}})" +
                std::string((8 - (head.find_last_of('}') + 1) % 8) % 8, ' '));
  EXPECT_EQ(head.size() % 8, 0u);
  const auto again = parse_safetensors_header(head, head.size() + 9, kLabel);
  EXPECT_EQ(again.metadata, header.metadata);
  EXPECT_EQ(again.entries[0].name, "x\n");
}

// Prints numbers as a host's locale may do: 1.000.
struct Grouping : std::numpunct<char> {
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(SafetensorsHeader, PrintsTheSameBytesInEveryLocale) {
  const auto head = [] {
    SafetensorsHeader header;
    header.entries = {{"x", "U8", Shape{1, 1000000}, 0, 1000000}};
    return print_safetensors_header(header);
  };
  const std::string expected = head();
  const std::locale previous = std::locale::global(std::locale(std::locale::classic(), new Grouping));
  const std::string found = head();
  const auto again = parse_safetensors_header(found, found.size() + 1000000, kLabel);
  std::locale::global(previous);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(again.entries[0].end, 1000000u);
}

// ---- damage ----

// Returns a small valid file with metadata and three tensors.
std::string small_file() {
  return safetensors_file(R"({"__metadata__":{"format":"pt"},"n":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                          R"("w":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},)"
                          R"("e":{"dtype":"U8","shape":[0],"data_offsets":[16,16]}}   )",
                          std::string(16, '\x5a'));
}

TEST(SafetensorsHeader, RefusesAFileCutAtEveryByteAndOneExtraByte) {
  const std::string file = small_file();
  EXPECT_EQ(parse(file).entries.size(), 3u);
  for (size_t size = 0; size < file.size(); ++size) {
    SCOPED_TRACE(size);
    expect_refused(file.substr(0, size), "");
  }
  expect_refused(file + 'x', "the file has bytes of no tensor");
}

TEST(SafetensorsHeader, IsConsistentOrRefusedAfterAnyFlippedBit) {
  const std::string file = small_file();
  size_t accepted = 0;
  for (size_t byte = 0; byte < file.size() - 16; ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = file;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      SafetensorsHeader header;
      const auto error = error_of([&] { header = parse(damaged); });
      if (error) {
        EXPECT_EQ(error->status(), Status::corrupt) << error->what();
        continue;
      }
      ++accepted;  // another letter of a name or of the metadata
      uint64_t end = 0;
      for (const TensorEntry& entry : header.entries) {
        EXPECT_EQ(entry.begin, end);
        EXPECT_EQ(entry.bytes() * 8, static_cast<uint64_t>(entry.shape.elements() * safetensors_bits(entry.dtype)));
        end = entry.end;
      }
      EXPECT_EQ(header.data_offset + end, damaged.size());
    }
  }
  EXPECT_GT(accepted, 0u);
}

}  // namespace
}  // namespace troika
