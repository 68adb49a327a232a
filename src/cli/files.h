// Whole files: read at once, and written so that a crash leaves the old or the new one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace troika::cli {

// The contents of a file; throws Failure naming it.
std::string read_file(const std::filesystem::path& path);

// Writes a temporary file beside `path`, flushes it to the disk and renames it; throws Failure naming the file.
void write_file(const std::filesystem::path& path, std::string_view contents);

}  // namespace troika::cli
