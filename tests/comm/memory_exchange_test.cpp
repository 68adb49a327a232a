// Rounds of messages in memory: what passes, and when the hub takes over. The processes are threads
// here.
#include <gtest/gtest.h>

#include "comm/local/ranks.h"
#include "comm/processes/machine_memory.h"
#include "comm/processes/memory_exchange.h"
#include "comm/transports.h"
#include "group/processes.h"
#include "support/throws.h"

namespace troika {
namespace {

class MemoryExchanges : public testing::Test {
 protected:
  // Calls body(exchange) in each process.
  template <typename Body>
  void run(int processes, Body body) {
    const TempDirectory folder;
    const auto groups = join_group(group_options(processes, folder));
    on_every_process(processes, [&](int process) {
      std::shared_ptr<Exchange> hub = groups[static_cast<size_t>(process)]->create_exchange();
      const auto memory = share_memory(*hub, std::vector<int>(static_cast<size_t>(processes)), in(20s));
      const std::shared_ptr<Exchange> exchange = exchange_in_memory(hub, memory, in(20s));
      ASSERT_TRUE(dynamic_cast<MemoryExchange*>(exchange.get()));
      body(*exchange);
      // Nobody leaves before all have found what they look for.
      groups[static_cast<size_t>(process)]->create_exchange()->all_gather("the end", "", in(20s));
    });
  }
};

TEST_F(MemoryExchanges, PassMessages) {
  run(3, [](Exchange& own) {
    for (int round = 0; round < 2000; ++round) {
      // Every hundredth is too long for memory, in one process alone.
      const size_t size = round % 100 == 99 && own.rank() == 1 ? 5000 : static_cast<size_t>(round % 40);
      const auto all = own.all_gather("a test", std::to_string(own.rank() + round) + std::string(size, 'x'), in(20s));
      ASSERT_EQ(all.size(), 3u);
      for (int rank = 0; rank < 3; ++rank) {
        const std::string& text = all[static_cast<size_t>(rank)];
        ASSERT_EQ(text.substr(0, text.find('x')), std::to_string(rank + round));
        if (rank == own.rank()) {
          ASSERT_EQ(text.size(), std::to_string(rank + round).size() + size);
        }
      }
    }
  });
}

TEST_F(MemoryExchanges, PassMessagesInTwoParts) {
  run(2, [](Exchange& own) {
    for (int round = 0; round < 100; ++round) {
      own.begin("a test", std::to_string(own.rank()), in(20s));
      EXPECT_EQ(own.end(in(20s)), (std::vector<std::string>{"0", "1"}));
    }
  });
}

TEST_F(MemoryExchanges, WaitForAProcessThatComesLate) {
  run(3, [](Exchange& own) {
    for (int late = 0; late < 3; ++late) {
      if (own.rank() == late) std::this_thread::sleep_for(250ms);  // the others have gone to the hub
      EXPECT_EQ(own.all_gather("a test", std::to_string(own.rank()), in(20s)),
                (std::vector<std::string>{"0", "1", "2"}));
      EXPECT_EQ(own.all_gather("another", std::to_string(own.rank() + late), in(20s))[2], std::to_string(2 + late));
    }
  });
}

TEST_F(MemoryExchanges, NameWhoIsLate) {
  run(3, [](Exchange& own) {
    if (own.rank() == 1) return;
    EXPECT_THROWS(Status::comm, "a test: rank 1 did not arrive within", own.all_gather("a test", "", in(300ms)));
    EXPECT_THROWS(Status::comm, "rank 1 did not arrive", own.all_gather("a test", "", in(20s)));
  });
}

TEST_F(MemoryExchanges, NameOtherCalls) {
  run(2, [](Exchange& own) {
    own.all_gather("a test", "", in(20s));
    EXPECT_THROWS(Status::comm, "calls", own.all_gather(own.rank() == 0 ? "a test" : "another", "", in(20s)));
    EXPECT_THROWS(Status::comm, "calls", own.all_gather("a test", "", in(20s)));
  });
}

TEST_F(MemoryExchanges, LearnOfAnAbort) {
  run(3, [](Exchange& own) {
    if (own.rank() == 2) return own.abort("the test has gone wrong");
    EXPECT_THROWS(Status::comm, "the test has gone wrong", own.all_gather("a test", "", in(20s)));
    EXPECT_NE(own.failure().find("the test has gone wrong"), std::string::npos);
  });
}

TEST(MachineMemory, ReachesOnlyProcessesOfItsMachine) {
  const TempDirectory folder;
  const auto groups = join_group(group_options(3, folder));
  on_every_process(3, [&](int process) {
    const auto exchange = groups[static_cast<size_t>(process)]->create_exchange();
    EXPECT_EQ(share_memory(*exchange, {0, 1, 2}, in(20s)), nullptr);
    const auto memory = share_memory(*exchange, {0, 1, 0}, in(20s));
    EXPECT_TRUE(memory->reaches({0, 2}));
    EXPECT_FALSE(memory->reaches({0, 1}));
    EXPECT_FALSE(memory->reaches({0, 1, 2}));
    exchange->all_gather("the end", "", in(20s));
  });
}

}  // namespace
}  // namespace troika
