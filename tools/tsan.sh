#!/usr/bin/env bash
# Batches, the pool of threads, and forks under ThreadSanitizer: `bash tools/tsan.sh DIRECTORY`. Needs GCC.
# SANITIZED_TESTS="tests/tree tests/motion" selects other tests.
# The interpreter is an ordinary build: ThreadSanitizer sees its locks, and reports races in mbt's own code.
set -euo pipefail
mkdir -p "$1"
work=$(cd "$1" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
PYTHON=${PYTHON:-python3}
[[ -d $work/venv ]] || "$PYTHON" -m venv "$work/venv"
isa=$("$PYTHON" -c 'import platform; print("v3" if platform.machine() in ("x86_64", "AMD64") else "base")')
cd "$root"
CC=gcc CXX=g++ "$work/venv/bin/pip" install -q ".[test]" --config-settings=build-dir="$work/build" \
  --config-settings=cmake.define.MBT_ISA="$isa" --config-settings=cmake.define.MBT_SANITIZE=thread
# A planted race must be reported; otherwise silence would prove nothing.
g++ -shared -fPIC -fsanitize=thread -g -o "$work/race.so" -x c++ - << 'EOF'
#include <thread>
static int shared;
extern "C" int race() { std::thread a([] { ++shared; }), b([] { ++shared; }); a.join(); b.join(); return shared; }
EOF
export LD_PRELOAD TSAN_OPTIONS="suppressions=$root/tools/tsan.txt exitcode=66 history_size=4 report_signal_unsafe=0 die_after_fork=0 allocator_may_return_null=1"
preload=$(g++ -print-file-name=libtsan.so)
if LD_PRELOAD=$preload "$work/venv/bin/python" -c "import ctypes; ctypes.CDLL('$work/race.so').race()" 2> "$work/race.txt"; then
  echo "a planted race is not reported"
  exit 1
fi
cd "$work"
read -r -a tests <<< "${SANITIZED_TESTS:-$(echo tests/batch tests/hygiene/test_{num_threads,threads,concurrent_use,processes,interrupts}.py)}"
# One test counts threads, and ThreadSanitizer adds one of its own.
LD_PRELOAD=$preload PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1 "$work/venv/bin/python" -m pytest -q -n 0 -p no:cacheprovider \
  -c "$root/pyproject.toml" --rootdir "$root" "${tests[@]/#/$root/}" \
  --deselect tests/hygiene/test_num_threads.py::test_work_is_shared_when_there_is_enough "${@:2}"
