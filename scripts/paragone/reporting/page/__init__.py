"""The result page: one HTML file that answers first, and needs no network, server or framework."""
