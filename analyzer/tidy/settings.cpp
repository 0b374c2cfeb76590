// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Settings from `.clang-tidy` or --config.
//
// What concerns the analysis of a whole translation unit is named `streamsan.Name`, for all checks together, since they
// share one analysis. Only which levels are shown can be said for one check alone,
// `streamsan-cross-stream-race.Levels`. A name under `streamsan.` that is none of ours is complained about: a
// misspelled option must not look obeyed.
#include "analyzer/tidy/settings.h"

#include <optional>

#include "llvm/ADT/StringExtras.h"

namespace streamsan::analyzer {
namespace {

constexpr const char* kNames[] = {"streamsan.Levels",       "streamsan.Models",    "streamsan.SummariesIn",
                                  "streamsan.SummariesOut", "streamsan.Baseline",  "streamsan.DefaultStream",
                                  "streamsan.DumpIr",       "streamsan.FollowMain"};

std::string own_levels(Check check) { return std::string("streamsan-") + id(check) + ".Levels"; }

std::vector<std::string> split(llvm::StringRef list) {
  std::vector<std::string> result;
  for (llvm::StringRef rest = list; !rest.empty();) {
    const std::size_t end = rest.find_first_of(";,");
    const llvm::StringRef item = rest.take_front(end).trim();
    rest = end == llvm::StringRef::npos ? llvm::StringRef{} : rest.drop_front(end + 1);
    if (!item.empty()) {
      result.push_back(item.str());
    }
  }
  return result;
}

std::string join(const std::vector<Level>& levels) {
  std::string result;
  for (const Level level : levels) {
    result += (result.empty() ? "" : ";") + std::string(name(level));
  }
  return result;
}

std::optional<std::vector<Level>> read_levels(llvm::StringRef option, llvm::StringRef value,
                                              std::vector<std::string>& complaints) {
  std::vector<Level> result;
  for (const std::string& word : split(value)) {
    const std::optional<Level> known = report::find<Level>(word);
    if (!known) {
      complaints.push_back("option '" + option.str() + "': unknown level '" + word +
                           "', known are definite, likely, latent and maybe");
      return std::nullopt;
    }
    result.push_back(*known);
  }
  return result;
}

}  // namespace

Settings read_settings(const clang::tidy::ClangTidyOptions::OptionMap& options, std::vector<std::string>& complaints) {
  Settings settings;
  const auto value = [&](llvm::StringRef option) {
    const auto found = options.find(option);
    return found == options.end() ? std::optional<llvm::StringRef>{} : llvm::StringRef(found->getValue().Value);
  };
  const auto text = [&](llvm::StringRef option) { return value(option).value_or("").str(); };

  if (const auto levels = value("streamsan.Levels")) {
    settings.levels = read_levels("streamsan.Levels", *levels, complaints).value_or(settings.levels);
  }
  for (const Check check : kChecks) {
    const std::string option = own_levels(check);
    if (const auto levels = value(option)) {
      if (auto read = read_levels(option, *levels, complaints)) {
        settings.levels_of[check] = std::move(*read);
      }
    }
  }
  settings.model_files = split(text("streamsan.Models"));
  settings.summaries_in = text("streamsan.SummariesIn");
  settings.summaries_out = text("streamsan.SummariesOut");
  settings.baseline = text("streamsan.Baseline");

  const std::string default_stream = value("streamsan.DefaultStream").value_or("legacy").str();
  const auto kind = report::find<report::StreamKind>(default_stream);
  settings.per_thread_default_stream = kind == report::StreamKind::PerThread;
  if (kind != report::StreamKind::PerThread && kind != report::StreamKind::Legacy) {
    complaints.push_back("option 'streamsan.DefaultStream': unknown value '" + default_stream +
                         "', known are legacy and per-thread");
  }
  const auto flag = [&](const std::string& option, bool& setting) {
    const std::string word = value(option).value_or(setting ? "true" : "false").str();
    setting = word == "true";
    if (word != "true" && word != "false") {
      complaints.push_back("option '" + option + "': unknown value '" + word + "', known are true and false");
    }
  };
  flag("streamsan.DumpIr", settings.dump_ir);
  flag("streamsan.FollowMain", settings.follow_main);

  for (const auto& option : options) {
    const llvm::StringRef key = option.getKey();
    const bool known = std::find(std::begin(kNames), std::end(kNames), key) != std::end(kNames);
    if (key.starts_with("streamsan.") && !known) {
      complaints.push_back("unknown option '" + key.str() + "'");
    }
  }
  return settings;
}

void store_settings(const Settings& settings, Check check, clang::tidy::ClangTidyOptions::OptionMap& options) {
  const auto store = [&options](const std::string& name, const std::string& value) {
    options[name] = clang::tidy::ClangTidyOptions::ClangTidyValue(value);
  };
  store("streamsan.Levels", join(settings.levels));
  store("streamsan.Models", llvm::join(settings.model_files, ";"));
  store("streamsan.SummariesIn", settings.summaries_in);
  store("streamsan.SummariesOut", settings.summaries_out);
  store("streamsan.Baseline", settings.baseline);
  store("streamsan.DefaultStream",
        name(settings.per_thread_default_stream ? report::StreamKind::PerThread : report::StreamKind::Legacy));
  store("streamsan.DumpIr", settings.dump_ir ? "true" : "false");
  store("streamsan.FollowMain", settings.follow_main ? "true" : "false");
  const auto own = settings.levels_of.find(check);
  store(own_levels(check), join(own == settings.levels_of.end() ? settings.levels : own->second));
}

std::vector<std::string> setting_names(Check check) {
  std::vector<std::string> names(std::begin(kNames), std::end(kNames));
  names.push_back(own_levels(check));
  return names;
}

}  // namespace streamsan::analyzer
