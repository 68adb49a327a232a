// Fuzzes the reader of IDX files, plain and gzipped.
#include <zlib.h>

#include <vector>

#include "fuzz/files.h"
#include "fuzz/world.h"

namespace {

std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<unsigned>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<unsigned>(packed.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) abort();
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  troika::fuzz::enter_temporary_folder();
  return 0;
}

// The first byte chooses whether the fuzzer's bytes are packed, and how long the labels are. The
// file of labels comes first.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return -1;
  static const troika_context context = [] {
    troika_context made = nullptr;
    if (troika_context_create(nullptr, &made, nullptr) != TROIKA_OK) abort();
    return made;
  }();
  const uint8_t choice = *data;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::string_view labels = bytes.substr(0, choice >> 1), images = bytes.substr(labels.size());
  troika::fuzz::write_file("labels", choice & 1 ? gzipped(labels) : std::string(labels));
  troika::fuzz::write_file("images", choice & 1 ? gzipped(images) : std::string(images));
  troika_dataset dataset = nullptr;
  troika_error error;
  const troika_status status = troika_dataset_open_idx(context, "images", "labels", nullptr, &dataset, &error);
  troika::fuzz::check_status("open_idx", status, &error);
  if ((status == TROIKA_OK) != (dataset != nullptr)) abort();
  troika_loader_options options = TROIKA_LOADER_OPTIONS_INIT;
  options.batch = 3;
  options.prefetch = 0;
  troika_loader loader = nullptr;
  if (dataset && troika_loader_create(dataset, &options, &loader, &error) == TROIKA_OK) {
    troika_batch batch = nullptr;
    troika::fuzz::check_status("next", troika_loader_next(loader, &batch, &error), &error);
  }
  troika_loader_destroy(loader);
  troika_dataset_destroy(dataset);
  return 0;
}
