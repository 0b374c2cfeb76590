// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/executable.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace streamsan::cli {
namespace {

namespace fs = std::filesystem;

#if defined __aarch64__
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
constexpr Elf64_Half kMachine = EM_X86_64;
#endif
/// As the kernel: an interpreter may be a script, and its interpreter, too.
constexpr int kScripts = 4;

template <typename T>
bool read_at(std::ifstream& file, std::uint64_t offset, T* into, std::size_t count = 1) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(reinterpret_cast<char*>(into), static_cast<std::streamsize>(count * sizeof(T))));
}

/// Does the kernel run the file with rights that this user does not have? Then the loader takes no wishes.
bool is_privileged(const fs::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return false;
  if ((status.st_mode & S_ISUID) && status.st_uid != geteuid()) return true;
  if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getegid()) return true;
  return geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

std::string elf_obstacle(std::ifstream& file) {
  Elf64_Ehdr head{};
  if (!read_at(file, 0, &head)) return {};
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != kMachine) return "it is built for another processor";
  std::vector<Elf64_Phdr> segments(head.e_phnum);
  if (head.e_phentsize != sizeof(Elf64_Phdr) || !read_at(file, head.e_phoff, segments.data(), segments.size()))
    return {};
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_INTERP) continue;
    std::string loader(std::min<std::size_t>(segment.p_filesz, 4096), '\0');
    if (!read_at(file, segment.p_offset, loader.data(), loader.size())) return {};
    const std::string name = fs::path(loader.c_str()).filename().string();
    return name.starts_with("ld-linux") ? "" : "its loader is " + name + ", not that of glibc";
  }
  return "it is linked statically";
}

std::string obstacle(const fs::path& path, int scripts) {
  std::ifstream file(path, std::ios::binary);
  char start[4] = {};
  if (!file.read(start, sizeof start)) return {};
  if (std::memcmp(start, ELFMAG, SELFMAG) == 0)
    return is_privileged(path) ? "it runs with the rights of another user (setuid, setgid or capabilities)"
                               : elf_obstacle(file);
  if (start[0] != '#' || start[1] != '!' || scripts == 0) return {};
  file.seekg(2);
  std::string line, interpreter;
  std::getline(file, line);
  std::istringstream(line) >> interpreter;
  const std::string why = obstacle(interpreter, scripts - 1);
  return why.empty() ? "" : "of its interpreter " + interpreter + ": " + why;
}

}  // namespace

std::string preload_obstacle(const fs::path& program) { return obstacle(program, kScripts); }

fs::path find_program(const std::string& command) {
  if (command.find('/') != std::string::npos) return command;
  const char* set = std::getenv("PATH");
  std::istringstream folders(set ? set : "/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    fs::path candidate = fs::path(folder.empty() ? "." : folder) / command;
    std::error_code ignored;
    if (fs::is_regular_file(candidate, ignored) && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

}  // namespace streamsan::cli
