// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search for CUDA's and Clang's own headers; the order of places is in toolkit.h. A place counts only if the header
// that matters is there.
#include "analyzer/tool/toolkit.h"

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "llvm/Support/Program.h"

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::optional<Toolkit> toolkit_at(const fs::path& root) {
  std::vector<fs::path> folders{root / "include"};
  std::error_code ignored;
  for (const fs::directory_entry& target : fs::directory_iterator(root / "targets", ignored)) {
    folders.push_back(target.path() / "include");
  }
  for (const fs::path& folder : folders) {
    if (is_file(folder / "cuda_runtime.h")) {
      Toolkit toolkit{root.string(), folder.string(), {}};
      if (fs::is_directory(folder / "cccl", ignored)) {
        toolkit.system_folders.push_back((folder / "cccl").string());
      }
      return toolkit;
    }
  }
  return std::nullopt;
}

/// nvcc may be a link, a wrapper in /usr/bin, or a name to be found in PATH.
std::vector<fs::path> roots_of(const std::string& compiler) {
  std::vector<fs::path> roots;
  std::string program = compiler;
  if (program.find('/') == std::string::npos) {
    const auto found = llvm::sys::findProgramByName(program);
    if (!found) {
      return roots;
    }
    program = *found;
  }
  roots.push_back(fs::path(program).parent_path().parent_path());
  std::error_code ignored;
  const fs::path real = fs::canonical(program, ignored);
  if (!real.empty()) {
    roots.push_back(real.parent_path().parent_path());
  }
  return roots;
}

}  // namespace

std::optional<Toolkit> find_toolkit(const std::string& option, const std::string& compiler, std::string& error) {
  if (!option.empty()) {
    std::optional<Toolkit> toolkit = toolkit_at(option);
    if (!toolkit) {
      error = "no CUDA toolkit in " + option + ": there is no include/cuda_runtime.h";
    }
    return toolkit;
  }
  std::vector<fs::path> roots;
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"}) {
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') {
      roots.emplace_back(value);
    }
  }
  if (compiler.find("nvcc") != std::string::npos) {
    for (fs::path& root : roots_of(compiler)) {
      roots.push_back(std::move(root));
    }
  }
  roots.emplace_back("/usr/local/cuda");
  std::ostringstream places;
  for (const fs::path& root : roots) {
    if (std::optional<Toolkit> toolkit = toolkit_at(root)) {
      return toolkit;
    }
    places << (places.tellp() > 0 ? ", " : "") << root.string();
  }
  error = "no CUDA toolkit found (looked in " + places.str() + "); name it with --cuda-path or CUDA_PATH";
  return std::nullopt;
}

std::string find_resource_dir(std::string& error) {
  const std::string version = std::to_string(STREAMSAN_CLANG_MAJOR);
  const fs::path own = fs::path(own_path()).parent_path().parent_path();
  const fs::path places[] = {own / "lib" / "clang" / version,
                             own / "lib" / "streamsan" / "clang" / version,
                             own / "lib" / ("llvm-" + version) / "lib" / "clang" / version,
                             fs::path(STREAMSAN_LLVM_LIBRARY_DIR) / "clang" / version,
                             fs::path("/usr/lib") / ("llvm-" + version) / "lib" / "clang" / version,
                             fs::path("/usr/lib/clang") / version,
                             fs::path("/usr/local/lib/clang") / version};
  for (const fs::path& place : places) {
    if (is_file(place / "include" / "stddef.h") && is_file(place / "include" / "cuda_wrappers" / "new")) {
      return place.string();
    }
  }
  error = "no resource directory of Clang " + version + " found (lib/clang/" + version +
          " with include/stddef.h); install clang-" + version + " or name it with --resource-dir";
  return {};
}

std::string own_path() {
  std::error_code ignored;
  return fs::canonical("/proc/self/exe", ignored).string();
}

}  // namespace streamsan::analyzer
