// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Closing functions: what the caller gets for each way of handing something to a callee.
#include "analyzer/ir/inline.h"

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

/// The ops and jumps of `usr` closed, without declarations and sites.
std::string closed(const std::string& text, const std::string& usr = "f", const InlineOptions& options = {}) {
  const std::string printed = print(close(program_of(text), usr, options));
  std::string body;
  for (std::size_t line = printed.find("bb0:"); line < printed.size();) {
    const std::size_t end = printed.find('\n', line);
    std::string one = printed.substr(line, end - line);
    one.resize(std::min(one.size(), one.find("  ; ")));
    body += one + "\n";
    line = end + 1;
  }
  return body;
}

TEST(Inline, ParameterByValueIsALocal) {
  EXPECT_EQ(closed(R"(
function f
  local s stream
  local d pointer
  call "g"(s, d)
function g
  parameter s stream
  parameter p pointer
  enqueue kernel k on s writes p, reads *p
  assign s = default
)"),
            "bb0:\n  assign s#1 = s\n  assign p = d\n  enqueue kernel k on s#1 writes p, reads *p\n"
            "  assign s#1 = default\n");
}

TEST(Inline, ReferenceParameterIsTheCallersPlace) {
  EXPECT_EQ(closed(R"(
function f
  call "g"(&this.H::streams_[2])
function g
  parameter &s stream
  create_stream s blocking
)"),
            "bb0:\n  create_stream this.H::streams_[2] blocking\n");
}

TEST(Inline, ReferenceToAValueIsALocal) {
  const std::string g = "function g\n  parameter &s stream\n  sync_stream s\n";
  EXPECT_EQ(closed(g + "function f\n  call \"g\"(default)\n"), "bb0:\n  assign s = default\n  sync_stream s\n");
  EXPECT_EQ(closed(g + "function f\n  local a object\n  call \"g\"(&a + {4})\n"), "bb0:\n  fresh s\n  sync_stream s\n");
}

TEST(Inline, ObjectByValueIsCopied) {
  EXPECT_EQ(closed(R"(
function f
  local h object
  call "g"(&h)
function g
  parameter x object
  sync_stream x.H::s
)"),
            "bb0:\n  assign x = h\n  sync_stream x.H::s\n");
}

TEST(Inline, PointerToAPlaceIsItsAddress) {
  EXPECT_EQ(closed(R"(
function f
  local s stream
  call "g"(&s)
function g
  parameter out pointer
  create_stream *out
)"),
            "bb0:\n  assign out = &s\n  create_stream *out\n");
}

TEST(Inline, ThisIsTheObject) {
  const std::string g = "function g\n  sync_stream this.H::s\n";
  EXPECT_EQ(closed(g + "function f\n  local h object\n  call \"g\"() object &h.x\n"), "bb0:\n  sync_stream h.x.H::s\n");
  EXPECT_EQ(closed(g + "function f\n  local h pointer\n  call \"g\"() object h\n"), "bb0:\n  sync_stream h->H::s\n");
  EXPECT_EQ(closed(g + "function f\n  call \"g\"() object ?\n"), "bb0:\n  sync_stream `this`.H::s\n");
}

TEST(Inline, GlobalsAreShared) {
  EXPECT_EQ(closed(R"(
function f
  sync_stream ::$current_stream
  call "g"()
function g
  local s stream
  assign s = ::$current_stream
  assign ::$current_stream = default
)"),
            "bb0:\n  sync_stream ::$current_stream\n  assign s = ::$current_stream\n"
            "  assign ::$current_stream = default\n");
}

TEST(Inline, LocalsOfTwoCallsAreTwo) {
  EXPECT_EQ(closed(R"(
function f
  local s stream
  call s = "g"()
  call %t = "g"()
function g
  local s stream
  create_stream s
  return s
)"),
            "bb0:\n  create_stream s#1\n  assign s = s#1\n  create_stream s#2\n  assign %t = s#2\n");
}

TEST(Inline, ReturnInTwoBranches) {
  EXPECT_EQ(closed(R"(
function f
  local s stream
  call s = "g"(s)
  sync_stream s
function g
  parameter a stream
  parameter n integer
  branch {n > 0} yes no
yes:
  return a
  destroy a
no:
  return
)"),
            "bb0:\n  assign a = s\n  fresh n\n  branch {n > 0} bb1 bb2\n"
            "bb1:\n  assign s = a\n  destroy a\n  goto bb2\n"
            "bb2:\n  sync_stream s\n");
}

TEST(Inline, CalleeThatAbortsDoesNotReturn) {
  const std::string f = R"(
function f
  call "g"()
  sync_device
function g
  parameter n integer
  record ::e on default
  branch {n > 0} good bad
bad:
)";
  EXPECT_EQ(closed(f + "good:\n  return\n"),
            "bb0:\n  fresh n\n  record ::e on default\n  branch {n > 0} bb1 bb2\nbb1:\n  sync_device\nbb2:\n");
  EXPECT_EQ(closed(f + "  return\ngood:\n  return\n"), "bb0:\n  fresh n\n  record ::e on default\n  sync_device\n");
}

TEST(Inline, NestedCallsKeepTheChainOfSites) {
  const Function f = close(program_of(R"(
function f
  call "g"() ; a.cu:1:1
function g
  call "h"() ; a.cu:2:2
function h
  sync_device ; a.cu:3:3
)"),
                           "f");
  ASSERT_EQ(f.blocks.size(), 1U);
  const Site& inner = f[f.blocks[0].ops.at(0).site];
  EXPECT_EQ(inner.line, 3U);
  EXPECT_EQ(inner.function, "h");
  ASSERT_NE(inner.call, kNoSite);
  EXPECT_EQ(f[inner.call].line, 2U);
  ASSERT_NE(f[inner.call].call, kNoSite);
  EXPECT_EQ(f[f[inner.call].call].line, 1U);
  EXPECT_EQ(f[f[inner.call].call].call, kNoSite);
}

TEST(Inline, LoopAroundACallStaysALoop) {
  const Function f = close(program_of(R"(
function f
  local i integer
  goto head
head: loop
  call "g"(i)
  branch {i < 4} head done
done:
  sync_device
function g
  parameter n integer
  sync_stream this.s[n]
)"),
                           "f");
  ASSERT_EQ(f.blocks.size(), 3U);
  EXPECT_TRUE(f.blocks[1].loop_head);
  EXPECT_EQ(f.blocks[1].ops.size(), 2U);  // the binding of n and the synchronisation
  EXPECT_EQ(f.blocks[1].successors, (std::vector{BlockId{1}, BlockId{2}}));
  EXPECT_EQ(f[f.blocks[1].condition].text, "i < 4");
}

TEST(Inline, UnknownCalleeMayDoAnything) {
  EXPECT_EQ(closed(R"(
function f
  local s stream
  local h object
  local i integer
  call %t = "nobody"(s, &h.x, i, &i, null, default) object &h
)"),
            "bb0:\n  escape s\n  escape &h.x\n  escape &i\n  escape &h\n  may_sync\n  fresh %t\n");
}

TEST(Inline, IncompleteCalleeIsUnknown) {
  const std::string f = "function f\n  call \"g\"()\n";
  EXPECT_EQ(closed(f + "function g incomplete \"goto\"\n  sync_device\n"), "bb0:\n  may_sync\n");
  EXPECT_EQ(closed(f + "function g\n  sync_device\n"), "bb0:\n  sync_device\n");
}

TEST(Inline, RecursionIsUnknown) {
  const std::string program = "function f\n  sync_device\n  call \"g\"()\nfunction g\n  call \"f\"()\n  sync_device\n";
  EXPECT_EQ(closed(program), "bb0:\n  sync_device\n  may_sync\n  sync_device\n");
  EXPECT_EQ(closed(program, "g"), "bb0:\n  sync_device\n  may_sync\n  sync_device\n");
}

TEST(Inline, LimitsEndInUnknownCalls) {
  std::string chain;
  for (int i = 0; i < 20; ++i) {
    chain += "function f" + std::to_string(i) + "\n  sync_device\n  call \"f" + std::to_string(i + 1) + "\"()\n";
  }
  chain += "function f20\n  sync_device\n";
  const Function deep = close(program_of(chain), "f0", {.deepest = 3});
  ASSERT_EQ(deep.blocks.size(), 1U);
  EXPECT_EQ(deep.blocks[0].ops.size(), 5U);
  EXPECT_EQ(deep.blocks[0].ops.back().kind, OpKind::MaySync);
  const Function all = close(program_of(chain), "f0", {.deepest = 30});
  EXPECT_EQ(all.blocks.at(0).ops.back().kind, OpKind::SyncDevice);
  const Function big = close(program_of(chain), "f0", {.deepest = 30, .most_blocks = 10});
  EXPECT_EQ(big.blocks.at(0).ops.back().kind, OpKind::MaySync);
}

TEST(Inline, ConstructorAndDestructor) {
  EXPECT_EQ(closed(R"(
function f
  local guard object
  call "ctor"() object &guard
  enqueue kernel k on guard.Guard::s_ writes this.d
  call "dtor"() object &guard
function ctor
  create_stream this.Guard::s_ nonblocking
function dtor
  sync_stream this.Guard::s_
  destroy this.Guard::s_
)"),
            "bb0:\n  create_stream guard.Guard::s_ nonblocking\n  enqueue kernel k on guard.Guard::s_ writes this.d\n"
            "  sync_stream guard.Guard::s_\n  destroy guard.Guard::s_\n");
}

TEST(Inline, DefaultStreamIsThatOfTheCallee) {
  const std::string f = "function f\n  call \"g\"()\n  sync_stream default\n";
  EXPECT_EQ(closed(f + "function g per_thread_default_stream\n  sync_stream default\n"),
            "bb0:\n  sync_stream per_thread\n  sync_stream default\n");
  EXPECT_EQ(closed(f + "function g\n  sync_stream default\n"), "bb0:\n  sync_stream default\n  sync_stream default\n");
}

TEST(Inline, InertCalleesVanish) {
  const std::string f = "function f\n  local n integer\n  call n = \"g\"(n, &n)\n";
  // Its own integers, a callee of its own, and itself again.
  EXPECT_EQ(closed(f + R"(
function g
  parameter a integer
  parameter b pointer
  fresh a
  call a = "h"(a)
  call "g"(a, b)
  return a
function h
  parameter a integer
  call "g"(a, null)
  return a
)"),
            "bb0:\n  fresh n\n");
  // The same, with a callee that synchronises, far away.
  EXPECT_EQ(closed(f + R"(
function g
  call "h"()
function h
  call "i"()
function i
  sync_device
)"),
            "bb0:\n  sync_device\n");
}

TEST(Inline, UnknownRootIsIncomplete) {
  const Function f = close(Program{}, "f");
  EXPECT_FALSE(f.incomplete.empty());
  EXPECT_TRUE(f.blocks.empty());
}

TEST(Inline, ManyFunctionsCloseInTimeOfTheirSize) {
  // A ladder of calls of calls: closed without a limit it would have 2^40 blocks.
  std::string text = "function f40\n  sync_device\n";
  for (int i = 0; i < 40; ++i) {
    const std::string callee = "  call \"f" + std::to_string(i + 1) + "\"()\n";
    text += "function f" + std::to_string(i) + "\n" + callee + callee;
  }
  const Function f = close(program_of(text), "f0", {.deepest = 100});
  EXPECT_LE(f.blocks.size(), 2000U);
  EXPECT_GE(f.blocks.at(0).ops.size(), 100U);
}

/// `usr` closed by an inliner that has closed it once before.
std::string closed_again(const std::string& text, const std::string& usr, const InlineOptions& options = {}) {
  const Program program = program_of(text);
  Inliner inliner(program, options);
  static_cast<void>(inliner.close(usr));
  return print(inliner.close(usr));
}

TEST(Inline, ASecondCallIsACopyOfTheClosedCallee) {
  const std::string text = R"(
function f
  call "g"(&this.H::s)
  call "g"(&this.H::t)
function g
  parameter &s stream
  local unused integer
  fresh unused
  call "h"(&s)
  call "h"(&s)
  return
function h
  parameter &s stream
  sync_stream s
  return
)";
  const std::string first = "  sync_stream this.H::s\n", second = "  sync_stream this.H::t\n";
  EXPECT_EQ(closed(text), "bb0:\n  fresh unused\n" + first + first + second + second);
  EXPECT_EQ(closed_again(text, "f").find("fresh unused"), std::string::npos);
}

TEST(Inline, TheSameLimitsHoldForCopies) {
  const std::string text = R"(
function f
  call "g"()
  call "g"()
function g
  call "h"()
  return
function h
  sync_device
  return
)";
  EXPECT_NE(closed_again(text, "f").find("sync_device"), std::string::npos);
  EXPECT_EQ(closed_again(text, "f", {.deepest = 1}).find("sync_device"), std::string::npos);
  EXPECT_EQ(closed_again(text, "f", {.most_blocks = 4}).find("sync_device"), std::string::npos);
}

TEST(Inline, ACalleeThatCallsItsCallerIsNotCopied) {
  const std::string text = R"(
function f
  call "g"()
  call "g"()
  sync_device
  return
function g
  call "f"()
  return
)";
  const std::string again = closed_again(text, "f");
  EXPECT_EQ(again.find("sync_device"), again.rfind("sync_device"));
  EXPECT_NE(again.find("may_sync"), std::string::npos);
}

}  // namespace
}  // namespace streamsan::analyzer::ir
