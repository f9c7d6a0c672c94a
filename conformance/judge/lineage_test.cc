// Source, saves, exit and end, from hand-made events.
#include "conformance/judge/lineage.h"

#include <string>
#include <vector>

#include "conformance/judge/judge.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace reprise::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Builds an attempt event by event.
class Script {
 public:
  Script& Start(uint64_t resumed, const std::string& checkpoint = "") {
    v1::StartEvent& start = *Add()->mutable_start();
    start.set_resumed_step(resumed);
    start.set_checkpoint(checkpoint);
    return *this;
  }
  Script& Steps(uint64_t from, uint64_t to) {
    for (uint64_t step = from; step <= to; ++step) {
      v1::StepEvent& record = *Add()->mutable_step();
      record.set_step(step);
      record.set_ids(std::to_string(1000 + step));
      record.mutable_loss()->set_v(static_cast<double>(step));
    }
    return *this;
  }
  Script& Save(uint64_t step, const std::string& name,
               v1::SaveEvent::Phase phase = v1::SaveEvent::COMMITTED) {
    v1::SaveEvent& save = *Add()->mutable_save();
    save.set_phase(phase);
    save.set_step(step);
    save.set_checkpoint(name);
    return *this;
  }
  Script& End(uint64_t step, const std::string& newest = "") {
    v1::EndEvent& end = *Add()->mutable_end();
    end.set_step(step);
    end.set_finished(true);
    end.set_newest(newest);
    attempt_.exit_code = 0;
    return *this;
  }
  Script& Killed() {
    attempt_.signal = 9;
    attempt_.sent = Sent::kKill;
    return *this;
  }
  Script& Exit(int code) {
    attempt_.exit_code = code;
    return *this;
  }
  AttemptEvidence attempt() const { return attempt_; }

 private:
  v1::Event* Add() { return &attempt_.events.emplace_back(); }
  AttemptEvidence attempt_;
};

AttemptEvidence Whole() {
  return Script()
      .Start(0)
      .Steps(1, 10)
      .Save(10, "b10")
      .Steps(11, 20)
      .Save(20, "b20")
      .Steps(21, 30)
      .Save(30, "b30")
      .End(30)
      .attempt();
}

std::vector<std::string> Names(std::vector<Script> scripts) {
  Evidence evidence;
  evidence.baselines.resize(2);
  for (LineageEvidence& baseline : evidence.baselines) {
    baseline.attempts = {Whole()};
  }
  for (const Script& script : scripts) {
    evidence.subject.attempts.push_back(script.attempt());
  }
  const Context context = MakeContext(evidence);
  v1::Verdict verdict;
  for (const v1::Finding& finding :
       CheckLineage(context, evidence.subject).findings) {
    *verdict.add_findings() = finding;
  }
  return NamesOf(verdict);
}

Script First() {
  return Script().Start(0).Steps(1, 10).Save(10, "s10").Steps(11, 20).Save(
      20, "s20");
}

TEST(Lineage, AcceptsTheNewestCommitted) {
  EXPECT_THAT(
      Names({First().Steps(21, 23).Killed(),
             Script().Start(20, "s20").Steps(21, 30).Save(30, "s30").End(
                 30, "s30")}),
      IsEmpty());
}

TEST(Lineage, AcceptsASaveThatWasBegunLater) {
  EXPECT_THAT(
      Names({Script()
                 .Start(0)
                 .Steps(1, 10)
                 .Save(10, "s10")
                 .Steps(11, 20)
                 .Save(20, "s20", v1::SaveEvent::BEGUN)
                 .Killed(),
             Script().Start(20, "s20").Steps(21, 30).Save(30, "s30").End(30)}),
      IsEmpty());
}

TEST(Lineage, M51_NamesAnOlderCheckpoint) {
  EXPECT_THAT(Names({First().Steps(21, 23).Killed(), Script()
                                                         .Start(10, "s10")
                                                         .Steps(11, 20)
                                                         .Save(20, "t20")
                                                         .Steps(21, 30)
                                                         .Save(30, "s30")
                                                         .End(30)}),
              ElementsAre("source:STALE"));
}

TEST(Lineage, M52_NamesAStartFromScratch) {
  EXPECT_THAT(Names({First().Killed(), Script()
                                           .Start(0)
                                           .Steps(1, 10)
                                           .Save(10, "t10")
                                           .Steps(11, 20)
                                           .Save(20, "t20")
                                           .Steps(21, 30)
                                           .Save(30, "t30")
                                           .End(30)}),
              ElementsAre("source:NONE"));
}

TEST(Lineage, NamesAnAbandonedBranch) {
  // Attempt 2 goes back to 10 and is killed; attempt 3 takes the old 20.
  EXPECT_THAT(
      Names({First().Steps(21, 23).Killed(),
             Script().Start(10, "s10").Steps(11, 15).Killed(),
             Script().Start(20, "s20").Steps(21, 30).Save(30, "s30").End(30)}),
      ElementsAre("source:STALE"));
}

TEST(Lineage, NamesACheckpointThatNobodySaved) {
  EXPECT_THAT(
      Names({First().Steps(21, 25).Killed(),
             Script().Start(24, "s24").Steps(25, 30).Save(30, "s30").End(30)}),
      ElementsAre("source:CHANGED"));
}

TEST(Lineage, M39_NamesALabelThatIsOff) {
  EXPECT_THAT(Names({First().Steps(21, 25).Killed(),
                     Script().Start(19, "s20").Steps(20, 29).End(29)}),
              ElementsAre("counters.step:LAG"));
}

TEST(Lineage, NamesAGapInTheRecords) {
  EXPECT_THAT(Names({First().Steps(21, 23).Killed(), Script()
                                                         .Start(20, "s20")
                                                         .Steps(21, 24)
                                                         .Steps(26, 30)
                                                         .Save(30, "s30")
                                                         .End(30)}),
              ElementsAre("run:PARTIAL"));
}

TEST(Lineage, M56_NamesARunThatEndsEarlyWithEveryValueRight) {
  EXPECT_THAT(Names({First().Steps(21, 23).Killed(),
                     Script().Start(20, "s20").Steps(21, 27).End(27)}),
              ElementsAre("run:SHORT"));
}

TEST(Lineage, M56_NamesASaveThatFailedInSilence) {
  EXPECT_THAT(Names({First().Steps(21, 23).Killed(),
                     Script()
                         .Start(20, "s20")
                         .Steps(21, 30)
                         .Save(30, "s30", v1::SaveEvent::FAILED)
                         .End(30)}),
              ElementsAre("save:FAILED"));
  EXPECT_THAT(Names({First().Steps(21, 23).Killed(),
                     Script().Start(20, "s20").Steps(21, 30).End(30)}),
              ElementsAre("save:FAILED"));
}

TEST(Lineage, AcceptsAFailedSaveThatWasMadeUpFor) {
  EXPECT_THAT(Names({First().Steps(21, 23).Killed(),
                     Script()
                         .Start(20, "s20")
                         .Steps(21, 30)
                         .Save(30, "", v1::SaveEvent::FAILED)
                         .Save(30, "s30")
                         .End(30)}),
              IsEmpty());
}

TEST(Lineage, NamesCheckpointsThatWereAcknowledgedAndAreNotThere) {
  EXPECT_THAT(
      Names({First().Steps(21, 23).Killed(),
             Script().Start(20, "s20").Steps(21, 30).Save(30, "s30").End(
                 30, "s20")}),
      ElementsAre("save:FAILED"));
}

TEST(Lineage, ForgivesSavesInFlightWhenKilled) {
  EXPECT_THAT(Names({Script()
                         .Start(0)
                         .Steps(1, 10)
                         .Save(10, "s10")
                         .Steps(11, 21)
                         .Killed(),
                     Script()
                         .Start(10, "s10")
                         .Steps(11, 20)
                         .Save(20, "s20")
                         .Steps(21, 30)
                         .Save(30, "s30")
                         .End(30)}),
              IsEmpty());
}

TEST(Lineage, NamesEndsThatNobodyAskedFor) {
  AttemptEvidence crashed = First().attempt();
  crashed.signal = 11;
  Evidence evidence;
  evidence.baselines.resize(2);
  for (LineageEvidence& baseline : evidence.baselines) {
    baseline.attempts = {Whole()};
  }
  evidence.subject.attempts = {crashed};
  EXPECT_THAT(NamesOf(Judge(evidence)), ElementsAre("run:FAILED"));
  EXPECT_THAT(Names({First().Exit(13)}), ElementsAre("run:SHORT"));
  EXPECT_THAT(Names({First().Exit(11)}), ElementsAre("run:FAILED"));
}

TEST(Lineage, GoesOnAfterAnAttemptThatWasKilledBeforeItsFirstEvent) {
  EXPECT_THAT(
      Names({First().Steps(21, 23).Killed(), Script().Killed(),
             Script().Start(20, "s20").Steps(21, 30).Save(30, "s30").End(30)}),
      IsEmpty());
}

}  // namespace
}  // namespace reprise::conformance
