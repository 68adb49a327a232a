// Makes, checks and prints pipeline schedules.
#include "parallel/pipeline_schedule.h"

#include <algorithm>
#include <climits>

#include "core/error.h"
#include "core/text.h"
#include "parallel/rank_map.h"

namespace troika {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(Status::invalid_argument, "pipeline schedule: " + what);
}

void check_sizes(int ranks, int micro_batches, int chunks) {
  if (ranks < 1) refuse(text("ranks is ", ranks, ", need at least 1"));
  if (micro_batches < 1) refuse(text("micro_batches is ", micro_batches, ", need at least 1"));
  if (chunks < 1) refuse(text("chunks is ", chunks, ", need at least 1"));
  if (int64_t{ranks} * chunks > INT_MAX / 2 / micro_batches)
    refuse(text(ranks, " ranks of ", chunks, " stages run ", micro_batches, " micro-batches, need at most ", INT_MAX,
                " actions"));
}

void check_schedule(PipelineSchedule schedule, int ranks, int micro_batches, int chunks) {
  if (chunks > 1 && schedule != PipelineSchedule::interleaved)
    refuse(text("chunks is ", chunks, ", need 1, or the interleaved schedule"));
  if (schedule == PipelineSchedule::interleaved && !can_interleave(micro_batches, ranks))
    refuse(
        text("interleaved has ", micro_batches, " micro-batches over ", ranks, " ranks, needs a multiple of ", ranks));
}

// Returns the number of forwards that a rank runs before it begins to alternate. 1F1B: the number
// of ranks after it. Interleaved uses Megatron-LM's count: the first group through all chunks
// except the last, and two forwards for each rank after it. One is for the time in which a forward
// goes down to that rank, one for the time in which the gradient comes up. With one chunk this is
// 1F1B.
int warm_up_forwards(PipelineSchedule schedule, int rank, int ranks, int micro_batches, int chunks) {
  const int behind = ranks - rank - 1;
  switch (schedule) {
    case PipelineSchedule::gpipe: return micro_batches;
    case PipelineSchedule::one_f_one_b: return behind;
    case PipelineSchedule::interleaved: return chunks == 1 ? behind : 2 * behind + (chunks - 1) * ranks;
  }
  refuse(text("schedule is ", static_cast<int>(schedule), ", need 1 to 3"));
}

std::string short_name(const PipelineAction& action) {
  return text(action.phase == PipelineAction::forward ? 'F' : 'B', action.micro_batch);
}

}  // namespace

bool can_interleave(int micro_batches, int ranks) { return micro_batches % ranks == 0; }

PipelineTable make_pipeline_schedule(PipelineSchedule schedule, int ranks, int micro_batches, int chunks) {
  check_sizes(ranks, micro_batches, chunks);
  check_schedule(schedule, ranks, micro_batches, chunks);
  const int total = micro_batches * chunks;  // forwards per rank
  PipelineTable table(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    // A rank takes micro-batches in groups of `ranks`: a group through its first chunk, then
    // through its second chunk, and so on; backwards go from the last chunk to the first. With one
    // chunk, n is the micro-batch.
    const int group_size = ranks;
    auto run = [&](PipelineAction::Phase phase, int n) {
      const int group = n / group_size / chunks, chunk = n / group_size % chunks;
      const int local_chunk = phase == PipelineAction::forward ? chunk : chunks - 1 - chunk;
      table[rank].push_back({phase, group * group_size + n % group_size, stage_at(rank, local_chunk, ranks)});
    };
    const int warm_up = std::min(warm_up_forwards(schedule, rank, ranks, micro_batches, chunks), total);
    table[rank].reserve(size_t{2} * total);
    for (int n = 0; n < warm_up; ++n) run(PipelineAction::forward, n);
    for (int n = warm_up; n < total; ++n) {
      run(PipelineAction::forward, n);
      run(PipelineAction::backward, n - warm_up);
    }
    for (int n = total - warm_up; n < total; ++n) run(PipelineAction::backward, n);
  }
  return table;
}

PipelineTable make_plain_schedule(int ranks, int micro_batches, int chunks) {
  check_sizes(ranks, micro_batches, chunks);
  PipelineTable table(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    for (auto phase : {PipelineAction::forward, PipelineAction::backward})
      for (int i = 0; i < chunks; ++i) {
        const int chunk = phase == PipelineAction::forward ? i : chunks - 1 - i;
        for (int n = 0; n < micro_batches; ++n) table[rank].push_back({phase, n, stage_at(rank, chunk, ranks)});
      }
  return table;
}

std::optional<PipelineAction> input_of(const PipelineAction& action, int stages) {
  const auto& [phase, micro_batch, stage] = action;
  if (phase == PipelineAction::backward)
    return stage == stages - 1 ? PipelineAction{PipelineAction::forward, micro_batch, stage}
                               : PipelineAction{PipelineAction::backward, micro_batch, stage + 1};
  if (stage == 0) return std::nullopt;
  return PipelineAction{PipelineAction::forward, micro_batch, stage - 1};
}

std::optional<PipelineAction> reader_of(const PipelineAction& action, int stages) {
  const auto& [phase, micro_batch, stage] = action;
  if (phase == PipelineAction::forward)
    return stage == stages - 1 ? PipelineAction{PipelineAction::backward, micro_batch, stage}
                               : PipelineAction{PipelineAction::forward, micro_batch, stage + 1};
  if (stage == 0) return std::nullopt;
  return PipelineAction{PipelineAction::backward, micro_batch, stage - 1};
}

size_t index_of(const PipelineAction& action, int micro_batches) {
  const size_t row = size_t{2} * action.stage + (action.phase == PipelineAction::backward);  // [stage, phase]
  return row * micro_batches + action.micro_batch;
}

void verify_pipeline_schedule(const PipelineTable& table, int micro_batches, int chunks) {
  const int ranks = static_cast<int>(table.size());
  check_sizes(ranks, micro_batches, chunks);
  const int stages = ranks * chunks;
  auto fail = [](int rank, const std::string& what) {
    throw Error(Status::internal, text("pipeline schedule: rank ", rank, ' ', what));
  };
  constexpr int kAbsent = -1;
  std::vector<int> places(size_t{2} * stages * micro_batches, kAbsent);  // of each action in its rank's list
  auto place_of = [&](const PipelineAction& action) -> int& { return places[index_of(action, micro_batches)]; };
  for (int rank = 0; rank < ranks; ++rank)
    for (size_t i = 0; i < table[rank].size(); ++i) {
      const PipelineAction& action = table[rank][i];
      if (action.micro_batch < 0 || action.micro_batch >= micro_batches)
        fail(rank, text("runs ", name_of(action), ", there are ", micro_batches, " micro-batches"));
      if (action.stage < 0 || action.stage >= stages)
        fail(rank, text("runs ", name_of(action), ", there are ", stages, " stages"));
      if (position_of_stage(action.stage, ranks) != rank)
        fail(rank, text("runs ", name_of(action), ", which belongs to rank ", position_of_stage(action.stage, ranks)));
      int& place = place_of(action);
      if (place != kAbsent) fail(rank, text("runs ", name_of(action), " twice, as actions ", place, " and ", i));
      place = static_cast<int>(i);
    }
  for (int stage = 0; stage < stages; ++stage)
    for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
      const PipelineAction forward{PipelineAction::forward, micro_batch, stage};
      const PipelineAction backward{PipelineAction::backward, micro_batch, stage};
      for (const PipelineAction& action : {forward, backward})
        if (place_of(action) == kAbsent) fail(position_of_stage(stage, ranks), text("lacks ", name_of(action)));
      if (place_of(backward) < place_of(forward))
        fail(position_of_stage(stage, ranks),
             text("runs ", name_of(backward), " ahead of ", name_of(forward), ", for which it waits"));
    }
}

std::string name_of(const PipelineAction& action) { return text(short_name(action), " of stage ", action.stage); }

std::string print_pipeline_schedule(const PipelineTable& table) {
  std::string result;
  for (size_t rank = 0; rank < table.size(); ++rank) {
    const auto& actions = table[rank];
    const bool has_one_stage = std::all_of(actions.begin(), actions.end(),
                                           [&](const PipelineAction& a) { return a.stage == actions[0].stage; });
    result += text("rank ", rank, ':');
    for (const PipelineAction& action : actions) {
      result += ' ' + short_name(action);
      if (!has_one_stage) result += text('@', action.stage);
    }
    result += '\n';
  }
  return result;
}

}  // namespace troika
