// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unwind.h>

#include <atomic>
#include <cstring>

#include "interposer/handle_table.h"
#include "interposer/modules.h"
#include "interposer/process.h"
#include "interposer/writer.h"

extern "C" {
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));
}

namespace streamsan::recorder {
namespace {

struct CachedStack {
  std::uint64_t frame;  // wrapper's frame address; 0: free
  std::uint32_t id;
  std::uint32_t count;
  std::uint64_t slot[kMaxStackDepth];  // where each return address stands
  std::uint64_t pc[kMaxStackDepth];
};

constexpr std::size_t kSets = 64;
constexpr std::size_t kWays = 4;

}  // namespace

struct StackCache {
  std::uint32_t epoch;
  std::uint32_t next_victim;
  CachedStack entries[kSets][kWays];
};

namespace {

constinit pthread_key_t g_cache_key{};
constinit std::atomic<std::uint32_t> g_key_state{0};  // 0 none, 1 being made, 2 ready

/// All stacks of the process, by hash. The id of a stack is its place here plus one.
constexpr std::size_t kMostStacks = std::size_t{1} << 20;
constinit std::atomic<std::uint64_t> g_stacks[kMostStacks] = {};

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

bool in_this_library(std::uint64_t pc) {
  return reinterpret_cast<std::uint64_t>(__ehdr_start) <= pc && pc < reinterpret_cast<std::uint64_t>(_end);
}

struct Walk {
  CachedStack* out;
  unsigned most;
  bool cacheable;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* argument) {
  auto& walk = *static_cast<Walk*>(argument);
  std::uint64_t pc = _Unwind_GetIP(context);
  if (pc == 0) return _URC_END_OF_STACK;
  if (in_this_library(pc)) return _URC_NO_REASON;
  // The context's CFA is where the callee's frame ended: the return address stands just below.
  std::uint64_t slot = _Unwind_GetCFA(context) - sizeof(void*);
  if (slot % sizeof(void*) != 0 || *reinterpret_cast<const std::uint64_t*>(slot) != pc) {
    walk.cacheable = false;  // a signal frame
    slot = 0;
  }
  walk.out->slot[walk.out->count] = slot;
  walk.out->pc[walk.out->count] = pc;
  return ++walk.out->count < walk.most ? _URC_NO_REASON : _URC_END_OF_STACK;
}

bool still_current(const CachedStack& stack, std::uint64_t frame) {
  if (stack.frame != frame) return false;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    if (*reinterpret_cast<const std::uint64_t*>(stack.slot[i]) != stack.pc[i]) return false;
  }
  return true;
}

void describe(std::uint32_t id, const CachedStack& stack) {
  note_modules();
  unsigned continuations = (stack.count + trace::kContinuationWords - 1) / trace::kContinuationWords;
  Slot slot = reserve(continuations);
  if (!slot) return;
  slot.record->kind = trace::Kind::Stack;
  slot.record->thread = thread_number();
  slot.record->w[0] = id;
  slot.record->w[1] = stack.count;
  std::memcpy(slot.continuation(), stack.pc, stack.count * sizeof stack.pc[0]);
  publish(slot);
}

std::uint32_t intern(const CachedStack& stack) {
  std::uint64_t hash = stack.count;
  for (std::uint32_t i = 0; i < stack.count; ++i) hash = mix_bits(hash * 31 + stack.pc[i]);
  hash |= 1;  // 0 means free
  for (std::size_t probe = 0; probe < 256; ++probe) {
    std::size_t place = (hash + probe) % kMostStacks;
    std::uint64_t found = g_stacks[place].load(std::memory_order_acquire);
    auto id = static_cast<std::uint32_t>(place + 1);
    if (found == hash) return id;
    if (found != 0) continue;
    if (g_stacks[place].compare_exchange_strong(found, hash, std::memory_order_acq_rel)) {
      describe(id, stack);
      return id;
    }
    if (found == hash) return id;
  }
  return 0;
}

}  // namespace

std::uint32_t capture_stack(const void* frame_address) {
  if (!options().stacks) return 0;
  StackCache* cache = my_cache();
  if (!cache) return 0;
  auto frame = reinterpret_cast<std::uint64_t>(frame_address);
  // The return address of the wrapper is in the guest: the call site in cudart, or in the program itself. Different
  // callers of one runtime function share it, hence several ways.
  std::uint64_t caller = *reinterpret_cast<const std::uint64_t*>(frame + sizeof(void*));
  CachedStack(&set)[kWays] = cache->entries[mix_bits(caller ^ frame) % kSets];
  for (CachedStack& entry : set) {
    if (still_current(entry, frame)) [[likely]]
      return entry.id;
  }
  CachedStack& entry = set[cache->next_victim++ % kWays];
  entry.frame = 0;
  entry.count = 0;
  Walk walk{&entry, options().stack_depth, true};
  _Unwind_Backtrace(visit, &walk);
  if (entry.count == 0) return 0;
  entry.id = intern(entry);
  if (walk.cacheable) entry.frame = frame;
  return entry.id;
}

void forget_stacks() {
  for (auto& stack : g_stacks) {
    if (stack.load(std::memory_order_relaxed)) stack.store(0, std::memory_order_relaxed);
  }
  forget_modules();
}

}  // namespace streamsan::recorder
