// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// TEMPORARY, until loans.cpp lands: nothing is ever lent.
#include "interposer/host/loans.h"

namespace streamsan::recorder {

constinit std::atomic<std::uint32_t> detail::g_loans{0};

void before_host_call(const void*, std::size_t, bool, const char*, const void*) {}
void before_host_free(const void*, std::size_t, trace::HostFreeWay, const char*, const void*) {}
void before_host_mapping(const void*, std::size_t) {}

}  // namespace streamsan::recorder
