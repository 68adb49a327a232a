// Datasets of all kinds: description and destruction.
#include "api/dataset_checks.h"
#include "api/structs.h"

using namespace troika;
using namespace troika::api;

troika_status troika_dataset_describe(troika_dataset dataset, troika_dataset_info* out_info, troika_error* error) {
  constexpr const char* kFunction = "troika_dataset_describe";
  return guard(error, [&] {
    const auto object = object_of(dataset, kFunction, "dataset");
    const Dataset& described = *object->dataset;
    troika_dataset_info info = {};
    info.rank = described.sample_shape().rank();
    info.n = described.size();
    write_dims(described.sample_shape(), info.dims);
    info.classes = described.classes();
    info.label_size = described.label_size();
    info.words = described.form().words;
    info.dtype = static_cast<int32_t>(described.form().dtype);
    write_result(out_info, info, kFunction, "out_info");
  });
}

void troika_dataset_destroy(troika_dataset dataset) { destroy_handle(dataset); }
