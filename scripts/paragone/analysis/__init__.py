"""From records to verdicts: tidy tables, grouping, statistics, published numbers, comparisons."""
