// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/footprint_files.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/preload.h"

namespace streamsan::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAgent = "libstreamsan_footprints.so";
constexpr const char* kTimingsAgent = "libstreamsan_timings.so";
/// How far below a package's directory the library may lie.
constexpr int kPackageDepth = 4;

/// A library of NVIDIA's, and where toolkits and Python packages keep it.
struct Library {
  std::vector<const char*> names;  ///< the best first
  std::vector<const char*> in_toolkit;
  const char* package;
};
const Library kSanitizer{{"libsanitizer-public.so"}, {"compute-sanitizer", "extras/Sanitizer"}, "cuda_sanitizer_api"};
const Library kCupti{{"libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"},
#if defined __aarch64__
                     {"extras/CUPTI/lib64", "lib64", "lib", "targets/sbsa-linux/lib", "targets/aarch64-linux/lib"},
#else
                     {"extras/CUPTI/lib64", "lib64", "lib", "targets/x86_64-linux/lib"},
#endif
                     "cuda_cupti"};

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

/// The directories in `parent` whose name starts with `prefix`, the highest version first: of python3.9 and python3.11
/// the latter.
std::vector<fs::path> versions(const fs::path& parent, std::string_view prefix) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
    if (entry.is_directory(error) && entry.path().filename().string().starts_with(prefix)) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end(), [](const fs::path& a, const fs::path& b) {
    std::string left = a.filename().string(), right = b.filename().string();
    return strverscmp(left.c_str(), right.c_str()) > 0;
  });
  return out;
}

/// One search: places in order, each looked at once.
class Search {
 public:
  Search(const Library& library, const Surroundings& surroundings) : library_(library), surroundings_(surroundings) {}

  [[nodiscard]] bool done() const { return !found_.path.empty(); }
  FoundFile take() { return std::move(found_); }

  /// A CUDA toolkit.
  void toolkit(const fs::path& root) {
    if (root.empty()) return;
    for (const char* folder : library_.in_toolkit) in(root / folder);
  }

  /// Below the directory in which a Python looks for packages.
  void packages(const fs::path& site) {
    fs::path nvidia = site / "nvidia";
    below(nvidia / library_.package, kPackageDepth);
    for (const fs::path& toolkit : versions(nvidia, "cu1")) below(toolkit, kPackageDepth);
  }

  /// The root of a Python, or of an environment: /usr of /usr/bin/python3.
  void python(const fs::path& prefix) {
    if (prefix.empty()) return;
    for (const char* library : {"lib", "lib64", "local/lib"}) {
      for (const fs::path& version : versions(prefix / library, "python3")) {
        packages(version / "site-packages");
        packages(version / "dist-packages");
      }
    }
  }

  /// A directory that the loader is configured to search.
  void in(const fs::path& directory) {
    if (done() || directory.empty()) return;
    found_.tried.push_back(directory.string());
    for (const char* name : library_.names) {
      if (!done() && is_file(directory / name)) accept(directory / name);
    }
  }

  /// The program that a shell would run; empty: none.
  [[nodiscard]] fs::path program(const char* name) const {
    for (const fs::path& directory : list("PATH")) {
      if (is_file(directory / name)) return directory / name;
    }
    return {};
  }
  /// The same for what a user types, which may be a path.
  [[nodiscard]] fs::path command(const std::string& typed) const {
    std::error_code error;
    if (typed.find('/') == std::string::npos) return typed.empty() ? fs::path() : program(typed.c_str());
    return is_file(typed) ? fs::absolute(typed, error).lexically_normal() : fs::path();
  }
  [[nodiscard]] std::vector<fs::path> list(const char* variable) const {
    std::vector<fs::path> out;
    std::string text = surroundings_.environment(variable);
    for (std::size_t at = 0; at < text.size();) {
      std::size_t end = std::min(text.find(':', at), text.size());
      if (end > at) out.emplace_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }

 private:
  void below(const fs::path& directory, int depth) {
    std::error_code error;
    if (done() || !fs::is_directory(directory, error)) return;
    in(directory);
    if (depth == 0) return;
    std::set<fs::path> children;  // in an order that does not depend on the file system
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
      // The headers of a toolkit are thousands of directories.
      bool headers = entry.path().filename() == "include";
      if (!headers && entry.is_directory(error) && !entry.is_symlink(error)) children.insert(entry.path());
    }
    for (const fs::path& child : children) below(child, depth - 1);
  }
  void accept(const fs::path& path) {
    std::error_code error;
    found_.path = fs::absolute(path, error).lexically_normal().string();
  }

  const Library& library_;
  const Surroundings& surroundings_;
  FoundFile found_;
};

/// <root> of <root>/bin/program, by its real path and by the one it was found at: a toolkit's nvcc may be a link from
/// somewhere else, and the python3 of a virtual environment is a link out of it.
std::vector<fs::path> roots_of(const fs::path& program) {
  if (program.empty()) return {};
  std::error_code error;
  std::vector<fs::path> out{program.parent_path().parent_path()};
  fs::path real = fs::canonical(program, error);
  if (!error && real.parent_path().parent_path() != out[0]) out.push_back(real.parent_path().parent_path());
  return out;
}

/// What an option names is used or missing; nothing else is looked for.
FoundFile named(const std::string& path) {
  std::error_code error;
  return {is_file(path) ? fs::absolute(path, error).string() : "", {path}};
}

FoundFile find_library(const Library& library, const Surroundings& surroundings) {
  Search search(library, surroundings);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) search.toolkit(surroundings.environment(variable));
  for (const fs::path& root : roots_of(search.program("nvcc"))) search.toolkit(root);

  for (const fs::path& root : roots_of(search.command(surroundings.program))) search.python(root);
  for (fs::path folder = surroundings.self.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.filename() == "site-packages" || folder.filename() == "dist-packages") search.packages(folder);
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    fs::path prefix = surroundings.environment(variable);
    search.toolkit(prefix);
    search.python(prefix);
  }
  for (const fs::path& root : roots_of(search.program("python3"))) search.python(root);
  if (std::string home = surroundings.environment("HOME"); !home.empty()) search.python(fs::path(home) / ".local");

  for (const fs::path& directory : search.list("LD_LIBRARY_PATH")) search.in(directory);
  for (const fs::path& toolkit : versions(surroundings.root / "usr/local", "cuda")) search.toolkit(toolkit);
  search.toolkit(surroundings.root / "opt/cuda");
  search.toolkit(surroundings.root / "usr/lib/nvidia-cuda-toolkit");
  return search.take();
}

/// Beside the recorder.
FoundFile beside(const std::string& preload, const char* name) {
  FoundFile out;
  std::error_code error;
  // A recorder that is linked to from somewhere has its agent beside the file itself.
  for (const fs::path& recorder : {fs::path(preload), fs::canonical(preload, error)}) {
    fs::path candidate = recorder.parent_path() / name;
    if (recorder.empty() || (!out.tried.empty() && out.tried.back() == candidate.string())) continue;
    out.tried.push_back(candidate.string());
    if (is_file(candidate)) {
      out.path = fs::absolute(candidate, error).string();
      break;
    }
  }
  return out;
}

}  // namespace

Surroundings::Surroundings(std::string run) : environment(cli::environment), program(std::move(run)) {
  std::error_code error;
  self = fs::read_symlink("/proc/self/exe", error);
}

FoundFile find_agent(const Options& options, const std::string& preload) {
  return options.agent_path.empty() ? beside(preload, kAgent) : named(options.agent_path);
}

FoundFile find_timings_agent(const std::string& preload) { return beside(preload, kTimingsAgent); }

FoundFile find_sanitizer(const Options& options, const Surroundings& surroundings) {
  return options.sanitizer_library.empty() ? find_library(kSanitizer, surroundings) : named(options.sanitizer_library);
}

FoundFile find_cupti(const Options& options, const Surroundings& surroundings) {
  return options.cupti_library.empty() ? find_library(kCupti, surroundings) : named(options.cupti_library);
}

FootprintPlan plan_footprints(const Options& options, const std::string& preload, const Surroundings& surroundings) {
  FootprintPlan plan;
  // CUPTI and the Sanitizer exclude each other.
  if (choice<Footprints>(options.footprints) == Footprints::Inferred || options.timings) return plan;
  FoundFile agent = find_agent(options, preload);
  plan.agent = agent.path;
  if (agent.path.empty()) {
    plan.obstacle = "there is no " + (options.agent_path.empty() ? kAgent : options.agent_path) +
                    (options.agent_path.empty() ? " beside the recorder (option agent_path)" : "");
    return plan;
  }
  // A scripted agent measures nothing.
  if (options.agent_script.empty()) {
    FoundFile sanitizer = find_sanitizer(options, surroundings);
    plan.sanitizer = sanitizer.path;
    if (sanitizer.path.empty()) {
      plan.obstacle = options.sanitizer_library.empty()
                          ? std::string("no ") + kSanitizer.names[0] + " was found (option sanitizer_library)"
                          : "there is no " + options.sanitizer_library;
      return plan;
    }
  }
  plan.measure = true;
  return plan;
}

TimingPlan plan_timings(const Options& options, const std::string& preload, const Surroundings& surroundings) {
  TimingPlan plan;
  if (!options.timings) return plan;
  if (const FoundFile agent = find_timings_agent(preload); agent.path.empty()) {
    plan.obstacle = std::string("there is no ") + kTimingsAgent + " beside the recorder";
    return plan;
  }
  plan.cupti = find_cupti(options, surroundings).path;
  if (!options.cupti_library.empty() && plan.cupti.empty()) {
    plan.obstacle = "there is no " + options.cupti_library;
    return plan;
  }
  // The program may bring its own, or the loader may know one.
  plan.take = true;
  return plan;
}

}  // namespace streamsan::cli
