// Groups of the devices that tests run on: sums in the fixed order of ranks, other collectives, and
// lists that name one GPU twice among others.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <thread>

#include "comm/transports.h"
#include "core/text.h"
#include "equivalence/runs.h"
#include "support/throws.h"

namespace troika {
namespace {

using Devices = std::vector<DeviceId>;

bool has_many_gpus() { return !is_on_cpu() && test_devices(2)[0] != test_devices(2)[1]; }

Devices gpus(const std::vector<int>& indices) {
  Devices devices(indices.size(), test_device());
  for (size_t i = 0; i < indices.size(); ++i) devices[i].index += indices[i];
  return devices;
}

std::vector<Devices> all_lists() {
  std::vector<Devices> lists;
  for (int n : {2, 5}) lists.push_back(test_devices(n));
  if (has_many_gpus())
    for (const auto& indices : std::vector<std::vector<int>>{{0, 0, 1}, {1, 0, 2, 0, 1}})
      lists.push_back(gpus(indices));
  return lists;
}

struct Group {
  Group(const Devices& ids, int slots) {
    for (const DeviceId& id : ids) devices.push_back(test_context()->backends().open(id, {}));
    World world{static_cast<int>(devices.size()), {}, true};
    std::vector<int> ranks;
    for (const auto& device : devices) {
      ranks.push_back(static_cast<int>(ranks.size()));
      world.local.push_back({ranks.back(), device});
    }
    transport = choose_transport(world, test_context()->backends().transports()).create(world);
    ends = transport->create_communicators(ranks);
    ends[0]->reserve(slots);  // for all ranks
  }
  // Runs `body` once per rank, each on a separate thread.
  void on_every_rank(const std::function<void(Communicator&, Device&)>& body) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < ends.size(); ++i)
      threads.emplace_back([&, i] {
        try {
          devices[i]->enter_thread();
          body(*ends[i], *devices[i]);
        } catch (const Error& e) {
          ADD_FAILURE() << "rank " << i << " of " << ends.size() << ": " << e.what();
          ends[i]->abort(e.what());
        }
      });
    for (std::thread& thread : threads) thread.join();
  }

  std::vector<std::shared_ptr<Device>> devices;
  std::unique_ptr<Transport> transport;
  std::vector<std::unique_ptr<Communicator>> ends;
};

Deadline in_a_minute() { return std::chrono::steady_clock::now() + std::chrono::minutes(1); }

template <typename T>
struct OnDevice {
  OnDevice(Device& d, const std::vector<T>& values)
      : device(d), count(values.size()), buffer(d.allocate(count * sizeof(T), "a test")) {
    device.copy_from_host(data(), values.data(), count * sizeof(T));
  }
  T* data() const { return reinterpret_cast<T*>(buffer.get()); }
  std::vector<T> read() const {
    std::vector<T> values(count);
    device.copy_to_host(values.data(), data(), count * sizeof(T));
    return values;
  }
  Device& device;
  size_t count;
  Buffer buffer;
};

// Returns numbers whose sum depends on the order of addition.
std::vector<float> numbers(int rank, int64_t count, int seed) {
  std::mt19937 random(static_cast<unsigned>(rank * 7919 + seed));
  std::vector<float> result(static_cast<size_t>(count));
  for (float& x : result) x = std::ldexp(static_cast<float>(random()) - 2e9f, static_cast<int>(random() % 40) - 20);
  return result;
}

std::vector<float> sum_in_pairs(int size, int64_t count, int seed) {
  std::vector<std::vector<float>> sums;
  for (int rank = 0; rank < size; ++rank) sums.push_back(numbers(rank, count, seed));
  for (size_t half = 1; half < sums.size(); half *= 2)
    for (size_t left = 0; left + half < sums.size(); left += 2 * half)
      for (size_t i = 0; i < sums[left].size(); ++i) sums[left][i] += sums[left + half][i];
  return sums[0];
}

TEST(DeviceGroups, AddInPairsOfPairsOfRanksWithSeveralSumsInFlight) {
  const std::vector<int64_t> counts = {17, 1, 4099, 3};
  for (const Devices& ids : all_lists()) {
    const int size = static_cast<int>(ids.size()), slots = static_cast<int>(counts.size());
    std::vector<std::vector<float>> expected;
    for (int s = 0; s < slots; ++s) expected.push_back(sum_in_pairs(size, counts[static_cast<size_t>(s)], s));
    Group(ids, slots).on_every_rank([&](Communicator& c, Device& device) {
      for (int step = 0; step < 3; ++step) {
        std::vector<OnDevice<float>> data;
        for (int s = 0; s < slots; ++s) data.emplace_back(device, numbers(c.rank(), counts[static_cast<size_t>(s)], s));
        for (int s = 0; s < slots; ++s) {
          c.start(s, Collective::all_reduce(DType::f32, counts[static_cast<size_t>(s)]),
                  data[static_cast<size_t>(s)].data());
          c.progress();
        }
        for (int s : {1, 0, 3, 2}) {
          c.wait(s, in_a_minute());
          EXPECT_TRUE(data[static_cast<size_t>(s)].read() == expected[static_cast<size_t>(s)])
              << "rank " << c.rank() << " of " << size << ", step " << step << ", slot " << s;
        }
      }
    });
  }
}

// Returns whole numbers of the type, whose sums are exact in any order.
template <typename T>
void expect_exact_sums(const Devices& ids, DType dtype, T unit) {
  for (int64_t count : {1, 2, 1009}) {
    Group(ids, 1).on_every_rank([&](Communicator& c, Device& device) {
      std::vector<T> own(static_cast<size_t>(count)), expected(own.size());
      for (size_t i = 0; i < own.size(); ++i)
        for (int rank = 0; rank < c.size(); ++rank) {
          const T number = unit * static_cast<T>((i * 7 + static_cast<size_t>(rank) * 13) % 101) - unit * T{50};
          if (rank == c.rank()) own[i] = number;
          expected[i] += number;
        }
      const OnDevice<T> data(device, own);
      c.start(0, Collective::all_reduce(dtype, count), data.data());
      c.wait(0, in_a_minute());
      EXPECT_TRUE(data.read() == expected) << name_of(dtype) << " of " << count << ", rank " << c.rank();
    });
  }
}

TEST(DeviceGroups, AddDoublesAndWholeNumbersWithoutRoundingThem) {
  for (const Devices& ids : all_lists()) {
    expect_exact_sums<double>(ids, DType::f64, 1.0 + 0x1p-40);
    expect_exact_sums<int32_t>(ids, DType::i32, 1 << 20);
    expect_exact_sums<int64_t>(ids, DType::i64, (int64_t{1} << 40) + 1);
  }
}

TEST(DeviceGroups, AddWhatIsLargerThanTheirScratch) {
  for (const Devices& ids : {test_devices(8), has_many_gpus() ? gpus({0, 1, 1, 0, 2, 2, 3, 0}) : test_devices(7)}) {
    const int64_t count = 2'500'003;  // the slices of the other seven ranks are more than 8 MiB
    const std::vector<float> expected = sum_in_pairs(static_cast<int>(ids.size()), count, 1);
    Group(ids, 1).on_every_rank([&](Communicator& c, Device& device) {
      const OnDevice<float> data(device, numbers(c.rank(), count, 1));
      c.start(0, Collective::all_reduce(DType::f32, count), data.data());
      c.wait(0, in_a_minute());
      EXPECT_TRUE(data.read() == expected) << "rank " << c.rank();
    });
  }
}

// All collectives use one slot, as in a channel group.
TEST(DeviceGroups, GatherScatterAndCombineFlagsBesideASum) {
  for (const Devices& ids : all_lists()) {
    const int size = static_cast<int>(ids.size());
    const int64_t count = 1009;
    std::vector<OwnedBytes> pieces;  // two of rank 0, none of the last rank
    size_t end = 0;
    for (int owner = 0; owner < size; ++owner) {
      const size_t begin = end;
      end += owner + 1 == size ? 0 : static_cast<size_t>(10 + owner) * sizeof(float);
      pieces.push_back({begin, end, owner});
    }
    pieces.push_back({end, static_cast<size_t>(count) * sizeof(float), 0});
    const std::vector<float> sums = sum_in_pairs(size, count, 2);
    Group(ids, 2).on_every_rank([&](Communicator& c, Device& device) {
      for (int step = 0; step < 3; ++step) {
        const OnDevice<float> reduced(device, numbers(c.rank(), count, 2)), data(device, numbers(c.rank(), count, 2));
        c.start(1, Collective::all_reduce(DType::f32, count), reduced.data());
        c.start(0, Collective::reduce_scatter(pieces), data.data());
        c.wait(0, in_a_minute());
        const std::vector<float> scattered = data.read();
        for (const OwnedBytes& piece : pieces)
          for (size_t i = piece.begin / sizeof(float); piece.owner == c.rank() && i < piece.end / sizeof(float); ++i)
            ASSERT_EQ(scattered[i], sums[i]) << "rank " << c.rank() << ", element " << i;
        c.start(0, Collective::all_gather(pieces), data.data());
        c.wait(0, in_a_minute());
        EXPECT_TRUE(data.read() == sums) << "rank " << c.rank() << " of " << size << ", step " << step;
        for (int without : {size, 0, size - 1}) {
          const OnDevice<int32_t> flag(device, {c.rank() == without ? 0 : 1});
          c.start(0, Collective::all_of(), flag.data());
          c.wait(0, in_a_minute());
          EXPECT_EQ(flag.read()[0], without == size ? 1 : 0) << "rank " << c.rank() << ", without " << without;
        }
        c.wait(1, in_a_minute());
        EXPECT_TRUE(reduced.read() == sums) << "rank " << c.rank() << " of " << size << ", step " << step;
      }
    });
  }
}

TEST(DeviceGroups, EndWithCommWhereARankNeverComesOrAborts) {
  for (const Devices& ids : all_lists()) {
    Group group(ids, 1);
    group.on_every_rank([&](Communicator& c, Device& device) {
      const OnDevice<float> data(device, {1});
      if (c.rank() == 0) return;
      c.start(0, Collective::all_reduce(DType::f32, 1), data.data());
      EXPECT_THROWS(Status::comm, text("rank ", c.rank()),
                    (c.wait(0, std::chrono::steady_clock::now() + std::chrono::milliseconds(20)), 0));
    });
    group.ends[0]->abort("no more");
    group.on_every_rank([&](Communicator& c, Device&) {
      EXPECT_THROWS(Status::comm, "the group was aborted: no more", (c.wait(0, in_a_minute()), 0));
    });
  }
}

struct Listed {
  std::vector<int> indices;
  Mesh mesh;
};

// Compares with replicas that share one GPU, whose sums have the same order.
TEST(OneGpuTwiceBesideOthers, GivesTheBitsOfOneGpuAndTheNumbersOfOneDevice) {
  if (!has_many_gpus()) GTEST_SKIP() << "needs several GPUs";
  const auto batches = make_batches({16, 13, 5, 16});
  const Trained oracle = train(conv_net(), test_devices(1), momentum_options(), batches);
  for (const auto& [indices, mesh] : std::vector<Listed>{{{0, 0, 1}, {3, 1, 1}},
                                                         {{0, 0, 1}, {1, 1, 3}},
                                                         {{1, 0, 2, 0, 1}, {5, 1, 1}},
                                                         {{0, 0, 1, 0, 0, 1}, {3, 1, 2}},
                                                         {{0, 0, 1, 0, 0, 1}, {3, 2, 1}}})
    for (bool is_sharded : {false, true}) {
      TrainerOptions options = momentum_options();
      options.mesh = mesh;
      options.shards_optimizer = is_sharded;
      options.conditioning.max_norm = 1e6;  // adds sums, but changes no number
      options.bucket_bytes = 1000;          // several buckets, with several parameters each
      options.deadline_ms = 60000;
      const std::string what = text(indices.size(), " devices, mesh ", name_of(mesh), is_sharded ? ", sharded" : "");
      const Trained found = train(conv_net(), gpus(indices), options, batches);
      expect_near(oracle, found, 2e-5, what);
      EXPECT_TRUE(found == train(conv_net(), Devices(indices.size(), test_device()), options, batches)) << what;
    }
}

TEST(OneGpuTwiceBesideOthers, GivesTheBitsOfOneDeviceInLogicalShards) {
  if (!has_many_gpus()) GTEST_SKIP() << "needs several GPUs";
  TrainerOptions options = momentum_options();
  options.logical_shards = 8;
  const auto batches = make_batches({16, 31, 24, 3, 1});
  for (const auto& net : {conv_net, batch_norm_net}) {
    const Trained one = train(net(), test_devices(1), options, batches);
    for (const auto& indices : std::vector<std::vector<int>>{{0, 0, 1, 2}, {3, 0, 1, 0, 2, 3, 3, 1}})
      EXPECT_TRUE(train(net(), gpus(indices), options, batches) == one) << indices.size() << " devices";
  }
}

}  // namespace
}  // namespace troika
