// Gathers rows over the processes of a world.
#include "train/row_exchange.h"

namespace troika {

bool are_rows_elsewhere(const Attachment& attached) { return !attached.ranks.is_whole() && attached.state.is_scattered(); }

void gather_rows(const Attachment& attached, int position, int64_t n, int64_t elements, std::vector<float>& rows) {
  const RankMap& map = attached.layout.ranks();
  const int64_t bytes = elements * static_cast<int64_t>(sizeof(float));
  std::vector<OwnedBytes> pieces;
  for (int share = 0; share < map.shares(); ++share) {
    const Range range = attached.layout.share_sizes().rows(n, share);
    const int rank = map.rank_of(share, map.part_at(position, 0));
    pieces.push_back({static_cast<size_t>(range.begin * bytes), static_cast<size_t>(range.end * bytes),
                      attached.ranks.process_of(rank)});
  }
  attached.ranks.all_gather(pieces, rows.data());
}

void keep_own_rows(const BatchView& view, int64_t elements, std::vector<float>& rows) {
  rows.erase(rows.begin(), rows.begin() + view.first * elements);
  rows.resize(static_cast<size_t>(view.rows * elements));
}

}  // namespace troika
