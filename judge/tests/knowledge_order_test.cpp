// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who knows more never says less. A kernel writes the first half of a buffer, and meets something that touches bytes of
// that half in another stream. What is known of the kernel's bytes differs: measured, computed from its code, inferred;
// and whether the launch, or an earlier one, took so long that it might be waiting. The verdict must follow
//
//   measured >= computed >= inferred
//
// and a kernel that cannot wait must be judged as if it had never been late. Whether the second one is a kernel, too,
// all combinations are tried. So is everything with a second one beside the kernel's half, which must be silent as soon
// as the bytes are known.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using trace::NonBlocking;
using trace::piece;
using trace::Piece;
using trace::pointer_word;
using trace::TraceBuilder;

constexpr std::uint64_t kA = 0x1000, kB = 0x2000, kHost = 0x5000;
constexpr std::uint64_t kBuffer = 0x7000'0000'0000, kBytes = 8192, kHalf = kBytes / 2;
constexpr std::uint64_t kFloats = kHalf / 4;

// NAME(p, from, n): p[from + i] = 0 for i < n. The waiting one polls a word first.
std::string code() {
  const auto kernel = [](const std::string& name, const std::string& first) {
    return ".visible .entry " + name + R"((.param .u64 p, .param .u32 from, .param .u32 n) {
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [from]; ld.param.u32 %r2, [n];
)" + first +
           R"(
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.s32 %p1, %r6, %r2;
  @%p1 bra DONE;
  add.s32 %r7, %r6, %r1;
  mul.wide.s32 %rd2, %r7, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], 0;
DONE: ret;
}
)";
  };
  const std::string poll = "L: ld.volatile.global.u32 %r8, [%rd1]; setp.eq.s32 %p2, %r8, 0; @%p2 bra L;";
  return ".version 8.0\n.target sm_75\n" + kernel("_Z4leftPfii", "") + kernel("_Z5rightPfii", "") +
         kernel("_Z6pollerPfii", poll);
}

enum class Knowledge : std::uint8_t { Inferred, Computed, Measured };
constexpr Knowledge kAll[] = {Knowledge::Inferred, Knowledge::Computed, Knowledge::Measured};

/// One that writes the half of the buffer that begins with this float.
struct Kernel {
  std::uint64_t stream;
  std::uint64_t id;     ///< of function, footprint, site
  const char* coded;    ///< its name
  const char* uncoded;  ///< that of one like it, of which there is no code
  std::uint64_t from = 0;
};
constexpr Kernel kLeft{kA, 1, "_Z4leftPfii", "_Z5left0Pfii"};
constexpr Kernel kPoller{kA, 3, "_Z6pollerPfii", "_Z7poller0Pfii"};

void launch(TraceBuilder& trace, const Kernel& kernel, Knowledge knowledge, std::uint16_t flags = 0) {
  const bool is_coded = knowledge != Knowledge::Inferred;
  const std::uint64_t hash = 100 * kernel.id + kernel.from;
  trace.function(kernel.id, is_coded ? kernel.coded : kernel.uncoded);
  trace.at({0x401000 + kernel.id});
  const std::uint64_t word = pointer_word(0, kBuffer);
  if (knowledge == Knowledge::Measured) {
    trace.footprint(kernel.id, {piece(0, Piece::Mode::Write, static_cast<std::int64_t>(4 * kernel.from), kHalf)});
    trace.launch_known(kernel.stream, kernel.id, kernel.id, trace::Known::Measured, {word}, kFloats, hash, flags);
    return;
  }
  if (is_coded) {
    const std::uint64_t words[] = {kBuffer, kernel.from | kFloats << 32};
    trace.arguments(hash, kernel.id, {1, 1, 1}, {kFloats, 1, 1}, std::as_bytes(std::span(words)));
  }
  trace.launch(kernel.stream, kernel.id, {word}, kFloats, hash, flags);
}

/// What comes second, in the other stream or on the host.
struct Other {
  std::string name;
  std::function<void(TraceBuilder&)> happens;
};

/// What meets the first half of the buffer, or, with `beside`, the second half only.
std::vector<Other> others(bool beside) {
  const std::uint64_t at = beside ? kBuffer + kHalf : kBuffer;
  std::vector<Other> out = {
      {"fill", [at](TraceBuilder& t) { t.fill_async(kB, at, kHalf); }},
      {"a fill of few bytes", [at](TraceBuilder& t) { t.fill_async(kB, at + 64, 4); }},
      {"upload", [at](TraceBuilder& t) { t.copy_async("cuMemcpyHtoDAsync_v2", kB, at, kHost, kHalf); }},
      {"download", [at](TraceBuilder& t) { t.copy_async("cuMemcpyDtoHAsync_v2", kB, kHost, at, kHalf); }},
      {"a download of few bytes",
       [at](TraceBuilder& t) { t.copy_async("cuMemcpyDtoHAsync_v2", kB, kHost, at + 64, 4); }},
  };
  if (!beside) {
    out.push_back({"a fill of all", [](TraceBuilder& t) { t.fill_async(kB, kBuffer, kBytes); }});
    out.push_back({"its end", [](TraceBuilder& t) { t.free_async(kBuffer, kB); }});
  }
  for (const Knowledge knowledge : kAll) {
    const std::uint64_t from = beside ? kFloats : 0;
    const Kernel right{kB, 2, "_Z5rightPfii", "_Z6right0Pfii", from};
    const Kernel same{kB, 1, "_Z4leftPfii", "_Z5left0Pfii", from};
    const std::string how = std::to_string(static_cast<int>(knowledge));
    out.push_back({"another kernel, known " + how, [=](TraceBuilder& t) { launch(t, right, knowledge); }});
    out.push_back({"the same kernel, known " + how, [=](TraceBuilder& t) { launch(t, same, knowledge); }});
  }
  return out;
}

enum class Strength : std::uint8_t { Silent, Possible, Latent, Error };

Strength strength(const Kernel& kernel, Knowledge knowledge, const Other& other, std::uint16_t flags = 0) {
  TraceBuilder trace;
  trace.stream_create(kA, NonBlocking::Yes);
  trace.stream_create(kB, NonBlocking::Yes);
  trace.at({0x400100}).alloc(kBuffer, kBytes, ordering::MemoryKind::DeviceAsync, kA);
  trace.sync_stream(kA);
  launch(trace, kernel, knowledge, flags);
  trace.at({0x400200});
  other.happens(trace);
  Strength out = Strength::Silent;
  for (const report::Finding& finding : judged(trace, 1000, code()).findings) {
    switch (finding.severity) {
      case report::Severity::Error:
        out = std::max(out, Strength::Error);
        break;
      case report::Severity::Latent:
        out = std::max(out, Strength::Latent);
        break;
      case report::Severity::Possible:
        out = std::max(out, Strength::Possible);
        break;
      case report::Severity::Note:
        break;
    }
  }
  return out;
}

TEST(KnowledgeOrder, WhoKnowsMoreNeverSaysLess) {
  for (const Other& other : others(false)) {
    const Strength inferred = strength(kLeft, Knowledge::Inferred, other);
    const Strength computed = strength(kLeft, Knowledge::Computed, other);
    const Strength measured = strength(kLeft, Knowledge::Measured, other);
    EXPECT_GE(inferred, Strength::Possible) << other.name;
    EXPECT_GE(computed, inferred) << other.name;
    EXPECT_GE(measured, computed) << other.name;
  }
}

TEST(KnowledgeOrder, TwoThatAreKnownAreAnError) {
  for (const Other& other : others(false)) {
    if (other.name.ends_with("known 0")) continue;
    for (const Knowledge knowledge : {Knowledge::Computed, Knowledge::Measured})
      EXPECT_EQ(strength(kLeft, knowledge, other), Strength::Error) << other.name;
  }
}

TEST(KnowledgeOrder, WhatIsKnownToLieBesideIsSilent) {
  for (const Other& other : others(true)) {
    for (const Knowledge knowledge : {Knowledge::Computed, Knowledge::Measured}) {
      // Of the other one only the pointer is known: it may reach anywhere.
      const Strength most = other.name.ends_with("known 0") ? Strength::Error : Strength::Silent;
      EXPECT_LE(strength(kLeft, knowledge, other), most) << other.name;
    }
  }
}

TEST(KnowledgeOrder, AKernelThatIsLateAndCannotWaitIsOnlySlow) {
  for (const bool beside : {false, true}) {
    for (const Other& other : others(beside)) {
      for (const Knowledge knowledge : {Knowledge::Computed, Knowledge::Measured}) {
        EXPECT_EQ(strength(kLeft, knowledge, other, trace::kWaits), strength(kLeft, knowledge, other)) << other.name;
      }
    }
  }
}

TEST(KnowledgeOrder, AKernelThatIsLateAndPollsIsDoubted) {
  for (const Other& other : others(false)) {
    if (other.name == "its end") continue;  // a matter of its life: it uses the memory at least until then
    EXPECT_EQ(strength(kPoller, Knowledge::Computed, other, trace::kWaits), Strength::Possible) << other.name;
    // Nobody knows what one without code does.
    EXPECT_EQ(strength(kPoller, Knowledge::Inferred, other, trace::kWaits), Strength::Possible) << other.name;
  }
}

}  // namespace
}  // namespace streamsan::judge
