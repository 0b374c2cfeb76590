// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/options.h"

#include <gtest/gtest.h>

#include "cli/tests/command.h"

namespace streamsan::cli {
namespace {

using Warnings = std::vector<std::string>;

TEST(Options, Defaults) {
  Options options;
  EXPECT_EQ(options.exitcode, 66u);
  EXPECT_EQ(options.min_severity, "latent");
  EXPECT_FALSE(options.halt_on_error);
  EXPECT_TRUE(options.follow_children);
  for (const OptionRow& row : option_rows()) {
    Options changed;
    if (row.default_value.empty()) continue;
    EXPECT_EQ(set_option(changed, row.name, row.default_value), "")
        << row.name << ": the default must be a legal value";
  }
}

TEST(Options, EnvironmentWithEverySeparator) {
  Options options;
  Warnings warnings;
  EXPECT_EQ(
      apply_environment(options, " exitcode=1:halt_on_error=1,json=/a/b.json\nverbosity=2  max_reports=9:", warnings),
      "");
  EXPECT_EQ(warnings, Warnings{});
  EXPECT_EQ(options.exitcode, 1u);
  EXPECT_TRUE(options.halt_on_error);
  EXPECT_EQ(options.json, "/a/b.json");
  EXPECT_EQ(options.verbosity, 2u);
  EXPECT_EQ(options.max_reports, 9u);
}

TEST(Options, QuotedValues) {
  Options options;
  Warnings warnings;
  EXPECT_EQ(
      apply_environment(options, "log_path='/a b:c/%p.log':json=\"/it's,/x.json\" html='/it'\"'\"'s'/y.html sarif=''",
                        warnings),
      "");
  EXPECT_EQ(options.log_path, "/a b:c/%p.log");
  EXPECT_EQ(options.json, "/it's,/x.json");
  EXPECT_EQ(options.html, "/it's/y.html");
  EXPECT_EQ(options.sarif, "");
  EXPECT_EQ(apply_environment(options, "log_path='/a b", warnings),
            "STREAMSAN_OPTIONS: a quote of log_path is not closed");
  EXPECT_EQ(warnings, Warnings{});
}

TEST(Options, WhatIsQuotedIsReadAgain) {
  for (const std::string value : {"plain", "/a b", "a:b,c", "it's", "\"", "'\"'", "", "a\nb"}) {
    Options options;
    Warnings warnings;
    EXPECT_EQ(apply_environment(options, "log_path=" + quoted_option(value) + ":exitcode=7", warnings), "") << value;
    EXPECT_EQ(options.log_path, value);
    EXPECT_EQ(options.exitcode, 7u);
  }
  EXPECT_EQ(quoted_option("plain"), "plain");
}

TEST(Options, NearestWord) {
  constexpr std::string_view kWords[] = {"run", "report"};
  EXPECT_EQ(nearest_word("rnu", kWords), "run");
  EXPECT_EQ(nearest_word("reprot", kWords), "report");
  EXPECT_EQ(nearest_word("./a.out", kWords), "");
}

TEST(Options, TheLastOneWins) {
  Options options;
  Warnings warnings;
  EXPECT_EQ(apply_environment(options, "exitcode=1:exitcode=2", warnings), "");
  EXPECT_EQ(options.exitcode, 2u);
}

TEST(Options, AnUnknownKeyIsAWarningWithTheNearestName) {
  Options options;
  Warnings warnings;
  EXPECT_EQ(apply_environment(options, "supressions=x:exitcode=3", warnings), "");
  EXPECT_EQ(warnings, (Warnings{"STREAMSAN_OPTIONS: unknown option supressions (did you mean suppressions?)"}));
  EXPECT_EQ(options.exitcode, 3u);
}

TEST(Options, AKeyThatIsLikeNoneHasNoNearestName) {
  Options options;
  Warnings warnings;
  EXPECT_EQ(apply_environment(options, "frobnicate=1:suppress=x", warnings), "");
  EXPECT_EQ(warnings, (Warnings{"STREAMSAN_OPTIONS: unknown option frobnicate",
                                "STREAMSAN_OPTIONS: unknown option suppress (did you mean suppressions?)"}));
}

TEST(Options, ValuesThatMakeNoSense) {
  Options options;
  Warnings warnings;
  EXPECT_EQ(apply_environment(options, "exitcode=many", warnings),
            "STREAMSAN_OPTIONS: exitcode=many: a number is expected");
  EXPECT_EQ(apply_environment(options, "exitcode", warnings), "STREAMSAN_OPTIONS: exitcode has no value");
  EXPECT_EQ(set_option(options, "exitcode", "-1"), "exitcode=-1: a number is expected");
  EXPECT_EQ(set_option(options, "exitcode", "99999999999"), "exitcode=99999999999: a number is expected");
  EXPECT_EQ(set_option(options, "exitcode", "256"), "exitcode=256: a number up to 255 is expected");
  EXPECT_EQ(set_option(options, "exitcode", "255"), "");
  EXPECT_EQ(set_option(options, "max_reports", "256"), "") << "others have no such limit";
  EXPECT_EQ(set_option(options, "symbolize", "maybe"), "symbolize=maybe: 0 or 1 is expected");
  EXPECT_EQ(set_option(options, "color", "blue"), "color=blue: one of auto, always, never is expected");
  EXPECT_EQ(set_option(options, "color", ""), "color=: one of auto, always, never is expected");
  EXPECT_EQ(set_option(options, "min_severity", "warning"),
            "min_severity=warning: one of error, latent, possible, note is expected");
  EXPECT_EQ(set_option(options, "host_threads", "separate"), "");
  EXPECT_EQ(set_option(options, "json", ""), "") << "an empty text is a text";
}

TEST(Options, ThePageIsWhatTheTablePrints) {
  EXPECT_TRUE(contents(STREAMSAN_OPTIONS_PAGE) == options_page())
      << STREAMSAN_OPTIONS_PAGE << " is not what options.def prints now: run `ninja options-page`";
}

}  // namespace
}  // namespace streamsan::cli
