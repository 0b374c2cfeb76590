// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of CUPTI's binary interface that is used here, written down from its documentation: the library is loaded at
// run time, so its header is not needed to build.
//
// CUPTI's activity records grow at the end with each version (CUpti_ActivityKernel3 to 10), and a record never tells
// which version it is. What is read here lies at the same place in all of them, from CUDA 8 to 13: cupti_abi_check.cpp
// proves that where the header is there.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streamsan::cupti {

using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kMaxLimitReached = 12;      ///< no further record in the buffer
inline constexpr Result kMultipleSubscribers = 39;  ///< somebody else receives callbacks

using Subscriber = void*;
inline constexpr std::uint32_t kDomainDriver = 1;  ///< CUPTI_CB_DOMAIN_DRIVER_API
inline constexpr std::uint32_t kSiteEnter = 0;     ///< CUPTI_API_ENTER
inline constexpr std::uint32_t kFlushForced = 1;   ///< CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

enum ActivityKind : std::uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kConcurrentKernel = 10,
  kMemcpyPeer = 22,  ///< CUPTI_ACTIVITY_KIND_MEMCPY2
  kGraphTrace = 51,
};

/// CUpti_CallbackData
struct CallbackData {
  std::uint32_t site;
  const char* function;
  const void* parameters;
  void* result;
  const char* symbol;
  void* context;
  std::uint32_t context_id;
  std::uint64_t* correlation_data;
  std::uint32_t correlation_id;
};

/// Where start, end and the number of the call stand in a record.
struct Layout {
  std::size_t start;
  std::size_t end;
  std::size_t correlation;
};
inline constexpr Layout kKernelLayout{16, 24, 92};
inline constexpr Layout kMemcpyLayout{16, 24, 44};
inline constexpr Layout kMemsetLayout{16, 24, 44};
inline constexpr Layout kMemcpyPeerLayout{16, 24, 60};
inline constexpr Layout kGraphLayout{8, 16, 4};

extern "C" {
using CallbackFunction = void (*)(void* data, std::uint32_t domain, std::uint32_t id, const void* call);
using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
using BufferCompleted = void (*)(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                 std::size_t valid);
using Timestamp = std::uint64_t (*)();
}

/// The functions, under their names without "cupti".
struct Api {
  Result (*subscribe)(Subscriber* subscriber, CallbackFunction function, void* data);
  Result (*unsubscribe)(Subscriber subscriber);
  Result (*enable_callback)(std::uint32_t enable, Subscriber subscriber, std::uint32_t domain, std::uint32_t id);
  Result (*callback_name)(std::uint32_t domain, std::uint32_t id, const char** name);
  Result (*register_callbacks)(BufferRequested requested, BufferCompleted completed);
  Result (*enable)(ActivityKind kind);
  Result (*next_record)(std::uint8_t* buffer, std::size_t valid, std::uint8_t** record);
  Result (*dropped)(void* context, std::uint32_t stream, std::size_t* dropped);
  Result (*flush_all)(std::uint32_t flags);
  Result (*timestamp)(std::uint64_t* time);
  Result (*result_string)(Result result, const char** text);
  Result (*version)(std::uint32_t* version);
  Result (*register_timestamp)(Timestamp function);  ///< null before CUDA 11.6
};

/// Loads CUPTI: the one that the program has loaded already, else `path`, or null: by its names. Returns null, or what
/// is wrong, valid until the next call.
const char* load(const char* path, Api& api);

}  // namespace streamsan::cupti
