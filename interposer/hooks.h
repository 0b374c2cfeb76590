// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The wrappers: one template, with one instance for each row of the table that is_wrapped(). A wrapper does this:
//
//   1. If the call is not ours: calls the driver's function, returns its result, and is done.
//   2. Runs the observers that stand before the call.
//   3. Calls the driver's function, a second time if an observer asks for it.
//   4. Runs the observers that stand after the call.
//   5. Returns the driver's result, which no observer has changed.
//
// observers.h lists the observers in their order. A call is ours while we record. Exceptions: calls that the driver
// itself makes, through its own exports: they are part of the program's call, which has been observed. The same holds
// for calls that a tool makes inside of a call. No lock is ever held while the driver's function runs.
//
// A row's wrapper takes a compiler a twentieth of a second, so two sources share the rows: hooks_of_even_rows.cpp and
// hooks_of_odd_rows.cpp, which compilers can work on at the same time.
//
// HOW TO ADD A FUNCTION: a row in ordering/api/cuda_api.def is all it takes, unless its EffectKind is new; then add a
// case to CallRecord::fill() (call_record.h). Signatures come from cuda.h.
#pragma once

#include "interposer/call.h"
#include "interposer/driver.h"
#include "interposer/machine.h"
#include "interposer/observers.h"
#include "interposer/process.h"
#include "interposer/wrapped.h"

#include <cudaProfiler.h>

namespace streamsan::recorder {

/// `caller`: the return address of the wrapper.
template <class Call>
SS_OBSERVER inline bool is_ours(const void* caller) {
  if constexpr (is_start(Call::kKind)) return true;
  return recording() && !is_in_driver(caller);
}

template <std::size_t kRow, class Signature>
struct Hook;

template <std::size_t kRow, class... Parameters>
struct Hook<kRow, CUresult (*)(Parameters...)> {
  static CUresult call(Parameters... parameters) {
    using Call = recorder::Call<kRow, std::tuple<Parameters...>>;
    auto real = reinterpret_cast<CUresult (*)(Parameters...)>(driver_entry(kRow));
    // The program was linked against a newer driver than is installed, or there is no driver.
    if (!real) [[unlikely]]
      return CUDA_ERROR_NOT_INITIALIZED;
    if (!is_ours<Call>(__builtin_return_address(0))) return real(parameters...);
    Call call{{parameters...}, __builtin_frame_address(0), SS_CALLERS_STACK()};
    Observers<Call> observers;
    observers.before(call);
    call.result = real(parameters...);
    if (observers.wants_retry(call)) call.result = real(parameters...);
    observers.after(call);
    return call.result;
  }
};

/// Null: the row is passed through, or the other source has it.
template <std::size_t kRow, class Signature, bool kOdd>
constexpr void* wrapper_of() {
  if constexpr (kRow % 2 == kOdd && is_wrapped(api::kRows[kRow])) {
    return reinterpret_cast<void*>(&Hook<kRow, Signature>::call);
  } else {
    return nullptr;
  }
}

}  // namespace streamsan::recorder

/// One entry of a table of wrappers.
#define SS_HOOK_OF_ROW(odd_, symbol_) \
  streamsan::recorder::wrapper_of<streamsan::api::Index::symbol_, decltype(&::symbol_), odd_>(),
