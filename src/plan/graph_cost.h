// Costs of a graph on a machine, computed from nodes and values: no device and no kernel is needed.
#pragma once

#include "graph/graph.h"

namespace troika {

// Devices of one kind, each linked to every other device of its node.
struct Machine {
  int devices = 1;
  size_t memory_bytes = 0;      // per device
  double operations = 0;        // per second, of convolutions, linear layers and all other ops
  double memory_bandwidth = 0;  // bytes per second that a device reads and writes
  double link_bandwidth = 0;    // bytes per second that a device sends, while it receives as many
  double link_latency = 0;      // seconds until the first byte of a message arrives
  int devices_per_node = 0;     // 0: all
  double node_bandwidth = 0;    // bytes per second that a node sends, while it receives as many
  double node_latency = 0;      // as link_latency, between nodes
};

// Returns max(operations / operations per second, bytes read and written / memory bandwidth). Views
// and communication take no time.
double node_seconds(const Graph& graph, const Node& node, const Machine& machine);

double message_seconds(size_t bytes, const Machine& machine);  // latency + bytes / link bandwidth

// Returns the time of a sum over n devices by recursive halving and doubling (Thakur, Rabenseifner
// and Gropp 2005): 2 log2 n messages, and 2 (n - 1) / n of the bytes. If the devices are on several
// nodes, those of a node do so first. Between the two halves, each device sums its part with its
// peers on the other nodes in the same way. All devices of a node share its network for that.
double sum_seconds(size_t bytes, int devices, const Machine& machine);

// Returns the bytes of the arena by the lifetimes of inputs and activations in plain layouts.
// Kernels' scratch, reorders between layouts and outputs that take over an input's memory are not
// counted.
size_t activation_bytes(const Graph& graph);

}  // namespace troika
