"""What compiled programs say: least times by roofline, largest batches, beside published times."""
