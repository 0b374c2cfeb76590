// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What every export of the null driver does first.
//
// SS_CALL(cuSomething) counts the call and gives the failure a test has asked for. Two environment variables act here,
// a third in block(), a fourth in device_count() (objects.h):
//   STREAMSAN_NULL_COUNTS=FILE          at exit: one line "symbol count" for each function that was called
//   STREAMSAN_NULL_FAIL=cuSymbol:N:code the N-th call (from 1) of the export cuSymbol returns code, and has no effect;
//                                       several, separated by commas
//   STREAMSAN_NULL_LATENCY_US=n         calls that wait for the device block n microseconds
//   STREAMSAN_NULL_DEVICES=n            there are n devices, 1 to 8; 1 when not set
//   STREAMSAN_NULL_HOST_PAGES=1         devices go by the host's page tables, as on Grace
// Exports are named as libcuda names them, with version and suffix: what a test counts is the entry point that was
// really used, not the name the program wrote.
//
// row.h must stay before cuda.h: the macros of cuda.h would rename the rows of the table.
#pragma once

#include "ordering/api/row.h"

#include <cuda.h>

#include <string_view>

#define SS_EXPORT extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

#define SS_CALL(symbol)                                                                                                \
  do {                                                                                                                 \
    if (const CUresult refused = ::streamsan::null::enter(::streamsan::api::Index::symbol); refused != CUDA_SUCCESS) { \
      return refused;                                                                                                  \
    }                                                                                                                  \
  } while (false)

namespace streamsan::null {

/// Counts the call. Returns the failure to inject, or CUDA_SUCCESS.
CUresult enter(unsigned row);

/// As enter(), for an export that nothing implements: never CUDA_SUCCESS.
CUresult enter_unimplemented(unsigned row);

/// A setting that cannot be understood would make a test pass for the wrong reason: says so and ends the program.
[[noreturn]] void reject(const char* variable, std::string_view text);

/// Called by everything that waits for the device, with no lock held.
void block();

/// This thread's call has put an operation on the device: says so to whoever listens (listener.h).
void submitted(CUstream stream);

/// What the handle 0 means in this translation unit. The files under by_stream/ are compiled twice, as programs are:
/// once plain and once with CUDA_API_PER_THREAD_DEFAULT_STREAM, which makes cuda.h name the _ptds and _ptsz exports.
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
static const CUstream kDefaultStream = CU_STREAM_PER_THREAD;
#else
static const CUstream kDefaultStream = CU_STREAM_LEGACY;
#endif

}  // namespace streamsan::null
