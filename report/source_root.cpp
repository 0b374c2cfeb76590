// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/source_root.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "report/common/repository.h"

namespace streamsan::report {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> below(const fs::path& file, const fs::path& root) {
  const fs::path relative = file.lexically_normal().lexically_relative(root.lexically_normal());
  if (relative.empty() || relative == "." || *relative.begin() == "..") return std::nullopt;
  return relative.generic_string();
}

}  // namespace

SourceRoot SourceRoot::here(const std::string& strip_path_prefix) {
  std::error_code failed;
  const char* workspace = std::getenv("GITHUB_WORKSPACE");
  if (workspace && fs::path(workspace).is_absolute() && fs::is_directory(workspace, failed)) {
    return SourceRoot(fs::path(workspace).lexically_normal().string(), strip_path_prefix);
  }
  const fs::path folder = fs::current_path(failed);
  return SourceRoot(failed ? "/" : checkout_around(folder).value_or(folder).string(), strip_path_prefix);
}

std::optional<std::string> SourceRoot::relative(const std::string& file) const {
  if (file.empty()) return std::nullopt;
  if (!prefix_.empty() && file.starts_with(prefix_)) {
    const std::size_t at = file.find_first_not_of('/', prefix_.size());
    if (at != std::string::npos) return file.substr(at);
  }
  const fs::path path(file);
  // Some build systems map the root away; what is left is relative to it.
  if (path.is_relative()) return below(fs::path(path_) / path, path_);
  if (auto found = below(path, path_)) return found;
  std::error_code failed;
  const fs::path real = fs::weakly_canonical(path, failed);
  const fs::path real_root = failed ? fs::path() : fs::weakly_canonical(path_, failed);
  return failed ? std::nullopt : below(real, real_root);
}

const Frame* frame_to_show(const std::vector<Frame>& stack, const SourceRoot& root) {
  const Frame* found = nullptr;
  for (const Frame& frame : stack) {
    if (frame.library || frame.file.empty()) continue;
    if (root.relative(frame.file)) return &frame;
    if (!found) found = &frame;
  }
  return found;
}

const Frame* frame_to_show(const Finding& finding, const SourceRoot& root) {
  for (const std::vector<Frame>* stack : stacks(finding)) {
    if (const Frame* frame = frame_to_show(*stack, root)) return frame;
  }
  return nullptr;
}

}  // namespace streamsan::report
