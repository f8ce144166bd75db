"""The paper: answers, figures and tables typeset as a PDF file."""
