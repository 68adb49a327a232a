// EXPECT_GRAPH: expects that a graph prints as the text, ignoring the text's line breaks and
// indentation.
#pragma once

#include <gtest/gtest.h>

#include "graph/graph.h"

#define EXPECT_GRAPH(graph, expected) \
  EXPECT_EQ(::troika::print_graph(graph), ::troika::print_graph(::troika::parse_graph(expected)))
