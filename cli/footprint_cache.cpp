// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/footprint_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "report/output_file.h"

namespace streamsan::cli {
namespace {

namespace fs = std::filesystem;
using trace::EarlierHeader;
using trace::EarlierLaunch;
using trace::Piece;

constexpr char kTemporary[] = "footprints.";  // and kRandom characters, see report::write_output()
constexpr std::size_t kRandom = 6;
constexpr std::size_t kMostRead = 4 * FootprintCache::kMostBytes;

std::string words_of(int error) { return std::generic_category().message(error); }

std::uint64_t hash_of(std::string_view text) { return trace::earlier_checksum(text.data(), text.size()); }

/// All of a file; false: `error` says why not.
bool read_all(const std::string& path, std::string& out, std::string& error, bool& is_there) {
  // O_NONBLOCK: it may be a pipe that nobody writes.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  is_there = file >= 0 || (errno != ENOENT && errno != ENOTDIR);
  if (file < 0) {
    error = words_of(errno);
    return false;
  }
  struct stat status{};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    error = "it is not a regular file";
  } else if (status.st_uid != geteuid()) {
    error = "it belongs to another user";
  } else if (static_cast<std::size_t>(status.st_size) > kMostRead) {
    error = "it is too large";
  } else {
    out.resize(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = ::read(file, out.data() + done, out.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    out.resize(done);
  }
  close(file);
  return error.empty();
}

std::size_t bytes_in_file(std::size_t pieces) { return sizeof(EarlierLaunch) + pieces * sizeof(Piece); }

bool same_bytes(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(static_cast<const void*>(a.data()), static_cast<const void*>(b.data()),
                                   a.size() * sizeof(Piece)) == 0);
}

}  // namespace

std::string cache_folder(const std::string& option, const std::function<std::string(const char*)>& environment) {
  if (option == "off" || option == "0") return {};
  if (option != "auto") return option;
  std::string base = environment("XDG_CACHE_HOME");
  // The specification of that variable says so.
  if (!fs::path(base).is_absolute()) base.clear();
  if (base.empty()) {
    const std::string home = environment("HOME");
    if (!fs::path(home).is_absolute()) return {};
    base = home + "/.cache";
  }
  return base + "/streamsan";
}

std::string FootprintCache::bytes_of(const Launches& launches, std::string_view tool) {
  EarlierHeader header{.magic = trace::kEarlierMagic,
                       .version = trace::kEarlierVersion,
                       .launch_bytes = sizeof(EarlierLaunch),
                       .tool = hash_of(tool),
                       .launches = launches.size(),
                       .pieces = 0,
                       .checksum = 0};
  std::string table, pieces;
  for (const auto& [key, kept] : launches) {
    EarlierLaunch launch = kept.launch;
    launch.first_piece = static_cast<std::uint32_t>(header.pieces);
    launch.pieces = static_cast<std::uint32_t>(kept.pieces.size());
    table.append(reinterpret_cast<const char*>(&launch), sizeof launch);
    pieces.append(reinterpret_cast<const char*>(kept.pieces.data()), kept.pieces.size() * sizeof(Piece));
    header.pieces += kept.pieces.size();
  }
  const std::string body = table + pieces;
  header.checksum = trace::earlier_checksum(body.data(), body.size());
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body;
}

FootprintCache::Kept FootprintCache::kept_of(const judge::MeasuredLaunch& launch, std::uint32_t day) {
  Kept out;
  out.launch.key = launch.key;
  out.launch.kernel_launches = launch.kernel_launches;
  out.launch.day = day;
  out.launch.keys = launch.keys;
  out.launch.times = launch.times;
  out.launch.flags =
      static_cast<std::uint8_t>((launch.incomplete ? EarlierLaunch::kIncomplete : 0) |
                                (launch.varies ? EarlierLaunch::kVaries : 0) | (launch.met ? EarlierLaunch::kMet : 0));
  if (!launch.varies) out.pieces = launch.pieces;
  return out;
}

/// `from` is the newer one. What the bytes are is known of both or of none.
void FootprintCache::merge(Kept& into, Kept&& from) {
  EarlierLaunch& launch = into.launch;
  const bool varies = ((launch.flags | from.launch.flags) & EarlierLaunch::kVaries) != 0 ||
                      ((launch.flags ^ from.launch.flags) & EarlierLaunch::kIncomplete) != 0 ||
                      !same_bytes(into.pieces, from.pieces);
  if (from.launch.keys > launch.keys) {
    launch.times = from.launch.times;
  } else if (from.launch.keys == launch.keys) {
    launch.times = std::max(launch.times, from.launch.times);
  }
  launch.keys = std::max(launch.keys, from.launch.keys);
  launch.kernel_launches = from.launch.kernel_launches;
  launch.day = from.launch.day;
  launch.flags = from.launch.flags;
  if (!varies) return;
  launch.flags |= EarlierLaunch::kVaries;
  into.pieces.clear();
}

void FootprintCache::evict(Launches& launches) {
  std::size_t bytes = sizeof(EarlierHeader);
  for (const auto& [key, kept] : launches) bytes += bytes_in_file(kept.pieces.size());
  if (bytes <= kMostBytes) return;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> by_age;
  for (const auto& [key, kept] : launches) by_age.emplace_back(kept.launch.day, key);
  std::ranges::sort(by_age);
  for (const auto& [day, key] : by_age) {
    if (bytes <= kMostBytes) return;
    const auto oldest = launches.find(key);
    bytes -= bytes_in_file(oldest->second.pieces.size());
    launches.erase(oldest);
  }
}

FootprintCache::State FootprintCache::read(Launches& out, std::string& fault) const {
  std::string text, error;
  bool is_there = false;
  if (!read_all(path(), text, error, is_there)) {
    if (!is_there) return State::Replaceable;
    fault = "cannot read " + path() + ": " + error;
    return State::LeftAlone;
  }
  // In memory whose address is a multiple of 8.
  std::vector<std::uint64_t> words((text.size() + 7) / 8);
  std::memcpy(words.data(), text.data(), text.size());
  std::uint64_t magic = 0;
  if (text.size() >= sizeof magic) magic = words[0];
  if (magic != trace::kEarlierMagic && !text.empty()) {
    fault = path() + " is not StreamSan's, and is left alone";
    return State::LeftAlone;
  }
  const trace::EarlierFile file(words.data(), text.size());
  const std::size_t body = text.size() - std::min(text.size(), sizeof(EarlierHeader));
  if (!file || file.header().tool != hash_of(tool_)) {
    fault = path() + " is damaged, or of another version of StreamSan";
  } else if (file.header().checksum != trace::earlier_checksum(&file.header() + 1, body)) {
    fault = path() + " is damaged";
  } else {
    for (std::size_t i = 0; i < file.count(); ++i) {
      const EarlierLaunch& launch = file.launches()[i];
      if (const Piece* pieces = file.pieces(launch)) out[launch.key] = {launch, {pieces, pieces + launch.pieces}};
    }
    return State::Usable;
  }
  return State::Replaceable;
}

std::string FootprintCache::write_extract(const std::string& path, bool& written) const {
  Launches launches;
  std::string fault;
  read(launches, fault);
  std::erase_if(launches, [](const auto& each) {
    const EarlierLaunch& launch = each.second.launch;
    return (launch.flags & (EarlierLaunch::kVaries | EarlierLaunch::kMet)) != 0 || launch.kernel_launches < kOften ||
           launch.keys == 0 || launch.times == 0;
  });
  written = report::write_output(path, bytes_of(launches, tool_)).empty();
  return fault;
}

void FootprintCache::add(const std::vector<judge::MeasuredLaunch>& launches) {
  const std::lock_guard lock(mutex_);
  for (const judge::MeasuredLaunch& each : launches) {
    Kept fresh = kept_of(each, today_);
    const auto [at, is_new] = added_.try_emplace(each.key);
    if (is_new) {
      at->second = std::move(fresh);
      continue;
    }
    // Of two processes of one run the one counts that has more need of measuring.
    const EarlierLaunch before = at->second.launch;
    merge(at->second, std::move(fresh));
    EarlierLaunch& launch = at->second.launch;
    launch.kernel_launches = std::min(launch.kernel_launches, before.kernel_launches);
    launch.flags = static_cast<std::uint8_t>(launch.flags | (before.flags & EarlierLaunch::kMet));
  }
}

std::string FootprintCache::save() {
  const std::lock_guard lock(mutex_);
  if (added_.empty()) return {};
  Launches launches;
  std::string fault;
  if (read(launches, fault) == State::LeftAlone) return fault;
  for (auto& [key, fresh] : added_) {
    const auto [at, is_new] = launches.try_emplace(key);
    if (is_new) {
      at->second = std::move(fresh);
    } else {
      merge(at->second, std::move(fresh));
    }
  }
  added_.clear();
  evict(launches);
  remove_left_behind();
  return report::write_output(path(), bytes_of(launches, tool_));
}

/// Of launchers that were killed while they wrote. The folder may be the user's, so only what surely is such a file
/// goes: by its name, its owner, its age, and the number that a file of ours begins with.
void FootprintCache::remove_left_behind() const {
  using namespace std::chrono_literals;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kTemporary) || name.size() != std::strlen(kTemporary) + kRandom) continue;
    std::error_code unknown;
    const auto written = entry->last_write_time(unknown);
    if (unknown || fs::file_time_type::clock::now() - written < 1h) continue;
    std::string bytes, fault;
    bool is_there = false;
    if (!read_all(entry->path(), bytes, fault, is_there)) continue;
    const std::uint64_t ours = trace::kEarlierMagic;
    if (bytes.size() < sizeof ours || std::memcmp(bytes.data(), &ours, sizeof ours) != 0) continue;
    unlink(entry->path().c_str());
  }
}

}  // namespace streamsan::cli
