// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files as a whole, and their names.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace streamsan::analyzer {

/// The whole file, or the reason why not, with the old one as it was. Follows links; keeps permissions and, for root,
/// the owner.
[[nodiscard]] std::error_code write_file(const std::filesystem::path& path, const std::string& text);
bool read_file(const std::filesystem::path& path, std::string& text);

/// From `directory` on, without dots; an empty path stays empty. Links are not followed.
std::string absolute_path(const std::filesystem::path& path, const std::filesystem::path& directory = {});
/// The one name of a file that has several: links are followed.
std::string real_path(const std::filesystem::path& path);
/// The root of the repository around a path, or the working folder: what relative paths are relative to.
std::string repository_root(const std::string& path);
/// Relative to `root` if below it, else unchanged.
std::string relative_to(const std::string& path, const std::string& root);

}  // namespace streamsan::analyzer
