// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/learning.h"

#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "interposer/agent_host.h"
#include "interposer/gate.h"
#include "interposer/handle_table.h"
#include "interposer/pieces.h"
#include "interposer/process.h"
#include "interposer/writer.h"
#include "ordering/types.h"

namespace streamsan::recorder {
namespace {

constexpr unsigned kEnoughAgreement = 2;  // other pointers, same footprint: then the shape is known
constexpr unsigned kEnoughInFamily = 8;   // other arguments, same footprint: then the family is known
constexpr unsigned kShapesOfFamily = 4;   // a family may be measured as often as so many shapes
constexpr unsigned kMostLate = 2;
constexpr unsigned kMostReasons = 3;
constexpr std::uint64_t kNanoseconds = 1'000'000'000;
constexpr std::uint32_t kGatePatience = 200;  // ms
constexpr std::uint64_t kSettleEvery = kNanoseconds / 5;

/// State of a key, a shape or a family, packed so that it is one atomic word.
struct State {
  std::uint32_t footprint;  // the last one measured
  std::uint16_t measured;   // times
  std::uint8_t agreed;      // of a shape: further keys with the same footprint; of a family: further launches
  bool varies : 1;          // two measurements differed
  bool hopeless : 1;        // of a key: not to be tried again
  bool told : 1;            // of a key: known_of() was asked before
};
static_assert(sizeof(State) == 8);

constinit HandleTable<State, 1u << 17> g_keys{};
constinit HandleTable<State, 1u << 15> g_shapes{};
constinit HandleTable<State, 1u << 14> g_families{};
constinit HandleTable<std::uint32_t, 1u << 16> g_footprints{};  // hash of the pieces -> id
constinit HandleTable<std::uint32_t, 1u << 13> g_late{};        // function id -> times it did not end in time
constinit std::atomic<std::uint32_t> g_next_footprint{1};
constinit std::atomic<const StreamSanAgent*> g_agent{nullptr};
constinit std::atomic<int> g_captures{0};
constinit std::atomic<std::uint64_t> g_spent_ns{0};
constinit std::atomic<unsigned> g_reasons{0};

/// A late kernel's module waits to be unpatched: since when the last attempt was made, 0: nothing waits.
constinit std::atomic<std::uint64_t> g_unsettled_ns{0};

/// One measurement at a time: whoever has closed the gate owns what follows until it is open again.
constinit const StreamSanAgent* g_measuring_agent = nullptr;
constinit std::uint64_t g_started_ns = 0;
constinit bool g_was_asked = false;
constinit PieceList g_pieces{};

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kNanoseconds + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Handles 0 and 1 have a meaning of their own in the tables.
std::uint64_t handle_of(std::uint64_t hash) { return hash > 1 ? hash : hash + 2; }

/// Into the report if a judge reads along, else at once: one line is enough.
template <typename... Values>
void tell(const char* format, Values... values) {
  const trace::FileHeader* head = header();
  if (!head || !head->judge_attached.load(std::memory_order_relaxed)) return warn(format, values...);
  char line[1024];
  const int length = std::snprintf(line, sizeof line, format, values...);
  if (length <= 0) return;
  const std::uint64_t words[trace::kRecordWords] = {};
  write_text_record(
      trace::Kind::Message, words, 0, line,
      static_cast<std::size_t>(length) < sizeof line ? static_cast<std::size_t>(length) : sizeof line - 1);
}

void say_reason(const char* kernel, const char* reason) {
  const unsigned said = g_reasons.fetch_add(1);
  if (said >= kMostReasons) return;
  tell("footprints: %.200s is not measured: %s%s", kernel, reason,
       said + 1 == kMostReasons ? " (further kernels like this are not told)" : "");
}

void stop_learning(const char* reason) {
  if (!g_agent.exchange(nullptr)) return;
  if (trace::FileHeader* head = header()) {
    head->footprints.store(static_cast<std::uint32_t>(trace::Footprints::Inferred), std::memory_order_relaxed);
  }
  tell("footprints: nothing is measured from here on: %s; they are inferred", reason);
}

/// Did the judge ask for this kernel?
bool is_asked(const Function& function) {
  trace::FileHeader* head = header();
  if (!head || !head->asks.load(std::memory_order_acquire)) return false;
  const std::uint64_t bit = function.id % (trace::kAskedWords * 64);
  return (head->asked[bit / 64].load(std::memory_order_relaxed) >> (bit % 64) & 1) != 0;
}

void answer(const Function& function) {
  trace::FileHeader* head = header();
  if (!head) return;
  const std::uint64_t bit = function.id % (trace::kAskedWords * 64);
  head->asked[bit / 64].fetch_and(~(std::uint64_t{1} << (bit % 64)), std::memory_order_relaxed);
}

template <class Table>
State state_in(Table& table, std::uint64_t hash) {
  const auto* entry = table.find(handle_of(hash));
  return entry ? entry->value.load(std::memory_order_relaxed) : State{};
}

bool has_one_result(const State& state, unsigned enough) { return !state.varies && state.agreed >= enough; }

bool is_wanted(const LaunchSubject& subject, bool asked) {
  const State key = state_in(g_keys, subject.key);
  if (key.hopeless) return false;
  const std::uint64_t budget = options().footprint_seconds * kNanoseconds;
  const std::uint64_t spent = g_spent_ns.load(std::memory_order_relaxed);
  if (asked) return spent < 2 * budget;
  if (options().footprint_policy != FootprintPolicy::First || spent >= budget) return false;
  if (key.measured >= 2 && !key.varies) return false;
  const State shape = state_in(g_shapes, subject.shape);
  if (shape.measured >= options().footprint_launches) return false;
  const State family = state_in(g_families, subject.family);
  if (family.measured >= kShapesOfFamily * options().footprint_launches) return false;
  if (has_one_result(family, kEnoughInFamily)) return false;
  const auto* late = g_late.find(handle_of(subject.function->id + 1));
  return !late || late->value.load() < kMostLate;
}

/// The allocations the launch's pointers point into, as the driver knows them.
void find_allocations(const LaunchSubject& subject, LaunchPointer* out) {
  for (unsigned i = 0; i < subject.count; ++i) {
    LaunchPointer& pointer = out[i];
    pointer = {trace::word_address(subject.words[i]), 0, 0};
    address_range(pointer.address, pointer.begin, pointer.end);
  }
}

/// Memory that no argument points to, a module variable: the judge must hear of it.
void define_memory(const trace::Piece& piece) {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  if (!address_range(static_cast<std::uint64_t>(piece.offset), begin, end)) return;
  Slot slot = reserve(0);
  if (!slot) return;
  slot.record->kind = trace::Kind::Alloc;
  slot.record->api = static_cast<std::uint16_t>(api::Index::cuModuleGetGlobal_v2);
  slot.record->flags = trace::kVariable;
  slot.record->thread = thread_number();
  slot.record->w[0] = begin;
  slot.record->w[1] = end - begin;
  slot.record->w[2] = static_cast<std::uint64_t>(ordering::MemoryKind::Device);
  slot.record->w[4] = current_context();
  publish(slot);
}

void write_footprint(std::uint32_t id, const PieceList& list, bool incomplete) {
  std::size_t first = 0;
  do {
    const std::size_t left = list.count - first;
    const std::size_t count = left < trace::kMostPiecesPerRecord ? left : trace::kMostPiecesPerRecord;
    const std::size_t words = count * trace::kPieceWords;
    Slot slot = reserve(static_cast<unsigned>((words + trace::kContinuationWords - 1) / trace::kContinuationWords));
    if (!slot) return;
    slot.record->kind = trace::Kind::Footprint;
    slot.record->thread = thread_number();
    slot.record->w[0] = id;
    slot.record->w[1] = count;
    slot.record->w[2] = incomplete ? std::uint64_t{trace::kIncomplete} : 0;
    slot.record->w[3] = first + count < list.count ? 1 : 0;
    if (count) std::memcpy(slot.continuation(), list.pieces + first, count * sizeof(trace::Piece));
    publish(slot);
    first += count;
  } while (first < list.count);
}

/// Id of the footprint with these pieces; defines it if it is new.
std::uint32_t footprint_id(const PieceList& list, bool incomplete) {
  auto* entry = g_footprints.insert(handle_of(hash_of(list) ^ (incomplete ? 0x5bd1e995 : 0)));
  std::uint32_t id = entry ? entry->value.load() : 0;
  if (id) return id;
  id = g_next_footprint.fetch_add(1);
  for (std::size_t i = 0; i < list.count; ++i) {
    if (list.pieces[i].pointer == trace::Piece::kAbsolute) define_memory(list.pieces[i]);
  }
  write_footprint(id, list, incomplete);
  if (entry) entry->value.store(id);
  if (trace::FileHeader* head = header()) head->learned.fetch_add(1, std::memory_order_relaxed);
  return id;
}

/// Adds a result to a state. `other`: of a launch that differs from those before.
template <class Table>
void add_result(Table& table, std::uint64_t hash, std::uint32_t footprint, bool other) {
  auto* entry = table.insert(handle_of(hash));
  if (!entry) return;
  State state = entry->value.load();
  if (state.footprint && state.footprint != footprint) state.varies = true;
  if (state.footprint == footprint && other && state.agreed < 0xff) ++state.agreed;
  state.footprint = footprint;
  if (state.measured < 0xffff) ++state.measured;
  entry->value.store(state);
}

void remember(const LaunchSubject& subject, std::uint32_t footprint) {
  const bool new_key = state_in(g_keys, subject.key).measured == 0;
  add_result(g_families, subject.family, footprint, true);
  add_result(g_shapes, subject.shape, footprint, new_key);
  add_result(g_keys, subject.key, footprint, false);
}

void give_up(const LaunchSubject& subject) {
  if (auto* entry = g_keys.insert(handle_of(subject.key))) {
    State key = entry->value.load();
    key.hopeless = true;
    entry->value.store(key);
  }
}

void count_late(const LaunchSubject& subject) {
  give_up(subject);
  g_unsettled_ns.store(now_ns(), std::memory_order_relaxed);
  if (auto* late = g_late.insert(handle_of(subject.function->id + 1))) late->value.fetch_add(1);
}

/// An attempt counts like a measurement, so that attempts end.
void count_attempt(const LaunchSubject& subject) {
  auto* entry = g_shapes.insert(handle_of(subject.shape));
  if (!entry) return;
  State shape = entry->value.load();
  if (shape.measured < 0xffff) ++shape.measured;
  entry->value.store(shape);
}

void judge_failure(const LaunchSubject& subject, const StreamSanMeasurement& result) {
  switch (result.outcome) {
    case kStreamSanLate:
      count_late(subject);
      break;
    case kStreamSanDead:
      stop_learning(result.reason ? result.reason : "the agent gave up");
      break;
    case kStreamSanTooLarge:
    case kStreamSanFailed:
      if (result.reason) say_reason(subject.function->name, result.reason);
      // Without a reason it may go better the next time: the launch itself failed, or there is more room then.
      result.reason ? give_up(subject) : count_attempt(subject);
      break;
    case kStreamSanMeasured:
    case kStreamSanIncomplete:
    case kStreamSanBusy:
      break;
  }
}

/// Now and then, after a late kernel: may its module be unpatched?
void settle(const StreamSanAgent& agent) {
  std::uint64_t since = g_unsettled_ns.load(std::memory_order_relaxed);
  const std::uint64_t now = now_ns();
  if (!since || now - since < kSettleEvery || !g_unsettled_ns.compare_exchange_strong(since, now)) return;
  if (!Gate::close(kGatePatience)) return;
  if (agent.settle()) g_unsettled_ns.store(0);
  Gate::open();
}

void spend(std::uint64_t since_ns, bool measured) {
  const std::uint64_t spent = now_ns() - since_ns;
  g_spent_ns.fetch_add(spent, std::memory_order_relaxed);
  trace::FileHeader* head = header();
  if (!head) return;
  head->measuring_ns.fetch_add(spent, std::memory_order_relaxed);
  if (measured) head->measured.fetch_add(1, std::memory_order_relaxed);
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
    g_agent.store(agent, std::memory_order_release);
  } else if (problem && options().footprints == FootprintMode::Measured) {
    warn("footprints cannot be measured: %s; they are inferred", problem);
  } else if (problem && options().verbosity >= 1) {
    say("footprints are inferred: %s", problem);
  }
}

bool learning() { return g_agent.load(std::memory_order_relaxed) != nullptr; }

void capture_began() { g_captures.fetch_add(1, std::memory_order_relaxed); }
void capture_ended() { g_captures.fetch_sub(1, std::memory_order_relaxed); }

bool begin_measuring(const LaunchSubject& subject) {
  const StreamSanAgent* agent = g_agent.load(std::memory_order_acquire);
  if (!agent || !subject.function || g_captures.load(std::memory_order_relaxed) > 0) return false;
  if (g_unsettled_ns.load(std::memory_order_relaxed)) [[unlikely]]
    settle(*agent);
  const bool asked = is_asked(*subject.function);
  if (!is_wanted(subject, asked)) return false;
  if (!Gate::close(kGatePatience)) return false;
  g_started_ns = now_ns();
  g_was_asked = asked;
  g_measuring_agent = agent;
  const StreamSanLaunch launch{.function = reinterpret_cast<void*>(subject.handle),
                               .is_kernel = is_kernel_handle(subject.handle),
                               .stream = reinterpret_cast<void*>(subject.stream.handle),
                               .name = subject.function->name,
                               .pointer_words = subject.words,
                               .pointer_count = subject.count};
  const StreamSanMeasurement begun = agent->begin(&launch);
  if (begun.outcome == kStreamSanMeasured) return true;
  if (asked && begun.outcome != kStreamSanBusy) answer(*subject.function);
  judge_failure(subject, begun);
  spend(g_started_ns, false);
  Gate::open();
  return false;
}

LaunchKnowledge finish_measuring(const LaunchSubject& subject, bool succeeded) {
  LaunchKnowledge known;
  const StreamSanMeasurement result = g_measuring_agent->end(succeeded);
  switch (result.outcome) {
    case kStreamSanMeasured:
    case kStreamSanIncomplete: {
      LaunchPointer pointers[kMostLaunchPointers];
      find_allocations(subject, pointers);
      make_pieces(result.ranges, result.count, g_pieces);
      make_relative(pointers, subject.count, g_pieces);
      known.footprint = footprint_id(g_pieces, result.outcome == kStreamSanIncomplete || g_pieces.lost);
      known.measured = true;
      remember(subject, known.footprint);
      break;
    }
    default:
      judge_failure(subject, result);
  }
  if (g_was_asked) answer(*subject.function);
  spend(g_started_ns, known.measured);
  Gate::open();
  return known.footprint ? known : known_of(subject);
}

namespace {

/// What is known of a launch that was not measured, but for `waits`.
LaunchKnowledge look_up(const LaunchSubject& subject) {
  auto* entry = g_keys.insert(handle_of(subject.key));
  if (!entry) return {};
  State key = entry->value.load(std::memory_order_relaxed);
  if (key.measured && !key.varies) return {.footprint = key.footprint};
  if (learning()) {
    const State shape = state_in(g_shapes, subject.shape);
    if (!key.varies && has_one_result(shape, kEnoughAgreement)) return {.footprint = shape.footprint};
    const State family = state_in(g_families, subject.family);
    if (!key.varies && has_one_result(family, kEnoughInFamily)) return {.footprint = family.footprint};
  }
  if (key.told) return {};
  State told = key;
  told.told = true;
  return {.first = entry->value.compare_exchange_strong(key, told)};
}

}  // namespace

LaunchKnowledge known_of(const LaunchSubject& subject) {
  LaunchKnowledge known = look_up(subject);
  known.waits = !known.footprint && learning() && g_late.find(handle_of(subject.function->id + 1)) != nullptr;
  return known;
}

void forget_learning() {
  if (const StreamSanAgent* agent = g_agent.exchange(nullptr)) agent->forget();
  g_keys.clear();
  g_shapes.clear();
  g_families.clear();
  g_footprints.clear();
  g_late.clear();
  g_next_footprint.store(1);
  g_captures.store(0);
  g_spent_ns.store(0);
  g_unsettled_ns.store(0);
  Gate::forget();
}

}  // namespace streamsan::recorder
