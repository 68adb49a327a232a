// Posting and waiting.
#include "train/posted_results.h"

#include <thread>
#include <utility>

#include "core/error.h"
#include "core/text.h"
#include "train/plan_ports.h"

namespace troika {

void PostedResults::make_room(const Plan& plan) {
  if (posted_[0].plan || posted_[1].plan)
    throw Error(Status::internal,
                text("device ", device_.id(), ": a plan is compiled before results have been read"));
  if (plan.result_numbers.bytes <= bytes_ && posted_[0].readback) return;
  auto first = device_.create_readback(plan.result_numbers.bytes);
  posted_[1].readback = device_.create_readback(plan.result_numbers.bytes);
  posted_[0].readback = std::move(first);
  bytes_ = plan.result_numbers.bytes;
}

void PostedResults::post(const Plan& plan, const Bases& bases, Results wants, Deadline deadline, RunResults& results) {
  Posted& earlier = posted_[turn_];
  if (wants != Results::earlier) earlier.plan = nullptr;
  if (wants == Results::none) return;
  turn_ = 1 - turn_;
  Posted& own = posted_[turn_];
  own.plan = &plan;
  own.readback->post(bases.address(plan.result_numbers), plan.result_numbers.bytes);
  Posted& wanted = wants == Results::earlier ? earlier : own;
  if (wanted.plan) take(wanted, deadline, results);
}

void PostedResults::collect(Deadline deadline, RunResults& results) {
  if (posted_[turn_].plan) take(posted_[turn_], deadline, results);
}

void PostedResults::take(Posted& posted, Deadline deadline, RunResults& results) const {
  await(posted, deadline);
  results = read_results(*std::exchange(posted.plan, nullptr), posted.readback->data());
}

void PostedResults::throw_late() const {
  throw Error(Status::comm, text("device ", device_.id(), ": its work did not end before the deadline"));
}

void PostedResults::await(const Posted& posted, Deadline deadline) const {
  constexpr int kSpins = 2000;  // a step takes from tens of microseconds to seconds: look often first, then sleep
  for (int looks = 0; !posted.readback->is_there(); ++looks) {
    groups_.check();  // throws if another rank is lost
    if (std::chrono::steady_clock::now() >= deadline) throw_late();
    if (looks < kSpins)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

}  // namespace troika
