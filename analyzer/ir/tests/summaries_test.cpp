// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Summary files: read back as written, merged into what is known, refused whole when damaged.
#include <gtest/gtest.h>

#include "analyzer/ir/text.h"

namespace streamsan::analyzer::ir {
namespace {

Program program_of(const std::string& text) {
  Program program;
  std::string error;
  EXPECT_TRUE(parse(text, program, error)) << error;
  return program;
}

Program sample() {
  return program_of(R"ir(
function "f(int)" usr "c:@F@f#I#" ; a.cu:1:6
  parameter &s stream
  local unused pointer
  fresh unused
  enqueue kernel "scale<float>" on s writes this.d ; a.cu:2:3 "kernel 'scale'" in "f(int)"
function "g" incomplete "omp parallel"
handle H::s owned nonblocking no_timing
handle H::t
)ir");
}

std::string error_of(const std::string& json) {
  Program program;
  std::string error;
  EXPECT_FALSE(read_summaries(json, program, error)) << json;
  EXPECT_TRUE(program.functions.empty() && program.fields.empty());
  EXPECT_FALSE(error.empty());
  EXPECT_EQ(error.find('\n'), std::string::npos);
  return error;
}

TEST(Summaries, ReadsWhatItWrites) {
  const std::string json = print_summaries(sample());
  Program program;
  std::string error;
  ASSERT_TRUE(read_summaries(json, program, error)) << error;
  EXPECT_EQ(print_summaries(program), json);
  const Function& f = program.functions.at("c:@F@f#I#");
  ASSERT_EQ(f.blocks.at(0).ops.size(), 1U);  // simplified
  EXPECT_EQ(f[f.blocks[0].ops[0].site].text, "kernel 'scale'");
  EXPECT_EQ(program.functions.at("g").incomplete, "omp parallel");
  EXPECT_TRUE(program.fields.at("H::s").owned);
  EXPECT_EQ(program.fields.at("H::s").stream_kind, ordering::StreamKind::NonBlocking);
  EXPECT_EQ(program.fields.at("H::s").timing, false);
  EXPECT_FALSE(program.fields.at("H::t").owned);
}

TEST(Summaries, WhatIsKnownStays) {
  Program program = program_of("function g\n  sync_device\nhandle H::s owned blocking\nhandle H::t owned\n");
  std::string error;
  ASSERT_TRUE(read_summaries(print_summaries(sample()), program, error)) << error;
  EXPECT_EQ(program.functions.size(), 2U);
  EXPECT_TRUE(program.functions.at("g").incomplete.empty());
  EXPECT_TRUE(program.fields.at("H::s").owned);
  EXPECT_EQ(program.fields.at("H::s").stream_kind, std::nullopt);  // they disagree
  EXPECT_FALSE(program.fields.at("H::t").owned);
}

TEST(Summaries, NamesThatAreNoUtf8) {
  Program program;
  program.functions["a\xff"] = {.usr = "a\xff", .name = "\xc3", .blocks = {{}}};
  Program again;
  std::string error;
  EXPECT_TRUE(read_summaries(print_summaries(program), again, error)) << error;
  EXPECT_EQ(again.functions.size(), 1U);
}

TEST(Summaries, EveryTruncationIsAnError) {
  const std::string json = print_summaries(sample());
  for (std::size_t size = 0; size + 1 < json.size(); ++size) {  // the last character is a new line
    error_of(json.substr(0, size));
  }
}

TEST(Summaries, DamageIsAnErrorOrHarmless) {
  const std::string json = print_summaries(sample());
  for (std::size_t i = 0; i < json.size(); ++i) {
    for (const char c : {'\0', '"', '{', ']', '9', '\xff', '\\'}) {
      std::string damaged = json;
      damaged[i] = c;
      Program program;
      std::string error;
      const bool read = read_summaries(damaged, program, error);
      EXPECT_EQ(read, error.empty());
    }
  }
}

TEST(Summaries, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(error_of("[]"), "not a summary of streamsan-tidy");
  EXPECT_EQ(error_of("{}"), "not a summary of streamsan-tidy");
  EXPECT_EQ(error_of(R"({"version": 3, "functions": []})"), "version 3 of summaries, this program reads version 2");
  EXPECT_EQ(error_of(R"({"version": 2, "functions": [{"usr": "f", "ir": "function f\n  sink\n"}]})"),
            "function 'f': line 2: no op or declaration of that name, at 'sink'");
  EXPECT_EQ(error_of(R"({"version": 2, "functions": [{"usr": "f", "ir": "function g\n  may_sync\n"}]})"),
            "function 'f': its text is of another function");
  EXPECT_NE(error_of(R"({"version": 2, "functions": [{"usr": 3}]})"), "");
  EXPECT_NE(error_of(R"({"version": 2, "functions": [], "fields": {"a": {"owned": "yes"}}})"), "");
  EXPECT_NE(error_of(std::string(100'000, '[')), "");
}

}  // namespace
}  // namespace streamsan::analyzer::ir
