// Numbers, texts and arrays for the calls of a tape.
#include "fuzz/call.h"

#include <cstring>
#include <limits>
#include <map>

#include "fuzz/calls.inc"

namespace troika::fuzz {

namespace {

constexpr int64_t kUnset = TROIKA_UNSET, kMost = std::numeric_limits<int64_t>::max();
// Numbers that no call should trust.
constexpr int64_t kHostile[] = {
    -1,        -2,       std::numeric_limits<int64_t>::min(), kMost, kUnset, 2147483647, 2147483648, int64_t{1} << 32,
    1LL << 40, 1LL << 62};
constexpr int64_t kBelowZero[] = {-1, -2, std::numeric_limits<int64_t>::min(), kUnset};

// Small numbers for a name, of which most are valid. Other names have 0 to 7.
const std::map<std::string_view, std::vector<int64_t>>& small_numbers() {
  static const std::map<std::string_view, std::vector<int64_t>> numbers{
      {"activation_budget_bytes", {0, 0, 1, 100, 1000, 100000}},
      {"batch", {4, 1, 2, 3, 8, 0, kUnset}},
      {"bucket_bytes", {1048576, 0, 64}},
      {"channel", {1, 0, 2}},
      {"classes", {4, 1, 2, 3, 0}},
      {"cpu_threads", {1, 2, kUnset}},
      {"deadline_ms", {600000, 600000, 600000, kUnset}},
      {"devices", {1, 2, 3, 4, 8}},
      {"dtype", {1, 3, 5, 2, 4, 6, 7, 8, 9, 10, 11, 12, 0, 13}},
      {"group", {-1, 0, 1}},
      {"groups", {1, 2}},
      {"hidden", {4, 1, 2, 3}},
      {"ignore_index", {kUnset, -100, 0, 1}},
      {"input_channels", {1, 2}},
      {"input_height", {28, 32, 8}},
      {"input_width", {28, 32, 8}},
      {"kind", {1, 2, 0, 3}},
      {"keep", {0, 1, 3}},
      {"label_size", {1, 4, 0, 2}},
      {"log_level", {1, 2, 3, 4, kUnset}},
      {"logical_shards", {0, 0, 1, 2, 4, 3}},
      {"loss", {1, 1, 2, 0, 3}},
      {"loss_scale_interval", {2000, 1}},
      {"memory_bytes", {141000000000, 1000, 100000}},
      {"mesh", {1, 0, 1, 2}},
      {"micro_batches", {0, 1, 2, 3}},
      {"n", {4, 8, 0, 1, 12, 5}},
      {"optimizer", {1, 2, 3, 4, 5, 6, 7, 0, 8}},
      {"option", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0}},
      {"out_channels", {2, 1, 4}},
      {"out_features", {4, 1, 2, 3}},
      {"precision", {1, 2, 3, 4}},
      {"prefetch", {0, 2, 1, 4}},
      {"rank", {1, 0, 2}},
      {"replica", {0, 1, 2}},
      {"reserved", {0, 0, 0, 1}},
      {"resize_height", {kUnset, 8, 4}},
      {"resize_width", {kUnset, 8, 4}},
      {"schedule", {1, 2, 3, 4, 5, 6, 7, 8, 9, 0}},
      {"schedule_period", {10, 0, 1, 2}},
      {"step", {-1, 0, 1, 3}},
      {"steps", {4, 1, 2, 0}},
      {"timeout_ms", {0, 1, -1, 5}},
      {"value_size", {1, 4, 0, 2}},
      {"words", {8, 4, 1, 0}},
  };
  return numbers;
}

bool is_count(std::string_view name) {
  return name == "rank" || name == "count" || name == "parts" || name == "capacity" || name == "size_bytes" ||
         name == "device_count" || name == "dataset_count" || name == "tensor_count" || name == "axis_count" ||
         name == "input_count" || name == "device_capacity";
}

// Returns one of the texts, null, or bytes of the tape.
const char* one_of(Call& call, std::initializer_list<const char*> texts) {
  const uint8_t b = call.byte();
  if (b >= 250) return nullptr;
  if (b >= 235) {
    std::string text;
    for (int i = b % 16; i > 0; --i) text.push_back(static_cast<char>(call.byte()));
    return call.keep(std::move(text));
  }
  if (b >= 233) return call.keep(std::string(5000, 'x'));
  return texts.begin()[b % texts.size()];
}

const char* make_name(Call& call) {
  const uint8_t b = call.byte();
  const std::string layer = "l" + std::to_string(b % 12);
  if (call.is("troika_model_create") && b < 220) {
    static constexpr const char* kZoo[] = {"mlp", "d2l_lenet", "char_lstm", "nope"};
    return kZoo[b % 4];
  }
  if (b < 100) return call.keep(layer);
  if (b < 180) return call.keep(layer + ".weight");
  if (b < 220) return call.keep(layer + ".bias");
  return one_of(call, {"l2.running_mean", "l2.num_batches_tracked", "l2.weight_ih_l0", "net", "a.b", "a..b", "a/b"});
}

}  // namespace

int64_t make_number(Call& call, std::string_view name) {
  const uint8_t b = call.byte();
  if (is_count(name)) {
    if (b >= 236) return kBelowZero[b % std::size(kBelowZero)];
    return call.count;
  }
  if (name == "a" || name == "b" || name == "input" || name == "value") {  // values of a model
    const auto& values = call.world().values;
    return values[values.size() - 1 - b % values.size()];
  }
  if (b >= 236) return call.reads_arrays ? kBelowZero[b % std::size(kBelowZero)] : kHostile[b % std::size(kHostile)];
  const auto found = small_numbers().find(name);
  return found == small_numbers().end() ? b % 8 : found->second[b % found->second.size()];
}

double make_double(Call& call, std::string_view name) {
  static constexpr double kDoubles[] = {0.1,   0.0,
                                        0.5,   0.9,
                                        1.0,   0.01,
                                        1e-5,  2.0,
                                        -1.0,  TROIKA_UNSET,
                                        1e308, 1e-320,
                                        4096,  std::numeric_limits<double>::quiet_NaN(),
                                        -0.0,  std::numeric_limits<double>::infinity()};
  const uint8_t b = call.byte();
  return kDoubles[name == "std" ? 4 + b % 12 : b % 16];
}

const char* make_text(Call& call, std::string_view name) {
  if (name == "path" || name == "directory")
    return one_of(call, {"a.safetensors", "b.safetensors", "c", "missing/a", "", ".", "/dev/null", "/dev/full"});
  if (name == "images_path") return one_of(call, {"train-images-idx3-ubyte", "c", "t10k-images-idx3-ubyte"});
  if (name == "labels_path") return one_of(call, {"train-labels-idx1-ubyte", "c", "t10k-labels-idx1-ubyte"});
  if (name == "split") return one_of(call, {"train", "test", "", "other"});
  if (name == "pattern") return one_of(call, {"*", "l1.*", "*.weight", "nope", "", "l?.bias"});
  if (name == "text") return one_of(call, {"cpu", "cpu:1", "cuda:0", "cpu:99999999999999999999", "cpu:-1"});
  if (name == "backends") return one_of(call, {"cpu", "cuda", "cpu,cuda", "x", "", ","});
  if (name == "log_topics") return one_of(call, {"plan=debug,comm=error", "train=info", "x=debug", "plan=", "="});
  if (name == "backend_folder" || name == "cache_folder") return one_of(call, {"/nonexistent", "relative", ""});
  if (name == "strip_prefix") return one_of(call, {"", "module.", "l1."});
  if (name == "recompute_layers" || name == "layer_cuts")
    return one_of(call, {"l1", "*", "l2,l3", "l3", "nope", ",", ""});
  return make_name(call);
}

const int64_t* make_dims(Call& call) {
  const uint8_t b = call.byte();
  call.count = b < 100 ? 1 : b < 200 ? 3 : b % 10;
  call.dims.assign(16, 1);  // a call must check a rank of 9 before it reads the sizes
  for (int64_t i = 0; i < call.count; ++i) {
    const uint8_t size = call.byte();
    call.dims[static_cast<size_t>(i)] = size < 240 ? 1 + size % 4 : size < 245 ? 0 : make_number(call, "");
  }
  int64_t elements = 1;
  for (const int64_t size : call.dims)
    if (size > 0 && elements <= kMostElements) elements *= std::min(size, kMostElements + 1);
  if (call.reads_arrays && elements > kMostElements) call.dims.assign(16, 2), call.count = 2;
  return call.dims.data();
}

const void* readable_memory(Call& call) {
  static const auto* const kMemory = [] {
    struct Memory {
      int32_t integers[65536];
      int64_t wide[32768];
      float numbers[65536];
    };
    auto* memory = new Memory;
    for (int i = 0; i < 65536; ++i) memory->integers[i] = i % 3;
    for (int i = 0; i < 32768; ++i) memory->wide[i] = i % 3;
    for (int i = 0; i < 65536; ++i) memory->numbers[i] = 0.01f * static_cast<float>(i % 100);
    return memory;
  }();
  const uint8_t b = call.byte();
  if (b >= 250) return nullptr;
  if (b % 3 == 0) return kMemory->integers;
  if (b % 3 == 1) return kMemory->numbers;
  return kMemory->wide;
}

// ---- structs ----

namespace {

int64_t elements_of(const std::vector<int64_t>& dims) {
  int64_t elements = 1;
  for (const int64_t size : dims) elements *= std::max<int64_t>(size, 0);
  return elements;
}

void begin_token(Call& call, troika_destroy_function& destroy, void*& user) {
  const uint8_t b = call.byte();
  call.token = &call.world().tokens().add();
  call.token->call = call.name();
  call.token->action = call.byte();
  call.is_token_released = b < 200;
  destroy = b < 200 ? release_token : nullptr;
  user = call.token;
}

}  // namespace

void complete(troika_arrays& s, Call& call) {
  call.reads_arrays = true;
  s.dims = call.byte() < 250 ? make_dims(call) : nullptr;
  s.rank = static_cast<int32_t>(make_number(call, "rank"));
  s.n = make_number(call, "n");
  s.target_size = make_number(call, "label_size");
  s.inputs = readable_memory(call);
  s.targets = readable_memory(call);
  begin_token(call, s.destroy, s.user);
}

void complete(troika_source& s, Call& call) {
  call.reads_arrays = true;
  s.dims = call.byte() < 250 ? make_dims(call) : nullptr;
  s.rank = static_cast<int32_t>(make_number(call, "rank"));
  s.n = make_number(call, "n");
  s.label_size = make_number(call, "label_size");
  s.value_size = make_number(call, "value_size");
  begin_token(call, s.user_destroy, s.user);
  call.token->sample = elements_of(call.dims);
  call.token->labels = s.label_size;
  call.token->values = s.value_size;
  call.token->is_stream = s.n < 0;
  s.read = call.byte() < 250 ? on_read : nullptr;
}

void complete(troika_context_options& s, Call& call) {
  begin_token(call, s.log_user_destroy, s.log_user);
  s.log = call.byte() < 200 ? on_log : nullptr;
  s.use_environment = 0;
}

void complete(troika_loader_options& s, Call& call) {
  static const std::vector<double> kWeights(4096, 1.0), kZeros(4096, 0.0), kNegative(4096, -1.0);
  const uint8_t b = call.byte();
  s.weights = b < 180 ? nullptr : b < 240 ? kWeights.data() : b < 248 ? kZeros.data() : kNegative.data();
}

void complete(troika_trainer_options& s, Call& call) {
  static const int64_t kMilestones[] = {0, 1, 5, 5, 9, -1};
  static const double kTable[] = {1.0, 0.5, 0.0, -1.0};
  static thread_local troika_parameter_group groups[2];
  if (const uint8_t b = call.byte(); b >= 128) {
    s.group_count = b % 3;
    for (troika_parameter_group& group : groups) {
      group = TROIKA_PARAMETER_GROUP_INIT;
      group.pattern = make_text(call, "pattern");
      change_field(group, call);
      if (call.byte() >= 250) group.struct_size = call.byte() % sizeof group;
    }
    s.groups = groups;
  } else {
    s.group_count = b >= 124 ? -1 : 0;
  }
  s.schedule_milestones = call.byte() < 250 ? kMilestones : nullptr;
  s.schedule_milestone_count = call.byte() % 7;
  s.schedule_table = call.byte() < 250 ? kTable : nullptr;
  s.schedule_table_count = call.byte() % 5;
  s.group = call.byte() < 200 ? nullptr : call.world().pick<troika_group>(call.byte());
}

// The other processes of a larger group never come.
void complete(troika_group_options& s, Call& call) {
  if (call.byte() < 200) {
    s.rank = 0;
    s.processes = 1;
  }
  s.connect_timeout_ms = std::min(s.connect_timeout_ms, 20);
  s.secret = call.byte() < 200 ? nullptr : "a secret";
}

void complete(troika_plan_options& s, Call& call) {
  static thread_local troika_trainer_options trainer;
  if (call.byte() < 200) return;
  trainer = TROIKA_TRAINER_OPTIONS_INIT;
  for (int i = call.byte() % 4; i > 0; --i) change_field(trainer, call);
  complete(trainer, call);
  s.trainer = &trainer;
}

}  // namespace troika::fuzz
