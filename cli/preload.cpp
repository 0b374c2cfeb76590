// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/preload.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>

namespace streamsan::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libstreamsan.so";
constexpr const char* kAsanOptions = "ASAN_OPTIONS";
/// Names the one library that receives the program's NVTX calls.
constexpr const char* kNvtxListener = "NVTX_INJECTION64_PATH";
/// What /dev/shm must have free to be used: traces are punched as they are read, so this is for a judge that falls
/// behind.
constexpr std::uint64_t kRoomWanted = std::uint64_t{512} << 20;

constexpr std::string_view kPrefix = "streamsan.";
constexpr const char* kPreloadSeparators = " :";

/// The path of a library for LD_PRELOAD, which splits its value at these characters and knows no quotes: where the path
/// has one, a link to it in the directory.
std::string for_preload(const std::string& path, const std::string& directory) {
  if (path.find_first_of(kPreloadSeparators) == std::string::npos) return path;
  const std::string link = directory + "/" + kLibrary;
  std::error_code error;
  fs::create_symlink(path, link, error);
  return error ? path : link;
}

/// The launcher that made this directory, out of its name, streamsan.<process id>.<six letters>; 0: it is no such name,
/// or a directory that was meant to be kept.
pid_t maker_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return 0;
  name.remove_prefix(kPrefix.size());
  std::size_t dot = name.find('.');
  pid_t pid = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  bool number = error == std::errc{} && pid > 0 && end == name.data() + std::min(dot, name.size());
  return number && dot != std::string_view::npos && name.size() == dot + 1 + 6 ? pid : 0;
}

/// A launcher that was killed leaves its directory, often in memory. Process ids alone do not show that it is gone: it
/// may be in a namespace of its own and share only the file system. So its lock must be gone as well.
void remove_left_behind(const fs::path& parent) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
    pid_t maker = maker_of(entry.path().filename().string());
    if (maker == 0 || kill(maker, 0) == 0 || errno != ESRCH) continue;
    int file = open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) continue;
    struct stat status{};
    bool ours = fstat(file, &status) == 0 && status.st_uid == geteuid();
    std::error_code ignored;
    if (ours && flock(file, LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
    close(file);
  }
}

}  // namespace

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// The loader ignores a preload that it cannot load, and the program would run unchecked.
static bool is_elf_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return std::string_view(magic, sizeof magic) == "\177ELF";
}

std::string find_preload(const Options& options, std::vector<std::string>& tried) {
  std::error_code error;
  if (!options.preload_path.empty()) {
    tried.push_back(options.preload_path);
    if (is_elf_file(options.preload_path)) return fs::absolute(options.preload_path).string();
    return {};
  }
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path here = self.parent_path();
  for (const char* relative : {".", "../lib/streamsan", "../lib", "../interposer", "../lib64/streamsan", "../lib64"}) {
    fs::path candidate = (here / relative / kLibrary).lexically_normal();
    tried.push_back(candidate.string());
    if (fs::is_regular_file(candidate, error)) return candidate.string();
  }
  return {};
}

std::uint64_t free_bytes(const std::string& directory) {
  struct statvfs status{};
  if (statvfs(directory.c_str(), &status) != 0) return 0;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

std::string trace_parent(const Options& options) {
  if (!options.trace_dir.empty()) return options.trace_dir;
  if (!options.keep_trace && access("/dev/shm", W_OK | X_OK) == 0 && free_bytes("/dev/shm") >= kRoomWanted) {
    return "/dev/shm";
  }
  std::string temporary = environment("TMPDIR");
  return !temporary.empty() && access(temporary.c_str(), W_OK | X_OK) == 0 ? temporary : "/tmp";
}

std::string make_trace_directory(const Options& options, std::string& error) {
  std::error_code code;
  fs::path parent = fs::absolute(trace_parent(options), code);
  fs::create_directories(parent, code);
  // One that is to be kept does not name us: it would be taken for left behind once we are gone.
  std::string maker = options.keep_trace ? "" : std::to_string(getpid()) + ".";
  std::string directory = (parent / (std::string(kPrefix) + maker + "XXXXXX")).string();
  remove_left_behind(parent);
  if (!mkdtemp(directory.data())) {
    error = "cannot make a directory for traces in " + parent.string() + ": " + std::generic_category().message(errno) +
            " (trace_dir)";
    return {};
  }
  return directory;
}

std::optional<std::string> other_nvtx_listener() {
  const char* set = std::getenv(kNvtxListener);
  if (!set || fs::path(set).filename() == kLibrary) return std::nullopt;
  return set;
}

std::vector<std::string> guest_environment(const Options& options, const std::string& preload,
                                           const FootprintPlan& footprints, const std::string& trace_directory,
                                           const TimingPlan& timings) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (name != "LD_PRELOAD" && name != "STREAMSAN_OPTIONS" && name != kAsanOptions &&
        (name != kNvtxListener || other_nvtx_listener()))
      out.emplace_back(text);
  }
  // NVTX opens what this names, and finds that it is loaded already.
  if (!other_nvtx_listener()) out.push_back(std::string(kNvtxListener) + "=" + preload);
  std::string before = environment("LD_PRELOAD");
  out.push_back("LD_PRELOAD=" + for_preload(preload, trace_directory) + (before.empty() ? "" : ":" + before));

  // A program that is built with AddressSanitizer ends at its start when another library was preloaded before its
  // runtime. Ours forwards what that intercepts. The user's own word comes last and wins.
  const std::string asan = environment(kAsanOptions);
  out.push_back(std::string(kAsanOptions) + "=verify_asan_link_order=0" + (asan.empty() ? "" : ":" + asan));

  std::string settings = environment("STREAMSAN_OPTIONS");
  auto set = [&settings](const std::string& entry) { settings += (settings.empty() ? "" : ":") + entry; };
  auto set_flag = [&](const char* key, bool value) { set(std::string(key) + (value ? "=1" : "=0")); };
  auto set_number = [&](const char* key, std::uint64_t value) { set(std::string(key) + "=" + std::to_string(value)); };
  // What the launcher decides is set again below: the last word counts.
  auto set_text = [&](const std::string& key, const std::string& text) {
    if (!text.empty()) set(key + "=" + quoted_option(text));
  };
#define SS_SET_Bool set_flag
#define SS_SET_Number set_number
#define SS_SET_Text set_text
#define SS_SET_Output set_text
#define SS_OPTION(type, name, default_value, where, description) \
  if ((where) & Guest) SS_SET_##type(#name, options.name);
#include "cli/options.def"
#undef SS_OPTION
#undef SS_SET_Bool
#undef SS_SET_Number
#undef SS_SET_Text
#undef SS_SET_Output
  set_flag("timings", timings.take);
  set_text("trace_path", trace_directory + "/%p.trace");
  if (timings.take) set_text("cupti_library", timings.cupti);
  set("footprints=" + (footprints.measure ? options.footprints : report::name(Footprints::Inferred)));
  if (footprints.measure) {
    set("footprint_policy=" + options.footprint_policy);
    set_text("agent_path", footprints.agent);
    set_text("sanitizer_library", footprints.sanitizer);
    set_text("earlier_footprints", footprints.earlier);
  }
  // The first launch of a kernel loads its code, and that waits for running work: it would wait for the delays.
  if (options.perturb > 0 && environment("CUDA_MODULE_LOADING").empty()) out.emplace_back("CUDA_MODULE_LOADING=EAGER");
  out.push_back("STREAMSAN_OPTIONS=" + settings);
  return out;
}

}  // namespace streamsan::cli
