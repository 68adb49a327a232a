// The simulator of pipeline schedules: ranks advance in turn, each as far as its inputs allow.
#include "parallel/pipeline_simulator.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/text.h"
#include "parallel/rank_map.h"

namespace troika {
namespace {

constexpr double kNotYet = -1;

class Simulator {
 public:
  Simulator(const PipelineTable& table, int micro_batches, const std::vector<StageCost>& stages, SendMode sends)
      : table_(table),
        stages_(stages),
        micro_batches_(micro_batches),
        sends_(sends),
        ranks_(table.size()),
        ends_(2 * stages.size() * micro_batches, kNotYet) {
    const size_t n = table.size();
    result_.busy.resize(n);
    result_.peak_activations.resize(n);
    result_.peak_activation_bytes.resize(n);
    result_.starts.resize(n);
  }

  PipelineSimulation run() {
    // A rank's times depend only on when its inputs end, not on when other ranks get their turn.
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank)
        while (advance(rank)) moved = true;
    }
    double busy = 0;
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
      if (!is_done(rank)) fail_deadlocked(rank);
      result_.total = std::max(result_.total, ranks_[rank].clock);
      busy += result_.busy[rank];
    }
    const double whole = result_.total * static_cast<double>(ranks_.size());
    result_.bubble = whole > 0 ? (whole - busy) / whole : 0;
    return std::move(result_);
  }

 private:
  struct Rank {
    size_t next = 0;          // the action that the rank runs next
    bool is_sending = false;  // that action has run; its output waits for the receiver
    double clock = 0;
    int activations = 0;
    size_t activation_bytes = 0;
  };

  bool is_done(int rank) const { return ranks_[rank].next == table_[rank].size(); }
  const PipelineAction& current(int rank) const { return table_[rank][ranks_[rank].next]; }
  int rank_of(const PipelineAction& action) const {
    return position_of_stage(action.stage, static_cast<int>(ranks_.size()));
  }
  double& end_of(const PipelineAction& action) { return ends_[index_of(action, micro_batches_)]; }

  // Runs the rank's next action. Returns false if the rank must wait.
  bool advance(int rank) {
    if (is_done(rank) || ranks_[rank].is_sending || !receive(rank)) return false;
    Rank& r = ranks_[rank];
    const PipelineAction& action = current(rank);
    const StageCost& cost = stages_[action.stage];
    const bool is_forward = action.phase == PipelineAction::forward;
    if (is_forward) {
      r.activation_bytes += cost.activation_bytes;
      result_.peak_activations[rank] = std::max(result_.peak_activations[rank], ++r.activations);
      result_.peak_activation_bytes[rank] = std::max(result_.peak_activation_bytes[rank], r.activation_bytes);
    } else {
      r.activation_bytes -= cost.activation_bytes;
      --r.activations;
    }
    const double time = is_forward ? cost.forward : cost.backward;
    result_.starts[rank].push_back(r.clock);
    result_.busy[rank] += time;
    r.clock += time;
    end_of(action) = r.clock;
    const auto reader = reader_of(action, static_cast<int>(stages_.size()));
    r.is_sending = sends_ == SendMode::blocking && reader && rank_of(*reader) != rank;
    if (!r.is_sending) ++r.next;
    return true;
  }

  // Moves the rank's clock to the arrival of its action's input. Returns false if that time is not
  // known yet.
  bool receive(int rank) {
    const PipelineAction& action = current(rank);
    const auto input = input_of(action, static_cast<int>(stages_.size()));
    if (!input) return true;
    const double end = end_of(*input);
    if (end == kNotYet) return false;
    const int source = rank_of(*input);
    if (source == rank) return true;
    Rank& receiver = ranks_[rank];
    const double transfer = stages_[std::min(input->stage, action.stage)].transfer;
    if (sends_ == SendMode::blocking) {
      // The sender waits there: it passes no action whose output has not been received.
      Rank& sender = ranks_[source];
      receiver.clock = sender.clock = std::max(receiver.clock, end) + transfer;
      sender.is_sending = false;
      ++sender.next;
    } else {
      receiver.clock = std::max(receiver.clock, end + transfer);
    }
    ++result_.messages;
    return true;
  }

  // Every rank that is not done waits for another rank that is not done: following them leads round
  // a circle.
  [[noreturn]] void fail_deadlocked(int rank) const {
    std::vector<bool> is_seen(ranks_.size());
    std::vector<int> path;
    for (; !is_seen[rank]; rank = rank_of(awaited(rank))) {
      is_seen[rank] = true;
      path.push_back(rank);
    }
    std::vector<std::string> waits;
    for (auto it = std::find(path.begin(), path.end(), rank); it != path.end(); ++it) {
      const PipelineAction other = awaited(*it);
      waits.push_back(text("rank ", *it, ranks_[*it].is_sending ? " sending from " : " at ", name_of(current(*it)),
                           " waits for ", name_of(other), " on rank ", rank_of(other)));
    }
    throw Error(Status::internal, "pipeline schedule: deadlock: " + join(waits, "; "));
  }

  PipelineAction awaited(int rank) const {
    const int stages = static_cast<int>(stages_.size());
    return ranks_[rank].is_sending ? *reader_of(current(rank), stages) : *input_of(current(rank), stages);
  }

  const PipelineTable& table_;
  const std::vector<StageCost>& stages_;
  const int micro_batches_;
  const SendMode sends_;
  std::vector<Rank> ranks_;
  std::vector<double> ends_;  // of actions, by index_of
  PipelineSimulation result_;
};

}  // namespace

PipelineSimulation simulate_pipeline(const PipelineTable& table, int micro_batches,
                                     const std::vector<StageCost>& stages, SendMode sends) {
  if (table.empty() || stages.empty() || stages.size() % table.size() != 0)
    throw Error(Status::invalid_argument, text("pipeline simulation: found ", stages.size(), " stages over ",
                                               table.size(), " ranks, needs as many on each"));
  for (size_t s = 0; s < stages.size(); ++s)
    for (double time : {stages[s].forward, stages[s].backward, stages[s].transfer})
      if (!std::isfinite(time) || time < 0)
        throw Error(Status::invalid_argument, text("pipeline simulation: stage ", s, " has a time of ", time,
                                                   ", needs a finite one of at least 0"));
  verify_pipeline_schedule(table, micro_batches, static_cast<int>(stages.size() / table.size()));
  return Simulator(table, micro_batches, stages, sends).run();
}

}  // namespace troika
