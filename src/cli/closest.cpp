// Distances of edits: Damerau and Levenshtein's, of neighbours that change places once.
#include "cli/closest.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace troika::cli {
namespace {

constexpr size_t kShortest = 4;  // letters of a word that is part of another

std::string plain(const std::string& word) {
  std::string out;
  for (const char c : word)
    if (c != '-' && c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      size_t& least = table[i][j];
      if (i == 0 || j == 0) {
        least = i + j;
        continue;
      }
      least =
          std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least = std::min(least, table[i - 2][j - 2] + 1);
    }
  }
  return table.back().back();
}

}  // namespace

std::string closest(const std::string& typed, const std::vector<std::string>& words) {
  const std::string given = plain(typed);
  const size_t most = std::max<size_t>(1, given.size() / 3);
  std::string best;
  std::pair<size_t, size_t> least(most + 1, 0);  // edits, and those that count if these are equal
  for (const std::string& word : words) {
    const std::string other = plain(word);
    const size_t all = edits_between(given, other);
    size_t edits = all;
    const auto& [shorter, longer] = given.size() < other.size() ? std::pair(given, other) : std::pair(other, given);
    if (shorter.size() >= kShortest && longer.find(shorter) != std::string::npos) edits = std::min(edits, most);
    if (std::pair(edits, all) < least) least = {edits, all}, best = word;
  }
  return best;
}

std::string did_you_mean(const std::string& typed, const std::vector<std::string>& words) {
  const std::string word = closest(typed, words);
  return word.empty() ? word : "; did you mean '" + word + "'";
}

}  // namespace troika::cli
