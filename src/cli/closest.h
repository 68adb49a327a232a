// The word that somebody meant who mistyped it.
#pragma once

#include <string>
#include <vector>

namespace troika::cli {

// Returns the word that is most like `typed`. Empty: none is. Case does not count, and letters that
// changed places are one mistake.
std::string closest(const std::string& typed, const std::vector<std::string>& words);

// Returns "; did you mean 'WORD'" for the closest word; empty: none is like it.
std::string did_you_mean(const std::string& typed, const std::vector<std::string>& words);

}  // namespace troika::cli
