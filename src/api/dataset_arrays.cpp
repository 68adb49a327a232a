// troika_dataset_create_from: arrays of any type, copied or borrowed.
#include <cmath>

#include "api/dataset_checks.h"
#include "api/structs.h"
#include "api/user_data.h"
#include "data/array_dataset.h"

using namespace troika;
using namespace troika::api;

namespace {

constexpr const char* kCreateFrom = "troika_dataset_create_from";

bool read_flag(int32_t value, const char* field) {
  if (value != 0 && value != 1) refuse(kCreateFrom, "arrays.", field, " is ", value, ", need 0 or 1");
  return value == 1;
}

bool is_integer(int32_t dtype) {
  return dtype == TROIKA_DTYPE_U8 || dtype == TROIKA_DTYPE_I32 || dtype == TROIKA_DTYPE_I64;
}

bool is_float(int32_t dtype) { return dtype == TROIKA_DTYPE_F32 || dtype == TROIKA_DTYPE_F64; }

void read_inputs(const troika_arrays& given, HostArrays& arrays) {
  arrays.are_tokens = read_flag(given.tokens, "tokens");
  const bool is_16_bits = given.dtype == TROIKA_DTYPE_F16 || given.dtype == TROIKA_DTYPE_BF16;
  if (arrays.are_tokens && !is_integer(given.dtype))
    refuse(kCreateFrom, "arrays.dtype is ", given.dtype,
           ", tokens need TROIKA_DTYPE_U8, TROIKA_DTYPE_I32 or TROIKA_DTYPE_I64");
  if (!is_integer(given.dtype) && !is_float(given.dtype) && !is_16_bits)
    refuse(kCreateFrom, "arrays.dtype is ", given.dtype,
           ", need a TROIKA_DTYPE of F32, F64, F16, BF16, U8, I32 or I64");
  arrays.dtype = static_cast<DType>(given.dtype);
  arrays.shape = read_sample_shape(given.dims, given.rank, 0, kCreateFrom);
  arrays.n = given.n;
  count_all(given.n, arrays.shape, kCreateFrom);
  if (given.n > 0) required(given.inputs, kCreateFrom, "arrays.inputs");
  arrays.inputs = given.inputs;
}

void read_targets(const troika_arrays& given, HostArrays& arrays) {
  if (!given.targets) return;
  if (!is_integer(given.target_dtype) && !is_float(given.target_dtype))
    refuse(kCreateFrom, "arrays.target_dtype is ", given.target_dtype,
           ", need a TROIKA_DTYPE of U8, I32 or I64 for labels, or of F32 or F64 for values");
  if (given.target_size < 1) refuse(kCreateFrom, "arrays.target_size is ", given.target_size, ", need at least 1");
  arrays.target_dtype = static_cast<DType>(given.target_dtype);
  arrays.target_size = given.target_size;
  count_all(given.n, {given.target_size}, kCreateFrom);
  arrays.targets = given.targets;
  arrays.ignored = read_ignored(given.ignore_index, kCreateFrom);
}

void read_scale(const troika_arrays& given, HostArrays& arrays) {
  if (arrays.are_tokens && (given.mean != 0 || given.std != 1))
    refuse(kCreateFrom, "arrays.mean is ", given.mean, " and arrays.std is ", given.std,
           ", tokens are no numbers and need 0 and 1");
  const auto mean = static_cast<float>(given.mean), std = static_cast<float>(given.std);
  if (!std::isfinite(mean)) refuse(kCreateFrom, "arrays.mean is ", given.mean, ", need a number that f32 can hold");
  if (!std::isfinite(std) || !(std > 0))
    refuse(kCreateFrom, "arrays.std is ", given.std, ", need a number above 0 that f32 can hold");
  arrays.mean = given.mean;
  arrays.std = given.std;
}

HostArrays read_arrays(const troika_arrays& given) {
  HostArrays arrays;
  read_inputs(given, arrays);
  read_targets(given, arrays);
  read_scale(given, arrays);
  return arrays;
}

}  // namespace

troika_status troika_dataset_create_from(troika_context context, const troika_arrays* arrays,
                                         troika_dataset* out_dataset, troika_error* error) {
  return guard(error, [&] {
    *required(out_dataset, kCreateFrom, "out_dataset") = nullptr;
    check_handle(context, kCreateFrom, "context");
    const auto given = read_options(required(arrays, kCreateFrom, "arrays"));
    HostArrays host = read_arrays(given);
    const auto data = std::make_shared<UserData>(given.user);
    if (read_flag(given.borrow, "borrow"))
      host.owner = data;
    else
      host = copy_of(host);
    *out_dataset = make_handle(context, std::make_shared<const ArrayDataset>(std::move(host)), kCreateFrom);
    data->destroy = given.destroy;  // a call that failed leaves the arrays to the caller
  });
}
