// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes hazards of the model's conflicts: finds places in the program's own files, and names for streams, events and
// buffers.
#include "analyzer/interpreter/follower.h"

#include <algorithm>
#include <cstring>

#include "analyzer/interpreter/callers.h"
#include "analyzer/interpreter/module.h"
#include "analyzer/interpreter/record_calls.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugLoc.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

namespace streamsan::analyzer::interpreter {

using ordering::AccessSource;
using ordering::HazardKind;

Follower::Follower(Symbols& symbols, const HostModule& host, const FollowOptions& options, Followed& followed)
    : sources_(symbols.context().getSourceManager()),
      sites_(symbols.context()),
      symbols_(symbols),
      host_(host),
      followed_(followed),
      cuda_(symbols, host, *this, options.per_thread_default_stream),
      torch_(symbols, host, cuda_) {
  cuda_.on_overtaken_copy = [this](const OvertakenCopy& copy) { overtaken_copy(copy); };
  cuda_.on_failing_record = [this](const FailingRecord& record) { failing_record(record); };
}

Outcome Follower::call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result) {
  machine_ = &machine;
  if (!library_.on_free)
    library_.on_free = [this, &machine](Word address, std::size_t bytes) { cuda_.host_freed(machine, address, bytes); };
  Outcome outcome = library_.call(machine, function, arguments, result);
  if (outcome == Outcome::Unknown) outcome = torch_.call(machine, function, arguments, result);
  if (outcome == Outcome::Unknown) outcome = cuda_.call(machine, function, arguments, result);
  if (outcome == Outcome::Unknown && !harmless_.contains(&function)) not_known(machine, function);
  return outcome;
}

/// An unknown function may have waited for the GPU, unless it is one of the C and C++ libraries. If it returns a stream
/// or an event, the run stops: it is not known which one that is.
void Follower::not_known(Machine& machine, const llvm::Function& function) {
  const llvm::StringRef symbol = function.getName();
  const auto* called = llvm::dyn_cast_or_null<clang::FunctionDecl>(host_.declaration(symbol));
  const bool standard = symbol.starts_with("_ZNSt") || symbol.starts_with("_ZNKSt") || symbol.starts_with("_ZSt");
  if (standard || (called != nullptr && symbols_.in_system_header(*called) &&
                   symbols_.models().harmless(symbols_.known(*called).callee))) {
    harmless_.insert(&function);
    return;
  }
  const std::string name = called == nullptr ? symbol.str() : called->getNameAsString();
  if (std::ranges::find(followed_.unknown, name) == followed_.unknown.end()) followed_.unknown.push_back(name);
  cuda_.may_wait(machine);
  cuda_.lose_device(machine);
  if (called == nullptr) return;
  // What an unknown function does to an object is unknown, so a made-up caller stops here. In a file with main() most
  // of these functions are harmless.
  if (counts && std::ranges::any_of(called->parameters(), [](const clang::ParmVarDecl* parameter) {
        const clang::QualType to = parameter->getType()->getPointeeType();
        return !to.isNull() && !to.isConstQualified() && (to->isRecordType() || to->isPointerType());
      }))
    machine.stop("an object is changed by a function that is not seen");
  if (counts && called->getReturnType()->isRecordType()) machine.stop("an object of a function that is not seen");
  const ir::TypeKind kind = symbols_.kind(called->getReturnType());
  if (kind == ir::TypeKind::Stream || kind == ir::TypeKind::Event)
    machine.stop("a stream or event of a function that is not seen");
}

/// The place of an instruction in the program's own files. Invalid: it is in none.
clang::SourceLocation Follower::location(const llvm::Instruction& instruction) const {
  const llvm::DebugLoc& at = instruction.getDebugLoc();
  if (!at || at.getLine() == 0) return {};
  if (instruction.getFunction()->getName().contains("__device_stub__")) return {};
  const llvm::DIFile* file = at->getFile();
  const llvm::StringRef name = file->getFilename();
  auto entry = sources_.getFileManager().getFileRef(name);
  if (!entry) {
    llvm::consumeError(entry.takeError());
    entry = sources_.getFileManager().getFileRef((file->getDirectory() + "/" + name).str());
    if (!entry) {
      llvm::consumeError(entry.takeError());
      return {};
    }
  }
  const clang::SourceLocation place =
      sources_.translateFileLineCol(&entry->getFileEntry(), at.getLine(), std::max(at.getCol(), 1U));
  return place.isInvalid() || sources_.isInSystemHeader(place) ? clang::SourceLocation() : place;
}

/// The text of the line that a place is on.
std::string_view Follower::line_at(clang::SourceLocation place) const {
  const clang::FileIDAndOffset at = sources_.getDecomposedLoc(place);
  const std::string_view file = sources_.getBufferData(at.first);
  const std::size_t begin = at.second == 0 ? 0 : file.rfind('\n', at.second - 1) + 1;
  return file.substr(begin, file.find('\n', at.second) - begin);
}

/// A destructor that Clang generated: its line is that of its class.
bool Follower::is_implicit(const llvm::Function& function) const {
  const clang::Decl* declared = host_.declaration(function.getName());
  return declared != nullptr && declared->isImplicit();
}

/// The calls that lead to a site, innermost first. A kernel that a helper launches stands where a caller names it.
Where Follower::where(ordering::SiteId site) const {
  std::vector<std::pair<clang::SourceLocation, const llvm::Instruction*>> places;
  for (const llvm::Instruction* instruction : cuda_.place(site)) {
    if (instruction == nullptr || is_implicit(*instruction->getFunction())) continue;
    if (const clang::SourceLocation place = location(*instruction); place.isValid())
      places.emplace_back(place, instruction);
  }
  if (const std::string kernel = cuda_.kernel(site); !kernel.empty()) {
    const auto named = std::ranges::find_if(
        places, [&](const auto& place) { return line_at(place.first).find(kernel) != std::string_view::npos; });
    if (named != places.end()) places.erase(places.begin(), named);
  }
  Where result;
  for (const auto& [place, instruction] : places) {
    result.calls.push_back(sites_.at(place));
    if (const auto* function =
            llvm::dyn_cast_or_null<clang::NamedDecl>(host_.declaration(instruction->getFunction()->getName())))
      result.calls.back().function = function->getNameAsString();
  }
  if (places.empty()) return result;
  result.site = std::move(result.calls.front());
  result.calls.erase(result.calls.begin());
  return result;
}

Followed::Run Follower::run() const {
  std::map<const llvm::Instruction*, Followed::Line> known;
  const auto line = [&](ordering::SiteId site) {
    for (const llvm::Instruction* instruction : cuda_.place(site)) {
      if (instruction == nullptr) continue;
      const auto [found, fresh] = known.try_emplace(instruction);
      if (const clang::SourceLocation place = fresh ? location(*instruction) : clang::SourceLocation();
          place.isValid()) {
        const ir::Site at = sites_.at(place);
        found->second = {at.file, at.line};
      }
      if (found->second.second != 0) return found->second;
    }
    return Followed::Line();
  };
  Followed::Run result;
  for (std::size_t number = 1; number < cuda_.sites(); ++number) {
    Followed::Run::Times& times =
        result.times
            .try_emplace(line(ordering::SiteId{static_cast<std::uint32_t>(number)}), Followed::Run::Times{number})
            .first->second;
    times.last = number;
    ++times.count;
  }
  for (const auto& [earlier, later] : met_) result.conflicts.emplace(line(earlier), line(later));
  cuda_.waits_for_nothing().for_each_empty([&](ordering::SiteId site) { result.empty_waits.insert(line(site)); });
  result.whole = followed_.unknown.empty();
  return result;
}

/// "side" of `side = getStreamFromPool()` and `side(getStreamFromPool())`.
std::string Follower::made_for(const Where& where) const {
  constexpr std::size_t kMost = 200;
  if (where.site.begin == 0) return {};
  const auto [file, offset] = sources_.getDecomposedLoc(clang::SourceLocation::getFromRawEncoding(where.site.begin));
  const llvm::StringRef before = sources_.getBufferData(file).take_front(offset).take_back(kMost);
  // Goes back over the qualified name of the call, and the open bracket before it.
  const auto is_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  llvm::StringRef rest = before;
  while (!rest.empty() && (is_name(rest.back()) || rest.back() == ':')) rest = rest.drop_back();
  rest = rest.rtrim();
  if (!rest.ends_with("=") && !rest.ends_with("(") && !rest.ends_with("{")) return {};
  rest = rest.drop_back().rtrim();
  std::size_t length = 0;
  while (length < rest.size() && is_name(rest[rest.size() - 1 - length])) ++length;
  return rest.take_back(length).str();
}

/// "d_in" of `cudaMalloc((void**)&d_in, n)`. Only for calls of CUDA. `which`: the argument, counted from 0.
std::string Follower::argument(const Where& where, std::size_t which) const {
  if (where.site.begin == 0) return {};
  const auto place = clang::SourceLocation::getFromRawEncoding(where.site.begin);
  bool invalid = false;
  const char* text = sources_.getCharacterData(place, &invalid);
  if (invalid) return {};
  std::string_view rest(text, std::min<std::size_t>(std::strlen(text), 300));
  // Of the runtime, of the driver, of HIP.
  std::size_t call = std::string_view::npos;
  for (const std::string_view prefix : {"cuda", "cu", "hip"})
    for (std::size_t at = rest.find(prefix); at != std::string_view::npos; at = rest.find(prefix, at + 1)) {
      const std::size_t next = at + prefix.size();
      const bool begins =
          at == 0 || (std::isalnum(static_cast<unsigned char>(rest[at - 1])) == 0 && rest[at - 1] != '_');
      if (!begins || next >= rest.size() || std::isupper(static_cast<unsigned char>(rest[next])) == 0) continue;
      call = std::min(call, at);
      break;
    }
  if (call == std::string_view::npos) return {};
  std::size_t open = rest.find('(', call);
  if (open == std::string_view::npos || rest.find_first_of(";{}", 0) < open) return {};
  rest.remove_prefix(open + 1);
  std::string result;
  int depth = 0;
  for (const char c : rest) {
    if (c == '(' || c == '[' || c == '<') ++depth;
    const bool arrow = c == '>' && result.ends_with('-');
    if (!arrow && (c == ')' || c == ']' || c == '>') && --depth < 0) break;
    const bool ends = c == ',' && depth == 0;
    if (ends && which == 0) break;
    if (ends) --which;
    result = ends ? std::string() : result + c;
  }
  if (const std::size_t cast = result.find("_cast<"); cast != std::string::npos && result.ends_with(')')) {
    const std::size_t inside = result.find(">(", cast);
    if (inside != std::string::npos) result = result.substr(inside + 2, result.size() - inside - 3);
  }
  while (!result.empty() && (result.front() == ' ' || result.front() == '&' || result.front() == '(')) {
    if (result.front() == '(') {
      const std::size_t close = result.find(')');
      if (close == std::string::npos) return {};
      result.erase(0, close + 1);
    } else {
      result.erase(0, 1);
    }
  }
  return result;
}

Thing Follower::stream(ordering::StreamId stream) const {
  const ordering::StreamKind kind = cuda_.kind(stream);
  if (kind == ordering::StreamKind::Legacy || kind == ordering::StreamKind::PerThread) {
    const bool own = kind == ordering::StreamKind::PerThread;
    Thing thing = unnamed(own ? UnnamedStream::PerThread : UnnamedStream::Default);
    if (own && cuda_.is_of_other_thread(stream)) thing.name += " of another thread";
    thing.stream_kind = kind;
    return thing;
  }
  Thing thing;
  thing.stream_kind = kind;
  if (cuda_.is_given(stream)) thing.describe("a stream of the caller's");
  if (const auto made = cuda_.made(stream)) {
    thing.origin = where(*made);
    const bool of_pool = cuda_.name(*made) == Torch::kPoolStream;
    thing.name = of_pool ? made_for(*thing.origin) : argument(*thing.origin);
    thing.described = false;
    if (of_pool && thing.name.empty()) thing.describe("a stream of the pool");
    thing.origin->site.text = cuda_.name(*made);
  }
  return thing;
}

std::string Follower::class_of(ordering::StreamId stream) const {
  const auto made = cuda_.made(stream);
  const llvm::Function* by = made && !cuda_.place(*made).empty() ? cuda_.place(*made).front()->getFunction() : nullptr;
  const auto* method =
      by == nullptr ? nullptr : llvm::dyn_cast_or_null<clang::CXXMethodDecl>(host_.declaration(by->getName()));
  return method == nullptr ? "" : method->getParent()->getNameAsString() + "::";
}

bool is_made_up(const Place& place) {
  return std::ranges::any_of(place, [](const llvm::Instruction* in) {
    const llvm::StringRef name = in == nullptr ? "" : in->getFunction()->getName();
    return !name.starts_with(kCallerPrefix) && name.contains(kCallerPrefix);
  });
}

analyzer::Action Follower::action(const ordering::Access& access) const {
  analyzer::Action result;
  result.where = where(access.site);
  if (access.source != AccessSource::Host || access.op != ordering::OpId{})
    result.what = is_made_up(cuda_.place(access.site)) ? "what is called back" : cuda_.name(access.site);
  result.mode = access.mode == ordering::AccessMode::Read ? ir::Mode::Read : ir::Mode::Write;
  if (access.mode == ordering::AccessMode::Unknown || access.mode == ordering::AccessMode::Doubtful)
    result.mode = ir::Mode::Unknown;
  result.work = access.source == AccessSource::Kernel ? ir::Work::Kernel
                : access.source == AccessSource::Copy ? ir::Work::Copy
                                                      : ir::Work::Other;
  if (access.on_stream && access.source != AccessSource::Host) result.stream = stream(access.stream);
  return result;
}

namespace {

Cause cause_of(ordering::NearestEdge edge) {
  using ordering::NearestEdge;
  switch (edge) {
    case NearestEdge::EventRecordedTooEarly:
      return Cause::RecordedTooEarly;
    case NearestEdge::EventNeverRecorded:
      return Cause::NeverRecorded;
    case NearestEdge::EventNotWaitedFor:
      return Cause::NeverWaited;
    case NearestEdge::NonBlockingStream:
      return Cause::NonBlocking;
    case NearestEdge::SourceOrder:
      return Cause::SourceOrder;
    default:
      return Cause::NoEdge;
  }
}

}  // namespace

void Follower::hazard(const ordering::Hazard& reported) {
  ordering::Hazard found = reported;
  if (found.kind == HazardKind::ReuseWhileInUse) found.later.site = found.freed;
  if (met_at_.emplace(cuda_.place(found.earlier.site), cuda_.place(found.later.site)).second)
    met_.emplace_back(found.earlier.site, found.later.site);
  if (found.certainty != ordering::Certainty::Certain) return;
  if (counts && !counts(found)) return;
  // A loop shows one conflict many times.
  if (!seen_.emplace(found.kind, found.order, cuda_.place(found.later.site), cuda_.place(found.earlier.site)).second)
    return;
  Hazard made;
  made.level = Level::Likely;  // of one run, in which some values were made up
  if (found.order == ordering::Order::Latent) {
    made.level = Level::Latent;
    if (found.leaned_on) made.rule = ordering::rule_id(*found.leaned_on);
  }
  made.earlier = action(found.earlier);
  made.later = action(found.later);
  if (made.earlier->stream.name == made.later.stream.name && !made.later.stream.name.empty() &&
      found.earlier.stream != found.later.stream) {
    // Streams of one call are numbered: the first of them, the second, ...
    const std::size_t earlier = cuda_.number(found.earlier.stream), later = cuda_.number(found.later.stream);
    if (cuda_.is_given(found.later.stream)) {
      made.later.stream.describe("another stream of the caller's");
    } else if (earlier != later) {
      made.earlier->stream.name += " (" + std::to_string(earlier) + ")";
      made.later.stream.name += " (" + std::to_string(later) + ")";
    } else {
      made.earlier->stream.name = class_of(found.earlier.stream) + made.earlier->stream.name;
      made.later.stream.name = class_of(found.later.stream) + made.later.stream.name;
    }
  }
  made.buffer.memory_kind = found.allocation.kind;
  if (Where allocation = where(found.allocation.site); allocation.site.line != 0) {
    const std::string& by = cuda_.name(found.allocation.site);
    made.buffer.name = by.starts_with("at::") ? made_for(allocation) : argument(allocation);
    allocation.site.text = cuda_.name(found.allocation.site);
    made.buffer.origin = std::move(allocation);
    made.buffer.allocated = true;
  }
  if (cuda_.given_as(found.allocation.range.begin) && found.kind != HazardKind::ReuseWhileInUse)
    made.buffer.name = "memory of the caller's";
  made.cause = cause_of(found.explanation.nearest);
  if (found.explanation.record_site != ordering::kNoSite) made.edge = where(found.explanation.record_site);
  if (made.cause == Cause::NeverRecorded && found.explanation.wait_site != ordering::kNoSite)
    made.edge = where(found.explanation.wait_site);
  if (const auto event = cuda_.made(found.explanation.event)) {
    made.event.origin = where(*event);
    made.event.name = argument(*made.event.origin);
    made.event.origin->site.text = cuda_.name(*event);
  }
  switch (found.kind) {
    case HazardKind::ReadAfterWrite:
    case HazardKind::WriteAfterRead:
    case HazardKind::WriteAfterWrite:
    case HazardKind::UseBeforeAllocate:
      if (found.later.source == AccessSource::Host) {
        made.check =
            found.later.mode == ordering::AccessMode::Read ? Check::HostReadBeforeDone : Check::HostWriteBeforeDone;
      } else {
        made.check = found.explanation.nearest == ordering::NearestEdge::NonBlockingStream ? Check::NonblockingVsDefault
                                                                                           : Check::CrossStreamRace;
      }
      break;
    case HazardKind::FreeWhileInUse:
      made.check = Check::PrematureFree;
      break;
    case HazardKind::UseAfterFree:
      made.check = Check::PrematureFree;
      made.which = CheckCase::UseAfterFree;
      if (cuda_.is_of_graph(found.later.site)) made.later.work = ir::Work::GraphLaunch;
      break;
    case HazardKind::ReuseWhileInUse:
      made.check = Check::MissingRecordStream;
      break;
    default:
      return;
  }
  if (found.explanation.nearest == ordering::NearestEdge::DependentLaunch) {
    made.check = Check::DependentLaunchRace;
    made.which = found.explanation.use == ordering::DependentUse::NeverWaits   ? CheckCase::NeverWaits
                 : found.explanation.use == ordering::DependentUse::BeforeWait ? CheckCase::BeforeWait
                                                                               : CheckCase::NotPassedOn;
    made.edge.reset();
  }
  if (made.later.where.site.line == 0 || made.earlier->where.site.line == 0) return;
  const bool both = found.earlier.on_stream && found.later.on_stream;
  const Cuda::Ended* const ended = both ? cuda_.had_handle(found.later.stream) : nullptr;
  if (ended != nullptr && ended->stream == found.earlier.stream)
    made.evidence.push_back(
        {"'" + made.earlier->stream.name + "' is destroyed here, and '" + made.later.stream.name + "' gets its handle",
         where(ended->site)});
  add(std::move(made), {.earlier = found.earlier.site,
                        .later = found.later.site,
                        .of_array = both && cuda_.are_several(found.earlier.stream, found.later.stream),
                        .from = found.earlier.on_stream ? found.earlier.stream : ordering::StreamId{},
                        .to = found.later.on_stream ? found.later.stream : ordering::StreamId{}});
}

/// A hazard of a call on an event without a record. nullopt: the place of the call or the event is not known.
std::optional<Hazard> Follower::without_record(CheckCase which, ordering::SiteId site, ordering::EventId event,
                                               ordering::StreamId on) const {
  Hazard made;
  made.check = Check::EventWaitWithoutRecord;
  made.which = which;
  made.level = Level::Likely;
  made.cause = Cause::NeverRecorded;
  made.later.where = where(site);
  made.later.what = cuda_.name(site);
  made.later.stream = stream(on);
  const auto created = cuda_.made(event);
  if (!created || made.later.where.site.line == 0) return std::nullopt;
  made.event.origin = where(*created);
  made.event.name = argument(*made.event.origin);
  return made;
}

void Follower::failing_record(const FailingRecord& record) {
  auto made = without_record(CheckCase::FailingRecord, record.site, record.event, record.stream);
  if (!made) return;
  made->detail = "the event is created on device " + std::to_string(record.event_device) + ", the stream on device " +
                 std::to_string(record.stream_device);
  if (const auto created = cuda_.made(record.stream))
    made->evidence.push_back({"the stream is created here", where(*created)});
  add(std::move(*made), {.earlier = record.site, .later = record.site});
}

bool Follower::may_be_recorded() const {
  if (!followed_.unknown.empty()) return true;
  const RecordCalls written = record_calls(symbols_);
  // In a program with a main() all users of a class are in sight.
  if (written.hidden || (written.given_out && counts)) return true;
  const auto line_of = [this](clang::SourceLocation at) {
    return std::pair(sources_.getFileID(at), sources_.getExpansionLineNumber(at));
  };
  std::set<std::pair<clang::FileID, unsigned>> made;
  for (const llvm::Instruction* call : cuda_.waits_for_nothing().calls())
    if (call != nullptr)
      if (const clang::SourceLocation at = location(*call); at.isValid()) made.insert(line_of(at));
  return !std::ranges::all_of(written.places, [&](clang::SourceLocation at) { return made.contains(line_of(at)); });
}

void Follower::empty_wait(const EmptyWait& wait) {
  if (auto made = without_record(CheckCase::Nowhere, wait.site, wait.event, wait.stream))
    add(std::move(*made), {.earlier = wait.site, .later = wait.site});
}

void Follower::overtaken_copy(const OvertakenCopy& copy) {
  Hazard made;
  made.check = Check::PrematureFree;
  made.which = CheckCase::Captured;
  made.level = Level::Likely;
  made.earlier.emplace();
  made.earlier->where = where(copy.copy);
  made.earlier->what = cuda_.name(copy.copy);
  made.later.where = where(copy.written);
  if (made.later.where.site.line == 0 || made.earlier->where.site.line == 0) return;
  made.buffer.name = argument(made.earlier->where, 1);
  if (made.buffer.name.empty()) made.buffer.describe("a block of the host's");
  made.evidence.push_back({"what is written here is for this copy", where(copy.used_by)});
  made.evidence.push_back({"the graph is launched here, and copies the same bytes", where(copy.launched)});
  add(std::move(made), {.earlier = copy.copy, .later = copy.written});
}

/// Adds a hazard, unless these lines have it already.
void Follower::add(Hazard made, const Sides& sides) {
  const Where& at = made.later.where;
  const ir::Site& before = made.earlier ? made.earlier->where.site : at.site;
  if (!told_.emplace(made.check, made.level, at.site.file, at.site.line, before.file, before.line).second) return;
  made.function = made.later.where.site.function;
  made.evidence.push_back(
      {way + ", with zeros for what the GPU computes" + (machine_->cut() ? "; a long loop was cut short" : ""),
       made.later.where});
  followed_.hazards.push_back(std::move(made));
  sides_.push_back(sides);
}

}  // namespace streamsan::analyzer::interpreter
