// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counting, injected failures, latency and the listener: see call.h and listener.h.
//
// The counters are plain statics: they are written by a destructor of the library, which runs after the exit handlers
// of the program, among them those of the CUDA runtime, which still call the driver. A process that ends without exit
// (a signal, _exit) writes nothing.

#include "testsuite/nulldriver/call.h"

#include "testsuite/nulldriver/listener.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace streamsan::null {
namespace {

std::atomic<std::uint64_t> counts[api::kRowCount + 1];

std::atomic<const StreamSanNullListener*> g_listener{nullptr};
std::atomic<std::uint32_t> g_number{0};
/// The call this thread is in.
thread_local unsigned t_row = 0;
thread_local std::uint32_t t_number = 0;

struct Injection {
  unsigned row;
  std::uint64_t call;
  CUresult code;
};

constexpr char kFail[] = "STREAMSAN_NULL_FAIL";

Injection parse(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  if (second == std::string::npos) reject(kFail, text);
  const std::string symbol = text.substr(0, first);
  const unsigned long long call = std::strtoull(text.c_str() + first + 1, nullptr, 10);
  const long code = std::strtol(text.c_str() + second + 1, nullptr, 10);
  if (call == 0 || code == 0) reject(kFail, text);
  for (unsigned row = 0; row < api::kRowCount; ++row) {
    if (api::kRows[row].symbol == symbol) return {row, call, static_cast<CUresult>(code)};
  }
  reject(kFail, text);
}

std::vector<Injection>* read_injections() {
  auto* injections = new std::vector<Injection>;
  const char* variable = std::getenv(kFail);
  for (std::string rest = variable ? variable : ""; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    injections->push_back(parse(rest.substr(0, comma)));
    rest = comma == std::string::npos ? std::string() : rest.substr(comma + 1);
  }
  return injections;
}

__attribute__((destructor)) void write_counts() {
  const char* path = std::getenv("STREAMSAN_NULL_COUNTS");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) {
    std::fprintf(stderr, "null driver: cannot write STREAMSAN_NULL_COUNTS: %s: %s\n", path, std::strerror(errno));
    return;
  }
  for (unsigned row = 0; row < api::kRowCount; ++row) {
    if (const std::uint64_t n = counts[row].load(std::memory_order_relaxed); n != 0) {
      std::fprintf(file, "%.*s %llu\n", static_cast<int>(api::kRows[row].symbol.size()), api::kRows[row].symbol.data(),
                   static_cast<unsigned long long>(n));
    }
  }
  std::fclose(file);
}

}  // namespace

CUresult enter(unsigned row) {
  static const std::vector<Injection>& injections = *read_injections();
  const std::uint64_t number = counts[row].fetch_add(1, std::memory_order_relaxed) + 1;
  for (const Injection& injection : injections) {
    if (injection.row == row && injection.call == number) return injection.code;
  }
  if (const auto* listener = g_listener.load(std::memory_order_acquire)) {
    t_row = row;
    t_number = g_number.fetch_add(1, std::memory_order_relaxed) + 1;
    listener->called(api::kRows[row].symbol.data(), row, t_number);
  }
  return CUDA_SUCCESS;
}

CUresult enter_unimplemented(unsigned row) {
  const CUresult injected = enter(row);
  return injected != CUDA_SUCCESS ? injected : CUDA_ERROR_NOT_SUPPORTED;
}

void reject(const char* variable, std::string_view text) {
  std::fprintf(stderr, "null driver: cannot understand %s: %.*s\n", variable, static_cast<int>(text.size()),
               text.data());
  std::exit(2);
}

void block() {
  static const long microseconds = [] {
    const char* variable = std::getenv("STREAMSAN_NULL_LATENCY_US");
    return variable ? std::atol(variable) : 0L;
  }();
  if (microseconds > 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  if (const auto* listener = g_listener.load(std::memory_order_acquire)) listener->waits();
}

void submitted(CUstream stream) {
  if (const auto* listener = g_listener.load(std::memory_order_acquire))
    listener->submitted(api::kRows[t_row].symbol.data(), t_number, stream);
}

}  // namespace streamsan::null

extern "C" __attribute__((visibility("default"))) void streamsan_null_listen(const StreamSanNullListener* listener) {
  streamsan::null::g_listener.store(listener, std::memory_order_release);
}
