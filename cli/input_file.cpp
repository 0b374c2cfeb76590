// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/input_file.h"

#include <filesystem>
#include <system_error>

namespace streamsan::cli {

std::string input_fault(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!exists(status)) return error.message();
  if (is_directory(status)) return std::make_error_code(std::errc::is_a_directory).message();
  const bool handed_over =
      path == "/dev/null" || path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
  return is_regular_file(status) || handed_over ? "" : "not a regular file";
}

}  // namespace streamsan::cli
