// Reads records. Memory grows only with what a file has, so a false size cannot take more.
#include "data/cifar.h"

#include "core/error.h"
#include "core/text.h"
#include "data/data_file.h"

namespace troika {
namespace {

constexpr int64_t kChannels = 3, kSide = 32;
constexpr int64_t kPixels = kChannels * kSide * kSide;
constexpr int64_t kChunkRecords = 256;

// Appends the records of a file.
void append_records(const std::string& path, const CifarFormat& format, LabeledImages& images) {
  DataFile file(path, "cifar");
  const int64_t record_bytes = format.labels + kPixels;
  std::vector<uint8_t> chunk(static_cast<size_t>(kChunkRecords * record_bytes));
  int64_t records = 0, rest = 0;
  while (rest == 0) {
    const int64_t got = file.read(chunk.data(), static_cast<int64_t>(chunk.size()));
    if (got == 0) break;
    rest = got % record_bytes;
    for (int64_t at = 0; at + record_bytes <= got; at += record_bytes, ++records) {
      const uint8_t* const pixels = chunk.data() + at + format.labels;
      const int label = pixels[-1];
      if (label >= format.classes)
        file.fail(Status::corrupt, text("record ", records, " has label ", label, ", need 0 to ", format.classes - 1));
      images.labels.push_back(static_cast<uint8_t>(label));
      images.pixels.insert(images.pixels.end(), pixels, pixels + kPixels);
    }
  }
  if (rest > 0 || records == 0)
    file.fail(Status::corrupt, text("has ", records * record_bytes + rest, " bytes, need a multiple of ", record_bytes,
                                    " above 0: ", format.labels, format.labels == 1 ? " label" : " labels", " and ",
                                    kPixels, " pixels per image"));
}

}  // namespace

LabeledImages read_cifar(const std::vector<std::string>& paths, const CifarFormat& format) {
  LabeledImages images;
  for (const std::string& path : paths) append_records(path, format, images);
  images.shape = {static_cast<int64_t>(images.labels.size()), kChannels, kSide, kSide};
  return images;
}

}  // namespace troika
