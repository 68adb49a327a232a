// Traces of training steps, as text and in files.
#include <algorithm>

#include "api/trace_json.h"
#include "api/trainer_call.h"
#include "core/atomic_file.h"
#include "core/packed.h"
#include "train/trace_parts.h"

using namespace troika;
using namespace troika::api;

namespace {

constexpr const char* kSaveTrace = "troika_trainer_save_trace";

// Collective. The work of one process that may fail is shared before the next round.
void save_trace(const Trainer& trainer, const char* file) {
  constexpr const char* kWhat = "saving a trace";
  const Peers& peers = trainer.peers();
  std::vector<StepEvent> events;
  peers.run_in_all(kWhat, [&] {
    required(file, kSaveTrace, "file");
    events = require_events(trainer);
  });
  const ProcessClock clock = compare_clocks(peers, kWhat);
  const auto first = std::min_element(events.begin(), events.end(),
                                      [](const StepEvent& a, const StepEvent& b) { return a.begin < b.begin; });
  const auto origin = find_earliest(peers, kWhat, clock, first->begin);
  std::string part;
  peers.run_in_all(kWhat, [&] { part = print_trace_part(trainer, events, origin); });
  const std::vector<std::string> parts = gather_texts(trainer, kWhat, part);
  std::vector<ProcessClock> clocks;
  for (const std::string& error : peers.all_gather(kWhat, Packer().number(clock.error.count()).bytes()))
    clocks.push_back({{}, std::chrono::nanoseconds(Unpacker(error).number())});
  peers.write_once(kWhat, [&] { write_file_atomically("trace", file, join_trace_parts(trainer, parts, clocks)); });
}

}  // namespace

troika_status troika_trainer_trace(troika_trainer trainer, char* buffer, int64_t capacity, int64_t* out_size,
                                   troika_error* error) {
  return guard(error, [&] {
    Call call(trainer, "troika_trainer_trace");
    write_text(call.trainer.trace(), buffer, capacity, out_size, "troika_trainer_trace");
  });
}

troika_status troika_trainer_save_trace(troika_trainer trainer, const char* file, troika_error* error) {
  return guard(error, [&] {
    const Call call(trainer, kSaveTrace);
    save_trace(call.trainer, file);
  });
}
