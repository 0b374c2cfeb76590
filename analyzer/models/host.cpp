// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host's side: what the C and C++ libraries do with host memory (host.def), and which functions may be passed over.
//
// known_harmless() is the list that keeps ordinary code analysable: a call that is not known may synchronise the
// device, and the analysis forgets what is in flight. So a function is harmless only if it certainly does not, and runs
// no code that was not seen. Of std that is nearly everything; excluded are callables (std::function, std::async,
// std::thread) and what waits for another thread (futures, condition variables, join), which may have synchronised for
// us. A mutex is passed over: that another thread may have waited in between is not known, and accesses of this
// function to what it enqueued itself are not ordered by it.
#include <algorithm>
#include <unordered_set>

#include "analyzer/models/shorthand.h"
#include "analyzer/models/types.h"

namespace streamsan::analyzer {

namespace {

using namespace shorthand;

constexpr ModelRow kHostRows[] = {
#define SS_MODEL(pattern_, ...) {.pattern = pattern_, .facts = {__VA_ARGS__}},
#define SS_MODEL_N(pattern_, arguments_, ...) {.pattern = pattern_, .arguments = arguments_, .facts = {__VA_ARGS__}},
#include "analyzer/models/host.def"
#undef SS_MODEL_N
#undef SS_MODEL
};

/// Runs code that was not seen, or waits for another thread.
constexpr std::string_view kNotHarmless[] = {
    "std::async",
    "std::thread",
    "std::jthread",
    "std::function",
    "std::move_only_function",
    "std::invoke",
    "std::invoke_r",
    "std::apply",
    "std::visit",
    "std::call_once",
    "std::packaged_task",
    "std::future",
    "std::shared_future",
    "std::promise",
    "std::condition_variable",
    "std::condition_variable_any",
    "std::latch",
    "std::barrier",
    "std::counting_semaphore",
    "std::binary_semaphore",
    "std::atexit",
    "std::at_quick_exit",
    "std::system",
    "std::bsearch",
    "std::reference_wrapper",
    "std::__shared_count",
    "std::__future_base",
};

constexpr std::string_view kHarmlessPrefixes[] = {
    "std::",
    "__gnu_cxx::",
    "__builtin_",
    "testing::",
    "fmt::",
    "omp_",
    "cuda::std::",
    "absl::Str",
    "c10::detail::torch",
    "c10::IntArrayRef",
    "c10::ArrayRef",
    "c10::Error",
    "c10::Scalar",
    "c10::Device",
    "c10::TensorOptions",
    "c10::InferenceMode",
    "c10::intrusive_ptr",
    "c10::SmallVector",
    "at::TensorOptions",
    "at::NoGradGuard",
    "torch::NoGradGuard",
    "google::LogMessage",
    "spdlog::",
    "nvtx3::",
    "nvtxRange",
    "nvtxMark",
    "nvtxDomain",
    "nvtxName",
    "make_",
    "cuC",
    "__assert",
};

constexpr std::string_view kHarmlessPatterns[] = {
    // <math.h>, with the f and l spellings.
    "{acos,acosh,asin,asinh,atan,atan2,atanh,cbrt,ceil,copysign,cos,cosh,erf,erfc,exp,exp2,expm1,fabs,fdim,floor,fma,"
    "fmax,"
    "fmin,fmod,frexp,hypot,ilogb,ldexp,lgamma,llrint,llround,log,log10,log1p,log2,logb,lrint,lround,modf,nearbyint,"
    "nextafter,pow,remainder,rint,round,scalbn,sin,sinh,sqrt,tan,tanh,tgamma,trunc}{,f,l}",
    "{abs,labs,llabs,div,ldiv,isnan,isinf,isfinite,signbit,min,max,umin,umax,rsqrt,rsqrtf,rcbrt,rcbrtf,sincos,sincosf}",
    // <stdlib.h>, <stdio.h>, <time.h>, <unistd.h> and the like: no memory of the caller's is kept.
    "{rand,srand,rand_r,drand48,srand48,lrand48,random,srandom,exit,_exit,_Exit,quick_exit,abort,getenv,setenv,"
    "unsetenv}",
    "{fopen,fdopen,freopen,fclose,fflush,fseek,ftell,rewind,feof,ferror,fileno,fputc,putc,putchar,fgetc,getc,getchar,"
    "remove,rename,tmpfile,setvbuf,setbuf,scanf,fscanf,sscanf,getline}",
    "{time,clock,clock_gettime,clock_getres,gettimeofday,difftime,mktime,localtime,gmtime,strftime,ctime,asctime,"
    "nanosleep,usleep,sleep}",
    "{open,close,lseek,fstat,stat,lstat,ftruncate,fsync,mkdir,rmdir,unlink,access,getpid,getppid,gethostname,getcwd,"
    "chdir,sysconf,isatty,dup,dup2,getopt,getopt_long,getpagesize,mmap,madvise,mlock,munlock,getrusage,sched_yield,"
    "sched_getcpu,sched_setaffinity,signal,sigaction}",
    "{socket,bind,listen,accept,connect,setsockopt,getaddrinfo,freeaddrinfo,htons,htonl,ntohs,ntohl,shutdown,poll,"
    "select}",
    "{pthread_self,pthread_mutex_lock,pthread_mutex_unlock,pthread_mutex_init,pthread_mutex_destroy,pthread_"
    "setaffinity_np}",
    "{isalpha,isdigit,isalnum,isspace,isupper,islower,isxdigit,ispunct,isprint,tolower,toupper,strerror,strdup,strtok}",
    "{__errno_location,__assert_fail,__cxa_throw,__cxa_allocate_exception,__cxa_guard_acquire,__cxa_guard_release}",
    "dim3::dim3",
    // Error names and checks of libraries.
    "{cufftGetErrorString,cusparseGetErrorString,cusparseGetErrorName,cudnnGetErrorString,cublasGetStatusString}",
};

const std::unordered_set<std::string>& harmless_names() {
  static const std::unordered_set<std::string> names = [] {
    std::unordered_set<std::string> out;
    for (const std::string_view pattern : kHarmlessPatterns)
      for (std::string& name : expand(pattern)) out.insert(std::move(name));
    return out;
  }();
  return names;
}

/// `name` is `prefix` or something in it.
bool within(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  if (name.size() == prefix.size()) return true;
  const char next = name[prefix.size()];
  return next == ':' || next == '<';
}

}  // namespace

void add_host(Catalog& catalog) { catalog.add(kHostRows); }

bool known_harmless(const Callee& callee) {
  const std::string_view name = callee.qualified;
  const auto excluded = [&](std::string_view entry) { return within(name, entry); };
  if (std::any_of(std::begin(kNotHarmless), std::end(kNotHarmless), excluded)) return false;
  // Waiting for a thread, or for a value from one.
  if (name.starts_with("std::atomic") && callee.name == "wait") return false;
  const auto prefixes = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::any_of(std::begin(kHarmlessPrefixes), std::end(kHarmlessPrefixes), prefixes)) return true;
  return harmless_names().contains(callee.qualified);
}

}  // namespace streamsan::analyzer
