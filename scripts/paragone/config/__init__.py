"""What is to be run: validation, expansion, specifications, code inputs. Standard library only."""

"""What is to be run: validation, expansion, specifications, code inputs. Standard library only."""
