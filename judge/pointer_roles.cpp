// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "judge/pointer_roles.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "judge/signature.h"
#include "trace/format.h"

namespace streamsan::judge {
namespace {

using ordering::AccessMode;

bool is_number(std::string_view type) {
  constexpr std::array<std::string_view, 15> kNumbers = {
      "int",    "unsigned int", "long",  "unsigned long", "long long", "unsigned long long",
      "char",   "signed char",  "short", "unsigned char", "float",     "unsigned short",
      "double", "bool",         "__half"};
  return std::ranges::find(kNumbers, type) != kNumbers.end();
}

bool is_pointer(std::string_view type) { return type.ends_with('*') || type.ends_with("* __restrict__"); }

bool is_pointer_to_volatile(std::string_view type) {
  return is_pointer(type) && type.find(" volatile*") != std::string_view::npos;
}

void find_tensors(std::string_view demangled, const std::vector<std::string_view>& types, PointerRoles& roles) {
  constexpr std::string_view kArray = "std::array<char*, ";
  if (!demangled.starts_with("void at::native::") || demangled.find("multi_output") != std::string_view::npos) return;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (!types[i].starts_with(kArray)) continue;
    std::string_view count = types[i].substr(kArray.size());
    std::from_chars(count.data(), count.data() + count.size(), roles.tensor_count);
    roles.tensors = i;
    return;
  }
}

}  // namespace

PointerRoles pointer_roles(std::string_view mangled) {
  PointerRoles roles;
  roles.cupy = mangled.starts_with("cupy_");
  roles.modes = parameter_modes(mangled);
  if (roles.modes.empty()) return roles;
  const std::string text = demangle(mangled);
  const std::vector<std::string_view> types = parameters(text);
  const auto pointers = std::ranges::count_if(types, is_pointer);
  const bool marks_inputs = std::ranges::find(roles.modes, AccessMode::Read) != roles.modes.end();
  const bool single = pointers == 1 && std::ranges::all_of(types, [](auto t) { return is_pointer(t) || is_number(t); });
  for (std::size_t i = 0; i < types.size() && i < roles.modes.size(); ++i) {
    if (is_pointer_to_volatile(types[i])) {
      roles.modes[i] = AccessMode::Doubtful;
    } else if (roles.modes[i] == AccessMode::Unknown && is_pointer(types[i]) && (marks_inputs || single)) {
      roles.modes[i] = AccessMode::Write;
    }
  }
  find_tensors(text, types, roles);
  return roles;
}

namespace {

AccessMode mode_of(const PointerRoles& roles, std::uint64_t word) {
  if (trace::word_in_structure(word)) return AccessMode::Doubtful;
  const std::uint64_t parameter = trace::word_parameter(word);
  return parameter < roles.modes.size() ? roles.modes[parameter] : AccessMode::Unknown;
}

void read_tensors(const PointerRoles& roles, std::span<const std::uint64_t> words,
                  std::vector<ordering::PointerArgument>& out) {
  const auto is_tensor = [&](std::uint64_t word) { return trace::word_parameter(word) == roles.tensors; };
  // All of them, or it is not clear which is which.
  if (std::cmp_not_equal(std::ranges::count_if(words, is_tensor), roles.tensor_count)) return;
  AccessMode mode = AccessMode::Write;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_tensor(words[i])) continue;
    out[i].mode = mode;
    mode = AccessMode::Read;
  }
}

void read_cupy_arrays(std::span<const std::uint64_t> words, std::vector<ordering::PointerArgument>& out) {
  std::size_t last = words.size();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool first_of_parameter = i == 0 || trace::word_parameter(words[i]) != trace::word_parameter(words[i - 1]);
    if (!first_of_parameter) continue;
    out[i].mode = AccessMode::Read;
    last = i;
  }
  if (last < words.size()) out[last].mode = AccessMode::Write;
}

}  // namespace

void read_pointers(const PointerRoles& roles, std::span<const std::uint64_t> words,
                   std::vector<ordering::PointerArgument>& out) {
  out.clear();
  for (std::uint64_t word : words) out.push_back({trace::word_address(word), mode_of(roles, word)});
  if (words.size() == 1) {
    const std::uint64_t parameter = trace::word_parameter(words[0]);
    const AccessMode said = parameter < roles.modes.size() ? roles.modes[parameter] : AccessMode::Unknown;
    if (said != AccessMode::Read && said != AccessMode::Doubtful) out[0].mode = AccessMode::Write;
  }
  if (roles.tensor_count > 0) read_tensors(roles, words, out);
  if (roles.cupy) read_cupy_arrays(words, out);
}

}  // namespace streamsan::judge
