// Decodes pictures by stb_image, if the build has its header.
#include "cli/image_decoder.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <memory>
#include <string>

#include "cli/client.h"
#include "cli/files.h"
#include "cli/text.h"
#include "core/path.h"

#ifdef TROIKA_HAS_STB_IMAGE
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wunused-function"
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_MAX_DIMENSIONS 65535
#define STBI_NO_STDIO
#define STBI_ONLY_BMP
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_PNM
#include <stb/stb_image.h>
#pragma GCC diagnostic pop
#endif

namespace troika::cli {

bool is_picture(const std::filesystem::path& file) {
  std::string ending = text_of(file.extension());
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::array<std::string_view, 6> kEndings = {".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".pgm"};
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

#ifdef TROIKA_HAS_STB_IMAGE
namespace {

constexpr int64_t kMaxPixels = int64_t{1} << 28;  // of a picture: a header of some bytes takes no gigabytes

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& why) {
  throw Failure("'" + text_of(file) + "' " + why);
}

// Returns the bytes of the header of a PPM or PGM, which has four words; its pixels follow a single
// space. A comment is from # to the end of a line.
size_t size_of_pnm_header(const std::string& bytes) {
  size_t at = 0;
  for (int word = 0; word < 4; ++word) {
    const auto is_space = [&] { return std::isspace(static_cast<unsigned char>(bytes[at])) != 0; };
    while (at < bytes.size() && (is_space() || bytes[at] == '#'))
      at = bytes[at] == '#' ? std::min(bytes.find('\n', at), bytes.size()) : at + 1;
    while (at < bytes.size() && !is_space()) ++at;
  }
  return at + 1;
}

struct Form {
  int width = 0, height = 0, channels = 0;  // channels of the file, with transparency
};

// Checks what stb_image does not: the size, and in PPM and PGM that all pixels are there.
Form read_form(const std::filesystem::path& file, const std::string& bytes) {
  Form form;
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) refuse(file, "is larger than 2 GB");
  const auto* const data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const auto size = static_cast<int>(bytes.size());
  if (!stbi_info_from_memory(data, size, &form.width, &form.height, &form.channels))
    refuse(file, std::string("is no PNG, JPEG, BMP, PPM or PGM file that can be read: ") + stbi_failure_reason());
  const int64_t pixels = int64_t{form.width} * form.height;
  if (pixels < 1 || pixels > kMaxPixels)
    refuse(file, formatted("has %d x %d pixels, need 1 to %lld", form.height, form.width,
                           static_cast<long long>(kMaxPixels)));
  if (!bytes.starts_with("P5") && !bytes.starts_with("P6")) return form;
  const auto needed = static_cast<size_t>(pixels * form.channels * (stbi_is_16_bit_from_memory(data, size) ? 2 : 1)) +
                      size_of_pnm_header(bytes);
  if (bytes.size() < needed) refuse(file, formatted("has %zu bytes, its header says %zu", bytes.size(), needed));
  return form;
}

}  // namespace

bool has_image_decoder() { return true; }

Picture decode_picture(const std::filesystem::path& file, int64_t channels) {
  const std::string bytes = read_file(file);
  const Form form = read_form(file, bytes);
  Picture picture{channels > 0 ? channels : form.channels < 3 ? 1 : 3, form.height, form.width, {}};
  int width = 0, height = 0, in_file = 0;
  const std::unique_ptr<stbi_uc, void (*)(void*)> decoded(
      stbi_load_from_memory(reinterpret_cast<const stbi_uc*>(bytes.data()), static_cast<int>(bytes.size()), &width,
                            &height, &in_file, static_cast<int>(picture.channels)),
      stbi_image_free);
  if (!decoded) refuse(file, std::string("cannot be decoded: ") + stbi_failure_reason());
  if (width != form.width || height != form.height)
    refuse(file, "cannot be decoded: its size is not that of its header");
  const int64_t plane = picture.height * picture.width;
  picture.pixels.resize(static_cast<size_t>(picture.channels * plane));
  for (int64_t c = 0; c < picture.channels; ++c)
    for (int64_t p = 0; p < plane; ++p)
      picture.pixels[static_cast<size_t>(c * plane + p)] = decoded.get()[p * picture.channels + c];
  return picture;
}
#else
bool has_image_decoder() { return false; }

Picture decode_picture(const std::filesystem::path& file, int64_t) {
  throw Failure("'" + text_of(file) + "' cannot be decoded: this troika was built without stb_image.h");
}
#endif

}  // namespace troika::cli
