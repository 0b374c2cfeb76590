// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Start-up, the context of each thread, and errors: see runtime.h.

#include "testsuite/nullcudart/runtime.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

namespace streamsan::nullcudart {

namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

struct Driver {
  void* library = nullptr;
  GetProcAddress get = nullptr;
  cudaError_t error = cudaErrorInsufficientDriver;
};

Driver open_driver() {
  Driver driver;
  driver.library = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver.library == nullptr) return driver;
  driver.get = reinterpret_cast<GetProcAddress>(dlsym(driver.library, "cuGetProcAddress_v2"));
  if (driver.get != nullptr) driver.error = cudaSuccess;
  return driver;
}

const Driver& driver() {
  static const Driver instance = open_driver();
  return instance;
}

std::atomic<unsigned> context_generation{1};
std::mutex primary_mutex;
CUcontext primary = nullptr;

thread_local unsigned thread_generation = 0;
thread_local cudaError_t thread_error = cudaSuccess;

CUresult use_primary_context() {
  const std::lock_guard<std::mutex> lock(primary_mutex);
  if (primary == nullptr) {
    if (const CUresult failed = entries().cuDevicePrimaryCtxRetain(&primary, 0); failed != CUDA_SUCCESS) return failed;
  }
  return entries().cuCtxSetCurrent(primary);
}

}  // namespace

CUresult get_proc_address(const char* name, void** address, int version, cuuint64_t flags,
                          CUdriverProcAddressQueryResult* status) {
  return driver().get(name, address, version, flags, status);
}

void* driver_symbol(const char* name) { return dlsym(driver().library, name); }

cudaError_t load_driver() {
  if (driver().error != cudaSuccess) return driver().error;
  static const CUresult initialised = entries().cuInit(0);
  return static_cast<cudaError_t>(initialised);
}

cudaError_t prepare() {
  if (const cudaError_t unready = load_driver(); unready != cudaSuccess) return unready;
  const unsigned generation = context_generation.load();
  if (thread_generation == generation) return cudaSuccess;
  CUcontext current = nullptr;
  CUresult result = entries().cuCtxGetCurrent(&current);
  if (result == CUDA_SUCCESS && current == nullptr) result = use_primary_context();
  if (result == CUDA_SUCCESS) thread_generation = generation;
  return static_cast<cudaError_t>(result);
}

void forget_contexts() {
  {
    const std::lock_guard<std::mutex> lock(primary_mutex);
    primary = nullptr;
  }
  ++context_generation;
}

cudaError_t remember(cudaError_t error) {
  if (error != cudaSuccess && error != cudaErrorNotReady) thread_error = error;
  return error;
}

cudaError_t last_error(bool clear) {
  const cudaError_t error = thread_error;
  if (clear) thread_error = cudaSuccess;
  return error;
}

}  // namespace streamsan::nullcudart
