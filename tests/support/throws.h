// EXPECT_THROWS: a statement throws troika::Error with a status and a message that holds a text, on one line.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

#define EXPECT_THROWS(expected_status, expected_text, ...)                                        \
  do {                                                                                            \
    bool threw = false;                                                                           \
    try {                                                                                         \
      (void)(__VA_ARGS__);                                                                        \
    } catch (const ::troika::Error& e) {                                                          \
      threw = true;                                                                               \
      const std::string message = e.what();                                                       \
      EXPECT_EQ(e.status(), expected_status) << message;                                          \
      EXPECT_NE(message.find(expected_text), std::string::npos) << "the message is: " << message; \
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;                                \
    }                                                                                             \
    EXPECT_TRUE(threw) << #__VA_ARGS__ << " throws nothing";                                      \
  } while (false)
