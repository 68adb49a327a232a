// Calls the host, and checks its samples.
#include "data/callback_dataset.h"

#include "core/text.h"

namespace troika {

void CallbackDataset::read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const {
  if (n > 0) ask({n, indices, {0, 0}, inputs, labels, values}, n);
}

int64_t CallbackDataset::read_stream(const StreamPlace& place, int64_t n, void* inputs, int32_t* labels,
                                     float* values) const {
  return ask({n, nullptr, place, inputs, labels, values}, 0);
}

int64_t CallbackDataset::ask(ReadRequest request, int64_t least) const {
  if (!has_labels()) request.labels = nullptr;
  if (value_size() == 0) request.values = nullptr;
  const int64_t found = read_(request);
  if (found < least || found > request.n)
    throw Error(Status::callback, text("dataset: the callback returned ", found, " samples, was asked for ",
                                       least < request.n ? "at most " : "", request.n));
  check(request, found);
  return found;
}

void CallbackDataset::check(const ReadRequest& request, int64_t n) const {
  const SampleForm& f = form();
  const auto sample_of = [&](int64_t i) {
    return text("sample ", request.indices ? request.indices[i] : request.place.first + i);
  };
  if (f.dtype == DType::i32) {
    const auto* const tokens = static_cast<const int32_t*>(request.inputs);
    for (int64_t i = 0; i < n * sample_elements(); ++i)
      if (tokens[i] < 0 || tokens[i] >= f.words)
        throw Error(Status::callback, text("dataset: the callback wrote the token ", tokens[i], " in ",
                                           sample_of(i / sample_elements()), ", need 0 to ", f.words - 1));
  }
  for (int64_t i = 0; request.labels && i < n * label_size(); ++i) {
    const int32_t label = request.labels[i];
    if ((label >= 0 && label < f.classes) || label == f.ignored) continue;
    throw Error(Status::callback,
                text("dataset: the callback wrote the label ", label, " for ", sample_of(i / label_size()),
                     ", need 0 to ", f.classes - 1, f.ignored ? text(", or ", *f.ignored, " to be ignored") : ""));
  }
}

}  // namespace troika
