// Environment variables: every one that this library reads has its function here.
#pragma once

#include <string>

namespace troika {

// TROIKA_BACKEND_DIR: the first folder in which plug-ins are looked for. Empty if the variable is
// not set, is not an absolute path, or belongs to a setuid program.
std::string backend_folder();

// Returns TROIKA_BACKEND_DIR if it is ignored because it is not an absolute path, for messages;
// else empty.
std::string relative_backend_folder();

// TROIKA_CACHE_DIR: the folder in which measurements are stored (the fastest engines of a library).
// The default is troika in XDG_CACHE_HOME or in the user's .cache. Created if possible; empty if
// there is none, or it cannot be written.
std::string cache_folder();

// TROIKA_DUMP: the pass after which the graph is printed to the log; empty: none.
std::string dumped_pass();

}  // namespace troika
