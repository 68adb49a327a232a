// World rank <-> (share of the samples, position in the pipeline, channel): the only place that
// calculates with ranks.
#pragma once

#include <vector>

#include "ops/op_traits.h"
#include "parallel/mesh.h"

namespace troika {

// World ranks number the devices of a mesh in the order of the attached list: first the channels of
// the same layers, then the next layers, then other samples. A part is a position and a channel:
// the part of the model that a rank holds. Stages are numbered over all positions of a pipeline, in
// the model's order, one chunk after another.
constexpr int position_of_stage(int stage, int positions) { return stage % positions; }
constexpr int stage_at(int position, int chunk, int positions) { return chunk * positions + position; }
constexpr int chunks_of(int stages, int positions) { return stages / positions; }

class RankMap {
 public:
  RankMap() = default;                 // one rank
  explicit RankMap(const Mesh& mesh);  // with `data` filled in (see spread)

  int size() const { return shares_ * parts(); }
  int shares() const { return shares_; }
  int positions() const { return positions_; }
  int channels() const { return channels_; }
  int parts() const { return positions_ * channels_; }

  int share_of(int rank) const { return rank / parts(); }
  int part_of(int rank) const { return rank % parts(); }
  int position_of(int rank) const { return position_of_part(part_of(rank)); }
  int channel_of(int rank) const { return channel_of_part(part_of(rank)); }
  int rank_of(int share, int part) const { return share * parts() + part; }

  int part_at(int position, int channel) const { return position * channels_ + channel; }
  int position_of_part(int part) const { return part / channels_; }
  int channel_of_part(int part) const { return part % channels_; }
  int position_of_stage(int stage) const { return troika::position_of_stage(stage, positions_); }

  std::vector<int> all() const;  // 0, 1 ... size() - 1
  // Returns every group of a kind. A group is its world ranks, in the order of their ranks within
  // the group.
  std::vector<std::vector<int>> groups(RankGroup kind) const;

 private:
  int shares_ = 1, positions_ = 1, channels_ = 1;
};

}  // namespace troika
