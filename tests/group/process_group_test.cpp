// Joining a group, rounds of messages, and what happens if a process is late, lost or a stranger.
#include "group/process_group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "core/text.h"
#include "group/processes.h"
#include "group/socket.h"
#include "support/throws.h"

namespace troika {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Deadline in_ms(int ms) { return steady_clock::now() + milliseconds(ms); }

class ProcessGroups : public ::testing::Test {
 protected:
  TempDirectory folder_;
};

TEST_F(ProcessGroups, KnowTheirProcessesAndNodes) {
  std::vector<GroupOptions> options = group_options(5, folder_);
  const int nodes[] = {7, 3, 7, 3, 3};
  for (size_t rank = 0; rank < 5; ++rank) options[rank].node = nodes[rank];
  const auto groups = join_group(options);
  for (const auto& group : groups) {
    EXPECT_EQ(group->size(), 5);
    EXPECT_EQ(group->nodes(), 2);
    EXPECT_EQ(group->processes_of_node(0), 2);
    EXPECT_EQ(group->processes_of_node(1), 3);
    const int expected_nodes[] = {0, 1, 0, 1, 1}, local_ranks[] = {0, 0, 1, 1, 2};
    for (int rank = 0; rank < 5; ++rank) {
      EXPECT_EQ(group->process(rank).node, expected_nodes[rank]);
      EXPECT_EQ(group->process(rank).local_rank, local_ranks[rank]);
      EXPECT_EQ(group->process(rank).pid, getpid());
    }
  }
}

TEST_F(ProcessGroups, OfOneProcessNeedNoRendezvous) {
  const ProcessGroup group(GroupOptions(), no_log());
  EXPECT_EQ(group.create_exchange()->all_gather("a test", "x", in_ms(1000)), std::vector<std::string>{"x"});
}

TEST_F(ProcessGroups, PassMessagesInRounds) {
  std::vector<GroupOptions> options = group_options(4, folder_);
  for (GroupOptions& o : options) o.secret = "a secret of all";
  const auto groups = join_group(options);
  on_every_process(4, [&](int rank) {
    const auto exchange = groups[static_cast<size_t>(rank)]->create_exchange();
    const auto other = groups[static_cast<size_t>(rank)]->create_exchange();
    for (int round = 0; round < 50; ++round) {
      const std::string own = text(rank, '.', round) + std::string(static_cast<size_t>(round * rank * 1000), 'x');
      other->begin("the other", text(-round, '.', rank), in_ms(10'000));
      const auto all = exchange->all_gather("a round", own, in_ms(10'000));
      const auto others = other->end(in_ms(10'000));
      for (int from = 0; from < 4; ++from) {
        EXPECT_EQ(all[static_cast<size_t>(from)],
                  text(from, '.', round) + std::string(static_cast<size_t>(round * from * 1000), 'x'));
        EXPECT_EQ(others[static_cast<size_t>(from)], text(-round, '.', from));
      }
    }
  });
}

TEST_F(ProcessGroups, NoticeDifferentCalls) {
  const auto groups = join_group(group_options(3, folder_));
  on_every_process(3, [&](int rank) {
    const auto exchange = groups[static_cast<size_t>(rank)]->create_exchange();
    EXPECT_THROWS(Status::comm, rank == 1 ? "" : "rank 1 calls an evaluation",
                  exchange->all_gather(rank == 1 ? "an evaluation" : "a step", "", in_ms(10'000)));
  });
}

TEST_F(ProcessGroups, NameTheRankThatIsLate) {
  const auto groups = join_group(group_options(3, folder_));
  const auto begin = steady_clock::now();
  on_every_process(3, [&](int rank) {
    std::atomic<int> failures = 0;
    const auto exchange = groups[static_cast<size_t>(rank)]->create_exchange();
    exchange->on_failure([&](const std::string&) { ++failures; });
    if (rank == 1)
      std::this_thread::sleep_for(milliseconds(800));
    else
      EXPECT_THROWS(Status::comm, "a step: rank 1 did not arrive within", exchange->all_gather("a step", "", in_ms(300)));
    EXPECT_THROWS(Status::comm, "rank 1 did not arrive", exchange->all_gather("a step", "", in_ms(300)));
    for (int tries = 0; tries < 1000 && failures == 0; ++tries) std::this_thread::sleep_for(milliseconds(1));
    exchange->on_failure(nullptr);
    EXPECT_EQ(failures, 1);
  });
  EXPECT_LT(steady_clock::now() - begin, milliseconds(5000));
  // Other exchanges work on.
  on_every_process(3, [&](int rank) {
    const auto exchange = groups[static_cast<size_t>(rank)]->create_exchange();
    EXPECT_EQ(exchange->all_gather("later", text(rank), in_ms(5000)), (std::vector<std::string>{"0", "1", "2"}));
  });
}

TEST_F(ProcessGroups, PassAnAbortOn) {
  const auto groups = join_group(group_options(3, folder_));
  on_every_process(3, [&](int rank) {
    const auto exchange = groups[static_cast<size_t>(rank)]->create_exchange();
    if (rank == 2) exchange->abort("its dataset ended");
    EXPECT_THROWS(Status::comm, "rank 2 failed: its dataset ended", exchange->all_gather("a step", "", in_ms(10'000)));
  });
}

// Rank 2 leaves after its last round. The others get that round, and an error for the next one.
TEST_F(ProcessGroups, LetAProcessLeave) {
  auto groups = join_group(group_options(3, folder_));
  on_every_process(3, [&](int rank) {
    auto& group = groups[static_cast<size_t>(rank)];
    {
      const auto exchange = group->create_exchange();
      EXPECT_EQ(exchange->all_gather("a step", "", in_ms(10'000)).size(), 3u);
      if (rank < 2)
        EXPECT_THROWS(Status::comm, "rank 2 has left the group", exchange->all_gather("a step", "", in_ms(10'000)));
    }
    group.reset();
  });
}

TEST_F(ProcessGroups, RefuseOptions) {
  auto join = [&](auto change) {
    GroupOptions options = group_options(2, folder_)[1];
    options.connect_timeout_ms = 300;
    change(options);
    ProcessGroup(options, no_log());
  };
  EXPECT_THROWS(Status::invalid_argument, "group: rank is 2, need 0 to 1", join([](GroupOptions& o) { o.rank = 2; }));
  EXPECT_THROWS(Status::invalid_argument, "group: size is 0, need 1 to 4096", join([](GroupOptions& o) { o.size = 0; }));
  EXPECT_THROWS(Status::invalid_argument, "rendezvous is 'there', need tcp://host:port, file:///folder/name or mpi://",
                join([](GroupOptions& o) { o.rendezvous = "there"; }));
  EXPECT_THROWS(Status::invalid_argument, "'127.0.0.1:70000' is no host:port",
                join([](GroupOptions& o) { o.rendezvous = "tcp://127.0.0.1:70000"; }));
  EXPECT_THROWS(Status::comm, "cannot be reached before the deadline (connect_timeout_ms): there is no file",
                join([](GroupOptions&) {}));
  EXPECT_THROWS(Status::comm, "Connection refused (111)",
                join([](GroupOptions& o) { o.rendezvous = "tcp://127.0.0.1:1"; }));
  EXPECT_THROWS(Status::invalid_argument, "and there is no secret", join([](GroupOptions& o) {
                  o.rank = 0;
                  o.rendezvous = "tcp://0.0.0.0:0";
                }));
  EXPECT_THROWS(Status::comm, "1 of 2 processes have joined before the deadline (connect_timeout_ms); rank 1 has not",
                join([](GroupOptions& o) { o.rank = 0; }));
}

TEST_F(ProcessGroups, RefuseAnotherSize) {
  std::vector<GroupOptions> options = group_options(2, folder_);
  for (GroupOptions& o : options) o.connect_timeout_ms = 1500;
  options[1].size = 3;
  on_every_process(2, [&](int rank) {
    EXPECT_THROWS(Status::comm, rank == 0 ? "1 of 2 processes have joined" : "rank 1 expects 3 processes, rank 0 expects 2",
                  ProcessGroup(options[static_cast<size_t>(rank)], no_log()));
  });
}

TEST_F(ProcessGroups, RefuseASecondProcessOfARank) {
  std::vector<GroupOptions> options = group_options(3, folder_);
  options[2].rank = 1;
  for (GroupOptions& o : options) o.connect_timeout_ms = 1500;
  std::atomic<int> refused = 0, waited = 0;
  on_every_process(3, [&](int rank) {
    try {
      ProcessGroup(options[static_cast<size_t>(rank)], no_log());
    } catch (const Error& e) {
      (std::string(e.what()).find("rank 1 has joined already") == std::string::npos ? waited : refused)++;
    }
  });
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(waited, 2);
}

// ---- strangers ----

std::string address_in(const std::string& file) {
  std::string line;
  for (int tries = 0; tries < 2000 && !std::getline(std::ifstream(file), line); ++tries)
    std::this_thread::sleep_for(milliseconds(1));
  return line;
}

TEST_F(ProcessGroups, RefuseProcessesWithAnotherSecret) {
  std::vector<GroupOptions> options = group_options(2, folder_);
  options[0].secret = "one";
  options[1].secret = "two";
  for (GroupOptions& o : options) o.connect_timeout_ms = 1500;
  on_every_process(2, [&](int rank) {
    EXPECT_THROWS(Status::comm, rank == 0 ? "1 of 2 processes have joined" : "refused this process: it has another secret",
                  ProcessGroup(options[static_cast<size_t>(rank)], no_log()));
  });
}

// Strangers come before the second process: each is refused and logged once, and the group joins.
TEST_F(ProcessGroups, AreNotDisturbedByStrangers) {
  std::vector<std::string> lines;
  std::mutex mutex;
  const Log log(
      [&](LogLevel, const char*, const char* line) {
        std::lock_guard lock(mutex);
        lines.push_back(line);
      },
      all_topics(LogLevel::warning));
  const std::vector<GroupOptions> options = group_options(2, folder_);
  std::thread leader([&] { ProcessGroup(options[0], log); });
  const Address address = resolve(address_in(folder_.path() / "rendezvous"), "test");
  std::vector<Socket> open;
  for (const std::string& said :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("troika1\n") + std::string(200, 'a'), std::string("tro"),
        std::string(), std::string(100'000, '\0')})
    for (int repeats = 0; repeats < 20; ++repeats) {
      open.push_back(Socket::connect(address, "stranger"));
      std::this_thread::sleep_for(milliseconds(1));
      open.back().send(said.data(), said.size());
      if (repeats % 2) open.pop_back();
    }
  ProcessGroup(options[1], no_log());
  leader.join();
  const std::lock_guard lock(mutex);
  auto count = [&](const std::string& part) {
    return std::count_if(lines.begin(), lines.end(),
                         [&](const std::string& line) { return line.find(part) != std::string::npos; });
  };
  EXPECT_EQ(count("was refused: it does not speak this protocol"), 1);
  EXPECT_EQ(count("was refused: it does not know the secret of the group"), 1);
  EXPECT_LE(count("was refused: it closed the connection"), 1);
  EXPECT_LE(lines.size(), 5u);
}

}  // namespace
}  // namespace troika
