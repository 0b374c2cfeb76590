// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/library.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "judge/ptx/parser.h"

namespace streamsan::ptx {
namespace {

// Unpacked; what has more is left alone. A gigabyte takes some seconds.
constexpr std::uint64_t kMostOfFile = std::uint64_t{512} << 20;
constexpr std::uint64_t kMostInAll = std::uint64_t{1} << 30;

std::size_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

std::optional<Entry> entry_named(std::string_view text, std::string_view name) {
  for (const Entry& entry : find_entries(text))
    if (entry.name == name) return entry;
  return std::nullopt;
}

/// The kernels that are the same in all texts of the container.
std::map<std::string, std::pair<std::size_t, Packed>> agreed(const Input& input, const Container& container) {
  std::map<std::string, std::pair<std::size_t, Packed>> out;
  for (const Packed& packed : container.texts) {
    const std::string text = unpack_text(input, packed);
    std::map<std::string, std::pair<std::size_t, Packed>> here;
    for (const Entry& entry : find_entries(text))
      here.try_emplace(std::string(entry.name), hash_of(entry.text), packed);
    if (&packed == &container.texts.front()) {
      out = std::move(here);
      continue;
    }
    std::erase_if(out, [&](const auto& each) {
      const auto other = here.find(each.first);
      return other == here.end() || other->second.first != each.second.first;
    });
  }
  return out;
}

/// The names in a container that proves nothing. Its entries have the same kernels, so one of them tells.
std::vector<std::string> names_in(const Input& input, const Container& container) {
  if (!container.others.empty()) return functions_of(unpack(input, container.others.front()));
  std::vector<std::string> out;
  if (container.texts.empty()) return out;
  const std::string text = unpack_text(input, container.texts.front());
  for (const Entry& entry : find_entries(text)) out.emplace_back(entry.name);
  return out;
}

}  // namespace

void Library::add_file(const std::string& path, bool recorded) {
  if (path.find('/') == std::string::npos) return;  // no file: the kernel's vdso
  const auto [known, fresh] = announced_.try_emplace(path, recorded);
  if (fresh) waiting_.push_back(path);
  if (recorded) return;
  known->second = false;
  for (const auto& file : files_)
    if (file->path == path) file->proves = false;
}

void Library::add(Places& places, const std::string& name, Place place) {
  const auto [known, fresh] = places.try_emplace(name, place);
  if (!fresh && known->second.hash != place.hash) known->second.ambiguous = true;
}

void Library::add_text(std::string_view text) {
  for (const Entry& entry : find_entries(text))
    add(texts_.places, std::string(entry.name), {.body = std::string(entry.text), .hash = hash_of(entry.text)});
}

void Library::index(const Input& input, File& file) {
  file.indexed = true;
  // Code that is linked from relocatable containers is in a container without a text, and that is as it should be.
  const bool compare = std::any_of(file.containers.begin(), file.containers.end(),
                                   [](const Container& each) { return each.proves() && !each.relocatable; });
  std::uint64_t total = 0;
  for (const Container& container : file.containers) {
    if (container.proves())
      for (const Packed& text : container.texts) total += text.size;
    else if (compare && !container.others.empty())
      total += container.others.front().size;
  }
  if (total > std::min(kMostOfFile, kMostInAll - unpacked_bytes_)) return;
  unpacked_bytes_ += total;
  std::set<std::string> unknown;
  for (const Container& container : file.containers) {
    if (container.proves()) {
      for (const auto& [name, found] : agreed(input, container))
        add(file.places, name, {.text = found.second, .hash = found.first, .linked = container.relocatable});
    } else if (compare && !container.relocatable) {
      for (std::string& name : names_in(input, container)) unknown.insert(std::move(name));
    }
  }
  for (auto& [name, place] : file.places)
    if (!place.linked && unknown.contains(name)) place.ambiguous = true;
}

/// False: the file has such a kernel, but nobody knows its code. Else `place` is where it has it, or stays as it was.
bool Library::place_in(File& file, const std::string& name, const Place*& place) {
  const Place* found = nullptr;
  if (!file.path.empty()) {
    const FileInput input(file.path);
    if (!file.names.has(input, name)) return true;
    if (!file.proves) return false;
    if (!file.indexed) index(input, file);
  }
  if (const auto known = file.places.find(name); known != file.places.end()) found = &known->second;
  if (!found) return file.path.empty();
  if (found->ambiguous || (place && place->hash != found->hash)) return false;
  place = found;
  return true;
}

std::string Library::text_of(const File& file, const Place& place) {
  const std::pair<const File*, Packed> wanted{&file, place.text};
  if (unpacked_ != wanted) {
    unpacked_text_ = unpack_text(FileInput(file.path), place.text);
    unpacked_ = wanted;
  }
  return unpacked_text_;
}

const KnownKernel* Library::find(const std::string& name) {
  for (const std::string& path : std::exchange(waiting_, {})) {
    auto file = std::make_unique<File>();
    file->path = path;
    file->containers = find_containers(FileInput(path));
    if (file->containers.empty()) continue;
    file->proves = announced_[path] && std::any_of(file->containers.begin(), file->containers.end(),
                                                   [](const Container& each) { return each.proves(); });
    files_.push_back(std::move(file));
  }
  // Most files prove nothing, and need not be searched for a kernel that is in none of the others.
  std::stable_partition(files_.begin(), files_.end(), [](const auto& each) { return each->proves; });
  const Place* place = nullptr;
  if (!place_in(texts_, name, place)) return nullptr;
  const File* where = place ? &texts_ : nullptr;
  for (const auto& file : files_) {
    if (!file->proves && !place) return nullptr;
    if (!place_in(*file, name, place)) return nullptr;
    if (place && !where) where = file.get();
  }
  if (!place) return nullptr;
  std::unique_ptr<KnownKernel>& known = kernels_[{name, place->hash}];
  if (known) return known.get();
  known = std::make_unique<KnownKernel>();
  // A kernel's own text begins with its name; a module's is searched.
  const std::string text = place->body.empty() ? text_of(*where, *place) : place->body;
  const std::optional<Entry> entry = place->body.empty() ? entry_named(text, name) : std::optional<Entry>({name, text});
  // The file may have changed since.
  if (entry && hash_of(entry->text) == place->hash) {
    known->kernel = parse(*entry);
    known->facts = facts_of(known->kernel);
    known->slice = slice_of(known->kernel, known->facts);
  }
  return known.get();
}

}  // namespace streamsan::ptx
