// The matrices that matmul multiplies.
#pragma once

#include "graph/graph.h"

namespace troika {

// `count` products [m, k] [k, n]. One b may serve all.
struct MatrixProducts {
  int64_t count, m, n, k;
  bool transpose_a, transpose_b, shares_b;

  MatrixProducts(const Node& node, const Shape& a, const Shape& b)
      : count(a.elements(0, a.rank() - 2)),
        transpose_a(node.attributes.flag("transpose_a")),
        transpose_b(node.attributes.flag("transpose_b")),
        shares_b(b.rank() < a.rank()) {
    m = a[a.rank() - (transpose_a ? 1 : 2)];
    k = a[a.rank() - (transpose_a ? 2 : 1)];
    n = b[b.rank() - (transpose_b ? 2 : 1)];
    if (!shares_b || transpose_a) return;
    m *= count;  // the rows of all are those of one
    count = 1;
  }
};

}  // namespace troika
