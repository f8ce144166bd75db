"""What a config may say: keys and their types, papers, expansion, specifications. No framework, no NumPy."""
