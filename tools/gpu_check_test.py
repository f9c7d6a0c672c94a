"""tools/gpu_check: what it does without a GPU, and its kills and comparison on the CPU."""

import os
import shutil
import subprocess
import tempfile
import unittest


class GpuCheckTest(unittest.TestCase):

    def run_check(self, *words, code):
        done = subprocess.run(['tools/gpu_check', *words], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding='utf-8')
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_a_killed_run_equals_the_uninterrupted_one(self):
        done = self.run_check('--device=cpu', '--binaries=.', '--steps=30', '--kills=2', '--seed=5',
                              '--precisions=fp16', code=0)
        self.assertIn('PASS  killed and resumed in fp16', done.stdout)
        self.assertIn('31 records equal', done.stdout)

    def test_a_trainer_that_forgets_is_found(self):
        folder = tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR'))
        self.addCleanup(shutil.rmtree, folder)
        os.mkdir(os.path.join(folder, 'trainer'))
        path = os.path.join(folder, 'trainer', 'trainer')
        # Goes on with the step and forgets everything else.
        with open(path, 'w', encoding='utf-8') as script:
            script.write('#!/usr/bin/env python3\n' + FORGETFUL)
        os.chmod(path, 0o755)
        done = self.run_check('--device=cpu', '--binaries=' + folder, '--steps=40', '--kills=2',
                              '--seed=5', '--precisions=bf16', code=12)
        self.assertIn('differs in loss', done.stdout)
        shutil.rmtree(done.stdout.split('the runs are in ')[1].strip())

    def test_missing_programs_are_named(self):
        done = self.run_check('--binaries=/nowhere', code=1)
        self.assertIn('/nowhere/trainer/trainer', done.stderr)


FORGETFUL = '''
import json, os, sys, time
flags = dict(word[2:].split('=', 1) for word in sys.argv[1:])
os.makedirs(flags['run_dir'], exist_ok=True)
path = os.path.join(flags['run_dir'], 'metrics.jsonl')
lines = open(path).read().splitlines() if os.path.exists(path) else []
with open(path, 'a') as log:
    for number, step in enumerate(range(len(lines) + 1, int(flags['steps']) + 1)):
        log.write(json.dumps({'step': step, 'loss': number}) + chr(10))
        log.flush()
        time.sleep(0.02)
'''


if __name__ == '__main__':
    unittest.main()
