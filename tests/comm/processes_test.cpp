// Groups whose ranks are in several processes, over Gloo and in shared memory: the same bits as on
// threads, deadlines and aborts. The processes are threads here, each with its own end of the link.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "comm/local/local_transport.h"
#include "comm/local/ranks.h"
#include "comm/processes/process_transport.h"
#include "comm/transports.h"
#include "core/float16.h"
#include "core/shared_memory.h"
#include "core/text.h"
#include "group/processes.h"

namespace troika {
namespace {

// The process of each rank, and the machine of each process, if there are several.
struct Division {
  std::vector<int> owners, nodes = {};
};

enum class Way { link, memory };  // of data between processes of a machine
constexpr Way kWays[] = {Way::link, Way::memory};
const char* name_of(Way way) { return way == Way::link ? "over the link" : "in memory"; }

// A world whose ranks are divided over processes.
class WorldOfProcesses {
 public:
  explicit WorldOfProcesses(const Division& division, Way way = Way::link)
      : processes_(*std::max_element(division.owners.begin(), division.owners.end()) + 1),
        transports_(static_cast<size_t>(processes_)) {
    groups_ = join_group(group_options(processes_, folder_));
    on_every_process(processes_, [&](int process) {
      World world{static_cast<int>(division.owners.size()), {}, false, division.owners, division.nodes};
      world.exchange = groups_[static_cast<size_t>(process)]->create_exchange();
      world.deadline = in(20s);
      world.link = connect_processes("gloo", TROIKA_PLUGIN_FOLDER, world.exchange, {"", in(20s)}, "the end of a test");
      if (world.nodes.empty()) world.nodes.resize(static_cast<size_t>(processes_));
      if (way == Way::memory) world.memory = share_memory(*world.exchange, world.nodes, in(20s));
      transports_[static_cast<size_t>(process)] = create_process_transport(world, local_transport.create(world));
    });
  }
  ~WorldOfProcesses() {
    on_every_process(processes_, [&](int process) { transports_[static_cast<size_t>(process)].reset(); });
  }

  // Returns the ends of all ranks, in the order of the group. They must end before the world.
  template <typename End, typename Create>
  std::vector<std::unique_ptr<End>> ends_of(const std::vector<int>& group, Create create) {
    std::vector<std::unique_ptr<End>> ends(group.size());
    std::mutex mutex;
    on_every_process(processes_, [&](int process) {
      auto own = (*transports_[static_cast<size_t>(process)].*create)(group);
      const std::lock_guard lock(mutex);
      for (size_t i = 0; i < own.size(); ++i)
        if (own[i]) ends[i] = std::move(own[i]);
    });
    return ends;
  }
  std::vector<std::unique_ptr<Communicator>> communicators(const std::vector<int>& group, int slots) {
    auto ends = ends_of<Communicator>(group, &Transport::create_communicators);
    for (const auto& end : ends) end->reserve(slots);
    return ends;
  }
  std::vector<std::unique_ptr<Messenger>> messengers(const std::vector<int>& group) {
    return ends_of<Messenger>(group, &Transport::create_messengers);
  }

 private:
  const TempDirectory folder_;
  const int processes_;
  std::vector<std::shared_ptr<ProcessGroup>> groups_;
  std::vector<std::unique_ptr<Transport>> transports_;
};

const std::vector<Division>& divisions() {
  static const std::vector<Division> all = {{{0, 1}},
                                            {{0, 0, 1}},
                                            {{0, 1, 1}},
                                            {{0, 1, 2}},
                                            {{0, 0, 1, 1}},
                                            {{0, 0, 0, 1}},
                                            {{0, 1, 0, 1}},
                                            {{0, 1, 2, 3, 0}},
                                            {{0, 0, 1, 1, 2, 2, 3}},
                                            {{2, 0, 1, 0, 2}},
                                            {{0, 1, 1, 1, 1, 1}},
                                            // sums within the machines first
                                            {{0, 1, 2, 3}, {0, 0, 1, 1}},
                                            {{0, 1, 2, 3, 4, 5}, {0, 0, 1, 1, 2, 2}},
                                            {{0, 0, 1, 1, 2, 2, 3, 3}, {0, 0, 1, 1}},
                                            // at once: three ranks are no node of the tree
                                            {{0, 1, 2, 3, 4, 5}, {0, 0, 0, 1, 1, 1}},
                                            {{0, 1, 2, 3}, {0, 1, 0, 1}}};
  return all;
}

std::vector<int> all_ranks(size_t n) {
  std::vector<int> ranks;
  for (size_t i = 0; i < n; ++i) ranks.push_back(static_cast<int>(i));
  return ranks;
}

// Runs a body on the ranks of a local group and of every division, and compares what each rank has
// afterwards.
template <typename Body>
void expect_the_bits_of_threads(const Body& body) {
  for (const Division& division : divisions()) {
    const size_t n = division.owners.size();
    std::vector<std::vector<float>> expected(n), found(n);
    auto on_ranks = [&](std::vector<std::vector<float>>& results) {
      return [&](Communicator& own) { results[static_cast<size_t>(own.rank())] = body(own); };
    };
    expect_no_errors(on_every_rank(static_cast<int>(n), 8, on_ranks(expected)));
    for (const Way way : kWays) {
      WorldOfProcesses world(division, way);
      const auto ends = world.communicators(all_ranks(n), 8);
      expect_no_errors(on_every_rank(ends, on_ranks(found)));
      for (size_t rank = 0; rank < n; ++rank)
        EXPECT_TRUE(expected[rank] == found[rank]) << "rank " << rank << " of " << join(division.owners, " ")
                                                  << " on machines " << join(division.nodes, " ") << ", " << name_of(way);
    }
  }
}

TEST(Processes, SumToTheBitsOfThreads) {
  expect_the_bits_of_threads([](Communicator& own) {
    std::vector<float> all;
    for (int round = 0; round < 3; ++round) {
      std::vector<std::vector<float>> data;
      for (int64_t count : {1, 100, 70'001, 0, 9, 20'000, 3})
        data.push_back(numbers(own.rank(), count, static_cast<int>(count) + round));
      for (size_t slot = 0; slot < data.size(); ++slot)
        own.start(static_cast<int>(slot), Collective::all_reduce(DType::f32, static_cast<int64_t>(data[slot].size())),
                  data[slot].data());
      own.progress();
      for (size_t slot : {3u, 0u, 6u, 2u, 1u, 5u, 4u}) own.wait(static_cast<int>(slot), in(20s));
      for (const auto& part : data) all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  });
}

TEST(Processes, SumOtherTypes) {
  expect_the_bits_of_threads([](Communicator& own) {
    std::vector<double> reals(30'000, 1.0 / (own.rank() + 3));
    std::vector<int64_t> numbers(7, int64_t{1} << (40 + own.rank()));
    own.start(0, Collective::all_reduce(DType::f64, 30'000), reals.data());
    own.start(1, Collective::all_reduce(DType::i64, 7), numbers.data());
    own.wait(0, in(20s));
    own.wait(1, in(20s));
    std::vector<float> bits(60'014);
    std::memcpy(bits.data(), reals.data(), 240'000);
    std::memcpy(bits.data() + 60'000, numbers.data(), 56);
    return bits;
  });
}

// Values of bf16 travel in 16 bits. The caller rounds the sums.
TEST(Processes, SumCompressedGradientsToTheBitsOfThreads) {
  const auto round = [](std::vector<float>& values) {
    for (float& value : values) value = float_of_bf16(bf16_of_float(value));
  };
  expect_the_bits_of_threads([&](Communicator& own) {
    std::vector<float> all;
    for (int64_t count : {5, 60'001, 0, 9'000}) {
      std::vector<float> data = numbers(own.rank(), count, static_cast<int>(count));
      round(data);
      own.start(0, Collective::all_reduce(DType::f32, count, true), data.data());
      own.wait(0, in(20s));
      round(data);
      all.insert(all.end(), data.begin(), data.end());
    }
    return all;
  });
}

// Pieces of uneven sizes, some of them empty, with owners in any order.
std::vector<OwnedBytes> pieces_of(int size) {
  std::vector<OwnedBytes> pieces;
  size_t at = 0;
  for (int i = 0; i < 2 * size + 1; ++i) {
    const size_t bytes = static_cast<size_t>((i * 37 % 11) * 400 + (i == 3 ? 50'000 : 0)) * 4;
    pieces.push_back({at, at + bytes, i * 5 % size});
    at += bytes;
  }
  return pieces;
}

TEST(Processes, GatherAndScatterPieces) {
  expect_the_bits_of_threads([](Communicator& own) {
    const std::vector<OwnedBytes> pieces = pieces_of(own.size());
    std::vector<float> data, gathered;
    for (int round = 0; round < 3; ++round) {
      data = numbers(own.rank(), static_cast<int64_t>(pieces.back().end / 4), round);
      gathered = data;
      own.start(0, Collective::reduce_scatter(pieces), data.data());
      own.start(1, Collective::all_gather(pieces), gathered.data());
      own.wait(1, in(20s));
      own.wait(0, in(20s));
      // Only an owner has the sum of a piece.
      for (const OwnedBytes& piece : pieces)
        if (piece.owner != own.rank()) std::fill(data.begin() + static_cast<ptrdiff_t>(piece.begin / 4), data.begin() + static_cast<ptrdiff_t>(piece.end / 4), 0.0f);
    }
    data.insert(data.end(), gathered.begin(), gathered.end());
    return data;
  });
}

TEST(Processes, AgreeOnFlags) {
  expect_the_bits_of_threads([](Communicator& own) {
    std::vector<float> found;
    for (int round = 0; round <= own.size(); ++round) {
      int32_t flag = own.rank() != round;
      own.start(0, Collective::all_of(), &flag);
      own.wait(0, in(20s));
      found.push_back(static_cast<float>(flag));
    }
    return found;
  });
}

// A block that other processes can map is used in place; some ranks have one.
TEST(Processes, SumDataThatProcessesShare) {
  expect_the_bits_of_threads([](Communicator& own) {
    constexpr size_t kFirst = 12;  // the data begin within the block
    const std::vector<float> first = numbers(own.rank(), 5'000, 3);
    const SharedMemory block((first.size() + kFirst) * sizeof(float));
    std::vector<float> elsewhere(first.size());
    float* const data = own.rank() % 3 == 1 ? elsewhere.data() : reinterpret_cast<float*>(block.data()) + kFirst;
    std::vector<float> found;
    for (int round = 0; round < 3; ++round) {
      std::copy(first.begin(), first.end(), data);
      own.start(0, Collective::all_reduce(DType::f32, 5'000), data);
      own.wait(0, in(20s));
      found.insert(found.end(), data, data + 5'000);
    }
    // The block ends when no rank reads it any more.
    int32_t flag = 1;
    own.start(1, Collective::all_of(), &flag);
    own.wait(1, in(20s));
    return found;
  });
}

TEST(Processes, HaveSeveralGroupsOfSomeRanks) {
  for (const Way way : kWays) {
  WorldOfProcesses world({{0, 0, 1, 1}}, way);
  const auto across = world.communicators({0, 2}, 1), others = world.communicators({3, 1}, 1),
             within = world.communicators({0, 1}, 1), all = world.communicators({0, 1, 2, 3}, 1);
  std::vector<float> sums(8);
  std::vector<std::thread> threads;
  auto sum = [&](Communicator& end, float value, float& result) {
    threads.emplace_back([&end, value, &result] {
      result = value;
      end.start(0, Collective::all_reduce(DType::f32, 1), &result);
      end.wait(0, in(20s));
    });
  };
  sum(*across[0], 1, sums[0]);
  sum(*across[1], 2, sums[1]);
  sum(*others[0], 3, sums[2]);
  sum(*others[1], 4, sums[3]);
  sum(*within[0], 5, sums[4]);
  sum(*within[1], 6, sums[5]);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sums, (std::vector<float>{3, 3, 7, 7, 11, 11, 0, 0})) << name_of(way);
  }
}

TEST(Processes, PassMessages) {
  for (const Division& division : divisions()) {
    const int n = static_cast<int>(division.owners.size());
    WorldOfProcesses world(division);
    const auto ends = world.messengers(all_ranks(division.owners.size()));
    for (const auto& own : ends)  // before any message is on its way
      for (int slot = 0; slot < 4; ++slot)
        own->reserve((own->rank() + n - 1) % n, slot, static_cast<size_t>(7 + slot * 1000) * 4);
    expect_no_errors(on_every_rank(ends, [n](Messenger& own) {
      const int next = (own.rank() + 1) % n, last = (own.rank() + n - 1) % n;
      for (int round = 0; round < 20; ++round) {
        for (int slot = 0; slot < 4; ++slot) {
          const std::vector<float> data = numbers(own.rank(), 7 + slot * 1000, round * 10 + slot);
          own.send(next, slot, data.data(), data.size() * sizeof(float), in(20s));
        }
        for (int slot = 3; slot >= 0; --slot) {
          std::vector<float> data(static_cast<size_t>(7 + slot * 1000), -1);
          own.receive(last, slot, data.data(), data.size() * sizeof(float), in(20s));
          if (data != numbers(last, 7 + slot * 1000, round * 10 + slot))
            throw Error(Status::internal, "other numbers came");
        }
      }
    }));
  }
}

TEST(Processes, EndAtTheDeadlineAndNameTheProcess) {
  WorldOfProcesses world({{0, 1, 1}});
  const auto ends = world.communicators({0, 1, 2}, 1);
  const auto errors = on_every_rank(ends, [](Communicator& own) {
    float x = 0;
    if (own.rank() == 1) return;
    own.start(0, Collective::all_reduce(DType::f32, 1), &x);
    own.wait(0, in(200ms));
  });
  EXPECT_EQ(errors[0], "comm: all_reduce 0: rank 0 of 3 waited past the deadline; process 1 has not sent its part");
  EXPECT_EQ(errors[2],
            "comm: all_reduce 0: rank 2 of 3 waited past the deadline; another rank of this process has not started it");
  ends[0]->abort("the test ends");
}

TEST(Processes, EndAtTheDeadlineInMemory) {
  WorldOfProcesses world({{0, 1, 2}}, Way::memory);
  const auto ends = world.communicators({0, 1, 2}, 2);
  const auto errors = on_every_rank(ends, [](Communicator& own) {
    float x = 0;
    if (own.rank() == 1) return;
    own.start(0, Collective::all_reduce(DType::f32, 1), &x);
    own.wait(0, in(200ms));
  });
  for (size_t rank : {0u, 2u})
    EXPECT_EQ(errors[rank], text("comm: all_reduce 0: rank ", rank,
                                 " of 3 waited past the deadline; process 1 has not sent its part"));
  // It has started, and does not do its part.
  const auto others = on_every_rank(ends, [](Communicator& own) {
    std::vector<float> x(1000);
    own.start(1, Collective::all_reduce(DType::f32, 1000), x.data());
    if (own.rank() != 1) own.wait(1, in(200ms));
  });
  for (size_t rank : {0u, 2u})
    EXPECT_EQ(others[rank], text("comm: all_reduce 1: rank ", rank,
                                 " of 3 waited past the deadline; process 1 has not done its part"));
  ends[0]->abort("the test ends");
}

TEST(Processes, RefuseOtherCollectivesInMemory) {
  WorldOfProcesses world({{0, 1}}, Way::memory);
  const auto ends = world.communicators({0, 1}, 1);
  const auto errors = on_every_rank(ends, [](Communicator& own) {
    std::vector<float> x(1000);
    own.start(0, Collective::all_reduce(DType::f32, own.rank() == 0 ? 1000 : 900), x.data());
    own.wait(0, in(5s));
  });
  EXPECT_NE(errors[0].find("rank 0 starts all_reduce of 1000 f32, others all_reduce of 900 f32"), std::string::npos) << errors[0];
  ends[0]->abort("the test ends");
}

TEST(Processes, LearnOfAnAbort) {
  for (const Way way : kWays) {
  WorldOfProcesses world({{0, 1, 2}}, way);
  const auto ends = world.communicators({0, 1, 2}, 1);
  const auto begin = Clock::now();
  const auto errors = on_every_rank(ends, [](Communicator& own) {
    float x = 0;
    if (own.rank() == 1) return own.abort("its data are gone");
    own.start(0, Collective::all_reduce(DType::f32, 1), &x);
    own.wait(0, in(20s));
  });
  for (int rank : {0, 2}) EXPECT_NE(errors[static_cast<size_t>(rank)].find("its data are gone"), std::string::npos) << errors[static_cast<size_t>(rank)];
  EXPECT_LT(Clock::now() - begin, 5s) << name_of(way);
  }
}

}  // namespace
}  // namespace troika
