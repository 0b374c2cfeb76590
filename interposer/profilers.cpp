// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "interposer/profilers.h"

#include <atomic>
#include <cstring>

#include "interposer/learning.h"
#include "interposer/library_function.h"
#include "interposer/process.h"

namespace streamsan::recorder {
namespace {

// Of CUPTI, whose enums are ints and whose handles are pointers.
constexpr int kUnknownError = 999;        // CUPTI_ERROR_UNKNOWN
constexpr int kMultipleSubscribers = 39;  // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
constexpr LibraryNames kCupti{"libcupti.so.13", "libcupti.so.12", "libcupti.so.11"};

using Subscribe = int(void** subscriber, void* callback, void* data);
using SubscribeNamed = int(void** subscriber, void* callback, void* data, void* parameters);

// A fork keeps g_subscribe, g_subscribe_named: the libraries lie where they lay.
constinit LibraryOriginal<Subscribe> g_subscribe{kCupti, "cuptiSubscribe"};
constinit LibraryOriginal<SubscribeNamed> g_subscribe_named{kCupti, "cuptiSubscribe_v2"};

// A fork keeps g_served: CUPTI is deaf in the child.
/// A profiler was not refused. So whoever is refused later is so on its account.
constinit std::atomic<bool> g_served{false};

int note_result(int result) {
  if (result == 0) g_served.store(true, std::memory_order_relaxed);
  if (result == kMultipleSubscribers && !g_served.load(std::memory_order_relaxed) && recording()) profiler_refused();
  return result;
}

/// Functions that dlsym() has found. There may be several copies of CUPTI, and who has asked one for a function must
/// get it of that one. So each copy has a stand-in of its own; of those beyond kMostCopies the program gets the
/// function itself.
constexpr std::size_t kMostCopies = 4;
template <typename Function>
constinit std::atomic<Function*> g_found[kMostCopies] = {};  // A fork keeps g_found: the libraries lie where they lay.

template <typename Function, std::size_t kCopy, typename... Arguments>
int stand_in(Arguments... arguments) {
  return note_result(g_found<Function>[kCopy].load(std::memory_order_acquire)(arguments...));
}

template <typename Function, typename... Arguments>
void* instead_of(void* found, int (*)(Arguments...)) {
  static constexpr Function* kStandIns[kMostCopies] = {
      &stand_in<Function, 0, Arguments...>, &stand_in<Function, 1, Arguments...>, &stand_in<Function, 2, Arguments...>,
      &stand_in<Function, 3, Arguments...>};
  auto* function = reinterpret_cast<Function*>(found);
  for (std::size_t copy = 0; copy < kMostCopies; ++copy) {
    Function* known = nullptr;
    if (g_found<Function>[copy].compare_exchange_strong(known, function) || known == function)
      return reinterpret_cast<void*>(kStandIns[copy]);
  }
  return found;
}

}  // namespace
}  // namespace streamsan::recorder

// NOLINTBEGIN(readability-identifier-naming): CUPTI's
extern "C" {

__attribute__((visibility("default"))) int cuptiSubscribe(void** subscriber, void* callback, void* data) {
  using namespace streamsan::recorder;
  Subscribe* real = g_subscribe.get_for(__builtin_return_address(0));
  return real ? note_result(real(subscriber, callback, data)) : kUnknownError;
}

__attribute__((visibility("default"))) int cuptiSubscribe_v2(void** subscriber, void* callback, void* data,
                                                             void* parameters) {
  using namespace streamsan::recorder;
  SubscribeNamed* real = g_subscribe_named.get_for(__builtin_return_address(0));
  return real ? note_result(real(subscriber, callback, data, parameters)) : kUnknownError;
}
}
// NOLINTEND(readability-identifier-naming)

namespace streamsan::recorder {

bool is_profiler_entry(const char* name) {
  return std::strcmp(name, "cuptiSubscribe") == 0 || std::strcmp(name, "cuptiSubscribe_v2") == 0;
}

void* profiler_entry(const char* name, void* found, const void* caller) {
  if (!is_profiler_entry(name)) return found;
  const bool named = std::strcmp(name, "cuptiSubscribe") != 0;
  if (!is_in_this_library(found)) {
    return named ? instead_of<SubscribeNamed>(found, static_cast<SubscribeNamed*>(nullptr))
                 : instead_of<Subscribe>(found, static_cast<Subscribe*>(nullptr));
  }
  // Our own export, found in the default scope. Without CUPTI the program must find nothing.
  const bool there = named ? g_subscribe_named.get_for(caller) != nullptr : g_subscribe.get_for(caller) != nullptr;
  return there ? found : look_up_behind(name);
}

}  // namespace streamsan::recorder
