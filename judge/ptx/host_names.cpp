// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/ptx/host_names.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "judge/ptx/sections.h"

namespace streamsan::ptx {
namespace {

constexpr std::uint64_t kReadAtOnce = std::uint64_t{1} << 20;
constexpr std::uint64_t kFewestBits = std::uint64_t{1} << 16;
constexpr std::uint64_t kMostBits = std::uint64_t{1} << 26;

bool is_data(std::string_view section) { return section.starts_with(".rodata"); }

/// By character: may a kernel's name have it? These are the characters of identifiers in PTX.
constexpr std::array<bool, 256> kOfNames = [] {
  std::array<bool, 256> out{};
  for (const char c : std::string_view("_$.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    out[static_cast<unsigned char>(c)] = true;
  return out;
}();

bool is_of_name(char c) { return kOfNames[static_cast<unsigned char>(c)]; }

/// Calls visit(bytes) for the read-only data, in chunks that overlap by `overlap`; until it returns true, which is then
/// returned.
bool any_chunk(const Input& file, std::uint64_t overlap, const std::function<bool(std::string_view)>& visit) {
  std::string chunk;
  std::uint64_t left = file.size();  // of a damaged file the sections may be all alike
  return any_section(file, [&](std::string_view name, const Elf64_Shdr& header) {
    if (!is_data(name) || header.sh_size > left) return false;
    left -= header.sh_size;
    std::uint64_t at = header.sh_offset;
    const std::uint64_t end = header.sh_offset + header.sh_size;
    while (at < end) {
      chunk.resize(std::min(end - at, kReadAtOnce + overlap));
      if (!file.read(at, std::as_writable_bytes(std::span(chunk)))) return false;
      if (visit(chunk)) return true;
      at += kReadAtOnce;
    }
    return false;
  });
}

}  // namespace

std::size_t HostNames::bit_of(std::string_view tail) const {
  return std::hash<std::string_view>{}(tail) & (bits_.size() - 1);
}

void HostNames::note_strings(std::string_view data) {
  // Most data are no strings, and much of it is zero.
  for (std::size_t at = 0; at < data.size(); ++at) {
    if (data[at] == '\0') continue;
    const std::size_t begin = at;
    at = std::min(data.find('\0', at), data.size());
    if (at == data.size()) return;
    const std::size_t most = std::min(at - begin, kTails.back());
    std::size_t length = 0;  // of what may be a name and ends here
    while (length < most && kOfNames[static_cast<unsigned char>(data[at - 1 - length])]) ++length;
    for (const std::size_t tail : kTails)
      if (tail <= length) bits_[bit_of(data.substr(at - tail, tail))] = true;
  }
}

void HostNames::read(const Input& file) {
  if (file.size() == 0) return;  // perhaps it cannot be opened at the moment
  std::uint64_t bytes = 0;
  any_section(file, [&](std::string_view name, const Elf64_Shdr& header) {
    if (is_data(name)) bytes += header.sh_size;
    return false;
  });
  bits_.assign(std::bit_ceil(std::clamp(bytes, kFewestBits, kMostBits)), false);
  std::uint64_t noted = 0;
  any_chunk(file, kTails.back(), [&](std::string_view chunk) {
    note_strings(chunk);
    noted += std::min<std::uint64_t>(chunk.size(), kReadAtOnce);
    return false;
  });
  if (noted != bytes) bits_.assign(bits_.size(), true);  // not all could be read: anything may be there
}

bool HostNames::may_have(std::string_view kernel) const {
  if (!std::all_of(kernel.begin(), kernel.end(), is_of_name)) return true;  // nothing is known of such a name
  for (const std::size_t tail : kTails)
    if (tail <= kernel.size() && !bits_[bit_of(kernel.substr(kernel.size() - tail))]) return false;
  return true;
}

bool HostNames::has(const Input& file, std::string_view kernel) {
  if (kernel.empty()) return false;
  if (bits_.empty()) read(file);
  if (!bits_.empty() && !may_have(kernel)) return false;
  ++searches_;
  // With its terminator. Not with one before it: the linker merges strings that have one end in common.
  const std::string wanted(std::string(kernel) + '\0');
  return any_chunk(file, wanted.size(), [&wanted](std::string_view chunk) {
    return memmem(chunk.data(), chunk.size(), wanted.data(), wanted.size()) != nullptr;
  });
}

}  // namespace streamsan::ptx
