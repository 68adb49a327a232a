// Names are bytes.
#include "core/path.h"

namespace troika {

std::filesystem::path path_of(std::string_view utf8) { return utf8; }

std::string text_of(const std::filesystem::path& path) { return path.string(); }

}  // namespace troika
