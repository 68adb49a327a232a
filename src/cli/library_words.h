// The library's messages in the words of the command line.
#pragma once

#include <string>
#include <string_view>

namespace troika::cli {

// Replaces names of C by names of options: "options.layer_chunks is 2" becomes "--layer-chunks is
// 2". Text in quotes stays.
std::string in_words_of_tool(std::string_view message);

}  // namespace troika::cli
