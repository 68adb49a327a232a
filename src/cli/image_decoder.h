// Pictures in files: PNG, JPEG, BMP, PPM and PGM.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace troika::cli {

struct Picture {
  int64_t channels = 0, height = 0, width = 0;  // 1 channel: grey, 3: red, green and blue
  std::vector<uint8_t> pixels;                  // [channels, height, width]
};

// Whether this program was built with a decoder.
bool has_image_decoder();

// Whether the name of a file ends as those of pictures do.
bool is_picture(const std::filesystem::path& file);

// Decodes a file to so many channels; 0: as many as the file has. Transparency is left out. Throws
// Failure, which names the file.
Picture decode_picture(const std::filesystem::path& file, int64_t channels);

}  // namespace troika::cli
