// Helpers for tests of local groups: ranks on threads, and numbers whose sum depends on the order
// of addition.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "comm/local/local_group.h"
#include "comm/local/local_messages.h"
#include "core/text.h"

namespace troika {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

inline Deadline in(std::chrono::milliseconds time) { return Clock::now() + time; }

// Runs `body` once per member (a communicator or a messenger), each on a separate thread. Returns
// the texts of the exceptions, per member.
template <class Member, class Body>
std::vector<std::string> on_every_rank(const std::vector<std::unique_ptr<Member>>& members, const Body& body) {
  std::vector<std::string> errors(members.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < members.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(*members[rank]);
      } catch (const Error& e) {
        errors[rank] = text(e.status() == Status::comm ? "comm: " : "other: ", e.what());
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

inline std::vector<std::unique_ptr<Communicator>> create_local_communicators(int size, int slots) {
  auto communicators = LocalGroup::create_communicators(size);
  communicators[0]->reserve(slots);  // for all ranks
  return communicators;
}

inline std::vector<std::string> on_every_rank(int size, int slots, const std::function<void(Communicator&)>& body) {
  return on_every_rank(create_local_communicators(size, slots), body);
}

inline std::vector<std::string> on_every_rank(int size, const std::function<void(Messenger&)>& body) {
  return on_every_rank(LocalMessages::create_messengers(size), body);
}

inline void expect_no_errors(const std::vector<std::string>& errors) {
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

inline std::vector<float> numbers(int rank, int64_t count, int seed) {
  std::mt19937 random(static_cast<unsigned>(rank * 7919 + seed));
  std::vector<float> result(static_cast<size_t>(count));
  for (float& x : result) x = std::ldexp(static_cast<float>(random()) - 2e9f, static_cast<int>(random() % 40) - 20);
  return result;
}

}  // namespace troika
