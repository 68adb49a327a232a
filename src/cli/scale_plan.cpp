// Asks the planner for one number of nodes after another.
#include "cli/scale_plan.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <vector>

#include "cli/text.h"

namespace troika::cli {
namespace {

troika_plan_result estimate(const Model& model, troika_plan_options plan, int devices, int64_t samples) {
  plan.devices = devices;
  plan.batch = samples * devices;
  if (devices < plan.devices_per_node) plan.devices_per_node = 0;
  const troika_mesh mesh{devices, 1, 1, 0};
  troika_plan_result result = TROIKA_PLAN_RESULT_INIT;
  call(troika_plan_estimate, model.get(), &plan, &mesh, &result);
  return result;
}

// Returns the expected largest of n numbers with a standard normal distribution: its quantile at
// (n - 0.375) / (n + 0.25) (Blom 1958).
double largest_of(int n) {
  if (n == 1) return 0;
  const double rest = (0.375 + 0.25) / (n + 0.25);  // of the distribution, above the quantile
  double low = 0, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) / 2 > rest ? low : high) = middle;
  }
  return low;
}

// Returns 1, 2, 4 ... and the last number.
std::vector<int> doublings(int last) {
  std::vector<int> numbers;
  for (int n = 1; n < last; n *= 2) numbers.push_back(n);
  numbers.push_back(last);
  return numbers;
}

void print_row(const std::string& nodes, int devices, int64_t samples, const troika_plan_result& plan, double alone) {
  const double waits = std::max(0.0, plan.seconds - alone);
  std::cout << formatted("%5s %8d %10s %10.2f ms %13s %9.1f %% %10.2f ms%s\n", nodes.c_str(), devices,
                         with_commas(samples * devices).c_str(), 1e3 * plan.seconds,
                         with_commas(std::llround(static_cast<double>(samples * devices) / plan.seconds)).c_str(),
                         100 * alone / plan.seconds, 1e3 * waits, plan.fits ? "" : "  does not fit");
}

}  // namespace

void add_scale_options(const Command& command, ScaleOptions& options) {
  command.option("--nodes", options.nodes,
                 "Plans a split by data over so many nodes, and over fewer; --batch is that of all nodes", "N");
  command.exclude("--nodes", "--devices");
  command.option("--devices-per-node", options.devices_per_node, "Devices of each node", "N");
  command.need("--devices-per-node", "--nodes");
  command.option("--inter", options.inter, "Rate at which a node sends, with all its network cards, such as 400Gbit/s",
                 "GB/S");
  command.need("--inter", "--nodes");
  command.option("--inter-latency", options.inter_latency, "Microseconds of a message between nodes", "US");
  command.need("--inter-latency", "--nodes");
  command.option("--device-time", options.device_time,
                 "Measured milliseconds of a step on one device, with its share of the batch; 0: estimated", "MS");
  command.need("--device-time", "--nodes");
  command.option("--spread", options.spread,
                 "Standard deviation of the devices' times; all devices wait for the slowest", "PERCENT");
  command.need("--spread", "--nodes");
}

void check_scale(const ScaleOptions& options) {
  if (options.nodes < 0 || options.nodes > kMostDevices)
    refuse_value("--nodes", options.nodes, formatted("1 to %d", kMostDevices));
  if (options.devices_per_node < 1 || options.devices_per_node > kMostDevices)
    refuse_value("--devices-per-node", options.devices_per_node, formatted("1 to %d", kMostDevices));
  if (options.nodes > kMostDevices / options.devices_per_node)
    refuse_value("--nodes", options.nodes,
                 formatted("at most %d, for %d devices in all", kMostDevices / options.devices_per_node, kMostDevices));
  if (!(options.inter_latency >= 0 && options.inter_latency < 1e15))
    refuse_value("--inter-latency", options.inter_latency, "a number of at least 0");
  if (!(options.device_time >= 0 && options.device_time < 1e15))
    refuse_value("--device-time", options.device_time, "a number of at least 0");
  if (!(options.spread >= 0 && options.spread <= 100))
    refuse_value("--spread", options.spread, "a number from 0 to 100");
}

double parse_rate(const char* option, const std::string& text) {
  constexpr struct {
    const char* name;
    double bytes;
  } kUnits[] = {{"", 1e9}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"TB/s", 1e12}, {"Gbit/s", 1e9 / 8}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc())
    for (const auto& unit : kUnits)
      if (std::string(read.ptr, end) == unit.name && number * unit.bytes >= 1e6 && number * unit.bytes < 1e24)
        return number * unit.bytes;
  refuse_value(option, text, "a rate of at least 0.001 GB/s, such as 450, 450GB/s or 100Gbit/s");
}

void print_scaling(const Model& model, troika_plan_options plan, const ScaleOptions& options) {
  const int devices = options.nodes * options.devices_per_node;
  if (plan.batch % devices != 0)
    refuse_value("--batch", plan.batch, formatted("a multiple of %d, the devices of all nodes", devices));
  const int64_t samples = plan.batch / devices;
  plan.devices_per_node = options.devices_per_node;
  plan.node_bandwidth = parse_rate("--inter", options.inter);
  plan.node_latency = 1e-6 * options.inter_latency;

  // A device that is slower by a factor, with links as they are, takes this factor longer than the
  // planner's device with links that are faster by the factor.
  double alone = estimate(model, plan, 1, samples).seconds, slower = 1;
  if (options.device_time > 0) slower = 1e-3 * options.device_time / alone;
  alone *= slower;
  plan.link_bandwidth *= slower;
  plan.node_bandwidth *= slower;
  plan.link_latency /= slower;
  plan.node_latency /= slower;

  std::cout << formatted("%lld samples per device, split by data, %d %s per node\n", static_cast<long long>(samples),
                         options.devices_per_node, options.devices_per_node == 1 ? "device" : "devices");
  std::cout << formatted("%5s %8s %10s %13s %13s %11s %13s\n", "nodes", "devices", "batch", "step", "images/s",
                         "efficiency", "waits");
  const auto print = [&](const std::string& nodes, int all) {
    troika_plan_result result = estimate(model, plan, all, samples);
    result.seconds = result.seconds * slower + options.spread / 100 * largest_of(all) * alone;
    print_row(nodes, all, samples, result, alone);
  };
  print("-", 1);
  for (const int nodes : doublings(options.nodes))
    if (nodes * options.devices_per_node > 1) print(std::to_string(nodes), nodes * options.devices_per_node);
}

}  // namespace troika::cli
