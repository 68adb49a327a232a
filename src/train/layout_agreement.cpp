// Layouts as text.
#include "train/layout_agreement.h"

#include <algorithm>

#include "core/packed.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr const char* kUnknown = "unknown";  // differs from all layouts

std::string print_layouts(const StateTable& table) {
  std::string lines;
  for (const StateEntry& entry : table.entries()) {
    if (entry.layout && !entry.layout->is_known_by_name()) return kUnknown;
    lines += text(entry.name, ' ', layout_name(entry.layout), ' ', entry.offset, ' ', entry.bytes, '\n');
  }
  return lines;
}

}  // namespace

bool have_same_layouts(const LocalRanks& ranks, const RankMap& map, const std::vector<StateTable>& tables) {
  Packer own;
  for (size_t part = 0; part < tables.size(); ++part) {
    const bool is_local = std::any_of(ranks.begin(), ranks.end(), [&](const LocalRank& local) {
      return map.part_of(local.rank) == static_cast<int>(part);
    });
    own.text(is_local ? print_layouts(tables[part]) : "");
  }
  std::vector<std::string> first(tables.size());  // by part
  bool are_same = true;
  for (const std::string& message : ranks.gather_texts("the layouts of a model", own.bytes())) {
    Unpacker theirs(message);
    for (std::string& known : first) {
      const std::string layouts = theirs.text();
      if (known.empty()) known = layouts;
      are_same = are_same && (layouts.empty() || (layouts == known && layouts != kUnknown));
    }
  }
  return are_same;
}

}  // namespace troika
