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
#define SS_RACE_FIX \
  " Record an event behind the earlier operation and let the later one's stream wait for it, or use one stream."
#define SS_HOST_FIX \
  " Let the host wait for the stream, or for an event recorded behind the operation, before it touches the memory."

constexpr std::array kRules{
    Rule{Kind::Race, Hazard::ReadAfterWrite, "streamsan-read-after-write-race",
         "Read of bytes that may still be written",
         SS_RACE_HELP " The reader may see old or half-written data." SS_RACE_FIX, kReports},
    Rule{Kind::Race, Hazard::WriteAfterRead, "streamsan-write-after-read-race", "Write to bytes that may still be read",
         SS_RACE_HELP " The earlier reader may see data that was meant for later." SS_RACE_FIX, kReports},
    Rule{Kind::Race, Hazard::WriteAfterWrite, "streamsan-write-after-write-race", "Two writes in no order",
         SS_RACE_HELP " Either result may be left, or parts of both." SS_RACE_FIX, kReports},
    Rule{Kind::HostRace, Hazard::ReadAfterWrite, "streamsan-read-after-write-host-race",
         "Read of bytes that may still be written, one side being the host",
         SS_HOST_HELP " The reader may see old or half-written data." SS_HOST_FIX, kReports},
    Rule{Kind::HostRace, Hazard::WriteAfterRead, "streamsan-write-after-read-host-race",
         "Write to bytes that may still be read, one side being the host",
         SS_HOST_HELP " The earlier reader may see data that was meant for later." SS_HOST_FIX, kReports},
    Rule{Kind::HostRace, Hazard::WriteAfterWrite, "streamsan-write-after-write-host-race",
         "Two writes in no order, one side being the host",
         SS_HOST_HELP " Either result may be left, or parts of both." SS_HOST_FIX, kReports},
    Rule{Kind::PrematureFree, Hazard::UseBeforeAlloc, "streamsan-use-before-alloc",
         "Use of memory before its allocation in a stream",
         "Memory that is allocated in the order of a stream is used where that allocation need not have happened. Make "
         "the user's stream wait for the stream of the allocation.",
         kReports},
    Rule{Kind::PrematureFree, Hazard::UseAfterFree, "streamsan-use-after-free", "Use of memory after it was freed",
         "An operation on the memory was submitted after the memory had been freed; no order makes that right. Free it "
         "after the last use.",
         kReports},
    Rule{Kind::PrematureFree, Hazard::DoubleFree, "streamsan-double-free", "Memory is freed twice",
         "The memory is freed a second time. Remove one of the two.", kReports},
    Rule{
        Kind::PrematureFree, Hazard::FreeWhileInUse, "streamsan-free-while-in-use",
        "Memory is freed while an operation may still use it",
        "Nothing makes the free wait for every use of the memory. Wait for the stream that uses it, or free the memory "
        "in the order of that stream.",
        kReports},
    Rule{
        Kind::PrematureFree, Hazard::ReleaseWhileInUse, "streamsan-release-while-in-use",
        "A block goes back to its pool while an operation may still use it",
        "No harm is done until the pool hands the block out again. Tell the pool of the stream that uses the block, or "
        "wait before it is given back.",
        kReports},
    Rule{Kind::PrematureFree, Hazard::ReuseWhileInUse, "streamsan-reuse-while-in-use",
         "A pool hands a block out again while an operation of its earlier life may still use it",
         "Two owners use the same bytes at once. Tell the pool of the stream that uses the block, or wait before it is "
         "given back.",
         kReports},
    Rule{Kind::EventMisuse, Hazard::EventNeverRecorded, "streamsan-event-never-recorded",
         "A wait for an event that is never recorded",
         "Such a wait does nothing. Record the event behind the work that is to be waited for, or remove the wait.",
         kReports},
    Rule{Kind::EventMisuse, Hazard::EventWaitedTooEarly, "streamsan-event-waited-too-early",
         "A wait for an event before its first record",
         "Such a wait does nothing. In the first turn of a loop this is common and correct.", kReports},
    Rule{Kind::EventMisuse, Hazard::EventRecordLost, "streamsan-event-record-lost",
         "An event is recorded in two streams and waited for after the second record only",
         "A record takes the place of the one before. Use an event for each stream.", kReports},
    Rule{Kind::EventMisuse, Hazard::EventRecordedTooEarly, "streamsan-event-recorded-too-early",
         "An event is recorded before any work is in its stream",
         "A wait for it covers none of the work that comes later. Record the event behind that work.", kReports},
    Rule{Kind::UnneededSync, std::nullopt, "streamsan-unneeded-sync", "A synchronising call that could go or do less",
         "StreamSan judged the run again as if the call were not there, or waited for less: every two conflicting "
         "operations were still ordered. This says nothing about what another run does.",
         "docs/syncs.md"},
    Rule{Kind::HiddenSync, Hazard::SyncForbidden, "streamsan-sync-forbidden",
         "The host waits for the GPU where the program allows no wait",
         "The program has said that this part of it does not wait (streamsan.no_sync() in Python). Wait later, or say "
         "that this wait is meant.",
         "docs/python.md"},
    Rule{Kind::Hint, Hazard::PageableCopy, "streamsan-pageable-copy", "Asynchronous copies of pageable host memory",
         "Such a copy is staged, may block the host and does not overlap with other work. Use pinned memory.", kHints},
    Rule{Kind::Hint, Hazard::AllocInLoop, "streamsan-alloc-in-loop", "Made and ended again and again between kernels",
         "Allocation and its end may synchronise the device. Allocate before the loop, or use stream-ordered memory.",
         kHints},
    Rule{Kind::Hint, Hazard::CopyInPieces, "streamsan-copy-in-pieces", "One copy, made piece by piece",
         "A copy costs some microseconds, however few its bytes. Copy at once, or with a pitch.", kHints},
    Rule{Kind::Hint, Hazard::LegacySerialisation, "streamsan-legacy-serialisation",
         "Work in the legacy default stream makes independent streams wait for each other",
         "It starts after all work in blocking streams, and their later work starts after it. Use non-blocking streams "
         "and events.",
         kHints},
    Rule{Kind::Hint, Hazard::StreamsNeverOverlap, "streamsan-streams-never-overlap", "Streams that take turns",
         "Each piece of work in one is ordered after the work in the other: one stream would be as fast.", kHints},
    Rule{Kind::Hint, Hazard::TimingEvent, "streamsan-timing-event", "Events with timing, used for order only",
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
