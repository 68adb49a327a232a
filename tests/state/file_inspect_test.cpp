// troika_file_inspect: the text, its buffer, and its errors.
#include <troika/file.h>

#include "state/file_helpers.h"
#include "state/safetensors.h"
#include "support/temp_directory.h"

namespace troika {
namespace {

using namespace test;

class FileInspect : public testing::Test {
 protected:
  void SetUp() override {
    const float zeros[8] = {};
    SafetensorsWriter writer;
    writer.add("fc.weight", "F32", Shape{2, 3}, zeros);
    writer.add("fc.bias", "BF16", Shape{2}, zeros);
    writer.add("bn.num_batches_tracked", "I64", Shape{}, zeros);
    writer.set_metadata("step", "7");
    writer.set_metadata("format", "pt");
    writer.write(path_);
  }

  TempDirectory directory_;
  std::string path_ = (directory_.path() / "w.safetensors").string();
  troika_error error_ = {};
};

TEST_F(FileInspect, WritesSortedMetadataThenTensorsInTheOrderOfTheirData) {
  char buffer[1000];
  int64_t size = 0;
  ASSERT_EQ(troika_file_inspect(path_.c_str(), buffer, sizeof buffer, &size, &error_), TROIKA_OK) << error_.message;
  EXPECT_STREQ(buffer,
               "metadata format = pt\nmetadata step = 7\n"
               "bn.num_batches_tracked I64 []\nfc.weight F32 [2, 3]\nfc.bias BF16 [2]\n");
  EXPECT_EQ(size, static_cast<int64_t>(std::string(buffer).size()) + 1);
}

TEST_F(FileInspect, TellsTheSizeAloneAndCutsTextToASmallBuffer) {
  int64_t size = 0;
  ASSERT_EQ(troika_file_inspect(path_.c_str(), nullptr, 0, &size, nullptr), TROIKA_OK);
  std::string text(static_cast<size_t>(size), 'x');
  ASSERT_EQ(troika_file_inspect(path_.c_str(), text.data(), size, nullptr, nullptr), TROIKA_OK);
  EXPECT_EQ(text.back(), '\0');
  char small[9];
  ASSERT_EQ(troika_file_inspect(path_.c_str(), small, sizeof small, &size, nullptr), TROIKA_OK);
  EXPECT_STREQ(small, "metadata");
  EXPECT_EQ(size, static_cast<int64_t>(text.size()));
}

TEST_F(FileInspect, EscapesControlCharactersSoThatEachEntryIsOneLine) {
  SafetensorsWriter writer;
  writer.add("a\nmetadata x", "U8", Shape{1}, "x");
  writer.set_metadata("k\r", "\x1b[31m\u2028caf\u00e9");
  writer.write(path_);
  char buffer[1000];
  ASSERT_EQ(troika_file_inspect(path_.c_str(), buffer, sizeof buffer, nullptr, nullptr), TROIKA_OK);
  EXPECT_STREQ(buffer, "metadata k\\x0d = \\x1b[31m\\xe2\\x80\\xa8caf\u00e9\na\\x0ametadata x U8 [1]\n");
}

TEST_F(FileInspect, AnswersNotFoundIoCorruptAndInvalidArgument) {
  char buffer[100] = "untouched";
  int64_t size = -1;
  const auto inspect = [&](const char* path) { return troika_file_inspect(path, buffer, 100, &size, &error_); };
  EXPECT_EQ(inspect((path_ + "x").c_str()), TROIKA_ERROR_NOT_FOUND);
  EXPECT_EQ(inspect(directory_.path().string().c_str()), TROIKA_ERROR_IO);
  write_whole(path_, "not a safetensors file");
  EXPECT_EQ(inspect(path_.c_str()), TROIKA_ERROR_CORRUPT);
  EXPECT_NE(std::string(error_.message).find("is this a safetensors file?"), std::string::npos);
  EXPECT_EQ(inspect(nullptr), TROIKA_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(error_.message, "troika_file_inspect: argument 'path' is NULL");
  EXPECT_STREQ(buffer, "untouched");
  EXPECT_EQ(size, -1);
}

}  // namespace
}  // namespace troika
