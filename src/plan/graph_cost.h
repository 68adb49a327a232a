// What a graph takes on a machine, by its nodes and values alone: no device and no kernel.
#pragma once

#include "graph/graph.h"

namespace troika {

// Devices of one kind, each linked to every other.
struct Machine {
  int devices = 1;
  size_t memory_bytes = 0;      // a device
  double operations = 0;        // a second, of convolutions and linear layers as of all others
  double memory_bandwidth = 0;  // bytes a second that a device reads and writes
  double link_bandwidth = 0;    // bytes a second that it sends, while it receives as many
  double link_latency = 0;      // seconds until the first byte of a message is there
};

// max(operations / a second's, bytes that it reads and writes / memory bandwidth). Nothing for views, and for what
// communicates.
double node_seconds(const Graph& graph, const Node& node, const Machine& machine);

double message_seconds(size_t bytes, const Machine& machine);  // latency + bytes / link bandwidth

// A sum over n devices as a ring makes it: 2 (n - 1) messages of bytes / n, one behind the other.
double sum_seconds(size_t bytes, int devices, const Machine& machine);

// The arena by the lifetimes of inputs and activations in plain layouts: kernels' scratch, reorders between layouts and
// outputs that take over an input's memory are not in it.
size_t activation_bytes(const Graph& graph);

}  // namespace troika
