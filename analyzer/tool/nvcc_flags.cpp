// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The translation of one command; see nvcc_flags.h for why and nvcc_options.cpp for the table.
//
// One pass over the words. nvcc's "last one wins" holds for what is kept as state here (-rdc, --default-stream, -x);
// what is handed on (-std, -D) keeps its order, and Clang's driver lets the last one win by itself. -Werror of any
// compiler is dropped: a warning must not turn into an error that only this tool's Clang sees.
#include "analyzer/tool/nvcc_flags.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

namespace streamsan::analyzer {
namespace {

namespace fs = std::filesystem;

/// Options of host compilers and of Clang whose value is the next word: it must not be taken for an input.
constexpr std::array<std::string_view, 18> kSeparateValues = {
    "-I",       "-D",      "-U",     "-include", "-isystem",     "-iquote", "-idirafter",  "-imacros",      "-isysroot",
    "-iprefix", "-Xclang", "-mllvm", "-target",  "-include-pch", "-F",      "-iframework", "-resource-dir", "-x"};
/// Their words about output, dependencies and linking: alone, and with a value in the next word.
constexpr std::array<std::string_view, 12> kDroppedAlone = {
    "-c", "-S", "-E", "-M", "-MM", "-MD", "-MMD", "-MP", "-MG", "-save-temps", "-fsyntax-only", "-pipe"};
constexpr std::array<std::string_view, 5> kDroppedWithValue = {"-o", "-MF", "-MT", "-MQ", "-MJ"};
/// Clang's and hipcc's: whose side of the program is compiled. It is always the host's.
constexpr std::array<std::string_view, 6> kSides = {"--cuda-device-only",         "--offload-device-only",
                                                    "--cuda-host-only",           "--offload-host-only",
                                                    "--cuda-compile-host-device", "--offload-host-device"};
/// Options that nvcc shares with Clang: they do not tell whose words these are.
constexpr std::array<std::string_view, 12> kSharedOptions = {"std",         "isystem",         "include",  "m64",
                                                             "shared",      "ftemplate-depth", "Werror",   "save-temps",
                                                             "fcoroutines", "frandom-seed",    "restrict", "sanitize"};

template <typename Words>
bool contains(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return text.ends_with(ending); });
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

Dialect dialect_of(std::string_view program) {
  const std::string_view name = file_name(program);
  if (name.find("nvcc") != name.npos) {
    return Dialect::Nvcc;
  }
  if (name.starts_with("hipcc")) {
    return Dialect::Hipcc;
  }
  return name.find("clang") != name.npos ? Dialect::Clang : Dialect::Host;
}

/// Where the compiler stands: after launchers, `env` and its assignments.
std::size_t program_position(const std::vector<std::string>& words) {
  std::size_t position = 0;
  while (position + 1 < words.size()) {
    const std::string_view name = file_name(words[position]);
    const bool launcher = name == "ccache" || name == "sccache" || name == "distcc" || name == "icecc" ||
                          name == "buildcache" || name == "env" || name == "time";
    const bool assignment = position > 0 && words[position][0] != '-' && words[position].find('=') != std::string::npos;
    if (!launcher && !assignment) {
      break;
    }
    ++position;
  }
  return position;
}

Language language_of(std::string_view file) {
  if (ends_with_any(file, {".cu", ".cuh"})) {
    return Language::Cuda;
  }
  return ends_with_any(file, {".hip"}) ? Language::Hip : Language::Cxx;
}

class Translator {
 public:
  Translator(const Command& command, const ReadFile& read_file)
      : command_(command), response_files_(command.directory, read_file) {}

  Translation run(Dialect dialect, std::string compiler, const std::vector<std::string>& words) {
    out_.dialect = dialect;
    out_.compiler = std::move(compiler);
    out_.language = language_of(command_.file);
    if (dialect == Dialect::Hipcc) {
      out_.language = Language::Hip;  // whatever the file is called
    }
    dialect == Dialect::Nvcc ? nvcc(words) : other(words);
    finish();
    return std::move(out_);
  }

 private:
  void keep(std::string word) { out_.arguments.push_back(std::move(word)); }
  void drop(std::string word) { out_.dropped.push_back(std::move(word)); }

  [[nodiscard]] bool is_source(const std::string& word) const {
    const fs::path directory = command_.directory;
    return (directory / word).lexically_normal() == (directory / command_.file).lexically_normal();
  }

  /// nvcc's words.
  void nvcc(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size() && out_.error.empty(); ++i) {
      const std::string& word = words[i];
      if (word.starts_with('@')) {
        response_file(word.substr(1), &Translator::nvcc);
        continue;
      }
      if (word.size() < 2 || word[0] != '-') {
        if (!is_source(word)) {
          drop(word);  // another input, an object
        }
        continue;
      }
      const std::string_view bare = std::string_view(word).substr(word[1] == '-' ? 2 : 1);
      const std::size_t equals = bare.find('=');
      const NvccOption* option = find_nvcc_option(bare.substr(0, equals));
      std::string value;
      bool has_value = option != nullptr && equals != bare.npos;
      if (has_value) {
        value = bare.substr(equals + 1);
      } else if (option == nullptr) {
        option = find_joined_nvcc_option(word);
        if (option != nullptr && word[1] == 't' && std::isdigit(static_cast<unsigned char>(word[2])) == 0) {
          option = nullptr;
        }
        if (option != nullptr) {
          value = word.substr(2);
          has_value = true;
        }
      }
      if (option == nullptr) {
        i += host_word(words, i);
        continue;
      }
      if (!has_value && option->takes != NvccOption::Takes::Nothing) {
        const bool optional = option->takes == NvccOption::Takes::ValueUnlessOption;
        if (i + 1 < words.size() && !(optional && words[i + 1].starts_with('-'))) {
          value = words[++i];
        } else if (!optional) {
          incomplete(word);
        }
      }
      apply(*option, word, value);
    }
  }

  void apply(const NvccOption& option, const std::string& word, const std::string& value) {
    using Meaning = NvccOption::Meaning;
    switch (option.meaning) {
      case Meaning::Drop:
        drop(value.empty() || word.ends_with(value) ? word : word + ' ' + value);
        return;
      case Meaning::Standard:
        keep("-std=" + value);
        return;
      case Meaning::Input:
        input_language(value);
        return;
      case Meaning::ForHostCompiler: {
        std::vector<std::string> inner;
        for (const std::string& element : split_list(value)) {
          for (std::string& inner_word : split_words(element)) {
            inner.push_back(std::move(inner_word));
          }
        }
        other(inner);
        return;
      }
      case Meaning::List:
        for (const std::string& element : split_list(value)) {
          const std::string_view name = option.clang_name;
          if (name == "-isystem" || name == "-include") {
            keep(std::string(name));
            keep(element);
          } else {
            keep(std::string(name) + element);
          }
        }
        return;
      case Meaning::Flag:
        keep(option.clang_name);
        return;
      case Meaning::RelocatableDevice:
        relocatable_ = value == "true";
        return;
      case Meaning::RelocatableCompile:
        relocatable_ = true;
        return;
      case Meaning::DefaultStream:
        out_.per_thread_default_stream = value == "per-thread";
        return;
      case Meaning::OptionsFile:
        for (const std::string& path : split_list(value)) {
          response_file(path, &Translator::nvcc);
        }
        return;
    }
  }

  void input_language(std::string_view value) {
    if (value == "cu" || value == "cuda") {
      out_.language = Language::Cuda;
    } else if (value == "hip") {
      out_.language = Language::Hip;
    } else if (value != "none") {
      out_.language = Language::Cxx;
    }
  }

  /// One word for a host compiler or Clang. The number of further words it took.
  std::size_t host_word(const std::vector<std::string>& words, std::size_t i) {
    const std::string& word = words[i];
    const bool last = i + 1 == words.size();
    if (contains(kDroppedAlone, word) || contains(kSides, word) || word.starts_with("-Werror") ||
        word == "-pedantic-errors") {
      drop(word);
      return 0;
    }
    if (contains(kDroppedWithValue, word)) {
      drop(last ? word : word + ' ' + words[i + 1]);
      return last ? 0 : 1;
    }
    if (word.starts_with("-x")) {
      const bool joined = word.size() > 2;
      if (!joined && last) {
        incomplete(word);
        return 0;
      }
      input_language(joined ? std::string_view(word).substr(2) : std::string_view(words[i + 1]));
      return joined ? 0 : 1;
    }
    if (word.starts_with("--cuda-path=")) {
      out_.cuda_path = word.substr(word.find('=') + 1);
      return 0;
    }
    if (word == "-nocudainc" || word == "--no-offload-inc" || word == "-nogpuinc") {
      out_.no_toolkit = true;
    }
    keep(word);
    if (!last && contains(kSeparateValues, word)) {
      keep(words[i + 1]);
      return 1;
    }
    return 0;
  }

  /// Clang's, hipcc's and host compilers' words.
  void other(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size() && out_.error.empty(); ++i) {
      if (words[i].starts_with('@')) {
        response_file(words[i].substr(1), &Translator::other);
      } else if (words[i].starts_with('-') || !is_source(words[i])) {
        i += host_word(words, i);
      }
    }
  }

  void response_file(const std::string& name, void (Translator::*use)(const std::vector<std::string>&)) {
    response_files_.open(name, [&](const std::vector<std::string>& words) { (this->*use)(words); }, out_.error);
  }

  void incomplete(const std::string& word) { out_.error = "the compiler flag " + word + " lacks its value"; }

  void finish() {
    if (relocatable_) {
      keep("-fgpu-rdc");
      keep("-D__CUDACC_RDC__");
    }
    if (out_.per_thread_default_stream) {
      keep("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1");
    }
  }

  const Command& command_;
  ResponseFiles response_files_;
  Translation out_;
  bool relocatable_ = false;
};

/// Whether some word can only be nvcc's.
bool speaks_nvcc(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](std::string_view word) {
    if (word.size() < 3 || word[0] != '-') {
      return false;
    }
    const std::string_view bare = word.substr(word[1] == '-' ? 2 : 1);
    const NvccOption* option = find_nvcc_option(bare.substr(0, bare.find('=')));
    return option != nullptr && std::string_view(option->short_name).size() > 2 &&
           !contains(kSharedOptions, option->short_name);
  });
}

}  // namespace

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> elements(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\\' && (next == ',' || next == '"' || next == '\'' || next == '\\')) {
      elements.back() += next;
      ++i;
    } else if (c == ',' && !quoted) {
      elements.emplace_back();
    } else {
      quoted = quoted != (c == '"');
      elements.back() += c;
    }
  }
  std::erase(elements, "");
  return elements;
}

Translation translate(const Command& command, const ReadFile& read_file) {
  const std::size_t program = program_position(command.arguments);
  if (program >= command.arguments.size()) {
    Translation nothing;
    nothing.error = "its entry in the compile database names no compiler";
    return nothing;
  }
  const std::string& compiler = command.arguments[program];
  return Translator(command, read_file)
      .run(dialect_of(compiler), compiler,
           {command.arguments.begin() + static_cast<std::ptrdiff_t>(program) + 1, command.arguments.end()});
}

Translation translate_flags(const Command& command, const ReadFile& read_file) {
  const Dialect dialect = speaks_nvcc(command.arguments) ? Dialect::Nvcc : Dialect::Clang;
  Translation translation = Translator(command, read_file).run(dialect, "", command.arguments);
  if (translation.language == Language::Cuda) {
    translation.dialect = Dialect::Nvcc;  // whoever spells the flags, CUDA sources are mostly written for nvcc
  }
  return translation;
}

}  // namespace streamsan::analyzer
