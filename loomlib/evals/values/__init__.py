"""The values of an evaluation: cases, sets, answers, scores and outcomes. They import nothing above them."""
