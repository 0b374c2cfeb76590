// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/knowledge.h"

#include <array>
#include <atomic>
#include <initializer_list>

#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/hot.h"
#include "interposer/process.h"

namespace streamsan::recorder {
namespace {

constexpr unsigned kEnoughMeasurements = 2;  // of one key: the second shows whether it depends on data it reads
constexpr unsigned kEnoughKeys = 2;          // with one result: then the shape is known
constexpr unsigned kEnoughScalars = 3;       // with one result: then the buffers are known
constexpr unsigned kEnoughShapes = 8;        // with one result: then the family is known
constexpr unsigned kMostLate = 2;

/// State of a key, a shape, buffers or a family, packed so that it is one atomic word.
struct State {
  std::uint32_t footprint;  // the last one measured
  std::uint16_t measured;   // of a key or a family: times; of a family with attempts that had no result; of a shape:
                            // keys that an earlier run has answered for
  std::uint8_t agreed;      // of a shape or of buffers: further keys with this footprint; of a family: further shapes
  bool varies : 1;          // two measurements differed
  bool hopeless : 1;        // of a key: not to be tried again
  bool met : 1;             // of a key: first_of_key() was asked before
};
static_assert(sizeof(State) == 8);

constinit HandleTable<State, 1u << 17> g_keys{};
constinit HandleTable<State, 1u << 15> g_shapes{};
constinit HandleTable<State, 1u << 15> g_buffers{};
constinit HandleTable<State, 1u << 14> g_families{};
constinit HandleTable<std::uint32_t, 1u << 13> g_late{};  // function -> times it did not end in time

/// Each the upper half of the hash of a key or of buffers, and in the lower half the footprint; its place follows from
/// other bits of the hash. Two hashes that agree in all of these are taken for one: one pair in 2^41.
constexpr std::size_t kSettled = 512;
constexpr std::uint64_t kFootprintBits = 0x7fffffff;
constexpr std::uint64_t kForNow = 0x80000000;  // of an entry: one more measurement could teach something
STREAMSAN_HOT_TABLE constinit std::array<std::atomic<std::uint64_t>, kSettled> g_settled{};
/// Calls of learn(): what was noted before may be wrong.
// A fork keeps g_learned: it only counts up.
STREAMSAN_HOT_DATA constinit std::atomic<std::uint32_t> g_learned{0};

/// Keys that were met, each at a place that its hash gives, in front of the large table.
constexpr std::size_t kMet = 512;
STREAMSAN_HOT_TABLE constinit std::array<std::atomic<std::uint64_t>, kMet> g_met{};

std::atomic<std::uint64_t>& settled_place(std::uint64_t hash) { return g_settled[hash % kSettled]; }

void forget_settled() {
  for (std::atomic<std::uint64_t>& place : g_settled) place.store(0, std::memory_order_relaxed);
}

/// Handles 0 and 1 have a meaning of their own in the tables.
std::uint64_t handle_of(std::uint64_t hash) { return hash > 1 ? hash : hash + 2; }
std::uint64_t handle_of(const Function& function) { return std::uint64_t{function.id} + 2; }

template <class Table>
State state_in(Table& table, std::uint64_t hash) {
  const auto* entry = table.find(handle_of(hash));
  return entry ? entry->value.load(std::memory_order_relaxed) : State{};
}

/// change(State&) on the entry of the hash, which is made if there is room.
template <class Table, class Change>
void change_in(Table& table, std::uint64_t hash, Change change) {
  auto* entry = table.insert(handle_of(hash));
  if (!entry) return;
  State state = entry->value.load(std::memory_order_relaxed);
  change(state);
  entry->value.store(state, std::memory_order_relaxed);
}

void count(State& state) {
  if (state.measured < 0xffff) ++state.measured;
}

/// `other`: of a launch that differs from those before in what the level leaves out.
template <class Table>
void add_result(Table& table, std::uint64_t hash, std::uint32_t footprint, bool other) {
  change_in(table, hash, [&](State& state) {
    if (state.footprint && state.footprint != footprint) state.varies = true;
    if (state.footprint == footprint && other && state.agreed < 0xff) ++state.agreed;
    state.footprint = footprint;
  });
}

bool holds(const State& state, unsigned enough) { return !state.varies && state.agreed >= enough; }

}  // namespace

void learn(const LaunchHashes& launch, std::uint32_t footprint) {
  // Not `measured`: attempts without result count there, too.
  const bool new_key = state_in(g_keys, launch.key).footprint == 0;
  const bool new_shape = state_in(g_shapes, launch.shape).footprint == 0;
  add_result(g_families, launch.family, footprint, new_shape);
  add_result(g_shapes, launch.shape, footprint, new_key);
  add_result(g_buffers, launch.buffers, footprint, new_key);
  add_result(g_keys, launch.key, footprint, false);
  change_in(g_keys, launch.key, count);
  change_in(g_families, launch.family, count);
  g_learned.fetch_add(1);
  forget_settled();
}

bool may_be_answered(const LaunchHashes& launch, unsigned keys) {
  const State key = state_in(g_keys, launch.key);
  if (key.footprint || key.measured || key.hopeless) return false;
  // As many as make a shape known within one run make it known here.
  return keys > kEnoughKeys || state_in(g_shapes, launch.shape).measured < keys;
}

void learn_earlier(const LaunchHashes& launch, std::uint32_t footprint, unsigned times) {
  for (unsigned i = 0; i < times && i < kEnoughMeasurements; ++i) learn(launch, footprint);
  change_in(g_shapes, launch.shape, count);
}

STREAMSAN_HOT_CODE std::uint32_t settled_footprint(const LaunchHashes& launch, Settled how) {
  for (const std::uint64_t hash : {launch.key, launch.buffers}) {
    const std::uint64_t entry = settled_place(hash).load(std::memory_order_relaxed);
    if (entry == 0 || ((entry ^ hash) & ~(kFootprintBits | kForNow)) != 0) continue;
    if (how == Settled::ForNow || !(entry & kForNow)) return static_cast<std::uint32_t>(entry & kFootprintBits);
  }
  return 0;
}

void note_settled(const LaunchHashes& launch, Settled how) {
  const std::uint32_t learned = g_learned.load();
  const State key = state_in(g_keys, launch.key);
  if (key.varies) return;
  const State buffers = state_in(g_buffers, launch.buffers);
  // Other keys with the same buffers have the same footprint then.
  const bool by_buffers = holds(buffers, kEnoughScalars);
  const bool for_good = by_buffers || key.measured >= kEnoughMeasurements;
  if (!by_buffers && key.footprint == 0) return;
  if (!for_good && how == Settled::ForGood) return;
  const std::uint64_t hash = by_buffers ? launch.buffers : launch.key;
  std::atomic<std::uint64_t>& place = settled_place(hash);
  // In one order with the count, which is read after it: a thread that counts first and then clears, clears this, too.
  place.store((hash & ~(kFootprintBits | kForNow)) | (for_good ? 0 : kForNow) |
              (by_buffers ? buffers.footprint : key.footprint));
  // Somebody has learned something in between, perhaps about this.
  if (g_learned.load() != learned) place.store(0, std::memory_order_relaxed);
}

STREAMSAN_HOT_CODE std::uint32_t learned_footprint(const LaunchHashes& launch) {
  const State key = state_in(g_keys, launch.key);
  if (key.varies) return 0;
  if (key.footprint) return key.footprint;
  const State shape = state_in(g_shapes, launch.shape);
  if (holds(shape, kEnoughKeys)) return shape.footprint;
  const State buffers = state_in(g_buffers, launch.buffers);
  if (holds(buffers, kEnoughScalars)) return buffers.footprint;
  const State family = state_in(g_families, launch.family);
  return holds(family, kEnoughShapes) ? family.footprint : 0;
}

STREAMSAN_HOT_CODE bool first_of_key(const LaunchHashes& launch) {
  std::atomic<std::uint64_t>& recent = g_met[launch.key % kMet];
  if (recent.load(std::memory_order_relaxed) == handle_of(launch.key)) return false;
  auto* entry = g_keys.insert(handle_of(launch.key));
  if (!entry) return false;
  State key = entry->value.load(std::memory_order_relaxed);
  if (key.met) {
    recent.store(handle_of(launch.key), std::memory_order_relaxed);
    return false;
  }
  State met = key;
  met.met = true;
  return entry->value.compare_exchange_strong(key, met, std::memory_order_relaxed);
}

STREAMSAN_HOT_CODE bool worth_measuring(const LaunchHashes& launch, const Function& function) {
  // The families first: launches of those that are done with are asked about for ever, and each table costs a miss.
  const State family = state_in(g_families, launch.family);
  if (family.measured >= options().footprint_launches || holds(family, kEnoughShapes)) return false;
  const State key = state_in(g_keys, launch.key);
  if (is_hopeless(launch, function) || (key.measured >= kEnoughMeasurements && !key.varies)) return false;
  return !holds(state_in(g_buffers, launch.buffers), kEnoughScalars);
}

STREAMSAN_HOT_CODE bool was_measured(const LaunchHashes& launch) {
  return state_in(g_families, launch.family).measured > 0;
}

void count_attempt(const LaunchHashes& launch) { change_in(g_families, launch.family, count); }

void give_up(const LaunchHashes& launch) {
  count_attempt(launch);
  change_in(g_keys, launch.key, [](State& state) { state.hopeless = true; });
}

bool is_hopeless(const LaunchHashes& launch, const Function& function) {
  if (state_in(g_keys, launch.key).hopeless) return true;
  const auto* late = g_late.find(handle_of(function));
  return late && late->value.load(std::memory_order_relaxed) >= kMostLate;
}

void count_late(const Function& function) {
  if (auto* entry = g_late.insert(handle_of(function))) entry->value.fetch_add(1, std::memory_order_relaxed);
}

bool is_known_to_wait(const Function& function) { return g_late.find(handle_of(function)) != nullptr; }

void in_child::knowledge() {
  forget_settled();
  for (std::atomic<std::uint64_t>& key : g_met) key.store(0, std::memory_order_relaxed);
  g_keys.clear();
  g_shapes.clear();
  g_buffers.clear();
  g_families.clear();
  g_late.clear();
}

}  // namespace streamsan::recorder
