// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/rules.h"

#include <algorithm>
#include <array>

namespace streamsan::report {
namespace {

constexpr std::string_view kReports = "docs/reports.md";
constexpr std::string_view kHints = "docs/hints.md";
#define SS_RACE_HELP \
  "Two operations of different streams touch the same bytes, and nothing makes one wait for the other."
#define SS_HOST_HELP "The host and the GPU touch the same bytes, and nothing makes one wait for the other."
#define SS_RACE_FIX                                                                                                   \
  " Record an event after the earlier operation and let the stream of the later one wait for this event, or use one " \
  "stream for both."
#define SS_HOST_FIX \
  " Before the host touches the memory, let it wait for the stream, or for an event recorded after the operation."

constexpr std::array kRules{
    Rule{Kind::Race, Hazard::ReadAfterWrite, "streamsan-read-after-write-race",
         "Read of bytes that may still be written",
         SS_RACE_HELP " The reader may see old or half-written data." SS_RACE_FIX, kReports},
    Rule{Kind::Race, Hazard::WriteAfterRead, "streamsan-write-after-read-race", "Write to bytes that may still be read",
         SS_RACE_HELP " The earlier reader may see data that was meant for later." SS_RACE_FIX, kReports},
    Rule{Kind::Race, Hazard::WriteAfterWrite, "streamsan-write-after-write-race",
         "Two unordered writes of the same bytes",
         SS_RACE_HELP " The memory may hold either result, or parts of both." SS_RACE_FIX, kReports},
    Rule{Kind::HostRace, Hazard::ReadAfterWrite, "streamsan-read-after-write-host-race",
         "The host and the GPU: a read of bytes that may still be written",
         SS_HOST_HELP " The reader may see old or half-written data." SS_HOST_FIX, kReports},
    Rule{Kind::HostRace, Hazard::WriteAfterRead, "streamsan-write-after-read-host-race",
         "The host and the GPU: a write to bytes that may still be read",
         SS_HOST_HELP " The earlier reader may see data that was meant for later." SS_HOST_FIX, kReports},
    Rule{Kind::HostRace, Hazard::WriteAfterWrite, "streamsan-write-after-write-host-race",
         "The host and the GPU: two unordered writes of the same bytes",
         SS_HOST_HELP " The memory may hold either result, or parts of both." SS_HOST_FIX, kReports},
    Rule{
        Kind::PrematureFree, Hazard::UseBeforeAlloc, "streamsan-use-before-alloc",
        "Use of memory before its allocation in a stream",
        "An operation uses memory from a stream-ordered allocation, and nothing makes it wait for that allocation. Let "
        "the stream of the operation wait for the stream of the allocation.",
        kReports},
    Rule{
        Kind::PrematureFree, Hazard::UseAfterFree, "streamsan-use-after-free", "Use of memory after it was freed",
        "An operation on the memory was submitted after the memory had been freed. No order between the two makes this "
        "correct. Free the memory after its last use.",
        kReports},
    Rule{Kind::PrematureFree, Hazard::DoubleFree, "streamsan-double-free", "Memory is freed twice",
         "The memory is freed a second time. Remove one of the two calls.", kReports},
    Rule{Kind::PrematureFree, Hazard::FreeWhileInUse, "streamsan-free-while-in-use",
         "Memory is freed while an operation may still use it",
         "Nothing makes the free wait for every use of the memory. Wait for the stream that uses the memory, or free "
         "the memory in the order of that stream.",
         kReports},
    Rule{Kind::PrematureFree, Hazard::ReleaseWhileInUse, "streamsan-release-while-in-use",
         "A block goes back to its pool while an operation may still use it",
         "This does no harm until the pool hands the block out again. Tell the pool which stream uses the block, or "
         "wait before you give the block back.",
         kReports},
    Rule{
        Kind::PrematureFree, Hazard::ReuseWhileInUse, "streamsan-reuse-while-in-use",
        "A pool hands a block out again while an operation of its earlier life may still use it",
        "Two owners use the same bytes at the same time. Tell the pool which stream uses the block, or wait before you "
        "give the block back.",
        kReports},
    Rule{Kind::EventMisuse, Hazard::EventNeverRecorded, "streamsan-event-never-recorded",
         "A wait for an event that is never recorded",
         "Such a wait does nothing. Record the event after the work that the wait is meant for, or remove the wait.",
         kReports},
    Rule{Kind::EventMisuse, Hazard::EventWaitedTooEarly, "streamsan-event-waited-too-early",
         "A wait for an event before its first record",
         "Such a wait does nothing. In the first iteration of a loop, this is common and correct.", kReports},
    Rule{Kind::EventMisuse, Hazard::EventRecordLost, "streamsan-event-record-lost",
         "An event is recorded in two streams and waited for only after the second record",
         "A record replaces the previous one, so the wait does not cover the first stream. Use one event for each "
         "stream.",
         kReports},
    Rule{Kind::EventMisuse, Hazard::EventRecordedTooEarly, "streamsan-event-recorded-too-early",
         "An event is recorded before any work is in its stream",
         "A wait for this event covers none of the later work. Record the event after that work.", kReports},
    Rule{Kind::UnneededSync, std::nullopt, "streamsan-unneeded-sync",
         "A synchronising call that is not needed, or could wait for less",
         "StreamSan judged the run again without the call, or with a call that waits for less: every two conflicting "
         "operations were still ordered. Another run may need the call.",
         "docs/syncs.md"},
    Rule{Kind::HiddenSync, Hazard::SyncForbidden, "streamsan-sync-forbidden",
         "The host waits for the GPU where the program allows no wait",
         "The program says that this part of it does not wait (streamsan.no_sync() in Python). Wait later, or allow "
         "this wait.",
         "docs/python.md"},
    Rule{Kind::Hint, Hazard::PageableCopy, "streamsan-pageable-copy", "Asynchronous copies of pageable host memory",
         "The driver copies such memory through a buffer of its own. The copy may block the host and does not overlap "
         "with other work. Use pinned memory.",
         kHints},
    Rule{Kind::Hint, Hazard::AllocInLoop, "streamsan-alloc-in-loop",
         "Memory, streams or events created and freed repeatedly between kernels",
         "Allocating and freeing may synchronise the device. Allocate before the loop, or use stream-ordered memory.",
         kHints},
    Rule{Kind::Hint, Hazard::CopyInPieces, "streamsan-copy-in-pieces", "Many small copies where one would do",
         "Even a small copy costs some microseconds. Copy everything at once, or use a copy with a pitch.", kHints},
    Rule{Kind::Hint, Hazard::LegacySerialisation, "streamsan-legacy-serialisation",
         "Work in the legacy default stream makes independent streams wait for each other",
         "Such work starts after all work in blocking streams, and their later work starts after it. Use non-blocking "
         "streams and events.",
         kHints},
    Rule{Kind::Hint, Hazard::StreamsNeverOverlap, "streamsan-streams-never-overlap", "Streams that take turns",
         "All work in one stream is ordered after the work in the other: one stream would be as fast.", kHints},
    Rule{Kind::Hint, Hazard::TimingEvent, "streamsan-timing-event", "Events with timing that are used only for order",
         "Each record writes a time stamp. Create the events with cudaEventDisableTiming.", kHints},
};

#undef SS_RACE_HELP
#undef SS_HOST_HELP
#undef SS_RACE_FIX
#undef SS_HOST_FIX

}  // namespace

std::span<const Rule> rules() { return kRules; }

const Rule* rule_of(const Finding& finding) {
  auto it = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& rule) {
    return rule.kind == finding.kind && (!rule.hazard || finding.hazard == *rule.hazard);
  });
  return it == kRules.end() ? nullptr : &*it;
}

std::string rule_id(const Finding& finding) {
  if (const Rule* rule = rule_of(finding)) return std::string(rule->id);
  return "streamsan-" + (finding.hazard.empty() ? name(finding.kind) : finding.hazard.text());
}

}  // namespace streamsan::report
