// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is inside a module or library: kernels, their parameters, variables.
//
// The null driver cannot read device code in general. It knows
//   * PTX text: entries with their parameters, and module variables, read from the text;
//   * an uncompressed cubin or fat binary: a kernel exists if the image has a section .text.NAME;
//   * whatever the CUDA runtime registered beforehand for the image (below), which is how nullcudart makes a compressed
//     fat binary known: the compiler tells the runtime names and sizes, a real driver would find them in the image.
// A name found in none of these is CUDA_ERROR_NOT_FOUND.
//
// Three private entry points; programs and nullcudart find them by dlsym:
//   streamsan_null_register_function(image, name)
//   streamsan_null_register_global(image, name, bytes, managed)
//   streamsan_null_register_kernel_body(name, body): `body` runs, with the kernelParams, whenever a kernel of this
//     mangled name is launched; without one a kernel does nothing
#pragma once

#include "testsuite/nulldriver/memory.h"
#include "testsuite/nulldriver/signature.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace streamsan::null {

/// The memory of a variable.
struct Place {
  std::uintptr_t address = 0;
  std::uint64_t allocation_id = 0;  ///< tells whether that allocation still lives: its context may be gone
};

/// A variable has memory in each context, given when first asked for; a managed one has one memory for all, under no
/// context.
struct Global {
  std::size_t bytes = 0;
  bool managed = false;
  std::map<CUcontext, Place> places;
};

/// A loaded image.
struct Code {
  const void* image = nullptr;
  std::size_t image_bytes = 0;  ///< searchable bytes; 0: unknown or compressed
  std::set<std::string, std::less<>> kernels;
  std::map<std::string, ParameterLayout, std::less<>> layouts;  ///< exact ones, from PTX
  std::map<std::string, Global, std::less<>> globals;
};

using KernelBody = void (*)(void** parameters);

/// nullptr if the image is not device code. Needs the lock, as all below.
Code* load_code(const void* image);
void unload_code(Code* code);
bool has_kernel(const Code& code, std::string_view name);
/// From PTX, else from the mangled name; nothing if neither tells.
std::optional<ParameterLayout> layout_of(const Code& code, const std::string& kernel);
CUresult address_of_global(Code& code, std::string_view name, CUcontext context, CUdeviceptr* address,
                           std::size_t* bytes);
KernelBody body_of(std::string_view kernel);

/// The code and name behind a CUfunction, or behind a CUkernel passed as one.
CUresult find_function(CUfunction function, Code** code, std::string* name);
/// The only context in which the function can be launched; nullptr for a CUkernel, which runs in every context, and for
/// a function whose context is gone.
CUcontext home_of(CUfunction function);

}  // namespace streamsan::null
