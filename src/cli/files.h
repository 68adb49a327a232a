// Whole files, read at once, and written so that a crash leaves the old file or the new one; and a
// folder's lock.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace troika::cli {

// Returns the contents of a file; throws Failure naming the file.
std::string read_file(const std::filesystem::path& path);

// Replaces or creates the file (core/atomic_file.h). Throws Failure naming the file.
void write_file(const std::filesystem::path& path, std::string_view contents);

// Removes the temporary files that killed processes have left in the folder while they wrote one of
// `names`: `.NAME.tmp.PID.RANDOM`, or `.NAME.tmp.PID` from earlier versions of the tool.
void remove_stale_temporaries(const std::filesystem::path& folder, const std::vector<std::string>& names);

}  // namespace troika::cli
