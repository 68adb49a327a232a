// The names of the classes of a data set, in the order of its labels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/client.h"

namespace troika::cli {

// Returns the names of CIFAR's classes, which are in a file of their own; empty: there is none.
std::vector<std::string> names_of_cifar(const std::filesystem::path& directory, const troika_dataset_info& info);

// Returns the names, or none if they are not UTF-8, as names of folders need not be.
std::vector<std::string> in_utf8(std::vector<std::string> names);

// Throws Failure if the data and a run name their classes differently. Empty: there are no names.
void check_class_names(const std::vector<std::string>& of_data, const std::vector<std::string>& of_run);

// Returns the name of a class, or its number if it has no name.
std::string name_of_class(const std::vector<std::string>& names, int64_t number);

}  // namespace troika::cli
