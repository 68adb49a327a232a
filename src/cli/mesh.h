// The options --mesh, --micro-batches and related ones: how devices share the work.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/client.h"
#include "cli/command_line.h"

namespace troika::cli {

struct MeshOptions {
  std::string mesh;  // "2x2x1": data x layer x channel; "auto" until it is chosen; empty: all devices share the batch
  int micro_batches = 1, logical_shards = 0, layer_chunks = 1;
  std::string layer_schedule = "1f1b", layer_cuts;
  std::string shares;  // "3,1": sizes of the parts of a batch; "auto" until they are measured; empty: equal

  bool is_auto() const { return mesh == "auto"; }
  bool measures_shares() const { return shares == "auto"; }
  // " with shares 3,1" after a name; empty: one part, or parts of one size.
  std::string shares_text() const { return shares.find(',') == std::string::npos ? "" : " with shares " + shares; }
};

void add_mesh_options(const Command& command, MeshOptions& options);

std::string name_of(const troika_mesh& mesh);  // "2x2x1"

// Returns a schedule by its name.
int32_t parse_layer_schedule(const std::string& name);

// Refuses values that the library would refuse by its own names. The options must live as long as
// `out`. A mesh that is still to be chosen is not set (cli/auto_mesh.h).
void set_mesh(const MeshOptions& options, troika_trainer_options& out);

// Sets the numbers of --shares, for which `numbers` is memory. Shares that are still to be measured
// are not set (cli/measured_shares.h).
void set_shares(const MeshOptions& options, std::vector<double>& numbers, troika_trainer_options& out);

// Refuses a mesh for another number of devices, also for a resumed run.
void check_mesh(const MeshOptions& options, size_t devices);

}  // namespace troika::cli
