// Environment variables: every one that this library reads has its function here. A host must ask
// for the library's own (use_environment of a context).
#pragma once

#include <optional>
#include <string>

namespace troika {

// TROIKA_BACKEND_DIR: the first folder in which plug-ins are looked for. Empty if the variable is
// not set, or belongs to a setuid program.
std::string backend_folder();

// TROIKA_CACHE_DIR: the folder in which measurements are stored (the fastest engines of a library).
std::string cache_folder();

// TROIKA_OWN_KERNELS: "0" leaves out kernels that must prove themselves against those of a library,
// and starts no kernel early.
std::string own_kernels();

// Returns the user's own folder for measurements: troika in XDG_CACHE_HOME or in .cache. These two
// are not variables of this library. Empty if there is none.
std::string user_cache_folder();

// TROIKA_LOG: the levels of topics, "plan=debug,comm=error", or one level for all; empty: none.
std::string log_levels();

// TROIKA_DUMP: the pass after which the graph is printed to the log; empty: none.
std::string dumped_pass();

// TROIKA_LEAVE_OUT: passes that plans of training leave out, "fuse_norms,close_gaps"; empty: none.
std::string left_out_passes();

// Returns a variable that a launcher sets, such as RANK (group/launch_environment.h); none if it is
// not set, or in a setuid program.
std::optional<std::string> launcher_variable(const std::string& name);

}  // namespace troika
