// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/common/repository.h"

#include <algorithm>
#include <system_error>

namespace streamsan::report {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAtTheRoot[] = {"CMakeLists.txt", "Makefile",       "meson.build", "configure.ac", "setup.py",
                                      "setup.cfg",      "pyproject.toml", "WORKSPACE",   "MODULE.bazel", ".clang-tidy"};

}  // namespace

std::optional<fs::path> checkout_around(const fs::path& folder) {
  std::error_code ignored;
  for (fs::path at = folder; !at.empty(); at = at.parent_path()) {
    if (fs::exists(at / ".git", ignored)) return at;
    if (at == at.root_path()) break;
  }
  return std::nullopt;
}

std::optional<fs::path> repository_around(const fs::path& file) {
  if (auto checkout = checkout_around(file.parent_path()); checkout && *checkout != checkout->root_path()) {
    return checkout;
  }
  std::error_code ignored;
  std::optional<fs::path> outermost;
  for (fs::path folder = file.parent_path(); !folder.empty() && folder != folder.root_path();
       folder = folder.parent_path()) {
    if (std::any_of(std::begin(kAtTheRoot), std::end(kAtTheRoot),
                    [&](const char* name) { return fs::exists(folder / name, ignored); })) {
      outermost = folder;
    }
  }
  return outermost;
}

}  // namespace streamsan::report
