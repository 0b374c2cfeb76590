// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/processes.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "cli/executable.h"

namespace streamsan::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstInterval{10};
constexpr std::chrono::milliseconds kLongestInterval{250};
constexpr int kShareOfTime = 50;

std::string file_of(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

/// What a process has mapped, of what concerns us; nothing: we may not look, or it has ended.
struct Libraries {
  bool recorder = false;
  bool driver = false;
};
std::optional<Libraries> libraries_of(pid_t pid, const std::string& recorder) {
  std::ifstream maps(file_of(pid, "maps"));
  std::optional<Libraries> out;
  for (std::string line; std::getline(maps, line);) {
    if (!out) out.emplace();
    const std::size_t slash = line.rfind('/');
    if (slash == std::string::npos) continue;
    const std::string_view name = std::string_view(line).substr(slash + 1);
    if (name == recorder) out->recorder = true;
    if (name.starts_with("libcuda.so")) out->driver = true;
  }
  return out;
}

std::string program_of(pid_t pid) {
  std::error_code error;
  const fs::path path = fs::read_symlink(file_of(pid, "exe"), error);
  if (!error) return path.string();
  std::string name;
  std::ifstream file(file_of(pid, "comm"));
  std::getline(file, name);
  return name;
}

/// Was a process to load the recorder? nullopt: its environment cannot be read.
std::optional<bool> preloads(pid_t pid, const std::string& recorder) {
  std::ifstream environment(file_of(pid, "environ"), std::ios::binary);
  if (!environment) return std::nullopt;
  for (std::string entry; std::getline(environment, entry, '\0');)
    if (entry.starts_with("LD_PRELOAD=") && entry.find(recorder) != std::string::npos) return true;
  return false;
}

/// Why the recorder is not in a process.
std::string reason(pid_t pid, const std::string& recorder) {
  const std::string file = file_of(pid, "exe");
  if (std::string why = preload_obstacle(file); !why.empty()) return why;
  const std::optional<bool> wanted = preloads(pid, recorder);
  if (!wanted) return "it runs with the rights of another user";
  return *wanted ? "the loader did not load it" : "LD_PRELOAD was taken out of its environment";
}

}  // namespace

Processes::Processes(pid_t program, const std::string& recorder)
    : program_(program),
      recorder_(fs::path(recorder).filename().string()),
      interval_(kFirstInterval),
      next_(Clock::now() + interval_) {}

void Processes::adopt_orphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<Processes::Stat> Processes::all() {
  std::vector<Stat> out;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    Stat stat;
    auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), stat.identity.pid);
    if (fault != std::errc{} || end != name.data() + name.size()) continue;
    std::ifstream file(entry.path() / "stat");
    std::string line;
    std::getline(file, line);
    // The name in brackets may hold anything. Behind it stand field 3, the state, and so on.
    const std::size_t behind = line.rfind(')');
    if (behind == std::string::npos) continue;
    std::istringstream words(line.substr(behind + 1));
    const std::vector<std::string> fields(std::istream_iterator<std::string>(words), {});
    const auto field = [&](std::size_t number) {
      std::uint64_t value = 0;
      if (number - 3 < fields.size()) {
        const std::string& text = fields[number - 3];
        std::from_chars(text.data(), text.data() + text.size(), value);
      }
      return value;
    };
    stat.ended = !fields.empty() && (fields[0].front() == 'Z' || fields[0].front() == 'X');
    stat.parent = static_cast<pid_t>(field(4));
    stat.identity.started = field(22);
    stat.identity.stack = field(28);
    out.push_back(stat);
  }
  return out;
}

std::vector<Processes::Stat> Processes::of_the_run() const {
  const std::vector<Stat> everybody = all();
  std::multimap<pid_t, const Stat*> children;
  for (const Stat& stat : everybody) children.emplace(stat.parent, &stat);
  std::vector<Stat> out;
  std::set<pid_t> parents{getpid()};
  std::vector<pid_t> todo{getpid()};
  while (!todo.empty()) {
    const pid_t parent = todo.back();
    todo.pop_back();
    const auto [from, to] = children.equal_range(parent);
    for (auto it = from; it != to; ++it) {
      // Numbers may be given anew while the list is read.
      if (!parents.insert(it->second->identity.pid).second) continue;
      out.push_back(*it->second);
      todo.push_back(it->second->identity.pid);
    }
  }
  return out;
}

Processes::State Processes::examine(pid_t pid) {
  std::optional<Libraries> now = libraries_of(pid, recorder_);
  if (now && now->recorder) return State::Recorded;
  const State before = preloads(pid, recorder_).value_or(false) ? State::Loading : State::Unknown;
  if (!now || !now->driver) return before;
  // The list was read while the loader went on.
  now = libraries_of(pid, recorder_);
  if (!now || now->recorder) return before;
  unrecorded_.push_back({pid, program_of(pid), reason(pid, recorder_), false});
  return State::Reported;
}

/// Somebody of ours may be waiting for a child of ours, a symbolizer for example, that ends just now.
void Processes::reap(const std::vector<Stat>& present) {
  std::vector<pid_t> ended;
  for (const Stat& stat : present) {
    if (!stat.ended || stat.parent != getpid() || stat.identity.pid == program_) continue;
    const pid_t pid = stat.identity.pid;
    if (std::find(ended_.begin(), ended_.end(), pid) == ended_.end()) {
      ended.push_back(pid);
    } else {
      waitpid(pid, nullptr, WNOHANG);
    }
  }
  ended_ = std::move(ended);
}

void Processes::look() {
  const Clock::time_point start = Clock::now();
  const std::vector<Stat> present = of_the_run();
  std::map<Identity, State> seen;
  for (const Stat& stat : present) {
    if (stat.ended) continue;
    const auto known = seen_.find(stat.identity);
    State state = known == seen_.end() ? State::Unknown : known->second;
    if (state == State::Unknown || state == State::Loading) state = examine(stat.identity.pid);
    seen.emplace(stat.identity, state);
  }
  seen_ = std::move(seen);
  reap(present);
  const Clock::time_point end = Clock::now();
  interval_ = std::max<Clock::duration>(std::min<Clock::duration>(interval_ * 5 / 4, kLongestInterval),
                                        (end - start) * kShareOfTime);
  next_ = end + interval_;
}

void Processes::look_if_due() {
  if (Clock::now() >= next_) look();
}

std::vector<SeenProcess> Processes::take_unrecorded() { return std::exchange(unrecorded_, {}); }

std::vector<SeenProcess> Processes::left_behind() const {
  std::vector<SeenProcess> out;
  for (const auto& [identity, state] : seen_) {
    if (identity.pid != program_ && (state == State::Recorded || state == State::Loading))
      out.push_back({identity.pid, program_of(identity.pid), {}, state == State::Recorded});
  }
  return out;
}

}  // namespace streamsan::cli
