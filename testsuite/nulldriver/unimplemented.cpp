// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every export of libcuda that the null driver does not implement, made from the one table.
//
// Each row gives a weak export that counts its call and returns CUDA_ERROR_NOT_SUPPORTED, never a success that did not
// happen. An implementation elsewhere in this library is a strong symbol and takes its place. All of libcuda's exports
// return CUresult, and in the C calling conventions of the platforms CUDA runs on the caller removes the arguments, so
// one body without parameters serves all signatures; the alias is declared by decltype, so a row that cuda.h does not
// know breaks the build.
#define __CUDA_API_VERSION_INTERNAL
#include "testsuite/nulldriver/call.h"

#include <cudaProfiler.h>

#pragma GCC diagnostic ignored "-Wattributes"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wattribute-alias"
#endif

#define SS_API(symbol, ...)                                                     \
  extern "C" __attribute__((used)) CUresult streamsan_null_missing_##symbol() { \
    return streamsan::null::enter_unimplemented(streamsan::api::Index::symbol); \
  }                                                                             \
  extern "C" __attribute__((weak, visibility("default"),                        \
                            alias("streamsan_null_missing_" #symbol))) decltype(::symbol) symbol;
#include "ordering/api/cuda_api.def"
#undef SS_API
