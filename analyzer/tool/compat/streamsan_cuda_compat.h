// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Included before every CUDA file that is compiled by nvcc, when Clang reads it instead: what nvcc gives to a program
// without being asked, and Clang does not. Each part is here because real programs failed to compile without it.
//
// Deliberately absent: isnan, isfinite and their kin at namespace scope. They collide with `using std::isnan`; math.h
// is enough.
#ifndef STREAMSAN_CUDA_COMPAT_H
#define STREAMSAN_CUDA_COMPAT_H

// `#if __CUDACC__` is legal with nvcc; Clang defines it empty.
#ifdef __CUDACC__
#undef __CUDACC__
#define __CUDACC__ 1
#endif
#if !defined(__CUDACC_VER_MAJOR__) && defined(CUDA_VERSION)
#define __CUDACC_VER_MAJOR__ (CUDA_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDA_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#endif

#ifdef __cplusplus
// nvcc's own headers bring these along.
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <new>

#if defined(__CUDACC__)
// min and max at namespace scope for the host: the overloads that nvcc has, and no other (`min(size_t, int)` is an
// error for nvcc, too).
#pragma push_macro("min")
#pragma push_macro("max")
#undef min
#undef max
#define STREAMSAN_MIN_MAX(R, A, B)                                 \
  static inline __host__ R min(A a, B b) { return a < b ? a : b; } \
  static inline __host__ R max(A a, B b) { return a < b ? b : a; }
#define STREAMSAN_MIN_MAX_OF(S, U) \
  STREAMSAN_MIN_MAX(S, S, S)       \
  STREAMSAN_MIN_MAX(U, U, U)       \
  STREAMSAN_MIN_MAX(U, S, U)       \
  STREAMSAN_MIN_MAX(U, U, S)
STREAMSAN_MIN_MAX_OF(int, unsigned int)
STREAMSAN_MIN_MAX_OF(long, unsigned long)
STREAMSAN_MIN_MAX_OF(long long, unsigned long long)
STREAMSAN_MIN_MAX_OF(float, double)
#undef STREAMSAN_MIN_MAX_OF
#undef STREAMSAN_MIN_MAX
#pragma pop_macro("max")
#pragma pop_macro("min")

// Cache-hinted loads and stores: Clang's headers have no host-side declarations of them.
#define STREAMSAN_LOAD(NAME)                    \
  template <typename T>                         \
  static inline __device__ T NAME(const T* p) { \
    return *p;                                  \
  }
#define STREAMSAN_STORE(NAME)                     \
  template <typename T>                           \
  static inline __device__ void NAME(T* p, T v) { \
    *p = v;                                       \
  }
STREAMSAN_LOAD(__ldcs)
STREAMSAN_LOAD(__ldcg)
STREAMSAN_LOAD(__ldca)
STREAMSAN_LOAD(__ldlu)
STREAMSAN_LOAD(__ldcv)
STREAMSAN_STORE(__stcs)
STREAMSAN_STORE(__stcg)
STREAMSAN_STORE(__stwb)
STREAMSAN_STORE(__stwt)
#undef STREAMSAN_STORE
#undef STREAMSAN_LOAD

// The built-in atomic functions of nvcc 12.8 and later.
#ifndef __NV_ATOMIC_RELAXED
#define __NV_ATOMIC_RELAXED 0
#define __NV_ATOMIC_CONSUME 1
#define __NV_ATOMIC_ACQUIRE 2
#define __NV_ATOMIC_RELEASE 3
#define __NV_ATOMIC_ACQ_REL 4
#define __NV_ATOMIC_SEQ_CST 5
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4
static inline __device__ void __nv_atomic_thread_fence(int, int = 0) {}
#define STREAMSAN_ATOMIC(R, NAME)         \
  template <typename T, typename... Rest> \
  __device__ R __nv_atomic_##NAME(T* p, Rest...);
STREAMSAN_ATOMIC(void, load)
STREAMSAN_ATOMIC(T, load_n)
STREAMSAN_ATOMIC(void, store)
STREAMSAN_ATOMIC(void, store_n)
STREAMSAN_ATOMIC(void, exchange)
STREAMSAN_ATOMIC(T, exchange_n)
STREAMSAN_ATOMIC(bool, compare_exchange)
STREAMSAN_ATOMIC(bool, compare_exchange_n)
#define STREAMSAN_ATOMIC_OPERATION(NAME) \
  STREAMSAN_ATOMIC(T, fetch_##NAME)      \
  STREAMSAN_ATOMIC(void, NAME)
STREAMSAN_ATOMIC_OPERATION(add)
STREAMSAN_ATOMIC_OPERATION(sub)
STREAMSAN_ATOMIC_OPERATION(and)
STREAMSAN_ATOMIC_OPERATION(or)
STREAMSAN_ATOMIC_OPERATION(xor)
STREAMSAN_ATOMIC_OPERATION(min)
STREAMSAN_ATOMIC_OPERATION(max)
#undef STREAMSAN_ATOMIC_OPERATION
#undef STREAMSAN_ATOMIC
#endif
#endif
#endif

#endif
