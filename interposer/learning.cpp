// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/learning.h"

#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "interposer/agent_host.h"
#include "interposer/clock.h"
#include "interposer/contention.h"
#include "interposer/driver.h"
#include "interposer/earlier.h"
#include "interposer/footprint_records.h"
#include "interposer/fork.h"
#include "interposer/gate.h"
#include "interposer/handle_table.h"
#include "interposer/hot.h"
#include "interposer/pieces.h"
#include "interposer/process.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

constexpr unsigned kMostReasons = 3;
constexpr unsigned kLaunchesOfAnAnswer = 8;  // measured for one question: the places of a loop take turns
constexpr std::uint64_t kShortestPause = kNanosecondsPerSecond;
constexpr std::uint64_t kLongestPause = 10 * kNanosecondsPerSecond;
constexpr std::uint64_t kSettleEvery = kNanosecondsPerSecond / 5;
constexpr std::uint32_t kGatePatience = 200;   // ms
constexpr std::uint32_t kSettlePatience = 20;  // ms
constexpr unsigned kPatientAttempt = 10;  // every so many attempts to settle one waits as long as a measurement may

constinit HandleTable<std::uint32_t, 1u << 13> g_asked{};  // function -> launches still to be measured for the judge
STREAMSAN_HOT_DATA constinit std::atomic<std::uint32_t> g_answers_left{0};  // of all functions together, at least
STREAMSAN_HOT_DATA constinit std::atomic<const StreamSanAgent*> g_agent{nullptr};
STREAMSAN_HOT_DATA constinit std::atomic<bool> g_knows{false};  // something was learned
STREAMSAN_HOT_DATA constinit std::atomic<int> g_captures{0};
STREAMSAN_HOT_DATA constinit std::atomic<std::uint64_t> g_spent_ns{0};
STREAMSAN_HOT_DATA constinit std::atomic<std::uint64_t> g_began_ns{0};  // when the agent was ready
STREAMSAN_HOT_DATA constinit std::atomic<std::uint64_t> g_pause_until_ns{0};
constinit std::atomic<unsigned> g_reasons{0};
constinit std::atomic<bool> g_refused{false};  // a profiler was, and that was said
/// A kernel that did not end in time has left something behind: when the last attempt was made to settle that; 0:
/// nothing.
STREAMSAN_HOT_DATA constinit std::atomic<std::uint64_t> g_unsettled_ns{0};

/// One measurement at a time: the thread that has closed the gate owns what follows until it is open again.
// A fork keeps g_measuring_agent, g_started_ns, g_pieces: each measurement sets them. And g_pause_ns,
// g_settle_attempts: the next pause may be a longer one. And g_reasons, g_refused: the child does not say the same
// again.
constinit const StreamSanAgent* g_measuring_agent = nullptr;
constinit std::uint64_t g_started_ns = 0;
constinit std::uint64_t g_pause_ns = 0;
constinit unsigned g_settle_attempts = 0;
constinit PieceList g_pieces{};

/// Into the report if a judge reads along, else at once: one line is enough.
template <typename... Values>
void tell(const char* format, Values... values) {
  const trace::FileHeader* head = header();
  if (!head || !head->judge_attached.load(std::memory_order_relaxed)) return warn(format, values...);
  char line[1024];
  const int length = std::snprintf(line, sizeof line, format, values...);
  if (length <= 0) return;
  write_message(line,
                static_cast<std::size_t>(length) < sizeof line ? static_cast<std::size_t>(length) : sizeof line - 1);
}

void say_reason(const char* kernel, const char* reason) {
  const unsigned said = g_reasons.fetch_add(1);
  if (said >= kMostReasons) return;
  tell("footprints: %.200s is not measured: %s%s", kernel, reason,
       said + 1 == kMostReasons ? " (no message for further kernels like this)" : "");
}

void stop_learning(const char* reason) {
  if (!g_agent.exchange(nullptr)) return;
  if (trace::FileHeader* head = header()) {
    head->footprints.store(static_cast<std::uint32_t>(trace::Footprints::Inferred), std::memory_order_relaxed);
  }
  tell("footprints: nothing is measured from here on: %s; further footprints are computed from the code, or inferred",
       reason);
}

/// Did the judge ask for this kernel? Takes the question, and answers it with a few launches.
STREAMSAN_HOT_CODE bool is_asked(const Function& function) {
  trace::FileHeader* head = header();
  if (!head || !head->asks.load(std::memory_order_acquire)) return false;
  const std::uint64_t bit = function.id % (trace::kAskedWords * 64);
  const std::uint64_t mask = std::uint64_t{1} << (bit % 64);
  std::atomic<std::uint64_t>& word = head->asked[bit / 64];
  const bool asked = (word.load(std::memory_order_relaxed) & mask) != 0;
  if (!asked && g_answers_left.load(std::memory_order_relaxed) == 0) return false;
  auto* entry = g_asked.insert(std::uint64_t{function.id} + 2);
  if (!entry) return false;
  if (asked && (word.fetch_and(~mask, std::memory_order_relaxed) & mask)) {
    const std::uint32_t were_left = entry->value.exchange(kLaunchesOfAnAnswer, std::memory_order_relaxed);
    g_answers_left.fetch_add(kLaunchesOfAnAnswer - were_left, std::memory_order_relaxed);
  }
  std::uint32_t left = entry->value.load(std::memory_order_relaxed);
  if (left == 0 || !entry->value.compare_exchange_strong(left, left - 1, std::memory_order_relaxed)) return false;
  g_answers_left.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

/// Why a launch is measured, the most urgent first.
enum class Reason : std::uint8_t { Asked, Contends, MayContend };

/// May the time be spent? The share grows with the run, and the less urgent get less of it.
STREAMSAN_HOT_CODE bool is_affordable(Reason reason) {
  const Options& given = options();
  const std::uint64_t spent = g_spent_ns.load(std::memory_order_relaxed);
  if (given.footprint_policy == FootprintPolicy::First) {
    const std::uint64_t most = given.footprint_seconds * kNanosecondsPerSecond;
    return spent < (reason == Reason::Asked ? 2 * most : most);
  }
  const std::uint64_t at_once = given.footprint_allowance * kNanosecondsPerMillisecond;
  if (reason == Reason::MayContend) return spent < at_once / 2;
  if (spent >= given.footprint_seconds * kNanosecondsPerSecond) return false;
  if (spent < at_once / 2) return true;
  const std::uint64_t run = monotonic_ns() - g_began_ns.load(std::memory_order_relaxed);
  const std::uint64_t share = at_once + run / 100 * given.footprint_share;
  return spent < (reason == Reason::Asked ? share : share - share / 4);
}

/// Is it measured until nothing more is to be learned of it? Others once at most.
STREAMSAN_HOT_CODE bool needs_certainty(const LaunchSubject& subject) {
  return subject.contends || options().footprint_policy == FootprintPolicy::First;
}

/// Why a launch is wanted, as far as it matters to an earlier run's answer.
enum class Wanted : std::uint8_t { No, ToLearn, ByTheJudge };

STREAMSAN_HOT_CODE Wanted is_wanted(const LaunchSubject& subject) {
  if (is_asked(*subject.function) && !is_hopeless(subject.hashes, *subject.function))
    return is_affordable(Reason::Asked) ? Wanted::ByTheJudge : Wanted::No;
  if (options().footprint_policy == FootprintPolicy::Asked) return Wanted::No;
  // Of the matrices enough is known, and matrix products take long to measure.
  if (subject.promised && options().footprint_policy == FootprintPolicy::Needed) return Wanted::No;
  // From the cheap to the dear: in most programs the first question ends it.
  const bool certain = needs_certainty(subject);
  if (!certain && !several_streams()) return Wanted::No;
  if (settled_footprint(subject.hashes, certain ? Settled::ForGood : Settled::ForNow) != 0) return Wanted::No;
  if (!is_affordable(certain ? Reason::Contends : Reason::MayContend)) return Wanted::No;
  if (!certain && was_measured(subject.hashes)) return Wanted::No;
  return worth_measuring(subject.hashes, *subject.function) ? Wanted::ToLearn : Wanted::No;
}

/// Does the stream, or any other, take part in a capture? Our own calls would end it.
bool is_capturing(const StreamArgument& stream) { return any_capture() || is_being_captured(stream); }

/// Charges the time since then.
void spend(std::uint64_t since_ns, bool measured) {
  const std::uint64_t spent = monotonic_ns() - since_ns;
  g_spent_ns.fetch_add(spent, std::memory_order_relaxed);
  trace::FileHeader* head = header();
  if (!head) return;
  head->measuring_ns.fetch_add(spent, std::memory_order_relaxed);
  if (measured) head->measured.fetch_add(1, std::memory_order_relaxed);
}

/// Nothing is tried for a while.
void pause() {
  g_pause_ns = g_pause_ns ? g_pause_ns * 2 : kShortestPause;
  if (g_pause_ns > kLongestPause) g_pause_ns = kLongestPause;
  g_pause_until_ns.store(monotonic_ns() + g_pause_ns, std::memory_order_relaxed);
}

/// A measurement without result. The gate is closed.
void judge_failure(const LaunchSubject& subject, const StreamSanMeasurement& result) {
  g_unsettled_ns.store(monotonic_ns(), std::memory_order_relaxed);
  switch (result.outcome) {
    case kStreamSanLate:
      count_late(*subject.function);
      give_up(subject.hashes);
      break;
    case kStreamSanDead:
      stop_learning(result.reason ? result.reason : "the agent gave up");
      break;
    case kStreamSanBusy:
      pause();
      break;
    case kStreamSanTooLarge:
    case kStreamSanFailed:
      if (result.reason) say_reason(subject.function->name, result.reason);
      // Without a reason it may go better the next time: the launch itself failed, or there is more room then.
      result.reason ? give_up(subject.hashes) : count_attempt(subject.hashes);
      break;
    case kStreamSanMeasured:
    case kStreamSanIncomplete:
      break;
  }
}

/// Has an agent settle what is left behind. True: nothing is. The gate is closed.
bool settle_now(const StreamSanAgent& agent, std::uint32_t patience_ms) {
  const std::uint64_t started = monotonic_ns();
  const bool settled = agent.settle(patience_ms);
  g_unsettled_ns.store(settled ? 0 : monotonic_ns(), std::memory_order_relaxed);
  spend(started, false);
  return settled;
}

/// Closes the gate, if need be after another thread has opened it.
bool close_in_turn(std::uint32_t patience_ms) {
  const std::uint64_t deadline = monotonic_ns() + patience_ms * kNanosecondsPerMillisecond;
  while (!Gate::close(patience_ms)) {
    if (monotonic_ns() > deadline) return false;
    const timespec nap{0, 200'000};
    nanosleep(&nap, nullptr);
  }
  return true;
}

/// Now and then, while something is left behind.
void settle_sometimes(const StreamSanAgent& agent) {
  std::uint64_t since = g_unsettled_ns.load(std::memory_order_relaxed);
  if (!since || monotonic_ns() - since < kSettleEvery || !Gate::close(kGatePatience)) return;
  const bool patient = ++g_settle_attempts % kPatientAttempt == 0;
  settle_now(agent, patient ? options().footprint_patience : kSettlePatience);
  Gate::open();
}

/// The allocations the launch's pointers point into, as the driver knows them.
void find_allocations(const LaunchSubject& subject, LaunchPointer* out) {
  for (unsigned i = 0; i < subject.arguments->count(); ++i) {
    LaunchPointer& pointer = out[i];
    pointer = {trace::word_address(subject.arguments->pointers()[i]), 0, 0};
    address_range(pointer.address, pointer.begin, pointer.end);
  }
}

/// Tells a later run what was measured. `earlier`: how often earlier runs have, if it was not measured now.
void write_measured(std::uint64_t key, const LaunchSubject& subject, std::uint32_t footprint, unsigned earlier) {
  if (key == 0) return;
  Slot slot = start_record({.kind = trace::Kind::MeasuredLaunch});
  if (!slot) return;
  auto& w = slot.record->as<trace::Kind::MeasuredLaunch>();
  w.key = key;
  w.function = subject.function->id;
  w.launch = subject.hashes.key;
  w.footprint = footprint;
  w.earlier = earlier;
  publish(slot);
}

/// Has an earlier run measured it? Then it is learned. Not for a launch that may meet unordered work: its bytes may
/// depend on data that are other ones in this run, and what is learned and lies apart is never asked for again.
bool take_earlier(const StreamSanAgent& agent, const LaunchSubject& subject) {
  const std::uint64_t key = earlier_key(agent, subject);
  const auto [launch, pieces] = find_earlier(key);
  if (!launch || launch->pieces > kMostPieces || !may_be_answered(subject.hashes, launch->keys)) return false;
  if (!Gate::close(kGatePatience)) return false;
  // Another thread may have asked meanwhile.
  const bool answered = may_be_answered(subject.hashes, launch->keys);
  if (answered) {
    g_pieces.count = launch->pieces;
    g_pieces.lost = false;
    std::memcpy(g_pieces.pieces, pieces, launch->pieces * sizeof *pieces);
    const std::uint32_t footprint =
        footprint_id(g_pieces.all(),
                     (launch->flags & trace::EarlierLaunch::kIncomplete) != 0 ? std::uint64_t{trace::kIncomplete} : 0);
    if (footprint == 0) {  // not now
      Gate::open();
      return false;
    }
    // As one measurement: enough for a launch that meets nothing, and one that does is measured once more.
    learn_earlier(subject.hashes, footprint, launch->times == 0 ? 0 : 1);
    write_measured(key, subject, footprint, launch->times);
    g_knows.store(true, std::memory_order_relaxed);
    if (trace::FileHeader* head = header()) head->known_earlier.fetch_add(1, std::memory_order_relaxed);
  }
  Gate::open();
  return answered;
}

/// With a footprint, too: what an earlier launch touched is only likely, and the kernel's code may prove it; of a store
/// that was measured, its code tells whether it is atomic.
STREAMSAN_HOT_CODE bool has_new_arguments(const LaunchSubject& subject) {
  const std::uint32_t bytes = subject.function->bytes;
  return bytes > 0 && bytes <= kMostArgumentBytes && first_of_key(subject.hashes);
}

LaunchKnowledge take_result(const LaunchSubject& subject, const StreamSanMeasurement& result) {
  LaunchPointer pointers[kMostLaunchPointers];
  find_allocations(subject, pointers);
  make_pieces(result.ranges, result.count, pointers, subject.arguments->count(), g_pieces);
  const bool incomplete = result.outcome == kStreamSanIncomplete || g_pieces.lost;
  const std::uint32_t footprint = footprint_id(g_pieces.all(), incomplete ? std::uint64_t{trace::kIncomplete} : 0);
  if (footprint == 0) {
    count_attempt(subject.hashes);
    return {};
  }
  learn(subject.hashes, footprint);
  write_measured(earlier_key(*g_measuring_agent, subject), subject, footprint, 0);
  g_knows.store(true, std::memory_order_relaxed);
  g_pause_ns = 0;
  return {.footprint = footprint, .measured = true};
}

}  // namespace

void start_learning() {
  trace::FileHeader* head = header();
  if (!head) return;
  const char* problem = nullptr;
  const StreamSanAgent* agent = load_agent(problem);
  head->footprints.store(static_cast<std::uint32_t>(agent ? trace::Footprints::Measured : trace::Footprints::Inferred),
                         std::memory_order_relaxed);
  if (agent) {
    g_began_ns.store(monotonic_ns());
    follow_contention();
    open_earlier();
    g_agent.store(agent, std::memory_order_release);
  } else if (problem && options().footprints == FootprintMode::Measured) {
    say("footprints cannot be measured: %s; they are computed from the code, or inferred", problem);
  } else if (problem && options().verbosity >= 1) {
    say("footprints are not measured: %s", problem);
  }
}

STREAMSAN_HOT_CODE bool learning() { return g_agent.load(std::memory_order_relaxed) != nullptr; }

void capture_begins() { g_captures.fetch_add(1, std::memory_order_relaxed); }

bool any_capture() { return g_captures.load(std::memory_order_relaxed) > 0; }

void capture_ended() {
  int captures = g_captures.load(std::memory_order_relaxed);
  while (captures > 0 && !g_captures.compare_exchange_weak(captures, captures - 1, std::memory_order_relaxed)) {
  }
}

STREAMSAN_HOT_CODE bool begin_measuring(const LaunchSubject& subject) {
  const StreamSanAgent* agent = g_agent.load(std::memory_order_acquire);
  if (!agent || !subject.function) return false;
  if (g_unsettled_ns.load(std::memory_order_relaxed)) [[unlikely]]
    settle_sometimes(*agent);
  if (subject.may_poll) [[unlikely]] {
    polling_launched(subject.stream);
    return false;
  }
  if (is_polled()) return false;
  const Wanted wanted = is_wanted(subject);
  if (wanted == Wanted::No) return false;
  if (wanted == Wanted::ToLearn && !subject.contends && take_earlier(*agent, subject)) return false;
  const std::uint64_t started = monotonic_ns();
  if (started < g_pause_until_ns.load(std::memory_order_relaxed) || is_capturing(subject.stream)) return false;
  if (!Gate::close(kGatePatience)) {
    // Another thread measures, or one is inside of a launch that takes long.
    if (monotonic_ns() - started > kGatePatience * (kNanosecondsPerMillisecond / 2)) {
      spend(started, false);
      g_pause_until_ns.store(monotonic_ns() + kShortestPause, std::memory_order_relaxed);
    }
    return false;
  }
  // A capture that was about to begin has entered the gate before it was counted, and has left it since.
  if (is_capturing(subject.stream)) {
    Gate::open();
    return false;
  }
  g_started_ns = started;
  g_measuring_agent = agent;
  const StreamSanLaunch launch{.function = reinterpret_cast<void*>(subject.handle),
                               .is_kernel = is_kernel_handle(subject.handle),
                               .stream = reinterpret_cast<void*>(subject.stream.handle),
                               .name = subject.function->name,
                               .pointer_words = subject.arguments->pointers(),
                               .pointer_count = subject.arguments->count()};
  const StreamSanMeasurement begun = agent->begin(&launch);
  if (begun.outcome == kStreamSanMeasured) return true;
  judge_failure(subject, begun);
  spend(started, false);
  Gate::open();
  return false;
}

LaunchKnowledge finish_measuring(const LaunchSubject& subject, bool succeeded) {
  LaunchKnowledge known;
  const StreamSanMeasurement result = g_measuring_agent->end(succeeded);
  if (result.outcome == kStreamSanMeasured || result.outcome == kStreamSanIncomplete) {
    known = take_result(subject, result);
  } else {
    judge_failure(subject, result);
  }
  spend(g_started_ns, known.measured);
  Gate::open();
  if (!known.footprint) return known_of(subject);
  known.first = has_new_arguments(subject);
  return known;
}

STREAMSAN_HOT_CODE LaunchKnowledge known_of(const LaunchSubject& subject) {
  LaunchKnowledge known;
  if (g_knows.load(std::memory_order_relaxed)) {
    known.footprint = settled_footprint(subject.hashes, Settled::ForNow);
    if (!known.footprint) {
      known.footprint = learned_footprint(subject.hashes);
      if (known.footprint) note_settled(subject.hashes, needs_certainty(subject) ? Settled::ForGood : Settled::ForNow);
    }
  }
  known.first = has_new_arguments(subject);
  if (known.footprint) return known;
  known.waits = learning() && is_known_to_wait(*subject.function);
  return known;
}

void profiler_refused() {
  // Also after the agent has given up: it stays subscribed.
  if (g_began_ns.load(std::memory_order_relaxed) == 0 || g_refused.exchange(true)) return;
  constexpr char kWhy[] =
      "a profiler of the program gets no kernels: it uses CUPTI, which refuses it while StreamSan measures kernels. "
      "With --footprints=inferred it gets them, and StreamSan works out from the kernels' code what they touch";
  tell("%s", kWhy);
}

bool settle_after_failure() {
  const StreamSanAgent* agent = g_agent.load(std::memory_order_acquire);
  if (!agent || !g_unsettled_ns.load(std::memory_order_relaxed) || !Gate::close(kGatePatience)) return false;
  const bool settled = settle_now(*agent, options().footprint_patience);
  Gate::open();
  return settled;
}

void context_going(std::uint64_t context) {
  const StreamSanAgent* agent = g_agent.load(std::memory_order_acquire);
  if (!agent) return;
  // Another context may get the handle, and the agent would take its own memory in it for what it was.
  if (!close_in_turn(2 * options().footprint_patience))
    return stop_learning("a context ended, and launches of other threads did not");
  agent->context_going(reinterpret_cast<void*>(context));
  Gate::open();
}

void module_going() {
  const StreamSanAgent* agent = g_agent.load(std::memory_order_acquire);
  if (!agent || !g_unsettled_ns.load(std::memory_order_relaxed)) return;
  if (!close_in_turn(2 * options().footprint_patience)) return;
  agent->module_going();
  Gate::open();
}

void in_child::learning() {
  if (const StreamSanAgent* agent = g_agent.exchange(nullptr)) agent->forget();
  g_asked.clear();
  g_answers_left.store(0);
  g_knows.store(false);
  g_captures.store(0);
  g_spent_ns.store(0);
  g_began_ns.store(0);
  g_pause_until_ns.store(0);
  g_unsettled_ns.store(0);
}

}  // namespace streamsan::recorder
