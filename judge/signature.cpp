// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The demangler of the C++ run-time gives the text; taking the text apart is done by counting brackets. "operator<" and
// "operator>" would break that; they are skipped as names.
#include "judge/signature.h"

#include <cxxabi.h>

#include <cctype>
#include <cstdlib>
#include <memory>

namespace streamsan::judge {
namespace {

using ordering::AccessMode;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// Drops a qualifier that ends the text as a word of its own. "T*const" has no blank before it, "T const" has.
bool drop_word(std::string_view& text, std::string_view word) {
  if (!text.ends_with(word) || text.size() == word.size()) return false;
  char before = text[text.size() - word.size() - 1];
  if (before != ' ' && before != '*' && before != '&') return false;
  text.remove_suffix(word.size());
  text = trimmed(text);
  return true;
}

bool drop_qualifiers(std::string_view& text) {
  bool constant = false;
  for (bool again = true; again;) {
    again = drop_word(text, "__restrict__") || drop_word(text, "__restrict") || drop_word(text, "restrict") ||
            drop_word(text, "volatile");
    if (drop_word(text, "const")) again = constant = true;
  }
  return constant;
}

/// Position just behind "operator<", "operator>>" and the like at `at`, or `at` itself.
std::size_t skip_operator(std::string_view text, std::size_t at) {
  constexpr std::string_view kOperator = "operator";
  if (text.compare(at, kOperator.size(), kOperator) != 0) return at;
  std::size_t end = at + kOperator.size();
  // Not a part of a longer identifier: "my_operator<float>".
  const auto is_letter = [&](std::size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || text[i] == '_');
  };
  if ((at > 0 && is_letter(at - 1)) || is_letter(end)) return at;
  while (end < text.size() && (text[end] == '<' || text[end] == '>' || text[end] == '-')) ++end;
  if (text.compare(end, 2, "()") == 0) end += 2;
  return end;
}

/// Where the parameter list opens and closes: the last top-level "(...)" pair; npos when there is none.
struct Brackets {
  std::size_t open = std::string_view::npos;
  std::size_t close = std::string_view::npos;
};

Brackets parameter_list(std::string_view text) {
  Brackets found;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t behind = skip_operator(text, i);
    if (behind != i) {
      i = behind - 1;
      continue;
    }
    char c = text[i];
    // "(anonymous namespace)" is part of a name.
    if (depth == 0 && text.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 20;
      continue;
    }
    if (c == '(' || c == '<' || c == '[' || c == '{') {
      if (depth++ == 0 && c == '(') found = {i, std::string_view::npos};
    } else if (c == ')' || c == '>' || c == ']' || c == '}') {
      if (c == '>' && i > 0 && text[i - 1] == '-') continue;
      if (--depth == 0 && c == ')') found.close = i;
      if (depth < 0) return {};
    }
  }
  return depth == 0 && found.close != std::string_view::npos ? found : Brackets{};
}

/// Where the template arguments begin that the name ends with; npos: it ends with none, or is that of an operator.
std::size_t arguments_at_end(std::string_view name) {
  std::size_t depth = 0, open = std::string_view::npos;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (const std::size_t behind = skip_operator(name, i); behind != i) {
      if (depth == 0) return std::string_view::npos;
      i = behind - 1;
    } else if (name[i] == '<') {
      if (depth++ == 0) open = i;
    } else if (name[i] == '>' && depth > 0 && name[i - 1] != '-') {
      --depth;
    }
  }
  return name.ends_with('>') && depth == 0 ? open : std::string_view::npos;
}

}  // namespace

std::string demangle(std::string_view symbol) {
  std::string text(symbol);
  if (!text.starts_with("_Z")) return text;
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> out(abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status),
                                                  &std::free);
  return status == 0 && out ? std::string(out.get()) : text;
}

std::vector<std::string_view> parameters(std::string_view demangled) {
  Brackets list = parameter_list(demangled);
  std::vector<std::string_view> out;
  if (list.open == std::string_view::npos) return out;
  std::string_view inside = demangled.substr(list.open + 1, list.close - list.open - 1);
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= inside.size(); ++i) {
    char c = i < inside.size() ? inside[i] : ',';
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == '>' || c == ']' || c == '}') && !(c == '>' && i > 0 && inside[i - 1] == '-')) --depth;
    if (c != ',' || (depth != 0 && i < inside.size())) continue;
    std::string_view parameter = trimmed(inside.substr(start, i - start));
    if (!parameter.empty() && parameter != "void") out.push_back(parameter);
    start = i + 1;
  }
  return out;
}

std::string_view plain_name(std::string_view demangled) {
  Brackets list = parameter_list(demangled);
  std::string_view name = demangled.substr(0, list.open);
  name = name.substr(0, arguments_at_end(name));
  // Tags like "[abi:v2]" behind the name; Numba's are long, and have colons.
  while (name.ends_with(']') && name.rfind("[abi:") != std::string_view::npos)
    name = name.substr(0, name.rfind("[abi:"));
  // What stands before the last top-level blank is the return type, before the last "::" the scope.
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (skip_operator(name, i) != i) break;
    if (name[i] == '<' || name[i] == '(') ++depth;
    if (name[i] == '>' || name[i] == ')') --depth;
    if (depth == 0 && (name[i] == ' ' || name[i] == ':')) start = i + 1;
  }
  return name.substr(start);
}

bool points_to_const(std::string_view parameter) {
  std::string_view text = trimmed(parameter);
  drop_qualifiers(text);
  // A pointer to an array: "float const (*) [16]". A pointer to a function looks the same but goes on with "(".
  if (std::size_t star = text.find("(*)"); star != std::string_view::npos) {
    std::string_view rest = trimmed(text.substr(star + 3));
    if (!rest.starts_with('[')) return false;
    text = trimmed(text.substr(0, star));
    return drop_qualifiers(text);
  }
  if (!text.ends_with('*')) return false;
  text.remove_suffix(1);
  text = trimmed(text);
  if (drop_qualifiers(text)) return true;
  return text.starts_with("const ") && text.find('*') == std::string_view::npos;
}

std::vector<AccessMode> parameter_modes(std::string_view mangled) {
  std::vector<AccessMode> out;
  if (!mangled.starts_with("_Z")) return out;
  std::string text = demangle(mangled);
  if (text == mangled) return out;
  for (std::string_view parameter : parameters(text)) {
    out.push_back(points_to_const(parameter) ? AccessMode::Read : AccessMode::Unknown);
  }
  return out;
}

}  // namespace streamsan::judge
