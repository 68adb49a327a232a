// The hub of a group: rank 0's thread that collects the messages of each round, and notices lost
// processes.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/deadline.h"
#include "core/log.h"
#include "group/connection.h"
#include "group/frames.h"
#include "group/process_info.h"
#include "group/rounds.h"

namespace troika {

class Hub {
 public:
  // The listener may have no descriptor: then this process is the whole group. `joining`: the
  // moment by which all processes must have joined. `log` must outlive the hub.
  Hub(Socket listener, int size, std::string secret, Deadline joining, const Log& log);
  ~Hub();  // says goodbye to all members
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;

  // Returns the end for rank 0's own member. To be called once, before the thread starts.
  Socket own_end();
  void start();

 private:
  struct Peer {
    explicit Peer(Connection end) : connection(std::move(end)) {}
    Connection connection;
    Deadline accepted = std::chrono::steady_clock::now(), heard = accepted, sent = accepted;
    int rank = -1;  // -1: has not said who it is
    bool has_left = false;
  };
  void run();
  void wait();
  void accept();
  void take(Peer& peer, const std::string& bytes);
  void greet(Peer& peer, Unpacker& frame);
  void say(const Peer& peer, Unpacker& frame);
  void look_at_clock();
  void remove_ended();
  void refuse_stranger(const Peer& peer, const std::string& reason);
  void lose(const Peer& peer);
  void fail(int64_t lane, const std::string& reason);  // lane -1: the group
  void send_all(const Packer& frame);
  void announce();
  std::string silence_of(int rank) const;
  std::string print_process(int rank) const;

  Socket listener_;
  const int size_;
  const Secret secret_;
  const Deadline joining_;
  const Log& log_;
  const Waker waker_;
  std::atomic<bool> ends_ = false;
  std::vector<std::unique_ptr<Peer>> peers_;  // used by the thread alone, like all that follows
  std::vector<Peer*> members_;                // by rank; null: has not joined, or is lost
  Roster roster_;
  std::vector<std::string> machines_;  // by rank: equal for processes of one node
  Rounds rounds_;
  int joined_ = 0;
  bool is_complete_ = false;
  std::string failure_;
  std::map<std::string, int64_t> strangers_;  // refused, by reason
  std::thread thread_;
};

}  // namespace troika
