// The relations that compare knows.
#pragma once

#include <string>

namespace troika {

enum class Relation { equal, not_equal, less, less_or_equal, greater, greater_or_equal };

constexpr const char* kRelations[] = {"equal", "not_equal", "less", "less_or_equal", "greater", "greater_or_equal"};
Relation relation_named(const std::string& name);  // throws INTERNAL if there is no such relation

}  // namespace troika
