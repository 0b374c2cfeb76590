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
    "__cxxabiv1::",
};

constexpr std::string_view kHarmlessPatterns[] = {
    // <math.h>, with the f and l spellings, and what CUDA's own host headers add to it.
    "{acos,acosh,asin,asinh,atan,atan2,atanh,cbrt,ceil,copysign,cos,cosh,erf,erfc,exp,exp2,exp10,expm1,fabs,fdim,"
    "floor,fma,fmax,fmin,fmod,frexp,hypot,ilogb,ldexp,lgamma,llrint,llround,log,log10,log1p,log2,logb,lrint,lround,"
    "modf,nan,nearbyint,nextafter,nexttoward,pow,remainder,remquo,rint,round,scalbln,scalbn,sin,sinh,sqrt,tan,tanh,"
    "tgamma,trunc,j0,j1,jn,y0,y1,yn,lgamma_r,sincos,drem,finite,significand}{,f,l}",
    "{cospi,sinpi,sincospi,erfinv,erfcinv,erfcx,normcdf,normcdfinv,rhypot,norm3d,norm4d,rnorm3d,rnorm4d,rsqrt,rcbrt}"
    "{,f}",
    "{abs,labs,llabs,imaxabs,div,ldiv,lldiv,imaxdiv,isnan,isinf,isfinite,isnormal,signbit,fpclassify,isgreater,"
    "isgreaterequal,isless,islessequal,islessgreater,isunordered,min,max,umin,umax}",
    "{fegetround,fesetround,feclearexcept,fetestexcept,fegetenv,fesetenv,feenableexcept,fedisableexcept}",
    // <stdlib.h>, <stdio.h>, <time.h>, <unistd.h> and the like: no memory of the caller's is kept.
    "{rand,srand,rand_r,drand48,erand48,lrand48,nrand48,mrand48,jrand48,srand48,seed48,lcong48,random,srandom,"
    "initstate,setstate,arc4random,arc4random_uniform,exit,_exit,_Exit,quick_exit,abort,getenv,secure_getenv,setenv,"
    "putenv,unsetenv,clearenv,realpath,getloadavg,getsubopt,mkstemp,mkdtemp,mktemp,mblen,mbtowc,wctomb,mbstowcs,"
    "wcstombs,malloc_usable_size,malloc_trim,mallopt}",
    "{fopen,fopen64,fdopen,freopen,fmemopen,open_memstream,fclose,fflush,fseek,fseeko,ftell,ftello,fgetpos,fsetpos,"
    "rewind,feof,ferror,clearerr,fileno,fputc,putc,putchar,fgetc,getc,getchar,ungetc,putchar_unlocked,getchar_unlocked,"
    "remove,rename,tmpfile,tmpnam,setvbuf,setbuf,setlinebuf,flockfile,funlockfile,popen,pclose,scanf,fscanf,sscanf,"
    "vscanf,vfscanf,vsscanf,getline,getdelim,asprintf,vasprintf}",
    "{time,clock,clock_gettime,clock_getres,clock_settime,clock_nanosleep,gettimeofday,settimeofday,difftime,mktime,"
    "timegm,timelocal,timespec_get,localtime,gmtime,ctime,asctime,localtime_r,gmtime_r,ctime_r,asctime_r,strftime,"
    "strptime,tzset,times,nanosleep,usleep,sleep}",
    "{open,openat,creat,close,lseek,fstat,stat,lstat,fstatat,truncate,ftruncate,fallocate,posix_fallocate,"
    "posix_fadvise,fsync,fdatasync,fcntl,ioctl,flock,mkdir,rmdir,unlink,link,symlink,readlink,access,chmod,fchmod,"
    "umask,chown,pipe,mkfifo,opendir,readdir,rewinddir,closedir,glob,globfree,getpid,getppid,gettid,getuid,"
    "geteuid,getgid,getegid,getlogin,getpwuid,gethostname,getcwd,chdir,sysconf,pathconf,isatty,ttyname,tcgetattr,"
    "tcsetattr,dup,dup2,getopt,getopt_long,getopt_long_only,getpagesize,get_nprocs,get_nprocs_conf,sysinfo,uname,mmap,"
    "mprotect,msync,madvise,mlock,munlock,mlockall,munlockall,shm_open,shm_unlink,shmget,shmat,ftok,getrusage,"
    "getrlimit,setrlimit,sched_yield,sched_getcpu,sched_setaffinity,sched_getaffinity,signal,sigaction,sigemptyset,"
    "sigaddset,sigprocmask,dlsym,dlerror,backtrace,backtrace_symbols,backtrace_symbols_fd,openlog,closelog,setlocale,"
    "localeconv,regcomp,regexec,regfree,regerror}",
    "{socket,bind,listen,accept,connect,setsockopt,getsockopt,getsockname,getpeername,getaddrinfo,freeaddrinfo,"
    "gai_strerror,gethostbyname,inet_addr,inet_ntoa,inet_ntop,inet_pton,htons,htonl,ntohs,ntohl,shutdown,poll,select}",
    "pthread_{self,equal,mutex_lock,mutex_trylock,mutex_unlock,mutex_init,mutex_destroy,mutexattr_init,"
    "mutexattr_settype,mutexattr_destroy,rwlock_rdlock,rwlock_wrlock,rwlock_unlock,rwlock_init,rwlock_destroy,"
    "spin_lock,spin_unlock,spin_init,spin_destroy,attr_init,attr_destroy,attr_setstacksize,setaffinity_np,"
    "getaffinity_np,setname_np,getname_np,getspecific,setspecific}",
    // <ctype.h>, <wctype.h>, and of <string.h> what needs no row.
    "{isalnum,isalpha,isblank,iscntrl,isdigit,isgraph,islower,isprint,ispunct,isspace,isupper,isxdigit,isascii,tolower,"
    "toupper,toascii,iswalnum,iswalpha,iswdigit,iswlower,iswspace,iswupper,towlower,towupper}",
    "{strerror,strerror_r,strsignal,strtok,strtok_r,strsep,basename,dirname,ffs,ffsl,ffsll,bswap_16,bswap_32,bswap_64}",
    "{__errno_location,__assert_fail,__assert_perror_fail,__cxa_throw,__cxa_allocate_exception,__cxa_guard_acquire,"
    "__cxa_guard_release,__ctype_b_loc,__ctype_tolower_loc,__ctype_toupper_loc,__isoc99_sscanf,__isoc99_scanf,"
    "__isoc99_fscanf,__sched_cpucount}",
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

void add_host(Catalog& catalog) {
  for (const ModelRow& row : kHostRows) {
    Model model = model_of({}, row.facts);
    model.of_c_library = true;
    catalog.add(row.pattern, std::move(model), row.arguments);
  }
}

bool known_harmless(const Callee& callee) {
  const std::string_view name = callee.qualified;
  if (callee.own && name.find("::") == std::string_view::npos) return false;
  const auto excluded = [&](std::string_view entry) { return within(name, entry); };
  if (std::any_of(std::begin(kNotHarmless), std::end(kNotHarmless), excluded)) return false;
  // Waiting for a thread, or for a value from one.
  if (name.starts_with("std::atomic") && callee.name == "wait") return false;
  const auto prefixes = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::any_of(std::begin(kHarmlessPrefixes), std::end(kHarmlessPrefixes), prefixes)) return true;
  return harmless_names().contains(callee.qualified);
}

}  // namespace streamsan::analyzer
