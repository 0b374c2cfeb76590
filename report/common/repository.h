// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The root of the repository that a file belongs to.
//
// That is the folder with .git (a file in work trees and submodules). What was unpacked from an archive has none: there
// it is the outermost folder around the file with a file that people put at the root of a project. The same project then
// has the same root, with and without its history, unless it lies inside of another one.
#pragma once

#include <filesystem>
#include <optional>

namespace streamsan::report {

/// `file`: an absolute path; nothing: the file is in no repository.
std::optional<std::filesystem::path> repository_around(const std::filesystem::path& file);

}  // namespace streamsan::report
