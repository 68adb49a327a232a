// Groups of ranks.
#include "parallel/rank_map.h"

#include <numeric>

namespace troika {

RankMap::RankMap(const Mesh& mesh) : shares_(mesh.data), positions_(mesh.layer), channels_(mesh.channel) {}

std::vector<int> RankMap::all() const {
  std::vector<int> ranks(static_cast<size_t>(size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<std::vector<int>> RankMap::groups(RankGroup kind) const {
  std::vector<std::vector<int>> groups;
  auto add = [&](int count, auto rank_of_member) {
    std::vector<int>& group = groups.emplace_back();
    for (int i = 0; i < count; ++i) group.push_back(rank_of_member(i));
  };
  switch (kind) {
    case RankGroup::data:
      for (int part = 0; part < parts(); ++part) add(shares_, [&](int share) { return rank_of(share, part); });
      break;
    case RankGroup::model:
      for (int share = 0; share < shares_; ++share) add(parts(), [&](int part) { return rank_of(share, part); });
      break;
    case RankGroup::pipeline:
      for (int share = 0; share < shares_; ++share)
        for (int channel = 0; channel < channels_; ++channel)
          add(positions_, [&](int position) { return rank_of(share, part_at(position, channel)); });
      break;
    case RankGroup::channel:
      for (int share = 0; share < shares_; ++share)
        for (int position = 0; position < positions_; ++position)
          add(channels_, [&](int channel) { return rank_of(share, part_at(position, channel)); });
      break;
  }
  return groups;
}

}  // namespace troika
