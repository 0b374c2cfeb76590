// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Against a small program built with -g (symbolizer_guest.cpp), with every tool that is installed.
#include "judge/symbolizer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>

#include "judge/build_id.h"

namespace streamsan::judge {
namespace {

/// What the guest prints: the return address of a call in inner(), inlined into outer(), relative to its load bias, and
/// the lines of both calls.
struct Guest {
  unsigned long long offset = 0;
  unsigned inner_line = 0;
  unsigned outer_line = 0;
};

Guest run_guest() {
  Guest guest;
  std::FILE* pipe = popen(STREAMSAN_SYMBOLIZER_GUEST, "r");
  if (!pipe) return guest;
  EXPECT_EQ(std::fscanf(pipe, "%llx %u %u", &guest.offset, &guest.inner_line, &guest.outer_line), 3);
  pclose(pipe);
  return guest;
}

std::vector<std::string> tools() {
  std::vector<std::string> out;
  for (const char* tool : {"/usr/bin/addr2line", "/usr/bin/llvm-symbolizer", "/usr/bin/llvm-symbolizer-22"}) {
    if (access(tool, X_OK) == 0) out.emplace_back(tool);
  }
  return out;
}

TEST(Symbolizer, NamesInlinedFramesWithFileAndLine) {
  Guest guest = run_guest();
  std::uint64_t offset = guest.offset;
  ASSERT_FALSE(tools().empty()) << "binutils or llvm is needed for this test";
  for (const std::string& tool : tools()) {
    SCOPED_TRACE(tool);
    Symbolizer symbolizer({.enabled = true, .tool = tool});
    symbolizer.want(STREAMSAN_SYMBOLIZER_GUEST, offset);
    std::vector<report::Frame> frames = symbolizer.frames(STREAMSAN_SYMBOLIZER_GUEST, offset, 0x1234);
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[0].function, "guest::inner(int)");
    EXPECT_TRUE(frames[0].file.ends_with("symbolizer_guest.cpp")) << frames[0].file;
    EXPECT_EQ(frames[0].line, guest.inner_line);
    EXPECT_EQ(frames[1].function, "guest::outer(int)");
    EXPECT_EQ(frames[1].line, guest.outer_line);
    EXPECT_EQ(frames[1].address, 0x1234u);
    EXPECT_EQ(frames[1].offset, offset);
    EXPECT_EQ(frames[1].module, STREAMSAN_SYMBOLIZER_GUEST);
    EXPECT_EQ(symbolizer.problem(), "");
  }
}

TEST(Symbolizer, SeveralAddressesAtOnceKeepTheirOrder) {
  std::uint64_t offset = run_guest().offset;
  for (const std::string& tool : tools()) {
    SCOPED_TRACE(tool);
    Symbolizer symbolizer({.enabled = true, .tool = tool});
    for (std::uint64_t wrong : {std::uint64_t{1}, std::uint64_t{0xffffff0}})
      symbolizer.want(STREAMSAN_SYMBOLIZER_GUEST, wrong);
    symbolizer.want(STREAMSAN_SYMBOLIZER_GUEST, offset);
    EXPECT_EQ(symbolizer.frames(STREAMSAN_SYMBOLIZER_GUEST, offset, 0)[0].function, "guest::inner(int)");
    // Tools differ in what they say about an address outside of all code, but not on the file.
    EXPECT_EQ(symbolizer.frames(STREAMSAN_SYMBOLIZER_GUEST, 0xffffff0, 0)[0].file, "");
  }
}

void expect_offset_only(Symbolizer& symbolizer, const std::string& module) {
  std::vector<report::Frame> frames = symbolizer.frames(module, 0x10, 0x400010);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].function, "");
  EXPECT_EQ(frames[0].file, "");
  EXPECT_EQ(frames[0].module, module);
  EXPECT_EQ(frames[0].offset, 0x10u);
  EXPECT_EQ(frames[0].address, 0x400010u);
}

TEST(Symbolizer, SaysWhetherTheModuleWasAsked) {
  std::uint64_t offset = run_guest().offset;
  Symbolizer symbolizer({.enabled = true, .tool = tools().at(0)});
  EXPECT_TRUE(symbolizer.frames(STREAMSAN_SYMBOLIZER_GUEST, offset, 0)[0].symbolised);
  EXPECT_TRUE(symbolizer.frames(STREAMSAN_SYMBOLIZER_GUEST, 0xffffff0, 0)[0].symbolised) << "asked, and nothing there";
  EXPECT_FALSE(symbolizer.frames("/no/such/module.so", offset, 0)[0].symbolised);
}

TEST(Symbolizer, AModuleStandsWithTheBuildIdItWasRecordedWith) {
  std::string id = build_id_of(STREAMSAN_SYMBOLIZER_GUEST);
  ASSERT_FALSE(id.empty());
  Symbolizer symbolizer({.enabled = true, .tool = tools().at(0)});
  EXPECT_TRUE(symbolizer.stands(STREAMSAN_SYMBOLIZER_GUEST, id));
  EXPECT_TRUE(symbolizer.stands(STREAMSAN_SYMBOLIZER_GUEST, "")) << "nothing to compare with";
  EXPECT_TRUE(symbolizer.stands("linux-vdso.so.1", "x")) << "not a file";
  EXPECT_EQ(symbolizer.warnings(), std::vector<std::string>{});

  std::string other = id;
  other[0] = static_cast<char>(other[0] ^ 1);
  EXPECT_FALSE(symbolizer.stands(STREAMSAN_SYMBOLIZER_GUEST, other));
  EXPECT_FALSE(symbolizer.stands(STREAMSAN_SYMBOLIZER_GUEST, other));
  EXPECT_FALSE(symbolizer.stands("/no/such/module.so", ""));
  EXPECT_EQ(
      symbolizer.warnings(),
      (std::vector<std::string>{STREAMSAN_SYMBOLIZER_GUEST
                                " has been rebuilt since the trace was recorded: its functions and lines are not shown",
                                "/no/such/module.so is not here: its functions and lines are not shown"}))
      << "once each";

  Symbolizer off({.enabled = false, .tool = {}});
  EXPECT_TRUE(off.stands("/no/such/module.so", ""));
  EXPECT_EQ(off.warnings(), std::vector<std::string>{}) << "nobody asked for lines";
}

TEST(Symbolizer, DoesWithoutModuleToolOrPermission) {
  Symbolizer gone({.enabled = true, .tool = {}});
  expect_offset_only(gone, "/no/such/module.so");
  EXPECT_EQ(gone.problem(), "");

  Symbolizer missing({.enabled = true, .tool = "/no/such/tool"});
  expect_offset_only(missing, STREAMSAN_SYMBOLIZER_GUEST);
  EXPECT_EQ(missing.problem(), "cannot run the symbolizer /no/such/tool: call stacks show no source lines");

  Symbolizer off({.enabled = false, .tool = {}});
  expect_offset_only(off, STREAMSAN_SYMBOLIZER_GUEST);
  EXPECT_EQ(off.problem(), "");

  Symbolizer failing({.enabled = true, .tool = "/bin/false"});
  expect_offset_only(failing, STREAMSAN_SYMBOLIZER_GUEST);
  for (Symbolizer* each : {&missing, &failing}) {
    const report::Frame frame = each->frames(STREAMSAN_SYMBOLIZER_GUEST, run_guest().offset, 0)[0];
    EXPECT_EQ(frame.function, "guest::outer(int)") << "the tables know it";
    EXPECT_FALSE(frame.symbolised) << "nobody was asked for its line";
  }
  EXPECT_NE(failing.problem().find("/bin/false failed on "), std::string::npos);
}

}  // namespace
}  // namespace streamsan::judge
