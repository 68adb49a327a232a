// Reads meshes.
#include "cli/mesh.h"

#include <charconv>

#include "cli/text.h"

namespace troika::cli {
namespace {

constexpr double kLeastShare = 1e-30, kLargestShare = 1e30;  // as the library has them

troika_mesh parse_mesh(const std::string& text) {
  if (text.empty() || text == "auto") return {0, 1, 1, 0};
  const std::vector<std::string> parts = split(text, 'x');
  int32_t sizes[3] = {};
  bool is_right = parts.size() == 3;
  for (size_t i = 0; is_right && i < 3; ++i) {
    const char* const end = parts[i].data() + parts[i].size();
    const auto read = std::from_chars(parts[i].data(), end, sizes[i]);
    is_right = read.ec == std::errc() && read.ptr == end && sizes[i] >= 1;
  }
  if (!is_right) refuse_value("--mesh", text, "data x layer x channel, such as 2x2x1, or auto");
  return {sizes[0], sizes[1], sizes[2], 0};
}

}  // namespace

std::string name_of(const troika_mesh& mesh) { return formatted("%dx%dx%d", mesh.data, mesh.layer, mesh.channel); }

int32_t parse_layer_schedule(const std::string& name) {
  if (name == "gpipe") return TROIKA_LAYER_SCHEDULE_GPIPE;
  if (name == "1f1b") return TROIKA_LAYER_SCHEDULE_1F1B;
  if (name == "interleaved") return TROIKA_LAYER_SCHEDULE_INTERLEAVED;
  refuse_value("--layer-schedule", name, "gpipe, 1f1b or interleaved");
}

void add_mesh_options(const Command& command, MeshOptions& options) {
  command.option(
      "--mesh", options.mesh,
      "How devices share the work: data x layer x channel, such as 2x2x1; auto: the fastest that fits, as planned; "
      "else all share the batch",
      "DxLxC");
  command.option("--shares", options.shares,
                 "Sizes of the parts of a batch, one for each device that shares it, such as 3,1 for a fast and a slow "
                 "one; auto: as fast as each device is, measured at the start; else equal",
                 "LIST");
  command.option("--micro-batches", options.micro_batches,
                 "Cuts each device's samples into so many parts, computed one after another");
  command.option("--layer-schedule", options.layer_schedule,
                 "Schedule of a split by layer: gpipe, 1f1b or interleaved");
  command.option("--layer-chunks", options.layer_chunks, "Stages per device, with the interleaved schedule");
  command.option("--layer-cuts", options.layer_cuts,
                 "Layers that begin a stage, except the first stage, such as layer3.0.conv1", "LAYERS");
  command.option("--logical-shards", options.logical_shards,
                 "Cuts each batch into so many shards on any number of devices, which then all compute the same bits");
}

void set_shares(const MeshOptions& options, std::vector<double>& numbers, troika_trainer_options& out) {
  numbers.clear();
  if (!options.shares.empty() && !options.measures_shares())
    for (const std::string& part : split(options.shares, ',')) {
      double share = 0;
      const char* const end = part.data() + part.size();
      const auto read = std::from_chars(part.data(), end, share);
      if (read.ec != std::errc() || read.ptr != end || !(share >= kLeastShare && share < kLargestShare))
        refuse_value("--shares", options.shares, "a number above 0 for each part of the batch, such as 3,1, or auto");
      numbers.push_back(share);
    }
  out.shares = numbers.empty() ? nullptr : numbers.data();
  out.share_count = static_cast<int32_t>(numbers.size());
}

void set_mesh(const MeshOptions& options, troika_trainer_options& out) {
  if (options.micro_batches < 1) refuse_value("--micro-batches", options.micro_batches, "at least 1");
  if (options.layer_chunks < 1) refuse_value("--layer-chunks", options.layer_chunks, "at least 1");
  if (options.logical_shards < 0)
    refuse_value("--logical-shards", options.logical_shards, "a power of 2, or 0 for none");
  if (options.is_auto() && !options.layer_cuts.empty())
    throw Failure("--mesh auto cuts between layers by itself; leave out --layer-cuts");
  out.mesh = parse_mesh(options.mesh);
  if (!options.layer_cuts.empty() && out.mesh.layer < 2)
    throw Failure("--layer-cuts is '" + options.layer_cuts + "', --mesh " +
                  (options.mesh.empty() ? "is not given" : "is " + options.mesh) +
                  "; give a --mesh that splits by layer, such as 1x2x1");
  out.micro_batches = options.micro_batches;
  out.logical_shards = options.logical_shards;
  out.layer_schedule = parse_layer_schedule(options.layer_schedule);
  out.layer_chunks = options.layer_chunks;
  if (out.layer_chunks > 1 && out.layer_schedule != TROIKA_LAYER_SCHEDULE_INTERLEAVED)
    refuse_value("--layer-chunks", options.layer_chunks, "1, or --layer-schedule interleaved");
  out.layer_cuts = options.layer_cuts.empty() ? nullptr : options.layer_cuts.c_str();
}

void check_mesh(const MeshOptions& options, size_t devices) {
  if (options.mesh.empty() || options.is_auto()) return;
  const troika_mesh mesh = parse_mesh(options.mesh);
  const double needed = 1.0 * mesh.data * mesh.layer * mesh.channel;  // may be too many for an integer
  if (needed != static_cast<double>(devices))
    throw Failure(
        formatted("--mesh %s needs %.0f devices, --devices has %zu; give another --mesh, such as %zux1x1, or auto",
                  options.mesh.c_str(), needed, devices, devices));
}

}  // namespace troika::cli
