// Whole files: read at once, and written so that a crash leaves the old or the new one.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troika::cli {

// The contents of a file; throws Failure naming it.
std::string read_file(const std::filesystem::path& path);

// Writes a temporary file `.NAME.tmp.PID` beside `path`, flushes it to the disk and renames it; throws Failure naming the
// file.
void write_file(const std::filesystem::path& path, std::string_view contents);

// Removes what processes that were killed while they wrote one of `names` have left in the folder: `.NAME.tmp.PID`, and
// the library's `.NAME.tmp.PID.RANDOM`.
void remove_stale_temporaries(const std::filesystem::path& folder, const std::vector<std::string>& names);

}  // namespace troika::cli
