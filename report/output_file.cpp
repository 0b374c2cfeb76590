// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/output_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include "report/log_path.h"

namespace streamsan::report {
namespace {

namespace fs = std::filesystem;

/// 1 or 2 if our own output goes to that file.
std::optional<int> own_output(const struct stat& file) {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat own{};
    if (::fstat(descriptor, &own) == 0 && own.st_dev == file.st_dev && own.st_ino == file.st_ino) return descriptor;
  }
  return std::nullopt;
}

/// 0, or the number of the error.
int write_into(const std::string& path, std::string_view text, int flags) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0666);
  if (file < 0) return errno;
  const int failed = write_all(file, text) ? 0 : errno;
  return ::close(file) == 0 || failed != 0 ? failed : errno;
}

int replace(const std::string& path, std::string_view text) {
  const std::string target = file_behind(path);
  struct stat before{};
  const bool exists = ::stat(target.c_str(), &before) == 0;
  if (exists && ::access(target.c_str(), W_OK) != 0) return errno;
  std::string name = target + ".XXXXXX";
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  // A folder in which nothing new can be made may hold a file that can be written.
  if (file < 0) return exists ? write_into(target, text, O_TRUNC) : errno;
  int failed = 0;
  const auto demand = [&failed](bool done) {
    if (!done && failed == 0) failed = errno;
  };
  const mode_t mask = ::umask(0);
  ::umask(mask);
  demand(write_all(file, text));
  demand(::fchmod(file, exists ? before.st_mode & 07777 : 0666 & ~mask) == 0);
  demand(::fsync(file) == 0);
  demand(::close(file) == 0);
  if (failed == 0) demand(::rename(name.c_str(), target.c_str()) == 0);
  if (failed != 0) ::unlink(name.c_str());
  return failed;
}

int write(const std::string& path, std::string_view text) {
  if (path == "-") return write_all(STDOUT_FILENO, text) ? 0 : errno;
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return replace(path, text);
  if (const std::optional<int> own = own_output(file)) return write_all(*own, text) ? 0 : errno;
  return S_ISREG(file.st_mode) ? replace(path, text) : write_into(path, text, 0);
}

}  // namespace

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string file_behind(const std::string& path) {
  constexpr int kMostLinks = 40;
  std::error_code ignored;
  fs::path named = fs::absolute(path, ignored);
  for (int i = 0; i < kMostLinks && fs::is_symlink(named, ignored); ++i) {
    named = named.parent_path() / fs::read_symlink(named, ignored);
  }
  const std::string file = fs::weakly_canonical(named, ignored);
  return file.empty() ? path : file;
}

std::string write_output(const std::string& path, std::string_view text) {
  const std::string no_folder = path == "-" ? "" : make_parents(path);
  const int failed = write(path, text);
  if (failed == 0) return {};
  if (!no_folder.empty()) return "cannot write " + path + ": " + no_folder;
  return "cannot write " + (path == "-" ? "to stdout" : path) + ": " + std::generic_category().message(failed);
}

}  // namespace streamsan::report
