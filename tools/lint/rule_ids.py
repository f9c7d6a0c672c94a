"""Which rules of the specification are proved by a test, and which are not.

    python3 tools/lint/rule_ids.py [ROOT]

A rule is defined where spec/SPEC.md has its id in bold: **ENV-3**. It is proved
where a test names it:

- in its own name, with an underscore: `TEST(Envelope, ENV_3_...)`;
- in a comment line that begins with "Rules:", right above the test or the
  assertion: `// Rules: ENV-3 ENV-10`, `# Rules: LOCK-1`;
- as a `rule` of an expect.textproto, which is that of a vector.

Only files called *_test.cc and *_test.py count. An id that a test names and the
specification lacks is an error too: the rule was renamed, or mistyped.
"""
import os
import re
import sys

DEFINITION = re.compile(r"\*\*([A-Z]+-[0-9]+)\*\*")
ANNOTATION = re.compile(r"^\s*(?://|#) Rules: (.*)$", re.MULTILINE)
TEST_NAME = re.compile(
    r"^\s*(?:(?:TYPED_)?TEST(?:_[FP])?\(\s*\w+,\s*(\w+)|def (test_\w+)\()",
    re.MULTILINE)
VECTOR_RULE = re.compile(r'^ *rule: "([^"]+)"', re.MULTILINE)
ID = re.compile(r"^[A-Z]+-[0-9]+$")


def defined_rules(specification):
    """Ids in the order of the text; ValueError when one is defined twice."""
    ids = DEFINITION.findall(specification)
    twice = sorted({rule for rule in ids if ids.count(rule) > 1})
    if twice:
        raise ValueError("defined twice: " + " ".join(twice))
    return ids


def named_rules(source, prefixes):
    """Ids that a test file names; malformed ones come as they are written."""
    rules = []
    for line in ANNOTATION.findall(source):
        rules += line.split()
    for cc_name, py_name in TEST_NAME.findall(source):
        words = (cc_name or py_name.upper()).split("_")
        for word, number in zip(words, words[1:]):
            if word in prefixes and number.isdigit():
                rules.append(word + "-" + number)
    return rules


def expected_rules(expectation):
    """Ids in the text of an expect.textproto."""
    return VECTOR_RULE.findall(expectation)


def findings(specification, tests, vectors):
    """What is wrong, a line each; `tests` and `vectors` map paths to texts."""
    rules = defined_rules(specification)
    prefixes = {rule.split("-")[0] for rule in rules}
    proved = set()
    problems = []
    for path, text in sorted(tests.items()):
        for rule in named_rules(text, prefixes):
            proved.add(rule)
            if rule not in rules:
                what = "is not in" if ID.match(rule) else "is no id as in"
                problems.append("%s: %s %s spec/SPEC.md" % (path, rule, what))
    for path, text in sorted(vectors.items()):
        for rule in expected_rules(text):
            proved.add(rule)
            if rule not in rules:
                problems.append("%s: %s is not in spec/SPEC.md" % (path, rule))
    for rule in rules:
        if rule not in proved:
            problems.append("spec/SPEC.md: %s: no test or vector names it" % rule)
    return problems


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def tree(root):
    """(tests, vectors) below `root`, by relative path."""
    tests, vectors = {}, {}
    for folder, folders, files in os.walk(root):
        # Bazel's links and hidden folders are no sources.
        folders[:] = [f for f in folders
                      if not f.startswith(("bazel-", "."))]
        for name in files:
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, root)
            if name.endswith(("_test.cc", "_test.py")):
                tests[relative] = read(path)
            elif name == "expect.textproto":
                vectors[relative] = read(path)
    return tests, vectors


def main(root):
    tests, vectors = tree(root)
    specification = read(os.path.join(root, "spec", "SPEC.md"))
    problems = findings(specification, tests, vectors)
    for problem in problems:
        print(problem)
    print("%d rules, %d tests, %d vectors, %d problems" % (
        len(defined_rules(specification)), len(tests), len(vectors),
        len(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
