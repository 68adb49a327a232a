// Lines that are no wider than the terminal.
#pragma once

#include <string>
#include <vector>

namespace troika::cli {

constexpr int kAnyWidth = 0;  // as columns: lines may have any width

// Returns the columns that the text takes: characters of UTF-8, each as one column.
int width_of(const std::string& text);

// Joins the pieces, and leaves out pieces from the end of `order` until they fit: the index that
// comes first in `order` is the last to go. A line that is still too wide is cut.
std::string fitted(const std::vector<std::string>& pieces, const std::vector<size_t>& order, int columns);

// Breaks the text into lines at spaces, and words that are wider than a line anywhere.
std::string wrapped(const std::string& text, int columns);

}  // namespace troika::cli
