// Rules for names, and the tables of names that other libraries use.
#include "models/name_map.h"

#include <optional>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace troika {
namespace {

struct Table {
  std::string_view name, rules;
};

// The book Dive into Deep Learning has two forms of its ResNet-18, in a Sequential and in a class.
// The models resnet* have torchvision's names already, so a training script's prefixes are all that
// its table removes.
constexpr Table kTables[] = {
    {"d2l",
     "0.*=conv1.*,1.*=bn1.*,resnet_block*.*.conv3.*=layer*.*.downsample.*,resnet_block*=layer*,fc.1.*=fc.*,"
     "net.0.0.*=conv1.*,net.0.1.*=bn1.*,"
     "net.b2.*.conv3.*=layer1.*.downsample.*,net.b3.*.conv3.*=layer2.*.downsample.*,"
     "net.b4.*.conv3.*=layer3.*.downsample.*,net.b5.*.conv3.*=layer4.*.downsample.*,"
     "net.b2.*=layer1.*,net.b3.*=layer2.*,net.b4.*=layer3.*,net.b5.*=layer4.*,net.last.2.*=fc.*"},
    {"torchvision", "module.*=*,model.*=*"},
};

// Returns what each star stands for, each as little as possible; nothing if the name does not
// match. `texts` are those around the stars.
std::optional<std::vector<std::string>> match(const std::vector<std::string>& texts, std::string_view name) {
  if (texts.size() == 1) return name == texts[0] ? std::optional(std::vector<std::string>()) : std::nullopt;
  if (!name.starts_with(texts.front())) return std::nullopt;
  std::vector<std::string> stars;
  size_t at = texts.front().size();
  for (size_t i = 1; i < texts.size(); ++i) {
    const bool is_last = i + 1 == texts.size();
    if (is_last && (name.size() < at + texts[i].size() || !name.ends_with(texts[i]))) return std::nullopt;
    const size_t found = is_last ? name.size() - texts[i].size() : name.find(texts[i], at);
    if (found == std::string_view::npos) return std::nullopt;
    stars.emplace_back(name.substr(at, found - at));
    at = found + texts[i].size();
  }
  return stars;
}

}  // namespace

NameMap::NameMap(std::string_view rules) {
  for (const Table& table : kTables)
    if (rules == table.name) {
      rules = table.rules;
      is_table_ = true;
      break;
    }
  for (const std::string& rule : split_names(rules, ',')) rules_.push_back(read(rule));
}

NameMap::Rule NameMap::read(std::string_view rule) {
  const std::vector<std::string> sides = split_names(rule, '=');
  if (sides.size() != 2)
    throw Error(Status::invalid_argument, text("name map: '", printable(rule),
                                               "' is no rule, needs 'name in file=name in model', d2l or torchvision"));
  Rule read{std::string(rule), split_names(sides[0], '*'), split_names(sides[1], '*')};
  if (read.from.size() != read.to.size())
    throw Error(Status::invalid_argument, text("name map: '", printable(rule), "' has ", read.from.size() - 1, " and ",
                                               read.to.size() - 1, " stars, needs as many on both sides"));
  return read;
}

NameMap::Translated NameMap::translate(std::string_view file_name) const {
  for (size_t rule = 0; rule < rules_.size(); ++rule)
    if (const auto stars = match(rules_[rule].from, file_name)) {
      std::string name = rules_[rule].to[0];
      for (size_t i = 0; i < stars->size(); ++i) name += (*stars)[i] + rules_[rule].to[i + 1];
      return {std::move(name), rule};
    }
  return {std::string(file_name), rules_.size()};
}

}  // namespace troika
