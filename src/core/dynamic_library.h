// Libraries that are opened while the process runs. They stay open until the process ends.
#pragma once

#include <string>

namespace troika {

// Opens the library of a path, or of a name that the system looks for. Returns null with the
// system's reason.
void* open_library(const std::string& file, std::string& reason);

// Returns the library's function; null if the library has none of this name.
void* find_function(void* library, const char* name);

// The same in whatever library of this process has the function.
void* find_loaded_function(const char* name);

// Returns the folder of the library or program with this address; empty if the system has none.
std::string folder_of_code(const void* address);

// Whether two addresses are of the same library or program.
bool are_of_one_library(const void* a, const void* b);

}  // namespace troika
