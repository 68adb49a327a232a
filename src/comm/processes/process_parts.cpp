// Nodes of sums, and slices of buckets.
#include "comm/processes/process_parts.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "comm/pairwise_sum.h"

namespace troika {
namespace {

bool has_all(const std::vector<size_t>& positions, size_t first, size_t end) {
  for (size_t at = first; at < end; ++at)
    if (std::find(positions.begin(), positions.end(), at) == positions.end()) return false;
  return true;
}

}  // namespace

bool ProcessPart::owns(const OwnedBytes& piece) const {
  return std::find(positions.begin(), positions.end(), static_cast<size_t>(piece.owner)) != positions.end();
}

ProcessParts::ProcessParts(const std::vector<int>& group, const std::vector<int>& owners, int own_process)
    : ranks_(group.size()) {
  for (size_t position = 0; position < group.size(); ++position) {
    const int process = owners[static_cast<size_t>(group[position])];
    auto found =
        std::find_if(parts_.begin(), parts_.end(), [&](const ProcessPart& part) { return part.process == process; });
    if (found == parts_.end()) found = parts_.insert(found, ProcessPart{process, {}, {}});
    found->positions.push_back(position);
  }
  for (ProcessPart& part : parts_) {
    const std::function<void(size_t, size_t)> find = [&](size_t first, size_t width) {
      if (first >= ranks_) return;
      if (has_all(part.positions, first, std::min(first + width, ranks_))) return part.nodes.push_back({first, width});
      if (width == 1) return;
      find(first, width / 2);
      find(first + width / 2, width / 2);
    };
    find(0, std::bit_ceil(ranks_));
  }
  while (parts_[own_].process != own_process) ++own_;
}

bool ProcessParts::is_whole(const Collective& collective) const {
  return parts_.size() == 2 || static_cast<size_t>(collective.count) * size_of(collective.dtype) <= kMostWhole;
}

Range ProcessParts::slice_of(const Collective& collective, size_t part) const {
  if (is_whole(collective)) return {0, collective.count};
  const int64_t elements = kCacheLine / static_cast<int64_t>(size_of(collective.dtype));
  const int64_t lines = (collective.count + elements - 1) / elements;
  const Range range = balanced_split(lines, static_cast<int64_t>(parts_.size()), static_cast<int64_t>(part));
  return {std::min(range.begin * elements, collective.count), std::min(range.end * elements, collective.count)};
}

size_t ProcessParts::bytes_owned(const std::vector<OwnedBytes>& pieces, size_t part) const {
  size_t bytes = 0;
  for (const OwnedBytes& piece : pieces)
    if (parts_[part].owns(piece)) bytes += piece.end - piece.begin;
  return bytes;
}

}  // namespace troika
