// A process's end of its group: the connection to the hub, and the lanes of messages.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/deadline.h"
#include "core/packed.h"
#include "group/process_info.h"

namespace troika {

class Connection;
class Waker;

// Any thread may call it. Each lane is used by one thread at a time.
class Member {
 public:
  using Failed = std::function<void(const std::string& reason)>;

  // The connection is open.
  explicit Member(std::unique_ptr<Connection> to_hub);
  ~Member();  // says goodbye
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Says who this process is, and returns all processes when all have joined. COMM with the reason.
  Roster join(int rank, int size, const std::string& machine, Deadline deadline);

  // ---- lanes ----
  int64_t open_lane();
  void close_lane(int64_t lane);
  // `failed` is called once when the lane or the group fails: on the member's thread, or now if
  // that has happened. When this returns, an earlier function is not called any more.
  void on_failure(int64_t lane, Failed failed);
  // Passes this process's message of the lane's next round.
  void say(int64_t lane, const std::string& what, const std::string& data, Deadline deadline);
  // Returns the messages of all processes, by rank. COMM with the reason.
  std::vector<std::string> hear(int64_t lane, Deadline deadline);
  std::string failure_of(int64_t lane) const;  // empty: none
  // Makes all later and waiting calls of the lane fail in every process. Does not throw: without
  // memory the whole group ends.
  void abort(int64_t lane, const std::string& reason) noexcept;

 private:
  struct Lane {
    Failed failed;
    std::string failure;
    int64_t said = 0, heard = 0;  // rounds
    std::map<int64_t, std::vector<std::string>> rounds;
  };

  void run();
  bool wait();
  void take(const std::string& bytes);
  void fail(int64_t lane, const std::string& reason);
  void fail_group(const std::string& reason);
  void call_failed();
  void send(const Packer& frame);
  [[noreturn]] void throw_failure(const std::string& reason) const;

  const uint32_t generation_;
  mutable std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::unique_ptr<Connection> connection_;
  int rank_ = -1;
  size_t size_ = 0;
  Roster roster_;
  std::map<int64_t, Lane> lanes_;
  int64_t next_lane_ = 0;
  std::string failure_;  // of the group
  std::string left_;     // set if rank 0 has left: no more rounds
  Deadline sent_;
  bool ends_ = false;

  std::mutex calling_;  // while `failed` functions are called; locked before mutex_
  std::vector<std::pair<int64_t, std::string>> to_call_;
  std::unique_ptr<Waker> waker_;
  std::thread thread_;
};

}  // namespace troika
