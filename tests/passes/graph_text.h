// EXPECT_GRAPH: a graph prints as a text says, whatever the text's own line breaks and indentation.
#pragma once

#include <gtest/gtest.h>

#include "graph/graph.h"

#define EXPECT_GRAPH(graph, expected) \
  EXPECT_EQ(::troika::print_graph(graph), ::troika::print_graph(::troika::parse_graph(expected)))
