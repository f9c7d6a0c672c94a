#include "trainer/config/config.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/config/fields.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using vocab::MAY_CHANGE;
using vocab::MUST_MATCH;

TrainerConfig With(const std::vector<std::pair<std::string, std::string>>& set,
                   TrainerConfig config = {}) {
  for (const auto& [path, value] : set) {
    absl::Status status = SetField(&config, path, value);
    EXPECT_TRUE(status.ok()) << status;
  }
  return config;
}

std::string ErrorOf(const absl::Status& status) {
  return std::string(status.message());
}

std::string Value(const TrainerConfig& config, const std::string& path) {
  return FormatConfigField(config, FindConfigField(path).value());
}

// --- The schema itself.

// Rules: CONF-1
TEST(ConfigSchema, EveryFieldHasAResumeRule) {
  EXPECT_GE(AllConfigFields().size(), 54u);
  for (const ConfigFieldRef& ref : AllConfigFields()) {
    EXPECT_NE(ref.rule(), vocab::RESUME_RULE_UNSPECIFIED)
        << ref.path()
        << ": every field says what resuming does when it differs "
           "(resume_rule in trainer_config.proto)";
  }
}

TEST(ConfigSchema, EveryFieldIsOptionalInAGroupAndHasATextForm) {
  for (const ConfigFieldRef& ref : AllConfigFields()) {
    EXPECT_TRUE(ref.field->has_optional_keyword())
        << ref.path() << ": absent must differ from zero";
    TrainerConfig config = Defaults();
    std::string text = FormatConfigField(config, ref);
    EXPECT_TRUE(ParseConfigField(&config, ref, text).ok()) << ref.path();
    EXPECT_EQ(FormatConfigField(config, ref), text) << ref.path();
  }
}

TEST(ConfigSchema, EveryFieldHasADefaultAndTheDefaultsAreValid) {
  TrainerConfig config = Defaults();
  for (const ConfigFieldRef& ref : AllConfigFields()) {
    EXPECT_TRUE(HasConfigField(config, ref)) << ref.path();
  }
  absl::Status status = Validate(config);
  EXPECT_TRUE(status.ok()) << status;
}

// Path -> the word after "Default:" in the schema's comments.
std::map<std::string, std::string> DocumentedDefaults() {
  std::ifstream file("trainer/config/v1/trainer_config.proto");
  std::map<std::string, std::string> defaults;
  std::string comment, message;
  for (std::string line; std::getline(file, line);) {
    absl::string_view text = line;
    text = absl::StripLeadingAsciiWhitespace(text);
    if (absl::ConsumePrefix(&text, "//")) {
      absl::StrAppend(&comment, text);
    } else if (absl::ConsumePrefix(&text, "message ")) {
      message = std::string(text.substr(0, text.find(' ')));
      comment.clear();
    } else if (absl::ConsumePrefix(&text, "optional ")) {
      std::vector<std::string> words = absl::StrSplit(text, ' ');
      size_t at = comment.find("Default: ");
      if (at != std::string::npos) {
        std::string value = comment.substr(at + 9);
        value = value.substr(0, value.find_first_of(" ,"));
        if (value == "\"\".") value.clear();
        defaults[absl::StrCat(message, ".", words[1])] =
            std::string(absl::StripSuffix(value, "."));
      }
      comment.clear();
    } else if (text.empty()) {
      comment.clear();
    }
  }
  return defaults;
}

TEST(ConfigSchema, DefaultsAreTheOnesThatTheCommentsName) {
  std::map<std::string, std::string> documented = DocumentedDefaults();
  TrainerConfig config = Defaults();
  for (const ConfigFieldRef& ref : AllConfigFields()) {
    // The two moments share a comment that says "Defaults: 0.9 and 0.999".
    if (ref.path() == "optimizer.beta1" || ref.path() == "optimizer.beta2") {
      continue;
    }
    auto found = documented.find(absl::StrCat(ref.group->message_type()->name(),
                                              ".", ref.field->name()));
    ASSERT_NE(found, documented.end()) << ref.path();
    std::string expected =
        found->second == "2^-14" ? "0.00006103515625" : found->second;
    TrainerConfig same = config;
    ASSERT_TRUE(ParseConfigField(&same, ref, expected).ok()) << ref.path();
    EXPECT_EQ(FormatConfigField(config, ref), FormatConfigField(same, ref))
        << ref.path();
  }
  EXPECT_EQ(config.optimizer().beta1(), 0.9);
  EXPECT_EQ(config.optimizer().beta2(), 0.999);
}

// --- Resolve.

TEST(Resolve, ScalerFollowsThePrecisionUnlessGiven) {
  EXPECT_TRUE(Defaults().precision().scaler());
  EXPECT_FALSE(
      Resolve(With({{"precision.mode", "bf16"}})).precision().scaler());
  EXPECT_FALSE(
      Resolve(With({{"precision.mode", "fp32"}})).precision().scaler());
  EXPECT_TRUE(
      Resolve(With({{"precision.mode", "fp32"}, {"precision.scaler", "true"}}))
          .precision()
          .scaler());
  EXPECT_FALSE(
      Resolve(With({{"precision.scaler", "false"}})).precision().scaler());
}

TEST(Resolve, KeepsGivenZeros) {
  TrainerConfig config = Resolve(With({{"optimizer.clip_norm", "0"},
                                       {"schedule.warmup", "0"},
                                       {"data.augment", "false"}}));
  EXPECT_EQ(config.optimizer().clip_norm(), 0);
  EXPECT_EQ(config.schedule().warmup(), 0u);
  EXPECT_FALSE(config.data().augment());
}

TEST(WithExplicitFields, SetsTheGivenOnesOverTheBase) {
  auto config = WithExplicitFields(
      Defaults(), {{"run.steps", "10"}, {"schedule.warmup", "0"}});
  ASSERT_TRUE(config.ok()) << config.status();
  TrainerConfig expected = Defaults();
  expected.mutable_run()->set_steps(10);
  expected.mutable_schedule()->set_warmup(0);
  EXPECT_EQ(config->SerializeAsString(), expected.SerializeAsString());
  EXPECT_FALSE(WithExplicitFields(Defaults(), {{"run.stepz", "1"}}).ok());
}

TEST(WithExplicitFields, GivenPrecisionTakesTheScalerWithIt) {
  auto scaler = [](const ExplicitFields& given) {
    return WithExplicitFields(Defaults(), given).value().precision().scaler();
  };
  EXPECT_FALSE(scaler({{"precision.mode", "bf16"}}));
  EXPECT_TRUE(scaler({{"precision.mode", "fp16"}}));
  EXPECT_TRUE(
      scaler({{"precision.mode", "bf16"}, {"precision.scaler", "true"}}));
  EXPECT_FALSE(scaler({{"precision.scaler", "false"}}));
}

TEST(WithExplicitFields, GivenModelTakesItsDataAndSizesWithIt) {
  auto config = WithExplicitFields(Defaults(), {{"model.kind", "gpt"}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->data().name(), "text");
  EXPECT_FALSE(config->data().augment());
  EXPECT_EQ(config->data().batch_size(), 16u);
  EXPECT_EQ(config->run().steps(), 400u);
  EXPECT_EQ(config->schedule().warmup(), 40u);
  EXPECT_EQ(config->model().dropout(), 0.1);
  absl::Status status = Validate(*config);
  EXPECT_TRUE(status.ok()) << status;
  auto given =
      WithExplicitFields(Defaults(), {{"model.kind", "gpt"},
                                      {"data.batch_size", "8"},
                                      {"run.steps", "1000"},
                                      {"schedule.form", "one-cycle-v1"}});
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->data().batch_size(), 8u);
  EXPECT_EQ(given->run().steps(), 1000u);
  EXPECT_EQ(given->schedule().warmup(), 300u);
  // Giving a default is not changing it.
  auto same = WithExplicitFields(Defaults(), {{"model.kind", "convnet"}});
  EXPECT_EQ(same->SerializeAsString(), Defaults().SerializeAsString());
}

TEST(WithExplicitFields, GivenScheduleTakesItsDefaultsWithIt) {
  auto schedule = [](const ExplicitFields& given) {
    return WithExplicitFields(Defaults(), given).value().schedule();
  };
  EXPECT_EQ(schedule({{"schedule.form", "exponential-v1"}}).gamma(), 0.999);
  EXPECT_EQ(schedule({{"schedule.form", "step-v1"}}).gamma(), 0.1);
  EXPECT_EQ(schedule({{"schedule.unit", "epochs"}}).warmup(), 0u);
  EXPECT_EQ(schedule({{"schedule.unit", "epochs"}, {"schedule.warmup", "2"}})
                .warmup(),
            2u);
}

// --- SetField.

TEST(SetField, SetsEachTypeAndNothingElse) {
  TrainerConfig config = With({{"model.kind", "mlp"},
                               {"model.hidden", "64"},
                               {"optimizer.lr", "1e-3"},
                               {"data.augment", "false"},
                               {"run.seed", "18446744073709551615"}});
  EXPECT_EQ(config.model().kind(), "mlp");
  EXPECT_EQ(config.model().hidden(), 64u);
  EXPECT_EQ(config.optimizer().lr(), 1e-3);
  EXPECT_FALSE(config.data().augment());
  EXPECT_EQ(config.run().seed(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(Flatten(config).size(), 5u);
}

TEST(SetField, UnknownGroupNamesTheNearestAndAll) {
  TrainerConfig config;
  absl::Status status = SetField(&config, "optimiser.lr", "1");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf(status),
            "configuration has no group \"optimiser\"; did you mean "
            "\"optimizer\"? Valid: model, data, optimizer, schedule, "
            "precision, run, ema, accumulation, save, best");
  EXPECT_FALSE(SetField(&config, "", "1").ok());
  EXPECT_FALSE(SetField(&config, "lr", "1").ok());
}

TEST(SetField, UnknownFieldNamesTheNearestAndAllOfTheGroup) {
  TrainerConfig config;
  absl::Status status = SetField(&config, "schedule.warmups", "1");
  EXPECT_EQ(ErrorOf(status),
            "configuration has no field \"schedule.warmups\"; did you mean "
            "\"schedule.warmup\"? Valid: schedule.form, schedule.warmup, "
            "schedule.horizon, schedule.final_fraction, schedule.unit, "
            "schedule.step_size, schedule.gamma, schedule.start_fraction, "
            "schedule.momentum_low, schedule.momentum_high, schedule.metric, "
            "schedule.reduction, schedule.patience, schedule.cooldown, "
            "schedule.threshold");
  EXPECT_FALSE(SetField(&config, "schedule", "1").ok());
  EXPECT_FALSE(SetField(&config, "schedule.warmup.x", "1").ok());
}

TEST(SetField, WrongTypeIsRefusedByNameAndChangesNothing) {
  struct {
    const char *path, *value, *message;
  } cases[] = {
      {"model.hidden", "-1",
       "model.hidden: expected an integer from 0 to 4294967295, found \"-1\""},
      {"model.hidden", "4294967296",
       "model.hidden: expected an integer from 0 to 4294967295, found "
       "\"4294967296\""},
      {"run.steps", "1.5",
       "run.steps: expected an integer from 0 to 18446744073709551615, found "
       "\"1.5\""},
      {"run.steps", "",
       "run.steps: expected an integer from 0 to 18446744073709551615, found "
       "\"\""},
      {"optimizer.lr", "fast",
       "optimizer.lr: expected a finite number, found \"fast\""},
      {"optimizer.lr", "nan",
       "optimizer.lr: expected a finite number, found \"nan\""},
      {"optimizer.lr", "1e999",
       "optimizer.lr: expected a finite number, found \"1e999\""},
      {"data.augment", "yes",
       "data.augment: expected true or false, found \"yes\""},
  };
  for (const auto& c : cases) {
    TrainerConfig config;
    absl::Status status = SetField(&config, c.path, c.value);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ErrorOf(status), c.message);
    EXPECT_EQ(config.ByteSizeLong(), 0u) << c.path;
  }
}

// --- Flatten.

TEST(Flatten, IsSortedAndCarriesTheRule) {
  std::vector<FlatField> fields = Flatten(Defaults());
  ASSERT_EQ(fields.size(), AllConfigFields().size());
  for (size_t i = 1; i < fields.size(); ++i) {
    EXPECT_LT(fields[i - 1].path, fields[i].path);
  }
  for (const FlatField& field : fields) {
    if (field.path == "optimizer.lr") {
      EXPECT_EQ(field.value, "0.003");
      EXPECT_EQ(field.rule, MAY_CHANGE);
    }
    if (field.path == "run.seed") {
      EXPECT_EQ(field.rule, MUST_MATCH);
    }
  }
}

TEST(Flatten, DoublesComeBackToTheSameBits) {
  for (double value : {0.1, 1.0 / 3, 1e-8, 5e-324, 1.7976931348623157e308, -0.0,
                       1e22, 0.003, std::nextafter(1.0, 2.0), 65536.0}) {
    TrainerConfig config;
    config.mutable_optimizer()->set_lr(value);
    TrainerConfig back = With({{"optimizer.lr", Flatten(config)[0].value}});
    double found = back.optimizer().lr();
    EXPECT_EQ(std::memcmp(&found, &value, sizeof value), 0)
        << Flatten(config)[0].value;
  }
}

TEST(Flatten, RoundTripsAWholeConfiguration) {
  TrainerConfig config =
      Resolve(With({{"model.dropout", "0.1"}, {"run.seed", "99"}}));
  TrainerConfig back;
  for (const FlatField& field : Flatten(config)) {
    ASSERT_TRUE(SetField(&back, field.path, field.value).ok()) << field.path;
  }
  EXPECT_EQ(back.SerializeAsString(), config.SerializeAsString());
}

// --- Validate.

TEST(Validate, RefusesEveryValueOutOfItsRangeByPath) {
  struct {
    const char *path, *value;
  } cases[] = {
      {"model.kind", "resnet"},
      {"model.hidden", "0"},
      {"model.hidden", "65537"},
      {"model.dropout", "1"},
      {"model.dropout", "-0.1"},
      {"data.name", "mnist"},
      {"data.train_limit", "127"},
      {"data.batch_size", "0"},
      {"data.batch_size", "65537"},
      {"optimizer.kind", "lion"},
      {"optimizer.lr", "0"},
      {"optimizer.beta1", "1"},
      {"optimizer.beta2", "-1"},
      {"optimizer.eps", "0"},
      {"optimizer.weight_decay", "-1"},
      {"optimizer.clip_norm", "-1"},
      {"optimizer.clip_value", "-1"},
      {"optimizer.clip_value", "1"},  // beside the default clip_norm
      {"optimizer.groups", "a"},
      {"optimizer.groups", "a lr_scale=x b"},
      {"optimizer.groups", "a ("},
      {"model.layers", "0"},
      {"model.heads", "0"},
      {"model.width", "0"},
      {"model.width", "4097"},
      {"model.dtype", "fp8"},
      {"model.dtype", "bf16"},  // with precision.mode fp16
      {"model.frozen", "("},
      {"data.name", "text"},  // with a model of images
      {"data.sequence_length", "1"},
      {"data.tail", "keep"},
      {"data.workers", "257"},
      {"data.prefetch", "0"},
      {"schedule.unit", "steps"},
      {"run.keep_last", "4294967295"},
      {"run.max_seconds", "-1"},
      {"ema.decay", "1"},
      {"ema.ramp", "slow"},
      {"accumulation.steps", "0"},
      {"save.when_busy", "queue"},
      {"save.at_micro", "1"},  // of one micro-step
      {"best.metric", "recall"},
      {"best.metric", "ema/loss"},  // without an average
      {"best.patience", "9007199254740993"},
      {"best.min_delta", "-1"},
      {"schedule.gamma", "0"},
      {"schedule.start_fraction", "1.5"},
      {"schedule.momentum_low", "0"},
      {"schedule.momentum_high", "0.5"},
      {"schedule.metric", "recall"},
      {"schedule.reduction", "1"},
      {"schedule.patience", "9007199254740993"},
      {"schedule.cooldown", "9007199254740993"},
      {"schedule.threshold", "1"},
      {"schedule.form", "step"},
      {"schedule.warmup", "1872"},
      {"schedule.horizon", "100"},
      {"schedule.final_fraction", "1.1"},
      {"precision.mode", "fp8"},
      {"precision.init_scale", "0"},
      {"precision.init_scale", "1e39"},
      {"precision.growth_interval", "0"},
      {"precision.min_scale", "65537"},
      {"run.steps", "0"},
      {"run.threads", "1025"},
      {"run.device", "gpu"},
      {"run.save_every", "0"},
      {"run.keep_last", "0"},
      {"run.eval_every", "0"},
      {"run.log_every", "0"},
  };
  for (const auto& c : cases) {
    absl::Status status = Validate(Resolve(With({{c.path, c.value}})));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.path;
    EXPECT_THAT(ErrorOf(status), HasSubstr(absl::StrCat(c.path, ": expected")))
        << c.path << "=" << c.value;
  }
}

TEST(Validate, AcceptsTheEndsOfEveryRange) {
  for (const auto& [path, value] :
       std::vector<std::pair<std::string, std::string>>{
           {"model.hidden", "1"},
           {"model.hidden", "65536"},
           {"model.dropout", "0"},
           {"model.width", "1"},
           {"model.width", "4096"},
           {"data.train_limit", "128"},
           {"data.batch_size", "65536"},
           {"optimizer.beta1", "0"},
           {"optimizer.weight_decay", "0"},
           {"optimizer.clip_norm", "0"},
           {"schedule.warmup", "0"},
           {"schedule.warmup", "1871"},
           {"model.frozen", "^conv1\\."},
           {"optimizer.groups",
            "none weight_decay=0 lr_scale=0.1 bias$; all ."},
           {"data.workers", "0"},
           {"schedule.gamma", "1"},
           {"schedule.momentum_low", "0.95"},
           {"schedule.horizon", "101"},
           {"schedule.final_fraction", "0"},
           {"schedule.final_fraction", "1"},
           {"precision.growth_interval", "1"},
           {"precision.min_scale", "0"},
           {"run.threads", "1024"}}) {
    absl::Status status = Validate(Resolve(With({{path, value}})));
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(Validate, FieldsThatBelongTogetherAreComparedWithEachOther) {
  for (const auto& given : std::vector<ExplicitFields>{
           {{"optimizer.clip_norm", "0"}, {"optimizer.clip_value", "0.5"}},
           {{"model.dtype", "bf16"}, {"precision.mode", "bf16"}},
           {{"model.kind", "gpt"}, {"model.heads", "2"}},
           {{"schedule.unit", "samples"}, {"schedule.warmup", "100000"}}}) {
    absl::Status status =
        Validate(WithExplicitFields(Defaults(), given).value());
    EXPECT_TRUE(status.ok()) << status;
  }
  for (const auto& [path, given] :
       std::vector<std::pair<std::string, ExplicitFields>>{
           {"model.heads", {{"model.kind", "gpt"}, {"model.heads", "3"}}},
           {"data.name",
            {{"model.kind", "gpt"}, {"data.name", "fashion_mnist"}}},
           {"data.augment", {{"model.kind", "gpt"}, {"data.augment", "true"}}},
           {"schedule.horizon",
            {{"schedule.warmup", "9"}, {"schedule.horizon", "9"}}}}) {
    absl::Status status =
        Validate(WithExplicitFields(Defaults(), given).value());
    EXPECT_THAT(ErrorOf(status), HasSubstr(absl::StrCat(path, ": expected")));
  }
}

TEST(Validate, NamesAllProblemsAtOnceWithExpectedAndFound) {
  absl::Status status = Validate(Resolve(With({{"model.dropout", "1.5"},
                                               {"data.batch_size", "0"},
                                               {"run.device", "tpu"}})));
  EXPECT_EQ(ErrorOf(status),
            "configuration:\n"
            "  model.dropout: expected a number in [0, 1), found 1.5\n"
            "  data.batch_size: expected 1 to 65536, found 0\n"
            "  run.device: expected cpu or cuda, found \"tpu\"");
}

TEST(Validate, NonFiniteNumbersAreOutOfEveryRange) {
  for (double value : {std::numeric_limits<double>::quiet_NaN(),
                       std::numeric_limits<double>::infinity()}) {
    for (const ConfigFieldRef& ref : AllConfigFields()) {
      if (ref.field->cpp_type() !=
          google::protobuf::FieldDescriptor::CPPTYPE_DOUBLE) {
        continue;
      }
      TrainerConfig config = Defaults();
      auto* group = config.GetReflection()->MutableMessage(&config, ref.group);
      group->GetReflection()->SetDouble(group, ref.field, value);
      EXPECT_THAT(ErrorOf(Validate(config)), HasSubstr(ref.path())) << value;
    }
  }
}

TEST(Validate, AbsentFieldsAreProblems) {
  TrainerConfig config = Defaults();
  config.mutable_run()->clear_seed();
  EXPECT_EQ(ErrorOf(Validate(config)),
            "configuration:\n  run.seed: expected a value, found nothing");
}

// --- Files.

class LoadTextFileTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    std::string path = absl::StrCat(
        ::testing::TempDir(), "/config_test-",
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(LoadTextFileTest, GivesWhatTheFileSetsAndNothingElse) {
  auto fields = LoadTextFile(
      Write("# a comment\nmodel { kind: \"mlp\" }\nrun { steps: 300 }\n"));
  ASSERT_TRUE(fields.ok()) << fields.status();
  EXPECT_EQ(*fields,
            (ExplicitFields{{"model.kind", "mlp"}, {"run.steps", "300"}}));
}

TEST_F(LoadTextFileTest, ErrorsNameFileLineAndColumn) {
  std::string path = Write("run {\n  stepz: 300\n}\n");
  absl::Status status = LoadTextFile(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorOf(status), HasSubstr(absl::StrCat(path, ":2:8: ")));
  EXPECT_THAT(ErrorOf(status), HasSubstr("stepz"));
}

TEST_F(LoadTextFileTest, EmptyFileSetsNothing) {
  auto fields = LoadTextFile(Write(""));
  ASSERT_TRUE(fields.ok()) << fields.status();
  EXPECT_TRUE(fields->empty());
}

TEST_F(LoadTextFileTest, MissingFileAndFolderAreDifferentErrors) {
  EXPECT_EQ(LoadTextFile("/nonexistent/x").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(LoadTextFile(::testing::TempDir()).status().code(),
            absl::StatusCode::kUnavailable);
}

// --- Resuming.

TEST(MergeForResume, TakesTheCheckpointsValues) {
  TrainerConfig stored = Resolve(With(
      {{"optimizer.lr", "0.01"}, {"model.kind", "mlp"}, {"run.seed", "5"}}));
  auto merged = MergeForResume(Flatten(stored), {});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(merged->config.SerializeAsString(), stored.SerializeAsString());
  EXPECT_TRUE(merged->changes.empty());
}

// Rules: CONF-2
TEST(MergeForResume, C22_ExplicitOverrideChangesThatFieldOnlyAndIsListed) {
  TrainerConfig stored = Resolve(With({{"optimizer.lr", "0.01"},
                                       {"optimizer.beta1", "0.8"},
                                       {"optimizer.weight_decay", "0.2"}}));
  auto merged = MergeForResume(Flatten(stored), {{"optimizer.lr", "0.002"}});
  ASSERT_TRUE(merged.ok()) << merged.status();
  ASSERT_EQ(merged->changes.size(), 1u);
  EXPECT_EQ(merged->changes[0].path, "optimizer.lr");
  EXPECT_EQ(merged->changes[0].old_value, "0.01");
  EXPECT_EQ(merged->changes[0].new_value, "0.002");
  stored.mutable_optimizer()->set_lr(0.002);
  EXPECT_EQ(merged->config.SerializeAsString(), stored.SerializeAsString());
}

TEST(MergeForResume, SameValueInOtherWordsIsNoChange) {
  auto merged =
      MergeForResume(Flatten(Defaults()), {{"optimizer.lr", "3e-3"},
                                           {"run.seed", "01"},
                                           {"model.kind", "convnet"}});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_TRUE(merged->changes.empty());
}

TEST(MergeForResume, C15_RefusesEveryFieldThatMustMatchWithBothValues) {
  absl::Status status =
      MergeForResume(Flatten(Defaults()), {{"data.batch_size", "20"},
                                           {"run.seed", "2"},
                                           {"optimizer.lr", "0.1"}})
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ErrorOf(status),
            "a resumed run must keep these fields (leave them out, or start "
            "another run in another folder):"
            "\n  data.batch_size: the checkpoint has 128, asked for 20"
            "\n  run.seed: the checkpoint has 1, asked for 2");
}

// Rules: CONF-2
TEST(MergeForResume, RulesHoldForEveryFieldOfTheSchema) {
  TrainerConfig defaults = Defaults();
  for (const ConfigFieldRef& ref : AllConfigFields()) {
    std::string before = FormatConfigField(defaults, ref);
    std::string after;
    for (const char* other : {"other", "false", "true", "7", "0.125"}) {
      TrainerConfig changed = defaults;
      if (ParseConfigField(&changed, ref, other).ok() && before != other) {
        after = other;
        break;
      }
    }
    absl::Status status =
        MergeForResume(Flatten(defaults), {{ref.path(), after}}).status();
    bool refused = status.code() == absl::StatusCode::kFailedPrecondition;
    EXPECT_EQ(refused, ref.rule() == MUST_MATCH) << ref.path() << status;
  }
}

TEST(MergeForResume, FieldUnknownToThisTrainerIsRefusedByName) {
  std::vector<FlatField> stored = Flatten(Defaults());
  stored.push_back(
      {"optimizer.lookahead", "5", vocab::MAY_CHANGE, std::nullopt});
  absl::Status status = MergeForResume(stored, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(ErrorOf(status), HasSubstr("\"optimizer.lookahead\""));
}

TEST(MergeForResume, FieldThatTheCheckpointLacksHasItsDefault) {
  std::vector<FlatField> stored;
  for (const FlatField& field : Flatten(Defaults())) {
    if (field.path != "run.keep_last") stored.push_back(field);
  }
  auto merged = MergeForResume(stored, {});
  ASSERT_TRUE(merged.ok()) << merged.status();
  EXPECT_EQ(Value(merged->config, "run.keep_last"), "3");
}

TEST(MergeForResume, WidthOfACheckpointWrittenBeforeThereWasOneIs64) {
  std::vector<FlatField> stored;
  for (const FlatField& field : Flatten(Defaults())) {
    if (field.path != "model.width") stored.push_back(field);
  }
  for (const ExplicitFields& given :
       {ExplicitFields{}, ExplicitFields{{"model.width", "64"}}}) {
    auto merged = MergeForResume(stored, given);
    ASSERT_TRUE(merged.ok()) << merged.status();
    EXPECT_EQ(Value(merged->config, "model.width"), "64");
  }
  EXPECT_THAT(ErrorOf(MergeForResume(stored, {{"model.width", "8"}}).status()),
              HasSubstr("model.width: the checkpoint has 64, asked for 8"));
}

TEST(MergeForResume, ChangedValuesAreValidated) {
  absl::Status status =
      MergeForResume(Flatten(Defaults()), {{"optimizer.lr", "-1"}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ErrorOf(status), HasSubstr("optimizer.lr: expected"));
  EXPECT_FALSE(MergeForResume(Flatten(Defaults()), {{"no.such", "1"}}).ok());
}

}  // namespace
}  // namespace reprise
