// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The root of the checkout or project that a file belongs to.
//
// A checkout has a .git in its root (a file in work trees and submodules). A source tree that was unpacked from an
// archive has none: its root is the outermost folder around the file with a file that people put at the root of a
// project. The same project then has the same root, with and without its history, unless it lies inside another one.
#pragma once

#include <filesystem>
#include <optional>

namespace streamsan::report {

/// The innermost folder with a .git, `folder` itself included; nothing: there is none. `folder`: an absolute path.
std::optional<std::filesystem::path> checkout_around(const std::filesystem::path& folder);

/// The root of the file's checkout, or else of its project; nothing: it is in neither, or right below "/", which is no
/// root: fingerprints would change with it. `file`: an absolute path.
std::optional<std::filesystem::path> repository_around(const std::filesystem::path& file);

}  // namespace streamsan::report
