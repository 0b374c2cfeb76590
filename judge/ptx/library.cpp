// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/library.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "judge/ptx/parser.h"

namespace streamsan::ptx {
namespace {

constexpr std::uint64_t kMostTextOfFile = std::uint64_t{512} << 20;  // libraries with more are left alone

/// A file in memory, for reading.
class Mapped {
 public:
  explicit Mapped(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return;
    struct stat status{};
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      void* at = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (at != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(at), static_cast<std::size_t>(status.st_size)};
    }
    close(file);
  }
  ~Mapped() {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

std::optional<Entry> entry_named(std::string_view text, std::string_view name) {
  for (const Entry& entry : find_entries(text))
    if (entry.name == name) return entry;
  return std::nullopt;
}

}  // namespace

void Library::add_file(const std::string& path) {
  // Without a slash it is no file: the kernel's vdso.
  if (path.find('/') != std::string::npos && announced_.insert(path).second) waiting_.push_back(path);
}

void Library::add_text(std::string_view text) { index(text, {}, {}); }

void Library::index(std::string_view text, const std::string& path, const PackedText& packed) {
  const std::string_view target = target_of(text);
  const bool plain = target.empty() || std::isdigit(static_cast<unsigned char>(target.back()));
  for (const Entry& entry : find_entries(text)) {
    Place place{.path = path,
                .text = packed,
                .arch = packed.arch,
                .plain = plain,
                .hash = std::hash<std::string_view>{}(entry.text)};
    if (path.empty()) place.body = entry.text;
    auto [known, fresh] = places_.try_emplace(std::string(entry.name), place);
    if (fresh) continue;
    const auto rank = [](const Place& each) { return std::tuple(each.plain, each.arch); };
    Place& other = known->second;
    if (other.path != path) {
      if (other.hash != place.hash) other.ambiguous = true;
    } else if (rank(other) == rank(place)) {
      if (other.hash != place.hash) other.ambiguous = true;
    } else if (rank(other) < rank(place)) {
      place.ambiguous = other.ambiguous;
      other = std::move(place);
    }
  }
}

void Library::look_through(const std::string& path) {
  const Mapped file(path);
  const std::vector<PackedText> texts = find_texts(file.bytes());
  std::uint64_t total = 0;
  for (const PackedText& text : texts) total += text.size;
  if (total > kMostTextOfFile) return;
  for (const PackedText& text : texts) index(unpack(file.bytes(), text), path, text);
}

const KnownKernel* Library::find(const std::string& name) {
  for (const std::string& path : std::exchange(waiting_, {})) look_through(path);
  const auto found = places_.find(name);
  if (found == places_.end() || found->second.ambiguous) return nullptr;
  const Place& place = found->second;
  std::unique_ptr<KnownKernel>& known = kernels_[name];
  if (known) return known.get();
  known = std::make_unique<KnownKernel>();
  std::string text = place.body;
  if (!place.path.empty()) text = unpack(Mapped(place.path).bytes(), place.text);
  // A kernel's own text begins with its name; a module's is searched.
  const std::optional<Entry> entry = place.path.empty() ? std::optional<Entry>({name, text}) : entry_named(text, name);
  // The file may have changed since.
  if (entry && std::hash<std::string_view>{}(entry->text) == place.hash) {
    known->kernel = parse(*entry);
    known->facts = facts_of(known->kernel);
  }
  return known.get();
}

}  // namespace streamsan::ptx
