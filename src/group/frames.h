// The frames between the members of a group and its hub.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "core/packed.h"

namespace troika {

// A frame has its kind, then the fields that the comment names.
enum class FrameKind : int64_t {
  // of a member
  hello,  // rank, size, version, commit, host, machine, process id
  say,    // lane, round, name of the call, milliseconds, message
  abort,  // lane, reason
  // of the hub
  refuse,  // reason
  roster,  // for each rank: host, process id, node, local rank
  round,   // lane, round, message of each rank
  fail,    // lane, or -1 for the group; reason
  // of both
  beat,
  bye,
};

constexpr std::chrono::milliseconds kBeat{1000};  // the longest time between two frames

inline Packer begin_frame(FrameKind kind) {
  Packer frame;
  frame.number(static_cast<int64_t>(kind));
  return frame;
}

// An empty reason would read as no failure.
inline std::string take_reason(Unpacker& frame) {
  std::string reason = frame.text();
  if (reason.empty()) throw Malformed();
  return reason;
}

}  // namespace troika
