// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recorder's own parser (interposer/options.cpp) against the launcher's table: the same defaults, and what one
// writes the other reads.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "cli/options.h"
#include "cli/preload.h"
#include "interposer/options.h"

namespace streamsan::cli {
namespace {

recorder::Options read(const std::string& text) {
  setenv("STREAMSAN_OPTIONS", text.c_str(), 1);
  auto out = std::make_unique<recorder::Options>();
  recorder::read_options(*out);
  unsetenv("STREAMSAN_OPTIONS");
  return *out;
}

TEST(GuestOptions, DefaultsAreThoseOfTheTable) {
  Options table;
  recorder::Options guest = read("");
  EXPECT_EQ(guest.trace_path, table.trace_path);
  EXPECT_EQ(guest.stacks, table.stacks ? 1u : 0u);
  EXPECT_EQ(guest.stack_depth, table.stack_depth);
  EXPECT_EQ(guest.python_stacks, recorder::PythonStacks::Auto);
  EXPECT_EQ(table.python_stacks, "auto");
  EXPECT_EQ(guest.follow_children, table.follow_children ? 1u : 0u);
  EXPECT_EQ(guest.torch_blocks, table.torch_blocks ? 1u : 0u);
  EXPECT_EQ(guest.verbosity, table.verbosity);
  EXPECT_EQ(guest.host_guard, table.host_guard ? 1u : 0u);
  EXPECT_EQ(guest.host_guard_cost, table.host_guard_cost);
  EXPECT_EQ(guest.host_hash, table.host_hash ? 1u : 0u);
  EXPECT_EQ(guest.host_frees, table.host_frees ? 1u : 0u);
  EXPECT_EQ(guest.perturb, table.perturb);
  EXPECT_EQ(guest.perturb_seed, table.perturb_seed);
  EXPECT_EQ(guest.poison, table.poison ? 1u : 0u);
  EXPECT_EQ(guest.footprints, recorder::FootprintMode::Auto);
  EXPECT_EQ(table.footprints, "auto");
  EXPECT_EQ(guest.footprint_policy, recorder::FootprintPolicy::Needed);
  EXPECT_EQ(table.footprint_policy, "needed");
  EXPECT_EQ(guest.footprint_launches, table.footprint_launches);
  EXPECT_EQ(guest.footprint_seconds, table.footprint_seconds);
  EXPECT_EQ(guest.footprint_allowance, table.footprint_allowance);
  EXPECT_EQ(guest.footprint_share, table.footprint_share);
  EXPECT_EQ(guest.footprint_patience, table.footprint_patience);
  EXPECT_EQ(guest.footprint_memory, table.footprint_memory);
  EXPECT_EQ(guest.agent_path, table.agent_path);
  EXPECT_EQ(guest.sanitizer_library, table.sanitizer_library);
  EXPECT_EQ(guest.agent_script, table.agent_script);
  EXPECT_EQ(guest.earlier_footprints, table.earlier_footprints);
}

TEST(GuestOptions, FootprintsAreReadAsTheyAreWritten) {
  recorder::Options guest = read(
      "footprints=measured:footprint_policy=asked:footprint_launches=1:footprint_seconds=2:footprint_patience=3:"
      "footprint_allowance=5:footprint_share=6:"
      "footprint_memory=4:agent_path=/a.so:sanitizer_library=/s.so:agent_script=/x y=z");
  EXPECT_EQ(guest.footprints, recorder::FootprintMode::Measured);
  EXPECT_EQ(guest.footprint_policy, recorder::FootprintPolicy::Asked);
  EXPECT_EQ(guest.footprint_launches, 1u);
  EXPECT_EQ(guest.footprint_seconds, 2u);
  EXPECT_EQ(guest.footprint_patience, 3u);
  EXPECT_EQ(guest.footprint_allowance, 5u);
  EXPECT_EQ(guest.footprint_share, 6u);
  EXPECT_EQ(guest.footprint_memory, 4u);
  EXPECT_STREQ(guest.agent_path, "/a.so");
  EXPECT_STREQ(guest.sanitizer_library, "/s.so");
  EXPECT_STREQ(guest.agent_script, "/x");
  EXPECT_EQ(read("footprints=measured,footprints=inferred").footprints, recorder::FootprintMode::Inferred);
}

TEST(GuestOptions, QuotedValuesAreThoseOfTheLauncher) {
  for (const std::string value : {"/a b:c", "/it's", "/\"x\",y"}) {
    const recorder::Options guest = read("trace_path=" + quoted_option(value) + ",stack_depth=7");
    EXPECT_EQ(guest.trace_path, value);
    EXPECT_EQ(guest.stack_depth, 7u);
  }
  EXPECT_EQ(read("trace_path='" + std::string(2000, 'x') + "'").trace_path, Options().trace_path) << "too long";
}

TEST(GuestOptions, PythonStacksAreReadAsTheyAreWritten) {
  EXPECT_EQ(read("python_stacks=0").python_stacks, recorder::PythonStacks::Off);
  EXPECT_EQ(read("python_stacks=1").python_stacks, recorder::PythonStacks::On);
  EXPECT_EQ(read("python_stacks=0,python_stacks=auto").python_stacks, recorder::PythonStacks::Auto);
  EXPECT_EQ(read("python_stacks=2").python_stacks, recorder::PythonStacks::Auto);
}

std::string settings_of_guest(const Options& options) {
  constexpr std::string_view kName = "STREAMSAN_OPTIONS=";
  for (const std::string& entry : guest_environment(options, "/lib.so", {}, "/traces"))
    if (entry.starts_with(kName)) return entry.substr(kName.size());
  return {};
}

template <class Value>
void set_if_text(Value& value) {
  if constexpr (std::is_same_v<Value, std::string>) value = "other";
}

/// The recorder's options, each text with another value than the default's. Returns their names.
std::vector<std::string> set_texts_of_guest(Options& options) {
  std::vector<std::string> names;
#define SS_OPTION(type, name, default_value, where, description) \
  if ((where) & Guest) {                                         \
    names.emplace_back(#name);                                   \
    set_if_text(options.name);                                   \
  }
#include "cli/options.def"
#undef SS_OPTION
  return names;
}

TEST(GuestOptions, EachIsHandedToTheProgram) {
  Options options;
  const std::vector<std::string> names = set_texts_of_guest(options);
  const std::string settings = ":" + settings_of_guest(options);
  for (const std::string& name : names)
    EXPECT_NE(settings.find(":" + name + "="), std::string::npos) << name << " is not in " << settings;
  EXPECT_GT(names.size(), 20u);
}

TEST(GuestOptions, WordsOfTheCommandLineAreThoseOfTheProgram) {
  Options options;
  options.host_threads = "strict";
  options.python_stacks = "0";
  const recorder::Options guest = read(settings_of_guest(options));
  EXPECT_EQ(guest.host_threads, recorder::HostThreads::Strict);
  EXPECT_EQ(guest.python_stacks, recorder::PythonStacks::Off);
  EXPECT_STREQ(guest.trace_path, "/traces/%p.trace") << "the launcher's word is the last";
}

TEST(GuestOptions, WhatMakesNoSenseLeavesTheDefaultAndNumbersAreCut) {
  recorder::Options guest =
      read("footprints=exact,footprint_policy=,footprint_seconds=ten,footprint_patience=99999999");
  EXPECT_EQ(guest.footprints, recorder::FootprintMode::Auto);
  EXPECT_EQ(guest.footprint_policy, recorder::FootprintPolicy::Needed);
  EXPECT_EQ(guest.footprint_seconds, 20u);
  EXPECT_EQ(guest.footprint_patience, recorder::kMostFootprintPatience);
}

}  // namespace
}  // namespace streamsan::cli
