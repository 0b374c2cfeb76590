// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of libc by which host threads synchronise. order.h says what for.
//
// A release is noted before the real call, which lets others go on; an acquire after it, and only if it succeeded. A
// thread that is cancelled in the real call leaves by unwinding through these frames, which hold nothing.
//
// The functions of C11 (mtx_, cnd_, thrd_, call_once) are treated as those of POSIX that they stand for.
//
//   mutexes, spin locks   unlock before lock
//   read-write locks      write-unlock before any lock; read-unlock before a write-lock (by a clock of its own: two
//                         readers do not order each other)
//   conditions            as the mutex; and a signal before the return of a wait
//   semaphores            post before the return of a wait
//   barriers              arrivals before departures of the same round. Rounds have clocks in turn, lest a thread that
//                         is late in leaving learn what another did on its way to the next one
//   once                  the routine before every return
//   threads               creation before the first step; the last step before the return of a join
//   futex by syscall()    wake before the return of a wait. Users of futexes make no call where nobody has to wait, so
//                         such a thread counts as one that hides order
//
// Bytes that go through pipes and the like are in channels.h.
//
// Not here: functions that are not libc's (GOMP_barrier): a library of the program's may be known to a part of the
// process only, where RTLD_NEXT does not find it. __cxa_guard_acquire is one of those, and would not help: code that
// finds the variable initialised makes no call.
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <threads.h>

#include <type_traits>

#include "interposer/host/libc_call.h"
#include "interposer/threads/names.h"
#include "interposer/threads/order.h"

namespace {

using namespace streamsan::recorder;

template <class Object>
std::uint64_t key_of(Object object) {
  return (std::uint64_t)object;
}

/// Of a read-write lock: what readers release.
std::uint64_t readers_of(const void* lock) { return key_of(lock) + 1; }
/// Of a round of a barrier.
std::uint64_t round_of(const void* barrier, std::uint64_t round) { return key_of(barrier) + 1 + round % 2; }

bool taken(int result) { return result == 0 || result == EOWNERDEAD; }

/// What order.h does for an object, if it would change anything and the call is the program's. Inlined: they are most
/// of what a lock costs.
[[gnu::always_inline]] inline void acquire_for(const HostCall& call, std::uint64_t key) {
  if (acquire_matters(key) && !call.is_of_cuda()) acquire_order(key);
}
[[gnu::always_inline]] inline void release_for(const HostCall& call, std::uint64_t key,
                                               Context context = Context::Ordinary) {
  if (release_matters(key) && !call.is_of_cuda()) release_order(key, context);
}

template <class Function>
struct Acquires;
template <class Object, class... Rest>
struct Acquires<int (*)(Object, Rest...)> {
  static int instead(const HostCall& call, int (*next)(Object, Rest...), Object object, Rest... rest) {
    if constexpr (std::is_same_v<Object, pthread_rwlock_t*>) {
      expect_release(readers_of(object));
    } else {
      expect_release(key_of(object));
    }
    const int result = next(object, rest...);
    if (taken(result)) acquire_for(call, key_of(object));
    return result;
  }
};

template <class Function>
struct Releases;
template <class Object>
struct Releases<int (*)(Object)> {
  static int instead(const HostCall& call, int (*next)(Object), Object object) {
    release_for(call, key_of(object));
    return next(object);
  }
};

template <class Function>
struct ReleasesAnywhere;
template <class Object>
struct ReleasesAnywhere<int (*)(Object)> {
  static int instead(const HostCall& call, int (*next)(Object), Object object) {
    release_for(call, key_of(object), Context::PerhapsSignalHandler);
    return next(object);
  }
};

template <class Function>
struct Ends;
template <class Result, class Object>
struct Ends<Result (*)(Object)> {
  static Result instead(const HostCall& call, Result (*next)(Object), Object object) {
    if (!call.is_of_cuda()) {
      for (std::uint64_t part = 0; part < 3; ++part) forget_order(key_of(object) + part);
    }
    return next(object);
  }
};

template <class Function>
struct WaitsForCondition;
template <class Condition, class Mutex, class... Rest>
struct WaitsForCondition<int (*)(Condition, Mutex, Rest...)> {
  using Function = int (*)(Condition, Mutex, Rest...);
  static int instead(const HostCall& call, Function next, Condition condition, Mutex mutex, Rest... rest) {
    release_for(call, key_of(mutex));
    const int result = next(condition, mutex, rest...);
    acquire_for(call, key_of(mutex));
    if (result == 0) acquire_for(call, key_of(condition));
    return result;
  }
};

template <class Function>
struct LocksToWrite;
template <class... Rest>
struct LocksToWrite<int (*)(pthread_rwlock_t*, Rest...)> {
  static int instead(const HostCall& call, int (*next)(pthread_rwlock_t*, Rest...), pthread_rwlock_t* lock,
                     Rest... rest) {
    const int result = next(lock, rest...);
    if (result != 0 || call.is_of_cuda()) return result;
    acquire_for(call, key_of(lock));
    acquire_for(call, readers_of(lock));
    for (const void*& held : t_order.written) {
      if (held) continue;
      held = lock;
      break;
    }
    return result;
  }
};

template <class Function>
struct Joins;
template <class... Rest>
struct Joins<int (*)(pthread_t, Rest...)> {
  static int instead(const HostCall& call, int (*next)(pthread_t, Rest...), pthread_t thread, Rest... rest) {
    const int result = next(thread, rest...);
    if (result == 0 && !call.is_of_cuda()) acquire_order(thread_key(thread));
    return result;
  }
};

struct UnlocksReadWrite {
  static constexpr const char* kName = "pthread_rwlock_unlock";
  static int instead(const HostCall& call, int (*next)(pthread_rwlock_t*), pthread_rwlock_t* lock) {
    bool full = true;
    for (const void*& held : t_order.written) {
      if (!held) full = false;
      if (held != lock) continue;
      if (call.is_of_cuda()) return next(lock);
      held = nullptr;
      release_for(call, key_of(lock));
      return next(lock);
    }
    if (full) release_for(call, key_of(lock));  // it may be one that was not noted
    release_for(call, readers_of(lock));
    return next(lock);
  }
};

struct WaitsAtBarrier {
  static constexpr const char* kName = "pthread_barrier_wait";
  static int instead(const HostCall& call, int (*next)(pthread_barrier_t*), pthread_barrier_t* barrier) {
    if (call.is_of_cuda()) return next(barrier);
    // glibc's struct pthread_barrier, since 2.25: how many are inside, the round, how many there must be.
    unsigned counts[3];
    memcpy(counts, barrier, sizeof counts);
    const std::uint64_t round = count_arrival(key_of(barrier)) / (counts[2] ? counts[2] : 1);
    release_order(round_of(barrier, round));
    const int result = next(barrier);
    acquire_order(round_of(barrier, round));
    return result;
  }
};

/// The innermost pthread_once() or call_once() of the thread whose routine may have to run.
// A fork keeps t_once: the thread is where it was.
struct Once {
  const void* control;
  void (*routine)();
};
constinit thread_local Once* t_once __attribute__((tls_model("initial-exec"))) = nullptr;

void run_once() {
  const Once once = *t_once;
  once.routine();
  release_order(key_of(once.control));
}

/// Has the routine returned? glibc's value, of both types of control. Run-time libraries of CUDA ask for it several
/// times in each of their calls.
bool is_over(const void* control) {
  constexpr int kDone = 2;
  return __atomic_load_n(static_cast<const int*>(control), __ATOMIC_ACQUIRE) == kDone;
}

template <class Function>
struct RunsOnce;
template <class Result, class Control>
struct RunsOnce<Result (*)(Control, void (*)())> {
  using Function = Result (*)(Control, void (*)());
  static Result instead(const HostCall& call, Function next, Control control, void (*routine)()) {
    if (is_over(control)) {
      acquire_for(call, key_of(control));
      return Result();  // 0, or nothing: libc would find the same
    }
    if (call.is_of_cuda()) return next(control, routine);
    Once once{control, routine};
    // Put back also when the routine throws.
    struct Inner {
      explicit Inner(Once* now) : outer(t_once) { t_once = now; }
      ~Inner() { t_once = outer; }
      Inner(const Inner&) = delete;
      Inner& operator=(const Inner&) = delete;
      Once* outer;
    } const inner(&once);
    if constexpr (std::is_void_v<Result>) {
      next(control, run_once);
      acquire_for(call, key_of(control));
    } else {
      const Result result = next(control, run_once);
      acquire_for(call, key_of(control));
      return result;
    }
  }
};

/// Libraries whose threads wait for each other by spinning and by system calls that are no calls of libc's.
constexpr const char* kHidingLibraries[] = {"/libgomp", "/libomp.so", "/libiomp5", "/libtbb"};

bool is_of_hiding_library(const void* code) {
  Dl_info object{};
  if (!dladdr(code, &object) || !object.dli_fname) return false;
  for (const char* name : kHidingLibraries) {
    if (strstr(object.dli_fname, name)) return true;
  }
  return false;
}

template <class Result>
Result run_thread(void* start) {
  const ThreadRoutine run = begin_thread(start);
  return reinterpret_cast<Result (*)(void*)>(run.code)(run.argument);
}

/// The start of a thread that runs `routine`; nullptr: as if there were no wrapper.
template <class Result>
ThreadStart* prepare(const HostCall& call, Result (*routine)(void*), void* argument) {
  if (call.is_of_cuda()) return nullptr;
  note_thread();
  if (detail::g_orders.load(std::memory_order_acquire) == 0 && !recording()) return nullptr;
  return prepare_thread({reinterpret_cast<void (*)()>(routine), argument},
                        is_of_hiding_library(reinterpret_cast<void*>(routine)),
                        origin_of_next_thread(call.function(), call.frame()));
}

struct CreatesPosixThread {
  static constexpr const char* kName = "pthread_create";
  using Routine = void* (*)(void*);
  using Function = int (*)(pthread_t*, const pthread_attr_t*, Routine, void*);
  static int instead(const HostCall& call, Function next, pthread_t* thread, const pthread_attr_t* attributes,
                     Routine routine, void* argument) {
    ThreadStart* start = prepare(call, routine, argument);
    if (!start) return next(thread, attributes, routine, argument);
    const int result = next(thread, attributes, run_thread<void*>, start);
    if (result != 0) drop_thread(start);
    return result;
  }
};

struct CreatesThread {
  static constexpr const char* kName = "thrd_create";
  using Function = int (*)(thrd_t*, thrd_start_t, void*);
  static int instead(const HostCall& call, Function next, thrd_t* thread, thrd_start_t routine, void* argument) {
    ThreadStart* start = prepare(call, routine, argument);
    if (!start) return next(thread, routine, argument);
    const int result = next(thread, run_thread<int>, start);
    if (result != thrd_success) drop_thread(start);
    return result;
  }
};

}  // namespace

#define SS_ORDER_ROW(name, type, Row) SS_LIBC_EXPORT_IF(SS_LIBC_IF_ORDERS, name, type, Row)
/// Also where order is not followed: from the first thread on it may be.
#define SS_ORDER_ALWAYS(name, type, Row) SS_LIBC_EXPORT_IF(SS_LIBC_ALWAYS, name, type, Row)
#define SS_ORDER(name, What)                       \
  namespace {                                      \
  struct Order_##name : What<SS_SIGNATURE(name)> { \
    static constexpr const char* kName = #name;    \
  };                                               \
  }                                                \
  SS_ORDER_ROW(name, SS_SIGNATURE(name), Order_##name)
/// Of which x86-64 has an older version, for other structures.
#define SS_ORDER_OF_CONDITION(name, What)                         \
  namespace {                                                     \
  struct Order_##name : What<SS_SIGNATURE(name)> {                \
    static constexpr const char* kName = #name;                   \
    static constexpr const char* kVersion = SS_CONDITION_VERSION; \
  };                                                              \
  }                                                               \
  SS_ORDER_ROW(name, SS_SIGNATURE(name), Order_##name)
#if defined __x86_64__
#define SS_CONDITION_VERSION "GLIBC_2.3.2"
#else
#define SS_CONDITION_VERSION "GLIBC_2.17"
#endif

SS_ORDER(pthread_mutex_lock, Acquires);
SS_ORDER(pthread_mutex_trylock, Acquires);
SS_ORDER(pthread_mutex_timedlock, Acquires);
SS_ORDER(pthread_mutex_clocklock, Acquires);
SS_ORDER(pthread_mutex_unlock, Releases);
SS_ORDER(pthread_mutex_destroy, Ends);

SS_ORDER(pthread_spin_lock, Acquires);
SS_ORDER(pthread_spin_trylock, Acquires);
SS_ORDER(pthread_spin_unlock, Releases);
SS_ORDER(pthread_spin_destroy, Ends);

SS_ORDER(pthread_rwlock_rdlock, Acquires);
SS_ORDER(pthread_rwlock_tryrdlock, Acquires);
SS_ORDER(pthread_rwlock_timedrdlock, Acquires);
SS_ORDER(pthread_rwlock_clockrdlock, Acquires);
SS_ORDER(pthread_rwlock_wrlock, LocksToWrite);
SS_ORDER(pthread_rwlock_trywrlock, LocksToWrite);
SS_ORDER(pthread_rwlock_timedwrlock, LocksToWrite);
SS_ORDER(pthread_rwlock_clockwrlock, LocksToWrite);
SS_ORDER_ROW(pthread_rwlock_unlock, SS_SIGNATURE(pthread_rwlock_unlock), UnlocksReadWrite);
SS_ORDER(pthread_rwlock_destroy, Ends);

SS_ORDER_OF_CONDITION(pthread_cond_wait, WaitsForCondition);
SS_ORDER_OF_CONDITION(pthread_cond_timedwait, WaitsForCondition);
SS_ORDER(pthread_cond_clockwait, WaitsForCondition);
SS_ORDER_OF_CONDITION(pthread_cond_signal, Releases);
SS_ORDER_OF_CONDITION(pthread_cond_broadcast, Releases);
SS_ORDER_OF_CONDITION(pthread_cond_destroy, Ends);

SS_ORDER(sem_post, ReleasesAnywhere);
SS_ORDER(sem_wait, Acquires);
SS_ORDER(sem_trywait, Acquires);
SS_ORDER(sem_timedwait, Acquires);
SS_ORDER(sem_clockwait, Acquires);
SS_ORDER(sem_destroy, Ends);

SS_ORDER_ROW(pthread_barrier_wait, SS_SIGNATURE(pthread_barrier_wait), WaitsAtBarrier);
SS_ORDER(pthread_barrier_destroy, Ends);

SS_ORDER(pthread_once, RunsOnce);

SS_ORDER_ALWAYS(pthread_create, SS_SIGNATURE(pthread_create), CreatesPosixThread);
SS_ORDER(pthread_join, Joins);
SS_ORDER(pthread_tryjoin_np, Joins);
SS_ORDER(pthread_timedjoin_np, Joins);
SS_ORDER(pthread_clockjoin_np, Joins);

SS_ORDER(mtx_lock, Acquires);
SS_ORDER(mtx_trylock, Acquires);
SS_ORDER(mtx_timedlock, Acquires);
SS_ORDER(mtx_unlock, Releases);
SS_ORDER(mtx_destroy, Ends);

SS_ORDER(cnd_wait, WaitsForCondition);
SS_ORDER(cnd_timedwait, WaitsForCondition);
SS_ORDER(cnd_signal, Releases);
SS_ORDER(cnd_broadcast, Releases);
SS_ORDER(cnd_destroy, Ends);

SS_ORDER(call_once, RunsOnce);

SS_ORDER_ALWAYS(thrd_create, SS_SIGNATURE(thrd_create), CreatesThread);
SS_ORDER(thrd_join, Joins);
