// The settings of a node: named integers, reals, lists and words, kept sorted by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace troika {

// Never stored. With this type, a variant remembers that a copy failed. Without it, libstdc++ 12
// takes a variant of these types for whole, and destroys what was not made.
struct NoAttribute {
  NoAttribute() = default;
  NoAttribute(const NoAttribute&) noexcept {}
  NoAttribute& operator=(const NoAttribute&) noexcept { return *this; }
  bool operator==(const NoAttribute&) const { return true; }
};

using Attribute = std::variant<int64_t, double, std::vector<int64_t>, std::string, NoAttribute>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> items) : items_(items) {}

  void set(const std::string& name, Attribute value) { items_[name] = std::move(value); }
  bool has(const std::string& name) const { return items_.count(name) != 0; }
  const std::map<std::string, Attribute>& items() const { return items_; }
  bool operator==(const Attributes&) const = default;

  // Each throws INTERNAL if the attribute is absent or of another type.
  int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  const std::vector<int64_t>& list(const std::string& name) const;
  const std::string& word(const std::string& name) const;

  // An absent flag is off.
  bool flag(const std::string& name) const { return has(name) && integer(name) != 0; }

 private:
  template <typename T>
  const T& get(const std::string& name) const;
  std::map<std::string, Attribute> items_;
};

}  // namespace troika
