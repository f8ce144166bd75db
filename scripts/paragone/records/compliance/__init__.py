"""The measurement rules, checked on any folder of records.

rules/schemas/compliance.csv lists the rules with severity and limit. `asserted`, `of_record`,
`of_first_steps`, `of_modes` and `analysis.compliance` have one function per rule;
`analysis.compliance` runs them. A program that trains imports `asserted` alone: an edit of the
other rules retrains nothing.
"""
