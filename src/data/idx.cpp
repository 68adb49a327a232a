// Reads IDX. Every size is checked against the file before memory is allocated.
#include "data/idx.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "data/data_file.h"

namespace troika {
namespace {

constexpr int64_t kChunkBytes = int64_t{1} << 20;
constexpr uint8_t kElementTypeU8 = 0x08;

Shape read_header(DataFile& file) {
  std::array<uint8_t, 4> magic{};
  if (file.read(magic.data(), 4) < 4) file.fail(Status::corrupt, "is truncated inside its header");
  if (magic[0] != 0 || magic[1] != 0)
    file.fail(Status::corrupt, text("begins with bytes ", int{magic[0]}, " ", int{magic[1]}, ", an IDX file with 0 0"));
  if (magic[2] != kElementTypeU8)
    file.fail(Status::corrupt, text("has element type ", int{magic[2]}, ", need ", int{kElementTypeU8}, " (u8)"));
  const int rank = magic[3];
  if (rank < 1 || rank > kMaxRank) file.fail(Status::corrupt, text("has rank ", rank, ", need 1 to ", kMaxRank));

  std::vector<int64_t> dims;
  for (int i = 0; i < rank; ++i) {
    std::array<uint8_t, 4> bytes{};
    if (file.read(bytes.data(), 4) < 4) file.fail(Status::corrupt, "is truncated inside its header");
    dims.push_back(int64_t{bytes[0]} << 24 | int64_t{bytes[1]} << 16 | int64_t{bytes[2]} << 8 | int64_t{bytes[3]});
  }
  return Shape(std::move(dims));
}

// Returns the elements of `shape`, if the file can hold so many. The header has 4 bytes of magic,
// and 4 per dimension.
int64_t count_elements(const DataFile& file, const Shape& shape) {
  const int64_t most = std::max<int64_t>(file.most_bytes() - 4 - 4 * shape.rank(), 0);
  int64_t n = 1;
  for (int64_t d : shape.dims()) {
    if (d != 0 && n > most / d)
      file.fail(Status::corrupt,
                text("is truncated: its header says ", shape, ", but it holds at most ", most, " elements"));
    n *= d;
  }
  return n;
}

}  // namespace

IdxArray read_idx(const std::string& path) {
  DataFile file(path, "idx");
  IdxArray array;
  array.shape = read_header(file);
  const int64_t n = count_elements(file, array.shape);

  // Reserved memory costs nothing until it is touched: a gzipped file with a false size takes only
  // what it holds.
  array.elements.reserve(static_cast<size_t>(n));
  for (int64_t done = 0; done < n;) {
    const int64_t ask = std::min(n - done, kChunkBytes);
    array.elements.resize(static_cast<size_t>(done + ask));
    const int64_t got = file.read(array.elements.data() + done, ask);
    done += got;
    if (got < ask)
      file.fail(Status::corrupt,
                text("is truncated: its header says ", array.shape, ", ", n, " elements, found ", done));
  }
  uint8_t extra = 0;  // reading to the end also makes zlib check the gzip stream's sum
  if (file.read(&extra, 1) != 0)
    file.fail(Status::corrupt, text("has trailing bytes after the ", n, " elements of ", array.shape));
  return array;
}

}  // namespace troika
