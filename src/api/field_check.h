// Checks the fields of option structs.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/text.h"

namespace troika::api {

// Each check throws INVALID_ARGUMENT, which names the field, if the field is out of its range.
class FieldCheck {
 public:
  explicit FieldCheck(std::string where) : where_(std::move(where)) {}
  void integer(const char* field, int64_t value, int64_t least, int64_t most) const {
    if (value < least || value > most)
      throw Error(Status::invalid_argument, text(where_, field, " is ", value, ", need ",
                                                 most == INT64_MAX ? text("at least ", least)
                                                 : most == least   ? text(least)
                                                                   : text(least, " to ", most)));
  }
  void flag(const char* field, int32_t value) const {
    if (value != 0 && value != 1)
      throw Error(Status::invalid_argument, text(where_, field, " is ", value, ", need 0 or 1"));
  }
  // `names` are the constants of the values 1, 2, ...
  void constant(const char* field, int32_t value, std::vector<std::string_view> names) const {
    if (value >= 1 && static_cast<size_t>(value) <= names.size()) return;
    const std::string_view last = names.back();
    names.pop_back();
    throw Error(Status::invalid_argument,
                text(where_, field, " is ", value, ", need ", join(names, ", "), " or ", last));
  }
  void real(const char* field, double value, double least, double below) const {
    if (!(value >= least && value < below))
      throw Error(Status::invalid_argument,
                  text(where_, field, " is ", value, ", need at least ", least, " and below ", below));
  }
  // Checks that an array is not NULL, unless its count is 0.
  void pointer(const char* field, const void* value, const char* count_field, int64_t count) const {
    if (count > 0 && !value)
      throw Error(Status::invalid_argument, text(where_, field, " is NULL, ", count_field, " is ", count));
  }
  // Splits names separated by commas, and spaces next to them.
  std::vector<std::string> names(const char* field, const char* list) const {
    std::vector<std::string> names = split_names(list, ',');
    if (std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.empty(); }))
      throw Error(Status::invalid_argument, text(where_, field, " is '", list, "', need names separated by commas"));
    return names;
  }
  // Refuses a value that conflicts with another option; `needed` is that option and its value.
  [[noreturn]] void conflict(const char* field, const std::string& value, std::string_view needed) const {
    throw Error(Status::invalid_argument, text(where_, field, " is ", value, ", needs ", needed));
  }

 private:
  std::string where_;
};

}  // namespace troika::api
