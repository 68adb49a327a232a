// Paths of files: UTF-8 at the interface, the system's own form within.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace troika {

// The bytes stay as they are on systems whose names are bytes. On Windows, bytes that are not UTF-8
// become U+FFFD, which no file's name has.
std::filesystem::path path_of(std::string_view utf8);
std::string text_of(const std::filesystem::path& path);

}  // namespace troika
