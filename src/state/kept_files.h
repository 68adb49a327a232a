// The last files of a run: one for each step that was saved, the oldest of which are removed.
#pragma once

#include <cstdint>
#include <string>

namespace troika {

// Returns the file of a step: "run/state-000000001200.safetensors" for "run/state.safetensors".
std::string kept_file(const std::string& path, int64_t step);

// Removes the files of `path` whose step is at most `step`, except the newest `keep`. Files of
// later steps, which an earlier run may have left, stay. IO if a file cannot be removed.
void remove_older_files(const std::string& path, int64_t step, int keep);

// Returns the file with the largest step, or throws NOT_FOUND.
std::string newest_file(const std::string& path);

}  // namespace troika
