// Bounds of the differences of clocks, from rounds of messages.
#include "train/process_clock.h"

#include <algorithm>

#include "core/machine.h"
#include "core/packed.h"

namespace troika {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr int kClockRounds = 16;

int64_t nanoseconds_of(Clock::time_point moment) { return nanoseconds(moment.time_since_epoch()).count(); }

Clock::time_point moment_of(int64_t since_epoch) { return Clock::time_point(nanoseconds(since_epoch)); }

}  // namespace

void ClockDifference::add(const RoundTimes& first, const RoundTimes& own) {
  least_ = std::max<nanoseconds>(least_, first.said - own.heard);
  most_ = std::min<nanoseconds>(most_, first.heard - own.said);
}

ProcessClock compare_clocks(const Peers& peers, const char* what) {
  if (!peers.exist()) return {};
  const std::string machine = boot_id();
  std::string first_machine;
  ClockDifference difference;
  RoundTimes own;  // of the last round
  // Each round passes on the moments of the round before.
  for (int round = 0; round <= kClockRounds; ++round) {
    Packer message;
    message.number(nanoseconds_of(own.said)).number(nanoseconds_of(own.heard)).text(machine);
    const RoundTimes before = own;
    own.said = Clock::now();
    const std::vector<std::string> all = peers.all_gather(what, message.bytes());
    own.heard = Clock::now();
    Unpacker first(all[0]);
    RoundTimes theirs;
    theirs.said = moment_of(first.number());
    theirs.heard = moment_of(first.number());
    first_machine = first.text();
    if (round > 0) difference.add(theirs, before);
  }
  // Containers of one machine may have clocks of their own.
  const bool is_same = peers.is_first() || (!machine.empty() && machine == first_machine && difference.can_be_0());
  if (is_same) return {};
  return {difference.estimate(), difference.error()};
}

}  // namespace troika
