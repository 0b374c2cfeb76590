// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The temporary folder, the signals, and files as a whole; see scratch.h.
#include "analyzer/tool/scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace streamsan::analyzer {
namespace {

volatile std::sig_atomic_t g_signal = 0;

void note(int signal) {
  g_signal = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

Scratch::Scratch() {
  std::error_code failed;
  std::string name = (std::filesystem::temp_directory_path(failed) / "streamsan-tidy-XXXXXX").string();
  if (!failed && ::mkdtemp(name.data()) != nullptr) {
    path_ = name;
  }
}

Scratch::~Scratch() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

void note_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // Without SA_RESTART: waiting for a worker is interrupted. What the parent ignores (nohup) stays ignored.
    struct sigaction before{};
    struct sigaction action{};
    action.sa_handler = note;
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) {
      ::sigaction(signal, &action, nullptr);
    }
  }
}

int noted_signal() { return g_signal; }

void die_of_signal() {
  std::signal(g_signal, SIG_DFL);
  std::raise(g_signal);
  std::_Exit(128 + g_signal);
}

namespace {

bool write_all(int file, const std::string& text) {
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t step = ::write(file, text.data() + written, text.size() - written);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) return false;
    written += static_cast<std::size_t>(step);
  }
  return true;
}

}  // namespace

// The old file stands until the new one is whole and on the disk: a full disk or a kill in between loses nothing.
bool write_file(const std::filesystem::path& path, const std::string& text) {
  std::error_code failed;
  if (std::filesystem::exists(path, failed) && !std::filesystem::is_regular_file(path, failed)) {
    std::ofstream stream(path, std::ios::binary);  // pipes and devices (/dev/stdout) are written as they are
    stream << text;
    stream.flush();
    return stream.good();
  }
  const std::filesystem::path followed = std::filesystem::weakly_canonical(path, failed);
  const std::filesystem::path target = failed ? path : followed;
  struct stat before{};
  const bool exists = ::stat(target.c_str(), &before) == 0;
  if (exists && ::access(target.c_str(), W_OK) != 0) {
    return false;
  }
  std::string name = target.string() + ".XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0) {
    return false;
  }
  const mode_t mask = ::umask(0);
  ::umask(mask);
  bool done = write_all(file, text);
  done = ::fchmod(file, exists ? before.st_mode & 07777 : 0666 & ~mask) == 0 && done;
  if (exists && ::geteuid() == 0) {
    done = ::fchown(file, before.st_uid, before.st_gid) == 0 && done;
  }
  done = ::fsync(file) == 0 && done;
  done = ::close(file) == 0 && done;
  done = done && ::rename(name.c_str(), target.c_str()) == 0;
  if (!done) {
    ::unlink(name.c_str());
  }
  return done;
}

bool read_file(const std::filesystem::path& path, std::string& text) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) {
    return false;
  }
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream out;
  out << stream.rdbuf();
  text = std::move(out).str();
  return stream.good() || stream.eof();
}

}  // namespace streamsan::analyzer
