"""From records to answers: tidy tables, grouping, statistics, published numbers, verdicts, cost model."""
