// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The temporary folder; see scratch.h.
#include "analyzer/tool/scratch.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "analyzer/tool/files.h"

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

/// More than a worker leaves behind for a file with some findings.
constexpr std::size_t kRoom = std::size_t{64} * 1024;

[[noreturn]] void refuse(const std::string& what, const std::error_code& reason) {
  throw std::runtime_error(what + ": " + reason.message() + " (TMPDIR names another place)");
}

}  // namespace

Scratch::Scratch() {
  std::error_code failed;
  const fs::path folder = fs::temp_directory_path(failed);
  if (failed) {
    const char* given = std::getenv("TMPDIR");
    refuse(std::string("no temporary folder can be made in ") + (given == nullptr ? "/tmp" : given), failed);
  }
  std::string name = fs::absolute(folder / "streamsan-tidy-XXXXXX", failed).string();
  if (::mkdtemp(name.data()) == nullptr) {
    refuse("no temporary folder can be made in " + folder.string(), {errno, std::generic_category()});
  }
  path_ = name;
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Scratch::demand_room() const {
  const fs::path probe = path_ / "room";
  if (const std::error_code failed = write_file(probe, std::string(kRoom, ' '))) {
    refuse("the temporary folder " + path_.string() + " cannot be written", failed);
  }
  std::error_code ignored;
  fs::remove(probe, ignored);
}

}  // namespace streamsan::analyzer
