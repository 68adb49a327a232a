// Moments pass through the group's rounds, long texts through the link.
#include "train/trace_parts.h"

#include <algorithm>

#include "core/packed.h"

namespace troika {

using std::chrono::nanoseconds;

std::chrono::steady_clock::time_point find_earliest(const Peers& peers, const char* what, const ProcessClock& clock,
                                                    std::chrono::steady_clock::time_point own) {
  const nanoseconds by_first = own.time_since_epoch() + clock.offset;
  int64_t earliest = by_first.count();
  for (const std::string& message : peers.all_gather(what, Packer().number(earliest).bytes()))
    earliest = std::min(earliest, Unpacker(message).number());
  return std::chrono::steady_clock::time_point(nanoseconds(earliest) - clock.offset);
}

std::vector<std::string> gather_texts(const Trainer& trainer, const char* what, const std::string& own) {
  const Peers& peers = trainer.peers();
  if (!peers.exist()) return {own};
  std::vector<OwnedBytes> pieces;
  size_t bytes = 0;
  for (const std::string& message : peers.all_gather(what, Packer().number(static_cast<int64_t>(own.size())).bytes())) {
    const size_t end = bytes + static_cast<size_t>(Unpacker(message).number());
    pieces.push_back({bytes, end, static_cast<int>(pieces.size())});
    bytes = end;
  }
  std::string all;
  std::vector<std::string> texts(pieces.size());
  peers.run_in_all(what, [&] {
    all.resize(bytes);
    own.copy(all.data() + pieces[static_cast<size_t>(trainer.ranks().process())].begin, own.size());
  });
  trainer.ranks().all_gather(pieces, all.data());
  for (size_t i = 0; i < texts.size(); ++i) texts[i] = all.substr(pieces[i].begin, pieces[i].end - pieces[i].begin);
  return texts;
}

}  // namespace troika
