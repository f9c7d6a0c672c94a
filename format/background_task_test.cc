#include "format/background_task.h"

#include <signal.h>

#include <future>
#include <memory>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace reprise {
namespace {

TEST(BackgroundTaskTest, RunsBehindAndWhatItWroteIsSeenAfterTheWait) {
  BackgroundTask task;
  EXPECT_FALSE(task.running());
  std::promise<void> release;
  std::string written;
  ASSERT_TRUE(task.Start([&] {
    release.get_future().wait();
    written = "done";
  }));
  EXPECT_TRUE(task.running());
  release.set_value();
  task.Wait();
  EXPECT_FALSE(task.running());
  EXPECT_EQ(written, "done");
  task.Wait();
}

TEST(BackgroundTaskTest, StartWaitsForTheTaskBefore) {
  BackgroundTask task;
  int running = 0;
  int most = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(task.Start([&] {
      most = std::max(most, ++running);
      std::this_thread::yield();
      --running;
    }));
  }
  task.Wait();
  EXPECT_EQ(most, 1);
}

TEST(BackgroundTaskTest, DestructorWaitsAndWhatTheTaskHeldIsLetGoFirst) {
  auto held = std::make_shared<int>(7);
  bool ran = false;
  {
    BackgroundTask task;
    ASSERT_TRUE(task.Start([held, &ran] { ran = *held == 7; }));
    task.Wait();
    EXPECT_EQ(held.use_count(), 1);
    ASSERT_TRUE(task.Start([held, &ran] { ran = ran && *held == 7; }));
  }
  EXPECT_TRUE(ran);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(BackgroundTaskTest, SignalsGoToTheProgramsOwnThreads) {
  BackgroundTask task;
  bool blocked = false;
  ASSERT_TRUE(task.Start([&] {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGTERM) == 1;
  }));
  task.Wait();
  EXPECT_TRUE(blocked);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGTERM), 0);
}

}  // namespace
}  // namespace reprise
