// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels: what a CUfunction is called, and where its parameters are. cuFuncGetParamInfo (driver 12.4 and later) gives
// offset and size of each.
//
// A CUkernel may be launched in place of a CUfunction; the look-up that made the handle says which it is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace streamsan::recorder {

/// One parameter of a kernel.
struct Parameter {
  std::uint32_t offset;  ///< in the packed argument buffer
  std::uint32_t size;    ///< bytes
};

/// Arguments of more bytes get no record of their own: kernels with tables among them are given new ones all the time,
/// and little can be proved of those.
inline constexpr std::uint32_t kMostArgumentBytes = 512;

struct Function {
  std::uint64_t handle;
  std::uint32_t id;     ///< as in trace records
  std::uint32_t epoch;  ///< of unloads: a description from before the last unload is not trusted
  std::uint32_t count;  ///< number of parameters
  std::uint32_t bytes;  ///< of all of them, packed
  bool layout_known;    ///< false: the driver did not tell, arguments are not read
  const Parameter* parameters;
  const char* name;  ///< mangled; cut if it is very long
};

/// The handle was handed out by cuLibraryGetKernel (a CUkernel) or by another look-up (a CUfunction). Cheap: some
/// libraries look their kernels up before every launch.
void function_looked_up(std::uint64_t handle, bool is_kernel);

/// Is it a CUkernel?
bool is_kernel_handle(std::uint64_t handle);

/// A module or library is about to be unloaded: any handle may get a new life.
void kernels_going();

/// Asks the driver on first sight, and writes the Function record. nullptr: no room.
const Function* function_info(std::uint64_t handle);

/// function_info() will be asked about it: what that needs is fetched meanwhile, in two steps, of which the second
/// waits for the first.
void expect_function(std::uint64_t handle);
void expect_description(std::uint64_t handle);

}  // namespace streamsan::recorder
