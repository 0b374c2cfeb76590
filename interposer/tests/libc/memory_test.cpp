// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wrappers of what gives memory back, and the frames that go away.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "interposer/machine.h"
#include "interposer/tests/libc/recorder_stub.h"
#include "trace/pages.h"

namespace streamsan::testing {
namespace {

using trace::HostFreeWay;

const std::size_t kPage = page_bytes();

class LibcMemory : public ::testing::Test {
 protected:
  LibcMemory() {
    set_host_frees(true);
    forget_recorded();
  }
  ~LibcMemory() override {
    set_lent(false);
    set_in_driver(false);
    set_freeable(nullptr, ~std::size_t{0});
  }
};

char* map(std::size_t bytes, int protection = PROT_READ | PROT_WRITE) {
  return static_cast<char*>(mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

/// What was reported while only `call` ran.
template <class Call>
std::vector<Recorded> recorded_by(Call call) {
  forget_recorded();
  set_lent(true);
  call();
  set_lent(false);
  std::vector<Recorded> all;
  for (std::size_t i = 0; i < recorded_count(); ++i) all.push_back(recorded(i));
  return all;
}

/// The frees of it.
template <class Call>
std::vector<Recorded> freed_by(Call call) {
  std::vector<Recorded> frees;
  for (const Recorded& one : recorded_by(call)) {
    if (one.what == What::Free) frees.push_back(one);
  }
  return frees;
}

void expect_free(const std::vector<Recorded>& recorded, const void* begin, std::size_t bytes, HostFreeWay way,
                 const char* function) {
  ASSERT_EQ(recorded.size(), 1u);
  EXPECT_EQ(recorded[0].begin, begin);
  EXPECT_EQ(recorded[0].bytes, bytes);
  EXPECT_EQ(recorded[0].way, way);
  EXPECT_STREQ(recorded[0].function, function);
}

#ifndef __SANITIZE_ADDRESS__  // whose allocator stands before ours

/// Kept from the optimiser, which knows malloc.
void* opaque(void* pointer) {
  asm volatile("" : "+r"(pointer)::"memory");
  return pointer;
}

TEST_F(LibcMemory, Free) {
  void* block = opaque(malloc(100));
  const std::size_t usable = malloc_usable_size(block);
  expect_free(freed_by([&] { free(block); }), block, usable, HostFreeWay::Heap, "free");
  EXPECT_TRUE(recorded_by([] { free(opaque(nullptr)); }).empty());
  set_lent(false);
  forget_recorded();
  free(opaque(malloc(100)));
  EXPECT_EQ(recorded_count(), 0u) << "nothing was lent";
}

TEST_F(LibcMemory, DeleteIsAFree) {
  char* block = static_cast<char*>(opaque(new char[100]));
  const std::size_t usable = malloc_usable_size(block);
  expect_free(freed_by([&] { delete[] block; }), block, usable, HostFreeWay::Heap, "free");
}

/// Most blocks of a program: no lock is taken for them.
TEST_F(LibcMemory, BlocksWithoutALoanAreNotLookedAt) {
  void* low = malloc(100);
  char* block = static_cast<char*>(calloc(1, 1 << 20));  // has a mapping of its own
  char* grows = static_cast<char*>(calloc(1, 1 << 20));
  set_freeable(block + (900 << 10), 100);
  EXPECT_TRUE(recorded_by([&] { free(low); }).empty());
  EXPECT_TRUE(recorded_by([&] { grows = static_cast<char*>(realloc(grows, 3 << 20)); }).empty());
  EXPECT_TRUE(recorded_by([&] { free(grows); }).empty());
  EXPECT_EQ(freed_by([&] { free(block); }).size(), 1u);  // far behind its begin
  void* none = malloc(100);
  set_freeable(nullptr, 0);
  EXPECT_TRUE(recorded_by([&] { none = realloc(none, 1 << 16); }).empty());
  EXPECT_TRUE(recorded_by([&] { free(none); }).empty());
}

TEST_F(LibcMemory, TheStackBeginsAtTheCaller) {
  void* block = opaque(malloc(100));
  const auto recorded = freed_by([&] { free(block); });
  ASSERT_EQ(recorded.size(), 1u);
  Dl_info caller, here;
  ASSERT_NE(dladdr(recorded[0].caller, &caller), 0);
  ASSERT_NE(dladdr(reinterpret_cast<void*>(&map), &here), 0);
  EXPECT_EQ(caller.dli_fbase, here.dli_fbase);
}

TEST_F(LibcMemory, ReallocTellsOnlyOfAMove) {
  void* block = opaque(malloc(100));
  void* behind = opaque(malloc(100));  // so that it cannot grow where it is
  const std::size_t usable = malloc_usable_size(block);
  void* same = nullptr;
  EXPECT_TRUE(freed_by([&] { same = realloc(block, 90); }).empty());
  ASSERT_EQ(same, block);
  std::memcpy(same, "kept", 5);
  void* moved = nullptr;
  expect_free(freed_by([&] { moved = realloc(same, 10'000); }), block, usable, HostFreeWay::Heap, "realloc");
  EXPECT_STREQ(static_cast<char*>(moved), "kept");
  EXPECT_TRUE(freed_by([&] { opaque(realloc(moved, ~std::size_t{0} / 2)); }).empty()) << "it failed";
  const std::size_t large = malloc_usable_size(moved);
  expect_free(freed_by([&] { opaque(realloc(moved, 0)); }), moved, large, HostFreeWay::Heap, "realloc");
  void* fresh = nullptr;
  EXPECT_TRUE(freed_by([&] { fresh = realloc(nullptr, 10); }).empty());
  free(fresh);
  free(behind);
}

TEST_F(LibcMemory, ReallocarrayIsRecordedOnce) {
  void* block = opaque(malloc(100));
  void* behind = opaque(malloc(100));
  const std::size_t usable = malloc_usable_size(block);
  void* moved = nullptr;
  expect_free(freed_by([&] { moved = opaque(reallocarray(block, 100, 100)); }), block, usable, HostFreeWay::Heap,
              "realloc");
  free(moved);
  free(behind);
}

TEST_F(LibcMemory, NobodyWantsToHearOfFrees) {
  set_host_frees(false);
  void* block = opaque(malloc(100));
  const auto recorded = recorded_by([&] { free(block); });
  ASSERT_EQ(recorded.size(), 1u);
  EXPECT_EQ(recorded[0].what, What::Mapping) << "the protection goes all the same";
}

#endif

TEST_F(LibcMemory, Munmap) {
  char* begin = map(2 * kPage);
  expect_free(freed_by([&] { EXPECT_EQ(munmap(begin, kPage + 1), 0); }), begin, 2 * kPage, HostFreeWay::Unmap,
              "munmap");
  char* kept = map(kPage);
  EXPECT_TRUE(freed_by([&] { EXPECT_EQ(munmap(kept + 1, kPage), -1); }).empty()) << "nothing goes";
  EXPECT_TRUE(freed_by([&] { EXPECT_EQ(munmap(kept, 0), -1); }).empty());
  set_in_driver(true);
  EXPECT_TRUE(freed_by([&] { EXPECT_EQ(munmap(kept, kPage), 0); }).empty());
}

TEST_F(LibcMemory, Mremap) {
  char* begin = map(4 * kPage);
  begin[0] = 'k';
  EXPECT_TRUE(freed_by([&] { EXPECT_EQ(mremap(begin, 4 * kPage, 4 * kPage, 0), begin); }).empty());
  expect_free(freed_by([&] { EXPECT_EQ(mremap(begin, 4 * kPage, 2 * kPage, 0), begin); }), begin + 2 * kPage, 2 * kPage,
              HostFreeWay::Unmap, "mremap");
  // Protected pages that move stay protected, where nobody would look for them.
  guard(begin, 2 * kPage);
  char* where = map(2 * kPage, PROT_NONE);
  char* moved = nullptr;
  expect_free(freed_by([&] {
                moved = static_cast<char*>(mremap(begin, 2 * kPage, 2 * kPage, MREMAP_MAYMOVE | MREMAP_FIXED, where));
              }),
              begin, 2 * kPage, HostFreeWay::Unmap, "mremap");
  ASSERT_EQ(moved, where);
  EXPECT_EQ(moved[0], 'k');
  EXPECT_TRUE(freed_by([&] { EXPECT_EQ(mremap(begin, kPage, 2 * kPage, 0), MAP_FAILED); }).empty());
  munmap(moved, 2 * kPage);
}

TEST_F(LibcMemory, MappingsThatChangeAreNoAccess) {
  char* begin = map(kPage);
  const auto is_mapping = [&](const std::vector<Recorded>& recorded) {
    return recorded.size() == 1 && recorded[0].what == What::Mapping && recorded[0].begin == begin &&
           recorded[0].bytes == kPage;
  };
  EXPECT_TRUE(is_mapping(recorded_by([&] { madvise(begin, kPage, MADV_NORMAL); })));
#ifndef __SANITIZE_ADDRESS__  // whose mlock does nothing
  guard(begin, kPage);
  EXPECT_EQ(mlock(begin, kPage), -1) << "of a protected page";
  int locked = -1;
  EXPECT_TRUE(is_mapping(recorded_by([&] { locked = mlock(begin, kPage); })));
  EXPECT_EQ(locked, 0);
#endif
  EXPECT_TRUE(is_mapping(recorded_by([&] { mlock2(begin, kPage, 0); })));
  EXPECT_TRUE(
      is_mapping(recorded_by([&] { mmap(begin, kPage, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); })));
  void* other = nullptr;
  EXPECT_TRUE(recorded_by([&] { other = mmap(begin, kPage, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }).empty());
  munmap(other, kPage);
  munmap(begin, kPage);
}

// ---- frames

/// Does with stack frames what a driver call does. True: some frames were reported as gone.
[[gnu::noinline]] bool driver_call() {
  forget_recorded();
  check_frames(SS_CALLERS_STACK());
  return recorded_count() != 0;
}

/// As the CUDA runtime between the program and the driver, whose frames are deeper than those of the program.
[[gnu::noinline]] bool deep_driver_call() {
  volatile char depth[2000];
  std::memset(const_cast<char*>(depth), 1, sizeof depth);
  bool gone = driver_call();
  asm volatile("" ::"r"(depth) : "memory");
  return gone;
}

[[gnu::noinline]] void copy_from(const void* begin, std::size_t bytes) {
  note_stack_loan(begin, bytes, SS_CALLERS_STACK());
}

[[gnu::noinline]] const void* lends_its_variable(bool& gone_inside) {
  volatile char variable[64] = {};
  const void* begin = const_cast<const char*>(variable);
  copy_from(begin, sizeof variable);
  gone_inside = driver_call() || deep_driver_call();
  asm volatile("" : "+r"(begin)::"memory");
  return begin;
}

TEST_F(LibcMemory, AVariableIsThereUntilItsFunctionReturns) {
  bool gone_inside = true;
  const void* variable = lends_its_variable(gone_inside);
  EXPECT_FALSE(gone_inside);
  ASSERT_TRUE(deep_driver_call());
  ASSERT_EQ(recorded_count(), 1u);
  EXPECT_EQ(recorded(0).what, What::Free);
  EXPECT_EQ(recorded(0).begin, variable);
  EXPECT_EQ(recorded(0).bytes, 64u);
  EXPECT_EQ(recorded(0).way, HostFreeWay::Frame);
  EXPECT_STREQ(recorded(0).function, "");
  EXPECT_FALSE(deep_driver_call()) << "once";
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wvla"
/// The variable goes and the function stays.
[[gnu::noinline]] bool lends_in_a_block(std::size_t bytes) {
  bool gone_inside;
  {
    volatile char variable[bytes];
    variable[0] = 0;
    copy_from(const_cast<const char*>(variable), bytes);
    gone_inside = driver_call();
  }
  return !gone_inside && driver_call();
}
#pragma GCC diagnostic pop

TEST_F(LibcMemory, AVariableOfABlockGoesWithIt) {
  volatile std::size_t bytes = 10'000;  // of a size that is known, clang would make a variable of the function
  EXPECT_TRUE(lends_in_a_block(bytes));
}

TEST_F(LibcMemory, AVariableOfTheCallerStays) {
  volatile char mine[64] = {};
  [&]() __attribute__((noinline)) { copy_from(const_cast<const char*>(mine), sizeof mine); }();
  EXPECT_FALSE(driver_call());
  EXPECT_FALSE(deep_driver_call());
  asm volatile("" ::"r"(mine) : "memory");
}

TEST_F(LibcMemory, OtherMemoryHasNoFrame) {
  deep_driver_call();  // variables of the tests before have gone
  auto block = std::make_unique<char[]>(64);
  char* mapped = map(kPage);
  copy_from(block.get(), 64);
  copy_from(mapped, kPage);
  copy_from(nullptr, 0);
  EXPECT_FALSE(deep_driver_call());
  munmap(mapped, kPage);
}

TEST_F(LibcMemory, ALoopLendsAgainAndAgain) {
  std::size_t gone = 0;
  bool gone_inside;
  for (int i = 0; i < 100; ++i) {
    lends_its_variable(gone_inside);
    gone += driver_call();
  }
  gone += deep_driver_call();
  EXPECT_GE(gone, 1u);
  EXPECT_FALSE(deep_driver_call());
}

TEST_F(LibcMemory, AThreadThatEndsTakesItsVariablesAlong) {
  const void* begin = nullptr;
  forget_recorded();
  std::thread([&] {
    volatile char variable[64] = {};
    begin = const_cast<const char*>(variable);
    copy_from(begin, sizeof variable);
    forget_recorded();
    EXPECT_FALSE(driver_call());
  }).join();
  ASSERT_EQ(recorded_count(), 1u);
  EXPECT_EQ(recorded(0).begin, begin);
  EXPECT_EQ(recorded(0).way, HostFreeWay::Frame);
}

#ifndef __SANITIZE_ADDRESS__  // which wants to know of stacks that are switched

ucontext_t g_main_context, g_other_context;
bool g_gone_in_other;

void lend_in_coroutine() {
  volatile char variable[64] = {};
  copy_from(const_cast<const char*>(variable), sizeof variable);
  g_gone_in_other = driver_call();
  swapcontext(&g_other_context, &g_main_context);
  g_gone_in_other = g_gone_in_other || driver_call();
  asm volatile("" ::"r"(variable) : "memory");
}

/// A variable of the coroutine and one of the caller, and driver calls on both stacks.
void lend_on_two_stacks(char* place, std::size_t bytes) {
  driver_call();  // `mine` of the call before has gone indeed
  getcontext(&g_other_context);
  g_other_context.uc_stack.ss_sp = place;
  g_other_context.uc_stack.ss_size = bytes;
  g_other_context.uc_link = &g_main_context;
  makecontext(&g_other_context, lend_in_coroutine, 0);
  swapcontext(&g_main_context, &g_other_context);
  EXPECT_FALSE(driver_call()) << "the coroutine is alive, and its variable with it";
  EXPECT_FALSE(deep_driver_call());
  volatile char mine[64] = {};
  copy_from(const_cast<const char*>(mine), sizeof mine);
  swapcontext(&g_main_context, &g_other_context);
  EXPECT_FALSE(g_gone_in_other);
  EXPECT_FALSE(driver_call());
  asm volatile("" ::"r"(mine) : "memory");
}

constexpr std::size_t kStack = 256 * 1024;

TEST_F(LibcMemory, CoroutinesAreLeftAlone) {
  // The coroutine's stack below the thread's, the thread's, the coroutine's above.
  static char* stacks = map(3 * kStack);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstack(&attributes, stacks + kStack, kStack), 0);
  const auto body = [](void*) -> void* {
    lend_on_two_stacks(stacks, kStack);
    lend_on_two_stacks(stacks + 2 * kStack, kStack);
    return nullptr;
  };
  pthread_t thread;
  ASSERT_EQ(pthread_create(&thread, &attributes, body, nullptr), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  lend_on_two_stacks(stacks, kStack);  // the main thread
  munmap(stacks, 3 * kStack);
}
#endif

TEST_F(LibcMemory, MoreVariablesThanAreRememberedTellOnlyTheTruth) {
  std::size_t gone = 0;
  [&]() __attribute__((noinline)) {
    volatile char variables[100][8] = {};
    for (auto& variable : variables) copy_from(const_cast<const char*>(variable), sizeof variable);
    EXPECT_FALSE(deep_driver_call());
    asm volatile("" ::"r"(variables) : "memory");
  }();
  deep_driver_call();
  gone = recorded_count();
  EXPECT_GE(gone, 1u);
  EXPECT_LE(gone, 100u);
}

}  // namespace
}  // namespace streamsan::testing
