// Small pieces of text: numbers and times as people read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::cli {

#ifdef __MINGW32__
#define TROIKA_PRINTF gnu_printf  // as the compiler's own printf, not as that of Windows
#else
#define TROIKA_PRINTF printf
#endif

// printf into a string.
[[gnu::format(TROIKA_PRINTF, 1, 2)]] std::string formatted(const char* format, ...);

// 60000 -> "60,000".
std::string with_commas(int64_t number);

// Seconds as "0:45", "12:03" or "1:02:03".
std::string as_clock(double seconds);

// Returns the parts between separators; an empty text has one empty part.
std::vector<std::string> split(std::string_view text, char separator);

// {"ant", "bee"} -> "ant, bee". Only the first ones if there are many.
std::string listed(const std::vector<std::string>& names);

// Returns a cell of CSV: quoted if it has a comma, a quote or the end of a line.
std::string csv_cell(const std::string& text);

// {1, 28, 28} -> "1x28x28".
std::string as_shape(const int64_t* dims, int rank);

}  // namespace troika::cli
