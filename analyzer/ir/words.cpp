// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary of the text form. Each enum has one function that names its values; reading a word tries them all, so
// that a value cannot be printed under one word and read under another.
#include "analyzer/ir/words.h"

#include <algorithm>
#include <charconv>

namespace streamsan::analyzer::ir {
namespace {

using ordering::MemoryKind;
using ordering::StreamKind;

template <typename Enum>
constexpr Enum kLast{};
template <>
constexpr OpKind kLast<OpKind> = OpKind::MaySync;
template <>
constexpr Work kLast<Work> = Work::Other;
template <>
constexpr Mode kLast<Mode> = Mode::Unknown;
template <>
constexpr TypeKind kLast<TypeKind> = TypeKind::Object;
template <>
constexpr Operand::Kind kLast<Operand::Kind> = Operand::Kind::Unknown;
template <>
constexpr StreamKind kLast<StreamKind> = StreamKind::NonBlocking;
template <>
constexpr MemoryKind kLast<MemoryKind> = MemoryKind::Pageable;

bool is_letter(char c) { return is_word_character(c) && (c < '0' || c > '9'); }

}  // namespace

const char* name(TypeKind type) {
  switch (type) {
    case TypeKind::Other:
      return "other";
    case TypeKind::Integer:
      return "integer";
    case TypeKind::Pointer:
      return "pointer";
    case TypeKind::Stream:
      return "stream";
    case TypeKind::Event:
      return "event";
    case TypeKind::Graph:
      return "graph";
    case TypeKind::Object:
      return "object";
  }
  return "";
}

const char* name(StreamKind kind) {
  switch (kind) {
    case StreamKind::Legacy:
      return "legacy";
    case StreamKind::PerThread:
      return "per_thread";
    case StreamKind::Blocking:
      return "blocking";
    case StreamKind::NonBlocking:
      return "nonblocking";
  }
  return "";
}

const char* name(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Device:
      return "device";
    case MemoryKind::DeviceAsync:
      return "device_async";
    case MemoryKind::Managed:
      return "managed";
    case MemoryKind::Pinned:
      return "pinned";
    case MemoryKind::Registered:
      return "registered";
    case MemoryKind::Pageable:
      return "pageable";
    case MemoryKind::Array:
      return "array";
  }
  return "";
}

const char* name(Operand::Kind kind) {
  switch (kind) {
    case Operand::Kind::None:
      return "none";
    case Operand::Kind::Null:
      return "null";
    case Operand::Kind::DefaultStream:
      return "default";
    case Operand::Kind::LegacyStream:
      return "legacy";
    case Operand::Kind::PerThreadStream:
      return "per_thread";
    case Operand::Kind::Number:
      return "number";
    case Operand::Kind::Unknown:
      return "?";
    case Operand::Kind::Value:
    case Operand::Kind::Address:
      return "";
  }
  return "";
}

template <typename Enum>
std::optional<Enum> find(std::string_view word) {
  for (int i = 0; i <= static_cast<int>(kLast<Enum>); ++i) {
    if (word == name(static_cast<Enum>(i))) {
      return static_cast<Enum>(i);
    }
  }
  return std::nullopt;
}

template std::optional<OpKind> find<OpKind>(std::string_view);
template std::optional<Work> find<Work>(std::string_view);
template std::optional<Mode> find<Mode>(std::string_view);
template std::optional<TypeKind> find<TypeKind>(std::string_view);
template std::optional<Operand::Kind> find<Operand::Kind>(std::string_view);
template std::optional<StreamKind> find<StreamKind>(std::string_view);
template std::optional<MemoryKind> find<MemoryKind>(std::string_view);

std::string_view shape(OpKind kind) {
  switch (kind) {
    case OpKind::Assign:
      return "t=v";
    case OpKind::Fresh:
    case OpKind::CreateStream:
    case OpKind::CreateEvent:
    case OpKind::Allocate:
      return "t";
    case OpKind::DestroyHandle:
    case OpKind::Free:
    case OpKind::EndOfLife:
    case OpKind::KeepAlive:
    case OpKind::SwapCaptureMode:
    case OpKind::Escape:
    case OpKind::Return:
    case OpKind::SetDevice:
      return "v";
    case OpKind::Wait:
    case OpKind::SyncStream:
    case OpKind::QueryStream:
    case OpKind::CaptureBegin:
    case OpKind::CaptureEnd:
    case OpKind::Complete:
      return "s";
    case OpKind::Record:
    case OpKind::SyncEvent:
    case OpKind::QueryEvent:
      return "e";
    case OpKind::Elapsed:
      return "ef";
    case OpKind::Enqueue:
      return "w";
    case OpKind::Call:
      return "c";
    case OpKind::SyncDevice:
    case OpKind::GroupBegin:
    case OpKind::GroupEnd:
    case OpKind::HostAccess:
    case OpKind::Post:
    case OpKind::MaySync:
      return "";
  }
  return "";
}

const char* name(Site::Kind kind) {
  switch (kind) {
    case Site::Kind::Call:
      return "";
    case Site::Kind::Launch:
      return "launch";
    case Site::Kind::ScopeEnd:
      return "scope_end";
  }
  return "";
}

const char* name(Api api) {
  switch (api) {
    case Api::None:
      return "";
    case Api::Runtime:
      return "runtime";
    case Api::Driver:
      return "driver";
    case Api::Hip:
      return "hip";
  }
  return "";
}

bool is_word_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '~' || byte >= 0x80;
}

bool is_bare(std::string_view word) { return !word.empty() && std::ranges::all_of(word, is_word_character); }

bool is_reserved(std::string_view word) { return word == "this" || find<Operand::Kind>(word).has_value(); }

std::string quote(std::string_view text, char delimiter) {
  std::string quoted(1, delimiter);
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      quoted += c == '\n' ? "\\n" : "\\r";
      continue;
    }
    if (c == '\\' || c == delimiter) {
      quoted += '\\';
    }
    quoted += c;
  }
  return quoted + delimiter;
}

void IntegerNames::add(const Place& place, PlaceId id) {
  if (place.type != TypeKind::Integer || (place.kind != Place::Kind::Local && place.kind != Place::Kind::Parameter)) {
    return;
  }
  const auto [it, is_new] = names_.emplace(place.name, id);
  if (!is_new && it->second != id) {
    it->second = kNoPlace;
  }
}

std::vector<PlaceId> IntegerNames::used_in(std::string_view text) const {
  std::vector<PlaceId> uses;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word_character(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word_character(text[end])) {
      ++end;
    }
    const std::string_view before = text.substr(0, i);
    const bool member = before.ends_with('.') || before.ends_with("->") || before.ends_with("::");
    const auto found = names_.find(std::string(text.substr(i, end - i)));
    if (is_letter(text[i]) && !member && found != names_.end() && found->second != kNoPlace &&
        std::ranges::find(uses, found->second) == uses.end()) {
      uses.push_back(found->second);
    }
    i = end;
  }
  return uses;
}

std::optional<std::int64_t> literal(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace streamsan::analyzer::ir
