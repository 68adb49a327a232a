// Tracks and events of a trace.
#include "api/trace_json.h"

#include <algorithm>

#include "api/json_text.h"
#include "core/build.h"
#include "core/machine.h"
#include "core/text.h"

namespace troika::api {
namespace {

using Moment = std::chrono::steady_clock::time_point;

double microseconds(std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1000; }

// One process of the file. Tracks are numbered from 1: first the ranks, then those of exchanges.
class TracePart {
 public:
  TracePart(const Trainer& trainer, Moment origin)
      : ranks_(trainer.ranks()), process_(ranks_.process()), origin_(origin), tracks_(static_cast<int>(ranks_.size())) {
    name("process_name", 0, text("process ", process_, " on ", host_name()));
    sort("process_sort_index", 0, process_);
  }

  // All events of the local rank at `place`.
  void add_rank(int place, int rank, const std::vector<StepEvent>& events) {
    const int track = place + 1;
    name_track(track, text("rank ", rank, ", ", ranks_.at(rank).device_id()));
    std::vector<const StepEvent*> collectives;
    for (const StepEvent& event : events) {
      if (event.rank != rank) continue;
      if (event.kind == StepEvent::collective) {
        collectives.push_back(&event);
        continue;
      }
      add(event, track);
      if (event.message >= 0) add_arrow(event, track);
    }
    std::stable_sort(collectives.begin(), collectives.end(),
                     [](const StepEvent* a, const StepEvent* b) { return a->begin < b->begin; });
    add_collectives(rank, collectives);
  }

  const std::string& text_of_events() const { return text_; }

 private:
  // Events of a track do not overlap: each collective takes the first track that is free.
  void add_collectives(int rank, const std::vector<const StepEvent*>& collectives) {
    std::vector<Moment> ends;  // by track
    const int first = tracks_ + 1;
    for (const StepEvent* collective : collectives) {
      const auto free = std::find_if(ends.begin(), ends.end(), [&](Moment end) { return end <= collective->begin; });
      const auto place = static_cast<int>(free - ends.begin());
      if (free == ends.end()) {
        name_track(first + place, text("rank ", rank, ", exchange", place > 0 ? text(' ', place + 1) : ""));
        ends.push_back(collective->end);
      } else {
        *free = collective->end;
      }
      add(*collective, first + place);
    }
    tracks_ += static_cast<int>(ends.size());
  }

  JsonObject begin(std::string_view phase, std::string_view label, int track) const {
    JsonObject event;
    event.add("ph", phase).add("name", label).add("pid", process_).add("tid", track);
    return event;
  }

  void end(const JsonObject& event) {
    if (!text_.empty()) text_ += ",\n";
    text_ += event.text().text;
  }

  void add(const StepEvent& event, int track) {
    JsonObject args;
    args.add("kind", name_of(event.kind));
    if (event.bytes > 0) args.add("bytes", event.bytes);
    if (!event.kernel.empty()) args.add("kernel", event.kernel);
    if (event.operations > 0) args.add("operations", event.operations);
    if (event.peer >= 0) args.add("peer", event.peer);
    JsonObject json = begin("X", event.name, track);
    json.add("cat", name_of(event.kind)).add("ts", microseconds(event.begin - origin_));
    json.add("dur", microseconds(event.end - event.begin)).add("args", args.text());
    end(json);
  }

  // An arrow begins and ends inside events, so it ends a nanosecond before the receive ends.
  void add_arrow(const StepEvent& event, int track) {
    const bool is_send = event.kind == StepEvent::send;
    const int from = is_send ? event.rank : event.peer, to = is_send ? event.peer : event.rank;
    const Moment at = is_send ? event.begin : std::max(event.begin, event.end - std::chrono::nanoseconds(1));
    JsonObject json = begin(is_send ? "s" : "f", "message", track);
    json.add("cat", "message").add("id", text(from, '-', to, '-', event.message)).add("ts", microseconds(at - origin_));
    if (!is_send) json.add("bp", "e");
    end(json);
  }

  void name_track(int track, const std::string& label) {
    name("thread_name", track, label);
    sort("thread_sort_index", track, sorted_++);
  }

  void name(std::string_view what, int track, const std::string& label) {
    end(begin("M", what, track).add("args", JsonObject().add("name", label).text()));
  }

  void sort(std::string_view what, int track, int index) {
    end(begin("M", what, track).add("args", JsonObject().add("sort_index", index).text()));
  }

  const LocalRanks& ranks_;
  const int process_;
  const Moment origin_;
  int tracks_;      // so far
  int sorted_ = 0;  // a rank's exchanges follow the rank
  std::string text_;
};

}  // namespace

std::string print_trace_part(const Trainer& trainer, const std::vector<StepEvent>& events, Moment origin) {
  TracePart part(trainer, origin);
  int place = 0;
  for (const LocalRank& local : trainer.ranks()) part.add_rank(place++, local.rank, events);
  return part.text_of_events();
}

std::string join_trace_parts(const Trainer& trainer, const std::vector<std::string>& parts,
                             const std::vector<ProcessClock>& clocks) {
  std::vector<double> errors;
  for (const ProcessClock& clock : clocks) errors.push_back(microseconds(clock.error));
  JsonObject other;
  other.add("library", text("troika ", TROIKA_VERSION_STRING)).add("model", trainer.model()->name());
  other.add("step", trainer.training_state().position.step).add("ranks", trainer.layout().ranks().size());
  other.add("clock_error_us", errors);
  JsonObject file;
  file.add("displayTimeUnit", "ms").add("otherData", other.text());
  file.add("traceEvents", JsonText{"[\n" + join(parts, ",\n") + "\n]"});
  return file.text().text + "\n";
}

}  // namespace troika::api
