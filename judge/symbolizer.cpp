// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A return address is the address behind the call, which may belong to the next line or even the next function; looking
// up one byte less always hits the call.
#include "judge/symbolizer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "judge/build_id.h"
#include "judge/signature.h"
#include "report/text.h"

namespace streamsan::judge {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{60};

std::string in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string rest = path ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    std::size_t colon = rest.find(':');
    std::string candidate = rest.substr(0, colon) + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
  return {};
}

/// The environment for the tool: nothing preloaded into it, and no symbols fetched from the network.
std::vector<std::string> quiet_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("DEBUGINFOD_URLS=")) out.emplace_back(text);
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

/// A socket pair rather than a pipe: writing to a tool that has died is then an error, without a signal.
struct Pipe {
  int read = -1;
  int write = -1;
  bool open() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  ~Pipe() {
    close_end(read);
    close_end(write);
  }
};

/// Runs the command, feeds it `input`, returns what it prints; false when it cannot be run or takes too long.
bool filter(std::vector<std::string> command, const std::string& input, std::string& output) {
  Pipe in, out;
  if (!in.open() || !out.open()) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::vector<std::string> environment = quiet_environment();
  pid_t child = 0;
  int error = posix_spawn(&child, command[0].c_str(), &actions, nullptr, pointers(command).data(),
                          pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return false;
  in.close_end(in.read);
  out.close_end(out.write);
  fcntl(in.write, F_SETFL, O_NONBLOCK);

  std::size_t written = 0;
  auto deadline = Clock::now() + kPatience;
  bool done = false;
  while (!done) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    std::array<pollfd, 2> ends{{{out.read, POLLIN, 0}, {in.write, POLLOUT, 0}}};
    if (left <= 0 || poll(ends.data(), in.write >= 0 ? 2 : 1, static_cast<int>(left)) <= 0) break;
    if (in.write >= 0 && ends[1].revents) {
      ssize_t n = send(in.write, input.data() + written, input.size() - written, MSG_NOSIGNAL);
      if (n > 0) written += static_cast<std::size_t>(n);
      if ((n < 0 && errno != EAGAIN && errno != EINTR) || written == input.size()) in.close_end(in.write);
    }
    if (ends[0].revents) {
      std::array<char, 65536> buffer{};
      ssize_t n = read(out.read, buffer.data(), buffer.size());
      if (n > 0) output.append(buffer.data(), static_cast<std::size_t>(n));
      done = n == 0;
    }
  }
  if (!done) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return done && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::uint64_t address_of_call(std::uint64_t offset) { return offset ? offset - 1 : 0; }

std::uint32_t number(std::string_view text) {
  std::uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// nvcc compiles host code from a file of its own making. Its lines are those of the source, but for functions written
/// inside of a class it forgets to say so: "/tmp/tmpxft_00000d6e_00000000-6_step.cudafe1.cpp" is "step.cu".
std::string source_file(std::string_view text) {
  const std::string file = std::filesystem::path(text).lexically_normal().string();
  constexpr std::string_view kBegin = "/tmpxft_";
  constexpr std::string_view kEnd = ".cudafe1.cpp";
  const std::size_t begin = file.rfind('/');
  if (begin == std::string::npos || file.compare(begin, kBegin.size(), kBegin) != 0 || !file.ends_with(kEnd))
    return file;
  // tmpxft_, two numbers of eight digits, a small number, and the name
  const std::size_t name = file.find('_', file.find('-', begin));
  if (name == std::string::npos) return file;
  return file.substr(name + 1, file.size() - kEnd.size() - name - 1) + ".cu";
}

}  // namespace

std::string Symbolizer::find_tool() {
  std::string found = in_path("llvm-symbolizer");
  for (int version = 22; found.empty() && version >= 14; --version) {
    found = in_path("llvm-symbolizer-" + std::to_string(version));
  }
  return found.empty() ? in_path("addr2line") : found;
}

Symbolizer::Symbolizer(const Options& options) : enabled_(options.enabled) {
  if (!enabled_) return;
  tool_ = options.tool.empty() ? find_tool() : options.tool;
  if (tool_.empty()) {
    problem_ = "no llvm-symbolizer and no addr2line in PATH: call stacks show no source lines";
  } else if (access(tool_.c_str(), X_OK) != 0) {
    problem_ = "cannot run the symbolizer " + tool_ + ": call stacks show no source lines";
    tool_.clear();
  }
}

bool Symbolizer::stands(const std::string& module, const std::string& build_id) {
  // Without a slash it is no file: the kernel's vdso.
  if (!enabled_ || module.find('/') == std::string::npos) return true;
  auto [it, fresh] = stands_.try_emplace({module, build_id}, true);
  if (!fresh) return it->second;
  switch (standing_of(module, build_id)) {
    case Standing::Same:
      return true;
    case Standing::Rebuilt:
      warnings_.push_back(module +
                          " has been rebuilt since the trace was recorded: its functions and lines are not shown");
      break;
    case Standing::Missing:
      warnings_.push_back(module + " is not here: its functions and lines are not shown");
      break;
  }
  return it->second = false;
}

void Symbolizer::want(const std::string& module, std::uint64_t offset) {
  if (enabled_ && !module.empty() && !known_.contains({module, offset})) wanted_[module].insert(offset);
}

void Symbolizer::look_up(const std::string& module, const std::set<std::uint64_t>& offsets) {
  std::set<std::uint64_t> addresses;
  for (std::uint64_t offset : offsets) {
    known_[{module, offset}];
    addresses.insert(address_of_call(offset));
  }
  std::error_code error;
  if (!std::filesystem::is_regular_file(module, error)) return;
  const ElfSymbols symbols(module, addresses);
  if (symbols.has_debug_information() && ask_tool(module, offsets)) {
    drop_wrong_names(module, offsets, symbols);
  } else {
    take_names(module, offsets, symbols);
  }
}

void Symbolizer::take_names(const std::string& module, const std::set<std::uint64_t>& offsets,
                            const ElfSymbols& symbols) {
  if (!symbols.readable()) return;
  if (!symbols.has_debug_information()) answered_.insert(module);  // else there are lines, and a tool would know them
  for (const std::uint64_t offset : offsets) {
    const std::string name = symbols.name(address_of_call(offset));
    if (!name.empty()) known_[{module, offset}].push_back({.function = demangle(name)});
  }
}

bool Symbolizer::ask_tool(const std::string& module, const std::set<std::uint64_t>& offsets) {
  if (tool_.empty()) return false;
  std::string input;
  for (std::uint64_t offset : offsets) input += report::hex(address_of_call(offset)) + "\n";
  std::string output;
  if (!filter({tool_, "-e", module, "-a", "-f", "-C", "-i"}, input, output)) {
    if (problem_.empty()) problem_ = tool_ + " failed on " + module + ": some call stacks show no source lines";
    return false;
  }
  answered_.insert(module);
  // Each answer: the address, then a line with the function and a line with the place for each inlined level.
  auto offset = offsets.begin();
  std::vector<Line>* current = nullptr;
  std::string_view rest = output;
  bool expect_place = false;
  Line line;
  while (!rest.empty()) {
    std::size_t end = rest.find('\n');
    std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (text.empty()) continue;
    if (!expect_place && text.starts_with("0x")) {
      if (offset == offsets.end()) return true;
      current = &known_[{module, *offset++}];
      continue;
    }
    if (!current) return true;
    if (!expect_place) {
      line = {};
      if (text != "??") line.function = text;
      expect_place = true;
      continue;
    }
    expect_place = false;
    if (std::size_t note = text.find(" (discriminator"); note != std::string_view::npos) text = text.substr(0, note);
    // "file:line" or "file:line:column"; a question mark stands for what is not known.
    std::array<std::uint32_t, 2> numbers{};
    int count = 0;
    for (std::size_t colon; count < 2 && (colon = text.rfind(':')) != std::string_view::npos; ++count) {
      std::string_view tail = text.substr(colon + 1);
      if (!digits(tail) && tail != "?") break;
      numbers[static_cast<std::size_t>(count)] = number(tail);
      text = text.substr(0, colon);
    }
    line.line = count == 2 ? numbers[1] : numbers[0];
    line.column = count == 2 ? numbers[0] : 0;
    if (text != "??") line.file = source_file(text);
    current->push_back(line);
  }
  return true;
}

void Symbolizer::drop_wrong_names(const std::string& module, const std::set<std::uint64_t>& offsets,
                                  const ElfSymbols& symbols) {
  if (!symbols.readable()) return;
  for (const std::uint64_t offset : offsets) {
    std::vector<Line>& lines = known_[{module, offset}];
    // Debug information knows how far its functions go, and inlined ones have no symbols.
    if (lines.size() != 1 || lines[0].function.empty() || lines[0].line != 0) continue;
    if (symbols.name(address_of_call(offset)).empty()) lines[0].function.clear();
  }
}

std::vector<report::Frame> Symbolizer::frames(const std::string& module, std::uint64_t offset, std::uint64_t address) {
  want(module, offset);
  for (const auto& [name, offsets] : std::exchange(wanted_, {})) look_up(name, offsets);
  bool answered = answered_.contains(module);
  std::vector<report::Frame> out;
  if (auto it = known_.find({module, offset}); it != known_.end()) {
    for (const Line& line : it->second) {
      out.push_back({.address = address,
                     .function = line.function,
                     .file = line.file,
                     .line = line.line,
                     .column = line.column,
                     .module = module,
                     .offset = offset,
                     .symbolised = answered});
    }
  }
  if (out.empty()) out.push_back({.address = address, .module = module, .offset = offset, .symbolised = answered});
  return out;
}

}  // namespace streamsan::judge
