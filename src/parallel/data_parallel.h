// Splitting by data: every rank computes its own samples. Gradients are summed in buckets while the
// backward pass still runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace troika {

// Gradients that travel together, in the order in which the backward pass makes them: last layer
// first.
struct Bucket {
  std::vector<std::string> parameters;
  size_t bytes = 0;
};

struct NamedBytes {
  std::string name;
  size_t bytes;
};

// Cuts parameters, listed in the model's order, into buckets from the last parameter to the first.
// A bucket is closed when it has reached `bucket_bytes`. 0: one parameter per bucket. The buckets
// depend only on the model, so they are the same on every rank.
std::vector<Bucket> make_buckets(const std::vector<NamedBytes>& parameters, size_t bucket_bytes);

// Inserts an all_reduce for each bucket directly after the node that makes its last gradient, in
// the order of buckets.
void insert_all_reduces(Graph& graph, const std::vector<Bucket>& buckets);

// Rounds gradients to bf16 before their all_reduce, and rounds the sums after the last all_reduce.
// So only two bytes per element have to travel.
void compress_gradients(Graph& graph);

// Inserts an all_gather for each bucket after this rank's last update in the bucket, in the order
// of buckets.
void insert_all_gathers(Graph& graph, const std::vector<Bucket>& buckets);

// Returns the only rank that updates each parameter, of `ranks`: the largest parameter first, each
// to the rank with the fewest bytes so far (ZeRO level 1, Rajbhandari et al. 2020, with whole
// parameters).
std::map<std::string, int> assign_owners(std::vector<NamedBytes> parameters, int ranks);

// Sets the place of this rank's first sample in the whole batch, which dropout reads.
void set_sample_offset(Graph& graph, int64_t offset);

// Returns the graph of a rank whose gradients have been computed: parameters and their gradients,
// without nodes.
Graph update_graph(const Graph& model, const std::vector<std::string>& trainable);

// Returns the graph of a rank without samples, which takes part in the sum and the update. Its
// gradients are -0, the zero that changes no sum.
Graph idle_graph(const Graph& model, const std::vector<std::string>& trainable);

}  // namespace troika
