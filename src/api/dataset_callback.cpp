// troika_dataset_create_callback: a dataset that the host reads.
#include <cstring>

#include "api/dataset_checks.h"
#include "api/host_call.h"
#include "api/structs.h"
#include "api/user_data.h"
#include "data/callback_dataset.h"

using namespace troika;
using namespace troika::api;

namespace {

constexpr const char* kCreateCallback = "troika_dataset_create_callback";
constexpr int64_t kMostClasses = int64_t{1} << 31;  // and words

void check_range(const char* field, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most)
    refuse(kCreateCallback, "source.", field, " is ", value, ", need ", least, " to ", most);
}

void check_targets(const troika_source& given) {
  check_range("classes", given.classes, 0, kMostClasses);
  if (given.label_size < 1) refuse(kCreateCallback, "source.label_size is ", given.label_size, ", need at least 1");
  if (given.value_size < 0) refuse(kCreateCallback, "source.value_size is ", given.value_size, ", need at least 0");
  if (given.classes > 0 && given.value_size > 0)
    refuse(kCreateCallback, "source.classes is ", given.classes, " and source.value_size is ", given.value_size,
           ", need 0 for one of them");
}

SampleForm read_form(const troika_source& given) {
  if (given.reserved != 0) refuse(kCreateCallback, "source.reserved is ", given.reserved, ", need 0");
  if (given.dtype != TROIKA_DTYPE_F32 && given.dtype != TROIKA_DTYPE_I32)
    refuse(kCreateCallback, "source.dtype is ", given.dtype, ", need TROIKA_DTYPE_F32, or TROIKA_DTYPE_I32 for tokens");
  const bool are_tokens = given.dtype == TROIKA_DTYPE_I32;
  SampleForm form{.shape = read_sample_shape(given.dims, given.rank, 0, kCreateCallback)};
  form.dtype = static_cast<DType>(given.dtype);
  if (given.n < kStream) refuse(kCreateCallback, "source.n is ", given.n, ", need at least 0, or -1 for a stream");
  check_range("words", given.words, are_tokens ? 1 : 0, are_tokens ? kMostClasses : 0);
  form.words = given.words;
  check_targets(given);
  form.classes = given.classes;
  form.label_size = given.classes > 0 ? given.label_size : 0;
  form.value_size = given.value_size;
  if (given.classes > 0) form.ignored = read_ignored(given.ignore_index, kCreateCallback);
  const int64_t samples = std::max<int64_t>(given.n, 1);
  count_all(samples, form.shape, kCreateCallback);
  count_all(samples, {std::max(form.label_size, form.value_size)}, kCreateCallback);
  return form;
}

// Throws what the host reports.
[[noreturn]] void fail(const troika_error& reported, int64_t returned) {
  if (reported.status == TROIKA_STOPPED) throw Stopped();
  const std::string message(reported.message, strnlen(reported.message, sizeof reported.message));
  throw Error(Status::callback,
              message.empty() ? text("dataset: the callback returned ", returned, " and left no message") : message);
}

int64_t ask(troika_read_function read, void* user, const ReadRequest& wanted) {
  troika_read_request request{};
  request.struct_size = sizeof request;
  request.n = wanted.n;
  request.indices = wanted.indices;
  request.epoch = wanted.place.epoch;
  request.first = wanted.place.first;
  request.inputs = wanted.inputs;
  request.labels = wanted.labels;
  request.values = wanted.values;
  troika_error error{};
  const int64_t n = call_host("the callback of a dataset", [&] { return read(&request, &error, user); });
  if (n < 0) fail(error, n);
  return n;
}

}  // namespace

troika_status troika_dataset_create_callback(troika_context context, const troika_source* source,
                                             troika_dataset* out_dataset, troika_error* error) {
  return guard(error, [&] {
    *required(out_dataset, kCreateCallback, "out_dataset") = nullptr;
    check_handle(context, kCreateCallback, "context");
    const auto given = read_options(required(source, kCreateCallback, "source"));
    SampleForm form = read_form(given);
    const troika_read_function read = required(given.read, kCreateCallback, "source.read");
    const auto data = std::make_shared<UserData>(given.user);
    const auto ask_host = [read, data](const ReadRequest& wanted) { return ask(read, data->data, wanted); };
    *out_dataset = make_handle(context, std::make_shared<const CallbackDataset>(std::move(form), given.n, ask_host),
                               kCreateCallback);
    data->destroy = given.user_destroy;  // a call that failed leaves the data to the caller
  });
}
