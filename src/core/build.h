// How the library was built.
#pragma once

namespace troika {

// Returns the commit that was built, as 12 digits; "unknown" if it was not built from a repository.
const char* build_commit();

// Returns version, commit, compiler and the libraries that it was built with, in one line.
const char* build_info();

}  // namespace troika
