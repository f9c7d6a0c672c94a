#include "conformance/report/outcome.h"

#include "conformance/judge/context.h"
#include "conformance/judge/judge.h"

namespace reprise::conformance {

std::string OutcomeText(v1::VerdictOutcome outcome) {
  switch (outcome) {
    case v1::PASS:
      return "PASS";
    case v1::FAIL:
      return "FAIL";
    case v1::XFAIL:
      return "XFAIL";
    case v1::XPASS:
      return "XPASS";
    case v1::SKIP:
      return "SKIP";
    case v1::FLAKY:
      return "FLAKY";
    case v1::INCONCLUSIVE:
      return "INCONCLUSIVE";
    case v1::HARNESS_ERROR:
      return "HARNESS ERROR";
    case v1::NOT_RUN:
      return "NOT RUN";
    default:
      return "UNKNOWN";
  }
}

std::string OutcomeMeaning(v1::VerdictOutcome outcome) {
  switch (outcome) {
    case v1::PASS:
      return "the resumed run is the uninterrupted one";
    case v1::FAIL:
      return "something was lost";
    case v1::XFAIL:
      return "failed as expected";
    case v1::XPASS:
      return "passed although a failure is expected";
    case v1::SKIP:
      return "not applicable, or left out";
    case v1::FLAKY:
      return "equal attempts ended differently";
    case v1::INCONCLUSIVE:
      return "the evidence cannot show it";
    case v1::HARNESS_ERROR:
      return "the harness failed, not the trainer";
    case v1::NOT_RUN:
      return "planned and not started";
    default:
      return "";
  }
}

std::map<v1::VerdictOutcome, int> CountOutcomes(const v1::Report& report) {
  std::map<v1::VerdictOutcome, int> counts;
  for (const v1::CaseResult& result : report.results()) {
    ++counts[result.verdict().outcome()];
  }
  return counts;
}

bool Passed(const v1::Report& report) {
  bool any = false;
  for (const v1::CaseResult& result : report.results()) {
    const v1::VerdictOutcome outcome = result.verdict().outcome();
    any |= outcome == v1::PASS;
    if (outcome != v1::PASS && outcome != v1::SKIP && outcome != v1::XFAIL) {
      return false;
    }
  }
  return any;
}

std::map<std::string, Loss> Losses(const v1::Report& report) {
  std::map<std::string, Loss> losses;
  for (const v1::CaseResult& result : report.results()) {
    for (const v1::Finding& finding : result.verdict().findings()) {
      Loss& loss = losses[NameOf(finding)];
      if (loss.finding == nullptr) {
        loss.result = &result;
        loss.finding = &finding;
      }
    }
    for (const std::string& name : NamesOf(result.verdict())) {
      ++losses[name].cases;
    }
  }
  return losses;
}

std::vector<ProfileResults> ByProfile(const v1::Report& report) {
  std::vector<ProfileResults> profiles;
  std::map<std::string, size_t> places;
  for (const v1::CaseResult& result : report.results()) {
    const auto [place, fresh] =
        places.try_emplace(result.profile(), profiles.size());
    if (fresh) profiles.push_back({ProfileText(result.profile()), {}});
    profiles[place->second].cases.push_back(&result);
  }
  return profiles;
}

std::string ProfileText(const std::string& profile) {
  return profile.empty() ? "campaign" : profile;
}

Tone ToneOf(v1::VerdictOutcome outcome) {
  switch (outcome) {
    case v1::PASS:
      return Tone::kPass;
    case v1::FAIL:
    case v1::XPASS:
    case v1::HARNESS_ERROR:
      return Tone::kFail;
    case v1::FLAKY:
    case v1::INCONCLUSIVE:
      return Tone::kWarn;
    default:
      return Tone::kMute;
  }
}

}  // namespace reprise::conformance
