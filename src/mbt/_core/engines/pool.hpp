// Threads that share the work of one call with the calling thread.
//
// They are started when first needed, kept, and never joined: they sleep between calls, and end with the process.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <new>

#if defined(_WIN32)
#include <process.h>
#else
#include <pthread.h>
#include <signal.h>
#endif

#include "scalars/config.hpp"

namespace MBT_NS {

// Computes part `part` of a job. Returns 0, or an error.
typedef int (*PoolTask)(const void* job, int part);

class Pool {
 public:
  // Runs parts 0 to `count` - 1, one per thread at a time. Returns when all are done: 0, or the error of one. May be
  // called by several threads at once.
  int run(PoolTask task, const void* job, int count) {
    Call call{task, job, count};
    std::unique_lock<std::mutex> lock(mutex_);
    // The calling thread is one of them; if too few others can be started, it does more itself.
    while (num_workers_ < count - 1 && start_worker()) {
    }
    *last_ = &call;
    last_ = &call.next;
    for (int i = 1; i < count; ++i) waiting_.notify_one();
    while (call.begun < call.count) run_part(call, lock);
    call.done.wait(lock, [&] { return call.ended == call.count; });
    return call.error;
  }

 private:
  struct Call {
    PoolTask task;
    const void* job;
    int count;
    int begun = 0;
    int ended = 0;
    int error = 0;
    Call* next = nullptr;
    std::condition_variable done;

    Call(PoolTask task, const void* job, int count) : task(task), job(job), count(count) {}
  };

  void run_part(Call& call, std::unique_lock<std::mutex>& lock) {
    const int part = call.begun++;
    if (call.begun == call.count) remove(call);
    lock.unlock();
    const int error = call.task(call.job, part);
    lock.lock();
    if (error) call.error = error;
    // Under the lock, because `call` is destroyed as soon as its thread sees the last part end.
    if (++call.ended == call.count) call.done.notify_one();
  }

  void remove(Call& call) {
    Call** at = &first_;
    while (*at != &call) at = &(*at)->next;
    *at = call.next;
    if (last_ == &call.next) last_ = at;
  }

  [[noreturn]] void work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      waiting_.wait(lock, [&] { return first_ != nullptr; });
      run_part(*first_, lock);
    }
  }

  // False if the system provides no more threads.
  bool start_worker() {
    // Not by std::thread, which throws: then files that include this would need exception tables.
#if !defined(_WIN32)
    // Signals must go to Python's threads: one delivered here would not wake a sleeping main thread.
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    pthread_t thread;
    const auto work_in = [](void* pool) -> void* { static_cast<Pool*>(pool)->work(); };
    const bool started = pthread_create(&thread, nullptr, work_in, this) == 0;
    if (started) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
#else
    const auto work_in = [](void* pool) { static_cast<Pool*>(pool)->work(); };
    const bool started = _beginthread(work_in, 0, this) != static_cast<uintptr_t>(-1);
#endif
    num_workers_ += started;
    return started;
  }

  std::mutex mutex_;
  std::condition_variable waiting_;
  Call* first_ = nullptr;  // calls with parts that no thread has begun
  Call** last_ = &first_;
  int num_workers_ = 0;
};

static std::atomic<Pool*> the_pool{nullptr};

// The pool of this process. nullptr if out of memory.
static inline Pool* get_pool() {
  Pool* pool = the_pool;
  if (pool == nullptr) {
#if !defined(_WIN32)
    // A forked child has none of its parent's threads, and the state of their mutex is unknown: it makes its own pool.
    static const int registered = pthread_atfork(nullptr, nullptr, [] { the_pool = nullptr; });
    if (registered != 0) return nullptr;
#endif
    Pool* mine = new (std::nothrow) Pool;
    // If several threads get here, all use the pool of the first.
    if (mine != nullptr && the_pool.compare_exchange_strong(pool, mine)) return mine;
    delete mine;
  }
  return pool;
}

// From a monotonic clock.
static inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Number of items, in whole blocks, that take a tenth of a second, given that `count` took `duration`. Signals are
// checked between runs.
static inline std::ptrdiff_t next_run(std::ptrdiff_t count, double duration, std::ptrdiff_t block) {
  const double growth = duration > 0.1 / 16.0 ? 0.1 / duration : 16.0;
  const std::ptrdiff_t blocks = static_cast<std::ptrdiff_t>(growth * static_cast<double>(count)) / block;
  return block * (blocks > 1 ? blocks : 1);
}

}  // namespace MBT_NS
