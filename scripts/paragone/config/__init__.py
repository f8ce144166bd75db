"""What is to be run: validation, expansion, specifications, code inputs. No framework and no NumPy."""
