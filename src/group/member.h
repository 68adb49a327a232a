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
#include "group/connection.h"
#include "group/frames.h"
#include "group/process_info.h"

namespace troika {

// Any thread may call it. Each lane is used by one thread at a time.
class Member {
 public:
  using Failed = std::function<void(const std::string& reason)>;

  // `own_end`: of the hub in this process.
  explicit Member(Socket own_end);
  // Connects to the hub at an address, again and again until the deadline. The secret must outlive
  // the member.
  Member(const std::function<Address()>& find_hub, const std::string& name_of_hub, const Secret& secret, Deadline deadline);
  ~Member();  // says goodbye
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  // Says who this process is, and returns all processes when all have joined. COMM with the reason.
  Roster join(int rank, int size, const std::string& machine, Deadline deadline);

  // ---- lanes ----
  int64_t open_lane();
  void close_lane(int64_t lane);
  // `failed` is called once when the lane or the group fails: on the member's thread, or now if that
  // has happened. When this returns, an earlier function is not called any more.
  void on_failure(int64_t lane, Failed failed);
  // Passes this process's message of the lane's next round.
  void say(int64_t lane, const std::string& what, const std::string& data, Deadline deadline);
  // Returns the messages of all processes, by rank. COMM with the reason.
  std::vector<std::string> hear(int64_t lane, Deadline deadline);
  // Makes all later and waiting calls of the lane fail in every process.
  void abort(int64_t lane, const std::string& reason);

 private:
  struct Lane {
    Failed failed;
    std::string failure;
    int64_t said = 0, heard = 0;  // rounds
    std::map<int64_t, std::vector<std::string>> rounds;
  };

  void connect(const std::function<Address()>& find_hub, const std::string& name_of_hub, Deadline deadline);
  bool prove(Deadline deadline);
  void start();
  void run();
  bool wait();
  void take(const std::string& bytes);
  void fail(int64_t lane, const std::string& reason);
  void fail_group(const std::string& reason);
  void call_failed();
  void send(const Frame& frame);
  [[noreturn]] void throw_failure(const std::string& reason) const;

  const Secret* secret_ = nullptr;
  const uint32_t generation_;
  mutable std::mutex mutex_;  // guards all that follows
  std::condition_variable changed_;
  std::unique_ptr<Connection> connection_;
  int rank_ = -1;
  Roster roster_;
  std::map<int64_t, Lane> lanes_;
  int64_t next_lane_ = 0;
  std::string failure_;  // of the group
  std::string left_;     // set if rank 0 has left: no more rounds
  Deadline sent_;
  bool ends_ = false;

  std::mutex calling_;  // while `failed` functions are called; locked before mutex_
  std::vector<std::pair<int64_t, std::string>> to_call_;
  Waker waker_;
  std::thread thread_;
};

}  // namespace troika
