// Safetensors headers by hand: a valid header, and checks of errors.
#pragma once

#include <string>

#include "state/file_helpers.h"
#include "state/safetensors_header.h"

namespace troika::test {

inline const std::string kLabel = "weights file 'w.safetensors'";

inline SafetensorsHeader parse(const std::string& file) { return parse_safetensors_header(file, file.size(), kLabel); }

// Expects CORRUPT, with a message that contains the file's label and, later, `reason`.
inline void expect_refused(const std::string& file, const std::string& reason) {
  const auto error = error_of([&] { (void)parse(file); });
  ASSERT_TRUE(error) << "accepted: " << file;
  EXPECT_EQ(error->status(), Status::corrupt);
  EXPECT_EQ(std::string(error->what()).find(kLabel + ": "), 0u) << error->what();
  EXPECT_NE(std::string(error->what()).find(reason), std::string::npos) << error->what();
}

inline void expect_header_refused(const std::string& header, const std::string& reason, size_t data_bytes = 16) {
  expect_refused(safetensors_file(header, std::string(data_bytes, '\0')), reason);
}

// Returns a header with one tensor named t and these fields.
inline std::string tensor(const std::string& fields) { return "{\"t\":{" + fields + "}}"; }

inline const std::string kSound = R"({"t":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";

}  // namespace troika::test
