// Fuzzes the text form of graphs: it is refused, or it prints as it was read.
#include <string>

#include "core/error.h"
#include "fuzz/tape.h"
#include "graph/graph.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace troika;
  try {
    const std::string printed = print_graph(parse_graph(std::string(reinterpret_cast<const char*>(data), size)));
    if (print_graph(parse_graph(printed)) != printed) fuzz::report("parse_graph", "prints something else");
  } catch (const Error& error) {
    if (error.status() == Status::internal) fuzz::report("parse_graph", error.what());
  }
  return 0;
}
