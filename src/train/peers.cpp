// Agreement between processes.
#include "train/peers.h"

#include <zlib.h>

#include <algorithm>

#include "core/packed.h"
#include "core/stopped.h"
#include "core/text.h"
#include "train/label_weights.h"

namespace troika {

// The message of a process about a batch.
struct Peers::Message {
  int64_t rows = 0, counted = 0, stops = 0;
  int64_t has_origin = 0, epoch = 0, batch = 0, size = 0;
  int64_t label_size = 0;   // 0: no labels here
  int64_t has_weights = 0;  // labels here weigh more or less than others
  int64_t is_gathered = 0;  // on the devices: the labels are those of the whole batch
  double weight = 0;        // of the labels
  Standing standing;
  std::string order = {};  // of a loader's samples, in words
  std::string error;

  std::string encode() const {
    Packer message;
    for (int64_t number : {rows, counted, stops, has_origin, epoch, batch, size, label_size, has_weights, is_gathered})
      message.number(number);
    message.number(standing.step).real(standing.learning_rate).number(standing.settings);
    message.number(standing.has_new_values).real(standing.weight).real(weight);
    return message.text(order).text(error).bytes();
  }
  // Returns what the process has, in words.
  std::string batch_text() const {
    return has_origin ? text("batch ", batch, " of epoch ", epoch, ", of ", size, " samples ", order)
                      : std::string("a batch of its own");
  }
  static Message decode(const std::string& bytes) {
    Unpacker message(bytes);
    Message m;
    for (int64_t* number : {&m.rows, &m.counted, &m.stops, &m.has_origin, &m.epoch, &m.batch, &m.size, &m.label_size,
                            &m.has_weights, &m.is_gathered})
      *number = message.number();
    m.standing.step = message.number();
    m.standing.learning_rate = message.real();
    m.standing.settings = message.number();
    m.standing.has_new_values = message.number() != 0;
    m.standing.weight = message.real();
    m.weight = message.real();
    m.order = message.text();
    m.error = message.text();
    return m;
  }
};

namespace {

constexpr std::chrono::seconds kTimeToMeet{10};

// Returns the shares of which `process` holds a rank that `counts`.
template <typename Counts>
Division shares_of(const RankMap& map, const ShareSizes& sizes, Counts counts) {
  Division division{sizes, 0, 0};
  for (int share = 0; share < map.shares(); ++share) {
    bool has = false;
    for (int part = 0; part < map.parts(); ++part) has = has || counts(map.rank_of(share, part), part);
    if (!has) continue;
    if (division.count == 0) division.first = share;
    division.count = share - division.first + 1;
  }
  return division;
}

std::string needed_rows(const ShareSizes& sizes) {
  if (!sizes.parts.empty()) return text("those of shares ", join(sizes.parts, ", "));
  return "the same number per share, and one more on the first shares";
}

}  // namespace

Peers::Peers(const LocalDevices& local, const RankMap& map, const LocalRanks& ranks, const TrainerOptions& options)
    : exchange_(local.exchange), ranks_(ranks), ignored_(options.labels.ignored), deadline_(options.deadline_ms) {
  const ShareSizes sizes{map.shares(), options.shares};
  division_ = {sizes, 0, map.shares()};
  if (!exist()) return;
  for (int process = 0; process < exchange_->size(); ++process) {
    divisions_.push_back(shares_of(map, sizes, [&](int rank, int) { return ranks.process_of(rank) == process; }));
    led_.push_back(
        shares_of(map, sizes, [&](int rank, int part) { return part == 0 && ranks.process_of(rank) == process; }));
  }
  division_ = divisions_[static_cast<size_t>(exchange_->rank())];
}

bool Peers::agree(BatchView& view, const Turn& turn) const {
  if (!exist()) return !turn.stops;
  Message own{.rows = view.rows,
              .counted = view.counted,
              .stops = turn.stops,
              .has_origin = turn.origin != nullptr,
              .label_size = view.labels ? view.label_size : 0,
              .has_weights = view.weights != nullptr,
              .is_gathered = view.gathered != nullptr,
              .weight = view.weight,
              .standing = turn.standing,
              .error = turn.error};
  if (turn.origin) {
    own.epoch = turn.origin->at.epoch;
    own.batch = turn.origin->at.batch;
    own.size = turn.origin->size;
    own.order = name_of(turn.origin->order);
  }
  std::vector<Message> all;
  for (const std::string& bytes : all_gather(turn.what, own.encode())) all.push_back(Message::decode(bytes));
  for (size_t rank = 0; rank < all.size(); ++rank)
    if (!all[rank].error.empty()) throw Error(Status::comm, text("rank ", rank, ": ", all[rank].error));
  if (std::any_of(all.begin(), all.end(), [](const Message& message) { return message.stops != 0; })) return false;
  compare_standings(all);
  view.n = find_batch(all);
  view.first = division_.rows(view.n).begin;
  // Devices of other processes may lack the memory to keep samples.
  const auto gathered = std::find_if(all.begin(), all.end(), [](const Message& m) { return m.is_gathered != 0; });
  if (gathered == all.end()) {
    count_labels(view, all, turn.what);
  } else {
    view.counted = gathered->counted;
    view.weight = gathered->weight;
  }
  return true;
}

void Peers::compare_standings(const std::vector<Message>& all) const {
  const Standing& first = all[0].standing;
  const auto refuse = [](size_t rank, const std::string& difference) {
    throw Error(Status::mismatch, text("trainer: ", text("rank ", rank), ' ', difference));
  };
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const Standing& own = all[rank].standing;
    if (own == first) continue;
    if (own.step != first.step) refuse(rank, text("has done ", own.step, " steps, rank 0 has done ", first.step));
    if (own.learning_rate != first.learning_rate)
      refuse(rank, text("has learning rate ", own.learning_rate, ", rank 0 has ", first.learning_rate));
    if (own.settings != first.settings) refuse(rank, "has other settings than rank 0");
    if (own.weight != first.weight) refuse(rank, text("has weight ", own.weight, ", rank 0 has ", first.weight));
    refuse(rank, own.has_new_values ? "has new values of the model, written by its host; rank 0 has none"
                                    : "has no new values of the model; the host of rank 0 has written some");
  }
}

// Counts the labels of the whole batch, and their weight. A share that several processes compute
// counts once.
void Peers::count_labels(BatchView& view, const std::vector<Message>& all, const char* what) const {
  int64_t label_size = 0;
  bool have_weights = false;
  for (const Message& message : all) {
    label_size = std::max(label_size, message.label_size);
    have_weights = have_weights || message.has_weights != 0;
  }
  if (!have_weights && (!ignored_ || label_size == 0)) {
    view.counted = view.n * std::max<int64_t>(label_size, 1);
    view.weight = static_cast<double>(view.counted);
    return;
  }
  view.counted = 0;
  double weight = 0;
  bool are_simple = true;  // each process counts all its rows, or none
  for (size_t process = 0; process < all.size(); ++process) {
    are_simple = are_simple && (led_[process].count == 0 || led_[process] == divisions_[process]);
    if (led_[process].count == 0) continue;
    view.counted += all[process].counted;
    weight += all[process].weight;
  }
  view.weight = weight;
  if (are_simple) return;
  const Range led = led_[static_cast<size_t>(exchange_->rank())].rows(view.n);
  const LabelSum own = sum_of_labels(view, led, label_size, ignored_);
  view.counted = 0;
  view.weight = 0;
  for (const std::string& other : all_gather(what, Packer().number(own.counted).real(own.weight).bytes())) {
    Unpacker numbers(other);
    view.counted += numbers.number();
    view.weight += numbers.real();
  }
}

// Returns the number of samples of the whole batch, of which each process has its rows.
int64_t Peers::find_batch(const std::vector<Message>& all) const {
  const Message& first = all[0];
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const Message& other = all[rank];
    if (other.batch_text() == first.batch_text()) continue;
    throw Error(Status::mismatch,
                text("batch: rank ", rank, " has ", other.batch_text(), ", rank 0 ", first.batch_text()));
  }
  auto fits = [&](int64_t n) {
    for (size_t rank = 0; rank < all.size(); ++rank)
      if (divisions_[rank].rows(n).size() != all[rank].rows) return false;
    return true;
  };
  if (first.has_origin && fits(first.size)) return first.size;
  // The batch has a whole number of samples per share, and the first shares have one more.
  std::vector<int64_t> rows;
  for (const Message& message : all) rows.push_back(message.rows);
  if (!first.has_origin)
    for (size_t rank = 0; rank < all.size(); ++rank) {
      if (divisions_[rank].count == 0) continue;
      const Range possible = divisions_[rank].batches_of(rows[rank]);
      for (int64_t n = possible.begin; n < possible.end; ++n)
        if (fits(n)) return n;
      break;
    }
  throw Error(Status::mismatch, text("batch: the processes have ", join(rows, ", "), " samples, need ",
                                     needed_rows(division_.sizes), "; troika_trainer_divide_loader reads them"));
}

void Peers::share_values(ParameterStore& store) const {
  if (!exist()) return;
  uint32_t sum = 0;
  std::string has(store.size(), '0');  // by entry: a value
  for (size_t i = 0; i < store.size(); ++i) {
    const Parameter& entry = store.entry(i);
    if (!entry.is_initialized) continue;
    has[i] = '1';
    sum = static_cast<uint32_t>(crc32_z(sum, reinterpret_cast<const Bytef*>(entry.data.data()), entry.data.size()));
  }
  const std::string own = Packer().number(sum).text(has).bytes();
  const std::vector<std::string> all = all_gather("the values of the model", own);
  if (std::all_of(all.begin(), all.end(), [&](const std::string& other) { return other == all[0]; })) return;
  const auto values_of = [](const std::string& message) {
    Unpacker values(message);
    values.number();
    return values.text();
  };
  const std::string first = values_of(all[0]);
  for (size_t rank = 1; rank < all.size(); ++rank) {
    const std::string theirs = values_of(all[rank]);
    for (size_t i = 0; i < theirs.size(); ++i)
      if (theirs[i] > first.at(i))
        throw Error(Status::mismatch, text("parameter '", store.entry(i).name, "' has a value in rank ", rank,
                                           ", and none in rank 0, whose values all ranks take"));
  }
  std::vector<std::byte> data;
  for (size_t i = 0; i < store.size(); ++i) {
    if (first[i] == '0') continue;
    data = store.entry(i).data;
    data.resize(store.entry(i).type.bytes());
    ranks_.broadcast(0, data.data(), data.size());
    store.write(i, data.data(), data.size());
  }
}

void Peers::share_error(const char* what, const std::exception_ptr& error) const {
  if (!exist()) {
    if (error) std::rethrow_exception(error);
    return;
  }
  int64_t status = 0;  // 0: no error
  std::string reason;
  try {
    if (error) std::rethrow_exception(error);
  } catch (const Error& e) {
    status = static_cast<int64_t>(e.status());
    reason = e.what();
  } catch (const std::exception& e) {
    status = static_cast<int64_t>(Status::internal);
    reason = e.what();
  }
  const Packer own = std::move(Packer().number(status).text(reason));
  const std::vector<std::string> all = all_gather(what, own.bytes());
  if (error) std::rethrow_exception(error);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    Unpacker other(all[rank]);
    if (const int64_t theirs = other.number(); theirs != 0)
      throw Error(static_cast<Status>(theirs), text("rank ", rank, ": ", other.text()));
  }
}

void Peers::meet(const char* what) const {
  if (exist()) exchange_->all_gather(what, "", std::chrono::steady_clock::now() + kTimeToMeet);
}

void Peers::abort(const std::string& reason) const {
  if (!exist()) return;
  ranks_.abort(reason);
  exchange_->abort(reason);
}

}  // namespace troika
