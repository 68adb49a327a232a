// How the elements of a tensor are stored in memory, in the terms of its backend.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace troika {

// Immutable. A null LayoutPtr is the layout that every backend knows: dense and row-major.
class Layout {
 public:
  virtual ~Layout() = default;
  virtual size_t bytes() const = 0;
  virtual bool equals(const Layout& other) const = 0;
  virtual std::string name() const = 0;  // for printed plans: "aBcd16b"
  // Whether layouts of a type are equal if their names are, also in other processes.
  virtual bool is_known_by_name() const { return true; }
};

using LayoutPtr = std::shared_ptr<const Layout>;

inline bool same_layout(const LayoutPtr& a, const LayoutPtr& b) {
  if (!a || !b) return !a && !b;
  return a == b || a->equals(*b);
}

inline std::string layout_name(const LayoutPtr& layout) { return layout ? layout->name() : "plain"; }

}  // namespace troika
