// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What CUDA and HIP have in common: the attributes, dim3 and the vectors, and for device code the built-in variables,
// atomics and intrinsics. In plain C++ the attributes say nothing.
#pragma once

#include <stddef.h>
#include <stdlib.h>

#if defined(__CUDA__) || defined(__HIP__)
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __grid_constant__ __attribute__((grid_constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#else
#define __host__
#define __device__
#define __global__
#endif

#define MOCK_VECTOR(T, N)                              \
  struct N##1 { T x; };                                \
  struct N##2 { T x, y; };                             \
  struct N##3 { T x, y, z; };                          \
  struct N##4 { T x, y, z, w; };                       \
  __host__ __device__ N##2 make_##N##2(T x, T y);      \
  __host__ __device__ N##3 make_##N##3(T x, T y, T z); \
  __host__ __device__ N##4 make_##N##4(T x, T y, T z, T w);
MOCK_VECTOR(int, int)
MOCK_VECTOR(unsigned int, uint)
MOCK_VECTOR(float, float)
MOCK_VECTOR(double, double)
#undef MOCK_VECTOR

struct dim3 {
  unsigned int x, y, z;
  __host__ __device__ constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
      : x(vx), y(vy), z(vz) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};

#if defined(__CUDA__) || defined(__HIP__)
// As in Clang's own headers: a member is a property, which is another expression than a field.
#define MOCK_BUILT_IN(name, Vector)                    \
  struct mock_##name {                                 \
    __declspec(property(get = get_x)) unsigned x;      \
    __declspec(property(get = get_y)) unsigned y;      \
    __declspec(property(get = get_z)) unsigned z;      \
    static inline __device__ unsigned get_x(void);     \
    static inline __device__ unsigned get_y(void);     \
    static inline __device__ unsigned get_z(void);     \
    __device__ operator Vector() const;                \
    mock_##name() = delete;                            \
    mock_##name(const mock_##name&) = delete;          \
    void operator=(const mock_##name&) const = delete; \
  };                                                   \
  extern const __device__ mock_##name name;
MOCK_BUILT_IN(threadIdx, uint3)
MOCK_BUILT_IN(blockIdx, uint3)
MOCK_BUILT_IN(blockDim, dim3)
MOCK_BUILT_IN(gridDim, dim3)
#undef MOCK_BUILT_IN
extern const __device__ int warpSize;

__device__ void __syncthreads();
static inline __device__ void cudaTriggerProgrammaticLaunchCompletion() {
  asm volatile("griddepcontrol.launch_dependents;" :::);
}
static inline __device__ void cudaGridDependencySynchronize() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ void __syncwarp(unsigned int mask = 0xffffffff);
__device__ void __threadfence();
__device__ void __threadfence_block();
__device__ void __threadfence_system();
__device__ void __nanosleep(unsigned int ns);
__device__ long long clock64();
template <typename T>
__device__ T __shfl_sync(unsigned int mask, T value, int lane, int width = 32);
template <typename T>
__device__ T __shfl_down_sync(unsigned int mask, T value, unsigned int delta, int width = 32);
template <typename T>
__device__ T __shfl_xor_sync(unsigned int mask, T value, int lanes, int width = 32);
__device__ unsigned int __ballot_sync(unsigned int mask, int predicate);
__device__ float sqrtf(float);
__device__ float expf(float);
__device__ float fmaxf(float, float);
__device__ float __expf(float);
__device__ float rsqrtf(float);
__device__ int __popc(unsigned int);

template <typename T>
__device__ T __ldg(const T* address);
template <typename T>
__device__ T __ldcg(const T* address);
template <typename T>
__device__ void __stcg(T* address, T value);

#define MOCK_ATOMIC(N)                         \
  template <typename T>                        \
  __device__ T N(T* address, T value);         \
  template <typename T>                        \
  __device__ T N##_block(T* address, T value); \
  template <typename T>                        \
  __device__ T N##_system(T* address, T value);
MOCK_ATOMIC(atomicAdd)
MOCK_ATOMIC(atomicSub)
MOCK_ATOMIC(atomicExch)
MOCK_ATOMIC(atomicMin)
MOCK_ATOMIC(atomicMax)
MOCK_ATOMIC(atomicInc)
MOCK_ATOMIC(atomicDec)
MOCK_ATOMIC(atomicAnd)
MOCK_ATOMIC(atomicOr)
MOCK_ATOMIC(atomicXor)
#undef MOCK_ATOMIC
template <typename T>
__device__ T atomicCAS(T* address, T compare, T value);
template <typename T>
__device__ T atomicCAS_system(T* address, T compare, T value);

extern "C" {
__device__ int printf(const char* format, ...);
__device__ void* malloc(size_t bytes);
__device__ void free(void* pointer);
__device__ void* memcpy(void* destination, const void* source, size_t bytes);
__device__ void* memset(void* destination, int value, size_t bytes);
__device__ void __assert_fail(const char*, const char*, unsigned int, const char*);
}
#endif
