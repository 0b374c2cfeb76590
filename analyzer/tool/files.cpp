// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading and writing; see files.h.
#include "analyzer/tool/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "report/common/repository.h"

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

std::error_code last_error() { return {errno, std::generic_category()}; }

std::error_code write_all(int file, const std::string& text) {
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t step = ::write(file, text.data() + written, text.size() - written);
    if (step < 0 && errno == EINTR) continue;
    if (step < 0) return last_error();
    written += static_cast<std::size_t>(step);
  }
  return {};
}

/// 1 or 2 if what `file` tells of is where this program's output goes, and may be written there.
std::optional<int> own_output(const struct stat& file) {
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat own{};
    const bool same = ::fstat(descriptor, &own) == 0 && own.st_dev == file.st_dev && own.st_ino == file.st_ino;
    const int flags = same ? ::fcntl(descriptor, F_GETFL) : -1;
    if (flags != -1 && (flags & O_ACCMODE) != O_RDONLY) {
      return descriptor;
    }
  }
  return std::nullopt;
}

bool is_of_the_system(const fs::path& path) {
  const auto first = std::next(path.begin(), path.has_relative_path() ? 1 : 0);
  return first != path.end() && (*first == "dev" || *first == "proc");
}

/// Whether a file of that name is not ours to replace: pipes, devices, and what has been opened already and may hold
/// output (/dev/fd/3, and the very file that stdout was redirected to). In /dev/shm there are files like any other.
bool is_written_through(const fs::path& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) {
    return false;
  }
  std::error_code ignored;
  const bool opened = is_of_the_system(fs::absolute(path, ignored).lexically_normal()) &&
                      !is_of_the_system(fs::canonical(path, ignored));
  return !S_ISREG(file.st_mode) || own_output(file).has_value() || opened;
}

/// The descriptor that a name such as /dev/fd/3 stands for.
std::optional<int> named_descriptor(const fs::path& path) {
  std::error_code failed;
  const std::string number = path.filename().string();
  const bool all_digits = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  if (!all_digits || fs::canonical(path.parent_path(), failed) != fs::canonical("/proc/self/fd", failed) || failed) {
    return std::nullopt;
  }
  int descriptor = -1;
  const auto [end, wrong] = std::from_chars(number.data(), number.data() + number.size(), descriptor);
  return wrong == std::errc{} ? std::optional<int>(descriptor) : std::nullopt;
}

std::error_code write_through(const fs::path& path, const std::string& text) {
  // Opened anew, a file would be written from its start, over what is there.
  if (const std::optional<int> named = named_descriptor(path)) {
    return write_all(*named, text);
  }
  struct stat before{};
  const std::optional<int> own = ::stat(path.c_str(), &before) == 0 ? own_output(before) : std::nullopt;
  if (own) {
    return write_all(*own, text);
  }
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) {
    return last_error();
  }
  const std::error_code failed = write_all(file, text);
  return ::close(file) == 0 || failed ? failed : last_error();
}

}  // namespace

// The old file stands until the new one is whole and on the disk: a full disk or a kill in between loses nothing.
std::error_code write_file(const fs::path& path, const std::string& text) {
  if (is_written_through(path)) {
    return write_through(path, text);
  }
  std::error_code failed;
  const fs::path followed = fs::weakly_canonical(path, failed);
  const fs::path target = failed ? path : followed;
  failed.clear();
  struct stat before{};
  const bool exists = ::stat(target.c_str(), &before) == 0;
  if (exists && ::access(target.c_str(), W_OK) != 0) {
    return last_error();
  }
  std::string name = target.string() + ".XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0) {
    return last_error();
  }
  const auto demand = [&failed](bool done) {
    if (!done && !failed) {
      failed = last_error();
    }
  };
  const mode_t mask = ::umask(0);
  ::umask(mask);
  failed = write_all(file, text);
  demand(::fchmod(file, exists ? before.st_mode & 07777 : 0666 & ~mask) == 0);
  if (exists && ::geteuid() == 0) {
    demand(::fchown(file, before.st_uid, before.st_gid) == 0);
  }
  demand(::fsync(file) == 0);
  demand(::close(file) == 0);
  if (!failed) {
    demand(::rename(name.c_str(), target.c_str()) == 0);
  }
  if (failed) {
    ::unlink(name.c_str());
  }
  return failed;
}

bool read_file(const fs::path& path, std::string& text) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    return false;
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream out;
  out << stream.rdbuf();
  text = std::move(out).str();
  return stream.good() || stream.eof();
}

std::string absolute_path(const fs::path& path, const fs::path& directory) {
  std::error_code ignored;
  return path.empty() ? std::string{} : fs::absolute(directory / path, ignored).lexically_normal().string();
}

std::string real_path(const fs::path& path) {
  std::error_code failed;
  const std::string real = fs::weakly_canonical(path, failed).string();
  return failed ? path.string() : real;
}

std::string repository_root(const std::string& path) {
  std::error_code ignored;
  const std::optional<fs::path> root = report::repository_around(path);
  return root ? root->string() : fs::current_path(ignored).string();
}

std::string relative_to(const std::string& path, const std::string& root) {
  const fs::path relative = fs::path(path).lexically_relative(root);
  return relative.empty() || *relative.begin() == ".." ? path : relative.generic_string();
}

}  // namespace streamsan::analyzer
