// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Most of the C++ library is in its headers and runs as the program's own code. The rest is here, by symbol: memory,
// text, threads, exceptions, and the parts of libstdc++'s containers that are in its shared library. Input is empty,
// output is discarded, and an unknown function returns zeros.
#include "analyzer/interpreter/library.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "analyzer/interpreter/values.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Module.h"

namespace streamsan::analyzer::interpreter {

Byte* Library::block(Machine& machine, std::size_t size, std::size_t alignment) {
  Byte* const place = machine.memory().heap(size, alignment);
  if (place == nullptr) {
    machine.stop("no memory");
    return nullptr;
  }
  blocks_[reinterpret_cast<Word>(place)] = size;
  return place;
}

Outcome Library::allocate(Machine& machine, const Arguments& arguments, Byte* result) {
  give(result, reinterpret_cast<Word>(block(machine, arguments.word(0), 16)));
  return Outcome::Done;
}
Outcome Library::allocate_zeroed(Machine& machine, const Arguments& arguments, Byte* result) {
  give(result, reinterpret_cast<Word>(block(machine, arguments.word(0) * arguments.word(1), 16)));
  return Outcome::Done;
}
Outcome Library::map(Machine& machine, const Arguments& arguments, Byte* result) {
  give(result, reinterpret_cast<Word>(block(machine, arguments.word(1), 4096)));
  return Outcome::Done;
}
Outcome Library::allocate_aligned(Machine& machine, const Arguments& arguments, Byte* result) {
  // aligned_alloc(alignment, size); operator new(size, alignment)
  const Word a = arguments.word(0), b = arguments.word(1);
  give(result, reinterpret_cast<Word>(block(machine, std::max(a, b), 256)));
  return Outcome::Done;
}
Outcome Library::allocate_posix(Machine& machine, const Arguments& arguments, Byte* result) {
  Byte* const place = block(machine, arguments.word(2), 4096);
  if (place != nullptr && machine.writes(arguments.word(0), 8))
    store_word(arguments.word(0), reinterpret_cast<Word>(place));
  give32(result, 0);
  return Outcome::Done;
}
Outcome Library::reallocate(Machine& machine, const Arguments& arguments, Byte* result) {
  const Word old = arguments.word(0);
  Byte* const place = block(machine, arguments.word(1), 16);
  if (place == nullptr) return Outcome::Stop;
  if (const auto known = blocks_.find(old); known != blocks_.end()) {
    const std::size_t kept = std::min<std::size_t>(known->second, arguments.word(1));
    if (!machine.move(reinterpret_cast<Word>(place), old, kept)) return Outcome::Stop;
    if (on_free) on_free(old, known->second);
    blocks_.erase(known);
  }
  give(result, reinterpret_cast<Word>(place));
  return Outcome::Done;
}
Outcome Library::release(Machine&, const Arguments& arguments, Byte*) {
  if (const auto known = blocks_.find(arguments.word(0)); known != blocks_.end()) {
    if (on_free) on_free(known->first, known->second);
    blocks_.erase(known);
  }
  return Outcome::Done;
}
Outcome Library::copy(Machine& machine, const Arguments& arguments, Byte* result) {
  if (!machine.copy(arguments.word(0), arguments.word(1), arguments.word(2))) return Outcome::Stop;
  return first(machine, arguments, result);
}
Outcome Library::set(Machine& machine, const Arguments& arguments, Byte* result) {
  if (!machine.fill(arguments.word(0), static_cast<int>(arguments.word32(1)), arguments.word(2))) return Outcome::Stop;
  return first(machine, arguments, result);
}
Outcome Library::compare(Machine& machine, const Arguments& arguments, Byte* result) {
  const Word a = arguments.word(0), b = arguments.word(1), size = arguments.word(2);
  int differs = 0;
  if (size != 0) {
    if (!machine.reads(a, size) || !machine.reads(b, size)) return Outcome::Stop;
    machine.work(size);
    differs = std::memcmp(reinterpret_cast<const void*>(a), reinterpret_cast<const void*>(b), size);
  }
  give32(result, static_cast<std::uint32_t>(differs));
  return Outcome::Done;
}
Outcome Library::find_byte(Machine& machine, const Arguments& arguments, Byte* result) {
  // Who knows that it is there may say that it is anywhere.
  const Word at = arguments.word(0), size = std::min<Word>(arguments.word(2), Memory::kMostAtOnce);
  Word found = 0;
  if (size != 0) {
    if (!machine.reads(at, size)) return Outcome::Stop;
    machine.work(size);
    found = reinterpret_cast<Word>(
        std::memchr(reinterpret_cast<const void*>(at), static_cast<int>(arguments.word32(1)), size));
  }
  give(result, found);
  return Outcome::Done;
}
Outcome Library::length(Machine& machine, const Arguments& arguments, Byte* result) {
  std::string text;
  if (!machine.reads_text(arguments.word(0), text)) return Outcome::Stop;
  give(result, text.size());
  return Outcome::Done;
}
Outcome Library::compare_text(Machine& machine, const Arguments& arguments, Byte* result) {
  std::string a, b;
  if (!machine.reads_text(arguments.word(0), a) || !machine.reads_text(arguments.word(1), b)) return Outcome::Stop;
  if (arguments.size() > 2) {
    a = a.substr(0, arguments.word(2));
    b = b.substr(0, arguments.word(2));
  }
  give32(result, static_cast<std::uint32_t>(a.compare(b)));
  return Outcome::Done;
}
Outcome Library::number(Machine& machine, const Arguments& arguments, Byte* result) {
  std::string text;
  if (!machine.reads_text(arguments.word(0), text)) return Outcome::Stop;
  give(result, static_cast<Word>(std::strtoll(text.c_str(), nullptr, 10)));
  return Outcome::Done;
}
Outcome Library::first(Machine&, const Arguments& arguments, Byte* result) {
  give(result, arguments.word(0));
  return Outcome::Done;
}
Outcome Library::nothing(Machine&, const Arguments&, Byte*) { return Outcome::Done; }
Outcome Library::end(Machine&, const Arguments&, Byte*) { return Outcome::Stop; }

// ---- what the compiler calls ----------------------------------------------------------------------------------------

Outcome Library::allocate_exception(Machine& machine, const Arguments& arguments, Byte* result) {
  give(result, reinterpret_cast<Word>(machine.memory().heap(arguments.word(0) + 64)));
  return Outcome::Done;
}
Outcome Library::throw_now(Machine& machine, const Arguments& arguments, Byte*) {
  machine.throw_now(arguments.word(0), arguments.word(1));
  return Outcome::Done;
}
Outcome Library::throw_again(Machine& machine, const Arguments&, Byte*) {
  machine.rethrow();
  return Outcome::Done;
}
Outcome Library::begin_catch(Machine& machine, const Arguments& arguments, Byte* result) {
  machine.begin_catch(arguments.word(0));
  give(result, arguments.word(0));
  return Outcome::Done;
}
Outcome Library::end_catch(Machine& machine, const Arguments&, Byte*) {
  machine.end_catch();
  return Outcome::Done;
}
/// std::__throw_out_of_range() and the like.
Outcome Library::throws(Machine& machine, std::string_view name) {
  constexpr Word kSize = 64;
  // _ZSt20__throw_out_of_rangePKc
  name.remove_prefix(std::strlen("_ZSt"));
  std::size_t length = 0;
  for (; !name.empty() && name[0] >= '0' && name[0] <= '9'; name.remove_prefix(1))
    length = length * 10 + (name[0] - '0');
  std::string_view thrown = name.substr(0, length);
  thrown.remove_prefix(std::min(thrown.size(), std::strlen("__throw_")));
  if (thrown.ends_with("_fmt")) thrown.remove_suffix(std::strlen("_fmt"));
  const Word object = reinterpret_cast<Word>(machine.memory().heap(kSize));
  const Word type = machine.image().outside_type("_ZTISt" + std::to_string(thrown.size()) + std::string(thrown));
  machine.throw_now(object, type);
  return Outcome::Done;
}
Outcome Library::clock(Machine&, const Arguments&, Byte* result) {
  give(result, time_ += 1000);
  return Outcome::Done;
}
/// Something stands there afterwards.
Outcome Library::print_into(Machine& machine, const Arguments& arguments, Byte* result) {
  give32(result, 1);
  if (arguments.word(0) == 0) return Outcome::Done;  // only the length is asked for
  if (!machine.writes(arguments.word(0), 2)) return Outcome::Stop;
  std::memcpy(reinterpret_cast<void*>(arguments.word(0)), "x", 2);
  return Outcome::Done;
}
Outcome Library::print_text(Machine& machine, const Arguments& arguments, Byte*) {
  return arguments.word(0) == 0 || machine.reads(arguments.word(0), 1) ? Outcome::Done
                                                                       : Outcome::Stop;  // perror(nullptr)
}
Outcome Library::print_to(Machine& machine, const Arguments& arguments, Byte*) {
  return machine.reads(arguments.word(1), 1) ? Outcome::Done : Outcome::Stop;
}
Outcome Library::write_out(Machine& machine, const Arguments& arguments, Byte* result) {
  const Word size = arguments.word(1) * arguments.word(2);
  if (size != 0 && !machine.reads(arguments.word(0), size)) return Outcome::Stop;
  give(result, arguments.word(2));
  return Outcome::Done;
}
Outcome Library::read_in(Machine& machine, const Arguments& arguments, Byte* result) {
  const Word size = arguments.word(1) * arguments.word(2);
  if (size != 0 && !machine.writes(arguments.word(0), size)) return Outcome::Stop;
  give(result, arguments.word(2));
  return Outcome::Done;
}
/// send(to, begin, size)
Outcome Library::send(Machine& machine, const Arguments& arguments, Byte* result) {
  const Word size = arguments.word(2);
  ++sent_;
  if (size != 0 && !machine.reads(arguments.word(1), size)) return Outcome::Stop;
  give(result, size);
  return Outcome::Done;
}
/// recv(from, begin, size): returns all bytes that are asked for, many times; then the other side has ended. If the
/// program itself may be the other side, one thread waits for another by this call, and the data is not known.
Outcome Library::receive(Machine& machine, const Arguments& arguments, Byte* result) {
  constexpr std::array<const char*, 4> kBothSides = {"pipe", "pipe2", "socketpair", "eventfd"};
  if (std::ranges::any_of(kBothSides,
                          [&](const char* name) { return machine.module().getFunction(name) != nullptr; })) {
    if (received_ >= sent_) return Outcome::Again;
    ++received_;
    return Outcome::Unknown;
  }
  constexpr unsigned kTimes = 64;
  const Word size = received_ < kTimes ? arguments.word(2) : 0;
  ++received_;
  if (size != 0 && !machine.writes(arguments.word(1), size)) return Outcome::Stop;
  give(result, size);
  return Outcome::Done;
}
/// writev(to, list of {begin, size}, count)
Outcome Library::send_list(Machine& machine, Word list, Word count, Byte* result) {
  constexpr Word kMost = 1024, kEntry = 2 * sizeof(Word);
  Word all = 0;
  ++sent_;
  if (count > kMost || (count != 0 && !machine.reads(list, count * kEntry))) return Outcome::Stop;
  for (Word i = 0; i < count; ++i) {
    const Word begin = load_word(list + i * kEntry), size = load_word(list + i * kEntry + sizeof(Word));
    if (size != 0 && !machine.reads(begin, size)) return Outcome::Stop;
    all += size;
  }
  give(result, all);
  return Outcome::Done;
}
Outcome Library::write_list(Machine& machine, const Arguments& arguments, Byte* result) {
  return send_list(machine, arguments.word(1), arguments.word32(2), result);
}
/// sendmsg(to, msghdr, flags)
Outcome Library::send_message(Machine& machine, const Arguments& arguments, Byte* result) {
  constexpr Word kList = 2 * sizeof(Word), kCount = 3 * sizeof(Word);  // behind the address and its size
  const Word message = arguments.word(1);
  if (!machine.reads(message, kCount + sizeof(Word))) return Outcome::Stop;
  return send_list(machine, load_word(message + kList), load_word(message + kCount), result);
}
Outcome Library::random(Machine&, const Arguments&, Byte* result) {
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  give32(result, static_cast<std::uint32_t>(random_ >> 33U));
  return Outcome::Done;
}

bool Library::mathematics(const llvm::Function& function, const Arguments& arguments, Byte* result) {
  llvm::Type* const type = function.getReturnType();
  const bool longer = type->isX86_FP80Ty();
  if (result == nullptr || !(type->isDoubleTy() || type->isFloatTy() || longer) || function.arg_size() == 0)
    return false;
  for (const llvm::Argument& argument : function.args())
    if (argument.getType() != type) return false;
  const auto value = [&](std::size_t i) {
    float narrow = 0;
    double wide = 0;
    if (type->isFloatTy()) {
      std::memcpy(&narrow, arguments.values[i], sizeof narrow);
      return static_cast<double>(narrow);
    }
    if (longer) {
      long double widest = 0;
      std::memcpy(&widest, arguments.values[i], 10);
      return static_cast<double>(widest);
    }
    std::memcpy(&wide, arguments.values[i], sizeof wide);
    return wide;
  };
  using One = double (*)(double);
  using Two = double (*)(double, double);
  static const std::unordered_map<std::string_view, One> kOne = {
      {"sqrt", std::sqrt}, {"sin", std::sin},   {"cos", std::cos},     {"tan", std::tan},     {"exp", std::exp},
      {"log", std::log},   {"log2", std::log2}, {"exp2", std::exp2},   {"log10", std::log10}, {"floor", std::floor},
      {"ceil", std::ceil}, {"fabs", std::fabs}, {"tanh", std::tanh},   {"sinh", std::sinh},   {"cosh", std::cosh},
      {"asin", std::asin}, {"acos", std::acos}, {"atan", std::atan},   {"round", std::round}, {"trunc", std::trunc},
      {"cbrt", std::cbrt}, {"erf", std::erf},   {"log1p", std::log1p}, {"expm1", std::expm1}};
  static const std::unordered_map<std::string_view, Two> kTwo = {{"pow", std::pow},     {"fmod", std::fmod},
                                                                 {"atan2", std::atan2}, {"fmax", std::fmax},
                                                                 {"fmin", std::fmin},   {"hypot", std::hypot}};
  std::string_view name(function.getName().data(), function.getName().size());
  if ((type->isFloatTy() && name.ends_with('f')) || (longer && name.ends_with('l'))) name.remove_suffix(1);
  double answer = 0;
  if (const auto one = kOne.find(name); one != kOne.end() && arguments.size() == 1) {
    answer = one->second(value(0));
  } else if (const auto two = kTwo.find(name); two != kTwo.end() && arguments.size() == 2) {
    answer = two->second(value(0), value(1));
  } else {
    return false;
  }
  if (type->isFloatTy()) {
    const auto narrow = static_cast<float>(answer);
    std::memcpy(result, &narrow, sizeof narrow);
  } else if (longer) {
    const auto widest = static_cast<long double>(answer);
    std::memcpy(result, &widest, 10);
  } else {
    std::memcpy(result, &answer, sizeof answer);
  }
  return true;
}

const std::unordered_map<std::string_view, Library::Function>& Library::functions() {
  using L = Library;
  static const std::unordered_map<std::string_view, Function> kFunctions = {
      {"malloc", &L::allocate},
      {"_Znwm", &L::allocate},
      {"_Znam", &L::allocate},
      {"_ZnwmRKSt9nothrow_t", &L::allocate},
      {"_ZnamRKSt9nothrow_t", &L::allocate},
      {"calloc", &L::allocate_zeroed},
      {"aligned_alloc", &L::allocate_aligned},
      {"_ZnwmSt11align_val_t", &L::allocate_aligned},
      {"_ZnamSt11align_val_t", &L::allocate_aligned},
      {"mmap", &L::map},
      {"posix_memalign", &L::allocate_posix},
      {"realloc", &L::reallocate},
      {"free", &L::release},
      {"_ZdlPv", &L::release},
      {"_ZdaPv", &L::release},
      {"_ZdlPvm", &L::release},
      {"_ZdaPvm", &L::release},
      {"_ZdlPvSt11align_val_t", &L::release},
      {"_ZdlPvmSt11align_val_t", &L::release},
      {"memcpy", &L::copy},
      {"memmove", &L::copy},
      {"memset", &L::set},
      {"memcmp", &L::compare},
      {"bcmp", &L::compare},
      {"memchr", &L::find_byte},
      {"strlen", &L::length},
      {"strcmp", &L::compare_text},
      {"strncmp", &L::compare_text},
      {"atoi", &L::number},
      {"atol", &L::number},
      {"atoll", &L::number},
      {"strtol", &L::number},
      {"strtoul", &L::number},
      {"exit", &L::end},
      {"_exit", &L::end},
      {"_Exit", &L::end},
      {"quick_exit", &L::end},
      {"abort", &L::end},
      {"_ZSt9terminatev", &L::end},
      {"__assert_fail", &L::end},
      {"__cxa_pure_virtual", &L::end},
      {"__clang_call_terminate", &L::end},
      {"sched_yield", &L::yield},
      {"usleep", &L::yield},
      {"nanosleep", &L::yield},
      {"clock_nanosleep", &L::yield},
      {"sleep", &L::yield},
      {"_ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_"
       "ILl1ELl1000000000EEEE",
       &L::wait_for_word},
      {"_ZNSt28__atomic_futex_unsigned_base26_M_futex_wait_until_"
       "steadyEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_"
       "IlS3_ILl1ELl1000000000EEEE",
       &L::wait_for_word},
      {"syscall", &L::yield},
      {"pthread_mutex_lock", &L::lock},
      {"pthread_mutex_trylock", &L::lock},
      {"pthread_rwlock_wrlock", &L::lock},
      {"pthread_rwlock_rdlock", &L::nothing},
      {"pthread_mutex_unlock", &L::unlock},
      {"pthread_rwlock_unlock", &L::unlock},
      {"_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE", &L::wait},
      {"_ZNSt18condition_variableC1Ev", &L::nothing},
      {"_ZNSt18condition_variableD1Ev", &L::nothing},
      {"_ZNSt18condition_variable10notify_oneEv", &L::nothing},
      {"_ZNSt18condition_variable10notify_allEv", &L::nothing},
      {"_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE", &L::start_thread},
      {"_ZNSt6thread4joinEv", &L::join_thread},
      {"_ZNSt6thread6detachEv", &L::detach_thread},
      {"_ZNSt6thread20hardware_concurrencyEv", &L::thread_count},
      {"pthread_once", &L::once},
      {"pthread_create", &L::start_plain_thread},
      {"pthread_self", &L::this_thread},
      {"pthread_join", &L::join_plain_thread},
      {"pthread_cond_wait", &L::wait_for_a_time},
      {"pthread_cond_timedwait", &L::wait_for_a_time},
      {"pthread_cond_clockwait", &L::wait_for_a_time},
      {"pthread_cond_signal", &L::nothing},
      {"pthread_cond_broadcast", &L::nothing},
      {"__cxa_guard_acquire", &L::guard},
      {"__cxa_guard_release", &L::guarded},
      {"__cxa_guard_abort", &L::unguarded},
      {"__cxa_atexit", &L::nothing},
      {"__cxa_thread_atexit", &L::nothing},
      {"__cxa_allocate_exception", &L::allocate_exception},
      {"__cxa_free_exception", &L::nothing},
      {"__cxa_throw", &L::throw_now},
      {"__cxa_rethrow", &L::throw_again},
      {"__cxa_begin_catch", &L::begin_catch},
      {"__cxa_end_catch", &L::end_catch},
      {"clock", &L::clock},
      {"time", &L::clock},
      {"_ZNSt6chrono3_V212steady_clock3nowEv", &L::clock},
      {"_ZNSt6chrono3_V212system_clock3nowEv", &L::clock},
      {"snprintf", &L::print_into},
      {"vsnprintf", &L::print_into},
      {"sprintf", &L::print_into},
      {"puts", &L::print_text},
      {"printf", &L::print_text},
      {"perror", &L::print_text},
      {"fprintf", &L::print_to},
      {"fputs", &L::print_text},
      {"fwrite", &L::write_out},
      {"fread", &L::read_in},
      {"write", &L::send},
      {"pwrite", &L::send},
      {"pwrite64", &L::send},
      {"send", &L::send},
      {"sendto", &L::send},
      {"writev", &L::write_list},
      {"sendmsg", &L::send_message},
      {"read", &L::receive},
      {"pread", &L::receive},
      {"pread64", &L::receive},
      {"recv", &L::receive},
      {"recvfrom", &L::receive},
      {"rand", &L::random},
      {"random", &L::random},
      {"_ZNSt13random_device9_M_getvalEv", &L::random},
      {"_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_", &L::tree_insert},
      {"_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_", &L::tree_erase},
      {"_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base", &L::tree_next},
      {"_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base", &L::tree_next},
      {"_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base", &L::tree_previous},
      {"_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base", &L::tree_previous},
      {"_ZNSt8__detail15_List_node_base7_M_hookEPS0_", &L::list_hook},
      {"_ZNSt8__detail15_List_node_base9_M_unhookEv", &L::list_unhook},
      {"_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_", &L::list_transfer},
      {"_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm", &L::next_buckets},
      {"_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm", &L::needs_rehash},
      {"_ZSt11_Hash_bytesPKvmm", &L::hash},
  };
  return kFunctions;
}

Outcome Library::call(Machine& machine, const llvm::Function& function, const Arguments& arguments, Byte* result) {
  const std::string_view name(function.getName().data(), function.getName().size());
  if (const auto known = functions().find(name); known != functions().end())
    return (this->*known->second)(machine, arguments, result);
  if (mathematics(function, arguments, result)) return Outcome::Done;
  if (const Outcome outcome = call_text(machine, name, arguments, result); outcome != Outcome::Unknown) return outcome;
  if (name.starts_with("_ZSt") && name.find("__throw_") != std::string_view::npos) return throws(machine, name);
  if (takes(function) && function.hasStructRetAttr()) return no_text(machine, arguments);
  // A stream of the C++ library, for the next <<.
  if (takes(function) || name.starts_with("_ZStls")) return first(machine, arguments, result);
  return Outcome::Unknown;
}

bool Library::takes(const llvm::Function& function) {
  static constexpr std::array kStreams = {"_ZNSo",
                                          "_ZNSiC",
                                          "_ZNSiD",
                                          "_ZNSdC",
                                          "_ZNSdD",
                                          "_ZStlsISt11char_traitsIcEERSt13basic_ostream",
                                          "_ZSt4endl",
                                          "_ZSt5flush",
                                          "_ZNSt7__cxx1118basic_stringstream",
                                          "_ZNKSt7__cxx1118basic_stringstream",
                                          "_ZNSt7__cxx1119basic_ostringstream",
                                          "_ZNKSt7__cxx1119basic_ostringstream",
                                          "_ZNKRSt7__cxx1118basic_stringstream",
                                          "_ZNKRSt7__cxx1119basic_ostringstream",
                                          "_ZNOSt7__cxx1118basic_stringstream",
                                          "_ZNOSt7__cxx1119basic_ostringstream"};
  const llvm::StringRef name = function.getName();
  return name.starts_with("_Z") &&
         std::ranges::any_of(kStreams, [&](const char* stream) { return name.starts_with(stream); });
}

/// An empty std::string: a pointer to the text, its length, and the text, which is in the object itself.
Outcome Library::no_text(Machine& machine, const Arguments& arguments) {
  constexpr std::size_t kSize = 32, kCharacters = 16;
  const Word at = arguments.word(0);
  if (!machine.writes(at, kSize)) return Outcome::Stop;
  std::memset(reinterpret_cast<void*>(at), 0, kSize);
  store_word(at, at + kCharacters);
  return Outcome::Done;
}

}  // namespace streamsan::analyzer::interpreter
