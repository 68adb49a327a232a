// How structs of older and newer hosts are initialised, read and filled, each next to an unmapped
// page, so that one byte too many is a fault.
#include "api/structs.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "support/throws.h"

namespace troika::api {

// A struct that has grown from 16 to 24 bytes.
struct Grown {
  uint32_t struct_size;
  int32_t flag;
  int64_t count;
  int64_t added;  // since the second version; default 0
};

template <>
struct StructDef<Grown> {
  static constexpr const char* kName = "Grown";
  static constexpr Grown kDefaults = {sizeof(Grown), 1, 7, 0};
};
template <>
bool is_earlier_size<Grown>(uint32_t size) {
  return size == 16;
}

namespace {

// Memory before a page that may not be touched.
class EndOfPage {
 public:
  EndOfPage() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    memory_ = static_cast<unsigned char*>(
        mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + page_, page_, PROT_NONE);
    std::memset(memory_, 0xA5, page_);
  }
  ~EndOfPage() { munmap(memory_, 2 * page_); }
  Grown* last(size_t bytes) { return reinterpret_cast<Grown*>(memory_ + page_ - bytes); }

 private:
  size_t page_;
  unsigned char* memory_;
};

std::vector<int64_t> words_of(const Grown* grown, size_t bytes) {
  std::vector<int64_t> words(bytes / 8);
  std::memcpy(words.data(), grown, bytes);
  return words;
}

constexpr int64_t kFlag = int64_t{1} << 32;

TEST(Structs, AreInitialisedInTheCallersSize) {
  for (const auto& [size, expected] : {std::pair<uint32_t, std::vector<int64_t>>{16, {kFlag | 16, 7}},
                                       {24, {kFlag | 24, 7, 0}},
                                       {40, {kFlag | 40, 7, 0, 0, 0}}}) {
    EndOfPage memory;
    init_struct(memory.last(size), size);
    EXPECT_EQ(words_of(memory.last(size), size), expected) << size;
  }
  EndOfPage memory;
  init_struct(memory.last(3), 3);  // no room for a size
  init_struct<Grown>(nullptr, 24);
}

TEST(Structs, AreReadInTheCallersSize) {
  for (uint32_t size : {16u, 24u, 40u}) {
    EndOfPage memory;
    Grown* const given = memory.last(size);
    init_struct(given, size);
    given->count = 9;
    const Grown read = read_options(given);
    EXPECT_EQ(read.struct_size, sizeof(Grown));
    EXPECT_EQ(read.count, 9);
    EXPECT_EQ(read.added, 0);
  }
  EXPECT_EQ(read_options<Grown>(nullptr).count, 7);
  for (uint32_t size : {0u, 4u, 8u, 17u, 23u, 65537u, UINT32_MAX}) {
    const Grown given = {size, 0, 0, 0};
    EXPECT_THROWS(Status::invalid_argument, "struct_size is " + std::to_string(size), read_options(&given));
  }
  unsigned char newer[40] = {};
  init_struct(reinterpret_cast<Grown*>(newer), sizeof newer);
  newer[39] = 1;
  EXPECT_THROWS(Status::unsupported, "does not know", read_options(reinterpret_cast<Grown*>(newer)));
}

TEST(Structs, AreFilledInTheCallersSize) {
  const Grown result = {0, 2, 3, 4};
  for (const auto& [size, expected] : {std::pair<uint32_t, std::vector<int64_t>>{16, {2 * kFlag | 16, 3}},
                                       {24, {2 * kFlag | 24, 3, 4}},
                                       {40, {2 * kFlag | 24, 3, 4, 0, 0}}}) {
    EndOfPage memory;
    Grown* const out = memory.last(size);
    out->struct_size = size;
    write_result(out, result, "call", "out");
    EXPECT_EQ(words_of(out, size), expected) << size;
    if (size >= 24) write_result(out, result, "call", "out");  // a filled struct may be used again
  }
  for (uint32_t size : {0u, 8u, 20u}) {
    Grown out = {size, 5, 5, 5};
    EXPECT_THROWS(Status::invalid_argument, "call: out->struct_size is " + std::to_string(size),
                  write_result(&out, result, "call", "out"));
    EXPECT_EQ(out.count, 5);
  }
}

}  // namespace
}  // namespace troika::api
