// Helpers for the tests of `data/`: IDX files built by hand, errors as values, whole datasets.
#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/dataset.h"

namespace troika::test {

inline void append_be32(std::string& bytes, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
}

// Returns an IDX file of u8 with these dimensions. Element i is 37 * i mod 251.
inline std::string idx_bytes(const std::vector<uint32_t>& dims) {
  std::string bytes = {0, 0, 8, static_cast<char>(dims.size())};
  uint64_t n = 1;
  for (uint32_t d : dims) append_be32(bytes, d), n *= d;
  for (uint64_t i = 0; i < n; ++i) bytes += static_cast<char>(37 * i % 251);
  return bytes;
}

inline std::string write_plain(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path.string();
}

inline std::string write_gzipped(const std::filesystem::path& path, const std::string& bytes) {
  gzFile file = gzopen(path.string().c_str(), "wb");
  EXPECT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())), static_cast<int>(bytes.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  return path.string();
}

inline std::string whole_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Returns the error that `call` throws; nullopt if it succeeds.
template <typename Call>
std::optional<Error> thrown_by(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

#define EXPECT_REFUSED(call, status_, part)                                                   \
  do {                                                                                        \
    const auto refusal = ::troika::test::thrown_by([&] { call; });                            \
    ASSERT_TRUE(refusal) << "nothing was thrown";                                             \
    EXPECT_EQ(refusal->status(), status_) << refusal->what();                                 \
    EXPECT_NE(std::string(refusal->what()).find(part), std::string::npos) << refusal->what(); \
  } while (false)

struct Samples {
  std::vector<float> inputs;
  std::vector<int32_t> labels;
  std::vector<float> values;
  bool operator==(const Samples&) const = default;
};

inline Samples read_samples(const Dataset& dataset, const std::vector<int64_t>& indices) {
  Samples samples;
  samples.inputs.resize(indices.size() * static_cast<size_t>(dataset.sample_elements()));
  if (dataset.has_labels()) samples.labels.resize(indices.size());
  samples.values.resize(indices.size() * static_cast<size_t>(dataset.value_size()));
  dataset.read(indices.data(), static_cast<int64_t>(indices.size()), samples.inputs.data(), samples.labels.data(),
               samples.values.data());
  return samples;
}

inline Samples read_all(const Dataset& dataset) {
  std::vector<int64_t> indices(static_cast<size_t>(dataset.size()));
  std::iota(indices.begin(), indices.end(), 0);
  return read_samples(dataset, indices);
}

}  // namespace troika::test
