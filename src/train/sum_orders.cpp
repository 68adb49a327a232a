// Process 0 chooses, and all others take its order.
#include "train/sum_orders.h"

#include <algorithm>

#include "core/packed.h"
#include "core/text.h"
#include "train/step_times.h"

namespace troika {
namespace {

constexpr int kMeasuredStep = 3;  // the first steps load what kernels need
const std::vector<size_t> kNone;

std::string pack_times(const StepTimes& times) {
  Packer packed;
  packed.real(times.computation);
  packed.number(static_cast<int64_t>(times.buckets.size()));
  for (const BucketTimes& bucket : times.buckets)
    for (double time : {bucket.read, bucket.made, bucket.sum}) packed.real(time);
  return packed.bytes();
}

StepTimes unpack_times(const std::string& message) {
  Unpacker packed(message);
  StepTimes times;
  times.computation = packed.real();
  const int64_t buckets = packed.number();
  if (buckets < 0 || buckets > static_cast<int64_t>(message.size())) throw Malformed();
  times.buckets.resize(static_cast<size_t>(buckets));
  for (BucketTimes& bucket : times.buckets)
    for (double BucketTimes::* time : {&BucketTimes::read, &BucketTimes::made, &BucketTimes::sum})
      bucket.*time = packed.real();
  return times;
}

std::vector<size_t> unpack_order(const std::string& message, size_t buckets) {
  Unpacker packed(message);
  std::vector<size_t> order;
  std::vector<char> is_there(buckets, 0);
  while (!packed.is_at_end()) {
    const auto bucket = static_cast<size_t>(packed.number());
    if (bucket >= buckets || is_there[bucket]) throw Malformed();
    is_there[bucket] = 1;
    order.push_back(bucket);
  }
  if (order.size() != buckets) throw Malformed();
  return order;
}

}  // namespace

SumOrders::SumOrders(const StepLayout& layout, const LocalRanks& ranks, const Log& log) : ranks_(ranks), log_(log) {
  const Communicator* const data = ranks.first().groups().of(RankGroup::data);
  is_possible_ = layout.spec().updates_late && !ranks.is_whole() && data && data->completes_alone();
}

const std::vector<size_t>& SumOrders::find(int64_t n) const {
  const auto found = orders_.find(n);
  return found == orders_.end() ? kNone : found->second.buckets;
}

bool SumOrders::measures_next(int64_t n) { return is_possible_ && ++orders_[n].steps == kMeasuredStep; }

void SumOrders::choose(int64_t n) {
  StepTimes times;
  for (const LocalRank& local : ranks_) take_longer(times, local.replica->times());
  const std::vector<std::string> measured = ranks_.gather_texts("the times of a step", pack_times(times));
  for (const std::string& message : measured) take_longer(times, unpack_times(message));
  Packer own;
  if (ranks_.process() == 0)
    for (size_t bucket : choose_sum_order(times)) own.number(static_cast<int64_t>(bucket));
  const std::vector<std::string> chosen = ranks_.gather_texts("the order of sums", own.bytes());
  const std::vector<size_t>& order = orders_[n].buckets = unpack_order(chosen.front(), times.buckets.size());
  log_.write(LogTopic::plan, LogLevel::info,
             text("updates of batches of ", n, " are late: sums of buckets ", join(order, ", "), "; ",
                  late_step_seconds(times, order), " s per step expected"));
}

}  // namespace troika
