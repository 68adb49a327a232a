// Tests of the ledger of a kernel's scratch.
#include "device/scratch.h"

#include <gtest/gtest.h>

namespace troika {
namespace {

TEST(ScratchLedger, BooksPartsOneAfterTheOtherAtMultiplesOfTheAlignment) {
  ScratchLedger scratch(64);
  EXPECT_EQ(scratch.take(1), 0u);
  EXPECT_EQ(scratch.take(64), 64u);
  EXPECT_EQ(scratch.take_floats(17), 128u);
  EXPECT_EQ(scratch.take(256), 256u);
  EXPECT_EQ(scratch.bytes(), 512u);
}

TEST(ScratchLedger, TakesNoRoomForAnEmptyPart) {
  ScratchLedger scratch(256);
  EXPECT_EQ(scratch.bytes(), 0u);
  EXPECT_EQ(scratch.take(0), 0u);
  EXPECT_EQ(scratch.take_floats(1), 0u);
  EXPECT_EQ(scratch.bytes(), 256u);
}

}  // namespace
}  // namespace troika
