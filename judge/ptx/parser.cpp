// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module is skimmed for kernels; a kernel's body is read statement by statement. Opcodes are decoded in opcode.cpp.
#include "judge/ptx/parser.h"

#include <cctype>
#include <charconv>
#include <map>
#include <utility>

#include "judge/ptx/lexer.h"
#include "judge/ptx/opcode.h"

namespace streamsan::ptx {
namespace {

constexpr std::size_t kMostInstructions = 200'000;
constexpr int kMostRegisters = 1'000'000;
constexpr std::uint32_t kMostParameterBytes = 65'536;

/// Reads to the brace that closes the one just read.
void skip_body(Lexer& lexer) {
  for (int depth = 1; depth > 0;) {
    const Token token = lexer.next();
    if (token.end()) return;
    if (token.is('{')) ++depth;
    if (token.is('}')) --depth;
  }
}

std::optional<std::uint64_t> number(std::string_view text) {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  if (text.ends_with('U')) text.remove_suffix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.starts_with("0b") || text.starts_with("0B")) {
    base = 2;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Special special_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"%tid.x",   "%tid.y",   "%tid.z",   "%ntid.x",   "%ntid.y",   "%ntid.z",
                                         "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z"};
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return static_cast<Special>(i);
  return Special::Unknown;
}

/// Reads the body of one kernel.
class Body {
 public:
  Body(Kernel& kernel, Lexer& lexer) : kernel_(kernel), lexer_(lexer), scopes_(1) {}

  void read() {
    while (kernel_.understood) {
      const Token token = lexer_.next();
      if (token.end()) {
        kernel_.understood = false;
        return;
      }
      if (token.is('{')) {
        scopes_.emplace_back();
      } else if (token.is('}')) {
        if (scopes_.size() == 1) break;
        scopes_.pop_back();
      } else if (token.is(';')) {
        continue;
      } else {
        statement(token);
      }
      if (kernel_.instructions.size() > kMostInstructions || kernel_.registers > kMostRegisters)
        kernel_.understood = false;
    }
    resolve();
  }

 private:
  struct Jump {
    std::size_t instruction;
    std::string_view label;
  };

  void statement(Token first) {
    if (first.text[0] == '.') return directive(first);
    Instruction instruction;
    if (first.is('@')) {
      Token guard = lexer_.next();
      if (guard.is('!')) {
        instruction.guard_negated = true;
        guard = lexer_.next();
      }
      instruction.guard = find(guard.text);
      if (instruction.guard < 0) kernel_.understood = false;
      first = lexer_.next();
    }
    const Token second = lexer_.next();
    if (second.is(':') && instruction.guard < 0) {
      // A label; or the name of a table of branch targets or of a prototype, which are directives.
      // Inline assembly has labels of its own between braces, which may have the name of others.
      if (!labels_.emplace(first.text, kernel_.instructions.size()).second) kernel_.understood = false;
      return;
    }
    decode(first.text, instruction);
    std::vector<Token> tokens;
    for (Token token = second; !token.is(';'); token = lexer_.next()) {
      if (token.end()) {
        kernel_.understood = false;
        return;
      }
      tokens.push_back(token);
    }
    std::size_t at = 0;
    while (at < tokens.size()) {
      instruction.operands.push_back(operand(tokens, at, 0));
      if (at < tokens.size() && !tokens[at].is(',')) {
        // Text between operands that is not known: an instruction that is not known.
        instruction.op = Op::Other;
      }
      ++at;
    }
    const bool one_place = !instruction.operands.empty() && instruction.operands[0].kind == Operand::Kind::Symbol;
    if (instruction.op == Op::Branch && one_place) {
      jumps_.push_back({kernel_.instructions.size(), tokens[0].text});
    }
    kernel_.instructions.push_back(std::move(instruction));
  }

  void directive(const Token& first) {
    if (first.is(".loc")) return lexer_.skip_line();
    if (first.is(".reg")) return registers();
    // .shared, .local, .param, .pragma, .branchtargets, .callprototype: to the semicolon, initialisers included.
    std::string_view name;
    for (Token token = lexer_.next(); !token.is(';'); token = lexer_.next()) {
      if (token.end()) {
        kernel_.understood = false;
        return;
      }
      const char c = token.text[0];
      if (name.empty() && (c == '_' || c == '$' || c == '%' || std::isalpha(static_cast<unsigned char>(c))))
        name = token.text;
    }
    if (first.is(".shared") || first.is(".local")) kernel_.own_variables.emplace_back(name);
  }

  /// `.reg .b32 %r<6>, %x;`
  void registers() {
    std::string_view name;
    for (Token token = lexer_.next();; token = lexer_.next()) {
      if (token.end()) {
        kernel_.understood = false;
        return;
      }
      if (token.is('<') && !name.empty()) {
        const auto count = number(lexer_.next().text);
        if (!count || *count > static_cast<std::uint64_t>(kMostRegisters)) {
          kernel_.understood = false;
          return;
        }
        scopes_.back().ranges[name] = {kernel_.registers, static_cast<int>(*count)};
        kernel_.registers += static_cast<int>(*count);
        lexer_.next();
        name = {};
      } else if (token.is(',') || token.is(';')) {
        if (!name.empty()) scopes_.back().names[name] = kernel_.registers++;
        name = {};
        if (token.is(';')) return;
      } else if (token.text[0] != '.') {
        name = token.text;
      }
      if (kernel_.registers > kMostRegisters) return;
    }
  }

  /// The number of the register, or -1.
  int find(std::string_view name) const {
    std::size_t digits = name.size();
    while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
    int index = -1;
    if (digits < name.size()) std::from_chars(name.data() + digits, name.data() + name.size(), index);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (auto it = scope->names.find(name); it != scope->names.end()) return it->second;
      if (index < 0) continue;
      auto it = scope->ranges.find(name.substr(0, digits));
      if (it != scope->ranges.end() && index < it->second.second) return it->second.first + index;
    }
    return -1;
  }

  /// One operand, from tokens[at] on to the comma or bracket that ends it.
  Operand operand(const std::vector<Token>& tokens, std::size_t& at, int depth) {
    Operand out = single(tokens, at, depth);
    // d|p: two results.
    while (at + 1 < tokens.size() && tokens[at].is('|')) {
      ++at;
      if (out.kind != Operand::Kind::List) out = Operand{.kind = Operand::Kind::List, .elements = {out}};
      out.elements.push_back(single(tokens, at, depth));
    }
    return out;
  }

  Operand single(const std::vector<Token>& tokens, std::size_t& at, int depth) {
    Operand out;
    out.kind = Operand::Kind::Opaque;
    if (at >= tokens.size()) return out;
    bool minus = false;
    while (at < tokens.size() && (tokens[at].is('!') || tokens[at].is('-') || tokens[at].is('+'))) {
      if (tokens[at].is('!')) out.negated = !out.negated;
      if (tokens[at].is('-')) minus = !minus;
      ++at;
    }
    if (at >= tokens.size() || depth >= kTooDeep) {
      kernel_.understood = kernel_.understood && depth < kTooDeep;
      ++at;
      return out;
    }
    const Token token = tokens[at++];
    if (token.is('{') || token.is('(')) return list(tokens, at, depth, token.is('{') ? '}' : ')');
    if (token.is('[')) return memory(tokens, at, depth);
    if (const auto value = number(token.text)) {
      out.kind = Operand::Kind::Immediate;
      out.immediate = static_cast<std::int64_t>(minus ? 0 - *value : *value);
      return out;
    }
    const char c = token.text[0];
    if (c >= '0' && c <= '9') return out;  // a float
    if (token.is("WARP_SZ")) {
      out.kind = Operand::Kind::Immediate;
      out.immediate = 32;
      return out;
    }
    if (const int reg = find(token.text); reg >= 0) {
      out.kind = Operand::Kind::Register;
      out.reg = reg;
      return out;
    }
    // %rd1.x of a vector register, and other things with a dot that are no special register.
    if (c == '%') {
      out.kind = Operand::Kind::Special;
      out.special = special_of(token.text);
      return out;
    }
    if (token.is('_')) return out;
    out.kind = Operand::Kind::Symbol;
    out.symbol = token.text;
    // symbol + 4
    if (at + 1 < tokens.size() && (tokens[at].is('+') || tokens[at].is('-'))) {
      const bool negative = tokens[at].is('-');
      ++at;
      if (const auto value = number(tokens[at].text)) {
        out.immediate = static_cast<std::int64_t>(negative ? 0 - *value : *value);
        ++at;
      }
    }
    return out;
  }

  Operand list(const std::vector<Token>& tokens, std::size_t& at, int depth, char close) {
    Operand out{.kind = Operand::Kind::List};
    while (at < tokens.size() && !tokens[at].is(close)) {
      if (tokens[at].is(',')) {
        ++at;
      } else {
        out.elements.push_back(operand(tokens, at, depth + 1));
      }
    }
    ++at;
    return out;
  }

  Operand memory(const std::vector<Token>& tokens, std::size_t& at, int depth) {
    Operand out = single(tokens, at, depth + 1);
    if (out.kind == Operand::Kind::Opaque || out.kind == Operand::Kind::Special) kernel_.understood = false;
    out.kind = Operand::Kind::Memory;
    while (at < tokens.size() && !tokens[at].is(']')) {
      if (tokens[at].is('+') && at + 1 < tokens.size()) {
        ++at;
        bool negative = false;
        if (tokens[at].is('-') && at + 1 < tokens.size()) {
          negative = true;
          ++at;
        }
        const auto value = number(tokens[at].text);
        if (!value) kernel_.understood = false;
        out.immediate += static_cast<std::int64_t>(negative ? 0 - value.value_or(0) : value.value_or(0));
        ++at;
      } else if (tokens[at].is(',')) {
        ++at;
      } else {
        out.elements.push_back(operand(tokens, at, depth + 1));
      }
    }
    ++at;
    return out;
  }

  void resolve() {
    for (const Jump& jump : jumps_) {
      auto it = labels_.find(jump.label);
      if (it == labels_.end()) {
        kernel_.understood = false;
      } else {
        kernel_.instructions[jump.instruction].target = static_cast<std::int32_t>(it->second);
      }
    }
  }

  static constexpr int kTooDeep = 8;
  struct Scope {
    std::map<std::string_view, int> names;
    std::map<std::string_view, std::pair<int, int>> ranges;  ///< prefix -> first, count
  };
  Kernel& kernel_;
  Lexer& lexer_;
  std::vector<Scope> scopes_;
  std::map<std::string_view, std::size_t> labels_;
  std::vector<Jump> jumps_;
};

/// `.param .align 8 .b8 name[24], ...)`; the opening parenthesis has been read.
void read_parameters(Kernel& kernel, Lexer& lexer) {
  std::uint64_t next = 0;
  while (true) {
    std::uint64_t element = 0, align = 0, count = 1;
    std::string name;
    Token token = lexer.next();
    for (; !token.end() && !token.is(',') && !token.is(')'); token = lexer.next()) {
      if (token.is(".align")) {
        align = number(lexer.next().text).value_or(0);
      } else if (token.is(".ptr")) {
        // `.ptr .global .align 16`: about what it points at.
        std::size_t ahead = lexer.position();
        Token word = lexer.next();
        while (word.is(".global") || word.is(".const") || word.is(".local") || word.is(".shared") ||
               word.is(".align")) {
          if (word.is(".align")) lexer.next();
          ahead = lexer.position();
          word = lexer.next();
        }
        lexer.seek(ahead);
      } else if (token.is('[')) {
        count = number(lexer.next().text).value_or(0);
        lexer.next();
      } else if (token.text[0] == '.') {
        if (const Type type = type_of(token.text.substr(1)); type.bits > 1) element = type.bits / 8;
      } else {
        name = token.text;
      }
    }
    if (!name.empty()) {
      if (align == 0) align = element;
      const bool strange =
          element == 0 || align == 0 || (align & (align - 1)) != 0 || align > 4096 || count > kMostParameterBytes;
      if (strange || next > kMostParameterBytes) {
        kernel.understood = false;
        return;
      }
      next = (next + align - 1) / align * align;
      kernel.parameters.push_back(
          {std::move(name), static_cast<std::uint32_t>(next), static_cast<std::uint32_t>(element * count)});
      next += element * count;
    }
    if (token.end()) kernel.understood = false;
    if (token.end() || token.is(')')) return;
  }
}

}  // namespace

std::vector<Entry> find_entries(std::string_view module) {
  std::vector<Entry> out;
  Lexer lexer(module);
  for (Token token = lexer.next(); !token.end(); token = lexer.next()) {
    if (token.is('{')) {
      skip_body(lexer);
    } else if (token.is(".entry")) {
      const Token name = lexer.next();
      // A declaration ends before a body opens.
      Token at = lexer.next();
      while (!at.end() && !at.is('{') && !at.is(';')) at = lexer.next();
      if (!at.is('{')) continue;
      skip_body(lexer);
      out.push_back({name.text, module.substr(name.position, lexer.position() - name.position)});
    }
  }
  return out;
}

std::string_view target_of(std::string_view module) {
  Lexer lexer(module);
  for (Token token = lexer.next(); !token.end() && !token.is('{'); token = lexer.next())
    if (token.is(".target")) return lexer.next().text;
  return {};
}

Kernel parse(const Entry& entry) {
  Kernel kernel;
  kernel.name = entry.name;
  Lexer lexer(entry.text);
  lexer.next();
  Token token = lexer.next();
  if (token.is('(')) {
    read_parameters(kernel, lexer);
    token = lexer.next();
  }
  while (!token.end() && !token.is('{')) token = lexer.next();
  if (token.end()) kernel.understood = false;
  if (kernel.understood) Body(kernel, lexer).read();
  return kernel;
}

}  // namespace streamsan::ptx
