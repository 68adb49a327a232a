// Helpers for the tests of `state/`: whole files as strings, errors as values, safetensors files
// built by hand.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace troika::test {

inline std::string read_whole(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_whole(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  ASSERT_TRUE(out.flush()) << path;
}

inline std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) names.push_back(entry.path().filename().string());
  return names;
}

// Returns the error that `call` throws; nullopt if it succeeds. Any other exception fails the test.
template <typename Call>
std::optional<Error> error_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(std::string_view(error.what()).find_first_of("\n\r"), std::string_view::npos) << error.what();
    return error;
  }
  return std::nullopt;
}

// Returns a file: 8 bytes with the size of the header, the header, the data.
inline std::string safetensors_file(std::string_view header, std::string_view data) {
  std::string out;
  for (int byte = 0; byte < 8; ++byte) out += static_cast<char>(uint64_t{header.size()} >> (8 * byte) & 0xFF);
  return out.append(header).append(data);
}

}  // namespace troika::test
