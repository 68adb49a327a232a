// A map from the names of parameters in a file to those in a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace troika {

// Rules such as "encoder.*=backbone.*", in order: the first rule whose left side matches the whole
// name applies, and each `*` of the right side stands for what that of the left side stood for.
// Other names stay as they are.
class NameMap {
 public:
  NameMap() = default;
  // `rules`: the name of a table ("d2l", "torchvision"), or rules separated by commas. Throws
  // INVALID_ARGUMENT for a rule without a `=`, or with other stars on its right side.
  explicit NameMap(std::string_view rules);

  struct Translated {
    std::string name;  // in the model
    size_t rule;       // which applied; rules() if none fits
  };
  Translated translate(std::string_view file_name) const;

  bool is_table() const { return is_table_; }
  size_t rules() const { return rules_.size(); }
  const std::string& text_of(size_t rule) const { return rules_[rule].text; }

 private:
  struct Rule {
    std::string text;
    std::vector<std::string> from, to;  // the texts between the stars
  };

  static Rule read(std::string_view rule);

  std::vector<Rule> rules_;
  bool is_table_ = false;
};

}  // namespace troika
