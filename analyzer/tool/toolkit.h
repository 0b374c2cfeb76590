// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the headers are that no command line names: CUDA's, and Clang's own.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace streamsan::analyzer {

/// The root of a CUDA toolkit, for --cuda-path.
struct Toolkit {
  std::string root;
  std::string include;                      ///< the folder of cuda_runtime.h
  std::vector<std::string> system_folders;  ///< folders that nvcc adds by itself: include/cccl since CUDA 13
};

/// Looks in this order: `option` (--cuda-path), CUDA_PATH and CUDA_HOME, the place of the nvcc that the entry names,
/// /usr/local/cuda. An option that is no toolkit is an error, not a reason to look on. Nothing found: `error` says
/// where it was looked for.
std::optional<Toolkit> find_toolkit(const std::string& option, const std::string& compiler, std::string& error);

/// Clang's resource directory: stddef.h and the cuda_wrappers that CUDA needs. A program outside of LLVM's own
/// installation must be given its path, or it loses the wrappers without a word. Empty: there is none, see `error`.
std::string find_resource_dir(std::string& error);

/// This program's own file, however it was started.
std::string own_path();

}  // namespace streamsan::analyzer
