// The structs of the interface that begin with `struct_size`: their defaults, and how the library
// reads and fills a caller's older or newer version of them.
#pragma once

#include <troika/troika.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "api/guard.h"

namespace troika::api {

// The name and the defaults of each struct.
template <typename Struct>
struct StructDef;

#define TROIKA_STRUCT(type, defaults)           \
  template <>                                   \
  struct StructDef<type> {                      \
    static constexpr const char* kName = #type; \
    static constexpr type kDefaults = defaults; \
  };
TROIKA_STRUCT(troika_arrays, TROIKA_ARRAYS_INIT)
TROIKA_STRUCT(troika_batch_info, TROIKA_BATCH_INFO_INIT)
TROIKA_STRUCT(troika_context_options, TROIKA_CONTEXT_OPTIONS_INIT)
TROIKA_STRUCT(troika_conv1d_options, TROIKA_CONV1D_OPTIONS_INIT)
TROIKA_STRUCT(troika_conv2d_options, TROIKA_CONV2D_OPTIONS_INIT)
TROIKA_STRUCT(troika_dataset_info, TROIKA_DATASET_INFO_INIT)
TROIKA_STRUCT(troika_dataset_options, TROIKA_DATASET_OPTIONS_INIT)
TROIKA_STRUCT(troika_device_info, TROIKA_DEVICE_INFO_INIT)
TROIKA_STRUCT(troika_forward_options, TROIKA_FORWARD_OPTIONS_INIT)
TROIKA_STRUCT(troika_group_info, TROIKA_GROUP_INFO_INIT)
TROIKA_STRUCT(troika_group_options, TROIKA_GROUP_OPTIONS_INIT)
TROIKA_STRUCT(troika_layer_info, TROIKA_LAYER_INFO_INIT)
TROIKA_STRUCT(troika_load_options, TROIKA_LOAD_OPTIONS_INIT)
TROIKA_STRUCT(troika_load_report, TROIKA_LOAD_REPORT_INIT)
TROIKA_STRUCT(troika_loader_options, TROIKA_LOADER_OPTIONS_INIT)
TROIKA_STRUCT(troika_loader_position, TROIKA_LOADER_POSITION_INIT)
TROIKA_STRUCT(troika_memory_info, TROIKA_MEMORY_INFO_INIT)
TROIKA_STRUCT(troika_metrics, TROIKA_METRICS_INIT)
TROIKA_STRUCT(troika_model_info, TROIKA_MODEL_INFO_INIT)
TROIKA_STRUCT(troika_model_options, TROIKA_MODEL_OPTIONS_INIT)
TROIKA_STRUCT(troika_parameter_group, TROIKA_PARAMETER_GROUP_INIT)
TROIKA_STRUCT(troika_parameter_info, TROIKA_PARAMETER_INFO_INIT)
TROIKA_STRUCT(troika_plan_options, TROIKA_PLAN_OPTIONS_INIT)
TROIKA_STRUCT(troika_plan_result, TROIKA_PLAN_RESULT_INIT)
TROIKA_STRUCT(troika_pool2d_options, TROIKA_POOL2D_OPTIONS_INIT)
TROIKA_STRUCT(troika_save_options, TROIKA_SAVE_OPTIONS_INIT)
TROIKA_STRUCT(troika_scores, TROIKA_SCORES_INIT)
TROIKA_STRUCT(troika_source, TROIKA_SOURCE_INIT)
TROIKA_STRUCT(troika_step_result, TROIKA_STEP_RESULT_INIT)
TROIKA_STRUCT(troika_tensor_info, TROIKA_TENSOR_INFO_INIT)
TROIKA_STRUCT(troika_trainer_info, TROIKA_TRAINER_INFO_INIT)
TROIKA_STRUCT(troika_trainer_options, TROIKA_TRAINER_OPTIONS_INIT)
TROIKA_STRUCT(troika_value_info, TROIKA_VALUE_INFO_INIT)
#undef TROIKA_STRUCT

// A size that a struct had in an earlier version of the headers.
struct EarlierSize {
  const char* name;
  uint32_t size;
};

constexpr EarlierSize kEarlierSizes[] = {
#define TROIKA_EARLIER_SIZE(type, size) {#type, size},
#include "api/earlier_sizes.def"
#undef TROIKA_EARLIER_SIZE
    {"", 0}};

template <typename Struct>
bool is_earlier_size(uint32_t size) {
  return std::any_of(std::begin(kEarlierSizes), std::end(kEarlierSizes), [&](const EarlierSize& earlier) {
    return size > 0 && earlier.size == size && StructDef<Struct>::kName == std::string_view(earlier.name);
  });
}

// Returns whether the struct has this size in some version of its header: an earlier version, this
// one, or a later one if the size is larger.
template <typename Struct>
bool is_size_of(uint32_t size) {
  return size >= sizeof(Struct) ? size <= 65536 : is_earlier_size<Struct>(size);
}

// Fills the caller's struct, `size` bytes long in the caller's version, with the defaults. Fields
// that this library does not know become 0, which is their default.
template <typename Struct>
void init_struct(Struct* out, uint32_t size) {
  if (!out || size < sizeof out->struct_size) return;
  Struct defaults = StructDef<Struct>::kDefaults;
  defaults.struct_size = size;
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &defaults, std::min<size_t>(size, sizeof(Struct)));
}

// Copies the fields of the caller's struct into a full struct of defaults. The structs of older
// callers are shorter, those of newer callers longer. NULL has all defaults.
template <typename Options>
Options read_options(const Options* given) {
  constexpr const char* kName = StructDef<Options>::kName;
  Options options = StructDef<Options>::kDefaults;
  if (!given) return options;
  if (!is_size_of<Options>(given->struct_size))
    throw Error(Status::invalid_argument, text(kName, ": struct_size is ", given->struct_size, ", need ",
                                               sizeof(Options), "; begin with the _INIT macro or the _init function"));
  // A longer struct comes from a newer header: fields that this library does not know must be 0.
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(Options); i < given->struct_size; ++i)
    if (bytes[i] != 0)
      throw Error(Status::unsupported, text(kName, ": sets a field that this version of the library (",
                                            TROIKA_VERSION_MAJOR, ".", TROIKA_VERSION_MINOR, ") does not know"));
  std::memcpy(static_cast<void*>(&options), given, std::min<size_t>(given->struct_size, sizeof(Options)));
  options.struct_size = sizeof(Options);
  return options;
}

// Returns the size of the caller's version of a result. Calls that change something check the size
// first, so that a refused struct changes nothing.
template <typename Result>
uint32_t result_size(const Result* out, const char* function, const char* argument) {
  const uint32_t size = required(out, function, argument)->struct_size;
  if (!is_size_of<Result>(size))
    throw Error(Status::invalid_argument, text(function, ": ", argument, "->struct_size is ", size, ", need ",
                                               sizeof(Result), "; begin with the _INIT macro or the _init function"));
  return size;
}

// Fills the caller's version of a result: the fields that both know, and 0 beyond. `struct_size`
// then says how many bytes were filled.
template <typename Result>
void write_result(Result* out, Result result, const char* function, const char* argument) {
  const size_t size = result_size(out, function, argument), known = std::min(size, sizeof(Result));
  result.struct_size = static_cast<uint32_t>(known);
  std::memset(static_cast<void*>(out), 0, size);
  std::memcpy(static_cast<void*>(out), &result, known);
}

}  // namespace troika::api
