// A member of a group whose hub sends what it likes.
#include "group/member.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "core/deadline.h"
#include "group/connection.h"
#include "group/frames.h"

namespace troika {
namespace {

void send_frame(const Socket& to, const Packer& frame) {
  const auto size = static_cast<uint32_t>(frame.bytes().size());
  ASSERT_EQ(to.send(&size, sizeof size), static_cast<ptrdiff_t>(sizeof size));
  ASSERT_EQ(to.send(frame.bytes().data(), size), static_cast<ptrdiff_t>(size));
}

// The error of the member, the only one of its group, after the frame.
std::string error_after(const Packer& frame) {
  auto [own, theirs] = Socket::pair();
  Member member(std::make_unique<Connection>(std::move(own)));
  const int64_t lane = member.open_lane();
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::thread hub([&hub = theirs] {  // a hub answers a member that has said who it is
    for (std::byte byte; hub.receive(&byte, 1) != 1;) std::this_thread::yield();
    send_frame(hub, std::move(begin_frame(FrameKind::roster).text("host").number(1).number(0).number(0)));
  });
  member.join(0, 1, "machine", deadline);
  hub.join();
  send_frame(theirs, frame);
  try {
    member.hear(lane, deadline);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Member, FailsWithTheReasonOfTheHub) {
  EXPECT_EQ(error_after(std::move(begin_frame(FrameKind::fail).number(0).text("rank 1 failed"))),
            "group: rank 0: rank 1 failed");
  EXPECT_EQ(error_after(std::move(begin_frame(FrameKind::refuse).text("the group is full"))),
            "group: rank 0: the group is full");
}

// A failure without a reason would be none: waits would go on.
TEST(Member, RefusesAFailureWithoutAReason) {
  for (const int64_t lane : {-1, 0, 1})
    EXPECT_EQ(error_after(std::move(begin_frame(FrameKind::fail).number(lane).text(""))),
              "group: rank 0: rank 0 is lost: it sent a frame without meaning");
  EXPECT_EQ(error_after(std::move(begin_frame(FrameKind::refuse).text(""))),
            "group: rank 0: rank 0 is lost: it sent a frame without meaning");
}

}  // namespace
}  // namespace troika
