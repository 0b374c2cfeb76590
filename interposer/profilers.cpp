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
constexpr int kUnknownError = 999;         // CUPTI_ERROR_UNKNOWN
constexpr int kMultipleSubscribers = 39;   // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
constexpr LibraryNames kCupti{"libcupti.so.13", "libcupti.so.12", "libcupti.so.11"};

using Subscribe = int(void** subscriber, void* callback, void* data);
using SubscribeNamed = int(void** subscriber, void* callback, void* data, void* parameters);

/// A function of CUPTI's, and the one that dlsym() found, if any: then nothing else leads to it.
template <typename Function>
struct Original {
  LibraryOriginal<Function> linked;
  std::atomic<Function*> looked_up{nullptr};

  Function* get_for(const void* caller) {
    Function* found = linked.get_for(caller);
    return found ? found : looked_up.load(std::memory_order_acquire);
  }
};

// A fork keeps g_subscribe, g_subscribe_named: the libraries lie where they lay.
constinit Original<Subscribe> g_subscribe{{kCupti, "cuptiSubscribe"}};
constinit Original<SubscribeNamed> g_subscribe_named{{kCupti, "cuptiSubscribe_v2"}};

// A fork keeps g_served: CUPTI is deaf in the child.
/// A profiler was not refused. So whoever is refused later is so on its account.
constinit std::atomic<bool> g_served{false};

int note_result(int result) {
  if (result == 0) g_served.store(true, std::memory_order_relaxed);
  if (result == kMultipleSubscribers && !g_served.load(std::memory_order_relaxed) && recording()) profiler_refused();
  return result;
}

/// Ours instead of the one that was found, unless that is ours already.
template <typename Function>
void* instead(Original<Function>& original, void* found, Function* ours) {
  auto* function = reinterpret_cast<Function*>(found);
  if (function != ours) original.looked_up.store(function, std::memory_order_release);
  return reinterpret_cast<void*>(ours);
}

}  // namespace
}  // namespace streamsan::recorder

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

namespace streamsan::recorder {

void* profiler_entry(const char* name, void* found) {
  if (std::strcmp(name, "cuptiSubscribe") == 0) return instead(g_subscribe, found, &cuptiSubscribe);
  if (std::strcmp(name, "cuptiSubscribe_v2") == 0) return instead(g_subscribe_named, found, &cuptiSubscribe_v2);
  return found;
}

}  // namespace streamsan::recorder
