// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, libraries, functions and kernels as handles over Code (code.h). A module and its functions belong to the
// context that was current when it was loaded; a library belongs to none, and its kernels and variables are there in
// every context.

#include "testsuite/nulldriver/code.h"

#include <fstream>
#include <iterator>

namespace streamsan::null {
namespace {

CUresult load_module(CUmodule* out, const void* image) {
  if (out == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  Code* code = load_code(image);
  if (code == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  *out = state().modules.create();
  (*out)->code = code;
  (*out)->context = context;
  return CUDA_SUCCESS;
}

CUfunction make_function(Code* code, std::string_view name, CUmodule module, CUcontext context) {
  CUfunction function = state().functions.create();
  function->code = code;
  function->name = name;
  function->module = module;
  function->context = context;
  return function;
}

CUresult get_global(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name, bool managed) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().libraries.alive(library)) return CUDA_ERROR_INVALID_HANDLE;
  const auto found = library->code->globals.find(name);
  if (found == library->code->globals.end() || found->second.managed != managed) return CUDA_ERROR_NOT_FOUND;
  return address_of_global(*library->code, name, current_context(), address, bytes);
}

CUresult parameter_info(const Code& code, const std::string& name, size_t index, size_t* offset, size_t* bytes) {
  const auto layout = layout_of(code, name);
  if (!layout) return CUDA_ERROR_NOT_SUPPORTED;
  if (index >= layout->size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = (*layout)[index].offset;
  if (bytes != nullptr) *bytes = (*layout)[index].bytes;
  return CUDA_SUCCESS;
}

CUresult function_attribute(int* value, CUfunction_attribute which) {
  switch (which) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = 90;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = 48 << 10;
      return CUDA_SUCCESS;
    default:
      *value = 0;
      return which >= 0 && which < CU_FUNC_ATTRIBUTE_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace
}  // namespace streamsan::null

using namespace streamsan::null;

SS_EXPORT cuModuleLoadData(CUmodule* module, const void* image) {
  SS_CALL(cuModuleLoadData);
  return load_module(module, image);
}

SS_EXPORT cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  SS_CALL(cuModuleLoadDataEx);
  return load_module(module, image);
}

SS_EXPORT cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  SS_CALL(cuModuleLoadFatBinary);
  return load_module(module, image);
}

/// The bytes of the file live as long as the process: nothing tells when the last handle into them is gone.
SS_EXPORT cuModuleLoad(CUmodule* module, const char* path) {
  SS_CALL(cuModuleLoad);
  if (module == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::ifstream file(path, std::ios::binary);
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  const auto* bytes = new std::string(std::istreambuf_iterator<char>(file), {});
  return bytes->size() < sizeof(std::uint64_t) * 2 ? CUDA_ERROR_INVALID_IMAGE : load_module(module, bytes->data());
}

SS_EXPORT cuModuleUnload(CUmodule module) {
  SS_CALL(cuModuleUnload);
  const Lock lock = lock_state();
  if (!state().modules.alive(module)) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& [name, function] : module->functions) state().functions.destroy(function);
  unload_code(module->code);
  state().modules.destroy(module);
  return CUDA_SUCCESS;
}

SS_EXPORT cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
  SS_CALL(cuModuleGetFunction);
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().modules.alive(module)) return CUDA_ERROR_INVALID_HANDLE;
  if (!has_kernel(*module->code, name)) return CUDA_ERROR_NOT_FOUND;
  CUfunction& function = module->functions[name];
  if (function == nullptr) function = make_function(module->code, name, module, module->context);
  *out = function;
  return CUDA_SUCCESS;
}

SS_EXPORT cuModuleGetGlobal(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  SS_CALL(cuModuleGetGlobal);
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().modules.alive(module)) return CUDA_ERROR_INVALID_HANDLE;
  CUcontext context = state().contexts.alive(module->context) ? module->context : current_context();
  return address_of_global(*module->code, name, context, address, bytes);
}

SS_EXPORT cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  SS_CALL(cuModuleGetLoadingMode);
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

SS_EXPORT cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned, CUlibraryOption*,
                            void**, unsigned) {
  SS_CALL(cuLibraryLoadData);
  if (library == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().initialised) return CUDA_ERROR_NOT_INITIALIZED;
  Code* code = load_code(image);
  if (code == nullptr) return CUDA_ERROR_INVALID_IMAGE;
  *library = state().libraries.create();
  (*library)->code = code;
  return CUDA_SUCCESS;
}

SS_EXPORT cuLibraryUnload(CUlibrary library) {
  SS_CALL(cuLibraryUnload);
  const Lock lock = lock_state();
  if (!state().libraries.alive(library)) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& [name, kernel] : library->kernels) {
    for (const auto& [context, function] : kernel->functions) state().functions.destroy(function);
    state().kernels.destroy(kernel);
  }
  unload_code(library->code);
  state().libraries.destroy(library);
  return CUDA_SUCCESS;
}

SS_EXPORT cuLibraryGetKernel(CUkernel* out, CUlibrary library, const char* name) {
  SS_CALL(cuLibraryGetKernel);
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().libraries.alive(library)) return CUDA_ERROR_INVALID_HANDLE;
  if (!has_kernel(*library->code, name)) return CUDA_ERROR_NOT_FOUND;
  CUkernel& kernel = library->kernels[name];
  if (kernel == nullptr) {
    kernel = state().kernels.create();
    kernel->code = library->code;
    kernel->name = name;
    kernel->library = library;
  }
  *out = kernel;
  return CUDA_SUCCESS;
}

SS_EXPORT cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  SS_CALL(cuLibraryGetGlobal);
  return get_global(address, bytes, library, name, false);
}

SS_EXPORT cuLibraryGetManaged(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  SS_CALL(cuLibraryGetManaged);
  return get_global(address, bytes, library, name, true);
}

SS_EXPORT cuKernelGetFunction(CUfunction* out, CUkernel kernel) {
  SS_CALL(cuKernelGetFunction);
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().kernels.alive(kernel)) return CUDA_ERROR_INVALID_HANDLE;
  CUcontext context = nullptr;
  if (const CUresult missing = require_context(&context); missing != CUDA_SUCCESS) return missing;
  CUfunction& function = kernel->functions[context];
  if (function == nullptr) function = make_function(kernel->code, kernel->name, nullptr, context);
  *out = function;
  return CUDA_SUCCESS;
}

SS_EXPORT cuKernelGetLibrary(CUlibrary* library, CUkernel kernel) {
  SS_CALL(cuKernelGetLibrary);
  if (library == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().kernels.alive(kernel)) return CUDA_ERROR_INVALID_HANDLE;
  *library = kernel->library;
  return CUDA_SUCCESS;
}

SS_EXPORT cuKernelGetName(const char** name, CUkernel kernel) {
  SS_CALL(cuKernelGetName);
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().kernels.alive(kernel)) return CUDA_ERROR_INVALID_HANDLE;
  *name = kernel->name.c_str();
  return CUDA_SUCCESS;
}

SS_EXPORT cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  SS_CALL(cuKernelGetParamInfo);
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().kernels.alive(kernel)) return CUDA_ERROR_INVALID_HANDLE;
  return parameter_info(*kernel->code, kernel->name, index, offset, bytes);
}

SS_EXPORT cuKernelGetAttribute(int* value, CUfunction_attribute which, CUkernel kernel, CUdevice device) {
  SS_CALL(cuKernelGetAttribute);
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!is_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const Lock lock = lock_state();
  if (!state().kernels.alive(kernel)) return CUDA_ERROR_INVALID_HANDLE;
  return function_attribute(value, which);
}

/// The driver accepts a CUkernel wherever it takes a CUfunction to launch or to ask its name; so do the three below.
SS_EXPORT cuFuncGetName(const char** name, CUfunction function) {
  SS_CALL(cuFuncGetName);
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (state().functions.alive(function)) {
    *name = function->name.c_str();
    return CUDA_SUCCESS;
  }
  auto* kernel = reinterpret_cast<CUkernel>(function);
  if (!state().kernels.alive(kernel)) return CUDA_ERROR_INVALID_HANDLE;
  *name = kernel->name.c_str();
  return CUDA_SUCCESS;
}

SS_EXPORT cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  SS_CALL(cuFuncGetParamInfo);
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  Code* code = nullptr;
  std::string name;
  if (const CUresult unknown = find_function(function, &code, &name); unknown != CUDA_SUCCESS) return unknown;
  return parameter_info(*code, name, index, offset, bytes);
}

SS_EXPORT cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  SS_CALL(cuFuncGetAttribute);
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  Code* code = nullptr;
  std::string name;
  if (const CUresult unknown = find_function(function, &code, &name); unknown != CUDA_SUCCESS) return unknown;
  return function_attribute(value, which);
}

SS_EXPORT cuFuncGetModule(CUmodule* module, CUfunction function) {
  SS_CALL(cuFuncGetModule);
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().functions.alive(function)) return CUDA_ERROR_INVALID_HANDLE;
  if (function->module == nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  *module = function->module;
  return CUDA_SUCCESS;
}

/// All code is loaded at once.
SS_EXPORT cuFuncIsLoaded(CUfunctionLoadingState* loaded, CUfunction function) {
  SS_CALL(cuFuncIsLoaded);
  if (loaded == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  if (!state().functions.alive(function)) return CUDA_ERROR_INVALID_HANDLE;
  *loaded = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}

SS_EXPORT cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block_size, size_t) {
  SS_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor);
  if (blocks == nullptr || block_size <= 0 || block_size > 1024) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock = lock_state();
  Code* code = nullptr;
  std::string name;
  if (const CUresult unknown = find_function(function, &code, &name); unknown != CUDA_SUCCESS) return unknown;
  *blocks = std::min(2048 / block_size, 32);
  return CUDA_SUCCESS;
}
