// A plan of data parallel training over nodes: step times and scaling efficiency, on paper.
#pragma once

#include "cli/client.h"
#include "cli/command_line.h"

namespace troika::cli {

constexpr int kMostDevices = 4096;  // of a plan

struct ScaleOptions {
  int nodes = 0;  // 0: no such plan
  int devices_per_node = 8;
  std::string inter = "400";  // of a node
  double inter_latency = 5;   // microseconds
  double device_time = 0;     // milliseconds of a step on one device; 0: estimated
  double spread = 1.5;        // percent: the standard deviation of the devices' times
};

// Adds the options --nodes and related ones.
void add_scale_options(const Command& command, ScaleOptions& options);

// Refuses values that the library would refuse by its own names.
void check_scale(const ScaleOptions& options);

// Reads a rate: "450" and "450GB/s" are 450e9 bytes per second, "100Gbit/s" is 12.5e9.
double parse_rate(const char* option, const std::string& text);

// Prints a row for one device, one node and more and more nodes, all with the same samples per
// device. `plan` has the batch of all nodes, the step and the links within a node.
void print_scaling(const Model& model, troika_plan_options plan, const ScaleOptions& options);

}  // namespace troika::cli
