"""Strong and weak scaling: what n replicas gain over one, and a cost model that predicts it."""
