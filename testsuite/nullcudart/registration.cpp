// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nvcc's host code registers before main: fat binaries, kernels, variables. Nothing touches the driver until the
// first kernel or variable of a fat binary is used (lazy loading, as the real runtime).
//
// A real driver finds kernels and variables in the image; the null driver gets them (code.h of the null driver),
// through private entry points that a real driver does not have.

#include "testsuite/nullcudart/runtime.h"

#include <map>
#include <mutex>
#include <vector>

namespace streamsan::nullcudart {
namespace {

struct Variable {
  void* host = nullptr;  ///< for a managed variable the place of its pointer
  const char* name = nullptr;
  std::size_t bytes = 0;
  bool managed = false;
};

struct Binary {
  void* wrapper = nullptr;
  std::vector<const char*> kernels;
  std::vector<Variable> variables;
  CUlibrary library = nullptr;
  bool loaded = false;
};

struct Kernel {
  Binary* binary;
  const char* name;
  CUkernel handle;
};

struct Symbol {
  Binary* binary;
  Variable variable;
};

struct Registry {
  std::recursive_mutex mutex;  ///< loading a binary calls the driver, which calls nobody back
  std::map<const void*, Kernel> kernels;
  std::map<const void*, Symbol> symbols;
};

/// Never destroyed: fat binaries are unregistered by exit handlers.
Registry& registry() {
  static Registry& instance = *new Registry;
  return instance;
}
using Lock = std::lock_guard<std::recursive_mutex>;

void tell_null_driver(const Binary& binary) {
  using RegisterFunction = void (*)(const void*, const char*);
  using RegisterGlobal = void (*)(const void*, const char*, std::size_t, int);
  const auto function = reinterpret_cast<RegisterFunction>(driver_symbol("streamsan_null_register_function"));
  const auto global = reinterpret_cast<RegisterGlobal>(driver_symbol("streamsan_null_register_global"));
  if (function == nullptr || global == nullptr) return;
  for (const char* name : binary.kernels) function(binary.wrapper, name);
  for (const Variable& variable : binary.variables) {
    global(binary.wrapper, variable.name, variable.bytes, variable.managed ? 1 : 0);
  }
}

cudaError_t load(Binary& binary) {
  if (binary.loaded) return cudaSuccess;
  if (const cudaError_t unready = prepare(); unready != cudaSuccess) return unready;
  tell_null_driver(binary);
  CUresult result =
      entries().cuLibraryLoadData(&binary.library, binary.wrapper, nullptr, nullptr, 0, nullptr, nullptr, 0);
  for (const Variable& variable : binary.variables) {
    if (result != CUDA_SUCCESS) break;
    if (!variable.managed) continue;
    CUdeviceptr address = 0;
    result = entries().cuLibraryGetManaged(&address, nullptr, binary.library, variable.name);
    if (result == CUDA_SUCCESS) *static_cast<void**>(variable.host) = reinterpret_cast<void*>(address);
  }
  binary.loaded = result == CUDA_SUCCESS;
  return static_cast<cudaError_t>(result);
}

Binary& binary_of(void** handle) { return *reinterpret_cast<Binary*>(handle); }

void register_variable(void** handle, const Variable& variable) {
  const Lock lock(registry().mutex);
  binary_of(handle).variables.push_back(variable);
  registry().symbols[variable.host] = {&binary_of(handle), variable};
}

}  // namespace

cudaError_t kernel_of(const void* host_function, CUkernel* kernel) {
  const Lock lock(registry().mutex);
  const auto found = registry().kernels.find(host_function);
  if (found == registry().kernels.end()) return cudaErrorInvalidDeviceFunction;
  Kernel& entry = found->second;
  if (entry.handle == nullptr) {
    if (const cudaError_t failed = load(*entry.binary); failed != cudaSuccess) return failed;
    const CUresult result = entries().cuLibraryGetKernel(&entry.handle, entry.binary->library, entry.name);
    if (result != CUDA_SUCCESS) return static_cast<cudaError_t>(result);
  }
  *kernel = entry.handle;
  return cudaSuccess;
}

cudaError_t symbol_of(const void* host_variable, CUdeviceptr* address, std::size_t* bytes) {
  const Lock lock(registry().mutex);
  const auto found = registry().symbols.find(host_variable);
  if (found == registry().symbols.end()) return cudaErrorInvalidSymbol;
  // A variable has memory in each context, so there must be one, also if the library is there already.
  if (const cudaError_t unready = prepare(); unready != cudaSuccess) return unready;
  const Symbol& symbol = found->second;
  if (const cudaError_t failed = load(*symbol.binary); failed != cudaSuccess) return failed;
  const auto get = symbol.variable.managed ? entries().cuLibraryGetManaged : entries().cuLibraryGetGlobal;
  return static_cast<cudaError_t>(get(address, bytes, symbol.binary->library, symbol.variable.name));
}

}  // namespace streamsan::nullcudart

using namespace streamsan::nullcudart;

NC_EXPORT_AS(void**) __cudaRegisterFatBinary(void* wrapper) {
  auto* binary = new Binary;
  binary->wrapper = wrapper;
  return reinterpret_cast<void**>(binary);
}

NC_EXPORT_AS(void) __cudaRegisterFatBinaryEnd(void**) {}

NC_EXPORT_AS(void) __cudaUnregisterFatBinary(void** handle) {
  Binary* binary = &binary_of(handle);
  const Lock lock(registry().mutex);
  if (binary->loaded) entries().cuLibraryUnload(binary->library);
  std::erase_if(registry().kernels, [binary](const auto& entry) { return entry.second.binary == binary; });
  std::erase_if(registry().symbols, [binary](const auto& entry) { return entry.second.binary == binary; });
  delete binary;
}

NC_EXPORT_AS(void)
__cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                       int*) {
  const Lock lock(registry().mutex);
  binary_of(handle).kernels.push_back(name);
  registry().kernels[host] = {&binary_of(handle), name, nullptr};
}

NC_EXPORT_AS(void)
__cudaRegisterVar(void** handle, char* host, char*, const char* name, int, std::size_t bytes, int, int) {
  register_variable(handle, {.host = host, .name = name, .bytes = bytes, .managed = false});
}

NC_EXPORT_AS(void)
__cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int, std::size_t bytes, int, int) {
  register_variable(handle, {.host = host, .name = name, .bytes = bytes, .managed = true});
}

NC_EXPORT_AS(char) __cudaInitModule(void** handle) {
  const Lock lock(registry().mutex);
  return remember(load(binary_of(handle))) == cudaSuccess ? 1 : 0;
}

NC_EXPORT __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
  return remember(kernel_of(host_function, kernel));
}

NC_EXPORT cudaGetSymbolAddress(void** address, const void* symbol) {
  CUdeviceptr device = 0;
  const cudaError_t result = symbol_of(symbol, &device, nullptr);
  if (result == cudaSuccess) *address = reinterpret_cast<void*>(device);
  return remember(result);
}

NC_EXPORT cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  CUdeviceptr device = 0;
  return remember(symbol_of(symbol, &device, bytes));
}
