// EXPECT_THROWS: expects that a statement throws troika::Error with a status, and with a message of
// one line that contains a text.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/error.h"

#define EXPECT_THROWS(expected_status, expected_text, ...)                                                \
  do {                                                                                                    \
    bool threw_an_error = false;                                                                          \
    try {                                                                                                 \
      (void)(__VA_ARGS__);                                                                                \
    } catch (const ::troika::Error& e) {                                                                  \
      threw_an_error = true;                                                                              \
      const std::string thrown_text = e.what(); /* a name that no caller's text has */                    \
      EXPECT_EQ(e.status(), expected_status) << thrown_text;                                              \
      EXPECT_NE(thrown_text.find(expected_text), std::string::npos) << "the message is: " << thrown_text; \
      EXPECT_EQ(thrown_text.find('\n'), std::string::npos) << thrown_text;                                \
    }                                                                                                     \
    EXPECT_TRUE(threw_an_error) << #__VA_ARGS__ << " throws nothing";                                     \
  } while (false)
