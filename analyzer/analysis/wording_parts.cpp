// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words for streams, memory and accesses. See wording_parts.h.
//
// Names come from the IR as a person writes them, except those that the source has no name for: they contain a `$`
// (ir.h), or are descriptions already (Thing::described).
#include "analyzer/analysis/wording_parts.h"

#include <algorithm>

#include "analyzer/ir/hidden.h"
#include "report/common/call_name.h"

namespace streamsan::analyzer::wording {
namespace {

/// What may be written into a program: a variable, its public members, elements with constant indices.
bool is_path(std::string_view text) {
  const auto is_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t at = 0;
  const auto identifier = [&] {
    const std::size_t begin = at;
    while (at < text.size() && is_word(text[at])) {
      ++at;
    }
    return at > begin && !is_digit(text[begin]);
  };
  if (!identifier()) {
    return false;
  }
  while (at < text.size()) {
    if (text[at] == '.' || text.substr(at, 2) == "->") {
      at += text[at] == '.' ? 1 : 2;
      if (!identifier()) {
        return false;
      }
    } else if (text[at] == '[') {
      const std::size_t close = text.find(']', at);
      if (close == std::string_view::npos || close == at + 1 ||
          !std::all_of(text.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                       text.begin() + static_cast<std::ptrdiff_t>(close), is_digit)) {
        return false;
      }
      at = close + 1;
    } else {
      return false;
    }
  }
  return true;
}

/// The words for what the IR calls `name`.
Named named(std::string_view name) {
  const auto part = ir::hidden_part(name);
  if (!part) {
    return {.text = std::string(name)};
  }
  const auto description = [](std::string text) { return Named{.text = std::move(text), .described = true}; };
  if (part->hidden == ir::Hidden::CurrentStream) {
    return description("the current stream");
  }
  if (part->hidden == ir::Hidden::Size || part->hidden == ir::Hidden::Begin) {
    // The element at a counter: `parts[...]`.
    const std::size_t open = name.rfind('[', part->at), close = name.find(']', part->at);
    if (open != std::string_view::npos && close != std::string_view::npos) {
      return named(std::string(name.substr(0, open)) + "[...]" + std::string(name.substr(close + 1)));
    }
  }
  std::string_view base = name.substr(0, part->at);
  while (base.ends_with('.') || base.ends_with('>') || base.ends_with('-')) {
    base.remove_suffix(1);
  }
  const Named owner = base.empty() ? description("an object without a name") : Named{.text = std::string(base)};
  if (part->hidden == ir::Hidden::Request) {
    return description("request " + owner.quoted());
  }
  if (part->hidden == ir::Hidden::Next) {
    return description("a block of " + owner.quoted());
  }
  // An element without a name is described like the object that contains it.
  return name.ends_with(ir::name(ir::Hidden::Stream)) ? description("the stream of " + owner.quoted()) : owner;
}

}  // namespace

Named named(const Thing& thing) {
  const bool described = thing.described || thing.unnamed != UnnamedStream::None;
  return described ? Named{.text = thing.name, .described = true} : named(std::string_view(thing.name));
}

std::string quoted(std::string_view name) { return named(name).quoted(); }

std::string stream(const Thing& thing, bool with_kind) {
  if (thing.name.empty()) {
    return {};
  }
  const Named name = named(thing);
  if (name.described) {
    return name.text;
  }
  const bool nonblocking = with_kind && thing.stream_kind == ordering::StreamKind::NonBlocking;
  return (nonblocking ? "non-blocking stream " : "stream ") + name.quoted();
}

std::string on_stream(const Thing& thing, bool with_kind) {
  const std::string words = stream(thing, with_kind);
  return words.empty() ? words : " on " + words;
}

std::string named_stream(const Thing& thing, std::string_view otherwise) {
  const std::string words = stream(thing);
  return words.empty() ? std::string(otherwise) : words;
}

std::string comma(const std::string& words) { return words.empty() ? words : "," + words; }

std::string buffer(const Thing& thing) { return thing.name.empty() ? "the same memory" : named(thing).quoted(); }

std::string event(const Thing& thing) {
  if (thing.name.empty()) {
    return "an event";
  }
  const Named name = named(thing);
  return name.described ? name.text : "event " + name.quoted();
}

/// "cuMemAlloc_v2" is written cuMemAlloc in programs: the header renames it.
std::string what(const Action& action) {
  if (is_host(action)) {
    return "the host";
  }
  const std::string_view words = action.what;
  const std::size_t end = std::min(words.find(' '), words.size());
  return std::string(report::written_name(words.substr(0, end))) + std::string(words.substr(end));
}

std::string may_do(ir::Mode mode) {
  switch (mode) {
    case ir::Mode::Read:
      return "may read";
    case ir::Mode::Write:
      return "may write";
    case ir::Mode::ReadWrite:
      return "may update";
    case ir::Mode::Atomic:
      return "may atomically update";
    case ir::Mode::Unknown:
      return "may use";
  }
  return "may use";
}

std::string still_does(const Action& action) {
  if (action.allocates) {
    return "still allocates";
  }
  switch (action.mode) {
    case ir::Mode::Read:
      return "still reads";
    case ir::Mode::Write:
      return "still writes";
    case ir::Mode::ReadWrite:
      return "still updates";
    case ir::Mode::Atomic:
      return "still atomically updates";
    case ir::Mode::Unknown:
      return "still uses";
  }
  return "still uses";
}

std::string is_done(const Action& action) {
  if (action.allocates) {
    return "is allocated";
  }
  switch (action.mode) {
    case ir::Mode::Read:
      return "is read";
    case ir::Mode::Write:
      return "is written";
    case ir::Mode::ReadWrite:
      return "is updated";
    case ir::Mode::Atomic:
      return "is atomically updated";
    case ir::Mode::Unknown:
      return "is used";
  }
  return "is used";
}

std::string act(const Action& action) {
  if (action.allocates) {
    return "the allocation";
  }
  switch (action.mode) {
    case ir::Mode::Read:
      return "the read";
    case ir::Mode::Write:
      return "the write";
    case ir::Mode::ReadWrite:
    case ir::Mode::Atomic:
      return "the update";
    case ir::Mode::Unknown:
      return "the use";
  }
  return "the use";
}

std::string spelling(const Thing& thing, const Dialect& dialect) {
  switch (thing.unnamed) {
    case UnnamedStream::None:
      break;
    case UnnamedStream::Default:
      return "0";
    case UnnamedStream::Legacy:
      return dialect.legacy_stream;
    case UnnamedStream::PerThread:
      return dialect.per_thread_stream;
  }
  return is_path(thing.name) ? thing.name : std::string{};
}

std::string lane(const Thing& stream) {
  if (stream.name.empty()) {
    return kHostLane;
  }
  return named(stream).text;
}

}  // namespace streamsan::analyzer::wording
