// Safetensors files on disk: the reader, the writer, and both together.
#include "state/safetensors.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <numeric>

#include "core/fault_file_system.h"
#include "state/file_helpers.h"
#include "support/temp_directory.h"
#include "support/throws.h"
#include "support/wine.h"

namespace troika {
namespace {

using namespace test;
namespace fs = std::filesystem;

std::string data_of(const SafetensorsReader& reader, const std::string& name) {
  const TensorEntry* entry = reader.find(name);
  EXPECT_NE(entry, nullptr) << name;
  if (!entry) return {};
  std::string data(entry->bytes(), '\0');
  reader.read(*entry, data.data(), data.size());
  return data;
}

const std::vector<float> kSix = {0, 1, 2, 3, 4, 5};
const std::string kSixBytes(reinterpret_cast<const char*>(kSix.data()), 24);

// ---- the writer ----

TEST(SafetensorsWriter, WritesTheBytesOfTheReferenceWriter) {
  TempDirectory directory;
  const fs::path path = directory.path() / "w.safetensors";
  SafetensorsWriter writer;
  writer.add("attn.0", "F32", Shape{1, 2, 3}, kSix.data());
  writer.write(path.string());
  EXPECT_EQ(read_whole(path),
            std::string("\x40\0\0\0\0\0\0\0", 8) +
                R"({"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}})" +
                std::string("\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\0\0\x80\x40\0\0\xa0\x40", 24));
}

TEST(SafetensorsWriter, SumsItsDataSoThatAnyFlippedBitIsFound) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  SafetensorsWriter writer;
  writer.add("six", "F32", Shape{6}, kSix.data());
  writer.add("none", "F32", Shape{0}, nullptr);
  writer.add("two", "I64", Shape{2}, [](void* destination, uint64_t size) { std::memset(destination, '!', size); });
  writer.sum_data();
  writer.write(path);
  const std::string whole = read_whole(path);
  EXPECT_EQ(SafetensorsReader(path).metadata().at("crc32"), "c98dc178") << "zlib's, of the data in the file's order";
  SafetensorsReader(path).check_sum();
  for (size_t at = whole.size() - 40; at < whole.size(); ++at) {
    std::string bad = whole;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    std::ofstream(path, std::ios::binary) << bad;
    EXPECT_THROWS(Status::corrupt, "metadata 'crc32' is 'c98dc178'", SafetensorsReader(path).check_sum());
  }
}

// More parts than bytes, too: some are empty.
TEST(SafetensorsReader, ChecksTheSumsOfParts) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  SafetensorsWriter writer;
  writer.add("six", "F32", Shape{6}, kSix.data());
  writer.sum_data();
  writer.write(path);
  const SafetensorsReader reader(path);
  for (const int64_t parts : {1, 2, 3, 5, 24, 31}) {
    std::vector<uint32_t> sums;
    for (int64_t part = 0; part < parts; ++part) sums.push_back(reader.sum_part(parts, part));
    reader.check_sums(sums);
    for (size_t part = 0; part < sums.size(); ++part) {
      std::vector<uint32_t> bad = sums;
      bad[part] ^= 1;
      EXPECT_THROWS(Status::corrupt, "its data has the CRC-32", reader.check_sums(bad));
    }
  }
}

TEST(SafetensorsReader, TakesAFileWithoutASumAsItIs) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  SafetensorsWriter writer;
  writer.add("six", "F32", Shape{6}, kSix.data());
  writer.write(path);
  EXPECT_TRUE(SafetensorsReader(path).metadata().empty());
  SafetensorsReader(path).check_sum();
}

TEST(SafetensorsWriter, PadsTheHeaderWithSpaces) {
  TempDirectory directory;
  SafetensorsWriter writer;
  writer.add("attn0", "F32", Shape{1, 1, 2, 3}, kSix.data());
  writer.write((directory.path() / "w").string());
  EXPECT_EQ(read_whole(directory.path() / "w"),
            std::string("\x48\0\0\0\0\0\0\0", 8) +
                R"({"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       )" + kSixBytes);
}

TEST(SafetensorsWriter, WritesNoTensorsAndOnlyMetadata) {
  TempDirectory directory;
  SafetensorsWriter writer;
  writer.write((directory.path() / "w").string());
  EXPECT_EQ(read_whole(directory.path() / "w"), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  writer.set_metadata("framework", "pt");
  writer.write((directory.path() / "w").string());
  EXPECT_EQ(read_whole(directory.path() / "w"),
            std::string("\x28\0\0\0\0\0\0\0", 8) + R"({"__metadata__":{"framework":"pt"}}     )");
  EXPECT_TRUE(SafetensorsReader((directory.path() / "w").string()).entries().empty());
}

TEST(SafetensorsWriter, OrdersByAlignmentThenNameWhateverTheOrderOfAdding) {
  TempDirectory directory;
  const std::vector<std::pair<std::string, std::string>> tensors = {
      {"b", "U8"}, {"a", "U8"}, {"d", "F32"}, {"c", "F32"}, {"e", "I64"}, {"g", "BF16"}, {"f", "F64"}};
  std::string first;
  for (int turn = 0; turn < 2; ++turn) {
    SafetensorsWriter writer;
    const char zeros[8] = {};
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto& [name, dtype] = tensors[turn == 0 ? i : tensors.size() - 1 - i];
      writer.add(name, dtype, Shape{}, zeros);
    }
    writer.set_metadata(turn == 0 ? "x" : "y", "1");
    writer.set_metadata(turn == 0 ? "y" : "x", "1");
    writer.write((directory.path() / "w").string());
    if (turn == 0) first = read_whole(directory.path() / "w");
  }
  EXPECT_EQ(read_whole(directory.path() / "w"), first);
  const SafetensorsReader reader((directory.path() / "w").string());
  std::string order;
  for (const TensorEntry& entry : reader.entries()) order += entry.name;
  EXPECT_EQ(order, "efcdgab");
}

TEST(SafetensorsWriter, AsksACallbackForTheDataOnce) {
  TempDirectory directory;
  SafetensorsWriter writer;
  int calls = 0;
  writer.add("w", "F32", Shape{2, 3}, [&](void* destination, uint64_t size) {
    ++calls;
    ASSERT_EQ(size, 24u);
    std::memcpy(destination, kSix.data(), size);
  });
  writer.write((directory.path() / "w").string());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(data_of(SafetensorsReader((directory.path() / "w").string()), "w"), kSixBytes);
}

TEST(SafetensorsWriter, KeepsThePreviousFileWhenACallbackThrows) {
  TempDirectory directory;
  write_whole(directory.path() / "w", "old");
  SafetensorsWriter writer;
  writer.add("w", "F32", Shape{6}, [](void*, uint64_t) { throw Error(Status::device_unavailable, "cuda:0: gone"); });
  const auto error = error_of([&] { writer.write((directory.path() / "w").string()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status(), Status::device_unavailable);
  EXPECT_EQ(read_whole(directory.path() / "w"), "old");
  EXPECT_EQ(names_in(directory.path()).size(), 1u);
}

TEST(SafetensorsWriter, RefusesNamesDTypesAndShapesThatNoReaderTakes) {
  SafetensorsWriter writer;
  writer.add("taken", "F32", Shape{6}, kSix.data());
  const auto refusal = [&](const std::string& name, const std::string& dtype, const Shape& shape, const void* data) {
    const auto error = error_of([&] { writer.add(name, dtype, shape, data); });
    if (!error) return std::string("accepted");
    EXPECT_EQ(error->status(), Status::invalid_argument);
    return std::string(error->what());
  };
  EXPECT_EQ(refusal("taken", "F32", {6}, kSix.data()), "safetensors writer: tensor 'taken': is added twice");
  EXPECT_EQ(refusal("", "F32", {6}, kSix.data()), "safetensors writer: a tensor has an empty name");
  EXPECT_EQ(refusal("__metadata__", "F32", {6}, kSix.data()),
            "safetensors writer: tensor '__metadata__': the format keeps this name for metadata");
  EXPECT_NE(refusal("\xff", "F32", {6}, kSix.data()).find("name is not UTF-8"), std::string::npos);
  EXPECT_NE(refusal(std::string("a\0b", 3), "F32", {6}, kSix.data()).find("name holds a NUL"), std::string::npos);
  EXPECT_NE(refusal(std::string(1025, 'x'), "F32", {6}, kSix.data()).find("name is 1025 bytes"), std::string::npos);
  EXPECT_NE(refusal("w", "f32", {6}, kSix.data()).find("dtype 'f32' is none of"), std::string::npos);
  EXPECT_NE(refusal("w", "F32", {-1}, kSix.data()).find("dimension below 0"), std::string::npos);
  EXPECT_NE(refusal("w", "F32", {int64_t{1} << 31, int64_t{1} << 31}, kSix.data()).find("too many elements"),
            std::string::npos);
  EXPECT_NE(refusal("w", "F32", {int64_t{1} << 47}, kSix.data()).find("above 2^48 - 1 bytes"), std::string::npos);
  EXPECT_NE(refusal("w", "F4", {3}, kSix.data()).find("is 12 bits"), std::string::npos);
  EXPECT_NE(refusal("w", "F32", {6}, nullptr).find("data is NULL"), std::string::npos);
  EXPECT_EQ(refusal("w", "F32", {0}, nullptr), "accepted");
  EXPECT_TRUE(error_of([&] { writer.set_metadata("k", "\xff"); }));
}

TEST(SafetensorsWriter, RefusesAHeaderAboveTheFormatsLimitAndWritesNothing) {  // invalid_header_size_serialization
  TempDirectory directory;
  SafetensorsWriter writer;
  writer.set_metadata("k", std::string(kMaxHeaderBytes, 'x'));
  const auto error = error_of([&] { writer.write((directory.path() / "w").string()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status(), Status::invalid_argument);
  EXPECT_NE(std::string(error->what()).find("the largest is 100000000"), std::string::npos);
  EXPECT_TRUE(names_in(directory.path()).empty());
}

TEST(SafetensorsWriter, SavesOntoTheFileThatAReaderHasOpen) {  // serialize_to_file_same_path_with_active_mmap
  if (test::is_wine()) GTEST_SKIP() << "Wine does not rename onto a file that is open";
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  SafetensorsWriter first;
  first.add("w", "F32", Shape{6}, kSix.data());
  first.write(path);
  const SafetensorsReader reader(path);
  SafetensorsWriter second;
  second.add("w", "F32", Shape{6},
             [&](void* destination, uint64_t size) { reader.read(*reader.find("w"), destination, size); });
  second.write(path);
  second.write(path);
  EXPECT_EQ(data_of(reader, "w"), kSixBytes);
  EXPECT_EQ(data_of(SafetensorsReader(path), "w"), kSixBytes);
}

TEST(SafetensorsWriter, KeepsThePreviousFileWhicheverSystemCallFails) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  SafetensorsWriter writer;
  writer.add("a", "F32", Shape{6}, kSix.data());
  writer.add("b", "F32", Shape{6}, kSix.data());
  write_whole(path, "old");
  FaultFileSystem counting;
  writer.write(path, "weights file", counting);
  const size_t calls = counting.calls().size();
  for (size_t k = 0; k < calls; ++k) {
    write_whole(path, "old");
    const auto error = error_of([&] { writer.write(path, "weights file", FaultFileSystem(Fault::fail, k, ENOSPC)); });
    const bool is_unchanged =
        error && std::string(error->what()).find("the previous file is unchanged") != std::string::npos;
    EXPECT_EQ(read_whole(path) == "old", is_unchanged) << k;
    EXPECT_EQ(names_in(directory.path()).size(), 1u);
  }
}

// ---- the reader ----

TEST(SafetensorsReader, ReadsBackEveryDTypeAndShape) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  std::string bytes(64 * 1000, '\0');
  std::iota(bytes.begin(), bytes.end(), '\1');
  SafetensorsWriter writer;
  const std::vector<Shape> shapes = {Shape{},        Shape{8},       Shape{0},
                                     Shape{2, 0, 3}, Shape{2, 4, 8}, Shape{1, 1, 1, 1, 1, 1, 1, 8}};
  size_t count = 0;
  for (const char* dtype : {"BOOL", "F8_E4M3", "F16", "BF16", "I32", "F32", "C64", "F64", "I64", "U64", "U8"})
    for (const Shape& shape : shapes)
      writer.add(std::string(dtype) + to_string(shape), dtype, shape, bytes.data() + 8 * count++);
  writer.set_metadata("step", "1000");
  writer.write(path);

  const SafetensorsReader reader(path);
  EXPECT_EQ(reader.entries().size(), count);
  EXPECT_EQ(reader.metadata(), (std::map<std::string, std::string>{{"step", "1000"}}));
  count = 0;
  for (const char* dtype : {"BOOL", "F8_E4M3", "F16", "BF16", "I32", "F32", "C64", "F64", "I64", "U64", "U8"})
    for (const Shape& shape : shapes) {
      const TensorEntry* entry = reader.find(std::string(dtype) + to_string(shape));
      ASSERT_NE(entry, nullptr);
      EXPECT_EQ(entry->shape, shape);
      EXPECT_EQ(data_of(reader, entry->name), bytes.substr(8 * count++, entry->bytes()));
    }
  EXPECT_EQ(reader.find("other"), nullptr);
}

TEST(SafetensorsReader, GoesOnAfterInterruptsAndShortReads) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  SafetensorsWriter writer;
  writer.add("w", "F32", Shape{6}, kSix.data());
  writer.write(path);
  FaultFileSystem file_system;
  file_system.interrupts = true;
  file_system.largest_transfer = 3;
  EXPECT_EQ(data_of(SafetensorsReader(path, "weights file", file_system), "w"), kSixBytes);
}

TEST(SafetensorsReader, SaysWhichCallFailedAndClosesTheFile) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  SafetensorsWriter writer;
  writer.add("w", "F32", Shape{6}, kSix.data());
  writer.write(path);
  for (size_t k = 0; k < 4; ++k) {  // open, pread, pread, then the data
    const FaultFileSystem file_system(Fault::fail, k, EIO);
    const auto error = error_of([&] { data_of(SafetensorsReader(path, "weights file", file_system), "w"); });
    ASSERT_TRUE(error) << k;
    EXPECT_EQ(error->status(), Status::io);
    EXPECT_EQ(error->what(),
              "weights file '" + path + "': cannot " + (k == 0 ? "open" : "read") + ": Input/output error (5)");
    EXPECT_EQ(file_system.calls().back(), k == 0 ? "open" : "close");
  }
}

TEST(SafetensorsReader, TellsAFileThatBecameShorterAfterItWasOpened) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  SafetensorsWriter writer;
  writer.add("w", "F32", Shape{6}, kSix.data());
  writer.write(path);
  const SafetensorsReader reader(path);
  fs::resize_file(path, fs::file_size(path) - 4);
  const auto error = error_of([&] { data_of(reader, "w"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status(), Status::corrupt);
  EXPECT_NE(std::string(error->what()).find("it became shorter while it was read"), std::string::npos);
}

TEST(SafetensorsReader, RefusesABufferOfAnotherSize) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  SafetensorsWriter writer;
  writer.add("w", "F32", Shape{6}, kSix.data());
  writer.write(path);
  const SafetensorsReader reader(path);
  char buffer[32];
  const auto error = error_of([&] { reader.read(*reader.find("w"), buffer, sizeof buffer); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->what(), "weights file '" + path + "': tensor 'w': buffer is 32 bytes, the data is 24");
  TensorEntry forged = *reader.find("w");
  forged.end += 8;
  EXPECT_TRUE(error_of([&] { reader.read(forged, buffer, sizeof buffer); }));
  TensorEntry copy = *reader.find("w");
  reader.read(copy, buffer, 24);
}

TEST(SafetensorsReader, RefusesPathsThatAreNoFile) {
  TempDirectory directory;
  const auto refusal = [&](const fs::path& path, Status status) {
    const auto error = error_of([&] { SafetensorsReader reader(path.string()); });
    if (!error) return std::string("accepted");
    EXPECT_EQ(error->status(), status) << error->what();
    const std::string label = "weights file '" + path.string() + "': ";
    EXPECT_EQ(std::string(error->what()).find(label), 0u);
    return std::string(error->what()).substr(label.size());
  };
  const fs::path& root = directory.path();
  write_whole(root / "empty", "");
  EXPECT_EQ(refusal(root, Status::io), "is a directory, need a safetensors file");
#ifndef _WIN32
  ASSERT_EQ(::mkfifo((root / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(root / "pipe", Status::io), "is not a regular file, need a safetensors file");
  EXPECT_EQ(refusal("/dev/zero", Status::io), "is not a regular file, need a safetensors file");
  EXPECT_EQ(refusal(root / "empty/no", Status::not_found), "cannot open: Not a directory (20)");
  EXPECT_EQ(refusal(root / std::string(300, 'x'), Status::io), "cannot open: File name too long (36)");
#endif
  EXPECT_EQ(refusal(root / "empty", Status::corrupt), "is 0 bytes, a safetensors file has at least 8");
  EXPECT_EQ(refusal(root / "no", Status::not_found), "cannot open: No such file or directory (2)");
  EXPECT_EQ(refusal("", Status::not_found), "cannot open: No such file or directory (2)");
}

TEST(SafetensorsReader, BooksNoMemoryForAHeaderThatTheFileDoesNotHold) {
  TempDirectory directory;
  write_whole(directory.path() / "w", std::string("\0\xe1\xf5\x05\0\0\0\0{}", 10));  // 100,000,000
  const FaultFileSystem file_system;
  const auto error =
      error_of([&] { SafetensorsReader reader((directory.path() / "w").string(), "weights file", file_system); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->status(), Status::corrupt);
  EXPECT_EQ(file_system.calls(), (std::vector<std::string>{"open", "pread", "close"}));
}

TEST(SafetensorsReader, RefusesEveryCutOfAWrittenFileAndOneExtraByte) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  SafetensorsWriter writer;
  writer.add("w", "F32", Shape{6}, kSix.data());
  writer.write(path);
  const std::string whole = read_whole(path);
  for (size_t size = 0; size <= whole.size() + 1; ++size) {
    write_whole(path, (whole + 'x').substr(0, size));
    const auto error = error_of([&] { SafetensorsReader reader(path); });
    EXPECT_EQ(!error, size == whole.size()) << size;
    EXPECT_EQ(error ? error->status() : Status::corrupt, Status::corrupt) << size;
  }
}

TEST(SafetensorsReader, ReadsOrRefusesAFileWithAnyFlippedBit) {
  TempDirectory directory;
  const std::string path = (directory.path() / "w").string();
  SafetensorsWriter writer;
  writer.add("w", "F32", Shape{6}, kSix.data());
  writer.write(path);
  const std::string whole = read_whole(path);
  for (size_t byte = 0; byte < whole.size() - 24; ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      write_whole(path, damaged);
      const auto error = error_of([&] {
        const SafetensorsReader reader(path);
        for (const TensorEntry& entry : reader.entries()) EXPECT_EQ(data_of(reader, entry.name), kSixBytes);
      });
      EXPECT_EQ(error ? error->status() : Status::corrupt, Status::corrupt) << error->what();
    }
}

}  // namespace
}  // namespace troika
