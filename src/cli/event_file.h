// An event file of TensorBoard: figures with a tag and a step, in the order in which they come.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/descriptor.h"

namespace troika::cli {

// One figure of a step.
struct Scalar {
  const char* tag;
  double value;
};

class EventFile {
 public:
  // Creates a file in this folder, and the folder. Throws Failure.
  explicit EventFile(const std::filesystem::path& folder);

  // Says that the steps from `step` on begin anew. TensorBoard then drops the figures that earlier
  // files of the folder have of these steps.
  void restart(int64_t step);

  // Writes an event with the figures that are numbers. Throws nothing: see check().
  void add(int64_t step, const std::vector<Scalar>& scalars);

  // Throws Failure if an event could not be written. Later events are then left out.
  void check() const;

 private:
  void write_event(int64_t step, std::string_view content);

  std::string path_;
  Descriptor file_;
  int error_ = 0;
};

}  // namespace troika::cli
