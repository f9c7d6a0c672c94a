"""Every rule of spec/SPEC.md is named by a test, and every name is a rule."""
import os
import unittest

from tools.lint import rule_ids

SPEC = "**ABC-1** first\n\n| **ABC-2** | second |\n\nsee ABC-3, **bold**"


def findings(tests, vectors=None):
    return rule_ids.findings(SPEC, tests, vectors or {})


class SelfTest(unittest.TestCase):
    """The check can fail, in each way it is for."""

    def test_names_annotations_and_vectors_prove_a_rule(self):
        self.assertEqual(findings({
            "a_test.cc": "TEST_F(Abc, C26_ABC_1_Holds) {}\n",
            "b_test.cc": "  // Rules: ABC-2\n",
        }), [])
        self.assertEqual(findings({
            "a_test.py": "    def test_abc_1_holds(self):\n    # Rules: ABC-2\n",
        }), [])
        self.assertEqual(findings(
            {}, {"v/expect.textproto": 'rule: "ABC-1"\nrule: "ABC-2"\n'}), [])

    def test_a_rule_without_a_test_is_listed(self):
        self.assertEqual(
            findings({"a_test.cc": "// Rules: ABC-1\n// about ABC-2\n"}),
            ["spec/SPEC.md: ABC-2: no test or vector names it"])

    def test_an_unknown_rule_is_listed_wherever_it_is_named(self):
        known = "// Rules: ABC-1 ABC-2\n"
        self.assertEqual(
            findings({"a_test.cc": known + "TEST(Abc, ABC_3_Holds) {}\n"}),
            ["a_test.cc: ABC-3 is not in spec/SPEC.md"])
        self.assertEqual(
            findings({"a_test.cc": known + "# Rules: XYZ-1, abc\n"}),
            ["a_test.cc: XYZ-1, is no id as in spec/SPEC.md",
             "a_test.cc: abc is no id as in spec/SPEC.md"])
        self.assertEqual(
            findings({"a_test.cc": known}, {"i": 'rule: "ABC-9"\n'}),
            ["i: ABC-9 is not in spec/SPEC.md"])

    def test_a_rule_defined_twice_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "twice: ABC-1"):
            rule_ids.findings(SPEC + "**ABC-1**", {}, {})

    def test_numbers_after_other_words_are_no_rules(self):
        self.assertEqual(findings({
            "a_test.cc": "// Rules: ABC-1 ABC-2\nTEST(T, C26_E10_XXH_3) {}\n"
        }), [])


# Rules of version 2, which is not released yet, that no test names. The list
# is exact: a rule that gets its test leaves it, and none may join.
NOT_YET_NAMED = []


class TreeTest(unittest.TestCase):

    def test_every_rule_is_named_and_every_name_is_a_rule(self):
        # The sources themselves, not their copies among the test's inputs: a
        # new test file must not be forgotten because nobody listed it.
        root = os.path.dirname(os.path.dirname(
            os.path.realpath("spec/SPEC.md")))
        tests, vectors = rule_ids.tree(root)
        self.assertGreater(len(tests), 50)
        self.assertGreater(len(vectors), 200)
        problems = rule_ids.findings(
            rule_ids.read(os.path.join(root, "spec", "SPEC.md")), tests,
            vectors)
        expected = ["spec/SPEC.md: %s: no test or vector names it" % rule
                    for rule in NOT_YET_NAMED]
        self.assertEqual(problems, expected, "\n" + "\n".join(problems))


if __name__ == "__main__":
    unittest.main()
