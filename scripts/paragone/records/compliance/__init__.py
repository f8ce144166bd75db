"""The measurement rules, checked on any folder of records.

rules/schemas/compliance.csv says what must hold, with what severity and limit; `asserted`, `of_record` and
`of_experiment` hold one function a rule, `checks` puts them together. A program that trains imports
`asserted` alone: an edit of the other rules retrains nothing.
"""
