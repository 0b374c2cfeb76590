// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names that the program gives may hold anything: line ends that would begin a command of a CI service, escapes for the
// terminal, bytes that are no UTF-8, markup. A source file may have blanks and letters of all kinds in its path, and two
// processes may have the same finding.
//
// RUN: %build %s -o %t
// RUN: %expect 66 %streamsan run --json %t.json --sarif %t.sarif --junit %t.xml --github -- %t > %t.out 2> %t.err
// RUN: %python %S/inputs/check_sarif.py %t.sarif | %filecheck %s --check-prefix=SARIF
// RUN: %python %S/inputs/check_junit.py %t.xml | %filecheck %s --check-prefix=JUNIT
// RUN: %filecheck %s --check-prefix=GITHUB --input-file %t.out
// RUN: %filecheck %s --check-prefix=TEXT --input-file %t.err
// RUN: %json %t.json | %filecheck %s --check-prefix=JSON
//
// Without debug information there is no line to point at.
// RUN: %expect 66 %streamsan run --symbolize=0 --json %t.bare.json --sarif %t.bare.sarif --junit %t.bare.xml --github -- %t > %t.bare.out 2> /dev/null
// RUN: %python %S/inputs/check_sarif.py %t.bare.sarif | %filecheck %s --check-prefix=BARE-SARIF
// RUN: %python %S/inputs/check_junit.py %t.bare.xml | %filecheck %s --check-prefix=BARE-JUNIT
// RUN: %filecheck %s --check-prefix=BARE-GITHUB --input-file %t.bare.out
//
// SARIF: streamsan-write-after-write-race error {{.*}}caf%C3%A9%20dir/a%25b%2Cc.cu:100 lanes: 1: stream "x ::error::pwned 
// SARIF-NEXT: successful: True
// JUNIT: failure streamsan.race write-after-write race in work() {{.*}}café dir/a%b,c.cu:100
// JUNIT-NOT: failure
// GITHUB-NOT: {{^}}::error::pwned
// GITHUB: {{^}}::error file={{.*}}café dir/a%25b%2Cc.cu,line=100,
// GITHUB-SAME: stream "x ::error::pwned {{.*}}<b> ]]> & {{.*}}"
// GITHUB-NOT: {{^}}::
// TEXT-NOT: {{^}}::
// TEXT: on stream "x ::error::pwned {{.*}}<b> ]]> &
// TEXT-NOT: {{^}}::
// JSON: findings.size = 2
// JSON: stream.name = "stream \"x\n::error::pwned\r\u001b[31m<b> ]]> & \ufffd\""
// BARE-SARIF: streamsan-write-after-write-race error {{.*}}names.cu.tmp:1 lanes:
// BARE-JUNIT: failure streamsan.race write-after-write race -:-
// BARE-GITHUB: {{^}}::error title=streamsan%3A write-after-write race::
#include <streamsan/annotate.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

void work() {
  char* buffer;
  must(cudaMalloc(&buffer, 4096));
  for (int i = 0; i < 2; ++i) {
    cudaStream_t stream;
    must(cudaStreamCreate(&stream));
    streamsan_name_stream(stream, "x\n::error::pwned\r\x1b[31m<b> ]]> & \xff");
#line 100 "café dir/a%b,c.cu"
    must(cudaMemsetAsync(buffer, i, 4096, stream));
  }
}

int main() {
  pid_t child = fork();
  work();
  if (child == 0) std::exit(0);
  int status;
  return waitpid(child, &status, 0) == child ? WEXITSTATUS(status) : 98;
}
