// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/printable.h"

#include <gtest/gtest.h>

#include "report/tests/sample.h"
#include "report/text.h"

namespace streamsan::report {
namespace {

constexpr const char* kBad = "\xef\xbf\xbd";

TEST(Printable, WellFormedTextStays) {
  for (const char* text : {"", "plain", "caf\xc3\xa9", "\xe2\x82\xac \xf0\x9f\x98\x80", "\xed\x9f\xbf"}) {
    EXPECT_EQ(utf8(text), text);
    EXPECT_EQ(one_line(text), text);
  }
}

TEST(Printable, WhatIsNoUtf8IsReplaced) {
  const std::string bad = kBad;
  EXPECT_EQ(utf8("a\xff"
                 "b"),
            "a" + bad + "b");
  EXPECT_EQ(utf8("\xc3"), bad) << "cut short";
  EXPECT_EQ(utf8("\xc0\xaf"), bad + bad) << "an overlong slash";
  EXPECT_EQ(utf8("\xed\xa0\x80"), bad + bad + bad) << "half of a surrogate pair";
  EXPECT_EQ(utf8("\xf4\x90\x80\x80"), bad + bad + bad + bad) << "behind the last code point";
  EXPECT_EQ(utf8("\xef\xbf\xbf"), bad) << "XML refuses it";
  EXPECT_EQ(utf8("\xe2\x82"), bad + bad);
}

TEST(Printable, ControlCharactersDoNotEndALine) {
  EXPECT_EQ(one_line("a\nb\r\n\tc\x1b[31m\x7f"), "a b c [31m ");
  EXPECT_EQ(one_line("a\xc2\x85"
                     "b\xe2\x80\xa8"
                     "c"),
            "a b c")
      << "line ends of Unicode";
  EXPECT_EQ(one_line(std::string_view("a\0b", 3)), "a b");
}

TEST(Printable, ATextReportHasNoLineThatANameMade) {
  const std::string out = text(sample_nasty(), {});
  EXPECT_EQ(out.find("\n::"), std::string::npos) << out;
  EXPECT_EQ(out.find('\x1b'), std::string::npos) << out;
  EXPECT_EQ(utf8(out), out);
  const Finding first = sample_nasty();
  EXPECT_EQ(summary_line({.errors = 1}, &first, {}).find('\n'), std::string::npos);
}

}  // namespace
}  // namespace streamsan::report
