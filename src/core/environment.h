// Environment variables: every one that this library reads has its function here.
#pragma once

#include <string>

namespace troika {

// TROIKA_BACKEND_DIR: where plug-ins are looked for first; empty: not set, or no absolute path, or a program with rights that
// its user has not.
std::string backend_folder();

// What TROIKA_BACKEND_DIR is where it is ignored for being no absolute path, for messages; else empty.
std::string relative_backend_folder();

// TROIKA_CACHE_DIR: where measurements are kept (which engines of a library are fastest); else troika in XDG_CACHE_HOME or in
// the user's .cache. Created where it can be; empty: there is none, or it cannot be written.
std::string cache_folder();

// TROIKA_DUMP: the pass behind which the graph is printed to the log; empty: none.
std::string dumped_pass();

}  // namespace troika
