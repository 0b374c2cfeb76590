// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel tells the host by a word of pinned memory, and the host looks while the kernel may run (R-UM-11). What was
// measured shows a store and not how it was made: the code of the kernel tells. Each case that is possible at most
// stands beside one that is an error.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

#include "judge/tests/judged.h"

namespace streamsan::judge {
namespace {

using ordering::MemoryKind;
using trace::Known;
using trace::NonBlocking;
using trace::piece;
using trace::Piece;
using trace::pointer_word;
using trace::TraceBuilder;

constexpr std::uint64_t kStream = 0x1000, kOther = 0x2000, kBytes = 256;
constexpr std::uint64_t kStatus = 0x7000'0000'0000, kFront = kStatus - kBytes, kTaken = 0x7100'0000'0000,
                        kData = 0x7200'0000'0000;
constexpr std::uint64_t kReport = 1, kHash = 77;

// report({status, taken, data}): whoever takes `taken` writes the data and says so in `status`.
std::string code(const std::string& tell) {
  return R"(
.version 8.0
.target sm_75
.visible .entry _Z6report6Report(.param .align 8 .b8 to[24]) {
  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [to+8]; ld.param.u64 %rd3, [to+16];
  atom.global.cas.b32 %r1, [%rd2], 0, 1;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra DONE;
  st.global.u32 [%rd3], 7;
  membar.sys;
  )" + tell +
         R"(
DONE: ret;
}
)";
}
const std::string kRelease = code("st.release.sys.b32 [%rd1], 1;");
const std::string kVolatile = code("st.volatile.global.u32 [%rd1], 1;");
const std::string kOfDevice = code("st.release.gpu.b32 [%rd1], 1;");
const std::string kPlain = code("st.global.u32 [%rd1], 1;");

struct Program {
  std::string code = kRelease;
  std::uint64_t looks_at = kStatus;
  std::uint64_t data = kData;
  MemoryKind kind_of_taken = MemoryKind::Device;
  bool has_arguments = true;
  bool writes = false;      ///< the host
  std::uint64_t bytes = 4;  ///< of the status that were stored
};

void launch(TraceBuilder& trace, std::uint64_t stream, const Program& program) {
  trace.launch_known(
      stream, kReport, 1, Known::Measured,
      {pointer_word(0, kStatus, true), pointer_word(0, kTaken, true), pointer_word(0, program.data, true)}, 32, kHash);
}

TraceBuilder launched(const Program& program) {
  TraceBuilder trace;
  trace.function(kReport, "_Z6report6Report");
  trace.stream_create(kStream, NonBlocking::Yes);
  trace.stream_create(kOther, NonBlocking::Yes);
  trace.alloc(kStatus, kBytes, MemoryKind::Pinned);
  trace.alloc(kFront, kBytes, MemoryKind::Pinned);
  trace.alloc(kData, kBytes, MemoryKind::Pinned);
  trace.alloc(kTaken, kBytes, program.kind_of_taken);
  const bool in_status = program.data >= kStatus && program.data < kStatus + kBytes;
  const auto place = static_cast<std::int64_t>(program.data - kStatus);
  trace.footprint(1, {piece(0, Piece::Mode::Write, 0, program.bytes), piece(1, Piece::Mode::Atomic, 0, 4),
                      in_status ? piece(0, Piece::Mode::Write, place, 4) : piece(2, Piece::Mode::Write, 0, 4)});
  const std::uint64_t words[] = {kStatus, kTaken, program.data};
  if (program.has_arguments) trace.arguments(kHash, kReport, {1, 1, 1}, {32, 1, 1}, std::as_bytes(std::span(words)));
  launch(trace.at({0x401000}), kStream, program);
  return trace;
}

HazardList found(const Program& program) {
  TraceBuilder trace = launched(program);
  trace.at({0x401100}).host_access(program.looks_at, 4, program.writes);
  return hazards_of(judged(trace, 1000, program.code).findings);
}

const HazardList kError{"read-after-write/error/no-edge"};
const HazardList kPossible{"read-after-write/possible/no-edge"};

TEST(Signal, AWordThatIsStoredForTheHostIsPossibleAtMost) {
  EXPECT_EQ(found({}), kPossible);
  EXPECT_EQ(found({.code = kVolatile}), kPossible);
  EXPECT_EQ(found({.code = kPlain}), kError);
  EXPECT_EQ(found({.code = kOfDevice}), kError);
}

TEST(Signal, TheDataBesideItIsNoSignal) { EXPECT_EQ(found({.looks_at = kData}), kError); }

TEST(Signal, PlainStoresIntoTheSameMemoryAreNotToldFromIt) {
  EXPECT_EQ(found({.data = kStatus + 64}), kError);
  EXPECT_EQ(found({.looks_at = kStatus + 64, .data = kStatus + 64}), kError);
}

TEST(Signal, APointerJustInFrontMayLeadIntoIt) {
  EXPECT_EQ(found({.data = kStatus - 4}), kError);
  EXPECT_EQ(found({.data = kFront}), kPossible);
}

TEST(Signal, ManyBytesAreData) {
  EXPECT_EQ(found({.bytes = 16}), kPossible);
  EXPECT_EQ(found({.bytes = 20}), kError);
}

/// Two kernels that store the same bytes are no less a race for it.
TEST(Signal, BetweenKernelsItIsAStore) {
  TraceBuilder trace = launched({});
  launch(trace.at({0x401200}), kOther, {});
  EXPECT_EQ(hazards_of(judged(trace, 1000, kRelease).findings), HazardList{"write-after-write/error/no-edge"});
}

TEST(Signal, AnAtomicOfTheDeviceCountsWhereTheHostMayLook) {
  EXPECT_EQ(found({.kind_of_taken = MemoryKind::Managed}), kPossible);
  EXPECT_EQ(found({.looks_at = kTaken, .kind_of_taken = MemoryKind::Managed}), kError);
}

TEST(Signal, WithoutTheArgumentsNothingIsKnown) { EXPECT_EQ(found({.has_arguments = false}), kError); }

TEST(Signal, TheHostMayAlsoWriteIt) {
  EXPECT_EQ(found({.writes = true}), HazardList{"write-after-write/possible/no-edge"});
  EXPECT_EQ(found({.code = kPlain, .writes = true}), HazardList{"write-after-write/error/no-edge"});
}

}  // namespace
}  // namespace streamsan::judge
