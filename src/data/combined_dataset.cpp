// Subsets, ranges and concatenations, in one numbering.
#include "data/combined_dataset.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/error.h"
#include "core/text.h"

namespace troika {
namespace {

constexpr int64_t kMostAtOnce = 1024;  // samples that one call of a source reads

void check_indexed(const Dataset& dataset) {
  if (dataset.is_stream())
    throw Error(Status::invalid_argument, "dataset: is a stream, which has no indices; need a dataset of n samples");
}

std::string form_text(const SampleForm& form) {
  return text(name_of(form.dtype), form.shape, " with ",
              form.label_size > 0   ? text(form.label_size, " labels",
                                         form.ignored ? text(" of which ", *form.ignored, " is ignored") : "")
              : form.value_size > 0 ? text(form.value_size, " values")
                                    : text("no targets"));
}

// Whether indices are i, i + 1, i + 2 ...
bool is_run(const std::vector<int64_t>& indices) {
  for (size_t i = 1; i < indices.size(); ++i)
    if (indices[i] != indices[i - 1] + 1) return false;
  return true;
}

}  // namespace

CombinedDataset::CombinedDataset(SampleForm form, Sources sources)
    : Dataset(std::move(form), sources.size), sources_(std::move(sources)) {}

CombinedDataset::Sources CombinedDataset::sources_of(const std::shared_ptr<const Dataset>& dataset) {
  check_indexed(*dataset);
  if (const auto* const combined = dynamic_cast<const CombinedDataset*>(dataset.get())) return combined->sources_;
  return {{dataset}, {0}, 0, dataset->size()};
}

std::shared_ptr<const Dataset> CombinedDataset::create(const SampleForm& form, Sources sources) {
  checked_elements(form.shape.times(sources.size), "dataset: its samples");
  checked_elements({sources.size, form.label_size}, "dataset: its labels");
  checked_elements({sources.size, form.value_size}, "dataset: its values");
  return std::shared_ptr<const Dataset>(new CombinedDataset(form, std::move(sources)));
}

std::shared_ptr<const Dataset> CombinedDataset::subset(const std::shared_ptr<const Dataset>& dataset,
                                                       std::vector<int64_t> indices) {
  check_indexed(*dataset);
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i] < 0 || indices[i] >= dataset->size())
      throw Error(Status::invalid_argument, text("dataset: indices[", i, "] is ", indices[i], ", there are ",
                                                 dataset->size(), " samples, from 0"));
  if (is_run(indices)) return range(dataset, indices.empty() ? 0 : indices[0], static_cast<int64_t>(indices.size()));
  Sources sources = sources_of(dataset);
  for (int64_t& index : indices) index = sources.place_of(index);
  sources.first = 0;
  sources.size = static_cast<int64_t>(indices.size());
  sources.places = std::make_shared<const std::vector<int64_t>>(std::move(indices));
  return create(dataset->form(), std::move(sources));
}

std::shared_ptr<const Dataset> CombinedDataset::range(const std::shared_ptr<const Dataset>& dataset, int64_t first,
                                                      int64_t count) {
  Sources sources = sources_of(dataset);
  sources.first += first;
  sources.size = count;
  return create(dataset->form(), std::move(sources));
}

std::shared_ptr<const Dataset> CombinedDataset::concat(const std::vector<std::shared_ptr<const Dataset>>& datasets) {
  SampleForm form = datasets.front()->form();
  std::vector<Sources> parts;
  Sources all;
  bool are_whole = true;
  int64_t numbered = 0;  // samples of all sources, also those that no part has
  for (size_t i = 0; i < datasets.size(); ++i) {
    SampleForm own = datasets[i]->form();
    form.words = own.words = std::max(form.words, own.words);
    form.classes = own.classes = std::max(form.classes, own.classes);
    form.is_weighted = own.is_weighted = form.is_weighted || own.is_weighted;
    if (form != own)
      throw Error(Status::invalid_argument, text("dataset: samples of datasets[", i, "] are ", form_text(own),
                                                 ", those of datasets[0] are ", form_text(form), "; need the same"));
    Sources part = sources_of(datasets[i]);
    const int64_t samples = part.begins.back() + part.datasets.back()->size();
    if (samples > std::numeric_limits<int64_t>::max() - std::max(numbered, all.size))
      throw Error(Status::invalid_argument, "dataset: the datasets have more than 2^63 - 1 samples together");
    are_whole = are_whole && part.is_range() && part.size == samples;
    for (size_t k = 0; k < part.datasets.size(); ++k) {
      all.datasets.push_back(part.datasets[k]);
      all.begins.push_back(numbered + part.begins[k]);
    }
    numbered += samples;
    all.size += part.size;
    parts.push_back(std::move(part));
  }
  if (datasets.size() == 1) return create(form, std::move(parts.front()));
  if (!are_whole) {
    std::vector<int64_t> places;
    places.reserve(static_cast<size_t>(all.size));
    size_t source = 0;
    for (const Sources& part : parts) {
      const int64_t begin = all.begins[source];
      for (int64_t sample = 0; sample < part.size; ++sample) places.push_back(begin + part.place_of(sample));
      source += part.datasets.size();
    }
    all.places = std::make_shared<const std::vector<int64_t>>(std::move(places));
  }
  return create(form, std::move(all));
}

// The source that has the sample of that number.
size_t CombinedDataset::source_at(int64_t place) const {
  const auto after = std::upper_bound(sources_.begins.begin(), sources_.begins.end(), place);
  return static_cast<size_t>(after - sources_.begins.begin()) - 1;
}

void CombinedDataset::read(const int64_t* indices, int64_t n, void* inputs, int32_t* labels, float* values) const {
  std::array<int64_t, kMostAtOnce> chunk;
  for (int64_t done = 0; done < n;) {
    const size_t source = source_at(sources_.place_of(indices[done]));
    const Dataset& dataset = *sources_.datasets[source];
    const int64_t begin = sources_.begins[source], end = begin + dataset.size();
    int64_t count = 0;
    for (; count < std::min(kMostAtOnce, n - done); ++count) {
      const int64_t place = sources_.place_of(indices[done + count]);
      if (place < begin || place >= end) break;
      chunk[static_cast<size_t>(count)] = place - begin;
    }
    dataset.read(chunk.data(), count,
                 inputs ? static_cast<std::byte*>(inputs) + static_cast<size_t>(done) * sample_bytes() : nullptr,
                 labels ? labels + done * label_size() : nullptr, values ? values + done * value_size() : nullptr);
    done += count;
  }
}

float CombinedDataset::weight_of(int64_t index) const {
  const int64_t place = sources_.place_of(index);
  const size_t source = source_at(place);
  return sources_.datasets[source]->weight_of(place - sources_.begins[source]);
}

bool CombinedDataset::is_fixed() const {
  return std::all_of(sources_.datasets.begin(), sources_.datasets.end(),
                     [](const auto& dataset) { return dataset->is_fixed(); });
}

std::optional<ByteSamples> CombinedDataset::byte_samples() const {
  if (sources_.datasets.size() != 1 || !sources_.is_range()) return std::nullopt;
  std::optional<ByteSamples> samples = sources_.datasets[0]->byte_samples();
  if (samples) samples->bytes += sources_.first * sample_elements();
  return samples;
}

}  // namespace troika
