// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/stack.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "interposer/fork.h"
#include "interposer/handle_table.h"
#include "interposer/hot.h"
#include "interposer/machine.h"
#include "interposer/modules.h"
#include "interposer/process.h"
#include "interposer/python_stack.h"
#include "interposer/return_places.h"
#include "interposer/this_library.h"
#include "interposer/writer.h"

namespace streamsan::recorder {
namespace {

/// "The return address in `word` stands at `slot`; the next one outwards stands at `next`." next 0: this is the
/// outermost.
struct Step {
  std::uint64_t slot;
  std::uint64_t word;
  std::uint64_t next;
};

constexpr std::size_t kSteps = 8192;
constexpr std::size_t kProbes = 4;

struct CallStack {
  std::uint32_t count = 0;
  std::uint64_t slot[kMaxStackDepth];  // 0: not the place where the address stands (a signal frame)
  std::uint64_t pc[kMaxStackDepth];
  PythonStack python;
  std::uint32_t forward = 0;  // id of the stack of the forward operation
};

}  // namespace

/// A whole stack that was met before. In one piece, and a small one: in a program that does much else between two
/// calls, each line of it has to come from far away (hot.h).
struct alignas(kLineBytes) KnownStack {
  static constexpr unsigned kMost = 30;  // deeper ones are walked
  std::uint32_t id;
  std::uint16_t count;
  struct [[gnu::packed]] Frame {
    std::uint16_t place;  // of its return address, in words above the innermost one
    std::uint32_t lower;  // half of the address: by chance one in 2^32 others has the same
  } frames[kMost];
};
constexpr std::size_t kSets = 64;
constexpr std::size_t kWays = 8;  // as many callers may stand behind one place

struct StackCache {
  std::uint32_t epoch;
  std::uint32_t next_victim;
  /// Of each known stack a hash of its innermost return address, where that stands, and its surroundings; 0: none.
  alignas(kLineBytes) std::uint64_t tags[kSets][kWays];
  KnownStack known[kSets][kWays];
  Step steps[kSteps];
};

namespace {

// A fork keeps g_cache_key, g_key_state: keys are inherited.
constinit pthread_key_t g_cache_key{};
constinit std::atomic<std::uint32_t> g_key_state{0};  // 0 none, 1 being made, 2 ready

/// All stacks of the process, by hash. The id of a stack is its place here plus one.
constexpr std::size_t kMostStacks = std::size_t{1} << 20;
/// Plain words, used through std::atomic_ref: a million atomics are more than some compilers initialise at compile
/// time.
constinit std::uint64_t g_stacks[kMostStacks] = {};

void release_cache(void* cache) {
  munmap(cache, sizeof(StackCache));
  t_thread.stack_cache = nullptr;
}

StackCache* make_cache() {
  std::uint32_t none = 0;
  if (g_key_state.load(std::memory_order_acquire) == 0 && g_key_state.compare_exchange_strong(none, 1)) {
    g_key_state.store(pthread_key_create(&g_cache_key, release_cache) == 0 ? 2 : 3, std::memory_order_release);
  }
  void* made = mmap(nullptr, sizeof(StackCache), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return nullptr;
  // Without a key the cache of a thread that ends is not given back.
  if (g_key_state.load(std::memory_order_acquire) == 2) pthread_setspecific(g_cache_key, made);
  auto* cache = static_cast<StackCache*>(made);
  cache->epoch = process_epoch();
  return t_thread.stack_cache = cache;
}

StackCache* my_cache() {
  StackCache* cache = t_thread.stack_cache;
  if (!cache) return make_cache();
  if (cache->epoch != process_epoch()) {
    std::memset(cache, 0, sizeof *cache);
    cache->epoch = process_epoch();
  }
  return cache;
}

constexpr std::size_t kRoomToUnwind = std::size_t{24} << 10;

struct Unwinding {
  CallStack* out;
  unsigned most;
  std::uint64_t begins_at = 0;  // frames before this one are those of the handler
  ReturnPlaces places{};
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  auto& walk = *static_cast<Unwinding*>(argument);
  std::uint64_t pc = _Unwind_GetIP(context);
  if (pc == 0) return _URC_END_OF_STACK;
  const std::uint64_t slot = walk.places.of(context);
  if (walk.begins_at) {
    if (pc != walk.begins_at) return _URC_NO_REASON;
    walk.begins_at = 0;
  }
  if (is_in_this_library(reinterpret_cast<const void*>(pc))) return _URC_NO_REASON;
  if (walk.out->count == walk.most) return _URC_END_OF_STACK;
  walk.out->slot[walk.out->count] = slot;
  walk.out->pc[walk.out->count] = pc;
  ++walk.out->count;
  return _URC_NO_REASON;
}

std::uint64_t word_at(std::uint64_t place) { return *reinterpret_cast<const std::uint64_t*>(place); }

std::size_t home(std::uint64_t slot, std::uint64_t word) { return mix_bits(slot * 31 + word) % kSteps; }

const Step* find_step(const StackCache& cache, std::uint64_t slot, std::uint64_t word) {
  std::size_t at = home(slot, word);
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    const Step& step = cache.steps[(at + probe) % kSteps];
    if (step.slot == slot && step.word == word) return &step;
  }
  return nullptr;
}

void learn_step(StackCache& cache, const Step& step) {
  std::size_t at = home(step.slot, step.word);
  std::size_t place = (at + cache.next_victim++ % kProbes) % kSteps;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    const Step& there = cache.steps[(at + probe) % kSteps];
    const bool same = there.slot == step.slot && there.word == step.word;
    if (!same && there.slot != 0) continue;
    place = (at + probe) % kSteps;
    if (same) break;
  }
  cache.steps[place] = step;
}

void learn(StackCache& cache, const CallStack& stack, unsigned most) {
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    const bool last = i + 1 == stack.count;
    // A stack that was cut does not show what comes after its last frame.
    if (stack.slot[i] == 0 || (last && stack.count == most) || (!last && stack.slot[i + 1] == 0)) continue;
    learn_step(cache, {stack.slot[i], word_at(stack.slot[i]), last ? 0 : stack.slot[i + 1]});
  }
}

/// What one native stack stands for many of: the chain of frames in Python, and the stack of the forward operation.
STREAMSAN_HOT_CODE std::uint64_t surroundings_of(std::uint64_t python, std::uint32_t forward) {
  return python ^ forward * 0x9e3779b97f4a7c15ull;
}

/// Not 0.
std::uint64_t tag_of(std::uint64_t slot, std::uint64_t word, std::uint64_t surroundings) {
  const std::uint64_t tag = mix_bits((slot * 31 + word) ^ surroundings);
  return tag ? tag : 1;
}

/// Id of the stack whose innermost return address stands at `slot`, if that was met before; else 0.
STREAMSAN_HOT_CODE std::uint32_t find_known(StackCache& cache, std::uint64_t slot, std::uint64_t surroundings) {
  const auto* innermost = reinterpret_cast<const std::uint64_t*>(slot);
  const std::uint64_t tag = tag_of(slot, *innermost, surroundings);
  const std::size_t set = tag % kSets;
  for (std::size_t way = 0; way < kWays; ++way) {
    if (cache.tags[set][way] != tag) continue;
    const KnownStack& known = cache.known[set][way];
    // Outwards, and no farther than it is the same: only then the next place is on this stack.
    unsigned same = 0;
    while (same < known.count &&
           static_cast<std::uint32_t>(innermost[known.frames[same].place]) == known.frames[same].lower)
      ++same;
    if (same == known.count) return known.id;
  }
  return 0;
}

void remember(StackCache& cache, const CallStack& stack, std::uint64_t surroundings, std::uint32_t id) {
  if (id == 0 || stack.count == 0 || stack.count > KnownStack::kMost) return;
  const std::uint64_t innermost = stack.slot[0];
  KnownStack made{.id = id, .count = static_cast<std::uint16_t>(stack.count)};
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    // 0, where it is not known, is far below.
    const std::uint64_t distance = (stack.slot[i] - innermost) / sizeof(std::uint64_t);
    if (distance > std::numeric_limits<std::uint16_t>::max()) return;
    made.frames[i] = {static_cast<std::uint16_t>(distance), static_cast<std::uint32_t>(stack.pc[i])};
  }
  const std::uint64_t tag = tag_of(innermost, word_at(innermost), surroundings);
  const std::size_t way = cache.next_victim++ % kWays;
  std::uint64_t& tag_there = cache.tags[tag % kSets][way];
  // A signal handler of the guest may come here in between.
  tag_there = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  cache.known[tag % kSets][way] = made;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  tag_there = tag;
}

/// Walks by known steps. False: a place that was never seen.
bool walk_known(const StackCache& cache, std::uint64_t slot, unsigned most, CallStack& out) {
  out.count = 0;
  for (;;) {
    const std::uint64_t word = word_at(slot);
    out.slot[out.count] = slot;
    out.pc[out.count++] = return_address_in(word);
    if (out.count == most) return true;
    const Step* step = find_step(cache, slot, word);
    if (!step) return false;
    if (step->next == 0) return true;
    slot = step->next;
  }
}

void describe(std::uint32_t id, const CallStack& stack) {
  note_modules();
  const unsigned words = stack.count + stack.python.count;
  Slot slot = start_record({.kind = trace::Kind::Stack, .continuations = continuations_of_words(words)});
  if (!slot) return;
  auto& w = slot.record->as<trace::Kind::Stack>();
  w.id = id;
  w.frames = stack.count;
  w.python_frames = stack.python.count;
  w.forward = stack.forward;
  std::memcpy(slot.continuation(), stack.pc, stack.count * sizeof stack.pc[0]);
  std::copy_n(stack.python.frame, stack.python.count, slot.continuation() + stack.count);
  publish(slot);
}

std::uint32_t intern(const CallStack& stack) {
  std::uint64_t hash = mix_bits(stack.forward * 31ull + stack.count);
  for (std::uint32_t i = 0; i < stack.count; ++i) hash = mix_bits(hash * 31 + stack.pc[i]);
  for (unsigned i = 0; i < stack.python.count; ++i) hash = mix_bits(hash * 31 + stack.python.frame[i] + 1);
  hash |= 1;  // 0 means free
  for (std::size_t probe = 0; probe < 256; ++probe) {
    std::size_t place = (hash + probe) % kMostStacks;
    std::atomic_ref<std::uint64_t> stored(g_stacks[place]);
    std::uint64_t found = stored.load(std::memory_order_acquire);
    auto id = static_cast<std::uint32_t>(place + 1);
    if (found == hash) return id;
    if (found != 0) continue;
    if (stored.compare_exchange_strong(found, hash, std::memory_order_acq_rel)) {
      describe(id, stack);
      return id;
    }
    if (found == hash) return id;
  }
  return 0;
}

}  // namespace

STREAMSAN_HOT_CODE void expect_stack(const void* frame_address) {
  const StackCache* cache = t_thread.stack_cache;
  if (!cache) return;
  prefetch(cache);
  if (may_be_in_python()) return;  // the tag is not known before that stack was read
  const std::uint64_t slot = return_place_of(frame_address);
  prefetch(cache->tags[tag_of(slot, word_at(slot), 0) % kSets]);
}

STREAMSAN_HOT_CODE std::uint32_t capture_stack(const void* frame_address) {
  if (!options().stacks) return 0;
  StackCache* cache = my_cache();
  if (!cache) return 0;
  const std::uint64_t slot = return_place_of(frame_address);
  std::uint64_t python = python_chain();
  const std::uint32_t forward = t_thread.forward_stack;
  if (const std::uint32_t id = find_known(*cache, slot, surroundings_of(python, forward))) return id;
  const unsigned most = options().stack_depth;
  CallStack stack;
  stack.forward = forward;
  if (!walk_known(*cache, slot, most, stack)) {
    stack.count = 0;
    Unwinding walk{.out = &stack, .most = most};
    _Unwind_Backtrace(visit, &walk);
    learn(*cache, stack, most);
    // A stack under Python for the first time has a place that was not known: so it is enough to look here.
    if (look_for_python()) python = python_chain();
  }
  if (python != 0) capture_python(stack.python);
  const std::uint32_t id = stack.count ? intern(stack) : 0;
  // Where the unwinder did not begin at our caller, the first place is another.
  if (stack.count && stack.slot[0] == slot) remember(*cache, stack, surroundings_of(python, forward), id);
  return id;
}

std::uint32_t capture_python_stack() {
  CallStack stack;
  capture_python(stack.python);
  return stack.python.count ? intern(stack) : 0;
}

std::uint32_t capture_interrupted_stack(std::uint64_t pc) {
  if (!options().stacks) return 0;
  CallStack stack;
  stack.forward = t_thread.forward_stack;
  stack_t alternate{};
  // The guest has given its handlers a stack of their own, and it may be as small as 8 KiB.
  const bool cramped =
      sigaltstack(nullptr, &alternate) == 0 && (alternate.ss_flags & SS_ONSTACK) && alternate.ss_size < kRoomToUnwind;
  if (!cramped) {
    Unwinding walk{.out = &stack, .most = options().stack_depth, .begins_at = pc};
    _Unwind_Backtrace(visit, &walk);
  }
  if (stack.count == 0) stack.pc[stack.count++] = pc;
  // Readers look one byte before an address, since all others are return addresses; this one is exact.
  ++stack.pc[0];
  if (python_chain() != 0) capture_python(stack.python);
  return intern(stack);
}

void in_child::stacks() {
  // In the child of a fork, which has one thread. Pages that were never written stay untouched.
  for (std::uint64_t& stack : g_stacks) {
    if (stack) stack = 0;
  }
}

}  // namespace streamsan::recorder
