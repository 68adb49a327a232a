// Splitting by data: every rank computes its own samples, gradients are summed in buckets while backward still runs.
#pragma once

#include <map>
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

// Rounds gradients to bf16 before their all_reduce, and the sums behind the last of them: two bytes an element are all that
// has to travel.
void compress_gradients(Graph& graph);

// Inserts an all_gather for each bucket behind the last of this rank's updates in it, in the order of buckets.
void insert_all_gathers(Graph& graph, const std::vector<Bucket>& buckets);

// Who alone updates each parameter, of so many ranks: the largest first, each to the rank with the fewest bytes so far (ZeRO
// level 1, Rajbhandari et al. 2020, with whole parameters).
std::map<std::string, int> assign_owners(std::vector<NamedBytes> parameters, int ranks);

// Tells dropout where this rank's first sample stands in the whole batch.
void set_sample_offset(Graph& graph, int64_t offset);

// The graph of a rank without samples: gradients of -0, the zero that changes no sum, so that it takes part in the sum and the
// update.
Graph idle_graph(const Graph& model, const std::vector<std::string>& trainable);

}  // namespace troika
