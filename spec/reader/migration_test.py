"""The reader migrates every vector of spec/vectors/migration as the C++ library does."""

import glob
import os
import unittest

from files import expectations, real
import reprise_reader
from reprise_reader import migrate
from reprise_reader.schema import vocabulary_pb2 as vocabulary

VECTORS = real('spec/vectors/migration')
RELEASED = real('spec/vectors/released/v1')
REFUSED = 'refused-optimizer-steps-disagree'


def roots(checkpoint):
    return sorted((row.item, row.part, row.root) for row in checkpoint.rows)


class MigrationTest(unittest.TestCase):

    def setUp(self):
        self.vectors = expectations(VECTORS)

    def before(self, path):
        return reprise_reader.read(os.path.join(VECTORS, path, 'before'))

    def after(self, path):
        return reprise_reader.read(os.path.join(VECTORS, path, 'after'))

    # Rules: MIG-2 MIG-3 MIG-4 MIG-5 MIG-6 MIG-8
    def test_each_migration_gives_the_expected_records_values_and_digest(self):
        done = 0
        for path, vector in self.vectors.items():
            if vector.HasField('refused') or vector.rename:
                continue
            with self.subTest(path):
                migrated = migrate.to_v2(self.before(path))
                self.assertEqual([(r.item, r.presence, r.reason) for r in
                                  migrated.manifest.inventory],
                                 [(r.item, r.presence, r.reason) for r in vector.migrated.record])
                after = self.after(path)
                found = after.message
                history = found.history
                self.assertEqual([(h.from_major, h.to_major, h.source_manifest_digest)
                                  for h in history],
                                 [(1, 2, self.before(path).manifest_digest)])
                # Everything but where the bytes lie and the history.
                for field in ('tensors', 'shards', 'value_digest', 'history', 'digest_algorithm'):
                    found.ClearField(field)
                self.assertEqual(str(migrated.manifest), str(found))
                self.assertEqual([(r.item, r.name, r.part, r.dtype, r.shape, r.root)
                                  for r in migrated.rows],
                                 [(r.item, r.name, r.part, r.dtype, r.shape, r.root)
                                  for r in after.rows])
                self.assertEqual(migrated.value_digest.hex(), vector.migrated.value_digest)
                self.assertEqual(after.value_digest, migrated.value_digest)
                done += 1
        self.assertGreaterEqual(done, 12)

    # Rules: MIG-5 MIG-9
    def test_each_refused_one_is_readable_and_refused(self):
        done = 0
        for path, vector in self.vectors.items():
            if not vector.HasField('refused'):
                continue
            with self.subTest(path):
                with self.assertRaises(reprise_reader.Refused) as raised:
                    migrate.to_v2(self.before(path))
                self.assertEqual(raised.exception.refusal,
                                 vocabulary.Refusal.Name(vector.refused.refusal))
                done += 1
        self.assertGreaterEqual(done, 4)

    # Rules: MIG-7
    def test_content_of_a_later_minor_version_is_in_the_history(self):
        notes = self.after('later_minor').message.history[0].notes
        self.assertIn('unknown content of the manifest: 9a06036e6577', notes)

    # Rules: MIG-10
    def test_renamed_ones_have_the_same_tensors(self):
        done = 0
        for path, vector in self.vectors.items():
            if vector.rename:
                with self.subTest(path):
                    before, after = self.before(path), self.after(path)
                    rows = migrate.to_v2(before) if before.major == 1 else before
                    self.assertEqual(roots(after), roots(rows))
                    self.assertEqual(after.value_digest.hex(), vector.migrated.value_digest)
                    done += 1
        self.assertGreaterEqual(done, 3)

    def test_released_checkpoints_are_migrated_but_for_the_one_that_contradicts_itself(self):
        entries = sorted(glob.glob(RELEASED + '*/step-*'))
        self.assertGreaterEqual(len(entries), 11)
        for folder in entries:
            with self.subTest(folder):
                checkpoint = reprise_reader.read(folder)
                if REFUSED in folder:
                    with self.assertRaisesRegex(reprise_reader.Refused, 'optim.step'):
                        migrate.to_v2(checkpoint)
                    continue
                self.assertEqual(len(migrate.to_v2(checkpoint).value_digest), 16)


if __name__ == '__main__':
    unittest.main()
