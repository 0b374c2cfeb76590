// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled where CUPTI's header is: does cupti_abi.h agree with it, in all versions of the records that it knows?
#include <cupti.h>

#include <type_traits>

#include "interposer/timings/cupti_abi.h"

namespace streamsan::cupti {
namespace {

template <class Record>
constexpr bool agrees(Layout layout) {
  static_assert(std::is_same_v<decltype(Record::start), std::uint64_t>);
  static_assert(std::is_same_v<decltype(Record::end), std::uint64_t>);
  static_assert(std::is_same_v<decltype(Record::correlationId), std::uint32_t>);
  return layout.start == offsetof(Record, start) && layout.end == offsetof(Record, end) &&
         layout.correlation == offsetof(Record, correlationId) && offsetof(Record, kind) == 0;
}

static_assert(agrees<CUpti_ActivityKernel4>(kKernelLayout) && agrees<CUpti_ActivityKernel5>(kKernelLayout));
static_assert(agrees<CUpti_ActivityMemcpy>(kMemcpyLayout) && agrees<CUpti_ActivityMemcpy3>(kMemcpyLayout));
static_assert(agrees<CUpti_ActivityMemset>(kMemsetLayout) && agrees<CUpti_ActivityMemset2>(kMemsetLayout));
static_assert(agrees<CUpti_ActivityMemcpyPtoP>(kMemcpyPeerLayout));
#if CUPTI_API_VERSION >= 18
static_assert(agrees<CUpti_ActivityGraphTrace>(kGraphLayout));
static_assert(kGraphTrace == static_cast<int>(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
#endif
#if CUPTI_API_VERSION >= 130000
static_assert(agrees<CUpti_ActivityKernel6>(kKernelLayout) && agrees<CUpti_ActivityKernel7>(kKernelLayout) &&
              agrees<CUpti_ActivityKernel8>(kKernelLayout) && agrees<CUpti_ActivityKernel9>(kKernelLayout) &&
              agrees<CUpti_ActivityKernel10>(kKernelLayout));
static_assert(agrees<CUpti_ActivityMemcpy4>(kMemcpyLayout) && agrees<CUpti_ActivityMemcpy5>(kMemcpyLayout) &&
              agrees<CUpti_ActivityMemcpy6>(kMemcpyLayout));
static_assert(agrees<CUpti_ActivityMemset3>(kMemsetLayout) && agrees<CUpti_ActivityMemset4>(kMemsetLayout));
static_assert(agrees<CUpti_ActivityMemcpyPtoP4>(kMemcpyPeerLayout));
static_assert(agrees<CUpti_ActivityGraphTrace2>(kGraphLayout));
#endif

static_assert(offsetof(CUpti_CallbackData, callbackSite) == offsetof(CallbackData, site));
static_assert(offsetof(CUpti_CallbackData, functionName) == offsetof(CallbackData, function));
static_assert(offsetof(CUpti_CallbackData, correlationId) == offsetof(CallbackData, correlation_id));
static_assert(sizeof(CUpti_CallbackData) == sizeof(CallbackData));

static_assert(kMemcpy == static_cast<int>(CUPTI_ACTIVITY_KIND_MEMCPY));
static_assert(kMemset == static_cast<int>(CUPTI_ACTIVITY_KIND_MEMSET));
static_assert(kConcurrentKernel == static_cast<int>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
static_assert(kMemcpyPeer == static_cast<int>(CUPTI_ACTIVITY_KIND_MEMCPY2));
static_assert(kMaxLimitReached == CUPTI_ERROR_MAX_LIMIT_REACHED);
static_assert(kMultipleSubscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
static_assert(kDomainDriver == CUPTI_CB_DOMAIN_DRIVER_API && kSiteEnter == CUPTI_API_ENTER);
static_assert(kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

}  // namespace
}  // namespace streamsan::cupti
