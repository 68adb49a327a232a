// The IDX reader on valid files, and on every known kind of invalid file.
#include "data/idx.h"

#include "data/data_helpers.h"
#include "support/temp_directory.h"

namespace troika {
namespace {

using namespace test;

std::vector<uint8_t> elements_of(const std::string& bytes, size_t header) {
  return {bytes.begin() + header, bytes.end()};
}

TEST(Idx, reads_plain_and_gzipped_files_alike) {
  TempDirectory directory;
  const std::string bytes = idx_bytes({5, 4, 3});
  const IdxArray plain = read_idx(write_plain(directory.path() / "plain", bytes));
  const IdxArray gzipped = read_idx(write_gzipped(directory.path() / "gzipped", bytes));
  EXPECT_EQ(plain.shape, (Shape{5, 4, 3}));
  EXPECT_EQ(plain.elements, elements_of(bytes, 16));
  EXPECT_EQ(gzipped.shape, plain.shape);
  EXPECT_EQ(gzipped.elements, plain.elements);
}

TEST(Idx, reads_files_larger_than_one_chunk) {
  TempDirectory directory;
  const std::string bytes = idx_bytes({3000, 1000});
  EXPECT_EQ(read_idx(write_plain(directory.path() / "plain", bytes)).elements, elements_of(bytes, 12));
  EXPECT_EQ(read_idx(write_gzipped(directory.path() / "gzipped", bytes)).elements, elements_of(bytes, 12));
}

TEST(Idx, reads_an_array_without_elements) {
  TempDirectory directory;
  for (const auto& path : {write_plain(directory.path() / "plain", idx_bytes({0, 28, 28})),
                           write_gzipped(directory.path() / "gzipped", idx_bytes({0, 28, 28}))}) {
    EXPECT_EQ(read_idx(path).shape, (Shape{0, 28, 28}));
    EXPECT_TRUE(read_idx(path).elements.empty());
  }
}

TEST(Idx, calls_a_file_corrupt_wherever_it_is_cut) {
  TempDirectory directory;
  const std::string bytes = idx_bytes({3, 2, 2});
  for (size_t n = 0; n < bytes.size(); ++n) {
    SCOPED_TRACE(n);
    EXPECT_REFUSED(read_idx(write_plain(directory.path() / "cut", bytes.substr(0, n))), Status::corrupt, "truncated");
  }
}

TEST(Idx, calls_a_gzipped_file_corrupt_wherever_it_is_cut) {
  TempDirectory directory;
  const std::string bytes = whole_file(write_gzipped(directory.path() / "whole", idx_bytes({3, 2, 2})));
  for (size_t n = 0; n < bytes.size(); ++n) {
    SCOPED_TRACE(n);
    EXPECT_REFUSED(read_idx(write_plain(directory.path() / "cut", bytes.substr(0, n))), Status::corrupt, "truncated");
  }
}

TEST(Idx, calls_a_gzipped_file_corrupt_whose_sum_is_wrong) {
  TempDirectory directory;
  std::string bytes = whole_file(write_gzipped(directory.path() / "whole", idx_bytes({3, 2, 2})));
  bytes[bytes.size() - 8] = static_cast<char>(bytes[bytes.size() - 8] ^ 1);
  EXPECT_REFUSED(read_idx(write_plain(directory.path() / "bad", bytes)), Status::corrupt, "damaged");
}

// After a change of any single byte, the result is an array of the right size or an error, never a
// crash.
TEST(Idx, survives_every_changed_byte) {
  TempDirectory directory;
  const std::string plain = idx_bytes({3, 2, 2});
  const std::string gzipped = whole_file(write_gzipped(directory.path() / "whole", plain));
  for (const std::string& good : {plain, gzipped})
    for (size_t i = 0; i < good.size(); ++i)
      for (int flip : {0x01, 0x80, 0xFF}) {
        std::string bad = good;
        bad[i] = static_cast<char>(bad[i] ^ flip);
        const std::string path = write_plain(directory.path() / "bad", bad);
        const auto error = thrown_by([&] {
          const IdxArray array = read_idx(path);
          EXPECT_EQ(array.shape.elements(), static_cast<int64_t>(array.elements.size()));
        });
        EXPECT_TRUE(!error || error->status() == Status::corrupt) << error->what();
      }
}

TEST(Idx, calls_trailing_bytes_corrupt) {
  TempDirectory directory;
  const std::string bytes = idx_bytes({3, 2, 2}) + '\0';
  EXPECT_REFUSED(read_idx(write_plain(directory.path() / "plain", bytes)), Status::corrupt, "trailing bytes");
  EXPECT_REFUSED(read_idx(write_gzipped(directory.path() / "gzipped", bytes)), Status::corrupt, "trailing bytes");
}

TEST(Idx, calls_bytes_behind_the_gzip_stream_corrupt) {
  TempDirectory directory;
  const std::string gzipped = whole_file(write_gzipped(directory.path() / "whole", idx_bytes({3, 2, 2})));
  for (const std::string& extra :
       {std::string(1, '\0'), std::string("\x1F"), std::string("more"), std::string(100000, '\0')})
    EXPECT_REFUSED(read_idx(write_plain(directory.path() / "bad", gzipped + extra)), Status::corrupt,
                   "trailing bytes after its gzip stream");
}

TEST(Idx, reads_several_gzip_streams_behind_each_other) {
  TempDirectory directory;
  const std::string bytes = idx_bytes({300, 1000});
  std::string gzipped;
  for (size_t at = 0; at < bytes.size(); at += 70000)
    gzipped += whole_file(write_gzipped(directory.path() / "part", bytes.substr(at, 70000)));
  EXPECT_EQ(read_idx(write_plain(directory.path() / "parts", gzipped)).elements, elements_of(bytes, 12));
}

TEST(Idx, calls_a_wrong_magic_corrupt) {
  TempDirectory directory;
  const auto with = [&](size_t at, char value) {
    std::string bytes = idx_bytes({3, 2, 2});
    bytes[at] = value;
    return write_plain(directory.path() / "bad", bytes);
  };
  EXPECT_REFUSED(read_idx(with(0, 1)), Status::corrupt, "begins with bytes 1 0");
  EXPECT_REFUSED(read_idx(with(1, 2)), Status::corrupt, "begins with bytes 0 2");
  EXPECT_REFUSED(read_idx(with(2, 0x0D)), Status::corrupt, "element type 13, need 8 (u8)");
  EXPECT_REFUSED(read_idx(with(3, 0)), Status::corrupt, "rank 0");
  EXPECT_REFUSED(read_idx(with(3, 9)), Status::corrupt, "rank 9");
}

// Products that overflow 64 bits, and gigabytes that a file of a few bytes cannot contain, are
// refused before memory is allocated.
TEST(Idx, refuses_sizes_that_the_file_cannot_hold) {
  TempDirectory directory;
  const std::vector<std::vector<uint32_t>> all_dims = {
      {0xFFFFFFFF},          {0x80000000, 2, 1},     {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF},
      {65536, 65536, 65536}, {0xFFFFFFFF, 65536, 0}, {0x10000, 0x10000, 0x10000, 0x10000}};
  for (const auto& dims : all_dims) {
    std::string bytes = {0, 0, 8, static_cast<char>(dims.size())};
    for (uint32_t d : dims) append_be32(bytes, d);
    bytes += "some bytes";
    SCOPED_TRACE(Shape(std::vector<int64_t>(dims.begin(), dims.end())));
    EXPECT_REFUSED(read_idx(write_plain(directory.path() / "plain", bytes)), Status::corrupt, "truncated");
    EXPECT_REFUSED(read_idx(write_gzipped(directory.path() / "gzipped", bytes)), Status::corrupt, "truncated");
  }
}

TEST(Idx, tells_a_missing_file_from_one_that_cannot_be_read) {
  TempDirectory directory;
  const std::string missing = (directory.path() / "missing").string();
  EXPECT_REFUSED(read_idx(missing), Status::not_found, missing);
  EXPECT_REFUSED(read_idx(""), Status::not_found, "no such file");
  EXPECT_REFUSED(read_idx(directory.path().string()), Status::io, "not a regular file");
  EXPECT_REFUSED(read_idx(write_plain(directory.path() / "file", "x") + "/below"), Status::not_found, "file/below");
}

}  // namespace
}  // namespace troika
