// Small messages among all processes of a group, in rounds: agreement, addresses, results.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "group/member.h"

namespace troika {

// Each object that the processes share, such as a trainer, has an exchange of its own. All
// processes create their exchanges in the same order. One thread uses an exchange at a time, apart
// from `abort`.
// Plug-ins call it, so its functions are virtual: the code that runs is this library's.
class Exchange {
 public:
  Exchange(std::shared_ptr<Member> member, int rank, int size)
      : member_(std::move(member)), rank_(rank), size_(size), lane_(member_->open_lane()) {}
  virtual ~Exchange() {
    if (member_) member_->close_lane(lane_);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  int rank() const { return rank_; }  // of this process
  int size() const { return size_; }  // processes

  // Passes a message to all processes, and returns those of all, by rank. `what` names the call for
  // messages and is the same in all processes: "a training step". COMM if a process is lost, late,
  // or calls something else.
  virtual std::vector<std::string> all_gather(const std::string& what, const std::string& message, Deadline deadline) {
    begin(what, message, deadline);
    return end(deadline);
  }
  // The same in two parts, between which other work may be done.
  virtual void begin(const std::string& what, const std::string& message, Deadline deadline) {
    member_->say(lane_, what, message, deadline);
  }
  virtual std::vector<std::string> end(Deadline deadline) { return member_->hear(lane_, deadline); }

  // Sets a function that is called once when the exchange cannot be used any more: on another
  // thread, or now if that has happened. Null: none, after a call that is under way has ended.
  virtual void on_failure(Member::Failed failed) { member_->on_failure(lane_, std::move(failed)); }

  // Returns why the exchange cannot be used any more, the same text in all processes; empty if it
  // can. Any thread.
  virtual std::string failure() const { return member_->failure_of(lane_); }

  // Makes all calls of this exchange fail in every process. Any thread.
  virtual void abort(const std::string& reason) noexcept { member_->abort(lane_, reason); }

 protected:
  // For an exchange that passes its messages in another way.
  Exchange(int rank, int size) : rank_(rank), size_(size), lane_(-1) {}

 private:
  const std::shared_ptr<Member> member_;  // null: the messages pass in another way
  const int rank_, size_;
  const int64_t lane_;
};

}  // namespace troika
