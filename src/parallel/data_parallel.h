// Splitting by data: every rank computes its own samples, gradients are summed in buckets while backward still runs.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace troika {

// Gradients that travel together, in the order in which backward makes them: last layer first.
struct Bucket {
  std::vector<std::string> parameters;
  size_t bytes = 0;
};

struct NamedBytes {
  std::string name;
  size_t bytes;
};

// Cuts parameters, given in the model's order, into buckets from the last to the first: a bucket is closed when it has
// reached `bucket_bytes`. 0: each parameter alone. The same on every rank, for it depends on the model alone.
std::vector<Bucket> make_buckets(const std::vector<NamedBytes>& parameters, size_t bucket_bytes);

// Inserts an all_reduce for each bucket right behind the node that makes its last gradient, in the order of buckets.
void insert_all_reduces(Graph& graph, const std::vector<Bucket>& buckets);

// Tells dropout where this rank's first sample stands in the whole batch.
void set_sample_offset(Graph& graph, int64_t offset);

// The graph of a rank without samples: gradients of -0, the zero that changes no sum, so that it takes part in the sum and the
// update.
Graph idle_graph(const Graph& model, const std::vector<std::string>& trainable);

}  // namespace troika
