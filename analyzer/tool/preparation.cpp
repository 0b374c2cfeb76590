// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command that Clang sees, and the files around it; see preparation.h.
//
// The order of words matters: Clang's own headers first, then the compat header, so that it is included before the
// project's forced includes; then the project's words; then the toolkit's system folders, as nvcc has them last.
#include "analyzer/tool/preparation.h"

#include <algorithm>

#include "analyzer/tool/files.h"
#include "analyzer/tool/launch_repair.h"
#include "analyzer/tool/toolkit.h"
#include "clang/Driver/Driver.h"
#include "clang/Options/Options.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#include "llvm/Support/JSON.h"

namespace streamsan::analyzer {

namespace {

namespace fs = std::filesystem;

/// Words as Clang's driver reads them.
struct Parsed {
  explicit Parsed(const std::vector<std::string>& words) {
    std::vector<const char*> texts;
    for (const std::string& word : words) {
      texts.push_back(word.c_str());
    }
    unsigned missing_index = 0;
    unsigned missing_count = 0;
    const llvm::opt::InputArgList arguments = clang::getDriverOptTable().ParseArgs(
        texts, missing_index, missing_count, llvm::opt::Visibility(clang::options::ClangOption));
    unknown.resize(words.size(), false);
    for (const llvm::opt::Arg* argument : arguments.filtered(clang::options::OPT_UNKNOWN)) {
      unknown[argument->getIndex()] = true;
    }
    if (missing_count > 0) {
      incomplete = words[missing_index];
    }
  }

  std::vector<bool> unknown;  ///< for each word
  std::string incomplete;     ///< a flag at the end whose value is missing: it would eat the next of our own words
};

/// Words of nvcc's host compiler, mostly gcc, that Clang's driver does not know. What Clang does not know cannot change
/// what Clang sees; left in, each is an error. Flags that a person wrote after `--` stay: there it is a slip.
void drop_unknown_to_clang(Translation& translation) {
  if (translation.compiler.empty() || (translation.dialect != Dialect::Nvcc && translation.dialect != Dialect::Host)) {
    return;
  }
  const Parsed parsed(translation.arguments);
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < translation.arguments.size(); ++i) {
    (parsed.unknown[i] ? translation.dropped : kept).push_back(std::move(translation.arguments[i]));
  }
  translation.arguments = std::move(kept);
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && word.find_first_of(" \t\"'\\$&|;<>()*?#") == std::string::npos;
    text += text.empty() ? "" : " ";
    if (plain) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) {
      text += c == '\'' ? "'\\''" : std::string(1, c);
    }
    text += '\'';
  }
  return text;
}

std::string overlay(const std::map<std::string, std::string>& shown) {
  llvm::json::Array roots;
  for (const auto& [file, text_file] : shown) {
    roots.push_back(llvm::json::Object{{"type", "file"}, {"name", file}, {"external-contents", text_file}});
  }
  // The names that Clang and its messages use are the virtual ones.
  const llvm::json::Object all{{"version", 0}, {"use-external-names", false}, {"roots", std::move(roots)}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(llvm::json::Object(all));
  return text;
}

}  // namespace

Preparation::Preparation(const CommandLine& line, const fs::path& scratch, IncludedText& texts, std::string& error)
    : line_(line),
      launch_repairs_(texts),
      scratch_(scratch),
      compat_header_((scratch / "streamsan_cuda_compat.h").string()),
      fallback_folder_((scratch / "fallback").string()) {
  resource_dir_ = line.resource_dir.empty() ? find_resource_dir(error) : line.resource_dir;
  std::error_code ignored;
  if (!line.resource_dir.empty() && !fs::exists(fs::path(resource_dir_) / "include" / "stddef.h", ignored)) {
    error = "--resource-dir: " + resource_dir_ + " has no include/stddef.h";
  }
  fs::create_directory(fallback_folder_, ignored);
  write(compat_header_, kCompatHeader);
  write(fs::path(fallback_folder_) / "omp.h", kOpenMpHeader);
}

void Preparation::write(const fs::path& path, const std::string& text) {
  if (const std::error_code failed = write_file(path, text)) {
    throw std::system_error(failed, "cannot write " + path.string());
  }
}

std::vector<std::string> Preparation::command(const Source& source, const Compilation& compilation,
                                              std::string& error) const {
  Translation translation = compilation.translation;
  drop_unknown_to_clang(translation);
  for (const auto* flags : {&line_.extra_args_before, &std::as_const(translation.arguments), &line_.extra_args}) {
    if (const std::string flag = Parsed(*flags).incomplete; !flag.empty()) {
      error = "the compiler flag " + flag + " lacks its value";
      return {};
    }
  }
  std::vector<std::string> words{"clang++", "-resource-dir=" + resource_dir_};
  const auto add = [&words](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  const bool nvcc = translation.dialect == Dialect::Nvcc;
  const std::string extension = fs::path(source.file).extension().string();
  std::vector<std::string> system_folders;

  Language language = translation.language;
  if (!source.borrowed_from.empty() && extension == ".cuh") {
    language = Language::Cuda;
  }
  if ((language == Language::Cuda || nvcc) && !translation.no_toolkit) {
    const std::string& given = line_.cuda_path.empty() ? translation.cuda_path : line_.cuda_path;
    const std::optional<Toolkit> toolkit = find_toolkit(given, translation.compiler, error);
    if (!toolkit) {
      return {};
    }
    if (nvcc) {
      system_folders = toolkit->system_folders;
    }
    if (language == Language::Cuda) {
      // Code for devices is not compiled, so a toolkit that lacks libdevice will do, such as that of NVIDIA's Python
      // packages.
      add({"--cuda-path=" + toolkit->root, "-nocudalib", "-Wno-unknown-cuda-version"});
      if (nvcc) {
        add({"-include", compat_header_, "-Xclang", "-fcuda-allow-variadic-functions"});
      }
    } else {
      system_folders.insert(system_folders.begin(), toolkit->include);
    }
  }
  switch (language) {
    case Language::Cuda:
      add({"-x", "cuda", "--cuda-host-only"});
      // Where Clang finds no toolkit it takes the headers for those of CUDA 9.1 and older, which declare launches
      // otherwise. Which of the newer versions it is makes no difference to host code.
      if (translation.no_toolkit) add({"-Xclang", "-target-sdk-version=12.8"});
      break;
    case Language::Hip:
      add({"-x", "hip", "--cuda-host-only", "-nogpulib"});
      break;
    case Language::Cxx:
      if (nvcc || !source.borrowed_from.empty() || extension == ".cu" || extension == ".hip") {
        add({"-x", "c++"});
      }
      break;
  }
  if (nvcc) {
    add({"-Wno-register"});  // nvcc takes the keyword in any C++; Clang makes it an error of C++17.
  }
  words.insert(words.end(), line_.extra_args_before.begin(), line_.extra_args_before.end());
  words.insert(words.end(), translation.arguments.begin(), translation.arguments.end());
  for (const std::string& folder : system_folders) {
    add({"-isystem", folder});
  }
  if (nvcc) {
    add({"-idirafter", fallback_folder_});
  }
  if (report::find<report::StreamKind>(line_.default_stream) == report::StreamKind::PerThread &&
      !translation.per_thread_default_stream) {
    add({"-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1"});
  }
  // Clang gives a file up after 20 errors, and code written for nvcc has that many from one header. What lies behind
  // them can be analysed all the same.
  add({"-ferror-limit=0"});
  words.insert(words.end(), line_.extra_args.begin(), line_.extra_args.end());
  add({"-Wno-unused-command-line-argument", "-Wno-unknown-warning-option", "-fsyntax-only", source.file});
  return words;
}

Prepared Preparation::prepare(const Source& source, const Selection& selection, std::size_t number) {
  Prepared prepared;
  prepared.error = source.error;
  if (!prepared.error.empty()) {
    return prepared;
  }
  const fs::path folder = scratch_ / std::to_string(number);
  std::error_code failed;
  fs::create_directory(folder, failed);

  llvm::json::Array entries;
  for (const Compilation& compilation : source.compilations) {
    std::vector<std::string> words = command(source, compilation, prepared.error);
    if (!prepared.error.empty()) {
      return prepared;
    }
    if (!llvm::json::isUTF8(shell_words(words) + compilation.directory)) {
      prepared.error = "its name or its flags are not UTF-8, which a compile database has to be";
      return prepared;
    }
    prepared.log += source.file + ": in " + compilation.directory + ": " + shell_words(words) + "\n";
    if (!compilation.translation.dropped.empty()) {
      prepared.log += source.file + ": dropped: " + shell_words(compilation.translation.dropped) + "\n";
    }
    prepared.include_folders = quoted_include_folders(words, compilation.directory);
    prepared.repaired.merge(launch_repairs_.with_includes(source.file, prepared.include_folders));
    entries.push_back(llvm::json::Object{
        {"directory", compilation.directory}, {"file", source.file}, {"arguments", llvm::json::Array(words)}});
  }
  std::map<std::string, std::string> shown;
  for (const auto& [file, text] : prepared.repaired) {
    const fs::path path = folder / ("repaired-" + std::to_string(shown.size()));
    write(path, text);
    shown.emplace(file, path.string());
    prepared.log += file + ": braces in launch configurations are read as parentheses\n";
  }
  std::string database;
  llvm::raw_string_ostream(database) << llvm::json::Value(std::move(entries));
  write(folder / "compile_commands.json", database);
  write(folder / "config.yaml", clang::tidy::configurationAsText(selection.options));

  prepared.export_fixes = (folder / "fixes.yaml").string();
  Job& job = prepared.job;
  job.sidecar = (folder / "sidecar").string();
  job.output = (folder / "stdout").string();
  job.errors = (folder / "stderr").string();
  job.arguments = {"-p=" + folder.string(), "--config-file=" + (folder / "config.yaml").string(),
                   "--export-fixes=" + prepared.export_fixes, "--quiet"};
  if (!shown.empty()) {
    write(folder / "overlay.yaml", overlay(shown));
    job.arguments.push_back("--vfsoverlay=" + (folder / "overlay.yaml").string());
  }
  if (!line_.line_filter.empty()) {
    job.arguments.push_back("--line-filter=" + line_.line_filter);
  }
  job.arguments.push_back(source.file);
  return prepared;
}

}  // namespace streamsan::analyzer
