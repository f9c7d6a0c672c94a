"""Generated from the schemas: checkpoint_pb2 (major 1) and vocabulary_pb2."""
