"""The processes of a run: started, joined, watched and judged."""
