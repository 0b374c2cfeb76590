// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/input_file.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace streamsan::cli {
namespace {

/// What the caller has opened, and whatever that is: the descriptor itself, and no way through its folder.
bool is_descriptor(std::string_view path) {
  if (path == "/dev/stdin") return true;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const std::string_view number = path.substr(folder.size());
    return !number.empty() && std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
  }
  return false;
}

}  // namespace

std::string input_fault(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!exists(status)) return error.message();
  if (is_directory(status)) return std::make_error_code(std::errc::is_a_directory).message();
  const bool handed_over = path == "/dev/null" || is_descriptor(path);
  return is_regular_file(status) || handed_over ? "" : "not a regular file";
}

}  // namespace streamsan::cli
